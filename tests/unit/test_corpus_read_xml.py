"""TMX and XLIFF: pairs, inline codes, languages, and hostile documents."""

from pathlib import Path
from typing import Any

import pytest

from translator.corpus import read_xml
from translator.corpus.read_tables import ReadOptions, Row, Unusable
from translator.corpus.read_tmx import read_tmx
from translator.corpus.read_xliff import read_xliff
from translator.errors import CorpusError
from translator.markup import Code, Sentence, plain

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'


def tmx(*units: str, head: str = HEAD, srclang: str = "en") -> str:
    return f'{head}<tmx version="1.4">\n<header srclang="{srclang}"/><body>\n' + "\n".join(units) + "\n</body></tmx>\n"


def unit(**variants: str) -> str:
    texts = "".join(
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{text}</seg></tuv>' for language, text in variants.items()
    )
    return f"<tu><note>n</note>{texts}</tu>"


def rows(
    folder: Path, text: str | bytes, reader: Any = read_tmx, languages: tuple[str, str] = ("en", "it"), **options: Any
) -> list[Row]:
    path = folder / "file"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(reader(path, ReadOptions(languages, **options)))


def test_units_of_a_memory_with_many_languages(tmp_path: Path) -> None:
    text = tmx(unit(fr="oui", IT_it="sì", eN_uS="yes"), unit(en="no", fr="non"), unit(de="x"), unit(en="a", it=""))
    assert rows(tmp_path, text) == [
        (5, "yes", "sì"),
        (6, Unusable("no variant in it"), None),
        (7, Unusable("no variant in en nor in it"), None),
        (8, "a", ""),
    ]
    assert rows(tmp_path, text, languages=("it-IT", "fr"))[0] == (5, "sì", "oui")


def test_of_two_regions_the_one_of_the_header_is_taken(tmp_path: Path) -> None:
    text = tmx(unit(en_GB="colour", it="colore", en_US="color"), srclang="EN-us")
    assert rows(tmp_path, text) == [(5, "color", "colore")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1", "windows-1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    declared = f'<?xml version="1.0" encoding="{"utf-8" if "sig" in encoding else encoding}"?>\n'
    text = tmx(unit(en="café", it="caffè"), head=declared)
    assert rows(tmp_path, text.encode(encoding)) == [(4, "café", "caffè")]


def test_inline_codes_and_entities_of_tmx(tmp_path: Path) -> None:
    source = (
        ' One <bpt i="1">&lt;b></bpt>two<ept i="1">&lt;/b></ept> <hi>three</hi> <ph x="2"/>'
        '<it pos="begin">&lt;img alt="<sub>x</sub>"></it>&amp;lt;\n     end '
    )
    found = rows(tmp_path, tmx(unit(en=source, it="<ut>{</ut>b")))[0][1:]
    assert found == (
        (
            "One ",
            Code("<b>"),
            "two",
            Code("</b>"),
            " ",
            "three",
            " ",
            Code('<ph x="2"/>'),
            Code('<img alt="x">'),
            "&lt; end",
        ),
        (Code("{"), "b"),
    )
    sentence: Any = found[0]
    assert plain(sentence) == 'One <b>two</b> three <ph x="2"/><img alt="x">&lt; end'


def test_white_space_that_means_something_stays(tmp_path: Path) -> None:
    assert rows(tmp_path, tmx(unit(en="[&#x09;  ]", it="a\n   b")))[0][1:] == ("[\t  ]", "a b")


BOMB = '<!DOCTYPE tmx [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {name} "{f"&{of};" * 10}">' for of, name in zip("abcdefghi", "bcdefghij", strict=True)
) + "]>\n"  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (tmx(unit(en="a", it="b"))[:-20], "file, line 5: broken XML"),
        (tmx(unit(en="a &nbsp; b", it="b")), "file, line 5: the entity &nbsp; is not one of XML's own"),
        (tmx(unit(en="a &nbsp; b", it="b"), head=""), r"file, line 3: broken XML \(Entity 'nbsp' not defined\)"),
        (tmx(unit(en="&j;", it="b"), head=BOMB), "broken XML .*amplification"),
        (tmx(unit(en="&x;", it="b"), head='<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/hostname">]>'), "entity &x;"),
        ("<html><body><tu/></body></html>", "is not TMX: its root element is <html>"),
        ("", "broken XML"),
        ("<tmx>" + "<a>" * 1000, "depth"),
        (tmx(unit(en="a" * 11_000_000, it="b")), "too long"),
    ],
)
def test_documents_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        rows(tmp_path, text)


def test_what_holds_no_units_is_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_xml, "MAX_BYTES_BETWEEN_UNITS", 1 << 18)
    many = [unit(en=f"number {i}", it=f"numero {i}") for i in range(8000)]
    assert len(rows(tmp_path, tmx(*many))) == 8000  # more bytes than that, but with units
    with pytest.raises(CorpusError, match="without a unit"):
        rows(tmp_path, "<tmx><body>" + "<x/>" * 200_000)


def test_units_are_forgotten_once_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(tmx(*(unit(en=f"{i}", it=f"{i}") for i in range(50))))
    num_before = [len(list(one.itersiblings(preceding=True))) for one in read_xml.units(path, "tmx", ("tu",))]
    assert num_before == [0] + [1] * 49  # the one that was read last


XLIFF1 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file source-language="en-US" target-language="it-IT"><body><group>
<trans-unit id="1"><source>Hello <g id="1">you</g><x id="2"/></source><target state="final">Ciao <g id="1">tu</g><x id="2"/></target></trans-unit>
<trans-unit id="2"><source>Not yet</source><note>n</note></trans-unit>
<trans-unit id="3"><source>Copied</source><target state="new">Copied</target></trans-unit>
<trans-unit id="4" translate="no"><source>X1</source><target>X1</target></trans-unit>
<trans-unit id="5"><source>A. B.</source><seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B.</mrk></seg-source>
<target state="translated"><mrk mtype="seg" mid="1">Aa.</mrk> <mrk mtype="seg" mid="2">Bb.</mrk></target>
<alt-trans><source>no</source><target>no</target></alt-trans></trans-unit>
<trans-unit id="6"><source><x id="i" equiv-text="{{name}}"/>!</source><target><x id="i" equiv-text="{{name}}"/>!</target></trans-unit>
</group></body></file>
<file source-language="en" target-language="fr"><body><trans-unit id="7"><source>a</source><target>b</target></trans-unit></body></file>
</xliff>
"""  # noqa: E501


def test_xliff_1(tmp_path: Path) -> None:
    you = (Code('<g id="1">'), "you", Code("</g>"), Code('<x id="2"/>'))
    found = rows(tmp_path, XLIFF1, read_xliff)
    assert found == [
        (3, ("Hello ", *you), ("Ciao ", you[0], "tu", *you[2:])),
        (4, Unusable("not translated: it has no target"), None),
        (5, Unusable("its state is new"), None),
        (6, Unusable("marked as not to be translated"), None),
        (7, "A.", "Aa."),
        (7, "B.", "Bb."),
        (10, (Code("{{name}}"), "!"), (Code("{{name}}"), "!")),
        (12, Unusable("the document is from en to fr"), None),
    ]
    reverse = rows(tmp_path, XLIFF1, read_xliff, languages=("it", "en"))
    assert reverse[4] == (7, "Aa.", "A.")
    only = rows(tmp_path, XLIFF1, read_xliff, states=("final",))
    assert [row[0] for row in only if not isinstance(row[1], Unusable)] == [3]


XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="it">
<file id="f"><unit id="1"><originalData><data id="d1">%s</data><data id="d2">&lt;b></data><data id="d3">&lt;/b></data></originalData>
<segment state="final"><source>Open <ph id="1" dataRef="d1"/> <pc id="2" dataRefStart="d2" dataRefEnd="d3">now</pc></source>
<target>Apri <ph id="1" dataRef="d1"/> <pc id="2" dataRefStart="d2" dataRefEnd="d3">ora</pc></target></segment>
<ignorable><source> </source></ignorable>
<segment><source><sc id="3"/>a<cp hex="001A"/><mrk id="m">b</mrk><sm id="s"/></source><target>c</target></segment>
<segment state="initial"><source>x</source><target>x</target></segment><segment><source>y</source></segment></unit>
</file></xliff>
"""  # noqa: E501


def test_xliff_2(tmp_path: Path) -> None:
    def one(verb: str, when: str) -> Sentence:
        return (f"{verb} ", Code("%s"), " ", Code("<b>"), when, Code("</b>"))

    assert rows(tmp_path, XLIFF2, read_xliff) == [
        (2, one("Open", "now"), one("Apri", "ora")),
        (2, (Code('<sc id="3"/>'), "a", Code("\x1a"), "b"), "c"),
        (2, Unusable("its state is initial"), None),
        (2, Unusable("not translated: it has no target"), None),
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            '<xliff version="1.2"><file source-language="en" target-language="it"><body><group translate="no">'
            "<trans-unit><source>a</source><target>A</target></trans-unit><group>"
            '<trans-unit translate="yes"><source>b</source><target>B</target></trans-unit>'
            "<trans-unit><source>c</source><target>C</target></trans-unit></group></group>"
            "<trans-unit><source>d</source><target>D</target></trans-unit></body></file></xliff>",
            ["b", "d"],
        ),
        (
            '<xliff version="2.0" srcLang="en" trgLang="it"><file translate="no">'
            "<unit><segment><source>a</source><target>A</target></segment></unit>"
            '<group translate="yes"><unit><segment><source>b</source><target>B</target></segment></unit></group></file>'
            "<file><unit><segment><source>c</source><target>C</target></segment></unit></file></xliff>",
            ["b", "c"],
        ),
    ],
)
def test_what_is_not_to_be_translated_is_said_by_the_nearest_element(
    tmp_path: Path, document: str, expected: list[str]
) -> None:
    found = rows(tmp_path, document, read_xliff)
    assert [source for _, source, _ in found if not isinstance(source, Unusable)] == expected
    assert {source for _, source, _ in found if isinstance(source, Unusable)} == {
        Unusable("marked as not to be translated")
    }
