"""Checkpoints: folders that appear whole or not at all, with a checksum for every file.

    weights/NAME/checkpoints/step-00000500/
        model.safetensors      float32 master weights
        optimizer.safetensors  moments and update count
        average.*.safetensors  buffers of the averaged weights (none when they are the masters)
        state.json             step, position in the corpus, best score, patience, versions, ...
        checksums.json         SHA-256 and size of each of the above
    weights/NAME/checkpoints/newest, best      one-line files that hold a folder name

Nothing here is ever unpickled: tensors are safetensors, the rest is JSON.
"""

import errno
import json
import logging
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translator.errors import CheckpointError, FormatError
from translator.files import (
    check_inside,
    fsync_file,
    fsync_folder,
    make_folder,
    refuse_way_out,
    remove_leftovers,
    room_for,
    sha256_file,
    write_atomic,
    write_or_tell,
)

FORMAT_VERSION = 2
CHECKSUMS = "checksums.json"
REPLACED = ".replaced-"
MOST_POINTER = 1000  # bytes that are read of a file that holds a folder name

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint. `tensors` maps a part ("model", "optimizer", "average.ema") to its tensors by name."""

    folder: Path
    step: int
    state: dict[str, Any]
    tensors: dict[str, dict[str, Tensor]]


def folder_name(step: int) -> str:
    """The name of the folder of a step."""
    return f"step-{step:08d}"


def save_checkpoint(
    checkpoints: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, Tensor]],
    state: Mapping[str, Any],
    *,
    keep: int,
    best_step: int | None,
) -> Path:
    """Write a checkpoint under a temporary name, flush it, rename it, move the pointers, and prune.

    The `keep` newest folders and the one of `best_step` stay. Returns the new folder. Raises TranslatorError when the
    disk is full, OSError when it is not writable; the older checkpoints are untouched then.
    """
    make_folder(checkpoints)
    recover(checkpoints)
    folder = checkpoints / folder_name(step)
    with room_for(folder, sum(tensor.nbytes for named in tensors.values() for tensor in named.values())):
        _write(folder, tensors, {**state, "step": step, "format_version": FORMAT_VERSION})
        write_atomic(checkpoints / "newest", folder.name + "\n")
        if best_step is None:
            (checkpoints / "best").unlink(missing_ok=True)
        else:
            write_atomic(checkpoints / "best", folder_name(best_step) + "\n")
    kept = list_checkpoints(checkpoints)
    damaged = [other for other in kept if other.name > folder.name]  # else the run would have gone on from them
    kept = kept[: len(kept) - len(damaged)]
    for other in damaged + kept[:-keep]:
        if other in damaged or best_step is None or other.name != folder_name(best_step):
            _remove(other)
    return folder


def _write(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
    """Write a checkpoint under a temporary name and rename it; one of the same step is kept aside until then."""
    temporary = folder.with_name(f".{folder.name}")
    temporary.mkdir()
    try:
        for part, named in tensors.items():
            save_tensors(temporary / f"{part}.safetensors", named)
        write_atomic(temporary / "state.json", json.dumps(state, indent=1) + "\n")
        sums = {
            file.name: {"sha256": sha256_file(file), "bytes": file.stat().st_size}
            for file in sorted(temporary.iterdir())
        }
        write_atomic(temporary / CHECKSUMS, json.dumps(sums, indent=1) + "\n")
        if folder.exists():
            folder.rename(folder.with_name(f"{REPLACED}{folder.name}"))
        temporary.rename(folder)
        fsync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        recover(folder.parent)


def recover(checkpoints: Path) -> None:
    """Bring the folder into order after a kill; only for a process that alone writes there.

    A checkpoint whose replacement did not come gets its name back; what was half written or half removed goes; the
    pointer to the newest is brought up to date.
    """
    refuse_way_out(checkpoints, checkpoints.parent, CheckpointError)
    for kept in checkpoints.glob(f"{REPLACED}step-*"):
        folder = checkpoints / kept.name.removeprefix(REPLACED)
        if not folder.exists():
            kept.rename(folder)
            fsync_folder(checkpoints)
    for leftover in checkpoints.glob(".*step-*"):
        if leftover.is_symlink():
            leftover.unlink()
        else:
            shutil.rmtree(leftover)
    remove_leftovers(checkpoints)
    pointer = checkpoints / "newest"
    names = [folder.name for folder in list_checkpoints(checkpoints)]
    if names and not (pointer.exists() and read_pointer(pointer) == names[-1]):
        write_or_tell(pointer, f"{names[-1]}\n")


def read_pointer(file: Path) -> str:
    """The name that `newest` or `best` holds. Raises CheckpointError where it is no plain file of its folder."""
    check_inside(file, file.parent, CheckpointError)
    with file.open("rb") as opened:
        return opened.read(MOST_POINTER).decode("utf-8", "replace").strip()


def _remove(folder: Path) -> None:
    """Remove a checkpoint; a kill meanwhile leaves nothing that looks like one."""
    hidden = folder.with_name(f".removed-{folder.name}")
    folder.rename(hidden)
    shutil.rmtree(hidden)


def list_checkpoints(checkpoints: Path) -> list[Path]:
    """The checkpoint folders, oldest first. Raises CheckpointError where a link leads out of the weights folder."""
    folders = sorted(p for p in checkpoints.glob("step-*") if p.is_dir() and p.name[5:].isdecimal())
    for folder in (checkpoints, *folders):
        refuse_way_out(folder, checkpoints.parent, CheckpointError)
    return folders


def load_checkpoint(folder: Path) -> Checkpoint:
    """Verify every file's checksum, then load.

    Raises:
        CheckpointError: a file is damaged; the message names it.
        FormatError: it is whole, and another version of this program wrote it.
        PermissionError: a file may not be read, which says nothing about its content.
    """
    try:
        check_inside(folder / CHECKSUMS, folder.parent, CheckpointError)
        sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        for name, expected in sums.items():
            file = folder / name
            if file.parent != folder or Path(name).name != name:
                raise CheckpointError(
                    f"{folder / CHECKSUMS}: {name!r} is not a file of this folder; use another checkpoint."
                )
            if not file.is_file() or file.stat().st_size != expected["bytes"]:
                raise CheckpointError(f"{file} is missing or has the wrong size; use another checkpoint.")
            check_inside(file, folder.parent, CheckpointError)
            if sha256_file(file) != expected["sha256"]:
                raise CheckpointError(f"{file} is damaged (its checksum differs); use another checkpoint.")
        state = json.loads((folder / "state.json").read_text(encoding="utf-8")) if "state.json" in sums else None
        if state is not None and (version := state["format_version"]) != FORMAT_VERSION:
            raise FormatError(
                f"{folder} has checkpoint format {version}, this program reads format {FORMAT_VERSION}; "
                "use the version of the program that wrote it."
            )
        if state is None or not {"model.safetensors", "optimizer.safetensors"} <= set(sums):  # others in other formats
            raise CheckpointError(f"{folder} does not hold a whole checkpoint; use another one.")
        names = [Path(name).stem for name in sums if name.endswith(".safetensors")]
        tensors = {name: load_tensors(folder / f"{name}.safetensors") for name in names}
        return Checkpoint(folder, int(state["step"]), state, tensors)
    except PermissionError:
        raise
    except (ArithmeticError, AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder} cannot be read as a checkpoint ({error}); use another one.") from error


def load_newest(checkpoints: Path) -> Checkpoint | None:
    """The newest checkpoint that is whole; None where there is none at all.

    A damaged one is named in a warning and the one before it is used. Raises CheckpointError when all are damaged, and
    FormatError for one of another version, which is not damaged: to go on without it would lose what it holds.
    Only for the process that holds the run: it first clears what a killed one left.
    """
    recover(checkpoints)
    problems: list[CheckpointError] = []
    for folder in reversed(list_checkpoints(checkpoints)):
        try:
            return load_checkpoint(folder)
        except FormatError:
            raise
        except CheckpointError as error:
            problems.append(error)
            logger.warning("%s Trying the checkpoint before it.", error)
    if problems:
        raise CheckpointError(
            f"No checkpoint in {checkpoints} is whole; train again with --restart. Of the newest: {problems[0]}"
        )
    return None


def save_tensors(file: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a safetensors file by temporary name, flush and rename."""
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        save_file(plain, temporary, metadata=dict(metadata or {}))
        fsync_file(temporary)
        temporary.replace(file)
    except SafetensorError as error:  # "... No space left on device (os error 28)"
        found = re.search(r"os error (\d+)", str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number), str(file)) from error
    finally:
        with suppress(OSError):  # the error above is the one to tell
            temporary.unlink(missing_ok=True)
    fsync_folder(file.parent)


def load_tensors(file: Path) -> dict[str, Tensor]:
    """Read a safetensors file. Raises CheckpointError for anything else, pickles among them."""
    try:
        return load_file(file)
    except FileNotFoundError as error:
        raise CheckpointError(f"{file} does not exist.") from error
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file} is not a safe checkpoint (safetensors): {error}.") from error


def all_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds neither NaN nor infinity."""
    return bool(torch.isfinite(tensor).all())
