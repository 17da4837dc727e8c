"""What single characters are: tables over all code points, with which whole batches of sentences are counted at once.

A table is an array with one entry for each code point; `table[codes]` looks up every character of a batch. Python's
`unicodedata` knows categories and digits but no scripts, so the ranges of the main scripts stand here (Unicode Standard
Annex 24); a letter of any other script belongs to `OTHER`.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from translator.corpus.languages import SCRIPT_SUBTAGS, fold

NUM_CODES = 0x110000
NO_SCRIPT, OTHER = 0, 255
"""In `script_table`: what is no letter (digits, punctuation, marks that any script may use), and rare scripts."""

_RANGES = """
Latin      0041-005A 0061-007A 00AA 00BA 00C0-02AF 1D00-1DBF 1E00-1EFF 2C60-2C7F A722-A7FF AB30-AB6F FB00-FB06
Latin      FF21-FF5A
Greek      0370-03FF 1F00-1FFF
Cyrillic   0400-052F 1C80-1C8F 2DE0-2DFF A640-A69F
Armenian   0530-058F FB13-FB17
Hebrew     0590-05FF FB1D-FB4F
Arabic     0600-06FF 0750-077F 0870-08FF FB50-FDFF FE70-FEFC
Syriac     0700-074F 0860-086F
Thaana     0780-07BF
Nko        07C0-07FF
Devanagari 0900-097F A8E0-A8FF
Bengali    0980-09FF
Gurmukhi   0A00-0A7F
Gujarati   0A80-0AFF
Oriya      0B00-0B7F
Tamil      0B80-0BFF
Telugu     0C00-0C7F
Kannada    0C80-0CFF
Malayalam  0D00-0D7F
Sinhala    0D80-0DFF
Thai       0E00-0E7F
Lao        0E80-0EFF
Tibetan    0F00-0FFF
Myanmar    1000-109F A9E0-A9FF AA60-AA7F
Georgian   10A0-10FF 1C90-1CBF 2D00-2D2F
Hangul     1100-11FF 3131-318F A960-A97F AC00-D7FF
Ethiopic   1200-139F 2D80-2DDF AB01-AB2F
Cherokee   13A0-13FF AB70-ABBF
Canadian   1400-167F 18B0-18FF
Khmer      1780-17FF
Mongolian  1800-18AF
Ol_Chiki   1C50-1C7F
Tifinagh   2D30-2D7F
Hiragana   3041-309F
Katakana   30A1-30FA 30FC-30FF 31F0-31FF FF66-FF9F
Bopomofo   3105-312F 31A0-31BF
Han        2E80-2FDF 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF
Yi         A000-A4CF
Vai        A500-A63F
Meetei     ABC0-ABFF
Adlam      1E900-1E95F
"""
_LANGUAGES = """
Latin      af als an ast az bm br bs ca ceb co cs cy da de deu dan ee en eng eo es est et eu eus ff fi fil fin fo fr fra
Latin      fy ga gd gl gn ha hau haw hr hrv ht hu hun id ig ibo is isl it ita jv kab kl la lb lg ln lt lit lv lav mg mi
Latin      ms mt nb nl nld nn no nob nso ny oc om pl pol pt por qu rm rn ro ron rw sk slk sl slv sm sn so sq sqi st su
Latin      sv swe sw swa swh tk tl tn to tr tum tur tw uz vi vie vo wa war wo wol xh xho yo yor zu zul spa ces cat glg
Latin      ts ss ve
Greek      el ell grc
Cyrillic   ab av ba be bel bg bul ce cv kk kaz ky kir mk mkd mn mon os ru rus sah tg tt udm uk ukr
Cyrillic+Latin sr srp sh
Armenian   hy hye
Hebrew     he heb yi iw
Arabic     ar ara arz ckb fa fas pes ps pus sd snd ug uig ur urd
Syriac     syr
Thaana     dv div
Nko        nqo
Devanagari bho hi hin mai mar mr ne nep new sa san kok gom
Bengali    as asm bn ben
Gurmukhi   pa pan
Gujarati   gu guj
Oriya      or ori ory
Tamil      ta tam
Telugu     te tel
Kannada    kn kan tcy
Malayalam  ml mal
Sinhala    si sin
Thai       th tha
Lao        lo lao
Tibetan    bo bod dz dzo
Myanmar    my mya
Georgian   ka kat
Hangul     ko kor
Ethiopic   am amh ti tir
Cherokee   chr
Canadian   iu iku cr
Khmer      km khm
Ol_Chiki   sat
Tifinagh   zgh ber
Hiragana+Katakana+Han ja jpn
Han        zh zho cmn yue
Yi         ii
Meetei     mni
"""
SCRIPTS = tuple(dict.fromkeys(re.findall(r"^(\w+)", _RANGES, re.MULTILINE)))
"""Names of the scripts that are told apart; `script_table` holds their positions from 1."""


def scripts_of(language: str) -> tuple[str, ...]:
    """The scripts in which a language is written, such as ("Kannada",) for kn; () for a code that is not known."""
    code, *subtags = fold(language).split("-")
    for subtag in subtags:
        if subtag in SCRIPT_SUBTAGS:
            return (SCRIPT_SUBTAGS[subtag],)
    for line in _LANGUAGES.strip().splitlines():
        names, *codes = line.split()
        if code in codes:
            return tuple(names.split("+"))
    return ()


@cache
def categories() -> NDArray[np.str_]:
    """The general category of each code point ("Lu", "Nd"); unassigned planes are "Cn"."""
    table = np.full(NUM_CODES, "Cn", dtype="<U2")
    table[:0x20000] = [unicodedata.category(chr(code)) for code in range(0x20000)]
    table[0x20000:0x323B0] = "Lo"  # ideographs
    table[0xE0000:0xE0080] = "Cf"  # tags, of which flags are made
    table[0xE0100:0xE01F0] = "Mn"  # variation selectors
    table[0xF0000:] = "Co"
    return table


@cache
def script_table() -> NDArray[np.uint8]:
    """The script of each letter and of the marks that only one script uses: a position in `SCRIPTS` + 1."""
    kinds = categories().astype("<U1")
    letter = (kinds == "L") | (kinds == "M")
    table = np.where(letter, OTHER, NO_SCRIPT).astype(np.uint8)
    for line in _RANGES.strip().splitlines():
        name, *parts = line.split()
        number = SCRIPTS.index(name) + 1
        for part in parts:
            first, _, last = part.partition("-")
            span = slice(int(first, 16), int(last or first, 16) + 1)
            table[span][letter[span]] = number
    for first_mark, after in ((0x300, 0x370), (0x1AB0, 0x1B00), (0x1DC0, 0x1E00), (0x20D0, 0x2100), (0xFE00, 0xFE30)):
        table[first_mark:after] = NO_SCRIPT  # combining marks of any script, and variation selectors
    table[0xE0100:0xE01F0] = NO_SCRIPT
    for modifier in (*range(0x2B0, 0x300), 0x0964, 0x0965, 0x30FC, 0xFF70):  # shared by several scripts
        table[modifier] = NO_SCRIPT
    return table


@cache
def letters_of(scripts: tuple[str, ...]) -> NDArray[np.bool_]:
    """Letters of any of these scripts."""
    return np.isin(script_table(), [SCRIPTS.index(name) + 1 for name in scripts])


@cache
def letters() -> NDArray[np.bool_]:
    """Letters (and their marks) of any script."""
    return np.asarray(script_table() != NO_SCRIPT)


@cache
def digits() -> NDArray[np.bool_]:
    """Decimal digits of any script."""
    return np.asarray(categories() == "Nd")


@cache
def punctuation() -> NDArray[np.bool_]:
    """Punctuation marks and symbols."""
    kinds = categories().astype("<U1")
    return np.asarray((kinds == "P") | (kinds == "S"))


@cache
def blanks() -> NDArray[np.bool_]:
    """Spaces of any kind, and tabs."""
    return np.asarray(_table([*range(0x09, 0x0E), 0x85]) | (categories().astype("<U1") == "Z"))


_INVISIBLE = [0xAD, 0x34F, 0x115F, 0x1160, 0x180E, 0x200B, 0x200E, 0x200F, 0x61C, *range(0x202A, 0x202F),
              *range(0x2060, 0x2070), 0x3164, 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC)]  # fmt: skip
_DIRECTION_MARKS = [0x200E, 0x200F, 0x61C]
RIGHT_TO_LEFT = {"Hebrew", "Arabic", "Syriac", "Thaana", "Nko", "Adlam"}


@cache
def strange(scripts: tuple[str, ...] = ()) -> NDArray[np.bool_]:
    """Control, private and invisible characters: soft hyphens, marks of byte order and of direction, empty spaces.

    Zero-width joiners and non-joiners are left alone: words of Kannada or Persian need them, and emoji too. Marks of
    direction belong to text of `scripts` that are written from the right.
    """
    table: NDArray[np.bool_] = (categories() == "Cc") | (categories() == "Co") | _table(_INVISIBLE)
    table &= ~_table([0x09])
    if RIGHT_TO_LEFT & set(scripts):
        table &= ~_table(_DIRECTION_MARKS)
    return table


def _table(codes: Iterable[int]) -> NDArray[np.bool_]:
    table = np.zeros(NUM_CODES, dtype=bool)
    table[list(codes)] = True
    return table


# The 32 characters that Windows-1252 puts where Latin-1 has controls, by their byte.
_WINDOWS = {bytes([byte]).decode("cp1252", "replace"): byte for byte in range(0x80, 0xA0)}
_WINDOWS.pop("\ufffd")
_BYTES = {ord(character): byte for character, byte in _WINDOWS.items()}
_CONTINUATION = "\u0080-\u00bf" + "".join(_WINDOWS)
MOJIBAKE_HINT = f"\ufffd|[\u00c2-\u00f4][{_CONTINUATION}]"
"""A regular expression that every text with mojibake matches, and few others."""
_RUN = re.compile(f"[\u0080-\u00ff{''.join(_WINDOWS)}]{{2,}}")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_CLOSING = frozenset("\u00bb\u201d\u2019\u2026\u2013\u2014")


def has_mojibake(text: str) -> bool:
    """Whether UTF-8 was once read as Windows-1252 ("cafÃ©", "itâ€™s"), or characters were lost (U+FFFD).

    A run of non-ASCII characters counts when their bytes in Windows-1252 are valid UTF-8: true text hardly ever is.
    In a long run some bytes may be lost.
    """
    if "\ufffd" in text:
        return True
    for match in _RUN.finditer(text):
        run = match.group()
        if len(run) == 2 and run[1] in _CLOSING and not text[match.end() : match.end() + 1].isalpha():
            continue  # a capital at the end of a quotation, as in “IRMÔ
        data = bytes(_BYTES.get(ord(character), ord(character)) for character in run.rstrip("\u00a0"))
        sequences = _UTF8.findall(data)
        covered = sum(map(len, sequences))
        if sequences and (covered == len(data) or (len(sequences) > 1 and covered > len(data) / 2)):
            return True
    return False
