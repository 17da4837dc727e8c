"""One entrance for every format: where pairs lie, as the config says it, becomes a table of pairs.

A reader is a function (file, options) -> rows of (line, source, target). Which one a file needs is said by
`format`, or found by its content and name (`find`); lines of two text files are the one format that takes two files.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import datasets

from translator.corpus.find import FORMATS, Found, check_shards, format_of, names_in, names_of, pairs_of_files
from translator.corpus.packing import File, archive, is_packed, matching
from translator.corpus.pairs import Pairs
from translator.corpus.read_gettext import read_mo, read_po
from translator.corpus.read_hub import hub_commit, load_hub, rows_of_dataset, stream_hub
from translator.corpus.read_parquet import read_arrow, read_parquet
from translator.corpus.read_sheets import read_sheet
from translator.corpus.read_tables import ReadOptions, Row, list_names, read_csv, read_jsonl, read_tsv
from translator.corpus.read_text import read_aligned
from translator.corpus.read_tmx import read_tmx
from translator.corpus.read_xliff import read_xliff
from translator.corpus.store import Part, Tally, store_parts
from translator.errors import CorpusError
from translator.files import check_inside, sha256_file
from translator.markup import apply

Reader = Callable[[File, ReadOptions], Iterator[Row]]
HashOf = Callable[[Path], Any]
READERS: dict[str, Reader] = {
    "tsv": read_tsv,
    "csv": read_csv,
    "jsonl": read_jsonl,
    "tmx": read_tmx,
    "xliff": read_xliff,
    "po": read_po,
    "mo": read_mo,
    "sheet": read_sheet,
    "parquet": read_parquet,
    "arrow": read_arrow,
}
BARE = {"text", "tsv", "csv"}
"""Formats of hardly more than the texts themselves."""

LOOK_BYTES = 1 << 20

STARTER_LANGUAGES = ("en", "it")

_TABLES = frozenset({"tsv", "csv", "jsonl", "sheet", "parquet", "arrow"})
ASKED_BY = {
    "source_column": _TABLES,
    "target_column": _TABLES,
    "header": frozenset({"tsv", "csv", "sheet"}),
    "sheet": frozenset({"sheet"}),
    "states": frozenset({"xliff"}),
    "fuzzy": frozenset({"po"}),
    "obsolete": frozenset({"po"}),
}
"""Options of a place -> the formats whose readers ask for them."""
NOT_GIVEN = {"split": "train", "fuzzy": False, "obsolete": False}
"""Options of a place -> the value that they have where nobody gave them, if it is not None."""


@dataclass(frozen=True)
class ReadResult:
    """What was read from one place.

    Attributes:
        name: how messages call the place.
        pairs: the usable pairs.
        num_rows: rows in the input, used or not.
        skipped: rows that hold no pair, by reason.
        examples: of each reason, a few line numbers.
        notes: sentences for the user about how the input was understood.
        unused: sentences about options that change nothing in this place.
    """

    name: str
    pairs: Pairs
    num_rows: int
    skipped: dict[str, int]
    examples: dict[str, str]
    notes: list[str]
    unused: list[str]

    @property
    def dataset(self) -> datasets.Dataset:
        """The usable pairs: string columns source and target, memory-mapped."""
        return self.pairs.dataset


@dataclass(frozen=True)
class _Input:
    """One place of pairs: its name in messages, what decides its content, how to begin reading it, about how many bytes
    its texts have (0: not known), and sentences about options that change nothing in it."""

    name: str
    identity: dict[str, Any]
    parts: Callable[[], Iterator[Part]]
    text_bytes: int = 0
    unused: list[str] = field(default_factory=list)


def read_pairs(
    files: Any,
    *,
    source_language: str,
    target_language: str,
    key: str = "corpus",
    markup: str = "keep",
    most_rows: int | None = None,
) -> ReadResult:
    """Read the sentence pairs of one place into a memory-mapped table, kept in the cache folder.

    Args:
        files: a mapping (or pydantic model) with source and target, or path, or hub, or starter, and the
            optional keys of `config.Files`; a path alone means {path: ...}.
        source_language, target_language: as the columns of tables may be named, such as "en" and "it"; what
            `files` says of its languages goes before.
        key: the setting that named the files, for messages.
        markup: what becomes of inline codes (`translator.markup.MODES`), where `files` does not say it.
        most_rows: no more rows are read, for a quick look; what is in the files is then told by where they are, their
            size and time, and how they begin.

    Raises:
        CorpusError: nothing can be read, or no usable pair is there; each message says where and what to do.
    """
    fields = _fields(files)
    states = fields.get("states")
    options = ReadOptions(
        languages=(fields.get("source_language", source_language), fields.get("target_language", target_language)),
        source_column=fields.get("source_column"),
        target_column=fields.get("target_column"),
        header=fields.get("header"),
        sheet=fields.get("sheet"),
        states=None if states is None else tuple(states),
        fuzzy=fields.get("fuzzy", False),
        obsolete=fields.get("obsolete", False),
    )
    place = _place(fields, options, key, sha256_file if most_rows is None else _first_look)
    mode = str(fields.get("markup") or markup)
    identity = {**place.identity, "markup": mode}
    pairs, tally = store_parts(
        identity if most_rows is None else {**identity, "most_rows": most_rows},
        place.name,
        lambda: ((part, _with_markup(rows, mode)) for part, rows in _first_rows(place.parts(), most_rows)),
        num_bytes=_size(fields) if most_rows is None else 0,
        text_bytes=place.text_bytes if most_rows is None else 0,
    )
    if not len(pairs):
        raise CorpusError(f"no usable pairs in {place.name}: {_why_none(tally)}")
    notes = []
    if tally.num_folded:
        notes.append(f"{place.name}: {tally.num_folded} pairs had a line break inside; it became a space")
    examples = {reason: _lines(tally, reason) for reason in tally.lines}
    return ReadResult(place.name, pairs, tally.num_rows, tally.skipped, examples, notes, place.unused)


def _fields(files: Any) -> dict[str, Any]:
    if isinstance(files, str | Path):
        return {"path": files}
    dumped = files if isinstance(files, Mapping) else files.model_dump()
    return {name: value for name, value in dumped.items() if value is not None}


def _first_rows(parts: Iterator[Part], most_rows: int | None) -> Iterator[Part]:
    """Parts up to the one in which `most_rows` rows end; None: all."""
    left = most_rows

    def counted(rows: Iterator[Row]) -> Iterator[Row]:
        nonlocal left
        for row in islice(rows, left):
            if left is not None:
                left -= 1
            yield row

    for part, rows in parts:
        if left == 0:
            return
        yield part, counted(rows)


def _with_markup(rows: Iterator[Row], mode: str) -> Iterator[Row]:
    """Rows of text alone: codes that a format marks, and those in its text, as the mode says."""
    for line, source, target in rows:
        if mode == "keep" and isinstance(source, str) and isinstance(target, str):
            yield line, source, target
        elif isinstance(source, str | tuple) and isinstance(target, str | tuple):
            yield line, *apply(mode, source, target)
        else:
            yield line, source, target


def _size(fields: Mapping[str, Any]) -> int:
    """Bytes of the files of a place: about those of its table. 0 where they are not known."""
    files = [Path(fields[name]) for name in ("source", "target", "path") if name in fields]
    return sum(file.stat().st_size for file in files if file.is_file())


def _first_look(file: Path) -> list[Any]:
    """What tells a file apart without all of it being read: where it is, its size and time, and how it begins."""
    state = file.stat()
    with file.open("rb") as opening:
        head = hashlib.sha256(opening.read(LOOK_BYTES)).hexdigest()
    return [str(file.resolve()), state.st_size, state.st_mtime_ns, head]


def _text_bytes(found: list[Found]) -> int:
    """Bytes of files that hold hardly more than the texts of the pairs, neither marks nor packed; else 0."""
    files = [file for one in found for file in one.files if isinstance(file, Path) and not is_packed(file)]
    if {one.format for one in found} <= BARE and len(files) == sum(len(one.files) for one in found):
        return sum(file.stat().st_size for file in files)
    return 0


def _lines(tally: Tally, reason: str) -> str:
    """ "lines 3, 7", or "a.po, line 3; b.po, line 7" where the input has several files."""
    numbers, parts = tally.lines[reason], [tally.parts[place] for place in tally.places[reason]]
    if any(parts):
        return "; ".join(f"{part}, line {number}" for part, number in zip(parts, numbers, strict=True))
    return ("lines " if len(numbers) > 1 else "line ") + ", ".join(map(str, numbers))


def _why_none(tally: Tally) -> str:
    if not tally.num_rows:
        return "no rows at all"
    return "; ".join(f"{reason} ({count})" for reason, count in tally.skipped.items())


def _place(fields: Mapping[str, Any], options: ReadOptions, key: str, hash_of: HashOf) -> _Input:
    if "hub" in fields:
        return _hub_input(fields, options)
    if "starter" in fields:
        return _starter_input(str(fields["starter"]), options)
    if "source" in fields and "target" in fields:
        source = _existing(fields["source"], f"{key}.source")
        target = _existing(fields["target"], f"{key}.target")
        both = [Found("", "text", (source, target))]
        identity = {"format": "text", "source": hash_of(source), "target": hash_of(target)}
        return _Input(f"{source} and {target}", identity, lambda: _parts(both, options), _text_bytes(both))
    if "path" not in fields:
        raise CorpusError(f"{key} says no place; give source and target, path, hub or starter")
    path = _existing(fields["path"], f"{key}.path", folder=True)
    if path.is_dir():
        return _folder_input(path, fields, options, key, hash_of)
    detected = format_of(path)
    if detected == "archive":
        return _archive_input(path, fields, options, key, hash_of)
    form = fields.get("format") or detected
    if form is None:
        raise CorpusError(
            f"{key}.path: the ending of {path} names no format; known are {', '.join(FORMATS)} (also with .gz, .bz2, "
            f".xz or .zst): set format, or give line-aligned text as source and target"
        )
    if form == "text":
        raise CorpusError(f"{path}: format text means two files; give them as source and target, without format")
    unused = _unused(fields, key, path, {form}, several=False)
    return _found_input(str(path), [Found("", form, (path,))], options, unused, hash_of)


def _unused(fields: Mapping[str, Any], key: str, path: Path, formats: set[str], *, several: bool) -> list[str]:
    """Sentences about options that change nothing in a file, or in a folder or archive (`several`) of these formats.

    Where no formats are given they are not known.
    """
    reasons: dict[str, str] = {}
    if not several:
        reasons = dict.fromkeys(("members", "split"), f"{path} is one file")
    elif "members" in fields or fields.get("format", "text") != "text":
        reasons = {"split": f"every file of {path} that fits members and format is read"}
    if formats:
        said = f"{path} is read as {', '.join(sorted(formats))}"
        reasons |= {option: said for option, asking in ASKED_BY.items() if not asking & formats}
    return [
        f"{key}.{option} has no effect: {reason}"
        for option, reason in reasons.items()
        if fields.get(option) not in (None, NOT_GIVEN.get(option))
    ]


def _existing(path: Any, key: str, *, folder: bool = False) -> Path:
    found = Path(path)
    if not found.exists():
        raise CorpusError(f"{key}: there is no file {found}")
    if found.is_dir() and not folder:
        raise CorpusError(f"{key}: {found} is a folder, and a file is needed here")
    if not found.is_dir() and not found.is_file():
        raise CorpusError(f"{key}: {found} is a pipe or a device, and it must be a file, which is read several times")
    return found


def _options_identity(options: ReadOptions) -> list[Any]:
    return list(vars(options).values())


def _parts(found: list[Found], options: ReadOptions) -> Iterator[Part]:
    return ((one.name, _rows(one, options)) for one in found)


def _rows(found: Found, options: ReadOptions) -> Iterator[Row]:
    if found.format == "text":
        source, target = found.files
        return read_aligned(source, target)
    return READERS[found.format](found.files[0], options)


def _found_input(name: str, found: list[Found], options: ReadOptions, unused: list[str], hash_of: HashOf) -> _Input:
    """Files on disk: their content decides, and in a folder their names, since they are told as the pairs' origin."""
    files = [[one.name, one.format, [hash_of(file) for file in one.files if isinstance(file, Path)]] for one in found]
    identity = {"files": files, "options": _options_identity(options)}
    return _Input(name, identity, lambda: _parts(found, options), _text_bytes(found), unused)


def _chosen(named: list[tuple[str, File]], fields: Mapping[str, Any], options: ReadOptions, place: Path) -> list[Found]:
    """What is to be read of a folder or an archive: what `members` and `format` say, else all that is understood."""
    pattern, form, split = fields.get("members"), fields.get("format"), str(fields.get("split", "train"))
    fitting = [(name, file) for name, file in named if matching(name, pattern)]
    if form not in (None, "text"):
        found = others = [Found(name, form, (file,)) for name, file in fitting]
    else:
        found, others = (
            [one for one in pairs_of_files(fitting, options.languages, words) if form in (None, one.format)]
            for words in (None if pattern else split, None)
        )
    if found:
        if not pattern:
            check_shards(found, place)
        return found
    if others:
        names = list_names([one.name for one in others])
        raise CorpusError(f"{place} has no split {split!r} among its files ({names}); choose one with split")
    source, target = options.languages
    raise CorpusError(
        f"{place} holds no files of a known format and no two text files for {source} and {target} (such as "
        f"{source}.txt and {target}.txt, or train.{source} and train.{target})"
        f"{f' among those that fit members: {pattern}' if pattern else ''}; "
        f"there: {list_names([name for name, _ in named])} (what a README.md or a script names is not read)"
    )


def _folder_input(folder: Path, fields: Mapping[str, Any], options: ReadOptions, key: str, hash_of: HashOf) -> _Input:
    found = _chosen(names_in(folder), fields, options, folder)
    for file in (file for one in found for file in one.files if isinstance(file, Path)):
        check_inside(file, folder, CorpusError)
    unused = _unused(fields, key, folder, {one.format for one in found}, several=True)
    return _found_input(str(folder), found, options, unused, hash_of)


def _archive_input(path: Path, fields: Mapping[str, Any], options: ReadOptions, key: str, hash_of: HashOf) -> _Input:
    def parts() -> Iterator[Part]:
        with archive(path) as members:
            for found in _chosen(names_of(members), fields, options, path):
                yield found.name, _rows(found, options)

    choice = [fields.get(key) for key in ("members", "format", "split")]
    identity = {"archive": hash_of(path), "choice": choice, "options": _options_identity(options)}
    formats = {str(fields["format"])} if "format" in fields else set()
    unused = _unused(fields, key, path, formats, several=True)
    return _Input(str(path), identity, parts, unused=unused)


def _hub_input(fields: Mapping[str, Any], options: ReadOptions) -> _Input:
    hub, subset, revision = str(fields["hub"]), fields.get("subset"), fields.get("revision")
    split, name = str(fields.get("split", "train")), f"hub data set {hub}"
    if not fields.get("streaming"):
        return _dataset_input(load_hub(hub, subset=subset, split=split, revision=revision), name, options)
    commit = hub_commit(hub, revision)
    identity = {"hub": [hub, subset, split, commit], "options": _options_identity(options)}
    rows = partial(stream_hub, hub, options, subset=subset, split=split, commit=commit)
    return _Input(name, identity, lambda: iter([("", rows())]))


def _dataset_input(dataset: datasets.Dataset, name: str, options: ReadOptions) -> _Input:
    identity = {"dataset": dataset._fingerprint, "options": [options.languages, options.columns]}
    return _Input(name, identity, lambda: iter([("", rows_of_dataset(dataset, name, options))]))


def _starter_input(part: str, options: ReadOptions) -> _Input:
    """A part of the corpus inside the package; it can be read in both directions."""
    name = f"the starter corpus ({part})"
    languages = options.languages
    if set(languages) != set(STARTER_LANGUAGES):
        raise CorpusError(f"{name} is English and Italian (en, it), not {' and '.join(languages)}")
    columns = [STARTER_LANGUAGES.index(language) for language in languages]
    file = resources.files("translator") / "starter" / f"{part}.tsv"
    if not file.is_file():
        raise CorpusError(f"there is no part {part!r} in the starter corpus")
    options = ReadOptions(languages, source_column=columns[0], target_column=columns[1])

    def rows() -> Iterator[Row]:
        with resources.as_file(file) as path:
            yield from read_tsv(path, options)

    with resources.as_file(file) as path:
        return _Input(name, {"starter": sha256_file(path), "columns": columns}, lambda: iter([("", rows())]))
