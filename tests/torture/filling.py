"""A disk that is really full: a small tmpfs, filled at chosen moments (root only)."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.torture.jobs import Jobs
from tests.torture.killing import finish
from tests.torture.runs import TRAIN, assert_equal, prepare

DISK_MEGABYTES = 48
MOMENTS = {  # a function at the call of which the disk is full
    "taking the lock": ("translator.build:hold", 1),
    "reading the corpus": ("translator.corpus.read:store_parts", 1),
    "token ids": ("translator.encode:cached", 1),
    "saving the tokenizer": ("translator.build:save_tokenizers", 1),
    "the first line of the log": ("translator.log:_append_whole", 1),
    "a point in TensorBoard": ("translator.log:RunLog.scalars", 3),
    "the weights": ("translator.build:save_weights", 2),
    "a checkpoint": ("translator.checkpoint:save_checkpoint", 2),
    "the list of checksums": ("translator.checkpoint:sha256_file", 9),
}
LEAVE = (0, 4096, 16_384, 65_536)  # bytes that stay free


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A tmpfs at `place`, which goes away with all that is on it."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def can_mount() -> bool:
    """Whether a disk can be made here: root may not in many containers."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder) / "disk"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def filled(jobs: Jobs, straight: Path, place: Path, moment: str, leave: int, **settings: Any) -> str:
    """Fill the disk at a moment of a run, make room again and go on; the end must be that of `straight`.

    Returns what the run said when the disk was full.
    """
    function, call = MOMENTS[moment]
    with small_disk(place) as disk:
        folder = prepare(disk / "run", **settings)
        filler = disk / "filler"
        fault = {"fill_in": function, "call": call, "filler": str(filler), "leave": leave}
        ended = jobs.run(folder, TRAIN, fault=fault)
        assert ended.status in (0, 2), f"{moment}: {ended.status}\n{ended.out}"
        assert "Traceback" not in ended.out, ended.out
        filler.unlink()
        said = ended.out.splitlines()[-1]
        if ended.status == 2:
            assert "No space left on device" in said or "free some space" in said, said
            assert re.search(r"needs? about [\d.,]+ MB", said), said
            finish(jobs, straight, folder, reached=ended.reached, logs=False)
        else:
            assert_equal(straight, folder, logs=False)
        return said
