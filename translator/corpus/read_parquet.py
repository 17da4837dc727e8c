"""Parquet files, read by row groups, only the columns that hold the pairs."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from translator.corpus.packing import File, whole
from translator.corpus.read_tables import ReadOptions, Row, choose_columns, pick_columns
from translator.errors import CorpusError

BATCH_ROWS = 1000


def read_parquet(file: File, options: ReadOptions) -> Iterator[Row]:
    """Pairs of two columns, or of a column `translation` with a field for each language; lines are rows from 1.

    Raises:
        CorpusError: the file is damaged, or no two columns can be found.
    """
    try:
        with whole(file) as path, pq.ParquetFile(path, memory_map=True) as table:
            schema = table.schema_arrow
            pick = pick_columns(file, [{field.name: _example(field.type) for field in schema}], options)
            number = 0
            for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=_wanted(schema.names, options)):
                for row in batch.to_pylist():
                    number += 1
                    yield number, *pick(row)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file} cannot be read as Parquet: {str(error).splitlines()[0]}") from error


def _example(kind: Any) -> dict[str, None] | None:
    """A value that shows `pick_columns` the languages of a struct."""
    return {kind.field(i).name: None for i in range(kind.num_fields)} if pa.types.is_struct(kind) else None


def _wanted(names: list[str], options: ReadOptions) -> list[str]:
    found = options.columns or choose_columns(names, options.languages)
    return [str(name) for name in found] if found else ["translation"]
