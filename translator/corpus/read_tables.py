"""Rows of tables: TSV, CSV and JSON lines, every cell as the text that stands in the file.

No reader here guesses types or missing values: "NA", "null" and "007" are words (table readers of data-frame
libraries turn them into nothing and 7).
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from translator.corpus.languages import fold, fold_name, likeness_of_name
from translator.corpus.packing import File
from translator.corpus.read_text import read_lines
from translator.errors import CorpusError

SCHEMES = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""Column names that are understood besides the two languages."""

# English names, since spreadsheets are headed "English, Italian" more often than "en, it".
_ENGLISH_NAMES = """
af:afrikaans am:amharic ar:arabic bg:bulgarian bn:bengali ca:catalan cs:czech cy:welsh da:danish de:german
el:greek en:english es:spanish et:estonian eu:basque fa:persian fi:finnish fr:french ga:irish gl:galician
gu:gujarati ha:hausa hau:hausa he:hebrew hi:hindi hr:croatian hu:hungarian id:indonesian ig:igbo
is:icelandic it:italian ja:japanese kn:kannada ko:korean lt:lithuanian lv:latvian ml:malayalam mr:marathi
ms:malay mt:maltese nb:bokmål nl:dutch nn:nynorsk no:norwegian pa:punjabi pl:polish pt:portuguese
ro:romanian ru:russian sk:slovak sl:slovenian sq:albanian sr:serbian sv:swedish sw:swahili ta:tamil
te:telugu th:thai tr:turkish uk:ukrainian ur:urdu vi:vietnamese xh:xhosa yo:yoruba zh:chinese zu:zulu
"""
LANGUAGE_NAMES: dict[str, str] = dict(re.findall(r"(\w+):(\w+)", _ENGLISH_NAMES))

CELL_LIMIT = 1 << 20
"""Most characters of a cell."""

NAMING_ROWS = 1000


@dataclass(frozen=True)
class Unusable:
    """Stands for the source of a row that holds no pair; the row is skipped and counted under `reason`."""

    reason: str


BLANK = Unusable("the row is blank")

Row = tuple[int, object, object]
"""Line number from 1, source, target; anything but a sentence there is skipped later, counted by reason.

A sheet and a Parquet file have rows for lines, an MO file has entries.
"""


@dataclass(frozen=True)
class TableOptions:
    """How to find the two columns: languages, columns by name or number from 0, and the header."""

    languages: tuple[str, str]
    source_column: str | int | None = None
    target_column: str | int | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        columns = (self.source_column, self.target_column)
        if (columns[0] is None) != (columns[1] is None):
            raise CorpusError("source_column and target_column belong together: give both or neither")
        if any(isinstance(column, int) and column < 0 for column in columns):
            raise CorpusError("columns are counted from 0: the first column of a table is 0")

    @property
    def columns(self) -> tuple[str | int, str | int] | None:
        """The columns that were asked for."""
        if self.source_column is None or self.target_column is None:
            return None
        return self.source_column, self.target_column


@dataclass(frozen=True)
class ReadOptions(TableOptions):
    """All that a reader may want to know: of a spreadsheet the sheet, of XLIFF the states, of gettext which entries."""

    sheet: str | int | None = None
    states: tuple[str, ...] | None = None
    fuzzy: bool = False
    obsolete: bool = False


def choose_columns(names: Collection[str], languages: tuple[str, str]) -> tuple[str, str] | None:
    """The two names that hold source and target, as they are spelt in the table, or None.

    The two languages (codes or English names) come first, then "source" and "target", "src" and "tgt"; then codes that
    are more special or more general, such as en-US for en, where one column alone fits each language.
    """
    spelt = {fold_name(name.strip()): name for name in names}
    codes = (fold(languages[0]), fold(languages[1]))
    full = (LANGUAGE_NAMES.get(codes[0], codes[0]), LANGUAGE_NAMES.get(codes[1], codes[1]))
    for source, target in (codes, full, *SCHEMES):
        if source in spelt and target in spelt:
            return spelt[source], spelt[target]
    sources, targets = ([name for name in names if likeness_of_name(one, name) is not None] for one in languages)
    return (sources[0], targets[0]) if len(sources) == len(targets) == 1 and sources != targets else None


def read_tsv(path: File, options: TableOptions) -> Iterator[Row]:
    """Rows of a file with tabs between its columns. A quote mark is a character like any other."""
    records = ((number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1))
    return rows_of_cells(path, records, options)


def read_csv(path: File, options: TableOptions) -> Iterator[Row]:
    """Rows of a file with standard CSV quoting; separator (, or ; or tab) as in its first line."""
    return rows_of_cells(path, _csv_records(path), options)


def _csv_records(path: File) -> Iterator[tuple[int, list[str]]]:
    # The limit makes a quote that is never closed an error soon, before it swallows the rest of the file.
    csv.field_size_limit(CELL_LIMIT)
    lines = read_lines(path)
    head = next(lines, None)
    if head is None:
        return
    unquoted = re.sub(r'"[^"]*"', "", head)
    delimiter = max(",;\t", key=unquoted.count)
    reader = csv.reader((f"{line}\n" for line in chain([head], lines)), delimiter=delimiter, strict=True)
    first_line = 1
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CorpusError(
                f"{path}, line {first_line}: the quotes of this row are broken ({error}); "
                f"if the file does not use quotes, separate its columns with tabs and name it .tsv"
            ) from None
        yield first_line, record
        first_line = reader.line_num + 1


def rows_of_cells(path: File, records: Iterator[tuple[int, list[str]]], options: TableOptions) -> Iterator[Row]:
    """The pairs in numbered records of a table, its header found or said by the options.

    Raises:
        CorpusError: the two columns cannot be found.
    """
    blank: tuple[list[str], list[str]] = ([], [""])
    for number, cells in records:
        if cells not in blank:
            break
        yield number, BLANK, None
    else:
        return
    source, target, is_header = _find_cells(path, cells, options)
    width = len(cells)
    odd_width = Unusable(f"the row has not {width} columns")
    rest = records if is_header else chain([(number, cells)], records)
    for number, cells in rest:
        if len(cells) == width:
            yield number, cells[source], cells[target]
        else:
            yield number, BLANK if cells in blank else odd_width, None


def _find_cells(path: File, first: list[str], options: TableOptions) -> tuple[int, int, bool]:
    """Positions of source and target, and whether the first row is a header."""
    asked = options.columns
    by_name = choose_columns(first, options.languages)
    if asked is not None:
        names = [cell.strip() for cell in first]
        positions = [column if isinstance(column, int) else _position(path, names, column) for column in asked]
        if max(positions) >= len(first):
            raise CorpusError(f"{path} has {len(first)} columns, not {max(positions) + 1}")
        named = any(isinstance(column, str) for column in asked)
        is_header = named or (by_name is not None if options.header is None else options.header)
        return positions[0], positions[1], is_header
    if by_name is not None and options.header is not False:
        return first.index(by_name[0]), first.index(by_name[1]), True
    if len(first) == 2:
        return 0, 1, options.header is True
    if len(first) < 2:
        raise CorpusError(f"{path}: the first row has one column, and two are needed, source and target")
    raise CorpusError(
        f"{path} has {len(first)} columns and no header that names the languages "
        f"{options.languages[0]} and {options.languages[1]}: say which two to use, by name or by number "
        f"from 0, for example source_column: 0, target_column: 1"
    )


def _position(path: File, names: list[str], column: str) -> int:
    if column in names:
        return names.index(column)
    raise CorpusError(f"{path} has no column {column!r}; its first row is {', '.join(map(repr, names))}")


def read_jsonl(path: File, options: TableOptions) -> Iterator[Row]:
    """Rows of a file with one JSON object a line: two plain columns, or {"translation": {"en": "...", ...}}.

    Raises:
        CorpusError: a line is not a JSON object (with its number), or no two columns can be found.
    """
    rows = _json_rows(path)
    head = list(islice(rows, NAMING_ROWS))
    pick = pick_columns(path, [row for _, row in head if row is not None], options)
    for number, row in chain(head, rows):
        yield number, *(pick(row) if row is not None else (BLANK, None))


def _json_rows(path: File) -> Iterator[tuple[int, dict[str, object] | None]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            yield number, None
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # ValueError: an integer of thousands of digits, too
            broken = error.msg if isinstance(error, json.JSONDecodeError) else "a number that is too long"
            reason = "nested too deeply" if isinstance(error, RecursionError) else broken
            raise CorpusError(f"{path}, line {number}: broken JSON ({reason}); each line must be one object") from None
        if not isinstance(row, dict):
            raise CorpusError(f"{path}, line {number}: JSON, but not an object; write one object a line (JSON lines)")
        yield number, row


Pick = Callable[[dict[str, object]], tuple[object, object]]


def pick_columns(place: object, rows: list[dict[str, object]], options: TableOptions) -> Pick:
    """How to take source and target from a row, decided once from the first `rows` of a table.

    Raises:
        CorpusError: no two columns can be found; `place` names the table.
    """
    if not rows:
        return lambda row: (None, None)
    names = dict.fromkeys(name for row in rows for name in row)
    found = options.columns or choose_columns(names, options.languages)
    nested = [row["translation"] for row in rows if isinstance(row.get("translation"), dict)]
    if found is None and nested:
        inner = dict.fromkeys(name for row in nested if isinstance(row, dict) for name in row)
        languages = choose_columns(inner, options.languages)
        if languages is None:
            wanted = " and ".join(options.languages)
            raise CorpusError(f"{place}: no translation has both {wanted}, only {list_names(inner)}")
        left, right = languages

        def pick_nested(row: dict[str, object]) -> tuple[object, object]:
            texts = row.get("translation")
            return (texts.get(left), texts.get(right)) if isinstance(texts, dict) else (None, None)

        return pick_nested
    absent = [str(name) for name in found or () if name not in names]
    if found is None or absent:
        wanted = " and ".join(absent or options.languages)
        raise CorpusError(
            f"{place} has no columns {wanted}, only {list_names(names)}: "
            f"name the two to use with source_column and target_column"
        )
    source, target = str(found[0]), str(found[1])
    return lambda row: (row.get(source), row.get(target))


def list_names(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in islice(names, 12)) or "none"
