"""What was found in the corpus and what was left out: shown before training and kept with the run."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class ReportRow:
    """`count` things of a kind in one set; `example` says where the first ones are."""

    set: str
    reason: str
    count: int
    example: str


@dataclass
class PlaceCounts:
    """What became of the rows of one place: read = skipped + held out + dropped + kept.

    `examples` says of each reason of `skipped` where the first such rows are.
    """

    set: str
    name: str
    read: int
    kept: int
    skipped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    held_out: int = 0


@dataclass(frozen=True)
class FilterResult:
    """What one filter left out of a set, with the first few pairs as {place, source, target}."""

    set: str
    key: str
    reason: str
    count: int
    examples: list[dict[str, str]]


@dataclass
class CorpusReport:
    """Rows of (set, reason, count, example), notes on how files were understood, and warnings.

    `places` counts the same for each place that was read, `filters` has the pairs that filters left out.
    """

    rows: list[ReportRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    places: list[PlaceCounts] = field(default_factory=list)
    filters: list[FilterResult] = field(default_factory=list)

    def add(self, set: str, reason: str, count: int, examples: Iterable[str] = ()) -> None:
        """Add a row; later steps (filters that count tokens) use it too."""
        self.rows.append(ReportRow(set, reason, int(count), "; ".join(examples)))

    def leave_out(self, key: str, reason: str, by_corpus: Sequence[int], examples: list[dict[str, str]]) -> None:
        """Count what a filter left out of each training corpus."""
        self.filters.append(FilterResult("train", key, reason, sum(by_corpus), examples))
        for place, count in zip((place for place in self.places if place.set == "train"), by_corpus, strict=True):
            if count:
                place.dropped[reason] = place.dropped.get(reason, 0) + count
                place.kept -= count

    def count(self, set: str, reason: str) -> int:
        """The count in the row of `set` and `reason`; 0 where there is none."""
        return sum(row.count for row in self.rows if (row.set, row.reason) == (set, reason))

    def table(self) -> str:
        """The report as lines of text with aligned columns, then notes and warnings."""
        cells = [("set", "what", "pairs", "for example")]
        cells += [(row.set, row.reason, f"{row.count:,}", row.example) for row in self.rows]
        wide = [max(len(row[column]) for row in cells) for column in range(3)]
        lines = [
            f"{name:<{wide[0]}}  {what:<{wide[1]}}  {count:>{wide[2]}}  {example}".rstrip()
            for name, what, count, example in cells
        ]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def to_json(self) -> dict[str, list[Any]]:
        """The same as values that JSON can hold."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "places": [asdict(place) for place in self.places],
            "filters": [asdict(result) for result in self.filters],
        }
