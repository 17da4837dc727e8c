"""Sentence pairs to measure with: text files of the user, or invented ones whose lengths are those of Multi30k.

Both pass through the whole pipeline of a run (`build`), so what is measured is what a user gets.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.benchmarks.settings import read_config
from translator.config import Config
from translator.files import Folders
from translator.log import RunLog
from translator.run_data import RunData, prepare_data

# Fitted to Multi30k en-de (29,000 pairs, one BPE vocabulary of 8,000), end marks not counted: the median source has
# 14 tokens, ln(length) deviates by 0.30, ln(target / source) by 0.17 about 0.022.
MEDIAN_TOKENS, LENGTH_SPREAD, RATIO_MEAN, RATIO_SPREAD = 14.0, 0.30, 0.022, 0.17
SHORTEST, LONGEST = 3, 55
NUM_PAIRS = 29_000
NUM_SPECIAL_TOKENS = 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def draw_lengths(num_pairs: int, *, seed: int = 1, median: float = MEDIAN_TOKENS) -> NDArray[np.int64]:
    """Tokens of source and target, (num_pairs, 2); other medians stretch the distribution."""
    random = np.random.default_rng(seed)
    source = median * np.exp(LENGTH_SPREAD * random.standard_normal(num_pairs))
    target = source * np.exp(RATIO_MEAN + RATIO_SPREAD * random.standard_normal(num_pairs))
    scale = max(1.0, median / MEDIAN_TOKENS)
    lengths: NDArray[np.int64] = np.clip(np.rint([source, target]), SHORTEST, LONGEST * scale).astype(np.int64).T
    return lengths


def word(number: int) -> str:
    """A made-up word of four letters: 0 is "aaaa", 1 "aaab" and so on."""
    return "".join(LETTERS[number // 26**place % 26] for place in (3, 2, 1, 0))


def write_corpus(folder: Path, lengths: NDArray[np.int64], num_words: int, *, seed: int = 1) -> tuple[Path, Path]:
    """Two text files of made-up words with these numbers of words, frequent and rare as in language (Zipf).

    Each of the `num_words` words occurs, so the vocabulary of the kind `word` is known beforehand, if there is room.
    """
    random = np.random.default_rng(seed)
    weights = 1.0 / (np.arange(num_words) + 2.7)
    numbers = random.choice(num_words, int(lengths.sum()), p=weights / weights.sum())
    if len(numbers) >= 2 * num_words:
        numbers[random.permutation(len(numbers))[:num_words]] = np.arange(num_words)
    words = np.array([word(number) for number in range(num_words)], dtype=object)[numbers]
    files = (folder / "source.txt", folder / "target.txt")
    ends = np.cumsum(lengths.ravel())
    lines = [" ".join(part) for part in np.split(words, ends[:-1])]
    for side, file in enumerate(files):
        file.write_text("\n".join(lines[side::2]) + "\n", encoding="utf-8")
    return files


@contextlib.contextmanager
def caches_in(folder: Path) -> Iterator[None]:
    """Keep the tables of the corpus in `folder`, not among those of the user's runs."""
    before = os.environ.get("TRANSLATOR_CACHE")
    os.environ["TRANSLATOR_CACHE"] = str(folder / "cache")
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRANSLATOR_CACHE"]
        else:
            os.environ["TRANSLATOR_CACHE"] = before


def load_data(folder: Path, *overrides: str) -> tuple[Config, RunData]:
    """The corpus of `bench.yaml` in `folder`, read, tokenised and encoded as for a run; quick the second time."""
    config = read_config(folder, *overrides)
    folders = Folders(folder, "bench")
    with caches_in(folder), contextlib.redirect_stderr(io.StringIO()):
        return config, prepare_data(config, folders, RunLog(folders.runs), None)
