"""The second reading of corpora by the standard library: what it gives of tiny files, and that a difference is told."""

import gzip
import json
import struct
from pathlib import Path

import pytest

from scripts import check_readers
from scripts.check_readers import Case, cases, difference, expected, main

TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en-US"/><body>
<tu><tuv xml:lang="en-US"><seg>Press <bpt i="1">&lt;b></bpt>OK<ept i="1">&lt;/b></ept> <ph x="2"/> &amp;amp;
   go.</seg></tuv><tuv xml:lang="it"><seg> <hi>Premi</hi> OK. </seg></tuv></tu>
<tu><tuv lang="IT"><seg>solo</seg></tuv></tu>
</body></tmx>
"""
XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="it" original="a" datatype="plaintext"><body>
<trans-unit id="1"><source>One <x id="1"/> <g id="2">two</g></source><target>Uno <x id="1"/> due</target></trans-unit>
<trans-unit id="2"><source>New.</source><target state="new">New.</target></trans-unit>
<trans-unit id="3"><source>None.</source></trans-unit>
<trans-unit id="4" translate="no"><source>Name.</source><target>Name.</target></trans-unit>
<trans-unit id="5"><source>A. B.</source>
<seg-source><mrk mtype="seg" mid="0">A.</mrk> <mrk mtype="seg" mid="1">B.</mrk></seg-source>
<target><mrk mtype="seg" mid="0">Aa.</mrk> <mrk mtype="seg" mid="1">Bb.</mrk></target></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="it"><file id="f">
<unit id="1"><originalData><data id="d">%s</data></originalData>
<segment><source>Open <ph id="1" dataRef="d"/><cp hex="0041"/></source><target>Apri <ph id="1"/></target></segment>
<segment state="initial"><source>B</source><target>B</target></segment></unit></file></xliff>
"""
PO = r"""# a catalog
msgid ""
msgstr ""
"Language: it\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

msgctxt "menu"
msgid "Open"
msgstr ""
"Apri \"il\" "
"file\n"

#, fuzzy
msgid "Shut"
msgstr "Chiuso"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "un file"
msgstr[1] "%d file"

#~ msgid "Old"
#~ msgstr "Vecchio"
"""
CATALOG = {
    "": "Language: it\nPlural-Forms: nplurals=2; plural=(n != 1);\n",
    "menu\x04Open": "Apri",
    "%d file\0%d files": "un file\0%d file",
}


def compiled(catalog: dict[str, str]) -> bytes:
    """An MO file, as `msgfmt` would write it."""
    header, start = 28, 28 + 16 * len(catalog)
    tables, texts = [b"", b""], b""
    for side in range(2):
        for item in sorted(catalog.items()):
            data = item[side].encode()
            tables[side] += struct.pack("<2I", len(data), start + len(texts))
            texts += data + b"\0"
    return (
        struct.pack("<7I", 0x950412DE, 0, len(catalog), header, header + 8 * len(catalog), 0, 0)
        + b"".join(tables)
        + texts
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a file of every format."""
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "cache"))  # `main` sets it; this puts it back
    data = tmp_path / "data"
    (data / "more").mkdir(parents=True)
    (data / "README.md").write_text("# Data\n")
    (data / "a.tmx").write_text(TMX, encoding="utf-16")
    (data / "b.xlf").write_text(XLIFF_1)
    (data / "c.xliff").write_text(XLIFF_2)
    (data / "d.po").write_text(PO)
    (data / "e.mo").write_bytes(compiled(CATALOG))
    (data / "f.csv").write_text('English,Italian\n"Yes, ""you""","Sì\nlei"\nNo.,\nodd\n', encoding="utf-8")
    (data / "g.tsv").write_text('it\ten\tnote\nSì\t"Yes\t1\n', encoding="utf-8")
    rows = [{"translation": {"en": "Yes", "it": "Sì"}}, {"translation": {"en": "No"}}]
    (data / "more" / "h.json").write_text("\n".join(map(json.dumps, rows)))
    (data / "more" / "i.en.gz").write_bytes(gzip.compress("One\u2028two\r\nThree\n\n".encode()))
    (data / "more" / "i.it").write_text("Uno due\nTre\nQuattro\n")
    return data


EXPECTED = {
    "a.tmx": (2, [('Press <b>OK</b> <ph x="2"/> &amp; go.', "Premi OK.")]),
    "b.xlf": (6, [('One <x id="1"/> <g id="2">two</g>', 'Uno <x id="1"/> due'), ("A.", "Aa."), ("B.", "Bb.")]),
    "c.xliff": (2, [("Open %sA", 'Apri <ph id="1"/>')]),
    "d.po": (5, [("Open", 'Apri "il" file '), ("%d file", "un file"), ("%d files", "%d file")]),
    "e.mo": (3, [("%d file", "un file"), ("%d files", "%d file"), ("Open", "Apri")]),
    "f.csv": (3, [('Yes, "you"', "Sì lei")]),
    "g.tsv": (1, [('"Yes', "Sì")]),
    "more/h.json": (2, [("Yes", "Sì")]),
    "more/i.*": (3, [("One\u2028two", "Uno due"), ("Three", "Tre")]),
}
"""Of each file, its rows and its usable pairs, by hand."""


def test_every_format_is_read_by_the_standard_library(folder: Path) -> None:
    found = {case.name: (len(case.rows), expected(case.rows)) for case in cases(folder, "en")}
    assert found == EXPECTED


def test_both_readings_of_every_format_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert "9 readings, 0 of them different" in said
    assert "Not read: README.md" in said
    lines = [line.split() for line in said.splitlines()]
    for name, (num_rows, pairs) in EXPECTED.items():
        (line,) = [line for line in lines if name in line]
        assert line[5:8] == [str(num_rows), str(len(pairs)), str(len(pairs))]
    assert "its state is new: 1; not translated: it has no target: 1; marked as not to be translated: 1" in said
    assert "fuzzy entry: 1; obsolete entry: 1" in said


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("Yes", "Si")], "DIFFERENT: g.tsv: pair 1 is ('\"Yes', 'Sì'), and ('Yes', 'Si') by the second reading"),
        ([('"Yes', "Sì"), ("No", "No")], "DIFFERENT: g.tsv: pair 2 is None, and ('No', 'No') by the second reading"),
        ([('"Yes', "Sì"), (None, None)], "DIFFERENT: g.tsv: 1 rows, and 2 by the second reading"),
    ],
)
def test_a_difference_is_told(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: list[tuple[str | None, str | None]],
    message: str,
) -> None:
    case = Case("g.tsv", "tsv", {"path": str(folder / "g.tsv")}, ("en", "it"), rows)
    monkeypatch.setattr(check_readers, "cases", lambda *_: iter([case]))
    assert main([str(folder)]) == 1
    assert message in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_a_difference_where_the_other_reading_has_pairs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "g.tsv").write_text("en\tit\nYes\tS\0\n")
    assert main([str(folder)]) == 1
    assert "a zero byte" in capsys.readouterr().out


def test_an_empty_folder_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "cache"))
    assert main([str(tmp_path)]) == 1


def test_the_first_difference_is_found() -> None:
    assert difference([("a", "b")], [("a", "b")]) == ""
    assert difference([("a", "b")], [("a", "c")]).startswith("pair 1 is ('a', 'b')")


def test_a_file_without_a_second_reading_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.tmx").write_text(TMX[:-20])
    (folder / "b.xlf").write_bytes(b"")
    (folder / "e.mo").write_bytes(b"\xde\x12\x04\x95\0")
    (folder / "more" / "h.json").write_text("{")
    (folder / "more" / "i.it").write_bytes(b"\xff\n")
    assert main([str(folder)]) == 1
    said = capsys.readouterr().out
    for name in ("a.tmx", "b.xlf", "e.mo", "more/h.json", "more/i.*"):
        assert f"DIFFERENT: {name}: no second reading (" in said


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([str(tmp_path / "none")])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith("none is no folder\n")
