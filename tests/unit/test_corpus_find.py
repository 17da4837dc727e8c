"""Formats by content and name; files that belong together by the languages in their names."""

import io
import zipfile
from pathlib import Path

import pytest

from translator.corpus.find import format_of, pairs_of_files


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", b"x", "tsv"),
        ("a.JSONL.zst", b"{}", "jsonl"),
        ("a.xml", b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- c --><tmx version="1.4">', "tmx"),
        ("a", '<?xml version="1.0" encoding="utf-16"?><tmx >'.encode("utf-16"), "tmx"),
        ("a.tmx", b'<xliff version="1.2">', "xliff"),
        ("a.csv", b"PK\x03\x04 workbook", "sheet"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "sheet"),
        ("a.dat", b"PK\x03\x04 other", "archive"),
        ("a", b"PAR1", "parquet"),
        ("a", b"\xde\x12\x04\x95", "mo"),
        ("a.txt", b'# c\n\n#, fuzzy\nmsgid ""\n', "po"),
        ("a.txt", b'{"en": 1}', "jsonl"),
        ("a.txt", b"one\tuno\ntwo\tdue\n", "tsv"),
        ("a.txt", b"one\tuno\ntwo\nthree\n", None),
    ],
)
def test_format(tmp_path: Path, name: str, content: bytes, expected: str | None) -> None:
    if content.startswith(b"PK"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("xl/workbook.xml" if b"workbook" in content else "x.txt", "")
        content = packed.getvalue()
    (tmp_path / name).write_bytes(content)
    assert format_of(tmp_path / name) == expected


def found(*names: str, split: str | None = "train") -> list[str]:
    return [one.name for one in pairs_of_files([(name, Path(name)) for name in names], ("en", "it"), split)]


@pytest.mark.parametrize(
    "pair",
    [
        ("en.txt", "it.txt"),
        ("train.en", "train.it"),
        ("a/News-en.txt.gz", "a/News-it.txt"),
        ("x.en-it.en", "x.en-it.it"),
        ("x_EN.txt", "x_it.txt"),
        ("en/1.txt", "it/1.txt"),
        ("data/en/a/1.txt", "data/it/a/1.txt"),
    ],
)
def test_two_text_files_belong_together(pair: tuple[str, str]) -> None:
    assert found(*pair, "notes.txt", "other.en", "de.txt") == [f"{pair[0]} and {pair[1]}"]


def test_files_of_other_names_do_not() -> None:
    assert found("a.en", "b.it", "open.txt", "edit.txt", "x.en.png", "x.it.png") == []


def test_words_choose_a_split() -> None:
    names = ("train.en", "train.it", "dev.en", "dev.it", "test.tsv", "extra.po")
    assert found(*names) == ["train.en and train.it"]
    assert found(*names, split="validation") == ["dev.en and dev.it"]
    assert found(*names[2:]) == ["extra.po"]
    assert len(found(*names, split=None)) == 4


def test_words_inside_the_names_of_documents_mean_nothing() -> None:
    assert found("valid-checker.md.xlf", "test.en-it.tmx", "test of dev.po") == [
        "test of dev.po",
        "valid-checker.md.xlf",
    ]
    assert found("test.en-it.tmx", "a.tmx", split="test") == ["test.en-it.tmx"]
