"""Lines of text files: what ends a line, and what is refused with its place."""

import gzip
from pathlib import Path

import pytest

from translator.corpus import read_text
from translator.corpus.read_text import read_aligned, read_lines
from translator.errors import CorpusError


def lines_of(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    return list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\n\r\nb\r", ["a", "", "b"]),
        (b"a\rb\nc", ["a b", "c"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        *[(f"a{mark}b\nc".encode(), [f"a{mark}b", "c"]) for mark in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"],
    ],
)
def test_only_lf_and_crlf_end_a_line(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    assert lines_of(tmp_path / "text", content) == expected


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7])
def test_blocks_may_be_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(read_text, "BLOCK_BYTES", block_bytes)
    expected = ["", "perché", "ಕನ್ನಡ 😀", "", "fine"]
    assert lines_of(tmp_path / "text", "\r\n".join(expected).encode()) == expected


def test_gzip_is_seen_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(b"uno\ndue\n")
    assert lines_of(tmp_path / "no-ending", packed) == ["uno", "due"]
    assert lines_of(tmp_path / "plain.gz", b"uno\n") == ["uno"]
    with pytest.raises(CorpusError, match=r"cut\.gz: the gzip data is damaged or cut short"):
        lines_of(tmp_path / "cut.gz", packed[:-9])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ntwo\nle caf\xe9 noir\n", r"line 3, byte 7 is 0xE9"),
        (b"one\ntwo \xc3", r"line 2, byte 5 is 0xC3"),
        ("one\ntwo\n".encode("utf-16-le"), "it looks like UTF-16"),
        ("one\ntwo\n".encode("utf-16"), "mark of UTF-16"),
        ("one\ntwo\n".encode("utf-16-be"), "it looks like UTF-16"),
        (b"one\ntwo\nth\0ree\n", "line 3: a zero byte; this is a binary file"),
    ],
)
def test_what_is_not_utf8_is_named_with_file_line_and_byte(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        lines_of(tmp_path / "bad.txt", content)
    assert "bad.txt" in str(caught.value)


def test_line_numbers_in_errors_count_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_text, "BLOCK_BYTES", 16)
    with pytest.raises(CorpusError, match="line 100, byte 2 is 0xFF"):
        lines_of(tmp_path / "bad.txt", b"good line\r\n" * 99 + b"x\xff\n")


@pytest.mark.parametrize(("num_source", "num_target"), [(10, 11), (11, 10), (0, 3), (3, 0)])
def test_unequal_counts_are_both_told(tmp_path: Path, num_source: int, num_target: int) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("yes\n" * num_source)
    target.write_text("ja\n" * num_target)
    message = rf"a\.en has {num_source} lines and .*a\.de has {num_target}"
    with pytest.raises(CorpusError, match=message):
        list(read_aligned(source, target))


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"absent\.txt cannot be read: No such file"):
        list(read_lines(tmp_path / "absent.txt"))


def test_a_gzip_bomb_is_refused_long_before_its_end(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress((b"a" * 999_999 + b"\n") * 40))  # 40 MB in 40 kB
    found: list[str] = []
    with pytest.raises(CorpusError, match="grows to over 100 times its size"):
        found.extend(read_lines(path))
    assert len(found) < 17
