"""File and overrides -> Config, with every error in one report, one line each."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from translator.config.data import FORMS, KINDS, TrainingCorpus, as_list, as_sets, is_files
from translator.config.explain import explain
from translator.config.fields import Config
from translator.config.keys import dotted, section_of, take_unknown
from translator.config.reading import Tree, Way, read_file, read_override
from translator.errors import CheckpointError, ConfigError
from translator.files import check_inside

STARTER = Path(__file__).resolve().parent.parent / "starter" / "config.yaml"
STORED = "config.yaml"
SETS = ("train", "valid", "test")
SECTIONS = {*(key for key, info in Config.model_fields.items() if section_of(info)), "filters", "mix"}


def load_config(path: Path | None, overrides: Sequence[str] = (), *, folder: Path | None = None) -> Config:
    """Read a config file (None: the starter corpus) and overrides such as "train.steps=2000".

    Paths in the file are relative to `folder` (by default the file's own), paths in overrides to the
    current folder; the result has absolute ones. Whether the files exist is not asked here.

    Raises:
        ConfigError: one line for each thing that is wrong, with its file and line or its override.
    """
    file = STARTER if path is None else path
    tree = read_file(file)
    problems = tree.problems
    problems += [f"{tree.place(way)}: {sentence}" for way, sentence in take_unknown(tree.values)]
    _make_absolute(tree.values, (folder or file.parent).absolute())
    for text in overrides:
        problems += _apply(text, tree)
    if tree.values.get("name") is None:
        tree.values["name"] = file.stem
    _normalise(tree)
    config, wrong = _validate(tree, str(file))
    if config is None or problems:
        raise ConfigError("\n".join(dict.fromkeys(problems + wrong)))
    return config


def load_stored_config(folder: Path, overrides: Sequence[str] = ()) -> Config:
    """The `config.yaml` of a folder of weights or of a run, which may come from somebody else.

    Raises:
        CheckpointError: it is missing, no plain file, or a link that leaves the folder.
        ConfigError: as `load_config`.
    """
    check_inside(folder / STORED, folder, CheckpointError)
    return load_config(folder / STORED, overrides)


def _apply(text: str, tree: Tree) -> list[str]:
    """Put one override into the tree; return what is wrong with it."""
    try:
        way, value, problems = read_override(text)
    except ConfigError as error:
        return [str(error)]
    if way[:2] == ("corpus", "train") and len(way) > 3 and way[2].isdigit():
        return problems or _apply_to_corpus(text, int(way[2]), way[3:], value, tree)
    nested: Any = value
    for part in reversed(way):
        nested = {part: nested}
    problems += [f"override `{text}`: {sentence}" for _, sentence in take_unknown(nested)]
    if problems:
        return problems
    _make_absolute(nested, Path.cwd())
    values = tree.values
    for depth, part in enumerate(way[:-1], start=1):
        values[part] = _room(values.get(part), way[: depth + 1], value)
        values, nested = values[part], nested[part]
    values[way[-1]] = nested[way[-1]]
    tree.places = {known: place for known, place in tree.places.items() if known[: len(way)] != way}
    tree.places[way] = f"override `{text}`"
    return []


def _apply_to_corpus(text: str, number: int, keys: tuple[str, ...], value: Any, tree: Tree) -> list[str]:
    """Put corpus.train.NUMBER.key=value, counted from 0, into the tree; return what is wrong with it."""
    corpora = as_list(tree.values.get("corpus", {}).get("train", []))
    if number >= len(corpora):
        return [f"override `{text}`: corpus.train has {len(corpora)} entries, and they are counted from 0"]
    nested: Any = {keys[-1]: value}
    for key in reversed(keys[:-1]):
        nested = {key: nested}
    if problems := take_unknown({"corpus": {"train": [nested]}}):
        return [f"override `{text}`: {sentence}" for _, sentence in problems]
    nested = _absolute(nested, Path.cwd())
    corpora[number] = _room(corpora[number], ("corpus", "train", keys[0]), value)
    values = corpora[number]
    for key in keys[:-1]:
        values[key] = dict(values.get(key) or {})
        values, nested = values[key], nested[key]
    values[keys[-1]] = nested[keys[-1]]
    tree.values["corpus"]["train"] = corpora
    tree.places[("corpus", "train", number, *keys)] = f"override `{text}`"
    return []


def _room(there: Any, way: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The mapping at way[:-1], made so that the key way[-1] of an override fits into it.

    Where pairs lie can be said in several forms that exclude each other; corpus.train.source=FILE takes the
    place of a hub data set (corpus.train.hub=null says nothing, and does not), and corpus.valid.news.path=FILE stands
    beside a set that had no name.
    """
    key = way[-1]
    if way[0] == "corpus" and len(way) > 2 and way[1] in SETS:
        there = {"path": there} if isinstance(there, str) else there
        one_place = isinstance(there, dict) and is_files(there)
        if key not in TrainingCorpus.model_fields:
            there = {way[1]: there} if one_place else there
        elif not one_place or (
            key in FORMS and value is not None and {FORMS.get(old, FORMS[key]) for old in there} != {FORMS[key]}
        ):
            there = {old: kept for old, kept in there.items() if old in KINDS} if one_place else {}
    return dict(there) if isinstance(there, dict) else {}


def _make_absolute(values: dict[str, Any], folder: Path) -> None:
    """Make the paths of corpus.train, valid and test absolute, and that of train.init_from where it is no name."""
    corpus, train = values.get("corpus"), values.get("train")
    for key in SETS:
        if isinstance(corpus, dict) and key in corpus:
            corpus[key] = _absolute(corpus[key], folder)
    if isinstance(train, dict) and "/" in str(train.get("init_from")):
        train["init_from"] = _absolute(train["init_from"], folder)


def _absolute(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        return os.path.normpath(folder / Path(value).expanduser())
    if isinstance(value, list):
        return [_absolute(entry, folder) for entry in value]
    if isinstance(value, dict):
        named = not is_files(value)
        return {
            key: _absolute(entry, folder) if named or key in ("source", "target", "path") else entry
            for key, entry in value.items()
        }
    return value


def _normalise(tree: Tree) -> None:
    """Bring corpus.train, valid and test into their one form, and the places of their keys with them.

    A section of which all keys are commented out is null in YAML; it is as if it were not there.
    """
    corpus = tree.values.get("corpus")
    for values in (tree.values, corpus if isinstance(corpus, dict) else {}):
        for key in [key for key in SECTIONS if key in values and values[key] is None]:
            del values[key]
    if not isinstance(corpus, dict):
        return
    for key in SETS:
        value = corpus.get(key)
        if value is None:
            continue
        way: Way = ("corpus", key)
        if not isinstance(value, list) if key == "train" else is_files(value):
            inner = (*way, 0 if key == "train" else key)
            tree.places |= {(*inner, *old[2:]): tree.places[old] for old in tree.places if old[:2] == way}
            tree.unwritten.add(inner)
        corpus[key] = as_list(value) if key == "train" else as_sets(key, value)


def _validate(tree: Tree, file: str) -> tuple[Config | None, list[str]]:
    """The Config, or what is wrong with the values.

    Wrong values are set aside for a second look at the rest, so that settings that contradict each other
    come up in the same report.
    """
    try:
        return Config.model_validate(tree.values), []
    except ValidationError as error:
        found = [entry for one in error.errors() for entry in explain(one, tree, file)]
    wrong = {way for way, _, is_wrong in found if is_wrong}
    for way in wrong:
        _remove(tree.values, way)
    try:
        Config.model_validate(tree.values)
    except ValidationError as error:
        names = {dotted(way) for way in wrong}
        for one in error.errors():
            problems = one["ctx"]["problems"] if one["type"] == "problems" else []
            keys = {dotted((*one["loc"], *key.split("."))) for keys, _ in problems for key in keys}
            if problems and not keys & names:
                found += explain(one, tree, file)
    return None, [sentence for _, sentence, _ in found]


def _remove(values: Any, way: Way) -> None:
    """Take one value out, where the way to it is made of mappings."""
    for part in way[:-1]:
        values = values.get(part) if isinstance(values, dict) else None
    if isinstance(values, dict):
        values.pop(way[-1], None)
