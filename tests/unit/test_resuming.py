"""What a run that goes on keeps, says and refuses."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from translator.config import Config, load_config
from translator.errors import CheckpointError
from translator.resuming import already_done, compare, keep_choices, plan, stream_position
from translator.training_state import State

Make = Callable[..., Config]
STORED = ("device.kind=cuda", "device.precision=bfloat16", "device.threads=4", "device.compile=true")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    file = tmp_path / "run.yaml"
    file.write_text("corpus: {source_language: en, target_language: it, train: pairs.tsv, split: {valid: 9}}\n")
    return lambda *overrides: load_config(file, overrides)


def test_automatic_choices_are_kept_where_the_device_is_there(make: Make) -> None:
    assert keep_choices(make(), make(*STORED), ["cuda", "cpu"]).device == make(*STORED).device
    assert keep_choices(make("device.threads=2"), make(*STORED), ["cuda", "cpu"]).device.threads == 2


def test_a_run_of_a_gpu_goes_on_without_one(make: Make) -> None:
    assert keep_choices(make(), make(*STORED), ["cpu"]).device == make().device


def test_the_number_of_tokens_is_kept_even_on_another_device(make: Make) -> None:
    stored = make(*STORED, "batch.tokens=512")
    assert make().batch.tokens == "auto"
    assert keep_choices(make(), stored, ["cpu"]).batch.tokens == 512
    assert keep_choices(make("batch.tokens=999"), stored, ["cpu"]).batch.tokens == 999


def test_changes_are_said_or_refused(make: Make) -> None:
    assert compare(make(), make("optim.learning_rate=0.5", "train.keep=9")) == [
        "Changed: optim.learning_rate was 0.001, is 0.5 from here on."
    ]
    with pytest.raises(CheckpointError, match=r"seed: 1 is stored, 2 .*model.d_model: 256 is .*--restart"):
        compare(make(), make("model.d_model=64", "seed=2"))


def test_batches_that_are_cut_otherwise_begin_with_the_next_epoch(make: Make) -> None:
    place = {"epoch": 2, "batch": 7}
    saved = {"stream": place, "plan": plan(make())}
    assert stream_position(saved, make("optim.learning_rate=0.5")) == place
    assert stream_position(saved, make("batch.tokens=999")) == {"epoch": 3, "batch": 0}
    assert stream_position(saved, make(), new_corpus=True) == {"epoch": 3, "batch": 0}


@pytest.mark.parametrize(
    ("overrides", "state", "said"),
    [
        (["train.steps=20"], {"step": 19, "total_steps": 20}, None),
        (["train.steps=20"], {"step": 20, "total_steps": 20}, "step 20 of 20 is reached.*Raise train.steps"),
        (["train.epochs=2"], {"step": 20, "total_steps": 20}, "Raise train.epochs"),
        (["train.minutes=1"], {"step": 9, "seconds": 60.0}, "1 minutes of training are over.*Raise train.minutes"),
        (["train.patience=2", "train.steps=90"], {"step": 9, "validations_without_gain": 2}, "Raise train.patience"),
    ],
)
def test_a_reached_limit_is_named(make: Make, overrides: list[str], state: dict[str, Any], said: str | None) -> None:
    done = already_done(make(*overrides), State(**state))
    assert (done is None) == (said is None)
    if done is not None and said is not None:
        assert re.search(said, done)
