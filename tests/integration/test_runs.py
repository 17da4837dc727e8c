"""Runs that end, go on, and are begun anew: what a user is told, and what stays untouched."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from tests.small_run import PAIRS, command, curve, records, snapshot, state, train, write_corpus
from translator import build, checkpoint
from translator.optim import learning_rate

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, no_pictures: None) -> Path:
    """A folder with a corpus and the run small, trained for 40 steps; tests that change it work on a copy."""
    folder = write_corpus(tmp_path_factory.mktemp("trained"))
    train(folder, "train.steps=40")
    return folder


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(trained, tmp_path / "copy")


def published_step(folder: Path, name: str = "small") -> int:
    with safe_open(folder / "weights" / name / "model.safetensors", framework="pt") as file:
        return int(file.metadata()["step"])


def published(folder: Path, name: str = "small") -> dict[str, torch.Tensor]:
    return load_file(folder / "weights" / name / "model.safetensors")


def equal(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(ours[name].equal(theirs[name]) for name in ours)


def signal_at(step: int, number: signal.Signals) -> Callable[..., float]:
    """A learning rate as always, whose computation for `step` sends this process a signal."""

    sent: list[int] = []

    def rate(now: int, **settings: Any) -> float:
        if now == step and not sent:  # a second SIGINT would stop the run at once
            sent.append(now)
            os.kill(os.getpid(), number)
        return learning_rate(now, **settings)

    return rate


# --- going on


def test_a_run_that_goes_on_keeps_its_learning_rate_and_batches(trained: Path, tmp_path: Path) -> None:
    stopped = write_corpus(tmp_path)
    train(stopped, "train.steps=10")
    output = command(stopped, "resume", "small", "train.steps=40")
    assert output.status == 0
    assert "Changed: train.steps was 10, is 40" in output.err
    steps = [[one for one in records(folder) if "train/loss" in one] for folder in (stopped, trained)]
    assert steps[0] == steps[1]
    rates = curve(stopped, "train/learning_rate")
    assert list(rates) == list(range(1, 41))
    assert rates[10] == pytest.approx(3e-2 * 10 / 20)  # the warm-up of 20 steps is not begun again
    assert rates[20] == max(rates.values())
    assert equal(published(stopped), published(trained))


@pytest.mark.parametrize("words", [["resume", "small"], ["train", "small.yaml"]])
def test_a_changed_learning_rate_is_said_and_used(copy: Path, words: list[str]) -> None:
    output = command(copy, *words, "train.steps=42", "optim.learning_rate=6e-3")
    assert output.status == 0
    assert "Changed: optim.learning_rate was 0.03, is 0.006" in output.err
    assert "Changed: optim.learning_rate was 0.03, is 0.006" in (copy / "runs/small/train.log").read_text()
    rates = curve(copy, "train/learning_rate")
    assert rates[41] == pytest.approx(rates[40] / 5 * (40 / 41) ** 0.5, rel=1e-4)


def test_a_setting_without_effect_is_said_where_a_run_goes_on(copy: Path) -> None:
    output = command(copy, "resume", "small", "train.steps=41", "decode.length_penalty=0.9")
    assert output.status == 0
    assert [line for line in output.err.splitlines() if "has no effect" in line] == [
        "Warning: decode.length_penalty has no effect: decode.beam_size is 1 (greedy)"
    ]


@pytest.mark.slow  # the compiler takes its time
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler")
def test_a_compiled_model_learns_the_same_under_the_same_names(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    train(write_corpus(tmp_path), "train.steps=2", "device.compile=true")
    assert published(tmp_path).keys() == published(trained).keys()
    losses, plain = (curve(folder, "train/loss") for folder in (tmp_path, trained))
    assert [losses[step] for step in (1, 2)] == pytest.approx([plain[step] for step in (1, 2)], rel=0.05)


# --- a reached limit

LIMITS = {
    "steps": ["train.steps=20"],
    "epochs": ["train.epochs=2"],
    "minutes": ["train.minutes=0.05", "train.validate_every=auto"],
    # an untrained model at a learning rate of nothing: the second validation is no better than the first
    "patience": ["train.steps=100", "train.patience=1", "optim.learning_rate=1e-12", "train.validate_every=5"],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run for each kind of limit, named after it."""
    folder = write_corpus(tmp_path_factory.mktemp("finished"))
    for name, words in LIMITS.items():
        train(folder, f"name={name}", *words)
        assert state(folder, name)["state"] in ("finished", "stopped")
        assert (folder / "weights" / name / "model.safetensors").exists()
        newest = (folder / "weights" / name / "checkpoints" / "newest").read_text()
        assert newest == f"step-{state(folder, name)['step']:08d}\n"
    return folder


@pytest.mark.parametrize(
    ("name", "key", "lower", "limit"),
    [
        ("steps", "train.steps", "10", "step 20"),
        ("epochs", "train.epochs", "1", "is reached"),
        ("minutes", "train.minutes", "0.02", "minutes"),
        ("patience", "train.patience", None, "no gain in valid/bleu for 1 validation"),
    ],
)
def test_a_reached_limit_is_named_and_nothing_is_touched(
    finished: Path, name: str, key: str, lower: str | None, limit: str
) -> None:
    before = snapshot(finished)
    same = [["resume", name], ["train", "small.yaml", f"name={name}", *LIMITS[name]]]
    less = [] if lower is None else [["resume", name, f"{key}={lower}"], [*same[1], f"{key}={lower}"]]
    for words in [*same, *less]:
        output = command(finished, *words)
        assert output.status == 0, words
        assert all(part in output.message for part in (name, "finished", limit, f"Raise {key}")), words
        assert snapshot(finished) == before, words


@pytest.mark.parametrize(
    ("name", "word", "steps"),
    [
        ("steps", "train.steps=23", lambda done: 3),
        ("epochs", "train.epochs=3", lambda done: done // 2),
        ("patience", "train.patience=2", lambda done: 5),
    ],
)
def test_a_higher_limit_trains_the_difference(
    finished: Path, tmp_path: Path, name: str, word: str, steps: Callable[[int], int]
) -> None:
    folder = shutil.copytree(finished, tmp_path / "copy")
    done = len(curve(folder, "train/loss", name))
    assert command(folder, "resume", name, word).status == 0
    assert list(curve(folder, "train/loss", name)) == list(range(1, done + steps(done) + 1))
    assert state(folder, name)["step"] == done + steps(done)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_epoch_that_a_signal_cut_is_finished_exactly(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    folder = write_corpus(tmp_path)
    total = len(curve(finished, "train/loss", "epochs"))
    with monkeypatch.context() as patch:
        patch.setattr(build, "learning_rate", signal_at(total - 2, number))
        output = command(folder, "train", "small.yaml", "name=epochs", *LIMITS["epochs"])
    assert output.status == status
    assert "translator resume epochs" in output.err
    assert (state(folder, "epochs")["state"], state(folder, "epochs")["step"]) == ("interrupted", total - 2)
    assert command(folder, "resume", "epochs").status == 0
    assert records(folder, "epochs") == records(finished, "epochs")
    assert equal(published(folder, "epochs"), published(finished, "epochs"))


# --- short runs


def test_a_run_shorter_than_every_interval_saves_its_weights(tmp_path: Path) -> None:
    words = ["train.steps=3", "train.validate_every=5000"]
    output = train(write_corpus(tmp_path), *words)
    assert str(Path("weights") / "small") in output.err
    assert (tmp_path / "weights/small/checkpoints/newest").read_text() == "step-00000003\n"
    assert published_step(tmp_path) == 3
    assert command(tmp_path, "translate", "--model", "small", PAIRS[0][0]).status == 0


def test_a_run_of_no_steps_is_refused(tmp_path: Path) -> None:
    output = command(write_corpus(tmp_path), "train", "small.yaml", "train.steps=0")
    assert output.status == 2
    assert "train.steps" in output.err
    assert not (tmp_path / "weights").exists()


# --- begun anew, or killed at a bad moment


def test_restart_keeps_both_folders_and_begins_anew(copy: Path) -> None:
    old = {Path(name).parts[2:]: content for name, (_, content) in snapshot(copy).items()}
    output = train(copy, "--restart", "train.steps=2")
    assert [record["step"] for record in records(copy) if "train/loss" in record] == [1, 2]
    kept = [folder for kind in ("runs", "weights") for folder in (copy / kind).glob("small.*")]
    assert len(kept) == 2
    assert all(str(folder.relative_to(copy)) in output.err for folder in kept)
    found = {
        file.relative_to(folder).parts: file.read_bytes()
        for folder in kept
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert found == old


class KilledError(Exception):
    """Stands for a kill at a moment that the test chooses."""


@pytest.mark.parametrize(
    ("owner", "function", "limit"),
    [(build, "save_weights", 20), (checkpoint, "save_checkpoint", 40)],
)
def test_a_kill_between_checkpoint_and_weights_loses_neither(
    trained: Path,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    function: str,
    limit: int,
) -> None:
    """At step 20 one of the two is written, the other is not; what follows is as if nothing had happened."""
    folder = write_corpus(tmp_path)
    words = [f"train.steps={limit}", "train.save_every=10", "name=steps"]
    save = getattr(owner, function)

    def killed(*args: Any, **kwargs: Any) -> Any:
        if 20 in (kwargs.get("step"), args[1]):
            raise KilledError
        return save(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, function, killed)
        with pytest.raises(KilledError):
            train(folder, *words)
    assert command(folder, "resume", "steps").status == 0
    whole, name = (finished, "steps") if limit == 20 else (trained, "small")
    assert records(folder, "steps") == records(whole, name)
    assert published_step(folder, "steps") == published_step(whole, name)
    assert equal(published(folder, "steps"), published(whole, name))
    assert f"| {published_step(whole, name)} |" in (folder / "weights/steps/README.md").read_text(encoding="utf-8")


def test_raised_minutes_train_on(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "copy")
    done = len(curve(folder, "train/loss", "minutes"))
    assert command(folder, "resume", "minutes", "train.minutes=0.1").status == 0
    steps = list(curve(folder, "train/loss", "minutes"))
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) > done
    assert (state(folder, "minutes")["state"], state(folder, "minutes")["step"]) == ("finished", len(steps))
    assert f"{state(folder, 'minutes')['total_steps']:,} steps fit into 0.1 minutes" in (
        folder / "runs/minutes/train.log"
    ).read_text(encoding="utf-8")
