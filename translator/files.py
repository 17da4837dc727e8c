"""Writing files so that a crash leaves either the old content or the new, never half of one."""

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from translator.errors import TranslatorError


@dataclass(frozen=True)
class Folders:
    """Where a run keeps its files."""

    home: Path
    name: str

    @property
    def runs(self) -> Path:
        """For a person: logs, curves, hypotheses."""
        return self.home / "runs" / self.name

    @property
    def weights(self) -> Path:
        """For a program: weights, tokenizers, config, checkpoints."""
        return self.home / "weights" / self.name

    @property
    def lock(self) -> Path:
        """Held while a process trains; beside the folder, which may be moved away."""
        return self.home / "weights" / f".{self.name}.lock"

    @property
    def checkpoints(self) -> Path:
        """Folders of training state."""
        return self.weights / "checkpoints"


def fsync_folder(path: Path) -> None:
    """Flush a folder's entries to disk, so that a rename inside it survives a power loss."""
    if os.name == "nt":  # Windows has no handle on a folder; its rename is journaled
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_file(path: Path) -> None:
    """Flush a file that somebody else wrote to disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path` by temporary file, flush and rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)


@contextmanager
def hold(file: Path, what: str) -> Iterator[None]:
    """Hold a lock file for this process; the system lets go of it when the process ends, however it ends.

    Raises TranslatorError that says what is held, and by which process. Where the system has no such locks, nothing
    is held.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise TranslatorError(
                f"Another process ({lock.read().strip() or 'unknown'}) is training {what}; wait for its end, "
                "or train under another name (name=...)."
            ) from None
        holder = f"process {os.getpid()} on {platform.node()}"
        lock.truncate(0)
        lock.write(holder)
        lock.flush()
        yield


def check_inside(file: Path, folder: Path, error: type[TranslatorError]) -> None:
    """Refuse, with `error`, what is in a folder and is no plain file, or a link to something outside of it.

    A folder that somebody gave us could else have us read any file, or wait for a pipe for ever. The folder itself may
    be reached through a link.
    """
    if not file.is_file():
        raise error(f"{file} is missing or no plain file; copy the whole folder again.")
    if not file.resolve().is_relative_to(folder.resolve()):
        raise error(f"{file} is a link that leaves its folder, which is not followed; copy the file itself there.")


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """Where tables that can be made again are kept; deleting the folder is always safe.

    `$TRANSLATOR_CACHE`, else `$XDG_CACHE_HOME/translator`, else `~/.cache/translator`.
    """
    if chosen := os.environ.get("TRANSLATOR_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "translator"
