"""PO and MO catalogs: which entries are pairs, plural forms, languages, and broken files."""

import struct
from pathlib import Path
from typing import Any

import polib
import pytest

from translator.corpus.read_gettext import read_mo, read_po
from translator.corpus.read_tables import ReadOptions, Row, Unusable
from translator.errors import CorpusError

PLURALS = "nplurals=2; plural=(n != 1);"
BODY = """
msgctxt "menu"
msgid "_Open\\n"
msgstr "_Apri\\n"

#, fuzzy
msgid "guess"
msgstr "forse"

msgid "untranslated"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d documento"
msgstr[1] "%d documenti"

#~ msgid "old"
#~ msgstr "vecchio"
"""


def po(language: str = "it", plurals: str = PLURALS, body: str = BODY, charset: str = "UTF-8") -> str:
    header = (
        f'"Content-Type: text/plain; charset={charset}\\n"\n"Language: {language}\\n"\n"Plural-Forms: {plurals}\\n"'
    )
    return f'# a header\nmsgid ""\nmsgstr ""\n{header}\n{body}'


def rows(folder: Path, text: str | bytes, languages: tuple[str, str] = ("en", "it"), **options: Any) -> list[Row]:
    path = folder / "file.po"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_po(path, ReadOptions(languages, **options)))


EXPECTED = [
    (8, "_Open\n", "_Apri\n"),
    (12, Unusable("fuzzy entry"), None),
    (16, "untranslated", ""),
    (19, "%d file", "%d documento"),
    (19, "%d files", "%d documenti"),
    (25, Unusable("obsolete entry"), None),
]


def test_entries_of_a_po_file(tmp_path: Path) -> None:
    assert rows(tmp_path, po()) == EXPECTED
    assert rows(tmp_path, po(), fuzzy=True)[1][1:] == ("guess", "forse")
    assert rows(tmp_path, po(), obsolete=True)[-1][1:] == ("old", "vecchio")
    assert rows(tmp_path, po(language="it_IT.UTF-8")) == rows(tmp_path, po(language="")) == EXPECTED


def test_the_language_of_the_header_decides_the_direction(tmp_path: Path) -> None:
    assert rows(tmp_path, po(), languages=("it", "en"))[0] == (8, "_Apri\n", "_Open\n")
    assert rows(tmp_path, po(), languages=("it-IT", "en_US"))[0] == (8, "_Apri\n", "_Open\n")
    for pair in (("en", "de"), ("fr", "de"), ("it", "de")):  # English msgids are no German targets
        language = pair[0].replace("en", "en_GB")
        reason = Unusable(f"the file is in {language}, says its header")
        assert rows(tmp_path, po(language=language), languages=pair) == [(1, reason, None)]
    assert rows(tmp_path, po(language="de")) == [(1, Unusable("the file is in de, says its header"), None)]


@pytest.mark.parametrize(
    ("plurals", "num_forms", "singular"),
    [
        ("nplurals=1; plural=0;", 1, None),
        ("nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);", 4, 1),
        ("nonsense", 2, 0),
        ("nplurals=2; plural=(n.__class__);", 2, 0),
    ],
)
def test_the_form_for_one_is_found_by_the_formula(
    tmp_path: Path, plurals: str, num_forms: int, singular: int | None
) -> None:
    forms = "".join(f'msgstr[{i}] "{i}"\n' for i in range(num_forms))
    found = rows(tmp_path, po(plurals=plurals, body=f'\nmsgid "one"\nmsgid_plural "more"\n{forms}'))
    assert [row[1:] for row in found] == [("one" if i == singular else "more", str(i)) for i in range(num_forms)]


def test_an_mo_file_holds_the_same_pairs(tmp_path: Path) -> None:
    path = tmp_path / "file.mo"
    polib.pofile(po()).save_as_mofile(str(path))
    found = list(read_mo(path, ReadOptions(("en", "it"))))
    assert [line for line, _, _ in found] == [1, 1, 2]
    assert {row[1:] for row in found} == {row[1:] for row in EXPECTED if row[2]}


def test_other_encodings(tmp_path: Path) -> None:
    body = '\nmsgid "why"\nmsgstr "perché"\n'
    latin1 = po(body=body, charset="ISO-8859-1").encode("latin-1")
    assert rows(tmp_path, latin1)[0][2] == "perché"
    with pytest.raises(CorpusError, match=r"file\.po is not in the encoding that its header names \(utf-8\)"):
        rows(tmp_path, po(body=body).encode("latin-1"))


def test_broken_catalogs_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"file\.po, line 9: broken gettext catalog"):
        rows(tmp_path, po(body='\nmsgid "a"\nmsgstr "b" x "c"\n'))
    path = tmp_path / "file.mo"
    for count in (5, 0xFFFFFFFF):
        path.write_bytes(struct.pack("<7I", 0x950412DE, 0, count, 28, 28, 0, 0))
        with pytest.raises(CorpusError, match=r"file\.mo: broken gettext catalog \(.*damaged or cut short"):
            list(read_mo(path, ReadOptions(("en", "it"))))
