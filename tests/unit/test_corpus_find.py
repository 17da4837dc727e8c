"""Formats by content and name; files that belong together by the languages in their names."""

import io
import zipfile
from pathlib import Path

import pytest

from translator.corpus.find import Found, check_shards, format_of, names_in, pairs_of_files
from translator.errors import CorpusError


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
        ("train.en-US", "train.it-IT"),
        ("train.en_US.txt.gz", "train.it.txt"),
        ("en-GB.txt", "it_IT.txt"),
        ("en-US/1.txt", "it-IT/1.txt"),
    ],
)
def test_two_text_files_belong_together(pair: tuple[str, str]) -> None:
    assert found(*pair, "notes.txt", "other.en", "de.txt") == [f"{pair[0]} and {pair[1]}"]


def test_files_of_other_names_do_not() -> None:
    assert found("a.en", "b.it", "open.txt", "edit.txt", "x.en.png", "x.it.png") == []


def test_of_several_regions_the_one_that_fits_best_is_taken() -> None:
    assert found("a.en-GB", "a.en", "a.it-IT", "a.it-CH") == ["a.en and a.it-CH"]
    pairs = pairs_of_files([(name, Path(name)) for name in ("a.pt", "b.pt-BR", "b.pt-PT")], ("pt-BR", "pt-PT"), None)
    assert [one.name for one in pairs] == ["b.pt-BR and b.pt-PT"]
    assert found("corpus-en-it.txt", "corpus-it-en.txt") == []  # each has both languages
    assert found("en-test.txt", "it-test.txt", split=None) == []


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
    assert found("test.en-it.tmx", "test.en-US.xlf", "a.tmx", split="test") == ["test.en-US.xlf", "test.en-it.tmx"]


def test_beside_parquet_and_arrow_files_others_only_tell_about_them() -> None:
    assert found("train.parquet", "train.jsonl", "it.txt", "en.txt") == ["train.parquet"]
    assert found("data.arrow", "state.json", "dataset_info.json", split="test") == ["data.arrow"]
    assert found("state.json", "dataset_info.json") == []
    assert found("dev/state.json", "dev/data.arrow", "dataset_dict.json") == []


def test_hidden_files_and_what_datasets_leaves_are_out(tmp_path: Path) -> None:
    for name in ("a.tsv", ".b.tsv", "cache-1.arrow", "x/cache-2.arrow", "x/cache-3.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [name for name, _ in names_in(tmp_path)] == ["a.tsv", "x/cache-3.tsv"]


def test_numbered_files_must_all_be_there() -> None:
    names = ["data/train-00000-of-00002.jsonl.gz", "data/test-00000-of-00001.jsonl.gz", "x-1-of-2.tsv"]
    shards = [Found(name, "jsonl", ()) for name in names]
    with pytest.raises(CorpusError, match=r"here has 1 of the 2 files data/train-\*; copy it again"):
        check_shards(shards, Path("here"))
    check_shards([*shards, Found("data/train-00001-of-00002.jsonl.gz", "jsonl", ())], Path("here"))
