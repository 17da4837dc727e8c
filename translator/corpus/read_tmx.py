"""Translation memories in TMX, version 1.1 to 1.4b (LISA OSCAR 2005)."""

from collections.abc import Iterator
from typing import Any

from translator.corpus.languages import best
from translator.corpus.packing import File
from translator.corpus.read_tables import ReadOptions, Row, Unusable
from translator.corpus.read_xml import XML_LANGUAGE, child, local_name, sentence, units


def read_tmx(file: File, options: ReadOptions) -> Iterator[Row]:
    """The pair of each unit (`tu`) that has a variant in both languages; the line is that of its start tag.

    A memory can hold many languages, in any order and either direction. Of several variants that fit a language
    (en-US and en-GB for en), the exact one is taken, then that of the header's `srclang`, then the first.
    """
    preferred = ""
    for unit in units(file, "tmx", ("tu", "header")):
        if local_name(unit) == "header":
            preferred = unit.get("srclang", "")
            continue
        variants = [element for element in unit if local_name(element) == "tuv"]
        codes = [_language(variant) for variant in variants]
        numbers = [best(language, codes, preferred) for language in options.languages]
        absent = [language for language, number in zip(options.languages, numbers, strict=True) if number is None]
        if absent:
            yield unit.sourceline, Unusable(f"no variant in {' nor in '.join(absent)}"), None
            continue
        segments = [child(variants[number], "seg") for number in numbers if number is not None]
        source, target = (None if segment is None else sentence(file, segment) for segment in segments)
        yield unit.sourceline, source, target


def _language(variant: Any) -> str:
    return str(variant.get(XML_LANGUAGE) or variant.get("lang") or "")
