"""Whole commands as a user types them: a small corpus is trained, resumed, used and measured."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "translator"]


def seconds(command: list[str], *, status: int = 0) -> float:
    """Median run time of three."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
        assert done.returncode == status, done.stderr
    return statistics.median(times)


def test_mistakes_and_help_come_before_heavy_libraries(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("seeed: 1\n")
    torch = seconds([sys.executable, "-c", "import torch"])
    limits = {
        "help": seconds([*COMMAND, "--help"]),
        "version": seconds([*COMMAND, "--version"]),
        "config error": seconds([*COMMAND, "train", str(tmp_path / "wrong.yaml")], status=2),
    }
    assert {name: round(time / torch, 2) for name, time in limits.items() if time >= torch / 2} == {}
