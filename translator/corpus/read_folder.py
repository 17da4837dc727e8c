"""Parquet and Arrow files of a local folder: as `save_to_disk` writes them, or in the layout of a hub data set.

They are read here and not by `datasets`: that library reads what a README.md in the folder names, files elsewhere on
the machine and addresses in the network too, and takes the folder's own word for what its content is. Nothing in the
folder but the data files themselves is looked at. Cells are bounded, since a few kilobytes can stand for gigabytes.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from translator.corpus.read_tables import CELL_LIMIT, Row, TableOptions, pick_columns
from translator.errors import CorpusError
from translator.files import check_inside

ENDINGS = (".parquet", ".arrow")
SPLIT_WORDS = (
    {"train", "training"},
    {"validation", "valid", "val", "dev"},
    {"test", "testing", "eval", "evaluation"},
)
"""Words in file names that mean the same split, as `datasets` reads them."""

BATCH_ROWS = 1000
SHARD = re.compile(r"(.*)-(\d{5,})-of-(\d{5,})")


def split_files(folder: Path, endings: tuple[str, ...], split: str) -> list[Path]:
    """The files of a split in a folder, by their endings and by the words of their paths.

    Raises:
        CorpusError: one of them is no plain file, or a link that leaves the folder.
    """
    found = (path for path in folder.rglob("*") if path.name.lower().endswith(endings))
    # Hidden files are none of the data; cache-*.arrow are left by `datasets` beside what save_to_disk wrote.
    files = sorted(path for path in found if not path.name.startswith((".", "cache-")) and not path.is_dir())
    group = next((words for words in SPLIT_WORDS if split in words), {split})
    words = {path: _words(path.relative_to(folder)) for path in files}
    chosen = [path for path in files if words[path] & group]
    if not chosen and split == "train":  # files that name no split at all are the training set
        chosen = [path for path in files if not words[path] & set().union(*SPLIT_WORDS)]
    for path in chosen:
        check_inside(path, folder, CorpusError)
    return chosen


def _words(path: Path) -> set[str]:
    return set(re.findall(r"[a-z]+", str(path).lower()))


def is_columnar(folder: Path) -> bool:
    """Whether a folder holds Parquet or Arrow files, or was written by `save_to_disk`."""
    return any(path.suffix in ENDINGS or path.name == "state.json" for path in folder.rglob("*"))


def columnar_files(folder: Path, split: str) -> list[Path]:
    """The Parquet and Arrow files of a split in a folder.

    Raises:
        CorpusError: there are none, or one of several numbered files is missing.
    """
    # What save_to_disk wrote of one table belongs to every split.
    whole = (folder / "state.json").exists()
    files = split_files(folder, ENDINGS, "train" if whole else split)
    if not files:
        others = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in ENDINGS)
        listed = ", ".join(others[:5]) or "none"
        raise CorpusError(
            f"{folder} has no split {split!r} among its .parquet, .arrow and table files ({listed}); "
            f"files of other kinds, scripts and what a README.md names are not read"
        )
    for path in files:
        if shard := SHARD.fullmatch(path.stem):
            name, _, total = shard.groups()
            there = sum(other.parent == path.parent and other.stem.startswith(f"{name}-") for other in files)
            if there < int(total):
                raise CorpusError(f"{folder} has {there} of the {int(total)} files {name}-*; copy it again")
    return files


def rows_of_files(files: list[Path], place: str, options: TableOptions) -> Iterator[Row]:
    """Rows of Parquet and Arrow files in the columns that `pick_columns` finds; the number counts from 1.

    Raises:
        CorpusError: a file is damaged, has other columns than the first, or holds a cell of over a megabyte.
    """
    number = 0
    ways: list[list[str]] | None = None
    for file in files:
        with _told(file), _open(file) as (schema, read):
            if ways is None:
                ways = _ways(schema, place, options)
            for way in ways:
                _check_type(file, schema, way)
            for batch in read(list(dict.fromkeys(way[0] for way in ways)), [".".join(way) for way in ways]):
                source, target = (_texts(batch, way, file) for way in ways)
                for left, right in zip(source, target, strict=True):
                    number += 1
                    yield number, left.as_py(), right.as_py()


@contextmanager
def _told(file: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CorpusError(f"{file} is damaged or no data file: {reason[0].rstrip('.')}; copy it again") from error


@contextmanager
def _open(file: Path) -> Iterator[Any]:
    """The schema of a file, and how to read it: from names of columns and dotted leaves to batches of rows."""
    if file.suffix.lower() == ".parquet":
        with pq.ParquetFile(file) as parquet:
            # Left as they are stored: a value that a million rows repeat is held once.
            leaves = {column.path for column in map(parquet.schema.column, range(len(parquet.schema)))}

            def read(columns: list[str], texts: list[str]) -> Iterator[pa.RecordBatch]:
                with pq.ParquetFile(file, read_dictionary=[text for text in texts if text in leaves]) as reader:
                    yield from reader.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)

            yield parquet.schema_arrow, read
        return
    with pa.memory_map(str(file)) as mapped, pa.ipc.open_stream(mapped) as stream:

        def read_stream(columns: list[str], texts: list[str]) -> Iterator[pa.RecordBatch]:
            for batch in stream:
                batch = batch.select(columns)
                batch.validate(full=True)  # Arrow trusts a file's own offsets otherwise
                yield batch

        yield stream.schema, read_stream


def _ways(schema: pa.Schema, place: str, options: TableOptions) -> list[list[str]]:
    """The names that lead to source and target: a column, or a column and the language within it."""
    example: dict[str, object] = {field.name: _languages(field.type) or field.name for field in schema}
    found = [str(name) for name in pick_columns(place, [example], options)(example)]
    if all(name in example for name in found):
        return [[name] for name in found]
    return [["translation", name] for name in found]


def _languages(kind: pa.DataType) -> dict[str, str]:
    return {field.name: field.name for field in kind} if pa.types.is_struct(kind) else {}


def _check_type(file: Path, schema: pa.Schema, way: Collection[str]) -> None:
    field: Any = schema
    for name in way:
        index = field.get_field_index(name) if isinstance(field, pa.Schema | pa.StructType) else -1
        if index < 0:
            raise CorpusError(f"{file} has no column {'.'.join(way)}, and the first file of the folder has one")
        field = field.field(index).type
    kind = field.value_type if pa.types.is_dictionary(field) else field
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise CorpusError(f"{file}: the column {'.'.join(way)} holds {field}, not text")


def _texts(batch: pa.RecordBatch, way: list[str], file: Path) -> pa.Array:
    array = batch.column(way[0])
    for name in way[1:]:
        array = pc.struct_field(array, name)
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    longest = 0 if pa.types.is_null(values.type) else pc.max(pc.binary_length(values)).as_py() or 0
    if longest > CELL_LIMIT:
        raise CorpusError(f"{file}: a cell of {'.'.join(way)} holds {longest:,} bytes; this is no file of sentences")
    return array
