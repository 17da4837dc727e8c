"""Rules that look at the text of a pair, each a function from a batch to the pairs that it would leave out.

Which limit a rule takes comes from the filters of the configuration; `text_rules` makes those that are on. What each
rule is for, and whose practice it follows, stands in docs/cleaning.md.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow.compute as pc

from translator import markup
from translator.corpus import characters
from translator.corpus.language import wrong_language
from translator.corpus.sides import Mask, Side, Sides


class TextFilters(Protocol):
    """The settings of the rules; `config.corpus.filters` has these fields."""

    @property
    def min_characters(self) -> int: ...
    @property
    def max_characters(self) -> int: ...
    @property
    def max_character_ratio(self) -> float | None: ...
    @property
    def drop_identical(self) -> bool: ...
    @property
    def drop_mojibake(self) -> bool: ...
    @property
    def drop_invisible(self) -> bool: ...
    @property
    def min_script(self) -> float | None: ...
    @property
    def source_scripts(self) -> tuple[str, ...] | None: ...
    @property
    def target_scripts(self) -> tuple[str, ...] | None: ...
    @property
    def max_digits(self) -> float | None: ...
    @property
    def max_punctuation(self) -> float | None: ...
    @property
    def max_urls(self) -> float | None: ...
    @property
    def max_repeated_characters(self) -> int | None: ...
    @property
    def max_repeated_words(self) -> int | None: ...
    @property
    def min_shared_numbers(self) -> float | None: ...
    @property
    def match_placeholders(self) -> bool: ...
    @property
    def min_language(self) -> float | None: ...


@dataclass(frozen=True)
class Rule:
    """A setting that is on: its key, what it says of a pair that it leaves out, and the question itself."""

    key: str
    reason: str
    drops: Callable[[Sides], Mask]


def text_rules(filters: TextFilters, languages: tuple[str, str]) -> list[Rule]:
    """The rules that are on, cheap ones first: a pair counts for the first rule that leaves it out."""
    f, rules = filters, [Rule("max_characters", f"over {filters.max_characters:,} characters",
                              lambda sides: too_long(sides, filters.max_characters))]  # fmt: skip

    def add(key: str, reason: str, drops: Callable[[Sides], Mask]) -> None:
        if getattr(filters, key) not in (None, False):
            rules.append(Rule(key, reason, drops))

    if filters.min_characters > 1:
        least = filters.min_characters
        add("min_characters", f"under {least} characters", lambda sides: too_short(sides, least))
    add("drop_identical", "both sides are the same", identical)
    add("drop_mojibake", "mojibake (a wrong encoding)", mojibake)
    scripts = [own or characters.scripts_of(language) for own, language
               in zip((f.source_scripts, f.target_scripts), languages, strict=True)]  # fmt: skip
    add("drop_invisible", "control or invisible characters", lambda sides: invisible(sides, scripts[0], scripts[1]))
    if (ratio := f.max_character_ratio) is not None:
        add("max_character_ratio", f"character ratio above {ratio:g}", lambda sides: uneven(sides, ratio))
    if (share := f.min_script) is not None:
        expected = [tuple(names) for names in scripts]
        add("min_script", f"under {share:.0%} of the letters in the script of the language",
            lambda sides: wrong_script(sides, expected[0], expected[1], share))  # fmt: skip
    if (most_digits := f.max_digits) is not None:
        add("max_digits", f"over {most_digits:.0%} digits",
            lambda sides: too_many(sides, characters.digits(), most_digits))  # fmt: skip
    if (most_marks := f.max_punctuation) is not None:
        add("max_punctuation", f"over {most_marks:.0%} punctuation",
            lambda sides: too_many(sides, characters.punctuation(), most_marks))  # fmt: skip
    if (most_urls := f.max_urls) is not None:
        add("max_urls", f"over {most_urls:.0%} in URLs", lambda sides: too_many_urls(sides, most_urls))
    if (run := f.max_repeated_characters) is not None:
        add("max_repeated_characters", f"a character over {run} times in a row",
            lambda sides: repeated_characters(sides, run))  # fmt: skip
    if (words := f.max_repeated_words) is not None:
        add("max_repeated_words", f"a word over {words} times in a row", lambda sides: repeated_words(sides, words))
    if (shared := f.min_shared_numbers) is not None:
        add("min_shared_numbers", f"under {shared:.0%} of the numbers are on both sides",
            lambda sides: mismatched_numbers(sides, shared))  # fmt: skip
    add("match_placeholders", "placeholders or tags differ", mismatched_placeholders)
    if (sure := f.min_language) is not None:
        add("min_language", "another language", lambda sides: wrong_language(sides, languages, sure))
    return rules


def too_short(sides: Sides, least: int) -> Mask:
    """Either side has fewer than `least` characters."""
    return sides.either(lambda side: side.lengths < least)


def too_long(sides: Sides, most: int) -> Mask:
    """Either side has more characters (code points) than `most`."""
    return sides.either(lambda side: side.lengths > most)


def uneven(sides: Sides, most: float) -> Mask:
    """One side has more than `most` characters for each of the other, beyond the first ten of either."""
    longer = np.maximum(sides.source.lengths, sides.target.lengths)
    return np.asarray(longer > most * np.minimum(sides.source.lengths, sides.target.lengths)) & (longer > 10)


def identical(sides: Sides) -> Mask:
    """Both sides are the same text, case aside, and there is a letter in it."""
    lower = [pc.utf8_lower(side.texts) for side in (sides.source, sides.target)]
    same = np.asarray(pc.equal(*lower).to_numpy(zero_copy_only=False))
    return np.asarray(same & (sides.source.count(characters.letters()) > 0))


def mojibake(sides: Sides) -> Mask:
    """Either side was once read in a wrong encoding."""
    return sides.either(lambda side: side.where(side.matches(characters.MOJIBAKE_HINT), characters.has_mojibake))


def invisible(sides: Sides, source_scripts: tuple[str, ...] = (), target_scripts: tuple[str, ...] = ()) -> Mask:
    """Either side holds control or invisible characters that its scripts do not need."""
    found = sides.source.count(characters.strange(tuple(source_scripts))) > 0
    return np.asarray(found | (sides.target.count(characters.strange(tuple(target_scripts))) > 0))


def wrong_script(sides: Sides, source: tuple[str, ...], target: tuple[str, ...], least: float) -> Mask:
    """Less than the share `least` of the letters of a side are of its scripts; unknown scripts are not asked for."""

    def holds(side: Side, scripts: tuple[str, ...]) -> Mask:
        if not scripts:
            return np.zeros(len(sides), dtype=bool)
        return np.asarray(side.count(characters.letters_of(scripts)) < least * side.count(characters.letters()))

    return holds(sides.source, source) | holds(sides.target, target)


def too_many(sides: Sides, table: Mask, most: float) -> Mask:
    """More than the share `most` of the characters of a side, blanks aside, are in `table`."""
    return sides.either(
        lambda side: side.count(table) > most * np.maximum(side.lengths - side.count(characters.blanks()), 1)
    )


_URL = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+|\S+\.(?:com|org|net|html?|php)\b\S*")


def too_many_urls(sides: Sides, most: float) -> Mask:
    """More than the share `most` of the characters of a side are of web or mail addresses."""

    def holds(text: str) -> bool:
        return sum(len(match.group()) for match in _URL.finditer(text)) > most * len(text)

    hint = r"://|www\.|@|\.(com|org|net|html?|php)\b"
    return sides.either(lambda side: side.where(side.matches(hint), holds))


def repeated_characters(sides: Sides, most: int) -> Mask:
    """A character, blanks and digits aside, stands more than `most` times in a row."""

    def holds(side: Side) -> Mask:
        mask = np.zeros(len(side.lengths), dtype=bool)
        first = np.ones(len(side.codes), dtype=bool)
        first[1:] = side.codes[1:] != side.codes[:-1]
        first[side.starts[side.lengths > 0]] = True
        runs = np.flatnonzero(first)
        long = runs[np.diff(runs, append=len(first)) > most]
        long = long[~(characters.blanks() | characters.digits())[side.codes[long]]]
        mask[np.searchsorted(side.starts, long, side="right") - 1] = True
        return mask

    return sides.either(holds)


def repeated_words(sides: Sides, most: int) -> Mask:
    """A word stands more than `most` times in a row, whatever its case."""

    def holds(text: str) -> bool:
        words = text.casefold().split()
        if len(words) - len(set(words)) < most:
            return False
        times = 1
        for before, word in pairwise(words):
            times = times + 1 if word == before and word[0].isalpha() else 1
            if times > most:
                return True
        return False

    return sides.either(lambda side: side.where(side.count(characters.blanks()) >= most, holds))


_NUMBER = re.compile(r"\d+(?:[.,'’٫٬\u00a0\u202f]\d+)*")


def numbers(text: str) -> tuple[Counter[str], Counter[str]]:
    """The numbers of a text in ASCII digits: without the marks that group them, and cut at these marks."""
    found = [
        "".join(str(unicodedata.decimal(c)) if c.isdecimal() else " " for c in number)
        for number in _NUMBER.findall(text)
    ]
    whole = Counter(number.replace(" ", "").lstrip("0") or "0" for number in found)
    return whole, Counter(part.lstrip("0") or "0" for number in found for part in number.split())


def mismatched_numbers(sides: Sides, least: float) -> Mask:
    """Less than the share `least` of the numbers of both sides have a partner on the other side.

    1,234.5 is 1.234,5 and 1 234,5; digits of any script are equal.
    """

    def holds(source: str, target: str) -> bool:
        shares = []
        for one, other in zip(numbers(source), numbers(target), strict=True):
            total = one.total() + other.total()
            shares.append(2 * (one & other).total() / total if total else 1.0)
        return max(shares) < least

    candidates = sides.either(lambda side: side.count(characters.digits()) > 0)
    return sides.both_where(candidates, holds)


def placeholders(text: str) -> Counter[str]:
    """The inline codes of a text (accelerators aside): tags by their names, %1$d as %d, numbered ones as they are."""
    return Counter(
        re.sub(r"^(</?[\w:.-]+|<!--).*", r"\1>", re.sub(r"^%\d+\$", "%", code), flags=re.DOTALL)
        for code in markup.codes_of(text)
    )


def mismatched_placeholders(sides: Sides) -> Mask:
    """Source and target do not hold the same inline codes.

    In numbered text an accelerator looks like any other code, so there one that a side lacks counts too.
    """
    candidates = sides.either(lambda side: side.matches(markup.CODE_HINT))
    return sides.both_where(candidates, lambda source, target: placeholders(source) != placeholders(target))
