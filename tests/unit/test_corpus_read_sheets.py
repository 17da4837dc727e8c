"""Spreadsheets: sheets, columns and cells as a person sees them."""

import datetime
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from translator.corpus import read_sheets
from translator.corpus.read_sheets import read_sheet
from translator.corpus.read_tables import ReadOptions, Row
from translator.errors import CorpusError


def book(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]], first: tuple[int, int] = (0, 0)) -> Path:
    with xlsxwriter.Workbook(path) as workbook:
        for name, table in sheets.items():
            sheet = workbook.add_worksheet(name)
            for number, cells in enumerate(table):
                for column, cell in enumerate(cells):
                    place = (first[0] + number, first[1] + column)
                    if isinstance(cell, datetime.date):
                        sheet.write_datetime(*place, cell, workbook.add_format({"num_format": "yyyy-mm-dd"}))
                    else:
                        sheet.write(*place, cell)
    return path


def rows(path: Path, **options: Any) -> list[Row]:
    return list(read_sheet(path, ReadOptions(("en", "it"), **options)))


def test_a_sheet_with_two_columns(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {"S": [["one", "uno"], [7, 7.5], [True, "vero"], [None, None], ["NA", "null"]]})
    found = [(line, source, target) for line, source, target in rows(path) if isinstance(source, str)]
    assert found == [(1, "one", "uno"), (2, "7", "7.5"), (3, "TRUE", "vero"), (5, "NA", "null")]


def test_dates_are_written_as_dates(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {"S": [["one", "uno"], [datetime.date(2024, 2, 1), "il primo"]]})
    assert rows(path)[1][1] == "2024-02-01"


def test_header_sheet_and_place(tmp_path: Path) -> None:
    table: list[list[object]] = [["Id", "Italian", "English"], [1, "uno", "one"]]
    path = book(tmp_path / "a.xlsx", {"Notes": [["nothing here"]], "Terms": table}, first=(2, 1))
    assert rows(path, sheet="Terms") == rows(path, sheet=1) == [(4, "one", "uno")]
    assert rows(path, sheet="Terms", source_column="Id", target_column="Italian") == [(4, "1", "uno")]
    assert rows(path, sheet=1, source_column=3, target_column=2) == [(4, "one", "uno")]  # D and C
    with pytest.raises(CorpusError, match=r"a\.xlsx has no sheet 'Term', only 'Notes', 'Terms'"):
        rows(path, sheet="Term")
    with pytest.raises(CorpusError, match=r"has 2 sheets, counted from 0: .*there is no 2"):
        rows(path, sheet=2)
    assert rows(book(tmp_path / "empty.xlsx", {"S": []})) == []


ODS = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
    "content.xml": (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="S"><table:table-row>'
        '<table:table-cell office:value-type="string"><text:p>one</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>uno</text:p></table:table-cell>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    ),
}


def test_opendocument(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as file:
        for name, content in ODS.items():
            file.writestr(name, content)
    assert rows(tmp_path / "a.ods") == [(1, "one", "uno")]


@pytest.mark.parametrize("content", [b"PK\x03\x04junk", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), b"a,b\n"])
def test_what_is_no_spreadsheet_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(CorpusError, match=r"a\.xlsx cannot be read as a spreadsheet"):
        rows(tmp_path / "a.xlsx")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "a.xlsx", {"S": [["one", "uno"]]})
    monkeypatch.setattr(read_sheets, "MAX_WHOLE_BYTES", 1000)
    with pytest.raises(CorpusError, match=r"unpacks to 0 MB in memory; save it as \.csv"):
        rows(path)
