"""The measurements that are cheap enough to run: the guard against becoming slow, and the real training step."""

import json
from pathlib import Path

import pytest

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import machine


def test_training_and_decoding_are_not_slower_than_plain_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both sides are measured by turns; other work can still fall on one of them, so a verdict must be found thrice."""
    file = tmp_path / "guard.json"
    words = ["guard", "--threads", "1", "--rounds", "3", "--json", str(file)]
    assert any(bench.main(words) == 0 for _ in range(3)), capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["measurement"] == "guard"
    assert found["machine"]["cores"] >= 1


def test_the_training_step_is_measured_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LARGE", {"cpu": 256})
    file, trace = tmp_path / "train.json", tmp_path / "trace.json"
    words = ["train", "--device", "cpu", "--setting", "tiny", "--threads", "1", "--steps", "2", "--rounds", "1"]
    assert bench.main([*words, "--json", str(file), "--profile", str(trace)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    ((name, ours),) = found["contestants"].items()
    (block,) = next(iter(found["blocks"].values()))
    assert ours["tokens_per_step"] == block["useful_tgt"] / 2
    assert 200 < ours["tokens_per_step"] <= found["setting"]["batch_tokens"]
    assert ours["flop_per_second"] == pytest.approx(ours["tokens_per_second"] * ours["flop_per_target_token"])
    peak = found["peak_flop_per_second"][name.removeprefix("translator, ")]
    assert ours["share_of_peak"] == pytest.approx(ours["flop_per_second"] / peak)
    assert 0 < ours["padding_share"] < 0.2
    assert any("mm" in row["operator"] for row in found["profile"])
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    assert "GFLOP/s" in capsys.readouterr().out
