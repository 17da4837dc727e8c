"""Help, version and mistakes come before heavy libraries are loaded."""

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


def test_answers_take_less_than_half_the_time_of_importing_torch(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("seeed: 1\n")
    torch = seconds([sys.executable, "-c", "import torch"])
    answers = {
        "help": seconds([*COMMAND, "--help"]),
        "version": seconds([*COMMAND, "--version"]),
        "config error": seconds([*COMMAND, "train", str(tmp_path / "wrong.yaml")], status=2),
    }
    assert {name: round(time / torch, 2) for name, time in answers.items() if time >= torch / 2} == {}


def test_translating_loads_nothing_that_only_training_needs() -> None:
    heavy = ["datasets", "pandas", "pyarrow", "torchmetrics", "sacrebleu", "matplotlib", "tensorboard"]
    code = f"import sys, translator.translate; sys.exit(str([m for m in {heavy} if m in sys.modules] or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "\n"), done.stderr


def test_threads_that_wait_sleep_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy stands in the environment before torch, and with it the OpenMP library, is loaded."""
    code = (
        "import os, sys; from translator.cli import main; main(['config', '--schema'])\n"
        "sys.exit(f\"{os.environ['OMP_WAIT_POLICY']} {'torch' in sys.modules}\")"
    )
    for given, expected in ((None, "passive False"), ("active", "active False")):
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        if given is not None:
            monkeypatch.setenv("OMP_WAIT_POLICY", given)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stderr.strip() == expected
