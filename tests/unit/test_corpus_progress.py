"""What a long preparation says about how far it is."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from translator.corpus import progress, read_pairs, store
from translator.corpus.progress import Progress, announce


@pytest.mark.parametrize(
    ("total", "done", "advanced", "about", "line"),
    [
        (None, 0, 3000, None, "Reading: 3,000 pairs, 50 a second."),
        (9000, 0, 3000, None, "Reading: 3,000 of 9,000 pairs, 50 a second, 2 min left."),
        (9000, 6000, 1500, None, "Reading: 7,500 of 9,000 pairs, 25 a second, 1 min left."),
        (None, 0, 3000, 9000, "Reading: 3,000 of about 9,000 pairs, 50 a second, 2 min left."),
        (None, 0, 3000, 2900, "Reading: 3,000 of about 3,000 pairs, 50 a second, 0 min left."),
        (9000, 0, 0, None, "Reading: 0 of 9,000 pairs, 0 a second, 9000 min left."),
    ],
)
def test_a_line_says_how_much_is_done_and_left(
    total: int | None, done: int, advanced: int, about: int | None, line: str
) -> None:
    counted = Progress("Reading", total, done=done)
    counted.advance(advanced, about=about)
    assert counted._line(60.0) == line


def test_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 1.0, 20.0, 31.0, 50.0, 62.0])
    monkeypatch.setattr("translator.corpus.progress.time.monotonic", lambda: next(clock))
    with Progress("Filtering", 100) as counted:
        for _ in range(5):
            counted.advance(10)
    monkeypatch.undo()
    assert capsys.readouterr().err.splitlines() == [
        "Filtering: 30 of 100 pairs, 1 a second, 1 min left.",
        "Filtering: 50 of 100 pairs, 1 a second, 1 min left.",
    ]


def test_what_shows_no_progress_is_announced_for_many_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    announce("Learning the vocabulary", progress.MANY_PAIRS - 1)
    announce("Learning the vocabulary", 1_000_000)
    assert capsys.readouterr().err == "Learning the vocabulary (1,000,000 pairs) ...\n"


@pytest.mark.parametrize("form", ["text", "tsv", "packed", "jsonl"])
def test_reading_estimates_how_many_pairs_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """From the bytes of the files and of the pairs so far; not where the files hold more than texts, or are packed."""
    texts = [(f"Line number {i} of them.", f"ಸಾಲು {i}") for i in range(100)]
    rows = {"jsonl": '{{"en": "{}", "kn": "{}"}}\n'}.get(form, "{}\t{}\n")
    content = "".join(rows.format(*pair) for pair in texts).encode()
    files: dict[str, Path] = {"path": tmp_path / ("pairs.jsonl" if form == "jsonl" else "pairs.tsv")}
    files["path"].write_bytes(gzip.compress(content) if form == "packed" else content)
    if form == "text":
        files = {"source": tmp_path / "en", "target": tmp_path / "kn"}
        for path, side in zip(files.values(), zip(*texts, strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    told: list[int | None] = []

    class Told(Progress):
        def advance(self, count: int, *, about: int | None = None) -> None:
            told.append(about)

    monkeypatch.setattr(store, "CHUNK_ROWS", 25)
    monkeypatch.setattr(store, "usable_cores", lambda: 1)
    monkeypatch.setattr(store, "Progress", Told)
    reading: Any = {"source_language": "en", "target_language": "kn"}
    assert len(read_pairs(files, **reading).pairs) == 100
    estimates = told[:4]
    if form in ("packed", "jsonl"):
        assert estimates == [None] * 4
    else:
        assert all(about is not None and 70 <= about <= 110 for about in estimates)
