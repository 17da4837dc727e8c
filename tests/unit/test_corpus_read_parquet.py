"""Parquet and Arrow files: two columns or one of translations, in any number of row groups."""

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from translator.corpus.packing import archive
from translator.corpus.read_parquet import read_arrow, read_parquet
from translator.corpus.read_tables import ReadOptions, Row
from translator.errors import CorpusError


def rows(path: Path, columns: dict[str, Any], **options: Any) -> list[Row]:
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return list(read_parquet(path, ReadOptions(("en", "it"), **options)))


def test_columns_are_found_by_language_or_named(tmp_path: Path) -> None:
    columns = {"id": [1, 2, 3], "IT": ["uno", None, "tre"], "en": ["one", "two", "NA"]}
    expected = [(1, "one", "uno"), (2, "two", None), (3, "NA", "tre")]
    assert rows(tmp_path / "a", columns) == expected
    named = {"id": [1, 2, 3], "a": columns["en"], "b": columns["IT"]}
    assert rows(tmp_path / "b", named, source_column="a", target_column="b") == expected


def test_a_column_of_translations(tmp_path: Path) -> None:
    columns = {"id": ["0"], "translation": [{"it": "uno", "fr": "un", "en": "one"}]}
    assert rows(tmp_path / "a", columns) == [(1, "one", "uno")]


def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="has no columns en and it, only 'text'"):
        rows(tmp_path / "a", {"text": ["x"]})
    (tmp_path / "b").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(CorpusError, match="b is damaged or no data file"):
        list(read_parquet(tmp_path / "b", ReadOptions(("en", "it"))))


def test_an_arrow_stream_and_a_member_of_an_archive(tmp_path: Path) -> None:
    table = pa.table({"en": ["one"], "it": ["uno"]})
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert list(read_arrow(tmp_path / "a.arrow", ReadOptions(("en", "it")))) == [(1, "one", "uno")]
    pq.write_table(table, tmp_path / "a.parquet")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.write(tmp_path / "a.parquet", "a.parquet")
    with archive(tmp_path / "a.zip") as (member,):
        assert list(read_parquet(member, ReadOptions(("en", "it")))) == [(1, "one", "uno")]
