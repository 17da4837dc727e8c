"""Catalogs of programs in the PO and MO form of GNU gettext: `msgid` is the source, `msgstr` its translation."""

import gettext
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from translator.corpus.languages import likeness
from translator.corpus.packing import File, whole
from translator.corpus.read_tables import ReadOptions, Row, Unusable
from translator.errors import CorpusError, missing_extra

ENGLISH = ("en", "eng")
"""Codes of the language that msgids are in."""


def read_po(file: File, options: ReadOptions) -> Iterator[Row]:
    """Pairs of a PO file; the line is that of the entry. Fuzzy and obsolete entries are out unless asked for."""
    entries = _parse(file, "pofile")
    yield from _rows(entries, options, [entry.linenum for entry in entries])


def read_mo(file: File, options: ReadOptions) -> Iterator[Row]:
    """Pairs of an MO file, which holds translated entries only; in place of a line stands the entry's number."""
    entries = _parse(file, "mofile")
    yield from _rows(entries, options, list(range(1, len(entries) + 1)))


def _parse(file: File, function: str) -> Any:
    try:
        import polib
    except ImportError:
        raise missing_extra("PO and MO", "polib", "formats") from None
    try:
        with whole(file) as path:
            return getattr(polib, function)(str(path))
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{file} is not in the encoding that its header names ({error.encoding}): {error.reason}; "
            "mend charset in its header, or save it as UTF-8"
        ) from None
    except (OSError, struct.error, ValueError, IndexError, AttributeError, OverflowError) as error:  # as polib has them
        line = re.search(r"\(line (\d+)\)", str(error))
        place = f"{file}, line {line[1]}" if line else str(file)
        reason = str(error).rpartition(": ")[2] if line else f"{type(error).__name__}: it is damaged or cut short"
        raise CorpusError(f"{place}: broken gettext catalog ({reason})") from None


def _rows(entries: Any, options: ReadOptions, lines: list[int]) -> Iterator[Row]:
    language = entries.metadata.get("Language", "")
    reverse = False
    if language.strip() and likeness(options.languages[1], language) is None:
        # The other way round the msgids are targets, and they are English: en_GB.po holds no pair for en-de.
        is_english = any(likeness(code, options.languages[1]) is not None for code in ENGLISH)
        reverse = is_english and likeness(options.languages[0], language) is not None
        if not reverse:
            yield 1, Unusable(f"the file is in {language.strip()}, says its header"), None
            return
    singular = _form_of_one(entries.metadata.get("Plural-Forms", ""))
    for line, entry in zip(lines, entries, strict=True):
        if entry.obsolete and not options.obsolete:
            yield line, Unusable("obsolete entry"), None
        elif "fuzzy" in entry.flags and not options.fuzzy:
            yield line, Unusable("fuzzy entry"), None
        else:
            for source, target in _forms(entry, singular):
                yield line, *((target, source) if reverse else (source, target))


def _forms(entry: Any, singular: int | None) -> Iterator[tuple[str, str]]:
    """The pairs of an entry: one, or one for each plural form.

    The form for one thing translates msgid and all others msgid_plural; so does the only form of a language that has
    no plural.
    """
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    forms = sorted(entry.msgstr_plural.items())
    for number, text in forms:
        is_singular = len(forms) > 1 and int(number) == (0 if singular is None else singular)
        yield entry.msgid if is_singular else entry.msgid_plural, text


def _form_of_one(plural_forms: str) -> int | None:
    """The number of the form for one thing, by the header's formula (0 in most languages, not in Slovenian)."""
    formula = re.search(r"plural\s*=\s*([^;\n]{1,500})", plural_forms)
    if not formula:
        return None
    compile_formula: Callable[[str], Callable[[int], int]] = gettext.c2py
    try:
        return compile_formula(formula[1])(1)
    except (ValueError, RecursionError, ZeroDivisionError, OverflowError):
        return None
