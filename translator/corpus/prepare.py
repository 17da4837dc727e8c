"""All sets of a run: read, split, compared with each other, filtered as asked, and reported."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

import datasets
import numpy as np

from translator.corpus.filters import Mask, ambiguous_sources, copies, equal_sides, overlap, reverse, too_long
from translator.corpus.pairs import Pairs, join
from translator.corpus.read import read_pairs
from translator.corpus.report import CorpusReport
from translator.corpus.split import TEST, TRAIN, VALID, pinned_split
from translator.errors import CorpusError

SKIPPED = "skipped: "  # begins the reasons of rows that hold no pair
PLACES = frozenset({"source", "target", "path", "hub", "starter"})


class Filters(Protocol):
    """The filters that look at text."""

    @property
    def max_characters(self) -> int: ...
    @property
    def drop_duplicates(self) -> bool: ...
    @property
    def drop_overlap(self) -> str: ...


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
    @property
    def filters(self) -> Filters: ...


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


def prepare(settings: CorpusSettings) -> Corpus:
    """Read all sets of a run, make the pinned split if asked for, filter the training pairs, report.

    Nothing is dropped silently, and validation and test sets lose only rows that hold no pair. Copies and
    overlap are always counted and only dropped when `filters` says so.

    Raises:
        CorpusError: a set cannot be read or holds no usable pair.
    """
    report = CorpusReport()
    train = _read(settings.train, "train", settings, report)
    valid, test = (
        {name: _read(files, name, settings, report) for name, files in _named(kind, value).items()}
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
        train = train.select(parts == TRAIN)
    _describe({"train": train, **valid, **test}, report)
    held_out = {**valid, **test}
    turned = _learned_in_reverse(train, settings)
    both_ways = train
    if turned.any():
        both_ways = replace(train, rows=np.concatenate([train.rows, reverse(train.rows[turned])]))
    _compare(both_ways, held_out, settings.filters.drop_overlap, report)
    train = _filter(train, turned, list(held_out.values()), settings.filters, report)
    sets = {"train": train, **held_out}
    contents = "\n".join(pairs.fingerprint for pairs in (train, *valid.values()))
    return Corpus(
        train=train.dataset,
        sizes=tuple(np.bincount(train.rows["origin"], minlength=len(train.origins)).tolist()),
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


def _read(files: Any, name: str, settings: CorpusSettings, report: CorpusReport) -> Pairs:
    listed = isinstance(files, list | tuple)
    parts = []
    for number, place in enumerate(files if listed else [files]):
        key = f"corpus.{name.replace('/', '.')}" + (f"[{number}]" if listed else "")
        result = read_pairs(
            place,
            source_language=settings.source_language,
            target_language=settings.target_language,
            key=key,
            markup=settings.markup,
        )
        parts.append(result.pairs)
        report.notes += result.notes
        for reason, count in result.skipped.items():
            report.add(name, f"{SKIPPED}{reason}", count, [result.examples[reason]])
    return join(parts)


def _learned_in_reverse(train: Pairs, settings: CorpusSettings) -> Mask:
    """True for the rows of corpora that are learned from target to source too."""
    places = settings.train if isinstance(settings.train, list | tuple) else [settings.train]
    listed = [getattr(place, "directions", None) or () for place in places]
    reverse_of = [
        f"{getattr(place, 'target_language', None) or settings.target_language}"
        f">{getattr(place, 'source_language', None) or settings.source_language}"
        for place in places
    ]
    of_corpus = [way in ways for way, ways in zip(reverse_of, listed, strict=True)]
    return np.asarray(np.array(of_corpus)[train.rows["origin"]])


def _describe(sets: dict[str, Pairs], report: CorpusReport) -> None:
    """Sizes, copies, sources with several targets and pairs with equal sides."""
    for name, pairs in sets.items():
        report.add(name, "usable pairs", len(pairs))
        found = {
            "exact copies of an earlier pair": np.flatnonzero(copies(pairs.rows)),
            "sources with several targets": ambiguous_sources(pairs.rows),
            "source equal to target": np.flatnonzero(equal_sides(pairs.rows)),
        }
        for reason, indices in found.items():
            if len(indices):
                report.add(name, reason, len(indices), pairs.examples(indices))


def _compare(train: Pairs, held_out: dict[str, Pairs], drop_overlap: str, report: CorpusReport) -> None:
    """Pairs and sources of the held-out sets that are also in training, or in another held-out set."""
    comparisons = [(name, "train", train) for name in held_out]
    comparisons += [(later, earlier, held_out[earlier]) for earlier, later in combinations(held_out, 2)]
    for name, other_name, other in comparisons:
        pairs = held_out[name]
        whole = overlap(pairs.rows, other.rows, "pair")
        sources = overlap(pairs.rows, other.rows, "source")
        for what, mask in (("pairs", whole), ("sources", sources)):
            if mask.any():
                examples = pairs.examples(np.flatnonzero(mask))
                report.add(name, f"{what} also in {other_name}", mask.sum(), examples)
        dropped = drop_overlap == "source" or (drop_overlap == "pair" and not (sources & ~whole).any())
        if sources.any() and other_name == "train" and not dropped:
            report.warnings.append(
                f"{sources.sum():,} of {len(pairs):,} sources of {name} are also in train "
                f"({whole.sum():,} with the same target), so its scores are too good; "
                f"corpus.filters.drop_overlap=source takes them out of train"
            )


def _filter(train: Pairs, turned: Mask, held_out: list[Pairs], filters: Filters, report: CorpusReport) -> Pairs:
    """Training pairs that pass the filters; a pair that several filters would drop counts for the first.

    `turned` says which are learned in reverse too.
    """
    keep = np.ones(len(train), dtype=bool)
    masks = {f"dropped: over {filters.max_characters:,} characters": too_long(train, filters.max_characters)}
    if filters.drop_duplicates:
        masks["dropped: exact copies"] = copies(train.rows)
    if held_out and filters.drop_overlap != "none":
        others = np.concatenate([pairs.rows for pairs in held_out])
        by: Any = filters.drop_overlap
        found = overlap(train.rows, others, by)
        found[turned] |= overlap(reverse(train.rows[turned]), others, by)
        masks[f"dropped: {by} also in a held-out set"] = found
    for reason, mask in masks.items():
        newly = mask & keep
        if newly.any():
            report.add("train", reason, newly.sum(), train.examples(np.flatnonzero(newly)))
        keep &= ~mask
    if not keep.any():
        dropped = "; ".join(f"{reason} ({mask.sum():,})" for reason, mask in masks.items() if mask.any())
        raise CorpusError(f"the filters leave no pairs to train on: {dropped}; loosen corpus.filters")
    if not keep.all():
        report.add("train", "pairs left to train on", keep.sum())
    return train.select(keep)
