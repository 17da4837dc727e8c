"""English word forms: plurals, verb forms, articles, auxiliaries."""

import re

_VOWEL_SOUND = re.compile(r"^(a|e(?!u)|i|o(?!ne)|u(?!ni|se)|hour|honest)", re.IGNORECASE)
_DOUBLING = frozenset(("cut get put run shut sit stop swim begin forget plan travel wrap prefer hit win").split())  # noqa: SIM905


def article(word: str) -> str:
    """ "a" or "an" in front of `word`."""
    return "an" if _VOWEL_SOUND.match(word) else "a"


def plural(noun: str) -> str:
    """The regular plural."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _head(verb: str) -> tuple[str, str]:
    head, _, particle = verb.partition(" ")
    return head, f" {particle}" if particle else ""


def third_person(verb: str) -> str:
    """The third person singular of the present: "turns on", "goes"."""
    head, particle = _head(verb)
    irregular = {"have": "has", "be": "is", "do": "does", "go": "goes"}
    return irregular.get(head, plural(head)) + particle


def past(verb: str) -> str:
    """The regular past and participle."""
    head, particle = _head(verb)
    if head.endswith("e"):
        return head + "d" + particle
    if head.endswith("y") and head[-2] not in "aeiou":
        return head[:-1] + "ied" + particle
    return head + (head[-1] if head in _DOUBLING else "") + "ed" + particle


def ing(verb: str) -> str:
    """The present participle."""
    head, particle = _head(verb)
    if head.endswith("ie"):
        return head[:-2] + "ying" + particle
    if head.endswith("e") and not head.endswith("ee") and head != "be":
        return head[:-1] + "ing" + particle
    return head + (head[-1] if head in _DOUBLING else "") + "ing" + particle


BE = ("am", "are", "is", "are", "are", "are")
WAS = ("was", "were", "was", "were", "were", "were")
PRONOUNS = ("I", "you", "he", "we", "you", "they")
_UNITS = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number(value: int) -> str:
    """A number from 0 to 9999 in words."""
    if value < 20:
        return _UNITS[value]
    if value < 100:
        return _TENS[value // 10] + (f"-{_UNITS[value % 10]}" if value % 10 else "")
    big, name = (1000, "thousand") if value >= 1000 else (100, "hundred")
    rest = value % big
    linking = " " if rest >= 100 else " and "
    return f"{number(value // big)} {name}" + (linking + number(rest) if rest else "")


def ordinal_digits(day: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st ..."""
    suffix = "th" if 10 <= day % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def clock(hour: int, minute: int) -> str:
    """A clock time: "half past seven", "a quarter to one", "seven o'clock", "ten past nine"."""
    if minute == 0:
        return f"{number(hour)} o'clock"
    if minute == 45:
        return f"a quarter to {number(hour % 12 + 1)}"
    spoken = {15: "a quarter", 30: "half"}.get(minute, number(minute))
    return f"{spoken} past {number(hour)}"
