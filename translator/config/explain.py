"""What a setting takes, and what is wrong with a value, in words."""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from translator.config.base import DURATION_PATTERN, NAME_PATTERN, WORD_PATTERN
from translator.config.data import Files, TrainingCorpus
from translator.config.directions import DIRECTION_PATTERN
from translator.config.fields import Config
from translator.config.keys import dotted, section_of
from translator.config.reading import Tree, Way

PATTERNS = {
    NAME_PATTERN: "letters, digits, dot, _ and -, not beginning with a dot",
    WORD_PATTERN: "letters, digits, _ and -",
    DURATION_PATTERN: "days, hours, minutes and seconds such as 3h30m or 90s",
    DIRECTION_PATTERN: "two languages such as en>it",
}
SIMPLE = {str: "text", bool: "true or false", Path: "a path", type(None): "null"}


def allowed_values(info: FieldInfo) -> str:
    """What a field takes: "a whole number of at least 1, or auto"."""
    return ", or ".join(dict.fromkeys(_words(info.annotation, info.metadata)))


def _words(annotation: Any, limits: list[Any]) -> list[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(arguments[0], [*limits, *arguments[1:]])
    if origin in (Union, types.UnionType):
        return [words for entry in arguments for words in _words(entry, limits)]
    if origin is Literal:
        return [", ".join(map(str, arguments))]
    if origin is tuple and arguments[-1] is Ellipsis:
        return [*_words(arguments[0], []), "several of them in brackets"]
    if origin is tuple:
        return ["two numbers in brackets"]
    if origin is dict:
        return [*_words(Files, []), "a map of names to such files"]
    if origin is list:
        inner = _words(arguments[0], [])
        return [*inner, "a list of such files"] if arguments[0] is TrainingCorpus else [f"a list of {inner[0]}"]
    if isinstance(annotation, type) and issubclass(annotation, Files):
        return ["{source: FILE, target: FILE}, {path: FILE}, {hub: ID} or {starter: PART}"]
    if annotation in (int, float):
        return [f"a {'whole ' if annotation is int else ''}number{_bounds(limits)}"]
    patterns = [PATTERNS[limit.pattern] for limit in limits if getattr(limit, "pattern", None)]
    if annotation is str and patterns:
        return [f"text of {patterns[0]}"]
    return [SIMPLE.get(annotation, "a section of settings")]


def _bounds(limits: list[Any]) -> str:
    phrases = []
    for name, words in (("ge", "of at least"), ("gt", "above"), ("le", "up to"), ("lt", "below")):
        values = [getattr(limit, name) for limit in limits if getattr(limit, name, None) is not None]
        phrases += [f"{words} {value}" for value in values]
    return (" " + " and ".join(phrases)) if phrases else ""


def explain(error: Any, tree: Tree, file: str) -> Iterator[tuple[Way, str, bool]]:
    """One of pydantic's errors -> (way to the value, sentence with its place, whether the value is wrong).

    A value that is not wrong in itself contradicts another, or is missing.
    """
    if error["type"] == "problems":
        for keys, sentence in error["ctx"]["problems"]:
            ways = [(*error["loc"], *(_part(part) for part in key.split(".") if part)) for key in keys]
            written = next((way for way in ways if way in tree.places), ways[0])
            yield ways[0], f"{_beginning(ways[0], tree, file, written)}: {sentence}", False
        return
    way, info = _field_at(error["loc"])
    beginning = _beginning(way, tree, file)
    if error["type"] == "missing" and len(way) == len(error["loc"]):
        yield way, f"{beginning}: missing; {info.description if info else ''}".rstrip("."), False
    elif "[key]" in error["loc"]:
        yield way, f"{beginning}: the name of a set is made of {PATTERNS[WORD_PATTERN]}", True
    else:
        allowed = allowed_values(info) if info else "a section of settings"
        value = error["input"]
        if isinstance(value, bool | int | float) and allowed.startswith("text"):
            allowed += " (in quotes where it looks like a number, true or false)"
        yield way, f"{beginning}: {_shown(value)} is not allowed; allowed: {allowed}", True


def _part(text: str) -> str | int:
    return int(text) if text.isdigit() else text  # the number of a corpus in corpus.train


def _field_at(loc: Way) -> tuple[Way, FieldInfo | None]:
    """Way to the field that an error is about, without pydantic's marks of union members, and the field."""
    model: type[BaseModel] | None = Config
    way: list[str | int] = []
    info: FieldInfo | None = None
    for part in loc:
        if model is not None and part in model.model_fields:
            info = model.model_fields[str(part)]
            model = section_of(info)
            way.append(part)
        elif model is not None and issubclass(model, Files) and part != "[key]":
            way.append(part)  # the number of a corpus or the name of a set
        else:
            break
    return tuple(way), info


def _beginning(way: Way, tree: Tree, file: str, written: Way | None = None) -> str:
    """`config.yaml:12: model.d_model`: the place of what was written (by default that key), and the key."""
    key = dotted(part for end, part in enumerate(way, 1) if way[:end] not in tree.unwritten)
    return f"{tree.place(written or way) or file}: {key}"


def _shown(value: Any) -> str:
    """A value as the user wrote it, short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = f"`{value}`" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
