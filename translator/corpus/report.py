"""What was found in the corpus and what was left out: shown before training and kept with the run."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class ReportRow:
    """`count` things of a kind in one set; `example` says where the first are, `key` which filter left them out."""

    set: str
    reason: str
    count: int
    example: str
    key: str | None = None


@dataclass
class CorpusReport:
    """Rows of (set, reason, count, example), notes on how files were understood, and warnings."""

    rows: list[ReportRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, set: str, reason: str, count: int, examples: Iterable[str] = (), *, key: str | None = None) -> None:
        """Add a row; later steps (filters that count tokens) use it too."""
        self.rows.append(ReportRow(set, reason, int(count), "; ".join(examples), key))

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

    def to_json(self) -> dict[str, list[dict[str, str | int]] | list[str]]:
        """The same as values that JSON can hold."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }
