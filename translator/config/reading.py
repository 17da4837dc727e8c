"""YAML 1.2 text -> plain dicts, lists and scalars, with the place of every key.

Built on the parser's events, so that nothing is guessed or constructed: only null, true, false, numbers,
text, lists and mappings exist (`no` is text, `1e-3` a number), and each key keeps its line.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from translator.errors import ConfigError

Way = tuple[str | int, ...]
"""Way to a value from the top: ("model", "d_model") or ("corpus", "train", 0, "path")."""

MAX_BYTES = 1_000_000
SEAL = "# Remove this line after a change by hand. SHA-256 of all below:"
MAX_DEPTH = 20
MAX_VALUES = 20_000  # aliases counted each time: a file of ten lines could else stand for billions

NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass
class Tree:
    """Values as written, where each key stands ("config.yaml:12"), and what is wrong with the YAML.

    `unwritten` holds parts of ways that the user did not write: the 0 of a list that was given as one value.
    """

    values: dict[str, Any]
    places: dict[Way, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unwritten: set[Way] = field(default_factory=set)

    def place(self, way: Way) -> str | None:
        """Where a key stands, or the nearest section around it that was written (it may be an alias)."""
        ends = range(len(way), 0, -1)
        return next((self.places[way[:end]] for end in ends if way[:end] in self.places), None)


def plain_scalar(text: str) -> Any:
    """Value of an unquoted scalar by the core schema (YAML 1.2.2, section 10.3.2)."""
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text) and len(text) < 50:
        return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
    if NUMBER.fullmatch(text):
        value = float(text)
        is_whole = "." not in text and value.is_integer() and abs(value) < 2**53  # 1e4 steps are 10000
        return int(value) if is_whole else value
    if re.fullmatch(r"[-+]?\.(inf|Inf|INF)", text):
        return float(text.replace(".", ""))
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text


class _Builder:
    """Events of one document -> values. Goes on after a problem, so that all are reported at once."""

    def __init__(self, events: Iterator[Event], name: str):
        self.events = events
        self.name = name
        self.places: dict[Way, str] = {}
        self.problems: list[str] = []
        self.anchors: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.num_values = 0

    def place(self, event: Event) -> str:
        return f"{self.name}:{event.start_mark.line + 1}"

    def count(self, number: int, event: Event) -> None:
        self.num_values += number
        if self.num_values > MAX_VALUES:
            raise ConfigError(f"{self.place(event)}: too many values for a config (over {MAX_VALUES:,})")

    def value(self, event: Any, way: Way) -> Any:
        """The value that begins with `event` (ruamel's class of events does not declare tag and anchor)."""
        if len(way) > MAX_DEPTH:
            raise ConfigError(f"{self.place(event)}: nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            if event.anchor not in self.sizes:
                said = f"*{event.anchor} has no complete &{event.anchor} before it"
                raise ConfigError(f"{self.place(event)}: {said}")
            self.count(self.sizes[event.anchor], event)
            return self.anchors[event.anchor]
        self.count(1, event)
        before = self.num_values
        if event.tag is not None:
            said = f"the tag {event.tag} is not allowed; write the value without it"
            self.problems.append(f"{self.place(event)}: {said}")
        result: Any
        if isinstance(event, ScalarEvent):
            result = plain_scalar(event.value) if event.implicit[0] else event.value
        elif isinstance(event, SequenceStartEvent):
            result = []
            while not isinstance(item := next(self.events), SequenceEndEvent):
                self.places[(*way, len(result))] = self.place(item)
                result.append(self.value(item, (*way, len(result))))
        else:
            result = self.mapping(way)
        if event.anchor is not None:
            self.anchors[event.anchor] = result
            self.sizes[event.anchor] = self.num_values - before + 1
        return result

    def mapping(self, way: Way) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                raise ConfigError(f"{self.place(event)}: a key must be a plain word")
            key = event.value
            if key in result:
                dotted = ".".join(map(str, (*way, key)))
                first = self.places[(*way, key)].rpartition(":")[2]
                self.problems.append(f"{self.place(event)}: {dotted}: given twice, first in line {first}")
            self.places[(*way, key)] = self.place(event)
            result[key] = self.value(next(self.events), (*way, key))
        return result


def parse_yaml(text: str, name: str) -> tuple[Any, _Builder]:
    """Read one YAML document; `name` is what errors call it. Raises ConfigError where it is no YAML."""
    parser = YAML(typ="safe", pure=True)
    builder = _Builder(iter(parser.parse(text)), name)
    result: Any = None
    try:
        documents = 0
        for event in builder.events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise ConfigError(f"{builder.place(event)}: a second document begins; a config is one")
                if not isinstance(event := next(builder.events), DocumentEndEvent):
                    result = builder.value(event, ())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line if mark is not None else 0
        lines = text.split("\n")
        indent = re.match(r"[\s\-]*", lines[line] if line < len(lines) else "")
        said = str(error.problem or error.context)
        if indent is not None and "\t" in indent.group():
            said = "a tab before the text; YAML takes spaces only"
        elif "mapping values are not allowed" in said:
            said = "a second ': ' in one line, or wrong indentation; quote text that contains ': '"
        else:
            said = f"not valid YAML: {said}"
        raise ConfigError(f"{name}:{line + 1}: {said}") from None
    except YAMLError as error:
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        said = getattr(error, "reason", None) or str(error).splitlines()[0]
        raise ConfigError(f"{name}:{line}: not valid YAML: {said}") from None
    return result, builder


def seal(text: str) -> str:
    """The same text below a line with its checksum, which `read_file` compares: damage to a stored config is found."""
    return f"{SEAL} {_checksum(text)}\n{text}"


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_file(path: Path) -> Tree:
    """Read a config file. Raises ConfigError when it is absent, damaged, not UTF-8, too large, or not YAML."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: a folder, a pipe or a device; a config is a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES:,} bytes; this is not a config file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(
            f"{path}:{line}: byte 0x{data[error.start]:02X} is not UTF-8; save the file as UTF-8"
        ) from None
    first, _, rest = text.partition("\n")
    if first.startswith(SEAL) and first != seal(rest).partition("\n")[0]:
        raise ConfigError(
            f"{path}: damaged, or changed by hand (its checksum differs); copy the file again, or remove its first "
            "line if the change is wanted"
        )
    value, builder = parse_yaml(text, str(path))
    if not isinstance(value, dict | None):
        raise ConfigError(f"{path}: holds no keys; a config is made of lines like `seed: 1`")
    return Tree(value or {}, builder.places, builder.problems)


def read_override(text: str) -> tuple[tuple[str, ...], Any, list[str]]:
    """`a.b.c=value` -> way, value, problems. In brackets or quotes it is YAML, else a plain scalar."""
    key, equals, value_text = text.partition("=")
    way = tuple(key.strip().split("."))
    value_text = value_text.strip()
    if not equals or not all(way):
        raise ConfigError(f"override `{text}`: write section.key=value, such as train.steps=2000")
    if not value_text:
        raise ConfigError(f"override `{text}`: no value; write {key.strip()}=null for none")
    if value_text[0] not in "[{\"'":
        return way, plain_scalar(value_text), []
    try:
        value, builder = parse_yaml(value_text, "value")
    except ConfigError as error:
        raise ConfigError(f"override `{text}`: {str(error).split(': ', 1)[1]}") from None
    return way, value, [f"override `{text}`: {problem.split(': ', 1)[1]}" for problem in builder.problems]
