"""Files of translators in XLIFF 1.0 to 1.2 and 2.0 to 2.1 (OASIS)."""

from collections.abc import Iterator
from typing import Any

from translator.corpus.languages import likeness
from translator.corpus.packing import File
from translator.corpus.read_tables import ReadOptions, Row, Unusable
from translator.corpus.read_xml import XML_LANGUAGE, child, local_name, sentence, units

UNTRANSLATED_STATES = frozenset({"new", "needs-translation", "initial"})
"""Of targets that nobody has translated: tools put a copy of the source there."""


def read_xliff(file: File, options: ReadOptions) -> Iterator[Row]:
    """The pair of each segment that is translated; the line is that of its unit.

    A document from the target to the source language is read the other way round; one in other languages gives
    rows that say so. With `options.states`, only targets in one of these states are taken.
    """
    for unit in units(file, "xliff", ("trans-unit", "unit")):
        reverse, reason = _direction(unit, options.languages)
        if not reason and not _is_to_translate(unit):
            reason = "marked as not to be translated"
        if reason:
            yield unit.sourceline, Unusable(reason), None
            continue
        segments = _segments_of_2(file, unit) if local_name(unit) == "unit" else _segments_of_1(file, unit)
        for state, source, target in segments:
            if target is None:
                yield unit.sourceline, Unusable("not translated: it has no target"), None
            elif not _is_taken(state, options.states):
                yield unit.sourceline, Unusable(f"its state is {state or 'not given'}"), None
            else:
                yield unit.sourceline, *((target, source) if reverse else (source, target))


Segment = tuple[str, object, object]
"""State ("" where none is given), source, target (None where there is none)."""


def _is_taken(state: str, states: tuple[str, ...] | None) -> bool:
    return state not in UNTRANSLATED_STATES if states is None else state in states


def _is_to_translate(unit: Any) -> bool:
    """What the unit says, or the nearest element around it (a group, in XLIFF 2 a file too) that says it."""
    said = (element.get("translate") for element in (unit, *unit.iterancestors()))
    return next((word for word in said if word), "yes") != "no"


def _direction(unit: Any, languages: tuple[str, str]) -> tuple[bool, str]:
    """Whether the document goes from the target to the source language, and why it cannot be used, if so."""
    found = ["", ""]
    for element in unit.iterancestors("{*}file", "{*}xliff"):
        for side, names in enumerate((("source-language", "srcLang"), ("target-language", "trgLang"))):
            found[side] = found[side] or next((element.get(name) for name in names if element.get(name)), "")
    if not found[1] and (target := child(unit, "target")) is not None:
        found[1] = target.get(XML_LANGUAGE, "")
    for reverse in (False, True):
        wanted = languages[::-1] if reverse else languages
        # A document may leave its target language open.
        if all(not code or likeness(want, code) is not None for want, code in zip(wanted, found, strict=True)):
            return reverse, ""
    return False, f"the document is from {found[0] or 'no language'} to {found[1] or 'no language'}"


def _segments_of_1(file: File, unit: Any) -> Iterator[Segment]:
    """The one pair of a trans-unit, or those of its marked segments where both sides have the same marks."""
    source, target = child(unit, "source"), child(unit, "target")
    if target is None:
        yield "", None, None
        return
    state = target.get("state") or ""
    sources, targets = _marked(child(unit, "seg-source")), _marked(target)
    if sources and sources.keys() == targets.keys():
        for mark, element in sources.items():
            yield state, sentence(file, element), sentence(file, targets[mark])
        return
    yield state, None if source is None else sentence(file, source), sentence(file, target)


def _marked(element: Any) -> dict[str, Any]:
    if element is None:
        return {}
    return {one.get("mid", ""): one for one in element.iter("{*}mrk") if one.get("mtype") == "seg"}


def _segments_of_2(file: File, unit: Any) -> Iterator[Segment]:
    original = child(unit, "originalData")
    data = {} if original is None else {one.get("id", ""): "".join(one.itertext()) for one in original}
    for segment in unit:
        if local_name(segment) != "segment":
            continue
        source, target = child(segment, "source"), child(segment, "target")
        if target is None:
            yield "", None, None
        else:
            texts = [None if one is None else sentence(file, one, data) for one in (source, target)]
            yield segment.get("state") or "", *texts  # type: ignore[misc]
