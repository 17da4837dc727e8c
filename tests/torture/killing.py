"""SIGKILL at chosen and at random moments."""

import random
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.torture.jobs import Ended, Jobs
from tests.torture.runs import SAVE_EVERY, TRAIN, assert_equal, last_logged, newest_checkpoint, prepare

# Each is met by a run in this order: what is prepared is kept by the next start.
AIMED: Mapping[str, Mapping[str, Any]] = {
    "the table of the corpus": {"kill_in": "translator.corpus.store:_numbers"},
    "training a tokenizer": {"kill_in": "translator.tokenizer:Tokenizer.train", "after": 0.003},
    "token ids": {"kill_in": "translator.encode:_Writer.append", "call": 2},
    "sampled token ids": {"kill_in": "translator.encode:_write_samples"},
    "a validation": {"kill_in": "translator.validation:evaluate_set", "call": 2, "after": 0.02},
    "writing the weights": {"kill_in": "translator.build:save_weights", "call": 1},
    "half a tensor file": {"half_written": 3},
    "before a checkpoint is renamed": {"kill_in": "translator.checkpoint:Path.rename"},
    "between a checkpoint and the pointer to it": {"kill_in": "translator.checkpoint:recover", "call": 5},
    "removing a checkpoint": {"kill_in": "translator.checkpoint:shutil.rmtree", "call": 2},
}


def killed_at_aimed_moments(jobs: Jobs, straight: Path, folder: Path, **settings: Any) -> None:
    """Kill one run at each of `AIMED`; its end must be that of `straight`."""
    prepare(folder, **settings)
    for moment, fault in AIMED.items():
        ended = go_on(jobs, folder, fault=fault)
        assert ended.status == -signal.SIGKILL, f"{moment}: {ended.status}\n{ended.out}"
    finish(jobs, straight, folder)


def killed_at_random(
    jobs: Jobs, straight: Path, folder: Path, rng: random.Random, *, num_changes: int, most: int, **settings: Any
) -> int:
    """Kill a run again and again, before a random change on disk or after a random time, until it gets to its end or
    has been killed `most` times. Returns the number of kills."""
    prepare(folder, **settings)
    for number in range(most):
        if number == 0 or rng.random() < 0.5:  # the first one is sure to come before the end
            ended = go_on(jobs, folder, fault={"kill_at": rng.randint(1, num_changes // 3)})
        else:
            ended = go_on(jobs, folder, kill_after=rng.uniform(0.1, 1.5))
        if ended.status == 0:
            assert_equal(straight, folder)
            return number
        assert ended.status == -signal.SIGKILL, ended.out
    finish(jobs, straight, folder)
    return most


def go_on(
    jobs: Jobs,
    folder: Path,
    *,
    reached: int = 0,
    fault: Mapping[str, Any] | None = None,
    kill_after: float | None = None,
) -> Ended:
    """Begin a run or go on with it, from the newest checkpoint that stands there and from no other.

    A run is equal in the end also where it lost all its checkpoints and began anew; so each start is looked at. What
    was lost before it is no more than the steps between two checkpoints; `reached` is the step it got to, if
    its log does not tell.
    """
    newest = newest_checkpoint(folder)
    assert newest >= max(reached, last_logged(folder)) - SAVE_EVERY
    ended = jobs.run(folder, TRAIN, fault=fault, kill_after=kill_after)
    assert "damaged" not in ended.out, ended.out
    assert "Trying the checkpoint before it" not in ended.out, ended.out
    said = re.search(r"^Run run (?:begins|goes on from step (\d+)|is finished: step (\d+))", ended.out, re.MULTILINE)
    if said is not None:
        assert int(said[1] or said[2] or 0) == newest, ended.out
    assert said is not None or ended.status != 0, ended.out
    return ended


def finish(jobs: Jobs, straight: Path, folder: Path, *, reached: int = 0, logs: bool = True) -> None:
    """Let a run, which got to the step `reached`, go on to its end, which must be that of `straight`."""
    ended = go_on(jobs, folder, reached=reached)
    assert ended.status == 0, ended.out
    assert_equal(straight, folder, logs=logs)


def until(jobs: Jobs, home: Path, straight: Path, seed: int, num_kills: int, **settings: Any) -> Iterator[int]:
    """The kills of one random run after the other, until there were `num_kills`; gives the number so far."""
    rng, done = random.Random(seed), 0
    num_changes = jobs.run(prepare(home / "counted", **settings), TRAIN).num_changes
    while done < num_kills:
        folder = home / f"random-{done}"
        done += killed_at_random(
            jobs, straight, folder, rng, num_changes=num_changes, most=min(15, num_kills - done), **settings
        )
        shutil.rmtree(folder)
        yield done
