"""File and overrides -> Config, with every error in one report, one line each."""

import difflib
import os
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from translator.config.fields import FORMS, Config, Files, as_list, as_sets, is_files
from translator.config.reading import Path_, Tree, read_file, read_override
from translator.errors import ConfigError

STARTER = Path(__file__).resolve().parent.parent / "starter" / "config.yaml"

FAMILIAR = {"lr": "optim.learning_rate", "max_steps": "train.steps", "max_epochs": "train.epochs",
            "batch_size": "batch.tokens", "heads": "model.num_heads", "nhead": "model.num_heads",
            "hidden_size": "model.d_model", "warmup": "optim.warmup_steps", "fp16": "device.precision",
            "src_lang": "corpus.source_language", "tgt_lang": "corpus.target_language"}  # fmt: skip
"""Names of other tools that no nearness of letters leads to ours."""


def load_config(path: Path | None, overrides: Sequence[str] = (), *, folder: Path | None = None) -> Config:
    """Read a config file (None: the starter corpus) and overrides such as "train.steps=2000".

    Paths in the file are relative to `folder` (by default the file's own), paths in overrides to the
    current folder; the result has absolute ones. Whether the files exist is not asked here.

    Raises:
        ConfigError: one line for each thing that is wrong, with its file and line or its override.
    """
    file = STARTER if path is None else path
    tree = read_file(file)
    folder = (folder or file.parent).absolute()
    problems = tree.problems
    problems += [
        f"{tree.places[way]}: {sentence}" for way, sentence in remove_unknown(tree.values, Config, ())
    ]
    _absolute_paths(tree.values, folder)
    for text in overrides:
        problems += _apply(text, tree)
    _normalise(tree)
    tree.values.setdefault("name", None)
    if tree.values["name"] is None:
        tree.values["name"] = file.stem
        tree.places["name",] = f"{file}: (the file's name)"
    config, wrong = _validate(tree, str(file))
    if problems + wrong or config is None:
        raise ConfigError("\n".join(problems + wrong))
    return config


# Unknown and misplaced keys


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model that a field's mapping must follow, if it is a section."""
    for entry in (info.annotation, *get_args(info.annotation)):
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            return entry
    return None


def known_keys(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    """Dotted keys of all settings."""
    for key, info in model.model_fields.items():
        section = section_of(info)
        if section is not None and section is not Files:
            yield from known_keys(section, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def remove_unknown(values: dict[str, Any], model: type[BaseModel], way: Path_) -> list[tuple[Path_, str]]:
    """Take unknown keys out of `values`; return where each stood and a sentence with the nearest known key."""
    found: list[tuple[Path_, str]] = []
    for key in list(values):
        here = (*way, key)
        if key not in model.model_fields:
            found.append((here, f"{dotted(here)}: unknown key; {_suggestion(key, model, way)}"))
            value, near = values.pop(key), _nearest(key, model.model_fields)
            inner = section_of(model.model_fields[near]) if near else None
            if inner is not None and isinstance(value, dict):
                found += remove_unknown(dict(value), inner, here)
            continue
        section = section_of(model.model_fields[key])
        if section is not None and section is not Files and isinstance(values[key], dict):
            values[key] = dict(values[key])  # an alias may stand in several places
            found += remove_unknown(values[key], section, here)
        elif key in ("train", "valid", "test") and len(way) == 1:
            for inner_way, entry in _files_in(values[key], here):
                found += remove_unknown(entry, Files, inner_way)
    return found


def _files_in(value: Any, way: Path_) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """Each mapping of Files in corpus.train, corpus.valid or corpus.test as written."""
    if isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _files_in(entry, (*way, number))
    elif isinstance(value, dict) and (is_files(value) or len(way) > 2):
        yield way, value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _files_in(entry, (*way, name))


def _nearest(key: str, names: Any) -> str | None:
    near = difflib.get_close_matches(key.lower().replace("-", "_"), list(names), n=1, cutoff=0.7)
    return near[0] if near else None


def _suggestion(key: str, model: type[BaseModel], way: Path_) -> str:
    here = "".join(f"{part}." for part in way)
    if near := _nearest(key, model.model_fields):
        return f"did you mean {here}{near}?"
    leaves: dict[str, list[str]] = {}
    for full in known_keys():
        leaves.setdefault(full.rpartition(".")[2], []).append(full)
    if key in leaves:
        section = leaves[key][0].rpartition(".")[0]
        return f"{key} belongs under {section}" if section else f"{key} belongs at the top"
    if key in FAMILIAR:
        return f"did you mean {FAMILIAR[key]}?"
    if near := _nearest(key, leaves):
        return f"did you mean {leaves[near][0]}?"
    return f"allowed {'here' if way else 'at the top'}: {', '.join(model.model_fields)}"


def dotted(way: Path_) -> str:
    return ".".join(map(str, way))


# Overrides


def _apply(text: str, tree: Tree) -> list[str]:
    """Put one override into the tree; return what is wrong with it."""
    place = f"override `{text}`"
    try:
        way, value, problems = read_override(text)
    except ConfigError as error:
        return [str(error)]
    nested: dict[str, Any] = {}
    inner = nested
    for part in way[:-1]:
        inner = inner.setdefault(part, {})
    inner[way[-1]] = value
    unknown = remove_unknown(nested, Config, ())
    if unknown or problems:
        return problems + [f"{place}: {sentence}" for _, sentence in unknown]
    _absolute_paths(nested, Path.cwd())
    values = tree.values
    for depth, part in enumerate(way[:-1], start=1):
        _make_room(values, part, way[: depth + 1])
        values = values[part]
    values[way[-1]] = inner[way[-1]] if not isinstance(value, str) else _leaf(nested, way)
    for known in [known for known in tree.places if known[: len(way)] == way]:
        del tree.places[known]
    tree.places[way] = place
    return []


def _leaf(values: Any, way: Sequence[str]) -> Any:
    for part in way:
        values = values[part]
    return values


def _make_room(values: dict[str, Any], part: str, way: tuple[str, ...]) -> None:
    """Make values[part] a mapping that the next part of an override fits into.

    An override such as corpus.train.source=FILE takes the place of another form (a hub data set, a table):
    the two could not stand together.
    """
    there, following = values.get(part), way[-1]
    if way[0] == "corpus" and way[1:2] and way[1] in ("train", "valid", "test"):
        if isinstance(there, str):
            there = {"path": there}
        if following in Files.model_fields:
            form = FORMS.get(following)
            old_forms = {FORMS[key] for key in there if key in FORMS} if isinstance(there, dict) else set()
            if not isinstance(there, dict) or not is_files(there) or (form and old_forms - {form}):
                there = {}
        elif is_files(there):
            there = {way[1]: there}
    values[part] = dict(there) if isinstance(there, dict) else {}


# Paths and forms of corpus.train, corpus.valid, corpus.test


def _absolute_paths(values: dict[str, Any], folder: Path) -> None:
    corpus = values.get("corpus")
    if not isinstance(corpus, dict):
        return
    for key in ("train", "valid", "test"):
        if key in corpus:
            corpus[key] = _absolute(corpus[key], folder, named=key != "train")


def _absolute(value: Any, folder: Path, *, named: bool) -> Any:
    if isinstance(value, str):
        return os.path.normpath(folder / Path(value).expanduser())
    if isinstance(value, list):
        return [_absolute(entry, folder, named=False) for entry in value]
    if isinstance(value, dict) and named and not is_files(value):
        return {name: _absolute(entry, folder, named=False) for name, entry in value.items()}
    if isinstance(value, dict):
        return {
            key: _absolute(entry, folder, named=False)
            if key in ("source", "target", "path") and isinstance(entry, str)
            else entry
            for key, entry in value.items()
        }
    return value


def _normalise(tree: Tree) -> None:
    """One form of corpus.train, valid and test, with the places of the keys moved along."""
    corpus = tree.values.get("corpus")
    if not isinstance(corpus, dict):
        return
    for key in ("train", "valid", "test"):
        value = corpus.get(key)
        if value is None:
            continue
        way, step = ("corpus", key), 0 if key == "train" else key
        if not isinstance(value, list) if key == "train" else is_files(value):
            for known in [known for known in tree.places if known[:2] == way]:
                tree.places[(*way, step, *known[2:])] = tree.places[known]
        corpus[key] = as_list(value) if key == "train" else as_sets(key, value)


# Validation


def _validate(tree: Tree, file: str) -> tuple[Config | None, list[str]]:
    """The Config, or what is wrong. Wrong values are set aside for a second look at the rest, so that
    settings that contradict each other come up in the same report."""
    try:
        return Config.model_validate(tree.values), []
    except ValidationError as error:
        found = [entry for one in error.errors() for entry in _explain(one, tree, file)]
    bad = {keys for keys, _, _ in found}
    if all(removable for _, _, removable in found) and _set_aside(tree.values, bad):
        try:
            Config.model_validate(tree.values)
        except ValidationError as error:
            names = {dotted(way) for way in bad}
            for one in error.errors():
                if one["type"] == "problems" and not any(
                    keys_match(names, one["loc"], keys) for keys, _ in one["ctx"]["problems"]
                ):
                    found += _explain(one, tree, file)
    lines = [sentence for _, sentence, _ in found]
    return None, list(dict.fromkeys(lines))


def keys_match(names: set[str], loc: tuple[int | str, ...], keys: tuple[str, ...]) -> bool:
    return any(dotted((*loc, *key.split("."))) in names for key in keys)


def _set_aside(values: dict[str, Any], bad: set[Path_]) -> bool:
    """Remove wrong values; False if there is one that cannot be removed."""
    for way in bad:
        inner: Any = values
        for part in way[:-1]:
            if not isinstance(inner, dict) or part not in inner:
                return False
            inner = inner[part]
        if not isinstance(inner, dict) or inner.pop(way[-1], None) is None:
            return False
    return True


def _explain(error: Any, tree: Tree, file: str) -> Iterator[tuple[Path_, str, bool]]:
    """pydantic's error -> (way to the value, sentence with its place, whether to look again without it)."""
    loc: Path_ = error["loc"]
    if error["type"] == "problems":
        for keys, sentence in error["ctx"]["problems"]:
            way = (*loc, *(part for part in ".".join(keys[:1]).split(".") if part))
            place = _place(tree, way, file)
            yield way, f"{place}: {dotted(way)}: {sentence}", False
        return
    way, info = _field_at(loc)
    place = _place(tree, way, file)
    if error["type"] == "missing":
        yield way, f"{place}: {dotted(way)}: missing; {info.description if info else ''}", False
    elif "[key]" in loc:
        yield way, f"{place}: {dotted(way)}: a set's name is made of letters, digits, _ and -", False
    elif way == ("name",) and str(error["input"]).strip():
        allowed = "letters, digits, dot, _ and -, no dot first, 100 at most; write name: other-name"
        yield way, f"{place}: name: {shown(error['input'])} is not allowed; allowed: {allowed}", True
    else:
        allowed = allowed_values(info) if info else "a mapping of keys"
        yield way, f"{place}: {dotted(way)}: {shown(error['input'])} is not allowed; allowed: {allowed}", True


def _field_at(loc: Path_) -> tuple[Path_, FieldInfo | None]:
    """Way to the field that an error is about (without pydantic's marks of union members), and the field."""
    model: type[BaseModel] | None = Config
    way: list[str | int] = []
    info: FieldInfo | None = None
    for part in loc:
        if model is not None and part in model.model_fields:
            info = model.model_fields[str(part)]
            model = section_of_any(info)
            way.append(part)
        elif model is Files:  # the number or the name of a set
            way.append(part)
            if part == "[key]":
                way.pop()
        else:
            break
    return tuple(way), info


def section_of_any(info: FieldInfo) -> type[BaseModel] | None:
    return section_of(info) or (Files if "Files" in str(info.annotation) else None)


def _place(tree: Tree, way: Path_, file: str) -> str:
    for end in range(len(way), 0, -1):
        if way[:end] in tree.places:
            return tree.places[way[:end]]
    return file


def shown(value: Any) -> str:
    """A value as the user wrote it, short."""
    text = {None: "null", True: "true", False: "false"}.get(value) if isinstance(value, bool | None) else None
    text = text or (f"`{value}`" if isinstance(value, str) else str(value))
    return text if len(text) <= 60 else text[:57] + "..."


def allowed_values(info: FieldInfo) -> str:
    """What a field takes, in words: "a whole number of at least 1, or auto"."""
    limits = {
        name: getattr(entry, name)
        for entry in info.metadata
        for name in ("ge", "gt", "le", "lt")
        if getattr(entry, name, None) is not None
    }
    bounds = []
    for name, words in (("ge", "of at least"), ("gt", "above"), ("le", "up to"), ("lt", "below")):
        if name in limits:
            bounds.append(f"{words} {limits[name]}")
    return " or ".join(dict.fromkeys(_words(info.annotation, " and ".join(bounds))))


def _words(annotation: Any, bounds: str) -> list[str]:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return [words for entry in get_args(annotation) for words in _words(entry, bounds)]
    if origin is Literal:
        return [", ".join(map(str, get_args(annotation)))]
    if origin is Annotated:
        return _words(get_args(annotation)[0], bounds)
    if origin is tuple:
        return ["two numbers in brackets"]
    if origin in (list, dict) or annotation is Files:
        return ["files", "a list of files"] if origin is list else ["files", "a map of names to files"]
    simple = {int: "a whole number", float: "a number", str: "text", bool: "true, false", Path: "a path",
              type(None): "null"}  # fmt: skip
    if annotation in (int, float):
        return [f"{simple[annotation]} {bounds}".strip()]
    return [simple.get(annotation, "keys of this section")]
