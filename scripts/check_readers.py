"""Compare what the readers of corpora give with a second reading by Python's standard library, pair by pair.

    python -m scripts.check_readers my-data
    python -m scripts.check_readers my-data --source-language de

Every file below the folder whose format is known is read twice: by `translator.corpus.read_pairs`, and by one of
the readers here, which know the formats from their specifications alone: xml.etree (TMX, XLIFF), struct (MO), csv,
json, and lines. (PO, which the library has no parser for, is read by a small one.) The languages are those that the
file itself names: the one of `--source-language` and each other one. Printed are, of each file, its rows, the pairs,
and the rows without one by reason, as the program counts them; a file that differs in the number or the text of its
pairs is named with the first difference, and the exit code is 1.
"""

import argparse
import ast
import csv
import gettext
import gzip
import io
import json
import os
import re
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from translator.commands.tables import table

Pair = tuple[str | None, str | None]
"""A row as it stands in a file: None where a side is not there, or is not to be used."""

UNREADABLE = (ValueError, LookupError, SyntaxError, AttributeError, OSError, struct.error, csv.Error)
"""What the readers here raise for a damaged file, or for one of another kind."""

NOT_USED: Pair = (None, None)
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(frozen=True)
class Case:
    """A file (or two that belong together), its languages, and its rows by a second reading."""

    name: str
    format: str
    files: dict[str, str]
    languages: tuple[str, str]
    rows: list[Pair]
    fault: str = ""
    """Why there is no second reading."""


def cases(folder: Path, source_language: str) -> Iterator[Case]:
    """Everything below a folder that can be read twice."""
    paths = files_below(folder)
    for path in paths:
        ending = Path(path.name.removesuffix(".gz")).suffix
        if ending in READERS:
            form, read = READERS[ending]
            about = path.relative_to(folder).as_posix(), form, {"path": str(path)}
            try:
                for languages, rows in read(content(path), source_language):
                    yield Case(*about, languages, rows)
            except UNREADABLE as error:
                yield Case(*about, ("", ""), [], f"{type(error).__name__}, {error}")
    yield from text_cases(folder, paths, source_language)


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


Reading = Iterator[tuple[tuple[str, str], list[Pair]]]
"""For each pair of languages in a file, its rows."""


# Lines and tables


def text_cases(folder: Path, paths: Iterable[Path], source_language: str) -> Iterator[Case]:
    """Files with the same name but for a language at its end: train.en.gz and train.it.gz."""
    groups: dict[Path, dict[str, Path]] = {}
    for path in paths:
        stem, _, language = path.name.removesuffix(".gz").rpartition(".")
        if re.fullmatch("[a-z]{2,3}", language) and stem and f".{language}" not in READERS:
            groups.setdefault(path.parent / stem, {})[language] = path
    for base, files in groups.items():
        for source, target in directions(files, source_language):
            both = {"source": str(files[source]), "target": str(files[target])}
            about = f"{base.relative_to(folder).as_posix()}.*", "text", both, (source, target)
            try:
                sides = [lines(content(files[language])) for language in (source, target)]
                yield Case(*about, list(zip_longest(sides[0], sides[1])))
            except UNREADABLE as error:
                yield Case(*about, [], f"{type(error).__name__}, {error}")


def directions(languages: Iterable[str], source_language: str) -> list[tuple[str, str]]:
    """From the source language (or the first one there) to each other one."""
    there = list(languages)
    source = next((one for one in there if main_part(one) == source_language), there[0] if there else "")
    return [(source, other) for other in there if main_part(other) != main_part(source)]


def main_part(language: str) -> str:
    return re.split("[-_]", language.lower())[0]


def lines(data: bytes) -> list[str]:
    """Lines end with LF or CR LF; no other character ends one."""
    found = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    return found[:-1] if found[-1] == "" else found


def read_csv(data: bytes, source_language: str) -> Reading:
    """A table whose first row names the languages."""
    yield from columns(list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))), source_language)


def read_tsv(data: bytes, source_language: str) -> Reading:
    yield from columns([line.split("\t") for line in lines(data)], source_language)


def columns(rows: list[list[str]], source_language: str) -> Reading:
    header, *body = rows
    names = header if len(header) == 2 else [name for name in header if re.fullmatch("[a-z]{2,3}", name)]
    for source, target in directions(names, source_language):
        places = header.index(source), header.index(target)
        yield (
            (source, target),
            [(row[places[0]], row[places[1]]) if len(row) == len(header) else NOT_USED for row in body],
        )


def read_jsonl(data: bytes, source_language: str) -> Reading:
    """Objects with a text for each language, or with such an object under "translation"."""
    objects = [json.loads(line) if line.strip() else {} for line in lines(data)]
    texts = [one.get("translation", one) for one in objects]
    for source, target in directions(next(filter(None, texts), {}), source_language):
        yield (source, target), [(one.get(source), one.get(target)) for one in texts]


# TMX and XLIFF


def local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def children(element: Any, name: str) -> list[Any]:
    return [one for one in element if local(one) == name]


def descendants(element: Any, *names: str) -> list[Any]:
    return [one for one in element.iter() if local(one) in names]


def sentence(element: Any, data: dict[str, str] | None = None) -> str:
    """The text of a segment with its codes as they stand in the document; a folded line is one line."""
    pieces: list[tuple[bool, str]] = []  # whether it is a code

    def text(value: str | None) -> None:
        if value:
            pieces.append((False, re.sub(r"[ \t]*\n\s*", " ", value)))

    def code(element: Any, tag: str, end: str = "") -> None:
        stands_for = (data or {}).get(element.get(f"dataRef{end}", ""))
        pieces.append((True, stands_for or element.get(f"equiv{end}") or element.get("equiv-text") or tag))

    def walk(element: Any) -> None:
        text(element.text)
        for inner in element:
            name = local(inner)
            number = next((f' {key}="{inner.get(key)}"' for key in ("id", "x", "i") if inner.get(key)), "")
            if name in ("g", "pc"):
                code(inner, f"<{name}{number}>", "Start")
                walk(inner)
                code(inner, f"</{name}>", "End")
            elif name == "cp":
                pieces.append((True, chr(int(inner.get("hex"), 16))))
            elif name in ("bpt", "ept", "ph", "it", "ut") and (held := "".join(inner.itertext())):
                pieces.append((True, held))
            elif name in ("bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec"):
                code(inner, f"<{name}{number}/>")
            else:  # hi, mrk: only marked
                walk(inner)
            text(inner.tail)

    walk(element)
    if pieces and not pieces[0][0]:
        pieces[0] = (False, pieces[0][1].lstrip())
    if pieces and not pieces[-1][0]:
        pieces[-1] = (False, pieces[-1][1].rstrip())
    return "".join(piece for _, piece in pieces)


def read_tmx(data: bytes, source_language: str) -> Reading:
    """Of each unit the variants of two languages; every language of the file is paired with the source."""
    units = descendants(ElementTree.fromstring(data), "tu")
    variants = [
        {
            (one.get(XML_LANGUAGE) or one.get("lang") or "").lower(): children(one, "seg")[0]
            for one in reversed(children(unit, "tuv"))
        }
        for unit in units
    ]
    languages = dict.fromkeys(language for unit in variants for language in reversed(unit))
    for source, target in directions(languages, source_language):
        yield (
            (source, target),
            [
                (sentence(unit[source]), sentence(unit[target])) if source in unit and target in unit else NOT_USED
                for unit in variants
            ],
        )


def read_xliff(data: bytes, source_language: str) -> Reading:
    """The translated units of a document, in its own direction."""
    root = ElementTree.fromstring(data)
    file = descendants(root, "file")[0]
    source = root.get("srcLang") or file.get("source-language")
    target = root.get("trgLang") or file.get("target-language")
    rows: list[Pair] = []
    for unit in descendants(root, "trans-unit", "unit"):
        if unit.get("translate") == "no":
            rows.append(NOT_USED)
        elif local(unit) == "unit":
            originals = {one.get("id"): "".join(one.itertext()) for of in children(unit, "originalData") for one in of}
            rows += [xliff_pair(one, one.get("state"), originals) for one in children(unit, "segment")]
        else:
            rows += trans_unit(unit)
    yield (source, target or "und"), rows


def trans_unit(unit: Any) -> Iterator[Pair]:
    marked = [
        {one.get("mid"): one for one in descendants(side, "mrk") if one.get("mtype") == "seg"}
        for name in ("seg-source", "target")
        for side in children(unit, name)
    ]
    state = [one.get("state") for one in children(unit, "target")]
    if len(marked) == 2 and marked[0] and marked[0].keys() == marked[1].keys():
        for mark, element in marked[0].items():
            yield NOT_USED if untranslated(state[0]) else (sentence(element), sentence(marked[1][mark]))
    else:
        yield xliff_pair(unit, next(iter(state), None))


def xliff_pair(element: Any, state: str | None, originals: dict[str, str] | None = None) -> Pair:
    sides = [next(iter(children(element, name)), None) for name in ("source", "target")]
    if sides[0] is None or sides[1] is None or untranslated(state):
        return NOT_USED
    return sentence(sides[0], originals), sentence(sides[1], originals)


def untranslated(state: str | None) -> bool:
    return state in ("new", "needs-translation", "initial")


# Catalogs of gettext


@dataclass
class Entry:
    """An entry of a catalog: its texts, and whether it is used."""

    msgid: str = ""
    plural: str = ""
    forms: tuple[str, ...] = ()
    used: bool = True


def read_mo(data: bytes, source_language: str) -> Reading:
    """The table of a compiled catalog, as the manual of gettext draws it."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    number, originals, translations = struct.unpack_from(f"{order}3I", data, 8)

    def texts(start: int) -> Iterator[str]:
        for row in range(number):
            length, offset = struct.unpack_from(f"{order}2I", data, start + 8 * row)
            yield data[offset : offset + length].decode()

    entries = []
    for original, translation in zip(texts(originals), texts(translations), strict=True):
        msgid, _, plural = original.rpartition("\x04")[2].partition("\0")
        entries.append(Entry(msgid, plural, tuple(translation.split("\0"))))
    yield catalog(entries, source_language)


def read_po(data: bytes, source_language: str) -> Reading:
    """The entries of a catalog in text form, which blank lines part."""
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+", data.decode("utf-8-sig").replace("\r\n", "\n").strip("\n"))
    yield catalog([entry for block in blocks for entry in po_entry(block)], source_language)


def po_entry(block: str) -> Iterator[Entry]:
    """The entry in a block, if there is one and not only a remark."""
    obsolete = bool(re.search("^#~", block, re.MULTILINE))
    block = re.sub("^#~ ?(?!\\|)", "", block, flags=re.MULTILINE)
    texts: dict[str, str] = {}
    for keyword, strings in re.findall(r'^(msg\w+(?:\[\d+\])?)((?:\s*"(?:[^"\\]|\\.)*")+)', block, re.MULTILINE):
        texts[keyword] = "".join(ast.literal_eval(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', strings))
    if "msgid" in texts:
        fuzzy = re.search(r"^#,.*\bfuzzy\b", block, re.MULTILINE)
        forms = [text for keyword, text in sorted(texts.items()) if keyword.startswith("msgstr")]
        used = not obsolete and not (fuzzy and texts["msgid"])
        yield Entry(texts["msgid"], texts.get("msgid_plural", ""), tuple(forms), used)


def catalog(entries: list[Entry], source_language: str) -> tuple[tuple[str, str], list[Pair]]:
    """The rows of a catalog in the language that its header names; the header is no row."""
    headers = dict(
        line.split(": ", 1) for one in entries if not one.msgid for line in one.forms[0].splitlines() if ": " in line
    )
    formula = re.search(r"plural\s*=([^;]*)", headers.get("Plural-Forms", ""))
    to_form: Callable[[int], int] = gettext.c2py(formula[1]) if formula else int.__bool__
    rows: list[Pair] = []
    for one in entries:
        if not one.used:
            rows.append(NOT_USED)
        elif one.plural:
            singular = to_form(1) if len(one.forms) > 1 else None
            rows += [(one.msgid if form == singular else one.plural, text) for form, text in enumerate(one.forms)]
        elif one.msgid:
            rows.append((one.msgid, one.forms[0]))
    return (source_language, headers.get("Language", "und").strip()), rows


READERS: dict[str, tuple[str, Callable[[bytes, str], Reading]]] = {
    ".csv": ("csv", read_csv),
    ".tsv": ("tsv", read_tsv),
    ".json": ("jsonl", read_jsonl),
    ".jsonl": ("jsonl", read_jsonl),
    ".tmx": ("tmx", read_tmx),
    ".xlf": ("xliff", read_xliff),
    ".xliff": ("xliff", read_xliff),
    ".po": ("po", read_po),
    ".mo": ("mo", read_mo),
}
"""Endings of names -> the format, and what reads it a second time."""


# The comparison


def expected(rows: Iterable[Pair]) -> list[tuple[str, str]]:
    """The usable pairs: both sides hold text; a line break inside is a space."""
    return [
        (re.sub("\r\n|[\r\n]", " ", source), re.sub("\r\n|[\r\n]", " ", target))
        for source, target in rows
        if isinstance(source, str) and isinstance(target, str) and source.strip() and target.strip()
    ]


def difference(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> str:
    """The first pair in which two readings differ; "" where they are equal."""
    for number, (one, other) in enumerate(zip_longest(ours, theirs), start=1):
        if one != other:
            return f"pair {number} is {one}, and {other} by the second reading"
    return ""


def check(folder: Path, source_language: str) -> tuple[list[list[str]], list[str], list[str]]:
    """The table's rows, a sentence for each file whose readings differ, and the names of files that were not read."""
    from translator.corpus import read_pairs
    from translator.errors import CorpusError

    rows, faults = [], []
    left = {str(path): path for path in files_below(folder)}
    for case in cases(folder, source_language):
        for file in case.files.values():
            left.pop(file, None)
        if case.fault:
            faults.append(f"{case.name}: no second reading ({case.fault})")
            continue
        source, target = case.languages
        theirs = expected(case.rows)
        about = [case.format, case.name, f"{source} > {target}"]
        try:
            result = read_pairs(case.files, source_language=source, target_language=target)
        except CorpusError as error:
            if theirs:
                faults.append(f"{case.name}: {error}, and {len(theirs):,} pairs by the second reading")
            rows.append([*about, f"{len(case.rows):,}", "0", f"{len(theirs):,}", str(error)])
            continue
        ours = list(zip(result.dataset["source"], result.dataset["target"], strict=True))
        if found := difference(ours, theirs):
            faults.append(f"{case.name}: {found}")
        elif result.num_rows != len(case.rows):
            faults.append(f"{case.name}: {result.num_rows:,} rows, and {len(case.rows):,} by the second reading")
        skipped = "; ".join(f"{reason}: {count:,}" for reason, count in result.skipped.items())
        rows.append([*about, f"{result.num_rows:,}", f"{len(ours):,}", f"{len(theirs):,}", skipped])
    return sorted(rows), faults, [path.relative_to(folder).as_posix() for path in left.values()]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source-language", default="en")
    args = parser.parse_args(words)
    if not args.folder.is_dir():
        parser.error(f"{args.folder} is no folder")
    with tempfile.TemporaryDirectory() as cache:  # tables of an earlier reading would hide a change of the readers
        os.environ["TRANSLATOR_CACHE"] = cache
        rows, faults, left = check(args.folder, args.source_language)
    print(table(["format", "file", "languages", "rows", "pairs", "second reading", "skipped"], rows))
    if left:
        print(f"Not read: {', '.join(left)}")
    for fault in faults:
        print(f"DIFFERENT: {fault}")
    print(f"{len(rows)} readings, {len(faults)} of them different")
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
