"""Writing files and folders so that a crash leaves either the old content or the new, never half of one."""

import errno
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from translator.errors import TranslatorError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # disk full, quota used up, `ulimit -f` reached
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF}  # a file system that has no locks
UNFINISHED = ".new-"  # begins the names of folders that are being written


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


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, so that they survive a power loss."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        fsync_folder(path.parent)


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
    except OSError as error:
        raise _about(error, path) from error
    finally:
        with suppress(OSError):  # the error above is the one to tell
            temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)


def write_or_tell(path: Path, content: bytes | str) -> None:
    """`write_atomic`; where there is no room for it, a sentence says so, and how much it needs (see `room_for`)."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with room_for(path, len(data)):
        write_atomic(path, data)


def _about(error: OSError, path: Path) -> OSError:
    """The same error with the name of the file, which a failed write does not know."""
    return OSError(error.errno, error.strerror or str(error), str(path))


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left in `folder`; only for a process that alone writes there."""
    for leftover in [*folder.glob(".*.tmp"), *folder.glob(".tmp*")]:  # the latter by safetensors
        leftover.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder`, flushed to disk, when the block ends well.

    An older `folder` is replaced. Temporary folders beside it that nobody writes any more, after a kill, are removed.
    """
    make_folder(folder.parent)
    remove_unheld(folder.parent.glob(f"{UNFINISHED}*"))
    temporary, lock = _make_locked(folder.parent)
    try:
        yield temporary
        for file in sorted(temporary.iterdir()):
            fsync_file(file)
        fsync_folder(temporary)
        if folder.exists():
            folder.rename(temporary.with_name(f"{temporary.name}.old"))
        temporary.rename(folder)
        fsync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary.with_name(f"{temporary.name}.old"), ignore_errors=True)
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(lock)


def _make_locked(parent: Path) -> tuple[Path, int]:
    """A new folder, and the handle that locks it as long as this process lives."""
    while True:
        temporary = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=parent))
        try:
            handle = _open_folder(temporary)
        except FileNotFoundError:  # another process took it for a leftover, as below
            continue
        with suppress(OSError):
            _lock(handle, wait=True)
        if temporary.is_dir():  # else another process took it for a leftover before it was locked
            return temporary, handle
        os.close(handle)


@contextmanager
def held_folder(folder: Path) -> Iterator[bool]:
    """Make a folder and hold it for this process; False where another one holds it.

    Where there are no locks, it counts as held by this process.
    """
    make_folder(folder)
    handle = _open_folder(folder)
    try:
        try:
            _lock(handle, wait=False)
            held = True
        except OSError as error:
            held = error.errno in NO_LOCKS
        yield held and folder.is_dir()  # else its holder has just removed it
    finally:
        os.close(handle)


def _open_folder(path: Path) -> int:
    return os.open(os.devnull if os.name == "nt" else path, os.O_RDONLY)


def remove_unheld(folders: Iterable[Path]) -> None:
    """Remove the folders that no process holds; where there are no locks they stay."""
    for leftover in folders:
        with suppress(OSError):  # gone, or held
            handle = _open_folder(leftover)
            try:
                _lock(handle, wait=False)
                shutil.rmtree(leftover, ignore_errors=True)
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    """Lock an open file or folder until it is closed or its process ends, however it ends.

    Raises BlockingIOError when another process holds it, and OSError with an errno of `NO_LOCKS` where the system or
    the file system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        raise OSError(errno.ENOSYS, "no locks here") from None
    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def hold(file: Path, what: str) -> Iterator[None]:
    """Hold a lock file for this process; the system lets go of it when the process ends, however it ends.

    Raises TranslatorError that says what is held, and by which process on which host. Where there are no such locks,
    nothing is held.
    """
    make_folder(file.parent)
    with file.open("a+b", buffering=0) as lock:  # no buffer: what does not fit is not tried again at the end
        try:
            _lock(lock.fileno(), wait=False)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().decode(errors="replace").strip() or "unknown"
            raise TranslatorError(
                f"Another process ({holder}) is training {what}; wait for its end, "
                "or train under another name (name=...)."
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        own = f"process {os.getpid()} on {platform.node()}".encode()
        with room_for(file, len(own)):
            lock.truncate(0)
            lock.write(own)
        yield


@contextmanager
def room_for(what: Path, num_bytes: int) -> Iterator[None]:
    """Turn a write that fails for want of space into a sentence with the file and the space that it needs.

    Args:
        what: the file or folder that is written in the block, in a folder that exists.
        num_bytes: about how large it will be.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise no_room(error, what, num_bytes) from error


def no_room(error: OSError, what: Path, num_bytes: int) -> TranslatorError:
    """The error that `room_for` raises."""
    place = next(folder for folder in what.absolute().parents if folder.is_dir())
    limit = {
        errno.EDQUOT: "the quota is used up",
        errno.EFBIG: "files may not be as large (ulimit -f)",
    }.get(error.errno or 0, f"{megabytes(shutil.disk_usage(place).free)} are free")
    return TranslatorError(
        f"{what} could not be written ({error.strerror}): it needs about {megabytes(num_bytes)}, and {limit}. "
        "Make room there and give the same command again."
    )


def megabytes(num_bytes: int) -> str:
    """A size for a sentence; never rounded down to nothing."""
    return f"{max(num_bytes / 1e6, 0.1 if num_bytes else 0):,.1f} MB"


def folder_size(folder: Path) -> int:
    """Bytes of all files under a folder; 0 where there is none."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def check_inside(file: Path, folder: Path, error: type[TranslatorError]) -> None:
    """Refuse, with `error`, what is in a folder and is no plain file, or a link to something outside of it.

    A folder that somebody gave us could else have us read any file, or wait for a pipe for ever. The folder itself may
    be reached through a link.
    """
    if not file.is_file():
        raise error(f"{file} is missing or no plain file; copy the whole folder again.")
    refuse_way_out(file, folder, error)


def refuse_way_out(path: Path, folder: Path, error: type[TranslatorError]) -> None:
    """Refuse, with `error`, a file or folder in `folder` that is a link, or lies behind one, to something outside."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except RuntimeError:  # a link to itself
        inside = False
    if not inside:
        raise error(f"{path} is a link that leaves its folder, which is not followed; copy the content itself there.")


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
