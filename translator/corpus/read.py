"""One entrance for every format: where pairs lie, as the config says it, becomes a table of pairs."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from itertools import chain, islice
from pathlib import Path
from typing import Any

import datasets

from translator.corpus.pairs import Pairs
from translator.corpus.read_folder import columnar_files, is_columnar, rows_of_files, split_files
from translator.corpus.read_hub import load_hub, rows_of_dataset
from translator.corpus.read_tables import Row, TableOptions, read_csv, read_jsonl, read_tsv
from translator.corpus.read_text import read_aligned
from translator.corpus.store import Tally, store
from translator.errors import CorpusError
from translator.files import sha256_file

FORMATS = {".tsv": "tsv", ".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl"}
READERS: dict[str, Callable[[Path, TableOptions], Iterator[Row]]] = {
    "tsv": read_tsv,
    "csv": read_csv,
    "jsonl": read_jsonl,
}
TABLE_ENDINGS = tuple(ending + packing for ending in FORMATS for packing in ("", ".gz"))
STARTER_LANGUAGES = ("en", "it")


@dataclass(frozen=True)
class ReadResult:
    """What was read from one place.

    Attributes:
        pairs: the usable pairs.
        num_rows: rows in the input, used or not.
        skipped: rows that hold no pair, by reason.
        examples: of each reason, a few line numbers.
        notes: sentences for the user about how the input was understood.
    """

    pairs: Pairs
    num_rows: int
    skipped: dict[str, int]
    examples: dict[str, str]
    notes: list[str]

    @property
    def dataset(self) -> datasets.Dataset:
        """The usable pairs: string columns source and target, memory-mapped."""
        return self.pairs.dataset


@dataclass(frozen=True)
class _Input:
    """One place of pairs: its name in messages, what decides its content, and how to begin reading it."""

    name: str
    identity: dict[str, Any]
    rows: Callable[[], Iterator[Row]]


def read_pairs(
    files: Any, *, source_language: str, target_language: str, key: str = "corpus", most_rows: int | None = None
) -> ReadResult:
    """Read the sentence pairs of one place into a memory-mapped table, kept in the cache folder.

    Args:
        files: a mapping (or pydantic model) with source and target, or path, or hub, or starter, and the
            optional subset, split, revision, source_column, target_column, header, format, and source_language
            and target_language of its own; a path alone means {path: ...}.
        source_language, target_language: as the columns of tables may be named, such as "en" and "it"; what
            `files` says of its languages goes before.
        key: the setting that named the files, for messages.
        most_rows: no more rows are read, for a quick look.

    Raises:
        CorpusError: nothing can be read, or no usable pair is there; each message says where and what to do.
    """
    fields = _fields(files)
    options = TableOptions(
        languages=(fields.get("source_language", source_language), fields.get("target_language", target_language)),
        source_column=fields.get("source_column"),
        target_column=fields.get("target_column"),
        header=fields.get("header"),
    )
    place = _place(fields, options, key)
    identity = place.identity if most_rows is None else {**place.identity, "most_rows": most_rows}
    num_bytes = _size(fields) if most_rows is None else 0
    pairs, tally = store(identity, place.name, lambda: islice(place.rows(), most_rows), num_bytes=num_bytes)
    if not len(pairs):
        raise CorpusError(f"no usable pairs in {place.name}: {_why_none(tally)}")
    notes = []
    if tally.num_folded:
        notes.append(f"{place.name}: {tally.num_folded} pairs had a line break inside; it became a space")
    examples = {reason: _lines(numbers) for reason, numbers in tally.lines.items()}
    return ReadResult(pairs, tally.num_rows, tally.skipped, examples, notes)


def _fields(files: Any) -> dict[str, Any]:
    if isinstance(files, str | Path):
        return {"path": files}
    dumped = files if isinstance(files, Mapping) else files.model_dump()
    return {name: value for name, value in dumped.items() if value is not None}


def _size(fields: Mapping[str, Any]) -> int:
    """Bytes of the files of a place: about those of its table. 0 where they are not known."""
    files = [Path(fields[name]) for name in ("source", "target", "path") if name in fields]
    return sum(file.stat().st_size for file in files if file.is_file())


def _lines(numbers: list[int]) -> str:
    return ("lines " if len(numbers) > 1 else "line ") + ", ".join(map(str, numbers))


def _why_none(tally: Tally) -> str:
    if not tally.num_rows:
        return "no rows at all"
    return "; ".join(f"{reason} ({count})" for reason, count in tally.skipped.items())


def _place(fields: Mapping[str, Any], options: TableOptions, key: str) -> _Input:
    split = str(fields.get("split", "train"))
    if "hub" in fields:
        subset, revision = fields.get("subset"), fields.get("revision")
        dataset = load_hub(fields["hub"], subset=subset, split=split, revision=revision)
        return _dataset_input(dataset, f"hub data set {fields['hub']}", options)
    if "starter" in fields:
        return _starter_input(str(fields["starter"]), options)
    if "source" in fields and "target" in fields:
        source = _existing(fields["source"], f"{key}.source")
        target = _existing(fields["target"], f"{key}.target")
        identity = {"format": "text", "source": sha256_file(source), "target": sha256_file(target)}
        return _Input(f"{source} and {target}", identity, lambda: read_aligned(source, target))
    if "path" not in fields:
        raise CorpusError(f"{key} says no place; give source and target, path, hub or starter")
    path = _existing(fields["path"], f"{key}.path", folder=True)
    if not path.is_dir():
        return _table_input([path], str(path), options, fields.get("format") or _format_of(path, key))
    # Beside Parquet and Arrow files, JSON files hold what is said about them.
    tables = [] if is_columnar(path) else split_files(path, TABLE_ENDINGS, split)
    if tables:
        return _table_input(tables, str(path), options, None)
    files = columnar_files(path, split)
    sums = [sha256_file(file) for file in files]
    columnar = {"files": sums, "options": [options.languages, options.columns]}
    return _Input(str(path), columnar, lambda: rows_of_files(files, str(path), options))


def _existing(path: Any, key: str, *, folder: bool = False) -> Path:
    found = Path(path)
    if not found.exists():
        raise CorpusError(f"{key}: there is no file {found}")
    if found.is_dir() and not folder:
        raise CorpusError(f"{key}: {found} is a folder, and a file is needed here")
    if not found.is_dir() and not found.is_file():
        raise CorpusError(f"{key}: {found} is a pipe or a device, and it must be a file, which is read several times")
    return found


def _format_of(path: Path, key: str) -> str:
    with suppress(KeyError):
        return FORMATS[Path(re.sub(r"\.gz$", "", path.name.lower())).suffix]
    raise CorpusError(
        f"{key}.path: the ending of {path} names no format; known are {', '.join(FORMATS)} (also with .gz): "
        f"set format to tsv, csv or jsonl, or give line-aligned text as source and target"
    )


def _table_input(paths: list[Path], name: str, options: TableOptions, form: str | None) -> _Input:
    if form == "text":
        raise CorpusError(f"{name}: format text means two files; give them as source and target")
    forms = [form or _format_of(path, name) for path in paths]
    identity = {
        "files": [[kind, sha256_file(path)] for kind, path in zip(forms, paths, strict=True)],
        "options": [options.languages, options.columns, options.header],
    }
    return _Input(
        name,
        identity,
        lambda: chain.from_iterable(READERS[kind](path, options) for kind, path in zip(forms, paths, strict=True)),
    )


def _dataset_input(dataset: datasets.Dataset, name: str, options: TableOptions) -> _Input:
    identity = {"dataset": dataset._fingerprint, "options": [options.languages, options.columns]}
    return _Input(name, identity, lambda: rows_of_dataset(dataset, name, options))


def _starter_input(part: str, options: TableOptions) -> _Input:
    """A part of the corpus inside the package; it can be read in both directions."""
    name = f"the starter corpus ({part})"
    languages = options.languages
    if set(languages) != set(STARTER_LANGUAGES):
        raise CorpusError(f"{name} is English and Italian (en, it), not {' and '.join(languages)}")
    columns = [STARTER_LANGUAGES.index(language) for language in languages]
    file = resources.files("translator") / "starter" / f"{part}.tsv"
    if not file.is_file():
        raise CorpusError(f"there is no part {part!r} in the starter corpus")
    options = TableOptions(languages, source_column=columns[0], target_column=columns[1])

    def rows() -> Iterator[Row]:
        with resources.as_file(file) as path:
            yield from read_tsv(path, options)

    with resources.as_file(file) as path:
        return _Input(name, {"starter": sha256_file(path), "columns": columns}, rows)
