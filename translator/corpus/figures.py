"""Figures of one set of pairs: lengths, words, scripts and characters of both sides, and the longest pairs."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from translator.corpus import characters
from translator.corpus.pairs import Pairs
from translator.corpus.sides import Side, Sides

ROWS_AT_ONCE = 50_000
NUM_BINS = 24
NUM_LONGEST = 5
NUM_CHARACTERS = 60
LONGEST_COUNTED = 100_000
SHOWN_CHARACTERS = 400


def figures(pairs: Pairs, languages: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, Any]:
    """What JSON can hold of a set whose sides are in these languages: `pairs`, `source`, `target`, `longest`."""
    counters = [_SideCounter(), _SideCounter()]
    longest: list[tuple[int, int]] = []
    row = 0
    for table in pairs.dataset.with_format("arrow").iter(batch_size=ROWS_AT_ONCE):
        sides = Sides.of(table)
        for counter, side in zip(counters, (sides.source, sides.target), strict=True):
            counter.add(side)
        lengths = np.maximum(sides.source.lengths, sides.target.lengths)
        top = np.argsort(-lengths, kind="stable")[:NUM_LONGEST]
        longest = sorted([*longest, *((-int(lengths[i]), row + int(i)) for i in top)])[:NUM_LONGEST]
        row += len(sides)
    source, target = (counter.figures(own) for counter, own in zip(counters, languages, strict=True))
    shown = [{**_cut(pairs.shown(i)), "characters": -length} for length, i in longest]
    return {"pairs": len(pairs), "source": source, "target": target, "longest": shown}


def _cut(shown: dict[str, str]) -> dict[str, str]:
    return {
        key: text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…" for key, text in shown.items()
    }


class _SideCounter:
    """Adds up batches of one side."""

    def __init__(self) -> None:
        self._characters = np.zeros(characters.NUM_CODES, dtype=np.int64)
        self._lengths = np.zeros(LONGEST_COUNTED + 1, dtype=np.int64)
        self._num_words = 0

    def add(self, side: Side) -> None:
        self._characters += np.bincount(side.codes, minlength=characters.NUM_CODES)
        self._lengths += np.bincount(np.minimum(side.lengths, LONGEST_COUNTED), minlength=LONGEST_COUNTED + 1)
        self._num_words += int(pc.sum(pc.count_substring_regex(side.texts, r"\S+")).as_py() or 0)

    def figures(self, languages: tuple[str, ...]) -> dict[str, Any]:
        counts = self._characters
        letters = np.where(characters.letters(), counts, 0)
        by_script = np.bincount(characters.script_table(), weights=letters, minlength=256)
        names = dict(enumerate(characters.SCRIPTS, start=1)) | {characters.OTHER: "other"}
        shares = {name: by_script[number] / max(letters.sum(), 1) for number, name in names.items()}
        visible = np.where(characters.blanks(), 0, counts)
        order = np.argsort(-visible, kind="stable")[: np.count_nonzero(visible)]
        rare = order[::-1][:NUM_CHARACTERS]
        return {
            "languages": list(languages),
            "scripts_expected": list(dict.fromkeys(name for one in languages for name in characters.scripts_of(one))),
            "characters": int(counts.sum()),
            "words": self._num_words,
            "distinct_characters": len(order),
            "scripts": {name: share for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share},
            "frequent": [[chr(code), int(counts[code])] for code in order[:NUM_CHARACTERS]],
            "rare": [[chr(code), int(counts[code])] for code in rare],
            "strange": {
                f"U+{code:04X}": int(counts[code]) for code in np.flatnonzero(characters.strange() & (counts > 0))
            },
            "lengths": histogram(self._lengths),
        }


def histogram(num_of_length: NDArray[np.int64]) -> dict[str, Any]:
    """Bins of equal width up to where 99 % end, and one for the rest; `num_of_length[n]` counts what is n long."""
    total = int(num_of_length.sum())
    if not total:
        return {"edges": [], "counts": [], "median": 0, "p99": 0, "longest": 0, "mean": 0.0}
    sums = np.cumsum(num_of_length)
    median, p99 = (int(np.searchsorted(sums, share * total)) for share in (0.5, 0.99))
    width = max(1, -(-(p99 + 1) // NUM_BINS))
    edges = [width * i for i in range(-(-(p99 + 1) // width) + 1)]
    counts = [int(num_of_length[a:b].sum()) for a, b in pairwise(edges)]
    return {
        "edges": edges,
        "counts": [*counts, total - sum(counts)],
        "median": median,
        "p99": p99,
        "longest": int(np.flatnonzero(num_of_length)[-1]),
        "mean": round(float((np.arange(len(num_of_length)) * num_of_length).sum() / total), 1),
    }
