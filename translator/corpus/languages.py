"""Codes of languages as files write them: in any case, with `-` or `_`, with or without a region."""

import re
from collections.abc import Sequence
from functools import lru_cache

SCRIPT_SUBTAGS = {"latn": "Latin", "cyrl": "Cyrillic", "arab": "Arabic", "deva": "Devanagari", "grek": "Greek",
                  "hebr": "Hebrew", "hans": "Han", "hant": "Han", "beng": "Bengali", "guru": "Gurmukhi",
                  "tfng": "Tifinagh", "ethi": "Ethiopic", "mong": "Mongolian"}  # fmt: skip
"""Script subtags of codes (ISO 15924), such as sr-Latn; two of the Chinese ones mean the same script here."""

_CODE = re.compile(rf"[a-z]{{2,3}}(?:-(?:{'|'.join(SCRIPT_SUBTAGS)}))?(?:-(?:[a-z]{{2}}|\d{{3}}))?")


def fold_name(name: str) -> str:
    """One spelling for names of columns and files: lower case, with `-` for `_`."""
    return name.casefold().replace("_", "-")


@lru_cache(maxsize=1024)
def fold(code: str) -> str:
    """One spelling for codes that mean the same: `en_US` and `EN-us` become `en-us`, `de_DE.UTF-8` `de-de`."""
    return fold_name(code.strip().partition(".")[0]).replace("@", "-")


@lru_cache(maxsize=1024)
def likeness(wanted: str, found: str) -> int | None:
    """How well a code in a file fits the one that is wanted: 0 the same, 1 more special, 2 more general; None: another.

    `en` is found in files as EN-US, and `pt-BR` in files that only say pt; en-GB is not en-US.
    """
    one, other = fold(wanted), fold(found)
    if one == other:
        return 0
    if other.startswith(f"{one}-"):
        return 1
    return 2 if other and one.startswith(f"{other}-") else None


def likeness_of_name(wanted: str, name: str) -> int | None:
    """`likeness` of a name that need not be a code: en-US and zh_Hans may be one, en-url and en.text are not."""
    word = fold_name(name.strip())
    return likeness(wanted, word) if _CODE.fullmatch(word) or word == fold(wanted) else None


def best(wanted: str, found: Sequence[str], preferred: str = "") -> int | None:
    """The number of the code in `found` that fits best; among equals `preferred`, then the first. None: none fits."""
    ranked = [
        (rank, fold(code) != fold(preferred), number)
        for number, code in enumerate(found)
        if (rank := likeness(wanted, code)) is not None
    ]
    return min(ranked)[-1] if ranked else None
