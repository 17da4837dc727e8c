"""The report as a table for people and as values for JSON."""

import json

from translator.corpus import CorpusReport


def test_table_is_aligned_and_ends_with_warnings() -> None:
    report = CorpusReport(notes=["read as TSV"], warnings=["too good"])
    report.add("train", "usable pairs", 12345)
    report.add("valid/hand", "skipped: target is empty", 1, ["line 5", "line 9"])
    assert report.table().splitlines() == [
        "set         what                       pairs  for example",
        "train       usable pairs              12,345",
        "valid/hand  skipped: target is empty       1  line 5; line 9",
        "note: read as TSV",
        "warning: too good",
    ]


def test_json_holds_every_row() -> None:
    report = CorpusReport()
    report.add("train", "dropped: too long", 2, ["line 7"])
    stored = json.loads(json.dumps(report.to_json()))
    row = {"set": "train", "reason": "dropped: too long", "count": 2, "example": "line 7"}
    assert stored == {"rows": [row], "notes": [], "warnings": [], "places": [], "filters": []}
    assert report.count("train", "dropped: too long") == 2
    assert report.count("valid", "dropped: too long") == 0
