"""Spreadsheets: Excel (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument (.ods)."""

import datetime
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from translator.corpus.packing import BAD_ZIP, MAX_WHOLE_BYTES, File, refuse_zip_bomb, whole
from translator.corpus.read_tables import ReadOptions, Row, list_names, rows_of_cells
from translator.errors import CorpusError, missing_extra


def read_sheet(file: File, options: ReadOptions) -> Iterator[Row]:
    """Pairs of one sheet, by default the first; columns are found as in any table, lines are the sheet's rows.

    Numbers become text as a person writes them: 7, not 7.0. Columns counted by number begin with A.

    Raises:
        CorpusError: python-calamine is not installed, the file is damaged, locked or a bomb, or it has no such sheet.
    """
    try:
        import python_calamine
    except ImportError:
        raise missing_extra("spreadsheets", "python-calamine", "formats") from None
    try:
        with whole(file) as path:
            if zipfile.is_zipfile(path):
                _check_size(file, path)
            workbook = python_calamine.CalamineWorkbook.from_path(path)
            sheet = _choose(file, workbook, options.sheet)
            by_number = any(isinstance(column, int) for column in options.columns or ())
            yield from rows_of_cells(file, _records(sheet, from_a=by_number), options)
    except (python_calamine.CalamineError, *BAD_ZIP, OSError) as error:
        raise CorpusError(f"{file} cannot be read as a spreadsheet: {error}") from error


def _check_size(file: File, path: Path) -> None:
    """Most spreadsheets are zip archives, which the library unpacks in memory."""
    with zipfile.ZipFile(path) as opening:
        size = refuse_zip_bomb(opening, path, str(file))
    if size > MAX_WHOLE_BYTES:
        raise CorpusError(f"{file} unpacks to {size >> 20} MB in memory; save it as .csv or .tsv")


def _choose(file: File, workbook: Any, asked: str | int | None) -> Any:
    names = workbook.sheet_names
    if isinstance(asked, str):
        if asked not in names:
            raise CorpusError(f"{file} has no sheet {asked!r}, only {list_names(names)}")
        return workbook.get_sheet_by_name(asked)
    number = asked or 0
    if not 0 <= number < len(names):
        raise CorpusError(f"{file} has {len(names)} sheets, counted from 0: {list_names(names)}; there is no {number}")
    return workbook.get_sheet_by_index(number)


def _records(sheet: Any, *, from_a: bool) -> Iterator[tuple[int, list[str]]]:
    """Rows with their numbers; empty columns on the left count only when columns are counted."""
    if sheet.start is None:  # an empty sheet
        return
    first_row, first_column = sheet.start
    lead = [""] * first_column if from_a else []
    # The library begins with the first row of the sheet, yet with the first column that is used.
    for number, cells in islice(enumerate(sheet.iter_rows(), start=1), first_row, None):
        texts = [_text(cell) for cell in cells]
        yield number, lead + texts if any(texts) else []


def _text(cell: object) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return str(cell)
