"""Two million pairs (about 250 MB of text) are prepared and trained on in bounded memory, and only once."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

NUM_PAIRS = 2_000_000
CONFIG = """
corpus:
  source_language: en
  target_language: de
  train: {source: train.en, target: train.de}
tokenizer: {vocab_size: 1000}
model: {d_model: 32, num_heads: 2, d_ff: 64, num_encoder_layers: 1, num_decoder_layers: 1}
batch: {tokens: 1024}
train: {steps: 20}
"""
# Prints the peak resident memory of the command in MB, as the operating system counted it.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def write_corpus(folder: Path) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnoprstuw", k=rng.randint(2, 7))) for _ in range(20_000)]
    for name in ("train.en", "train.de"):
        with (folder / name).open("w") as file:
            for _ in range(NUM_PAIRS // 10_000):
                file.writelines(" ".join(rng.choices(words, k=15)) + "\n" for _ in range(10_000))


@pytest.mark.slow
def test_two_million_pairs_need_little_memory_and_the_second_start_is_faster(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "big.yaml").write_text(CONFIG)
    environment = os.environ | {"TRANSLATOR_CACHE": str(tmp_path / "cache")}
    megabytes, seconds = [], []
    for name in ("first", "second"):
        command = [sys.executable, "-m", "translator", "train", str(tmp_path / "big.yaml"), f"name={name}"]
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *command, "--home", str(tmp_path)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        seconds.append(time.monotonic() - started)
        megabytes.append(int(done.stdout.split()[-1]))
    assert max(megabytes) < 1900, megabytes
    assert seconds[1] < seconds[0] / 2, seconds
