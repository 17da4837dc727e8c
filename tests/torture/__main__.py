"""The long versions: prints a table of what was promised, what was done, how often, and what was lost."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture.damaging import damage_everything
from tests.torture.filling import LEAVE, MOMENTS, can_mount, filled
from tests.torture.jobs import Jobs
from tests.torture.killing import AIMED, killed_at_aimed_moments, until
from tests.torture.runs import TRAIN, prepare
from tests.torture.tracing import trace, unsafe_renames

Row = tuple[str, str, str, str]
NOTHING = "nothing"
NOT_DONE = "NOT DONE"


def main() -> int:
    """Do all of it; an assertion that fails names what was lost. The status is 1 where something could not be done."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="random kills in each precision")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    args = parser.parse_args()
    started = time.monotonic()
    home = Path(tempfile.mkdtemp(prefix="torture-"))
    rows: list[Row] = []
    try:
        with Jobs() as jobs:
            for row in everything(jobs, home, args.kills, args.seed):
                rows.append(row)
                print(f"{time.strftime('%H:%M:%S')}  {' | '.join(row)}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("| promise | fault | times | lost |\n| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"It took {(time.monotonic() - started) / 60:.0f} minutes.")
    return int(any(fault.startswith(NOT_DONE) for _, fault, _, _ in rows))


def everything(jobs: Jobs, home: Path, kills: int, seed: int) -> Iterator[Row]:
    """Each promise, the fault, how many times, and what was lost."""
    for precision in ("float32", "bfloat16"):
        promise = f"a killed run ends as if it had not been, bit for bit ({precision})"
        straight = prepare(home / precision, precision=precision)
        assert jobs.run(straight, TRAIN).status == 0
        killed_at_aimed_moments(jobs, straight, home / "aimed", precision=precision)
        shutil.rmtree(home / "aimed")
        yield promise, f"SIGKILL in: {', '.join(AIMED)}", f"{len(AIMED)}", NOTHING
        with folder(home / "random") as place:
            *_, done = until(jobs, place, straight, seed, kills, precision=precision)
        yield promise, "SIGKILL before a random change on disk, or after a random time", f"{done}", NOTHING
    straight = home / "float32"
    if can_mount():
        for moment in MOMENTS:
            for leave in LEAVE:
                with folder(home / "disk"):
                    filled(jobs, straight, home / "disk" / "small", moment, leave)
        fault = f"a disk with {', '.join(map(str, LEAVE))} bytes free at: {', '.join(MOMENTS)}"
        yield "a full disk is named, and the run goes on exactly", fault, f"{len(MOMENTS) * len(LEAVE)}", NOTHING
    else:
        yield "a full disk is named, and the run goes on exactly", f"{NOT_DONE}: no disk can be mounted here", "0", "?"
    number = damage_everything(straight, home / "damaged")
    fault = "every file of a weights folder missing, empty, cut, with a bit flipped"
    yield "damage is found and named, and nothing damaged is loaded", fault, f"{number}", NOTHING
    if shutil.which("strace"):
        calls = trace(prepare(home / "traced"), *TRAIN)
        number, problems = unsafe_renames(calls, home / "traced")
        assert not problems, problems
        yield "a power loss leaves the old file or the new", "order of the system calls", f"{number} renames", NOTHING
    else:
        yield "a power loss leaves the old file or the new", f"{NOT_DONE}: strace is not installed", "0", "?"


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A folder that is removed afterwards."""
    path.mkdir()
    yield path
    shutil.rmtree(path)


if __name__ == "__main__":
    sys.exit(main())
