"""All sets of a run: read, split, compared with each other, filtered as asked, and reported."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Protocol

import datasets
import numpy as np
from numpy.typing import NDArray

from translator.corpus.cache import cache_key, cached
from translator.corpus.filters import (
    Filters,
    Share,
    ambiguous_sources,
    apply_filters,
    copies,
    equal_sides,
    notes,
    overlap,
)
from translator.corpus.pairs import NUM_EXAMPLES, Pairs, join
from translator.corpus.progress import announce
from translator.corpus.read import read_pairs
from translator.corpus.report import CorpusReport, PlaceCounts
from translator.corpus.sides import Mask
from translator.corpus.split import TEST, TRAIN, VALID, pinned_split
from translator.errors import CorpusError

SKIPPED = "skipped: "  # begins the reasons of rows that hold no pair
LARGE = 100_000  # pairs from which on the counts of a set are kept in the cache
COUNTS_BYTES = 2_000  # about what they take there
PLACES = frozenset({"source", "target", "path", "hub", "starter"})


Counts = dict[str, tuple[int, list[int]]]
"""How many rows there are of each kind, and the first few."""


class CorpusSettings(Protocol):
    """The `corpus` section of a config, as far as text goes."""

    @property
    def source_language(self) -> str: ...
    @property
    def target_language(self) -> str: ...
    @property
    def markup(self) -> str: ...
    @property
    def train(self) -> Any: ...
    @property
    def valid(self) -> Any: ...
    @property
    def test(self) -> Any: ...
    @property
    def split(self) -> Any: ...
    def filters_of(self, corpus: Any) -> Filters: ...


@dataclass(frozen=True)
class Corpus:
    """Everything that a run reads: tables with the string columns source and target.

    Attributes:
        train: pairs to learn from, those of all corpora one after the other.
        sizes: of each corpus of the settings' `train`, in order, the pairs that are left in `train`.
        valid, test: sets by name, in the order of the config ("valid" or "test" where one set has no name).
        report: counts of what was found and left out.
        fingerprint: hash of the pairs of train and valid in order. File names, times and packing have no part
            in it, nor has test: a test set can be added to a run that has begun.
        sets: every set with the places its rows came from, under the names of the report.
    """

    train: datasets.Dataset
    sizes: tuple[int, ...]
    valid: dict[str, datasets.Dataset]
    test: dict[str, datasets.Dataset]
    report: CorpusReport
    fingerprint: str
    sets: dict[str, Pairs]

    def locate(self, name: str, row: int) -> str:
        """Where a row of a set came from, such as "pairs.tsv, line 7"; names as in the report."""
        return self.sets[name].locate(row)

    def contents(self) -> dict[str, list[dict[str, Any]]]:
        """What `fingerprint` is of, set by set and place by place (see `Pairs.contents`): it tells what has changed."""
        names = [name for name in self.sets if name.removeprefix("valid/") in self.valid or name == "train"]
        return {name: self.sets[name].contents() for name in names}

    def num_left_out(self, name: str) -> int:
        """Rows of a set that held no pair, so that scores of it are of a part; names as in the report."""
        skipped = {row.reason for row in self.report.rows if row.reason.startswith(SKIPPED)}
        return sum(self.report.count(name, reason) for reason in skipped)


def prepare(settings: CorpusSettings, *, most_rows: int | None = None) -> Corpus:
    """Read all sets of a run, make the pinned split if asked for, filter the training pairs, report.

    `most_rows` bounds the rows that are read of each place, for a quick look.

    Nothing is dropped silently, and validation and test sets lose only rows that hold no pair. Copies and
    overlap are always counted and only dropped when `filters` says so.

    Raises:
        CorpusError: a set cannot be read or holds no usable pair.
    """
    report = CorpusReport()
    train = _read(settings.train, "train", settings, report, most_rows)
    sizes = tuple(place.kept for place in report.places)
    valid, test = (
        {name: _read(files, name, settings, report, most_rows) for name, files in _named(kind, value).items()}
        for kind, value in (("valid", settings.valid), ("test", settings.test))
    )
    if settings.split is not None:
        parts = pinned_split(train.rows["source"], valid=settings.split.valid, test=settings.split.test)
        if settings.split.valid:
            valid = {"valid": train.select(parts == VALID)}
            report.add("valid", "held out of train", len(valid["valid"]))
        if settings.split.test:
            test = {"test": train.select(parts == TEST)}
            report.add("test", "held out of train", len(test["test"]))
        _count_held_out(parts != TRAIN, sizes, report)
        train, sizes = train.select(parts == TRAIN), _sizes(parts == TRAIN, sizes)
    _describe({"train": train, **valid, **test}, report)
    held_out = {**valid, **test}
    shares = _shares(settings, sizes)
    _compare(train, held_out, shares, report)
    train, sizes = _filter(train, shares, list(held_out.values()), report)
    sets = {"train": train, **held_out}
    contents = "\n".join(pairs.fingerprint for pairs in (train, *valid.values()))
    return Corpus(
        train=train.dataset,
        sizes=sizes,
        valid={name.removeprefix("valid/"): pairs.dataset for name, pairs in valid.items()},
        test={name.removeprefix("test/"): pairs.dataset for name, pairs in test.items()},
        report=report,
        fingerprint=hashlib.sha256(contents.encode()).hexdigest(),
        sets=sets,
    )


def _named(kind: str, value: Any) -> dict[str, Any]:
    """Sets by the name they have in the report. One set without a name is called by its kind."""
    if value is None:
        return {}
    if isinstance(value, Mapping) and not (PLACES & value.keys()):
        return {kind if name == kind else f"{kind}/{name}": files for name, files in value.items()}
    return {kind: value}


def _read(files: Any, name: str, settings: CorpusSettings, report: CorpusReport, most_rows: int | None) -> Pairs:
    listed = isinstance(files, list | tuple)
    parts = []
    for number, place in enumerate(files if listed else [files]):
        key = f"corpus.{name.replace('/', '.')}" + (f"[{number}]" if listed else "")
        result = read_pairs(
            place,
            source_language=settings.source_language,
            target_language=settings.target_language,
            key=key,
            most_rows=most_rows,
            markup=settings.markup,
        )
        parts.append(result.pairs)
        counts = PlaceCounts(name, result.name, result.num_rows, len(result.pairs), result.skipped, result.examples)
        report.places.append(counts)
        report.notes += result.notes
        report.warnings += result.unused
        for reason, count in result.skipped.items():
            report.add(name, f"{SKIPPED}{reason}", count, [result.examples[reason]])
    return join(parts)


def _sizes(keep: Mask, sizes: Sequence[int]) -> tuple[int, ...]:
    """How many rows of each corpus are in `keep`; `sizes` are those of the corpora, one after the other."""
    ends = np.cumsum(sizes)
    return tuple(int(keep[end - size : end].sum()) for end, size in zip(ends, sizes, strict=True))


def _count_held_out(mask: Mask, sizes: Sequence[int], report: CorpusReport) -> None:
    for place, count in zip(report.places, _sizes(mask, sizes), strict=False):  # those of train were read first
        place.held_out = count
        place.kept -= count


def _shares(settings: CorpusSettings, sizes: Sequence[int]) -> list[Share]:
    """The training corpora as the filters see them."""
    shares = []
    places = settings.train if isinstance(settings.train, list | tuple) else [settings.train]
    for place, num_pairs in zip(places, sizes, strict=True):
        source = getattr(place, "source_language", None) or settings.source_language
        target = getattr(place, "target_language", None) or settings.target_language
        in_reverse = f"{target}>{source}" in (getattr(place, "directions", None) or ())
        shares.append(Share(num_pairs, settings.filters_of(place), (source, target), in_reverse))
    return shares


def _learned_in_reverse(shares: list[Share]) -> list[tuple[int, int]]:
    """Where the pairs stand that are learned from target to source (too): the first row of each corpus, and its end."""
    ends = np.cumsum([share.num_pairs for share in shares]).tolist()
    return [(end - share.num_pairs, end) for share, end in zip(shares, ends, strict=True) if share.in_reverse]


def _drops_overlap(shares: list[Share]) -> str:
    """The least that `drop_overlap` takes out of any corpus."""
    return min((share.filters.drop_overlap for share in shares), key=("none", "pair", "source").index)


def _describe(sets: dict[str, Pairs], report: CorpusReport) -> None:
    """Sizes, copies, sources with several targets and pairs with equal sides."""
    for name, pairs in sets.items():
        report.add(name, "usable pairs", len(pairs))
        for reason, (count, indices) in _remembered("describe", [pairs], partial(_found, name, pairs)).items():
            if count:
                report.add(name, reason, count, pairs.examples(indices))


def _found(name: str, pairs: Pairs) -> Counts:
    announce(f"Looking for copies in {name}", len(pairs))
    return {
        "exact copies of an earlier pair": _count(copies(pairs.rows)),
        "sources with several targets": _first(ambiguous_sources(pairs.rows)),
        "source equal to target": _count(equal_sides(pairs.rows)),
    }


def _count(mask: Mask) -> tuple[int, list[int]]:
    """How many rows a mask holds, and the first few."""
    return _first(np.flatnonzero(mask))


def _first(indices: NDArray[np.int64]) -> tuple[int, list[int]]:
    return len(indices), indices[:NUM_EXAMPLES].tolist()


def _remembered(what: str, sets: list[Pairs], find: Callable[[], Counts], *more: Any) -> Counts:
    """What was found of these sets: of large ones from the cache, so that a second start need not sort them again.

    `more` decides it, too.
    """
    if sum(map(len, sets)) < LARGE:
        return find()
    key = cache_key(what, [pairs.identity for pairs in sets], *more)
    _, info = cached(key, lambda folder: {"found": find()}, what="the counts of pairs", num_bytes=COUNTS_BYTES)
    found: Counts = info["found"]
    return found


def _compare(train: Pairs, held_out: dict[str, Pairs], shares: list[Share], report: CorpusReport) -> None:
    """Pairs and sources of the held-out sets that are also in training, or in another held-out set."""
    drop_overlap, in_reverse = _drops_overlap(shares), _learned_in_reverse(shares)
    comparisons = [(name, "train", train, in_reverse) for name in held_out]
    comparisons += [(later, earlier, held_out[earlier], []) for earlier, later in combinations(held_out, 2)]
    for name, other_name, other, turned in comparisons:
        pairs = held_out[name]
        found = _remembered("compare", [pairs, other], partial(_shared, pairs, other, turned), *turned)
        (num_whole, _), (num_sources, _) = found["pairs"], found["sources"]
        for what in ("pairs", "sources"):
            count, indices = found[what]
            if count:
                report.add(name, f"{what} also in {other_name}", count, pairs.examples(indices))
        dropped = drop_overlap == "source" or (drop_overlap == "pair" and not found["sources alone"][0])
        if num_sources and other_name == "train" and not dropped:
            report.warnings.append(
                f"{num_sources:,} of {len(pairs):,} sources of {name} are also in train "
                f"({num_whole:,} with the same target), so its scores are too good; "
                f"corpus.filters.drop_overlap=source takes them out of train"
            )


def _shared(pairs: Pairs, other: Pairs, turned: list[tuple[int, int]]) -> Counts:
    """Of `pairs` those that are also in `other`, whose rows of `turned` count from target to source, too."""
    announce("Comparing two sets", len(pairs) + len(other))
    whole, sources = overlap(pairs.rows, other.rows, "pair"), overlap(pairs.rows, other.rows, "source")
    for start, stop in turned:
        whole |= overlap(pairs.rows, other.rows[start:stop], "pair", others_turned=True)
        sources |= overlap(pairs.rows, other.rows[start:stop], "source", others_turned=True)
    return {"pairs": _count(whole), "sources": _count(sources), "sources alone": _count(sources & ~whole)}


def _filter(
    train: Pairs, shares: list[Share], held_out: list[Pairs], report: CorpusReport
) -> tuple[Pairs, tuple[int, ...]]:
    """Training pairs that pass the filters, and how many are left of each corpus; all that is left out is counted."""
    report.notes += dict.fromkeys(note for share in shares for note in notes(share.filters, share.languages))
    keep, dropped = apply_filters(train, shares, held_out)
    for found in dropped:
        report.add("train", f"dropped: {found.reason}", found.count, train.examples(found.rows))
        shown = [train.shown(row) for row in found.rows]
        report.leave_out(found.key, found.reason, found.by_corpus, shown)
    if not keep.any():
        reasons = "; ".join(f"dropped: {found.reason} ({found.count:,})" for found in dropped)
        raise CorpusError(f"the filters leave no pairs to train on: {reasons}; loosen corpus.filters")
    if dropped:
        report.add("train", "pairs left to train on", keep.sum())
    return train.select(keep), _sizes(keep, [share.num_pairs for share in shares])
