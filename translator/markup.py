"""Inline codes of a sentence: kept as they are, turned into numbered placeholders, or removed.

Codes are tags (`<b>`, `</a>`), placeholders (`%s`, `%1$d`, `%(name)s`, `%1`, `{0}`, `{name}`, `${name}`), entities
(`&amp;`), accelerators (`_File`, `&File`, `~File`), and whatever the format of a file marks as code.

A numbered placeholder is one character, `FIRST` and those after it: number 1 is U+2E00. These are editorial marks
that no modern text uses, and punctuation, so that every kind of tokenizer cuts them off as one token of their own.
Equal codes of a sentence have equal numbers, on both sides; numbers follow the order of the source. A text that
holds such a character already has it numbered like a code, so `unmask` undoes `mask` on any text.
"""

import html
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

FIRST, LAST = 0x2E00, 0x2E2E
NUM_PLACEHOLDERS = LAST - FIRST + 1
"""A sentence with more different codes keeps the later ones as they are."""

MODES = ("keep", "number", "remove")


@dataclass(frozen=True)
class Code:
    """A stretch of a sentence that its format marks as code, as it stands in the document."""

    text: str


Sentence = str | tuple[str | Code, ...]
"""Text, or text and codes in order where the format tells them apart."""

_OWN = f"[{chr(FIRST)}-{chr(LAST)}]"
_NOT_OWN = f"{chr(FIRST)}-{chr(LAST)}"
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CODES = re.compile(
    "|".join(
        (
            _OWN,
            rf"</?[A-Za-z][\w:.-]*(?:\s[^<>{_NOT_OWN}]*)?/?>",
            rf"<!--[^{_NOT_OWN}]*?-->",
            _ENTITY.pattern,
            r"%%",  # a percent sign: text, matched here so that `%%s` holds no `%s`
            # C, with the numbered and Python's named arguments; a space flag would make a code of "100% de"
            r"%(?:\d+\$|\([^()\s]{1,60}\))?[-+#0']*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh?|ll?|[qjztL])?[diouxXeEfFgGaAcspnm@]"
            r"(?![a-zA-Z])",
            r"%L?\d{1,2}(?![\d%])",  # Qt
            r"\$?\{\{?(?:\d+|[A-Za-z_][\w.\[\]-]{0,60})?(?:![rsa])?(?::[^{}\s]{0,30})?\}?\}",
        )
    )
)
# In "AT&T" and "MAX_VALUE" the mark stands between capitals, in "2_a" after a digit.
_ACCELERATOR = re.compile(r"(?<![A-Z0-9])[_&~](?=[^\W\d_])|(?<=[A-Z])[_&~](?=[a-z])")
_ACCELERATORS = frozenset("_&~")
_INK = string.ascii_letters + string.digits + string.punctuation

CODE_HINT = rf"[%{{<&{_NOT_OWN}]"
"""Every code but an accelerator has one of these characters, as a regular expression."""


def plain(sentence: Sentence) -> str:
    """The sentence with its codes as they stand in the document."""
    if isinstance(sentence, str):
        return sentence
    return "".join(piece.text if isinstance(piece, Code) else piece for piece in sentence)


def codes_of(text: str) -> list[str]:
    """The codes of a text, or the placeholders that stand for them, in order; accelerators are left out."""
    return [match[0] for match in _CODES.finditer(text) if match[0] != "%%"]


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with placeholders for its codes, and the codes: the first is that of number 1."""
    pieces = _pieces(text)
    table = _table(_codes(pieces))
    return _numbered(pieces, table), tuple(table)


def unmask(text: str, table: Sequence[str]) -> str:
    """Put the codes of `table` in the place of their numbers. A number that the table lacks stands for nothing."""

    def restore(match: re.Match[str]) -> str:
        number = ord(match[0]) - FIRST
        return table[number] if number < len(table) else ""

    return re.sub(_OWN, restore, text)


def mask_pair(source: Sentence, target: Sentence) -> tuple[str, str]:
    """Both sides with placeholders. The source is as `mask` gives it; codes of the target alone come after its own."""
    sources, targets = _pieces(source), _pieces(target)
    table = _table(_codes(sources))
    for code in _codes(targets):
        if len(table) < NUM_PLACEHOLDERS:
            table.setdefault(code, len(table))
    return _numbered(sources, table), _numbered(targets, table)


def remove(source: Sentence, target: Sentence) -> tuple[str, str]:
    """Both sides without codes. Entities become their character; accelerators go where both sides have one.

    A mark inside a word or an address that stands on both sides (`my_page`, `?a=b&c=d`) is none.
    """
    sources, targets = _pieces(source), _pieces(target)
    accelerators = frozenset(
        mark
        for mark in _ACCELERATORS.intersection(_codes(sources)).intersection(_codes(targets))
        if not _is_in_name(mark, sources, plain(target)) and not _is_in_name(mark, targets, plain(source))
    )
    return _bare(sources, accelerators), _bare(targets, accelerators)


def apply(mode: str, source: Sentence, target: Sentence) -> tuple[str, str]:
    """A pair as one of `MODES` wants it. Raises ValueError for another mode."""
    if mode not in MODES:
        raise ValueError(f"markup {mode!r} is none of {', '.join(MODES)}")
    if mode == "number":
        return mask_pair(source, target)
    if mode == "remove":
        return remove(source, target)
    return plain(source), plain(target)


def _pieces(sentence: Sentence) -> list[str | Code]:
    pieces: list[str | Code] = []
    for part in (sentence,) if isinstance(sentence, str) else sentence:
        pieces += [part] if isinstance(part, Code) else _cut(part, _CODES.finditer(part))
    for mark in _ACCELERATORS:
        places = [i for i, piece in enumerate(pieces) if isinstance(piece, str) and mark in piece]
        if len(places) == 1:  # two marks are names such as my_long_name, not keys
            text = pieces[places[0]]
            assert isinstance(text, str)
            found = [match for match in _ACCELERATOR.finditer(text) if match[0] == mark]
            if len(found) == 1 and text.count(mark) == 1:
                pieces[places[0] : places[0] + 1] = _cut(text, found)
    return pieces


def _cut(text: str, matches: Iterable[re.Match[str]]) -> Iterator[str | Code]:
    end = 0
    for match in matches:
        if match[0] != "%%":
            yield text[end : match.start()]
            yield Code(match[0])
            end = match.end()
    yield text[end:]


def _codes(pieces: list[str | Code]) -> list[str]:
    return [piece.text for piece in pieces if isinstance(piece, Code)]


def _table(codes: list[str]) -> dict[str, int]:
    """Distinct codes -> their numbers from 0. When there are too many, the last go; placeholders in the text stay."""
    distinct = list(dict.fromkeys(codes))
    excess = len(distinct) - NUM_PLACEHOLDERS
    if excess > 0:
        late = [code for code in distinct if not re.fullmatch(_OWN, code)][-excess:]
        distinct = [code for code in distinct if code not in late]
    return {code: number for number, code in enumerate(distinct)}


def _numbered(pieces: list[str | Code], table: dict[str, int]) -> str:
    return "".join(
        piece if isinstance(piece, str) else chr(FIRST + table[piece.text]) if piece.text in table else piece.text
        for piece in pieces
    )


def _is_in_name(mark: str, pieces: list[str | Code], other: str) -> bool:
    """Whether a mark is inside a run of ASCII without blanks that `other` has too, punctuation at its ends aside."""
    padded = ["", *pieces, ""]
    place = padded.index(Code(mark))
    before, after = (one if isinstance(one, str) else "" for one in (padded[place - 1], padded[place + 1]))
    head = before[len(before.rstrip(_INK)) :].lstrip(string.punctuation)
    tail = after[: len(after) - len(after.lstrip(_INK))].rstrip(string.punctuation)
    return bool(head) and f"{head}{mark}{tail}" in other


def _bare(pieces: list[str | Code], accelerators: frozenset[str]) -> str:
    kept = []
    for piece in pieces:
        text = piece if isinstance(piece, str) else piece.text
        if isinstance(piece, Code) and _ENTITY.fullmatch(text):
            text = html.unescape(text)
        elif isinstance(piece, Code) and (text not in _ACCELERATORS or text in accelerators):
            text = ""
        kept.append(text)
    joined = "".join(kept)
    return re.sub(" {2,}", " ", joined).strip() if len(pieces) > 1 else joined
