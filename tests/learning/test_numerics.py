"""Learning test: a model trained in bfloat16 learns as one in float32 does."""

import json
from pathlib import Path

import pytest

from scripts.benchmarks import __main__ as bench


@pytest.mark.slow
def test_bfloat16_stays_within_the_spread_of_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "numerics.json"
    words = ["numerics", "--device", "cpu", "--precision", "bfloat16", "--threads", "1"]
    status = bench.main([*words, "--steps", "200", "--json", str(file)])
    assert status == 0, capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [point["step"] for point in found["points"]] == [50, 100, 150, 200]
    assert found["low_precision"] == "bfloat16"
    for point in found["points"]:
        assert point["low"] != point["float32"][0]  # it was another arithmetic
    assert found["points"][-1]["low"] < found["points"][0]["low"] - 1
