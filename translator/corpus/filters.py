"""Which pairs are left out: by what their text is (`rules`), by copies and by overlap with another set.

Copies are exact; sources with several targets, equal sides and overlap between sets are counted on the
normalised form (NFC, case folded, white space collapsed), since a model hardly sees such differences. These are
answered on sorted 64-bit hashes, in pieces, so that a large table needs little memory.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from translator.corpus import characters
from translator.corpus.cache import cache_key, cached, parts_folder
from translator.corpus.language import check_languages
from translator.corpus.pairs import BATCH_ROWS, NUM_EXAMPLES, ROW, Pairs
from translator.corpus.progress import Progress, announce
from translator.corpus.rules import TextFilters, text_rules
from translator.corpus.sides import Mask, Sides
from translator.files import write_atomic
from translator.processes import pool, usable_cores

Rows = NDArray[np.void]
Hashes = NDArray[np.uint64]

RULES_VERSION = 2
"""Part of the key of what the rules found: raise it when a rule changes."""

PART_ROWS = 200_000
PIECE = 1 << 20


class Filters(TextFilters, Protocol):
    """The settings of all filters that look at text; those that count tokens are applied when it is encoded."""

    @property
    def targets_per_source(self) -> str: ...
    @property
    def drop_duplicates(self) -> bool: ...
    @property
    def drop_overlap(self) -> str: ...
    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Share:
    """The training pairs of one corpus: how many they are, what they are filtered by, and their languages.

    `in_reverse`: they are learned from target to source, or that too.
    """

    num_pairs: int
    filters: Filters
    languages: tuple[str, str]
    in_reverse: bool = False

    @property
    def identity(self) -> list[Any]:
        """What decides which pairs stay, as JSON values."""
        settings = {key: value for key, value in self.filters.model_dump(mode="json").items() if key != "preset"}
        return [self.num_pairs, settings, list(self.languages), self.in_reverse]


@dataclass(frozen=True)
class Dropped:
    """Pairs that one filter left out: its key, the reason in words, how many of each corpus, and the first few rows."""

    key: str
    reason: str
    by_corpus: list[int]
    rows: list[int]

    @property
    def count(self) -> int:
        """Pairs in all."""
        return sum(self.by_corpus)


def apply_filters(
    pairs: Pairs, shares: list[Share], held_out: list[Pairs], *, num_workers: int | None = None
) -> tuple[Mask, list[Dropped]]:
    """Which pairs stay, and what each filter left out; a pair that several would leave out counts for the first.

    Each corpus has filters of its own. Copies are looked for among the pairs of all corpora that stay, sources with an
    earlier target among those of the same languages.

    Args:
        shares: of each corpus, in the order in which its pairs stand in `pairs`.
        held_out: validation and test sets, which `drop_overlap` compares with.
        num_workers: processes for a large table (default: one for each core).

    Raises:
        CorpusError: languages cannot be told as `min_language` asks.
    """

    def build(folder: Path) -> dict[str, Any]:
        decision = _decide(pairs, shares, held_out, num_workers)
        np.save(folder / "keep.npy", decision.keep)
        return {"dropped": [vars(one) for one in decision.dropped.values()]}

    others = [one.fingerprint for one in held_out]
    key = cache_key("filters", RULES_VERSION, pairs.identity, [share.identity for share in shares], others)
    folder, info = cached(key, build, what="the table of what the filters leave out", num_bytes=2 * len(pairs))
    return np.load(folder / "keep.npy", allow_pickle=False), [Dropped(**one) for one in info["dropped"]]


class _Decision:
    """Which pairs stay so far, and what was left out, by key and reason."""

    def __init__(self, pairs: Pairs, shares: list[Share]) -> None:
        self._pairs, self._shares = pairs, shares
        self.keep = np.ones(len(pairs), dtype=bool)
        self.dropped: dict[tuple[str, str], Dropped] = {}
        ends = np.cumsum([share.num_pairs for share in shares]).tolist()
        self.spans = [slice(end - share.num_pairs, end) for end, share in zip(ends, shares, strict=True)]

    def leave_out(self, number: int, key: str, reason: str, mask: Mask) -> None:
        """`mask` is of the pairs of corpus `number`."""
        span = self.spans[number]
        rows = np.flatnonzero(mask & self.keep[span]) + span.start
        if not len(rows):
            return
        self.keep[rows] = False
        found = self.dropped.setdefault((key, reason), Dropped(key, reason, [0] * len(self.spans), []))
        found.by_corpus[number] += len(rows)
        found.rows.extend(rows[: NUM_EXAMPLES - len(found.rows)].tolist())

    def leave_out_later(
        self, corpora: list[int], key: str, reason: str, column: str, is_on: Callable[[Filters], bool]
    ) -> None:
        """Those with the hash of an earlier pair of `corpora` that stays, in the corpora where the filter is on."""
        asked = [number for number in corpora if is_on(self._shares[number].filters)]
        if not asked:
            return
        announce(f"Looking for {reason}", len(self.keep))
        among = np.zeros(len(self.keep), dtype=bool)
        for number in corpora:
            among[self.spans[number]] = self.keep[self.spans[number]]
        mask = later(self._pairs.rows[column], among)
        for number in asked:
            self.leave_out(number, key, reason, mask[self.spans[number]])


def _decide(pairs: Pairs, shares: list[Share], held_out: list[Pairs], num_workers: int | None) -> _Decision:
    decision = _Decision(pairs, shares)
    for number, (share, span) in enumerate(zip(shares, decision.spans, strict=True)):
        found, reasons = _text_reasons(pairs.part(span.start, span.stop), share, num_workers)
        for which, (key, reason) in enumerate(reasons, start=1):
            decision.leave_out(number, key, reason, found == which)
    everywhere = list(range(len(shares)))
    decision.leave_out_later(everywhere, "drop_duplicates", "exact copies", "pair", lambda one: one.drop_duplicates)
    others = np.concatenate([one.rows for one in held_out]) if held_out else np.empty(0, dtype=ROW)
    for number, (share, span) in enumerate(zip(shares, decision.spans, strict=True)):
        if held_out and share.filters.drop_overlap != "none":
            by: Any = share.filters.drop_overlap
            also = overlap(pairs.rows[span], others, by)
            if share.in_reverse:
                also |= overlap(pairs.rows[span], others, by, rows_turned=True)
            decision.leave_out(number, "drop_overlap", f"{by} also in a held-out set", also)
    for languages in dict.fromkeys(share.languages for share in shares):
        alike = [number for number in everywhere if shares[number].languages == languages]
        reason = "another target of an earlier source"
        decision.leave_out_later(
            alike, "targets_per_source", reason, "source", lambda one: one.targets_per_source == "first"
        )
    return decision


def would_drop(pairs: Pairs, filters: Filters, languages: tuple[str, str], most_pairs: int) -> list[Dropped]:
    """What each rule alone would leave out of the first `most_pairs` pairs."""
    table = pairs.dataset.with_format("arrow")[: min(most_pairs, len(pairs))]
    sides, dropped = Sides.of(table), []
    for rule in text_rules(filters, languages):
        rows = np.flatnonzero(rule.drops(sides))
        dropped.append(Dropped(rule.key, rule.reason, [len(rows)], rows[:NUM_EXAMPLES].tolist()))
    return dropped


def _text_reasons(
    pairs: Pairs, share: Share, num_workers: int | None
) -> tuple[NDArray[np.uint8], list[tuple[str, str]]]:
    """For each pair the number (from 1) of the first rule that leaves it out, or 0; and key and reason of the rules."""
    rules = [(rule.key, rule.reason) for rule in text_rules(share.filters, share.languages)]
    if share.filters.min_language is not None:
        check_languages(share.languages)
    starts = range(0, len(pairs), PART_ROWS)
    key = cache_key("rules", RULES_VERSION, PART_ROWS, pairs.fingerprint, share.identity)
    with (
        parts_folder(key) if len(starts) > 1 else nullcontext() as folder,
        Progress("Filtering", len(pairs)) as progress,
    ):
        tasks = (
            (
                folder and folder / f"{start}.npy",
                pairs.dataset.select(range(start, min(start + PART_ROWS, len(pairs)))),
                share.filters,
                share.languages,
            )
            for start in starts
        )
        parts = [np.zeros(0, dtype=np.uint8)]
        for part in _run(tasks, len(starts), num_workers or usable_cores()):
            parts.append(part)
            progress.advance(len(part))
    return np.concatenate(parts), rules


_Task = tuple[Path | None, Any, Filters, tuple[str, str]]


def _run(tasks: Iterator[_Task], num_tasks: int, num_workers: int) -> Iterator[NDArray[np.uint8]]:
    if num_workers == 1 or num_tasks < 3:
        yield from map(_first_reasons, tasks)
        return
    with pool(num_workers) as executor:
        yield from executor.map(_first_reasons, tasks)


def _first_reasons(task: _Task) -> NDArray[np.uint8]:
    """The part of one task: found finished, or made and left in its file."""
    file, dataset, filters, languages = task
    if file is not None and file.exists():
        return np.asarray(np.load(file, allow_pickle=False))
    rules = text_rules(filters, languages)
    parts = [np.zeros(0, dtype=np.uint8)]
    for table in dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
        sides = Sides.of(table)
        reasons = np.zeros(len(sides), dtype=np.uint8)
        for number, rule in enumerate(rules, start=1):
            reasons[(reasons == 0) & rule.drops(sides)] = number
        parts.append(reasons)
    found = np.concatenate(parts)
    if file is not None:
        content = io.BytesIO()
        np.save(content, found)
        write_atomic(file, content.getvalue())
    return found


def copies(rows: Rows) -> Mask:
    """True for each pair that stood before, letter for letter."""
    return _later(rows["pair"])


def later(values: Hashes, among: Mask) -> Mask:
    """True for each of the values in `among` that stood before in one of them."""
    if among.all():
        return _later(values)
    mask = np.zeros(len(values), dtype=bool)
    rows = np.flatnonzero(among)
    mask[rows[_later(values[rows])]] = True
    return mask


def ambiguous_sources(rows: Rows) -> NDArray[np.int64]:
    """The first row of each source that has more than one target."""
    candidates = np.flatnonzero(_repeated(rows["source"]))
    sources, targets = rows["source"][candidates], rows["target"][candidates]
    distinct = np.sort(np.unique(_both(sources, targets), return_index=True)[1])
    _, first, counts = np.unique(sources[distinct], return_index=True, return_counts=True)
    return candidates[np.sort(distinct[first[counts > 1]])]


def equal_sides(rows: Rows) -> Mask:
    """True where source and target are the same text."""
    return np.asarray(rows["source"] == rows["target"])


def overlap(
    rows: Rows,
    others: Rows,
    by: Literal["pair", "source"],
    *,
    rows_turned: bool = False,
    others_turned: bool = False,
) -> Mask:
    """True for each of `rows` whose pair (or source) is also one of `others`; either may be read from target to
    source. The exact pair has no part in it."""
    return _members(rows, others, _hashes(by, turned=rows_turned), _hashes(by, turned=others_turned))


def _hashes(by: Literal["pair", "source"], *, turned: bool) -> Callable[[Rows], Hashes]:
    """What is compared of some rows."""
    source, target = ("target", "source") if turned else ("source", "target")
    return lambda rows: np.asarray(rows[source] if by == "source" else _both(rows[source], rows[target]))


def _both(sources: Hashes, targets: Hashes) -> Hashes:
    """One hash for both normalised sides; the odd factor keeps (a, b) apart from (b, a)."""
    return np.asarray(sources * np.uint64(0x9E3779B97F4A7C15) ^ targets)


def _later(values: Hashes) -> Mask:
    """True for each value that stood before."""
    mask = _repeated(values)
    candidates = np.flatnonzero(mask)
    mask[candidates[np.unique(values[candidates], return_index=True)[1]]] = False
    return mask


def _repeated(values: Hashes) -> Mask:
    """True for each value that stands more than once."""
    ordered = np.sort(values)
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    return _members(values, again)


def _members(
    values: NDArray[Any],
    others: NDArray[Any],
    of_values: Callable[[NDArray[Any]], Hashes] = np.asarray,
    of_others: Callable[[NDArray[Any]], Hashes] = np.asarray,
) -> Mask:
    """`np.isin` by pieces, many times faster: that one makes its arguments unique first, through a hash table.

    `of_values` and `of_others` work out the hashes of a piece, so that the longer side never stands in memory whole.
    """
    mask = np.zeros(len(values), dtype=bool)
    if not len(others) or not len(values):
        return mask
    if len(others) > len(values):  # sort the shorter: mark the values that a piece of the others holds
        hashes = of_values(values)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        found = np.zeros(len(values), dtype=bool)
        for start in range(0, len(others), PIECE):
            piece = of_others(others[start : start + PIECE])
            places = np.minimum(np.searchsorted(ordered, piece), len(ordered) - 1)
            found[places[ordered[places] == piece]] = True
        first = np.searchsorted(ordered, ordered)  # equal values are marked at the first of them
        mask[order] = found[first]
        return mask
    ordered = np.sort(of_others(others))
    for start in range(0, len(values), PIECE):
        piece = of_values(values[start : start + PIECE])
        places = np.minimum(np.searchsorted(ordered, piece), len(ordered) - 1)
        mask[start : start + len(piece)] = ordered[places] == piece
    return mask


def notes(filters: Filters, languages: tuple[str, str]) -> list[str]:
    """What a filter cannot do for these languages."""
    sides = (("source", languages[0], filters.source_scripts), ("target", languages[1], filters.target_scripts))
    return [
        f"corpus.filters.min_script: the script of {language} is not known; set corpus.filters.{side}_scripts"
        for side, language, scripts in sides
        if filters.min_script is not None and not (scripts or characters.scripts_of(language))
    ]
