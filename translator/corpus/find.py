"""Which format a file has, and which files of a folder or an archive hold pairs of two languages."""

import re
import zipfile
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from translator.corpus.languages import fold, fold_name, likeness_of_name
from translator.corpus.packing import BAD_ZIP, ENDINGS, File, Member, read_head
from translator.errors import CorpusError

FORMATS = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".tmx": "tmx",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".po": "po",
    ".mo": "mo",
    ".xlsx": "sheet",
    ".xlsm": "sheet",
    ".xlsb": "sheet",
    ".xls": "sheet",
    ".ods": "sheet",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".zip": "archive",
    ".tar": "archive",
    ".tgz": "archive",
    ".tbz2": "archive",
    ".txz": "archive",
    ".tzst": "archive",
}
"""Endings of names -> formats; each may be followed by one of `packing.ENDINGS`."""

DOCUMENTS = frozenset({"tmx", "xliff", "po", "mo"})
COLUMNAR = frozenset({"parquet", "arrow"})

SPLIT_WORDS = (
    {"train", "training"},
    {"validation", "valid", "val", "dev"},
    {"test", "testing", "eval", "evaluation"},
)
"""Words in file names that mean the same split, as `datasets` reads them."""

BACKUPS = ("~", ".bak", ".orig", ".old", ".tmp")
"""Endings of copies that programs leave beside a file."""

SHARD = re.compile(r"(.*)-(\d{5,})-of-(\d{5,})")
"""Names of the numbered files that one table was written to."""

_XML_ROOT = re.compile(
    r"(?s)\ufeff?(?:\s|<\?[^>]*>|<!--(?:(?!-->).)*-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)*"
    r"<(?:[\w.-]+:)?(tmx|xliff)[\s>]"
)
_PO_BEGINNING = re.compile(r'(?:#[^\n]*\n|\s)*msg(?:id|ctxt)\s+"')


@dataclass(frozen=True)
class Found:
    """Files that give pairs: one of some format, or two with the format "text" whose lines belong together."""

    name: str
    """Where in the folder or archive; "" for a place that is this file."""
    format: str
    files: tuple[File, ...]


def ending_format(name: str) -> str | None:
    """The format that the ending of a name tells."""
    return FORMATS.get(Path(_without_packing(name)).suffix)


def _without_packing(name: str) -> str:
    lower = name.lower()
    return next((lower.removesuffix(ending) for ending in ENDINGS if lower.endswith(ending)), lower)


def format_of(file: File) -> str | None:
    """The format of a file by its content where that is sure, else by its name, else by what its text looks like."""
    head = read_head(file)
    by_name = ending_format(file.name)
    if head.startswith(b"PK\x03\x04"):
        return "sheet" if by_name == "sheet" or (isinstance(file, Path) and _is_workbook(file)) else "archive"
    for magic, form in (
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "sheet"),
        (b"PAR1", "parquet"),
        (b"\xde\x12\x04\x95", "mo"),
        (b"\x95\x04\x12\xde", "mo"),
    ):
        if head.startswith(magic):
            return form
    if head[257:262] == b"ustar":
        return "archive"
    text = _decoded(head)
    root = _XML_ROOT.match(text)
    return root[1] if root else by_name or _format_of_text(text)


def document_format(file: File) -> str | None:
    """The format of an XML document in a folder or an archive, whose name tells none.

    Nothing else there is known by its content: notes may look like a table, and a compiled catalog repeats a .po.
    """
    if file.name.lower().endswith(BACKUPS) or (isinstance(file, Path) and not file.is_file()):
        return None
    try:
        root = _XML_ROOT.match(_decoded(read_head(file)))
    except CorpusError:  # what is damaged or locked was not meant
        return None
    return root[1] if root else None


def _decoded(head: bytes) -> str:
    """The beginning of a file as text, good enough to know what it is."""
    if head.startswith((b"\xff\xfe", b"<\0")):
        return head.decode("utf-16-le", "replace")
    if head.startswith((b"\xfe\xff", b"\0<")):
        return head.decode("utf-16-be", "replace")
    return head.decode("utf-8", "replace")


def _format_of_text(text: str) -> str | None:
    text = text.removeprefix("\ufeff")
    if _PO_BEGINNING.match(text):
        return "po"
    if text.lstrip().startswith("{"):
        return "jsonl"
    lines = text.split("\n")[:-1] or [text]  # the last may be cut
    return "tsv" if all(line.count("\t") == lines[0].count("\t") > 0 for line in lines) else None


def _is_workbook(path: Path) -> bool:
    with suppress(*BAD_ZIP), zipfile.ZipFile(path) as archive:  # what is damaged is told by who reads it
        names = set(archive.namelist())
        if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
            return b"opendocument.spreadsheet" in archive.read("mimetype")
        return bool(names & {"xl/workbook.xml", "xl/workbook.bin"})
    return False


def pairs_of_files(files: Iterable[tuple[str, File]], languages: tuple[str, str], split: str | None) -> list[Found]:
    """What holds pairs among named files: those of a known format, and pairs of text files named by language.

    Of text files, `en.txt` and `it.txt` belong together, `train.en` and `train.it`, `a/news-en.txt.gz` and
    `a/news-it.txt.gz`, `en/1.txt` and `it/1.txt`; a language may have a region (`train.en-US`). Where names hold words
    for splits, only those of `split` are taken; where none names training, those without such a word are for it. None
    takes all.

    Beside Parquet and Arrow files, and in what `save_to_disk` wrote, files of other formats only tell about them.
    """
    named = dict(files)
    formats = {name: form for name in named if (form := ending_format(name)) not in (None, "archive")}
    if COLUMNAR & set(formats.values()) or any(Path(name).name == "state.json" for name in named):
        found = [Found(name, form, (named[name],)) for name, form in formats.items() if form in COLUMNAR]
        # What save_to_disk wrote of one table belongs to every split.
        return _of_split(found, "train" if split and "state.json" in named else split, languages)
    texts = [_by_key(named, *pair) for pair in (languages, languages[::-1])]
    couples = [(texts[0][key], texts[1][key]) for key in texts[0].keys() & texts[1].keys()]
    found = [
        Found(f"{source} and {target}", "text", (named[source], named[target]))
        for source, target in couples
        if source != target
    ]
    others = set(named) - {name for couple in couples for name in couple}
    formats |= {name: form for name in others if ending_format(name) is None and (form := document_format(named[name]))}
    found += [Found(name, form, (named[name],)) for name, form in formats.items()]
    return _of_split(sorted(found, key=lambda one: one.name), split, languages)


def _by_key(names: Iterable[str], language: str, other: str) -> dict[str, str]:
    """The text files in a language by their names without it; where several have the same, the one that fits best."""
    found: dict[str, tuple[int, str]] = {}
    for name in names:
        for key, rank in _language_keys(name, language, other):
            found[key] = min(found.get(key, (rank, name)), (rank, name))
    return {key: name for key, (_, name) in found.items()}


def _language_keys(name: str, language: str, other: str) -> list[tuple[str, int]]:
    """Names of a text file with its language taken out, and how well that fits; empty where its name has it not.

    train.it-it may be of the region IT, or one half of what train.it-en is the other of.
    """
    if ending_format(name) is not None:
        return []

    def fit(code: str) -> int | None:
        rank = likeness_of_name(language, code)
        return None if rank == 1 and fold(other) in code.split("-") else rank  # en-it names both

    stem = _without_packing(name)
    *folders, base = fold_name(stem.removesuffix(".txt")).split("/")
    starts = [0, *(match.end() for match in re.finditer(r"[.\-]", base))]
    keys = [("/".join([*folders, base[:start] + "*"]), fit(base[start:])) for start in starts]
    if all(rank is None for _, rank in keys) and stem.endswith(".txt"):
        places = [number for number, folder in enumerate(folders) if fit(folder) is not None]
        keys = [("/".join([*folders[:n], "*", *folders[n + 1 :], base]), fit(folders[n])) for n in places[-1:]]
    return [(key, rank) for key, rank in keys if rank is not None]


def _of_split(found: Sequence[Found], split: str | None, languages: Collection[str]) -> list[Found]:
    if split is None:
        return list(found)
    group = next((words for words in SPLIT_WORDS if split in words), {split})
    words = {one.name: _words(one, languages) for one in found}
    chosen = [one for one in found if words[one.name] & group]
    if chosen or split != "train":
        return chosen
    # Files that name no split at all are the training set.
    return [one for one in found if not words[one.name] & set().union(*SPLIT_WORDS)]


def _words(found: Found, languages: Collection[str]) -> set[str]:
    """Words in the name that may tell a split. Documents have names of their own, such as valid-checker.md.xlf, so
    that the name of one must hold nothing else.
    """
    if found.format not in DOCUMENTS:
        return set(re.findall(r"[a-z]+", found.name.lower()))
    stem = Path(_without_packing(found.name)).stem
    words = set(re.findall(r"[a-z]{3,}", stem.lower())) - {fold(language) for language in languages}
    return words if len(words) == 1 else set()


def check_shards(found: Iterable[Found], place: Path) -> None:
    """Refuse a table that lacks some of its numbered files.

    Raises:
        CorpusError: it does; how many there are is told.
    """
    there: dict[tuple[str, int], int] = {}
    for one in found:
        stem, _, _ = _without_packing(one.name).rpartition(".")
        if shard := SHARD.fullmatch(stem):
            table = (shard[1], int(shard[3]))
            there[table] = there.get(table, 0) + 1
    for (name, total), count in there.items():
        if count < total:
            raise CorpusError(f"{place} has {count} of the {total} files {name}-*; copy it again")


def names_in(folder: Path) -> list[tuple[str, File]]:
    """What is in a folder and below it by its name there, sorted; folders and hidden files are left out.

    Left out are also the cache-*.arrow that `datasets` leaves beside what `save_to_disk` wrote.
    """
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return [
        (path.relative_to(folder).as_posix(), path)
        for path in paths
        if not path.name.startswith(".") and not path.match("cache-*.arrow")
    ]


def names_of(members: Iterable[Member]) -> list[tuple[str, File]]:
    """The members of an archive by their names; hidden ones, and what macOS adds, are left out."""
    return [
        (member.name, member)
        for member in members
        if not member.name.rpartition("/")[2].startswith(".") and not member.name.startswith("__MACOSX/")
    ]
