"""A run that is killed several times ends bit for bit where the uninterrupted one ends."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
CONFIG = """
corpus:
  source_language: en
  target_language: it
  train: train.tsv
  valid: valid.tsv
tokenizer: {{vocab_size: 320, dropout: 0.1, dropout_samples: 2}}
model: {{d_model: 16, num_heads: 2, d_ff: 32, num_encoder_layers: 1, num_decoder_layers: 1}}
batch: {{tokens: 256, accumulate: 2}}
train: {{steps: 60, validate_every: 20, save_every: 7, log_every: 5}}
device: {{precision: {precision}, threads: 1}}
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "translator", "train", str(folder / "run.yaml"), "--home", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(job: subprocess.Popen[bytes]) -> None:
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors.decode()


def records(folder: Path) -> list[dict[str, float]]:
    """metrics.jsonl without times and speeds."""
    lines = (folder / "runs" / "run" / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if "second" not in k} for line in lines]


@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, precision: str) -> None:
    rng = random.Random(precision)
    pairs = [" ".join(rng.choices(NUMBERS, k=rng.randint(2, 9))) for _ in range(220)]
    folders = [tmp_path / "straight", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
        for name, part in (("train", pairs[20:]), ("valid", pairs[:20])):
            (folder / f"{name}.tsv").write_text("".join(f"{p}\t{p[::-1]}\n" for p in part))
        (folder / "run.yaml").write_text(CONFIG.format(precision=precision))
    straight, killed = folders
    finish(start(straight))

    log = killed / "runs" / "run" / "metrics.jsonl"
    for number_of_lines in sorted(rng.sample(range(1, 13), 3)):
        job = start(killed)
        while job.poll() is None and not (log.exists() and len(log.read_bytes().splitlines()) >= number_of_lines):
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        job.send_signal(signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL, job.stderr and job.stderr.read().decode()
    finish(start(killed))

    assert records(straight) == records(killed)
    for path in sorted((straight / "weights" / "run").rglob("*.safetensors")):
        ours, theirs = load_file(path), load_file(killed / path.relative_to(straight))
        assert ours.keys() == theirs.keys()
        assert all(ours[name].equal(theirs[name]) for name in ours), path
    events = EventAccumulator(str(killed / "runs" / "run"), size_guidance={"scalars": 0})
    events.Reload()
    for tag in events.Tags()["scalars"]:
        steps = [event.step for event in events.Scalars(tag)]
        assert steps == sorted(set(steps)), tag
    log_lines = [line for line in (killed / "runs" / "run" / "train.log").read_text().splitlines() if "/60 " in line]
    assert len(log_lines) == len({line.split()[1] for line in log_lines}) == 12
