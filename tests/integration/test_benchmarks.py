"""The measurements that are cheap enough to run: the guard against becoming slow, and the real training step."""

import json
from pathlib import Path

import pytest

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import machine, scaling


def test_training_and_decoding_are_not_slower_than_plain_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "guard.json"
    status = bench.main(["guard", "--threads", "1", "--rounds", "3", "--json", str(file)])
    assert status == 0, capsys.readouterr().out
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
    assert block["memory_before"] + 1e5 < block["memory"]
    assert block["memory_predicted"] > 1e5
    assert any("mm" in row["operator"] for row in found["profile"])
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    assert "GFLOP/s" in capsys.readouterr().out


def test_growth_stands_beside_the_memory_that_the_formula_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only roughly: a process also holds scratch space of kernels, and what the C library keeps between shapes."""
    monkeypatch.setattr(machine, "LARGE", {"cpu": 256})
    monkeypatch.setattr(scaling, "AXES", {"batch_tokens": (2000,)})
    files = [tmp_path / name for name in ("scaling.json", "scaling.md", "scaling.png")]
    words = ["scaling", "--device", "cpu", "--precision", "float32", "--threads", "1", "--setting", "small"]
    words += ["--axes", "batch_tokens", "--steps", "1", "--rounds", "1"]
    assert bench.main([*words, "--json", f"{files[0]}", "--markdown", f"{files[1]}", "--plot", f"{files[2]}"]) == 0
    (point,) = json.loads(files[0].read_text(encoding="utf-8"))["points"]
    assert point["predicted_over_measured"] == pytest.approx(point["predicted_bytes"] / point["training_bytes"])
    assert 0.4 < point["predicted_over_measured"] < 1.25
    assert f"| batch tokens | 2,000 | {point['tokens_per_second']:,.0f} |" in files[1].read_text(encoding="utf-8")
    assert files[2].read_bytes().startswith(b"\x89PNG")
    assert f"{point['predicted_over_measured']:.2f}" in capsys.readouterr().out
