"""Files as bytes: unpacked while they are read, members of archives beside files on disk, bombs refused.

gzip, bzip2, xz and zstandard are known by their first bytes, whatever the file is called. Nothing of an archive is
written under the name that it gives; the few readers that need a real file get a temporary one.
"""

import bz2
import fnmatch
import gzip
import io
import lzma
import math
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import pyarrow as pa

from translator.errors import CorpusError

ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""Of single packed files; what counts is their content."""

MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard"}
HEAD_BYTES = 4096
BLOCK_BYTES = 1 << 20

BOMB_BYTES, BOMB_RATIO = 16 << 20, 100
"""What has grown to so many bytes, so many times what it was unpacked from, is no text (which grows 3 to 20 times)."""

MAX_WHOLE_BYTES = 512 << 20
"""Most bytes of a file that a reader must have whole, when it is packed."""

BAD_ZIP = (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError)
"""What `zipfile` raises on a damaged directory: of a later version of the format, or with names in no encoding."""


class Bytes(Protocol):
    """What all unpacked files can do."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Member:
    """A file inside an archive; valid while the archive is open."""

    archive: str
    name: str
    size: int
    """Bytes that it takes up in the archive."""
    open_raw: Callable[[], BinaryIO]

    def __str__(self) -> str:
        return f"{self.archive}: {self.name}"


File = Path | Member
"""A file to read; as text, it is how messages call it."""


@contextmanager
def opened(file: File) -> Iterator[Bytes]:
    """The unpacked bytes of a file.

    Raises:
        CorpusError: it cannot be read, its packing is damaged or cut short, or it is a bomb.
    """
    kind = "packed"
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(file.open("rb") if isinstance(file, Path) else _buffered(file))
            kind = _packing(raw.peek(10)[:10])
            unpacked = stack.enter_context(_unpack(raw, kind)) if kind else raw
            bounded = _Bounded(unpacked, raw if isinstance(file, Path) else file.size, str(file))
            yield bounded if kind or isinstance(file, Member) else raw
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise CorpusError(f"{file}: the {kind or 'packed'} data is damaged or cut short ({error})") from error
    except (NotImplementedError, RuntimeError) as error:  # a password, or a method that zipfile does not know
        raise CorpusError(f"{file} cannot be unpacked: {error}") from error
    except OSError as error:
        if kind and error.errno is None:  # BadGzipFile and those of bz2 and pyarrow
            raise CorpusError(f"{file}: the {kind} data is damaged or cut short ({error})") from error
        raise CorpusError(f"{file} cannot be read: {error.strerror or error}") from error


def _buffered(member: Member) -> io.BufferedReader:
    return io.BufferedReader(cast(io.RawIOBase, member.open_raw()))


def _packing(head: bytes) -> str:
    kind = next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), "")
    return "" if kind == "bzip2" and head[4:] != b"1AY&SY" else kind  # else text may begin so


def is_packed(path: Path) -> bool:
    """Whether a file on disk is packed by itself (archives such as zip are not meant)."""
    with path.open("rb") as file:
        return bool(_packing(file.read(10)))


def _unpack(raw: io.BufferedReader, kind: str) -> BinaryIO:
    if kind == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if kind == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    if kind == "xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))


def refuse_bomb(num_bytes: int, num_packed: int, name: str) -> None:
    """Refuse what `num_packed` bytes have grown to: a file of a megabyte can hold a gigabyte.

    Raises:
        CorpusError: they grew too much for text.
    """
    if num_bytes > max(BOMB_BYTES, BOMB_RATIO * num_packed):
        raise CorpusError(
            f"{name} grows to over {BOMB_RATIO} times its size when it is unpacked, as no file of sentences does; "
            f"unpack it yourself if you trust it"
        )


class _Bounded:
    """Counts what comes out, and ends the reading of a bomb long before its end.

    `packed` is the file that it is unpacked from, which knows how much of it was read, or a number of bytes.
    """

    def __init__(self, file: Bytes, packed: BinaryIO | int, name: str) -> None:
        self._file, self._packed, self._name, self._num_bytes = file, packed, name, 0

    def read(self, size: int, /) -> bytes:
        block = self._file.read(size)
        self._num_bytes += len(block)
        refuse_bomb(self._num_bytes, self._packed if isinstance(self._packed, int) else self._packed.tell(), self._name)
        return block


def read_head(file: File, size: int = HEAD_BYTES) -> bytes:
    """The first unpacked bytes."""
    with opened(file) as opening:
        head = b""
        while len(head) < size and (block := opening.read(size - len(head))):
            head += block
        return head


@contextmanager
def whole(file: File) -> Iterator[Path]:
    """The file unpacked on disk, for readers that need it so: itself, or a temporary copy that is removed."""
    if isinstance(file, Path) and not is_packed(file):
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="translator-") as copy:
        _unpack_into(cast(BinaryIO, copy), file, most_bytes=MAX_WHOLE_BYTES)
        yield Path(copy.name)


def _unpack_into(copy: BinaryIO, file: File, *, most_bytes: float) -> None:
    """Write the unpacked bytes of a file into a temporary one, and say so when it is that one that has no room."""
    with opened(file) as opening:
        while block := opening.read(BLOCK_BYTES):
            try:
                copy.write(block)
                copy.flush()
            except OSError as error:
                raise CorpusError(
                    f"{file} cannot be unpacked into {tempfile.gettempdir()} ({error.strerror}); make room there, set "
                    "TMPDIR to another folder, or unpack it yourself"
                ) from error
            if copy.tell() > most_bytes:
                raise CorpusError(f"{file} is over {MAX_WHOLE_BYTES >> 20} MB unpacked; unpack it yourself")


@contextmanager
def archive(path: Path) -> Iterator[list[Member]]:
    """The files in a zip or tar archive (also .tar.gz and the like), sorted by name; links and devices are left out.

    Raises:
        CorpusError: it is damaged or a bomb.
    """
    with ExitStack() as stack:
        try:
            if zipfile.is_zipfile(path):
                opening = stack.enter_context(zipfile.ZipFile(path))
                refuse_zip_bomb(opening, path, str(path))
                members = [_zip_member(path, opening, info) for info in opening.infolist() if not info.is_dir()]
            else:
                members = _tar_members(path, stack)
        except (*BAD_ZIP, tarfile.TarError, EOFError) as error:
            raise CorpusError(f"{path}: the archive is damaged ({error})") from error
        yield sorted(members, key=lambda member: member.name)


def refuse_zip_bomb(opening: zipfile.ZipFile, path: Path, name: str) -> int:
    """Bytes of all that is in a zip file, as it says of itself (`zipfile` unpacks no more), if it is no bomb."""
    num_bytes = sum(info.file_size for info in opening.infolist())
    refuse_bomb(num_bytes, path.stat().st_size, name)
    return num_bytes


def _zip_member(path: Path, opening: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    return Member(str(path), _printable(info.filename), info.compress_size, lambda: cast(BinaryIO, opening.open(info)))


def _tar_members(path: Path, stack: ExitStack) -> list[Member]:
    """Members of a tar. A packed one is unpacked into a nameless temporary file, so that two can be read at a time."""
    packed = is_packed(path)
    file = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile() if packed else path.open("rb")))  # noqa: SIM115
    if packed:
        _unpack_into(file, path, most_bytes=math.inf)  # a corpus may be large
        file.seek(0)
    opening = stack.enter_context(tarfile.open(fileobj=file, mode="r:"))  # noqa: SIM115

    def open_raw(info: tarfile.TarInfo) -> BinaryIO:
        found = opening.extractfile(info)
        assert found is not None  # regular files have content
        return cast(BinaryIO, found)

    return [
        Member(str(path), _printable(info.name), info.size, lambda info=info: open_raw(info))  # type: ignore[misc]
        for info in opening
        if info.isreg() and not info.issparse()
    ]


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)


def matching(name: str, pattern: str | None) -> bool:
    """Whether the name of a member (or of a file in a folder) fits a pattern such as `*/train.*`; None: any."""
    return pattern is None or fnmatch.fnmatchcase(name, pattern)
