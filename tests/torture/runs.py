"""A small run with everything in it, and whether two of them ended alike."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

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
train: {{steps: {steps}, validate_every: 20, save_every: {save_every}, log_every: 5}}
device: {{kind: cpu, precision: {precision}, threads: 1}}
"""
TRAIN = ("train", "run.yaml")
SAVE_EVERY = 7
TIMES = {
    "seconds",
    "step_seconds",
    "validation_seconds",
    "last_validation_seconds",
    "logs",
}  # the logs hold times, so their length is no matter


def prepare(folder: Path, *, precision: str = "float32", steps: int = 60, num_pairs: int = 220) -> Path:
    """A corpus of numbers in words, spelt backwards, and run.yaml; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(4)
    pairs = [" ".join(rng.choices(NUMBERS, k=rng.randint(2, 9))) for _ in range(num_pairs)]
    for name, part in (("train", pairs[20:]), ("valid", pairs[:20])):
        (folder / f"{name}.tsv").write_text("".join(f"{pair}\t{pair[::-1]}\n" for pair in part))
    (folder / "run.yaml").write_text(CONFIG.format(precision=precision, steps=steps, save_every=SAVE_EVERY))
    return folder


def records(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl without times and speeds."""
    lines = (folder / "runs" / "run" / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if "second" not in key} for line in lines]


def points(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """The points of every curve in TensorBoard, without times and speeds."""
    events = EventAccumulator(str(folder / "runs" / "run"), size_guidance={"scalars": 0})
    events.Reload()
    tags = [tag for tag in events.Tags()["scalars"] if "second" not in tag]
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}


def newest_checkpoint(folder: Path) -> int:
    """The step of the newest checkpoint, or 0. Until its replacement has come a checkpoint has another name, and a kill
    can come before the pointer is moved; it never names one that is not there."""
    checkpoints = folder / "weights" / "run" / "checkpoints"
    names = [path.name.removeprefix(".replaced-") for path in checkpoints.glob("*step-*")]
    newest = max((int(name[5:]) for name in names if name.startswith("step-")), default=0)
    pointer = checkpoints / "newest"
    assert not pointer.exists() or int(pointer.read_text()[5:]) <= newest
    return newest


def last_logged(folder: Path) -> int:
    """The last step in metrics.jsonl, or 0."""
    file = folder / "runs" / "run" / "metrics.jsonl"
    return max((json.loads(line)["step"] for line in file.read_text().splitlines()), default=0) if file.exists() else 0


def assert_equal(straight: Path, other: Path, *, logs: bool = True) -> None:
    """Weights, optimizer state, counters and metrics are equal to the bit, no line or point stands twice, and nothing
    half written is left. `logs`: the log files are whole, too."""
    ours, theirs = _tensor_files(straight), _tensor_files(other)
    assert ours.keys() <= theirs.keys()  # killed after its last checkpoint a run may keep an older one
    for name, file in ours.items():
        expected, found = load_file(file), load_file(theirs[name])
        assert expected.keys() == found.keys(), name
        assert all(expected[key].equal(found[key]) for key in expected), name
    states = _states(other)
    assert all(state == states[name] for name, state in _states(straight).items())
    newest = (other / "weights" / "run" / "checkpoints" / "newest").read_text().strip()
    assert newest == max(states)
    leftovers = [path for path in other.rglob(".*") if path.name != ".run.lock"]
    assert not leftovers, leftovers
    if logs:
        assert records(straight) == records(other)
        assert points(straight) == points(other)
        for tag, values in points(other).items():
            steps = [step for step, _ in values]
            assert steps == sorted(set(steps)), tag
        lines = (other / "runs" / "run" / "train.log").read_text().splitlines()
        steps_logged = [line.split()[1] for line in lines if line.startswith("step ")]
        assert len(steps_logged) == len(set(steps_logged)) == sum("train/loss" in record for record in records(other))


def _tensor_files(folder: Path) -> dict[str, Path]:
    weights = folder / "weights" / "run"
    return {str(file.relative_to(weights)): file for file in sorted(weights.rglob("*.safetensors"))}


def _states(folder: Path) -> dict[str, dict[str, Any]]:
    """state.json of each checkpoint, without times."""
    found = {}
    for file in sorted((folder / "weights" / "run" / "checkpoints").glob("step-*/state.json")):
        state = json.loads(file.read_text())
        state["sums"].pop("seconds")
        for place in itertools.chain.from_iterable(state["contents"].values()):
            del place["from"]  # the folder of the run
        found[file.parent.name] = {key: value for key, value in state.items() if key not in TIMES}
    return found
