"""Tables of characters, held against Python's own Unicode data where that knows the answer."""

import unicodedata
from typing import get_args

import pytest

from translator.config.filters import Script
from translator.corpus import characters


def test_scripts_are_those_that_the_names_of_letters_begin_with() -> None:
    spelt = {"CJK": "Han", "OL": "Ol_Chiki", "MEETEI": "Meetei"}
    for code in [*range(0x370), *range(0x400, 0x1AB0), *range(0x3041, 0x3097), *range(0x4E00, 0x9FFF, 99)]:
        first, _, rest = unicodedata.name(chr(code), "").partition(" ")
        name = spelt.get(first, first.capitalize())
        if name in characters.SCRIPTS and "LETTER" in rest and code != 0x61C:  # ARABIC LETTER MARK is none
            assert characters.SCRIPTS[characters.script_table()[code] - 1] == name, hex(code)


def test_the_configuration_offers_the_scripts_that_are_known() -> None:
    assert get_args(Script) == characters.SCRIPTS


@pytest.mark.parametrize(
    ("language", "scripts"),
    [
        ("kn", ("Kannada",)),
        ("hau", ("Latin",)),
        ("sr", ("Cyrillic", "Latin")),
        ("sr-Latn", ("Latin",)),
        ("zh_Hant", ("Han",)),
        ("EN-us", ("Latin",)),
        ("ja", ("Hiragana", "Katakana", "Han")),
        ("xx", ()),
    ],
)
def test_scripts_of_a_language(language: str, scripts: tuple[str, ...]) -> None:
    assert characters.scripts_of(language) == scripts


def test_digits_and_marks_belong_to_no_script() -> None:
    table = characters.script_table()
    assert [int(table[ord(c)]) for c in "7೭%\u0301\u200d।"] == [characters.NO_SCRIPT] * 6
    assert characters.digits()[ord("೭")]


def test_every_code_point_has_an_entry() -> None:
    for table in (characters.script_table(), characters.letters(), characters.blanks(), characters.strange()):
        assert len(table) == 0x110000


@pytest.mark.parametrize(
    ("character", "is_strange"),
    [
        ("\u00ad", True),  # soft hyphen
        ("\ufeff", True),  # byte order mark
        ("\u202e", True),  # right-to-left override
        ("\u200b", True),  # zero-width space
        ("\x07", True),
        ("\ue000", True),  # private use
        ("\u200c", False),  # joiners: Kannada and Persian need them
        ("\u200d", False),
        ("\t", False),
        ("\u00a0", False),
        ("ಕ", False),
    ],
)
def test_invisible_characters(character: str, is_strange: bool) -> None:
    assert characters.strange()[ord(character)] == is_strange


def test_marks_of_direction_belong_to_text_from_the_right() -> None:
    assert characters.strange(("Latin",))[0x200F]
    assert not characters.strange(("Arabic",))[0x200F]


@pytest.mark.parametrize(
    "text", ["cafÃ© noir", "itâ€™s", "sÃ»r", "à²•à²¨à³\x8dà²¨à²¡", "cost Â£5", "lost \ufffd here", "Ã¢â‚¬â„¢"]
)
def test_mojibake_is_seen(text: str) -> None:
    assert characters.has_mojibake(text)


@pytest.mark.parametrize(
    "text", ["naïve café", "“IRMÔ", "«MAÇû.", "«Åland»", "São Paulo", "DEÂ Â", "ಕನ್ನಡ", "Ça va…", "« Où ? »", "Ângela"]
)
def test_true_text_is_no_mojibake(text: str) -> None:
    assert not characters.has_mojibake(text)
