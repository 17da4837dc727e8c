"""Processes that are killed, signalled, or run out of space, for real; the long version is `scripts/torture`."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.torture.filling import can_mount, filled
from tests.torture.jobs import Jobs
from tests.torture.killing import finish, killed_at_aimed_moments, until
from tests.torture.runs import TRAIN, assert_equal, prepare
from translator.files import hold

STEPS = 25
TRAIN_STEP = "translator.trainer:Trainer.train_step"


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    with Jobs() as started:
        yield started


@pytest.fixture(scope="module")
def straight(jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to."""
    folder = prepare(tmp_path_factory.mktemp("straight"), steps=STEPS)
    ended = jobs.run(folder, TRAIN)
    assert ended.status == 0, ended.out
    return folder


@pytest.fixture
def folder(straight: Path, tmp_path: Path) -> Path:
    """The same run before its beginning; what was prepared for it is in the cache."""
    prepare(tmp_path, steps=STEPS)
    shutil.copytree(straight / "cache", tmp_path / "cache")
    return tmp_path


def test_killed_at_every_aimed_moment_it_ends_as_if_nothing_had_happened(
    jobs: Jobs, straight: Path, tmp_path: Path
) -> None:
    killed_at_aimed_moments(jobs, straight, tmp_path, steps=STEPS)


def test_killed_at_ten_random_moments(jobs: Jobs, straight: Path, tmp_path: Path) -> None:
    *_, done = until(jobs, tmp_path, straight, seed=5, num_kills=10, steps=STEPS)
    assert done == 10


def test_killed_in_bfloat16(jobs: Jobs, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"precision": "bfloat16", "steps": STEPS}
    straight = prepare(tmp_path / "straight", **settings)
    assert jobs.run(straight, TRAIN).status == 0
    killed_at_aimed_moments(jobs, straight, tmp_path / "killed", **settings)


# --- no space: no file may be longer than so many bytes, as with a quota


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("translator.checkpoint:save_checkpoint", r"step-000000\d\d could not be written"),
        ("translator.build:save_weights", "model.safetensors could not be written"),
        ("translator.encode:cached", r"cannot be written .*the encoded corpus needs about \d"),
        ("translator.corpus.read:store_parts", r"cannot be written .*the table of .* needs about \d"),
        ("translator.training_set:train_tokenizers", r"tokenizer.json could not be written .*needs about \d"),
        ("translator.build:hold", r".run.lock could not be written .*needs about \d"),
        ("translator.build:save_tokenizers", r"tokenizer.json could not be written .*needs about \d"),
        ("translator.build:dump_config", r"config.yaml could not be written .*needs about \d"),
        ("translator.build:model_card", r"README.md could not be written .*needs about \d"),
    ],
)
def test_without_space_the_file_is_named_and_the_run_goes_on_later(
    jobs: Jobs, straight: Path, folder: Path, place: str, named: str
) -> None:
    if any(part in place for part in ("corpus", "encode", "training_set")):
        shutil.rmtree(folder / "cache")
    else:
        jobs.run(folder, TRAIN, fault={"kill_in": "translator.checkpoint:save_checkpoint", "call": 2})
    again = ["--restart"] if "build:save_tokenizers" in place else []
    num_bytes = 0 if "hold" in place else 300
    ended = jobs.run(folder, [*TRAIN, *again], fault={"limit_in": place, "bytes": num_bytes})
    assert ended.status == 2, ended.out
    last = ended.out.splitlines()[-1]
    assert re.search(named, last), last
    assert "File too large" in last
    assert "Traceback" not in ended.out
    for kept in [*folder.glob("runs/run.*"), *folder.glob("weights/run.*")]:
        shutil.rmtree(kept)
    finish(jobs, straight, folder)


@pytest.mark.parametrize("place", ["translator.log:_append_whole", "translator.log:write_atomic"])
def test_logs_that_cannot_be_written_do_not_end_training(jobs: Jobs, straight: Path, folder: Path, place: str) -> None:
    ended = jobs.run(folder, TRAIN, fault={"limit_around": place, "bytes": 300})
    assert ended.status == 0, ended.out
    assert ended.out.count("Training goes on without") == 1
    assert_equal(straight, folder, logs=False)


def test_a_disk_that_is_full_is_named_and_the_run_goes_on_later(jobs: Jobs, straight: Path, tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("no small disk can be mounted here: only root may, and not in every container")
    said = filled(jobs, straight, tmp_path / "small", "a checkpoint", 0, steps=STEPS)
    assert re.search(
        r"step-\d+ could not be written \(No space left on device\): it needs about .* MB, and .* MB", said
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full (Linux)")
def test_standard_error_on_a_full_disk_does_not_end_training(jobs: Jobs, straight: Path, folder: Path) -> None:
    ended = jobs.run(folder, TRAIN, fault={"stderr": "/dev/full"})
    assert (ended.status, ended.out) == (0, "")
    assert "Ended: all 25 steps are done" in (folder / "runs/run/train.log").read_text()
    assert_equal(straight, folder)


# --- signals and the time of a job


def test_a_job_ends_in_time_and_the_next_one_goes_on(jobs: Jobs, straight: Path, folder: Path) -> None:
    ended = jobs.run(folder, [*TRAIN, "train.stop_after=4s"], fault={"slow": 0.25})
    assert ended.status == 75, ended.out
    assert ended.out.splitlines()[-1] == "Go on with: translator resume run"
    assert "the time of this job (train.stop_after) is over at step" in ended.out
    state = json.loads((folder / "runs/run/state.json").read_text())
    assert state["state"] == "interrupted"
    assert (folder / "weights/run/checkpoints/newest").read_text() == f"step-{state['step']:08d}\n"
    ended = jobs.run(folder, ["resume", "run", "train.stop_after=null"])
    assert ended.status == 0
    assert "Changed" not in ended.out  # how long a job may take is no matter of the run
    assert_equal(straight, folder)


def test_ctrl_c_ends_the_step_and_writes_a_checkpoint(jobs: Jobs, straight: Path, folder: Path) -> None:
    ended = jobs.run(folder, TRAIN, fault={"interrupt_in": TRAIN_STEP, "call": 4, "times": 1})
    assert ended.status == 130, ended.out
    assert (folder / "weights/run/checkpoints/newest").read_text() == "step-00000004\n"
    finish(jobs, straight, folder)


def test_a_second_ctrl_c_leaves_at_once(jobs: Jobs, straight: Path, folder: Path) -> None:
    ended = jobs.run(folder, TRAIN, fault={"interrupt_in": TRAIN_STEP, "call": 4, "times": 2})
    assert ended.status == 130, ended.out
    assert ended.out.splitlines()[-1] == "Stopped by Ctrl-C."
    finish(jobs, straight, folder)


def test_a_second_process_is_refused_with_the_first_ones_number(jobs: Jobs, straight: Path) -> None:
    with hold(straight / "weights" / ".run.lock", "run run"):
        ended = jobs.run(straight, [*TRAIN, f"train.steps={STEPS + 1}"])
    assert ended.status == 2
    assert re.search(r"Another process \(process \d+ on \S+\) is training run run", ended.out)
    assert "is finished" in jobs.run(straight, TRAIN).out


def test_a_clock_that_jumps_changes_nothing(jobs: Jobs, straight: Path, folder: Path) -> None:
    fault = {"clock": [-90_000, 3_000_000, -700]}
    stopped = jobs.run(folder, [*TRAIN, "train.stop_after=4s"], fault={**fault, "slow": 0.25})
    assert stopped.status == 75, stopped.out
    assert jobs.run(folder, [*TRAIN, "train.stop_after=null"], fault=fault).status == 0
    assert_equal(straight, folder)
