"""Rows of TSV, CSV and JSON lines: every character as it stands in the file, every column found or named."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from translator.corpus.read_tables import (
    Row,
    TableOptions,
    Unusable,
    choose_columns,
    read_csv,
    read_jsonl,
    read_tsv,
    rows_of_cells,
)
from translator.errors import CorpusError

Reader = Callable[[Path, TableOptions], Iterator[Row]]
EN_DE = ("en", "de")


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., list[Row]]:
    def read(reader: Reader, text: str, **options: object) -> list[Row]:
        path = tmp_path / "table"
        path.write_text(text, encoding="utf-8", newline="")
        return list(reader(path, TableOptions(EN_DE, **options)))  # type: ignore[arg-type]

    return read


Rows = Callable[..., list[Row]]

NA_WORDS = [
    *(("zero", "null"), ("nothing", "NA"), ("none", "None"), ("not a number", "NaN"), ("n/a", "k. A.")),
    *(("1", "eins"), ("2", "2"), ("true", "wahr"), ("1e5", "hunderttausend"), ("007", "James")),
]


@pytest.mark.parametrize(("reader", "mark"), [(read_tsv, "\t"), (read_csv, ",")])
def test_words_that_look_like_missing_values_or_numbers_stay(rows: Rows, reader: Reader, mark: str) -> None:
    text = "".join(f"{source}{mark}{target}\n" for source, target in NA_WORDS)
    assert [row[1:] for row in rows(reader, text)] == NA_WORDS


def test_quotes_in_tsv_are_characters(rows: Rows) -> None:
    text = 'a\tA\n"Stop, he said.\t„Halt.\nA 5" pipe\tEin 5"-Rohr\n"b"\t"B"\n\'c\t"drei\nd\tD\n'
    assert rows(read_tsv, text) == [
        (1, "a", "A"),
        (2, '"Stop, he said.', "„Halt."),
        (3, 'A 5" pipe', 'Ein 5"-Rohr'),
        (4, '"b"', '"B"'),
        (5, "'c", '"drei'),
        (6, "d", "D"),
    ]


def test_quotes_in_csv_follow_the_standard(rows: Rows) -> None:
    text = 'en,de\n"Yes, ""sir"".","Ja,\r\nmein Herr."\nb,B\n'
    assert rows(read_csv, text) == [(2, 'Yes, "sir".', "Ja,\nmein Herr."), (4, "b", "B")]


@pytest.mark.parametrize("broken", ['en,de\na,A\nb,"B\nc,C\n', 'en,de\na,A\nb,"B"x\n'])
def test_broken_quotes_in_csv_are_named_with_their_line(rows: Rows, broken: str) -> None:
    with pytest.raises(CorpusError, match="table, line 3: the quotes of this row are broken"):
        rows(read_csv, broken)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_csv_with_another_separator(rows: Rows, mark: str) -> None:
    assert rows(read_csv, f'"a,b"{mark}A\nc,d{mark}C\n') == [(1, "a,b", "A"), (2, "c,d", "C")]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("de\ten\nA\ta\n", {}, (2, "a", "A")),
        ("German\tEnglish\nA\ta\n", {}, (2, "a", "A")),
        ("id\tsrc\ttgt\n7\ta\tA\n", {}, (2, "a", "A")),
        ("en\tde\n", {"header": False}, (1, "en", "de")),
        ("x\ty\na\tA\n", {"header": True}, (2, "a", "A")),
        ("x\ty\tz\na\tb\tA\n", {"source_column": "x", "target_column": "z"}, (2, "a", "A")),
        ("7\ta\tA\n", {"source_column": 1, "target_column": 2}, (1, "a", "A")),
        ("\nen\tde\na\tA\n", {}, (3, "a", "A")),
        ("de-DE\ten_US\nA\ta\n", {}, (2, "a", "A")),
        ("En. A\tde. Ein\n", {}, (1, "En. A", "de. Ein")),
    ],
)
def test_header_and_columns(rows: Rows, text: str, options: dict[str, object], expected: Row) -> None:
    assert rows(read_tsv, text, **options)[-1] == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("7\ta\tA\n", {}, "has 3 columns and no header that names the languages en and de"),
        ("only one\n", {}, "the first row has one column"),
        (
            "a\tA\n",
            {"source_column": "x", "target_column": "y"},
            "has no column 'x'; its first row is 'a', 'A'",
        ),
        ("a\tA\n", {"source_column": 0, "target_column": 2}, "has 2 columns, not 3"),
        ("a\tA\n", {"source_column": 0}, "give both or neither"),
        ("a\tA\n", {"source_column": -1, "target_column": 0}, "counted from 0"),
    ],
)
def test_columns_that_cannot_be_found(rows: Rows, text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        rows(read_tsv, text, **options)


@pytest.mark.parametrize(("reader", "mark"), [(read_tsv, "\t"), (read_csv, ",")])
def test_odd_rows_keep_their_numbers(rows: Rows, reader: Reader, mark: str) -> None:
    text = f"\na{mark}A\nalone\n\nb{mark}B{mark}more\nc{mark}C"
    blank, odd = Unusable("the row is blank"), Unusable("the row has not 2 columns")
    found = [(number, source) for number, source, _ in rows(reader, text)]
    assert found == [(1, blank), (2, "a"), (3, odd), (4, blank), (5, odd), (6, "c")]


@pytest.mark.parametrize("reader", [read_tsv, read_csv, read_jsonl])
def test_an_empty_table_has_no_rows(rows: Rows, reader: Reader) -> None:
    assert rows(reader, "") == []


@pytest.mark.parametrize(
    "line",
    [
        '{"src": "a", "tgt": "A"}',
        '{"source": "a", "target": "A"}',
        '{"source": "wikipedia", "en": "a", "de": "A"}',
        '{"en-US": "a", "de-DE": "A", "en_url": "x"}',
        '{"translation": {"de-AT": "A", "en-GB": "a"}}',
        '{"id": 1, "translation": {"de": "A", "fr": "â", "en": "a"}}',
    ],
)
def test_json_columns(rows: Rows, line: str) -> None:
    assert rows(read_jsonl, f"{line}\n") == [(1, "a", "A")]
    assert rows(read_jsonl, '{"x": "a", "y": "A"}', source_column="x", target_column="y") == [(1, "a", "A")]


def test_json_rows_without_a_pair_keep_what_they_hold(rows: Rows) -> None:
    text = '{"src": "a", "tgt": null}\n{"src": "b"}\n{"src": 42, "tgt": ""}\n\n{"src": "c", "tgt": "C"}\n'
    blank = Unusable("the row is blank")
    assert rows(read_jsonl, text) == [
        (1, "a", None),
        (2, "b", None),
        (3, 42, ""),
        (4, blank, None),
        (5, "c", "C"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"src": "a", "tgt": "A"}\n\n{"src": "Cut off", "tgt": "Abge\n', "table, line 3: broken JSON"),
        ('{"src": "a", "tgt": "A"}\n["a", "A"]\n', "table, line 2: JSON, but not an object"),
        ("[" * 100_000 + "\n", "table, line 1: broken JSON"),
        ('{"text": "a", "label": "A"}\n', "has no columns en and de, only 'text', 'label'"),
        ('{"translation": {"en": "a", "it": "A"}}\n', "no translation has both en and de, only 'en', 'it'"),
    ],
)
def test_json_that_cannot_be_used(rows: Rows, text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        rows(read_jsonl, text)


@pytest.mark.parametrize(
    ("names", "languages", "expected"),
    [
        (["EN", "pt_BR"], ("en", "pt-br"), ("EN", "pt_BR")),
        (["English", "Kannada", "src", "tgt"], ("en", "kn"), ("English", "Kannada")),
        (["src", "trg"], ("en", "kn"), ("src", "trg")),
        (["en", "tgt"], ("en", "kn"), None),
        (["kn", "en-GB", "en-US"], ("en", "kn"), None),  # which of the two?
        (["en-US", "kn-IN", "source", "target"], ("en", "kn"), ("source", "target")),
        (["pt", "en"], ("pt-BR", "en-US"), ("pt", "en")),
        (["pt", "en"], ("pt-BR", "pt-PT"), None),
        (["en_url", "kn_url"], ("en", "kn"), None),
    ],
)
def test_choose_columns(names: list[str], languages: tuple[str, str], expected: tuple[str, str] | None) -> None:
    assert choose_columns(names, languages) == expected


def test_blank_rows_are_not_gathered() -> None:
    """A small packed file can hold millions of line ends."""
    rows = rows_of_cells(Path("blank.tsv"), ((number, [""]) for number in itertools.count(1)), TableOptions(EN_DE))
    assert [row[0] for row in itertools.islice(rows, 3)] == [1, 2, 3]
