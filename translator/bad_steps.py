"""Files about steps that were not taken: all that `translator replay` needs to do one again without the corpus.

    runs/NAME/bad-steps/step-00000057.json

Each holds the pairs of the step as token ids with their places in the corpus, in the parts in which they were done,
and the seed of each part. The newest 20 are kept.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from translator.batches import Batch, collate
from translator.errors import CheckpointError
from translator.files import check_inside, write_atomic
from translator.step import Part

FORMAT_VERSION = 1
FOLDER = "bad-steps"
MOST_FILES = 20
MOST_BYTES = 1 << 30  # of one file: more is none of ours


@dataclass(frozen=True)
class Pair:
    """One pair of a bad step: where it stands in the corpus, and its token ids without special ones."""

    place: str
    index: int  # number in the encoded corpus
    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class BadStep:
    """A step whose loss or gradient was not finite. `parts` are done one after the other, each with its seed."""

    step: int
    epoch: int
    batch: int
    precision: str
    learning_rate: float
    loss_scale: float
    label_smoothing: float
    bos_id: int
    eos_id: int
    pad_id: int
    seeds: list[int]
    parts: list[list[Pair]]

    def batches(self) -> list[Part]:
        """The parts as tensors, as they were in training."""
        ids = {"pad_id": self.pad_id, "bos_id": self.bos_id, "eos_id": self.eos_id}
        return [
            Part(collate([(_ids(p.source), _ids(p.target)) for p in pairs], [p.index for p in pairs], **ids), seed)
            for pairs, seed in zip(self.parts, self.seeds, strict=True)
        ]


def _ids(numbers: Sequence[int]) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def pairs_of(batch: Batch, locate: Callable[[int], str], *, bos_id: int, eos_id: int, pad_id: int) -> list[Pair]:
    """The pairs of a batch without padding and end marks."""
    marks = {bos_id, eos_id, pad_id}
    return [
        Pair(locate(index), index, [i for i in source if i not in marks], [i for i in target if i not in marks])
        for index, source, target in zip(
            batch.index_B.tolist(), batch.src_BS.tolist(), batch.labels_BT.tolist(), strict=True
        )
    ]


def write(run: Path, bad: BadStep) -> Path:
    """Write the file of a step under the folder of its run, and remove the oldest ones beyond `MOST_FILES`."""
    folder = run / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"step-{bad.step:08d}.json"
    write_atomic(file, json.dumps({"format_version": FORMAT_VERSION, **asdict(bad)}) + "\n")
    for old in files(run)[:-MOST_FILES]:
        old.unlink(missing_ok=True)
    return file


def files(run: Path) -> list[Path]:
    """The files of a run, oldest step first."""
    return sorted(file for file in (run / FOLDER).glob("step-*.json") if file.stem[5:].isdecimal())


def read(file: Path) -> BadStep:
    """Read a file of a bad step. Raises CheckpointError where it is none."""
    check_inside(file, file.parent, CheckpointError)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        content = json.loads(file.read_text(encoding="utf-8"))
        version = content.pop("format_version")
        if version != FORMAT_VERSION:
            raise CheckpointError(f"{file} has format {version}, this program replays format {FORMAT_VERSION}.")
        content["parts"] = [[Pair(**pair) for pair in part] for part in content["parts"]]
        bad = BadStep(**content)
        _check(bad)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file} is not the file of a bad step ({error}).") from error
    return bad


def _check(bad: BadStep) -> None:
    """Raise ValueError where a value is none that `write` stores."""
    if len(bad.seeds) != len(bad.parts) or not bad.parts or not all(bad.parts):
        raise ValueError("parts and seeds do not fit each other")
    pairs = [pair for part in bad.parts for pair in part]
    for ids in (side for pair in pairs for side in (pair.source, pair.target)):
        if type(ids) is not list or not all(_is_whole(number, 1 << 31) for number in ids):
            raise ValueError("token ids must be whole numbers")
    if not all(_is_whole(number, 1 << 63) for number in (*bad.seeds, *(pair.index for pair in pairs))):
        raise ValueError("seeds and numbers of pairs must be whole numbers")
    for name in ("step", "epoch", "batch", "bos_id", "eos_id", "pad_id"):
        if not _is_whole(getattr(bad, name), 1 << 31):
            raise ValueError(f"{name} must be a whole number")
    for name, least in (("learning_rate", 0.0), ("loss_scale", 1e-30), ("label_smoothing", 0.0)):
        value = getattr(bad, name)
        if type(value) not in (int, float) or not least <= value <= 1e30:
            raise ValueError(f"{name} must be a number")
    if not all(type(text) is str for text in (bad.precision, *(pair.place for pair in pairs))):
        raise ValueError("the precision and the places of pairs must be text")


def _is_whole(number: object, end: int) -> bool:
    return type(number) is int and 0 <= number < end
