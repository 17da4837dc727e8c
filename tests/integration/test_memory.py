"""A corpus of two million pairs trains in little memory, and a second start reads nothing again.

In processes of their own, since the peak of a process cannot be reset.
"""

import os
import resource
import subprocess
import sys
import time
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
  filters: {drop_duplicates: true, max_character_ratio: 6, min_script: 0.5}
tokenizer: {vocab_size: 4000}
model: {d_model: 16, num_heads: 2, d_ff: 32, num_encoder_layers: 1, num_decoder_layers: 1}
batch: {tokens: 512}
train: {steps: 20, log_every: 20}
device: {kind: cpu, precision: float32}
"""


@pytest.mark.slow
def test_two_million_pairs_train_in_little_memory_and_start_again_at_once(tmp_path: Path) -> None:
    write(NUM_PAIRS, tmp_path / "large", num_words=15, noise=0.02, seed=1)
    (tmp_path / "large.yaml").write_text(CONFIG)
    environment = {**os.environ, "TRANSLATOR_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    seconds = []
    for name in ("first", "second"):
        started = time.monotonic()
        words = [sys.executable, "-m", "translator", "train", "large.yaml", f"name={name}"]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        seconds.append(time.monotonic() - started)
        assert done.returncode == 0, done.stderr
        assert "Ended: " in done.stderr
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"first start {seconds[0]:.0f} s, second {seconds[1]:.0f} s, peak {peak:.0f} MB")
    assert peak < 1900  # of the largest process, its pages of mapped files with it
    assert seconds[1] < seconds[0] / 2
