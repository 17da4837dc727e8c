"""Log files: what is written, and that a rewound log holds nothing twice."""

import json
import sys
from io import StringIO
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from translator.log import RunLog


def points(folder: Path) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, round(event.value, 3)) for event in events.Scalars("train/loss")]


def test_metrics_go_to_the_file_and_to_tensorboard(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.open()
    log.scalars(5, 1.23456, {"train/loss": 3.25})
    log.close()
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"step": 5, "seconds": 1.235, "train/loss": 3.25}
    assert points(tmp_path) == [(5, 3.25)]


def test_after_a_rewind_nothing_stands_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RunLog(tmp_path)
    log.open()
    for step in (1, 2, 3):
        log.scalars(step, 0.0, {"train/loss": float(step)})
        log.line(f"step {step}")
        if step == 2:
            positions = log.positions()
    log.close()  # a killed run: step 3 was logged but not saved
    for value in (30.0, 31.0):  # and the next job is killed as well
        again = RunLog(tmp_path)
        again.open(positions)
        again.scalars(3, 0.0, {"train/loss": value})
        again.line("step 3")
        again.close()
    # sorted: files of one second and process are read in the order of their names
    assert sorted(points(tmp_path)) == [(1, 1.0), (2, 2.0), (3, 31.0)]
    assert (tmp_path / "train.log").read_text().splitlines() == ["step 1", "step 2", "step 3"]
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3]
    assert capsys.readouterr().out == ""  # standard output stays free


def test_nothing_is_written_before_the_log_is_opened(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log.line("first")
    assert not (tmp_path / "run").exists()
    log.open()
    log.line("second")
    assert (tmp_path / "run" / "train.log").read_text() == "first\nsecond\n"


class Terminal(StringIO):
    """Standard error where a person looks at it."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_numbers_stand_in_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    log = RunLog(tmp_path)
    log.open()
    for step, loss in ((1, "7.125"), (2, "6.250")):
        log.interval(f"step {step}/8 plain", {"loss": loss, "tok/s": "1,234", "lr": "5.0e-04"})
        log.progress(step, 8)
    log.line("validation")
    log.close()
    shown = terminal.getvalue()
    last = shown.rpartition("\r")[2]
    assert all(part in last for part in ("25%", "2/8", "loss=6.250", "tok/s=1,234", "lr=5.0e-04")), last
    assert "plain" not in shown
    assert "\rvalidation\n" in shown
    assert (tmp_path / "train.log").read_text().splitlines() == ["step 1/8 plain", "step 2/8 plain", "validation"]
