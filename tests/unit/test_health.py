"""Readings of steps after the fact: bad steps and their files, the loss scale, spikes."""

import json
import math
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from translator import bad_steps
from translator.batches import BatchStream
from translator.errors import CheckpointError, TranslatorError
from translator.health import SPIKE_AFTER, Health, Noted
from translator.log import RunLog
from translator.model import Transformer
from translator.optim import FlatParameters
from translator.step import Step
from translator.training_state import Settings, State


class Pairs:
    """Six pairs of the lengths 1 to 6."""

    num_pairs = 6
    index = np.arange(6)

    def lengths(self, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return np.arange(2, 8), np.arange(2, 8)

    def pair(self, i: int, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return np.full(i + 1, 10 + i), np.full(i + 1, 20 + i)

    def numbers(self, positions: np.ndarray[Any, Any], epoch: int) -> np.ndarray[Any, Any]:
        return positions


def make_health(folder: Path, **changes: Any) -> Health:
    settings: dict[str, Any] = {
        "seed": 1, "total_steps": 12, "minutes": None, "learning_rate": lambda *_: 0.1, "warmup_steps": 0,
        "label_smoothing": 0.1, "accumulate": 2, "validate_every": 4, "save_every": 4, "log_every": 3, "keep": 3,
        "stop_on": None, "higher_is_better": True, "patience": None, "max_bad_steps": 3, "validate_first": False,
        **changes,
    }  # fmt: skip
    model = Transformer(30, 30, d_model=4, num_heads=1, d_ff=4, num_encoder_layers=0, num_decoder_layers=0)
    log = RunLog(folder / "my-run")
    log.open()
    step = Step(
        model, FlatParameters(model), seed=1, label_smoothing=0.1, pad_id=0, say=log.line, locate="line {}".format
    )
    return Health(Settings(**settings), BatchStream(Pairs(), budget=7, seed=1), step, log, folder / "checkpoints")


def note(health: Health, results: Iterable[tuple[bool, float]], first: int = 1) -> None:
    for step, (skipped, loss) in enumerate(results, start=first):
        health.note(Noted(step, 0, 2 * (step - 1) % 6, 0.1, None, 0, torch.tensor([float(skipped), loss])))


def said(folder: Path) -> list[str]:
    return (folder / "my-run" / "train.log").read_text().splitlines()


def test_a_bad_step_is_said_and_kept_with_its_pairs(tmp_path: Path) -> None:
    health, state = make_health(tmp_path), State(step=3)
    note(health, [(False, 3.0), (True, math.nan), (False, 3.0)])
    health.read(state)
    (file,) = bad_steps.files(tmp_path / "my-run")
    assert said(tmp_path) == [
        "step 2 (epoch 0, batch 3): the loss or a gradient is not finite; the step was left out; "
        f"`translator replay my-run 2` does it again ({file})"
    ]
    assert state.bad_steps == 0  # the third was good
    bad = bad_steps.read(file)
    stream = BatchStream(Pairs(), budget=7, seed=1, batch=2)
    batches = [next(stream), next(stream)]
    parts = health.step.parts(batches, State(step=2))
    assert (bad.step, bad.precision, bad.learning_rate, bad.label_smoothing) == (2, "float32", 0.1, 0.1)
    for part, again in zip(parts, bad.batches(), strict=True):
        assert part.seed == again.seed
        for name in ("src_BS", "src_mask_BS", "tgt_in_BT", "labels_BT", "index_B"):
            assert torch.equal(getattr(part.batch, name), getattr(again.batch, name)), name
    assert [pair.place for part in bad.parts for pair in part] == [
        f"line {i}" for batch in batches for i in batch.index_B.tolist()
    ]


def test_a_divided_bad_step_is_kept_as_it_was_done(tmp_path: Path) -> None:
    health = make_health(tmp_path, accumulate=5)
    health.note(Noted(4, 0, 0, 0.1, 3, 1, torch.tensor([1.0, math.inf])))
    health.read(State(step=4, most_cells=1, left_out=[5, 4]))
    (file,) = bad_steps.files(tmp_path / "my-run")
    numbers = sorted(pair.index for part in bad_steps.read(file).parts for pair in part)
    assert numbers == [0, 1, 2, 3, 4]  # the second was left out only later


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    health = make_health(tmp_path, max_bad_steps=100)
    note(health, [(True, math.nan)] * 25)
    health.read(State(step=25))
    names = [file.name for file in bad_steps.files(tmp_path / "my-run")]
    assert names == [f"step-{step:08d}.json" for step in range(6, 26)]


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    health = make_health(tmp_path)
    (tmp_path / "my-run" / bad_steps.FOLDER).write_text("in the way")
    note(health, [(True, math.nan)])
    health.read(State(step=1))
    assert said(tmp_path)[0].endswith("the step was left out, and could not be kept (File exists)")


def test_too_many_bad_steps_in_a_row_end_the_run(tmp_path: Path) -> None:
    health, state = make_health(tmp_path), State(step=9)
    (tmp_path / "checkpoints" / "step-00000004").mkdir(parents=True)
    note(health, [(True, math.nan)] * 2)
    health.read(state)
    note(health, [(True, math.nan)], first=3)
    with pytest.raises(TranslatorError, match=r"at step 9; training stopped. The last good checkpoint is .*00000004"):
        health.read(state)


def test_in_float16_the_scale_falls_and_no_step_is_bad(tmp_path: Path) -> None:
    health, state = make_health(tmp_path, loss_scale=1024.0), State(step=5, loss_scale=1024.0)
    note(health, [(True, math.inf)] * 5)
    health.read(state)
    assert (state.loss_scale, state.bad_steps, bad_steps.files(tmp_path / "my-run")) == (512.0, 0, [])


def losses(number: int, seed: int = 1) -> list[tuple[bool, float]]:
    generator = random.Random(seed)
    return [(False, 7.0 * 0.995**i + 2.0 + generator.gauss(0.0, 0.2)) for i in range(number)]


def test_usual_losses_have_no_spikes(tmp_path: Path) -> None:
    health, state = make_health(tmp_path), State()
    note(health, losses(3000))
    health.read(state)
    assert said(tmp_path) == []


def test_a_spike_is_said_once_until_the_loss_is_back(tmp_path: Path) -> None:
    health, state = make_health(tmp_path), State()
    leaps = [*losses(300), (False, 9.0), (False, 8.0), (False, 9.0), *losses(310)[303:], (False, 11.0)]
    note(health, leaps)
    health.read(state)
    assert [line.split(" (")[0] for line in said(tmp_path)] == ["step 301", "step 311"]
    assert "the loss leapt to 9.000, from a mean of" in said(tmp_path)[0]


def test_nothing_is_a_spike_before_enough_is_seen(tmp_path: Path) -> None:
    health, state = make_health(tmp_path), State()
    note(health, [*losses(SPIKE_AFTER - 1), (False, 99.0)])
    health.read(state)
    assert said(tmp_path) == []


def test_unread_steps_survive_a_resume(tmp_path: Path) -> None:
    results = [*losses(120), (True, math.nan), (False, 30.0)]
    straight, resumed, state, other = make_health(tmp_path / "a"), make_health(tmp_path / "b"), State(), State()
    note(straight, results)
    straight.read(state)
    note(resumed, results[:60])
    resumed.read(other)
    note(resumed, results[60:], first=61)
    resumed.store(other)
    stored = State(**json.loads(json.dumps(vars(other), allow_nan=False)))
    again = make_health(tmp_path / "b")
    again.restore(stored, torch.device("cpu"))
    again.read(stored)
    assert vars(stored) | {"unread": []} == vars(state)
    assert [line.split(";")[0] for line in said(tmp_path / "b")] == [
        line.split(";")[0] for line in said(tmp_path / "a")
    ]
    assert len(said(tmp_path / "a")) == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        pytest.param("[" * 100_000, id="nested deeply"),
        pytest.param("9" * 5_000, id="a huge number"),
        "[]",
        "{}",
        '{"format_version": 1}',
        '{"format_version": 2}',
        '{"format_version": 1, "parts": 3}',
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "step-00000001.json"
    file.write_text(content)
    with pytest.raises(CheckpointError, match=r"step-00000001\.json"):
        bad_steps.read(file)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The file of a bad step."""
    health = make_health(tmp_path)
    note(health, [(True, math.nan)])
    health.read(State(step=1))
    (file,) = bad_steps.files(tmp_path / "my-run")
    return file


@pytest.mark.parametrize("name", ["source", "target"])
def test_ids_that_are_no_numbers_are_refused(kept: Path, name: str) -> None:
    content = json.loads(kept.read_text())
    wrong_ones: list[object] = [[-1], [1.5], ["7"], [True], [2**40], "12", {}, None, 3]
    for wrong in wrong_ones:
        content["parts"][0][0][name] = wrong
        kept.write_text(json.dumps(content))
        with pytest.raises(CheckpointError, match=r"token ids|iterable"):
            bad_steps.read(kept)


@pytest.mark.parametrize("wrong", ["x", -1, None, [], True, math.nan, pytest.param(10**400, id="huge")])
@pytest.mark.parametrize(
    "name", ["step", "epoch", "batch", "learning_rate", "loss_scale", "label_smoothing", "bos_id", "pad_id", "seeds"]
)
def test_values_that_are_no_numbers_are_refused(kept: Path, name: str, wrong: object) -> None:
    content = json.loads(kept.read_text())
    content[name] = [wrong] * len(content["parts"]) if name == "seeds" else wrong
    kept.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"step-00000001\.json"):
        bad_steps.read(kept)


def test_places_and_precision_are_text(kept: Path) -> None:
    content = json.loads(kept.read_text())
    pair = content["parts"][0][0]
    wrong: list[dict[str, object]] = [
        {"precision": 32},
        {"parts": [[{**pair, "place": 7}]]},
        {"parts": [], "seeds": []},
    ]
    for changes in wrong:
        kept.write_text(json.dumps({**content, **changes}))
        with pytest.raises(CheckpointError, match=r"step-00000001\.json"):
            bad_steps.read(kept)


def test_a_pipe_is_not_waited_for(kept: Path) -> None:
    kept.unlink()
    os.mkfifo(kept)
    with pytest.raises(CheckpointError, match="no plain file"):
        bad_steps.read(kept)
