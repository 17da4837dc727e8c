"""A config that is stored, read again, compared and completed: what a resumed run needs."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from translator.config.base import Resume
from translator.config.data import Files
from translator.config.fields import Config
from translator.config.filters import Filters
from translator.config.reading import plain_scalar

PLAIN_TEXT = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
OLD_WORDS = {"y", "n", "yes", "no", "on", "off"}  # YAML 1.1 takes these for booleans: quoted for its readers


@dataclass(frozen=True)
class Change:
    """One setting that differs between two configs, and what that means for resuming."""

    key: str
    old: Any
    new: Any
    kind: Resume


def dump_config(config: Config) -> str:
    """YAML of every setting, which `load_config` reads back equal."""
    return "".join(_lines(_plain(config), 0))


def _plain(value: Any) -> Any:
    if isinstance(value, Files):  # four forms in one model: only what was given says which one
        return {key: _own(entry) for key, entry in value if entry != type(value).model_fields[key].default}
    if isinstance(value, BaseModel):
        return {key: _plain(entry) for key, entry in value}
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list) and len(value) == 1:  # corpus.train with one place is written without a list
        return _plain(value[0])
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def _own(value: Any) -> Any:
    """A value of a place of pairs. Of filters of its own only those that it gives: the rest are the common ones."""
    return _plain(value.own if isinstance(value, Filters) else value)


def _lines(mapping: Mapping[str, Any], indent: int) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, dict) and value:
            yield f"{' ' * indent}{_scalar(key)}:\n"
            yield from _lines(value, indent + 2)
        else:
            yield f"{' ' * indent}{_scalar(key)}: {_flow(value)}\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(entry) for entry in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    text = PLAIN_TEXT.fullmatch(value) and plain_scalar(value) == value and value.lower() not in OLD_WORDS
    # JSON text is YAML text; characters outside of ASCII are written as themselves where YAML can hold them
    return value if text else json.dumps(value, ensure_ascii=not value.isprintable())


def flat_settings(config: Config) -> dict[str, tuple[Any, Resume]]:
    """Every setting by dotted key -> (value, what a change of it means on resume)."""
    return {key: (value, kind) for key, value, kind in _flat(config, "")}


def _flat(model: BaseModel, prefix: str) -> Iterator[tuple[str, Any, Resume]]:
    for key, info in type(model).model_fields.items():
        extra = info.json_schema_extra
        kind: Any = extra["on_resume"] if isinstance(extra, dict) else "refused"
        yield from _flat_value(getattr(model, key), f"{prefix}{key}", kind)


def _flat_value(value: Any, key: str, kind: Resume) -> Iterator[tuple[str, Any, Resume]]:
    if isinstance(value, BaseModel):
        yield from _flat(value, f"{key}.")
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _flat_value(entry, f"{key}.{name}", kind)
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _flat_value(entry, f"{key}.{number}", kind)
    else:
        yield key, value, kind


def diff_for_resume(old: Config, new: Config) -> list[Change]:
    """Settings that differ, each with its class. A file that moved is announced: its content has a
    fingerprint of its own, which the corpus compares."""
    before, after = flat_settings(old), flat_settings(new)
    changes = []
    for key in [*before, *(key for key in after if key not in before)]:
        was, will = before.get(key, (None, None))[0], after.get(key, (None, None))[0]
        if was != will:
            changes.append(Change(key, was, will, (before.get(key) or after[key])[1]))
    return changes


def resolve(config: Config, **choices: Any) -> Config:
    """Copy with automatic choices replaced: `resolve(config, threads=2, vocab_size=4000)`.

    A choice is a dotted key (`**{"device.kind": "cpu"}`) or, where only one section has it, the key alone.

    Raises:
        KeyError: no setting, or several, have that name.
        pydantic.ValidationError: the value is not allowed.
    """
    values = config.model_dump(exclude_unset=True)
    for name, choice in choices.items():
        keys = [key for key in flat_settings(config) if "." in key and name in (key, key.partition(".")[2])]
        if len(keys) != 1:
            raise KeyError(f"{len(keys)} settings are called {name}")
        section, _, key = keys[0].partition(".")
        values.setdefault(section, {})[key] = choice
    return Config.model_validate(values)
