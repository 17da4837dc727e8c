"""Packed files and archives: seen by content, damage and bombs told, nothing written where an archive wants it."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from translator.corpus import packing
from translator.corpus.packing import archive, opened, read_head, whole
from translator.corpus.read_text import read_lines
from translator.errors import CorpusError


def zstandard(content: bytes) -> bytes:
    sink = io.BytesIO()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
        stream.flush()
        return sink_after_close(sink, stream)


def sink_after_close(sink: io.BytesIO, stream: pa.CompressedOutputStream) -> bytes:
    keep = sink.close
    sink.close = lambda: None  # type: ignore[method-assign]  # pyarrow closes what it writes to
    stream.close()
    content = sink.getvalue()
    keep()
    return content


PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, zstandard]


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_text_is_seen_by_content(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "no-ending"
    path.write_bytes(pack(b"uno\ndue\n") + pack(b"tre\n"))  # two streams, as `cat` joins them
    assert list(read_lines(path)) == ["uno", "due", "tre"]
    with whole(path) as copy:
        assert copy.read_bytes() == b"uno\ndue\ntre\n"
    assert not copy.exists()


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_files_that_were_cut_short(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "cut"
    path.write_bytes(pack(bytes(range(256)) * 50)[:-5])
    with pytest.raises(CorpusError, match=r"cut: the \w+ data is damaged or cut short"):
        read_head(path, 100_000)


def test_text_may_begin_like_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("BZhello\n")
    assert read_head(path) == b"BZhello\n"


@pytest.mark.parametrize("pack", PACKERS)
def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    monkeypatch.setattr(packing, "BOMB_BYTES", 1 << 18)
    path = tmp_path / "bomb"
    path.write_bytes(pack(b"\n" * (1 << 21)))
    with pytest.raises(CorpusError, match="bomb grows to over 100 times its size"):
        for _ in read_lines(path):
            pass


def tar(path: Path, mode: str) -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for name, content in (("../../b.txt", b"two"), ("a.txt", b"one")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo(f"odd{ord(kind)}")
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info)
    return path


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../b.txt", "two")
        file.writestr("a.txt", "one")
        file.mkdir("odd")
    return path


@pytest.mark.parametrize(
    "make",
    [zipped, *(lambda path, mode=mode: tar(path, mode) for mode in ("w", "w:gz", "w:bz2", "w:xz"))],
)
def test_members_are_read_together_and_never_written(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with archive(make(tmp_path / "archive")) as members:
        assert [member.name for member in members] == ["../../b.txt", "a.txt"]
        assert str(members[1]) == f"{tmp_path / 'archive'}: a.txt"
        with opened(members[0]) as two, opened(members[1]) as one:
            assert (one.read(1), two.read(9), one.read(9)) == (b"o", b"two", b"ne")
    assert [path.name for path in tmp_path.rglob("*")] == ["archive"]


def test_a_bomb_in_an_archive_and_a_password_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BOMB_BYTES", 1 << 18)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb.txt", b"\n" * (1 << 21))
    with pytest.raises(CorpusError, match=r"a\.zip grows to over 100 times its size"), archive(path):
        pass
    packed = gzip.compress(b"\n" * (1 << 21))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb.gz", packed)
    with archive(path) as (member,), pytest.raises(CorpusError, match=r"a\.zip: bomb\.gz grows to over 100 times"):
        list(read_lines(member))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1  # the flag for a password
    path.write_bytes(content)
    with archive(path) as (member,), pytest.raises(CorpusError, match=r"cannot be unpacked: .*password"):
        read_head(member)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(b"junk" * 200)
    with pytest.raises(CorpusError, match=r"a\.tar: the archive is damaged"), archive(path):
        pass
