"""Every experiment of scripts/bench runs, at tiny sizes, and finds a finite ratio."""

import math
from pathlib import Path

import pytest

from scripts.benchmarks import experiments
from scripts.benchmarks.experiments_common import LeftOutError, Setup
from scripts.benchmarks.settings import SETTINGS
from translator.device import choose_device

COMPILED = [name for name in experiments.EXPERIMENTS if "compiled" in name]
OTHERS = [name for name in experiments.EXPERIMENTS if name not in COMPILED and "precision" not in name]
PARTS = [name for name in OTHERS if name.startswith(("attention", "query", "dropout", "loss", "optimizer", "threads"))]


def setup(folder: Path, precision: str, limit: float = 900.0) -> Setup:
    device = choose_device("cpu", precision, threads=1)
    return Setup(SETTINGS["tiny"], device, folder, rounds=1, num_pairs=500, limit=limit)


def check(name: str, one: Setup) -> list[str]:
    found, lines = experiments.measure(experiments.EXPERIMENTS[name][1], one)
    faster = found["times_as_fast"]
    assert all(0 < value < math.inf for value in faster.values())
    return lines


@pytest.mark.parametrize("name", OTHERS)
def test_every_experiment_finds_a_ratio(name: str, tmp_path: Path) -> None:
    assert check(name, setup(tmp_path, "float32"))


@pytest.mark.parametrize("name", ["precision: float32 masters or autocast", *PARTS])
def test_parts_are_measured_in_bfloat16_too(name: str, tmp_path: Path) -> None:
    assert check(name, setup(tmp_path, "bfloat16"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_steps_are_measured_with_the_time_of_compiling(name: str, tmp_path: Path) -> None:
    line = check(name, setup(tmp_path, "float32"))[1]
    assert "compiling took" in line
    assert "paid back" in line


def test_compiling_that_takes_too_long_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(LeftOutError, match="the first turn was not done within 0 s"):
        check(COMPILED[0], setup(tmp_path, "float32", limit=0.1))
