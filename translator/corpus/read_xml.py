"""What TMX and XLIFF share: units of an XML file one after the other, and sentences with inline codes.

Files are fed to the parser in pieces and each unit is forgotten once it is read, so memory does not grow with the
file. Nothing is fetched, no DTD is read, no entity of a document's own is expanded. XML's own escapes are decoded
once, as XML demands: `&amp;lt;` is the text `&lt;`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from translator.corpus.packing import BLOCK_BYTES, File, opened
from translator.errors import CorpusError, missing_extra
from translator.markup import Code, Sentence

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
MAX_BYTES_BETWEEN_UNITS = 16 << 20

HOLDING = frozenset({"bpt", "ept", "ph", "it", "ut"})
"""Elements that may hold a code of the document as text."""
STANDING = frozenset({"x", "bx", "ex", "sc", "ec"})
"""Elements that stand for a code that is elsewhere."""
PAIRED = frozenset({"g", "pc"})
"""Elements that stand for two codes around text."""


def units(file: File, root: str, names: Collection[str]) -> Iterator[Any]:
    """Each element called one of `names` (without its namespace), complete; it is emptied when the next is asked for.

    Raises:
        CorpusError: lxml is not installed; the file is broken XML (with its line), is something else than a `root`
            document, or holds what no corpus holds.
    """
    etree = _etree()
    # huge_tree off: libxml2 refuses texts over 10 MB and deep nesting
    parser = etree.XMLPullParser(
        events=("end",),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    num_bytes = 0  # since the last unit
    try:
        with opened(file) as opening:
            while block := opening.read(BLOCK_BYTES >> 3):
                parser.feed(block)
                num_bytes += len(block)
                for _, unit in parser.read_events():
                    num_bytes = 0
                    _check_root(file, unit.getroottree().getroot(), root)
                    yield unit
                    _forget(unit)
                if num_bytes > MAX_BYTES_BETWEEN_UNITS:
                    raise CorpusError(
                        f"{file}: {MAX_BYTES_BETWEEN_UNITS >> 20} MB without a unit; this is no file of sentences"
                    )
        _check_root(file, parser.close(), root)
        for _, unit in parser.read_events():
            yield unit
    except etree.XMLSyntaxError as error:
        raise CorpusError(_broken(file, error, list(parser.feed_error_log))) from None


def _broken(file: File, error: Any, log: list[Any]) -> str:
    """The parser's own words, from its log where the error itself says only that there is no document."""
    line, message = (log[0].line, log[0].message) if log and not error.lineno else (error.lineno, error.msg or "")
    reason = re.sub(r", line \d+, column \d+$", "", message)
    return f"{file}, line {line}: broken XML ({reason})" if line else f"{file}: broken XML ({reason or 'no document'})"


def _etree() -> Any:
    try:
        from lxml import etree
    except ImportError:
        raise missing_extra("TMX and XLIFF", "lxml", "formats") from None
    return etree


def _check_root(file: File, element: Any, root: str) -> None:
    if local_name(element) != root:
        raise CorpusError(f"{file} is not {root.upper()}: its root element is <{local_name(element)}>")


def _forget(unit: Any) -> None:
    """Empty a unit, and drop all that stands before it at every level."""
    unit.clear()
    while unit is not None:
        parent = unit.getparent()
        while parent is not None and unit.getprevious() is not None:
            del parent[0]
        unit = parent


def local_name(element: Any) -> str:
    """The name without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def child(element: Any, name: str) -> Any:
    """The first child of that name, or None."""
    return next((one for one in element if local_name(one) == name), None)


def sentence(file: File, element: Any, data: Mapping[str, str] | None = None) -> Sentence:
    """The text of a segment, with what its inline elements stand for as `Code`.

    An element that holds a code of the document (`<ph>%s</ph>`) is that code; one that holds none is the code that
    `data` (the originalData of XLIFF 2) or its `equiv-text` names, else its own tag, such as `<x id="1"/>`. What
    `hi` and `mrk` mark is plain text, and text inside a code (`sub`) belongs to the code. A line break and the blanks
    around it are one space.

    Raises:
        CorpusError: an entity that the document itself declares.
    """
    if not len(element):
        return _unfolded(element.text or "").strip()
    reader = _SentenceReader(file, data or {})
    reader.walk(element)
    pieces = _trimmed(reader.pieces)
    if not any(isinstance(piece, Code) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return tuple(pieces)


class _SentenceReader:
    def __init__(self, file: File, data: Mapping[str, str]) -> None:
        self._file, self._data = file, data
        self.pieces: list[str | Code] = []

    def walk(self, element: Any) -> None:
        """Add the text in an element, and what its children are."""
        self._text(element.text)
        for inner in element:
            self._inline(inner)
            self._text(inner.tail)

    def _text(self, text: str | None) -> None:
        if text:
            self.pieces.append(_unfolded(text))

    def _inline(self, element: Any) -> None:
        name = local_name(element)
        if not name:
            _refuse_entity(self._file, element)
        elif name in PAIRED:
            self._code(element, "dataRefStart", "equivStart", f"<{name}{_identity(element)}>")
            self.walk(element)
            self._code(element, "dataRefEnd", "equivEnd", f"</{name}>")
        elif name in HOLDING and (held := _held(self._file, element)):
            self.pieces.append(Code(held))
        elif name in HOLDING or name in STANDING:
            self._code(element, "dataRef", "equiv", f"<{name}{_identity(element)}/>")
        elif name == "cp":  # XLIFF 2: a character that XML cannot hold
            self.pieces.append(Code(_character(element.get("hex", ""))))
        else:
            self.walk(element)

    def _code(self, element: Any, reference: str, equivalent: str, tag: str) -> None:
        text = self._data.get(element.get(reference, "")) or element.get(equivalent) or element.get("equiv-text")
        self.pieces.append(Code(text or tag))


def _unfolded(text: str) -> str:
    return re.sub(r"[ \t]*\n\s*", " ", text) if "\n" in text else text


def _held(file: File, element: Any) -> str:
    """All text in an element that holds a code, its sub-flows included."""
    if not len(element):
        return str(element.text or "")
    for inner in element.iter():
        if not local_name(inner):
            _refuse_entity(file, inner)
    return "".join(element.itertext())


def _identity(element: Any) -> str:
    key = next((key for key in ("id", "x", "i") if element.get(key)), None)
    return f' {key}="{element.get(key)}"' if key else ""


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""


def _refuse_entity(file: File, element: Any) -> None:
    raise CorpusError(
        f"{file}, line {element.getparent().sourceline}: the entity {element.text} is not one of XML's own; entities "
        "that a document declares are not expanded: write the character itself"
    )


def _trimmed(pieces: list[str | Code]) -> list[str | Code]:
    """Without white space at the ends, unless a code is there."""
    if pieces and isinstance(pieces[0], str):
        pieces[0] = pieces[0].lstrip()
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].rstrip()
    return pieces
