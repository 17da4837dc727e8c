"""Parquet and Arrow files: by themselves, in folders as `save_to_disk` writes them, or in those of a hub data set.

They are read here and not by `datasets`: that library reads what a README.md in the folder names, files elsewhere on
the machine and addresses in the network too, and takes the folder's own word for what its content is. Cells are
bounded, since a few kilobytes can stand for gigabytes.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from translator.corpus.packing import File, whole
from translator.corpus.read_tables import CELL_LIMIT, Row, TableOptions, pick_columns
from translator.errors import CorpusError

BATCH_ROWS = 1000

Read = Callable[[list[str], list[str]], Iterator[pa.RecordBatch]]
"""How to read a file: from names of columns and of the dotted leaves of interest to batches of rows."""


def read_parquet(file: File, options: TableOptions) -> Iterator[Row]:
    """Rows of a Parquet file in the columns that `pick_columns` finds; the number counts from 1.

    Raises:
        CorpusError: the file is damaged, has no two columns of text, or holds a cell of over a megabyte.
    """
    with _told(file), whole(file) as path, pq.ParquetFile(path) as parquet:
        leaves = {column.path for column in map(parquet.schema.column, range(len(parquet.schema)))}

        def read(columns: list[str], texts: list[str]) -> Iterator[pa.RecordBatch]:
            # Left as they are stored: a value that a million rows repeat is held once.
            with pq.ParquetFile(path, read_dictionary=[text for text in texts if text in leaves]) as reader:
                yield from reader.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)

        yield from _rows(file, parquet.schema_arrow, read, options)


def read_arrow(file: File, options: TableOptions) -> Iterator[Row]:
    """Rows of a file in Arrow's stream format, which `datasets` writes; else like `read_parquet`."""
    with _told(file), whole(file) as path, pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:

        def read(columns: list[str], texts: list[str]) -> Iterator[pa.RecordBatch]:
            for batch in stream:
                batch = batch.select(columns)
                batch.validate(full=True)  # Arrow trusts a file's own offsets otherwise
                yield batch

        yield from _rows(file, stream.schema, read, options)


def _rows(file: File, schema: pa.Schema, read: Read, options: TableOptions) -> Iterator[Row]:
    ways = _ways(schema, file, options)
    for way in ways:
        _check_type(file, schema, way)
    number = 0
    for batch in read(list(dict.fromkeys(way[0] for way in ways)), [".".join(way) for way in ways]):
        source, target = (_texts(batch, way, file) for way in ways)
        for left, right in zip(source, target, strict=True):
            number += 1
            yield number, left.as_py(), right.as_py()


@contextmanager
def _told(file: File) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CorpusError(f"{file} is damaged or no data file: {reason[0].rstrip('.')}; copy it again") from error


def _ways(schema: pa.Schema, file: File, options: TableOptions) -> list[list[str]]:
    """The names that lead to source and target: a column, or a column and the language within it."""
    example: dict[str, object] = {field.name: _languages(field.type) or field.name for field in schema}
    found = [str(name) for name in pick_columns(file, [example], options)(example)]
    if all(name in example for name in found):
        return [[name] for name in found]
    return [["translation", name] for name in found]


def _languages(kind: pa.DataType) -> dict[str, str]:
    return {field.name: field.name for field in kind} if pa.types.is_struct(kind) else {}


def _check_type(file: File, schema: pa.Schema, way: Collection[str]) -> None:
    field: Any = schema
    for name in way:
        index = field.get_field_index(name) if isinstance(field, pa.Schema | pa.StructType) else -1
        if index < 0:
            raise CorpusError(f"{file} has no column {'.'.join(way)}, or several")
        field = field.field(index).type
    kind = field.value_type if pa.types.is_dictionary(field) else field
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise CorpusError(f"{file}: the column {'.'.join(way)} holds {field}, not text")


def _texts(batch: pa.RecordBatch, way: list[str], file: File) -> pa.Array:
    array = batch.column(way[0])
    for name in way[1:]:
        array = pc.struct_field(array, name)
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    longest = 0 if pa.types.is_null(values.type) else pc.max(pc.binary_length(values)).as_py() or 0
    if longest > CELL_LIMIT:
        raise CorpusError(f"{file}: a cell of {'.'.join(way)} holds {longest:,} bytes; this is no file of sentences")
    return array
