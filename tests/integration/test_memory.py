"""A corpus of two million pairs trains in little memory, and a second start reads nothing again.

In processes of their own, whose private memory is looked at while they run: pages of mapped files, which the system
may drop at any time, do not count.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.make_large_corpus import write

ROOT = Path(__file__).parents[2]
NUM_PAIRS = 2_000_000
CONFIG = """
corpus:
  source_language: en
  target_language: it
  train: {source: large.src, target: large.tgt}
  split: {valid: 1000}
  filters: {drop_duplicates: true, max_character_ratio: 6, min_script: 0.5}
tokenizer: {vocab_size: 4000}
model: {d_model: 16, num_heads: 2, d_ff: 32, num_encoder_layers: 1, num_decoder_layers: 1}
batch: {tokens: 512}
train: {steps: 20, log_every: 20, validate_every: 1000}
device: {kind: cpu, precision: float32}
"""


def family(pid: int) -> Iterator[int]:
    """A process and all that it started, those gone aside."""
    yield pid
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in file.read_text().split():
                yield from family(int(child))


def private_bytes(pid: int) -> int:
    """Memory of a process that no file stands behind."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="private memory is read from /proc of Linux")
def test_two_million_pairs_train_in_little_memory_and_start_again_at_once(tmp_path: Path) -> None:
    write(NUM_PAIRS, tmp_path / "large", num_words=15, noise=0.02, seed=1)
    (tmp_path / "large.yaml").write_text(CONFIG)
    environment = {**os.environ, "TRANSLATOR_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    seconds, peaks = [], []
    for name in ("first", "second"):
        started, peak = time.monotonic(), 0
        words = [sys.executable, "-m", "translator", "train", "large.yaml", f"name={name}"]
        with (
            (tmp_path / name).open("w") as said,
            subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=said) as process,
        ):
            while process.poll() is None:
                peak = max(peak, sum(map(private_bytes, family(process.pid))))
                time.sleep(0.05)
        seconds.append(time.monotonic() - started)
        peaks.append(peak / 2**20)
        assert process.returncode == 0, (tmp_path / name).read_text()
        assert "Ended: " in (tmp_path / name).read_text()
    print(f"first start {seconds[0]:.0f} s, {peaks[0]:.0f} MB; second {seconds[1]:.0f} s, {peaks[1]:.0f} MB")
    assert peaks[0] < 1500  # of all processes of the preparation together
    assert peaks[1] < 1000  # where all is found in the cache
    assert seconds[1] < seconds[0] / 2
