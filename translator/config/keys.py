"""Keys that no section has, each with the nearest one that exists."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from translator.config.data import Files, is_files
from translator.config.fields import Config
from translator.config.reading import Way

FAMILIAR = {
    "batch_size": "batch.tokens",
    "data": "corpus",
    "dim": "model.d_model",
    "fp16": "device.precision",
    "heads": "model.num_heads",
    "hidden_size": "model.d_model",
    "layers": "model.num_encoder_layers",
    "lr": "optim.learning_rate",
    "max_epochs": "train.epochs",
    "max_steps": "train.steps",
    "nhead": "model.num_heads",
    "num_layers": "model.num_encoder_layers",
    "src_lang": "corpus.source_language",
    "tgt_lang": "corpus.target_language",
    "warmup": "optim.warmup_steps",
}
"""Names of other tools that no likeness of letters leads to ours."""


def dotted(way: Iterable[str | int]) -> str:
    """("model", "d_model") -> model.d_model."""
    return ".".join(map(str, way))


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model that a field's mapping, or each entry of its list or map, follows."""
    waiting: list[Any] = [info.annotation]
    for entry in waiting:
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            return entry
        waiting += get_args(entry)
    return None


def known_keys(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    """Dotted keys of all settings, those of Files left out."""
    for key, info in model.model_fields.items():
        section = section_of(info)
        if section is None or issubclass(section, Files):
            yield f"{prefix}{key}"
        else:
            yield from known_keys(section, f"{prefix}{key}.")


def take_unknown(
    values: dict[str, Any], model: type[BaseModel] = Config, way: Way = (), meant: Way = ()
) -> list[tuple[Way, str]]:
    """Take unknown keys out of `values`; return where each stood and a sentence with the nearest known key.

    `meant` is the way to the section that the user meant where `way` has a misspelt one.
    """
    meant = meant or way
    found: list[tuple[Way, str]] = []
    for key in list(values):
        here, name = (*way, key), key
        if key not in model.model_fields:
            found.append((here, f"{dotted(here)}: unknown key; {_suggestion(key, model, meant)}"))
            value, name = values.pop(key), _nearest(key, model.model_fields) or ""
        else:
            value = values[key] = dict(values[key]) if isinstance(values[key], dict) else values[key]
        section = section_of(model.model_fields[name]) if name else None
        if section is not None and issubclass(section, Files):
            for inner, entry in _files_in(value, here):
                found += take_unknown(entry, section, inner, (*meant, name, *inner[len(here) :]))
        elif section is not None and isinstance(value, dict):
            found += take_unknown(value, section, here, (*meant, name))
    return found


def _files_in(value: Any, way: Way) -> Iterator[tuple[Way, dict[str, Any]]]:
    """Each mapping of Files in corpus.train, corpus.valid or corpus.test as written."""
    entries: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, list):
        entries = enumerate(value)
    elif isinstance(value, dict) and (is_files(value) or len(way) > 2 or way[1] == "train"):
        yield way, value
    elif isinstance(value, dict):
        entries = value.items()
    for key, entry in entries:
        yield from _files_in(entry, (*way, key))


def _nearest(key: str, names: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(key.lower().replace("-", "_"), names, n=1, cutoff=0.7)
    return near[0] if near else None


def _suggestion(key: str, model: type[BaseModel], way: Way) -> str:
    everywhere: dict[str, list[str]] = {}
    for full in known_keys():
        everywhere.setdefault(full.rpartition(".")[2], []).append(full)
    if key in everywhere:
        sections = [full.rpartition(".")[0] or "no section, at the top" for full in everywhere[key]]
        return f"{key} belongs under {' or '.join(sections)}"
    if key in FAMILIAR:
        return f"did you mean {FAMILIAR[key]}?"
    if near := _nearest(key, model.model_fields):
        return f"did you mean {dotted((*way, near))}?"
    if near := _nearest(key, everywhere):
        return f"did you mean {everywhere[near][0]}?"
    return f"allowed {'here' if way else 'at the top'}: {', '.join(model.model_fields)}"
