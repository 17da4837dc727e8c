"""A run that was interrupted and goes on in a new process is the uninterrupted one, bit for bit, whatever it was told.

Two threads and every source of randomness are here; kills and faults are in test_faults_*.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.torture.jobs import Jobs
from tests.torture.runs import TRAIN, assert_equal, prepare
from translator.config import load_config

Fault = Mapping[str, Any]  # see tests.torture.faults

STEPS = 20
NOTHING: Fault = {}
INTERRUPT = {"interrupt_in": "translator.trainer:Trainer.train_step", "call": 4, "times": 1}
# So large that torch divides its work: elementwise operations from 32,768 elements on.
LARGE = ("model.d_model=128", "model.d_ff=256", "model.num_heads=4", "batch.tokens=1024", "train.steps=10")
SETTINGS = {  # in float32 on one thread, with two micro-batches, subword sampling, dropout 0.1 and a moving average
    "every dropout": ("model.attention_dropout=0.1", "model.feedforward_dropout=0.1", "tokenizer.dropout=0.2"),
    "no average": ("optim.average=none",),
    "the mean of the last weights": ("optim.average=last", "optim.average_last=3", "train.validate_every=3"),
    "three micro-batches": ("batch.accumulate=3",),
    "as many tokens as suit": ("batch.tokens=auto",),
    "two threads": (*LARGE, "device.threads=2"),
    "two threads in bfloat16": ("device.threads=2", "device.precision=bfloat16", "batch.tokens=512"),
}


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    with Jobs() as started:
        yield started


def run(jobs: Jobs, folder: Path, words: Sequence[str], machine: Fault = NOTHING) -> Path:
    """A run from its beginning to its end."""
    ended = jobs.run(prepare(folder, steps=STEPS), [*TRAIN, *words], fault=machine)
    assert ended.status == 0, ended.out
    return folder


def run_in_two(
    jobs: Jobs, folder: Path, words: Sequence[str], machine: Fault = NOTHING, other: Fault = NOTHING
) -> Path:
    """The same, interrupted in its fourth step, which is due for nothing; what goes on is told no setting again."""
    ended = jobs.run(prepare(folder, steps=STEPS), [*TRAIN, *words], fault={**INTERRUPT, **machine})
    assert ended.status == 130, ended.out
    assert (folder / "weights/run/checkpoints/newest").read_text() == "step-00000004\n"
    ended = jobs.run(folder, ["resume", "run"], fault=other)
    assert ended.status == 0, ended.out
    assert "goes on from step 4" in ended.out
    assert "Changed" not in ended.out
    return folder


@pytest.mark.parametrize("words", SETTINGS.values(), ids=SETTINGS)
def test_interrupted_it_ends_as_if_nothing_had_happened(jobs: Jobs, tmp_path: Path, words: Sequence[str]) -> None:
    assert_equal(run(jobs, tmp_path / "straight", words), run_in_two(jobs, tmp_path / "in-two", words))


def test_choices_are_made_once_and_hold_where_the_machine_has_become_another(jobs: Jobs, tmp_path: Path) -> None:
    """Cores, bfloat16 units and free memory decide what `auto` is; the second machine would have it otherwise."""
    words = [f"device.{key}=auto" for key in ("kind", "precision", "threads", "compile")] + ["batch.tokens=auto"]
    machine, other = (
        {"machine": dict(zip(("cores", "bfloat16", "free"), numbers, strict=True))}
        for numbers in ((2, True, 8_000_000_000), (3, False, 140_000_000))
    )
    straight = run(jobs, tmp_path / "straight", words, machine)
    moved = run_in_two(jobs, tmp_path / "moved", words, machine, other)
    config = load_config(moved / "weights/run/config.yaml")
    chosen = config.device
    assert (chosen.threads, chosen.precision, chosen.compile, config.batch.tokens) == (2, "bfloat16", False, 1024)
    assert_equal(straight, moved)
    begun = run(jobs, tmp_path / "begun", words, other)
    config = load_config(begun / "weights/run/config.yaml")
    assert (config.device.threads, config.device.precision) == (3, "float32")
    assert config.batch.tokens != 1024
