"""Two whole runs of one seed are equal to the bit, also with several processes and with other algorithms of torch."""

import importlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.small_run import command
from tests.torture.runs import TRAIN, assert_equal, prepare
from translator import processes

SMALL_PARTS = {  # so that a small corpus is cut into parts, too
    "corpus.store": {"CHUNK_ROWS": 30},
    "corpus.filters": {"PART_ROWS": 25},
    "encode": {"_PART_PAIRS": 40},
    "subword_sampling": {"_WORTH_PROCESSES": 0, "_TYPES_PER_TASK": 5},
}


@pytest.mark.parametrize("dropout", ["0.1", "0"])
def test_a_run_is_the_same_with_one_process_and_with_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropout: str
) -> None:
    for module, sizes in SMALL_PARTS.items():
        for name, value in sizes.items():
            monkeypatch.setattr(importlib.import_module(f"translator.{module}"), name, value)
    pools = 0

    class Counted(ProcessPoolExecutor):
        def __init__(self, *args: Any) -> None:
            nonlocal pools
            pools += 1
            super().__init__(*args)

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Counted)
    folders = {cores: prepare(tmp_path / str(cores), steps=20) for cores in (1, 3)}
    for cores, folder in folders.items():
        monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / f"cache-{cores}"))
        for module in ("corpus.store", "corpus.filters", "encode"):
            monkeypatch.setattr(f"translator.{module}.usable_cores", lambda cores=cores: cores)
        ended = command(folder, *TRAIN, f"tokenizer.dropout={dropout}")
        assert ended.status == 0, ended.err
        assert (pools >= 3) == (cores > 1), pools  # reading, filtering, and tokenising or sampling
    assert_equal(folders[1], folders[3])


def test_two_runs_with_the_algorithms_that_torch_calls_deterministic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.are_deterministic_algorithms_enabled()
    folders = [prepare(tmp_path / name, steps=10) for name in ("first", "second")]
    try:
        for folder in folders:
            monkeypatch.setenv("TRANSLATOR_CACHE", str(folder / "cache"))
            ended = command(folder, *TRAIN, "device.deterministic=true")
            assert ended.status == 0, ended.err
            assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(before)
    assert_equal(*folders)
