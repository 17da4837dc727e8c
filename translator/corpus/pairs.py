"""Sentence pairs in a memory-mapped Arrow file, with a few numbers for each row that make checks cheap.

Duplicates, overlap and splits are worked out on 64-bit hashes, in pieces, so that a corpus of any size needs little
memory. Tables are kept in the cache under keys made of their content; `store` makes them of what is read.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from translator.corpus.cache import cache_key, cached
from translator.corpus.progress import Progress

SCHEMA = pa.schema([("source", pa.string()), ("target", pa.string())])
ROW = np.dtype([("pair", "<u8"), ("source", "<u8"), ("target", "<u8"), ("line", "<i8"), ("origin", "<i4")])
"""Of each row: hash of the exact pair, hashes of the normalised sides, and where it stood."""

BATCH_ROWS = 10_000
PIECE_ROWS = 1 << 20
"""Rows of the table of hashes that are held in memory at once."""

NUM_EXAMPLES = 3


@dataclass(frozen=True)
class Pairs:
    """Usable sentence pairs: a table with the columns source and target, and the `ROW` of each pair."""

    dataset: datasets.Dataset
    rows: NDArray[np.void]
    origins: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the hashes of the pairs in order: the content alone, no names or times."""
        digest = hashlib.sha256()
        for piece in self._pieces():
            digest.update(piece["pair"].tobytes())
        return digest.hexdigest()

    @cached_property
    def identity(self) -> str:
        """Hash of all of `rows`: the content and where it stood, without the names of files."""
        digest = xxhash.xxh3_128()
        for piece in self._pieces():
            digest.update(piece.tobytes())
        return digest.hexdigest()

    def contents(self) -> list[dict[str, Any]]:
        """Of each place the pairs came from: its name, how many there are, and the SHA-256 of their hashes."""
        digests, counts = [hashlib.sha256() for _ in self.origins], [0] * len(self.origins)
        for piece in self._pieces():
            for origin in np.unique(piece["origin"]).tolist():
                hashes = piece["pair"][piece["origin"] == origin]
                digests[origin].update(hashes.tobytes())
                counts[origin] += len(hashes)
        return [
            {"from": name, "pairs": count, "sha256": digest.hexdigest()}
            for name, count, digest in zip(self.origins, counts, digests, strict=True)
        ]

    def part(self, start: int, stop: int) -> "Pairs":
        """The rows from `start` up to `stop`, in the same files."""
        if (start, stop) == (0, len(self)):
            return self
        return Pairs(self.dataset.select(range(start, stop)), self.rows[start:stop], self.origins)

    def _pieces(self) -> Iterator[NDArray[np.void]]:
        return (self.rows[start : start + PIECE_ROWS] for start in range(0, len(self.rows), PIECE_ROWS))

    def locate(self, index: int) -> str:
        """Where row `index` came from, such as "train.en, line 7"."""
        row = self.rows[index]
        return f"{self.origins[row['origin']]}, line {row['line']}"

    def shown(self, index: int) -> dict[str, str]:
        """Row `index` with its place and both texts, for reports."""
        return {"place": self.locate(index), **self.dataset[index]}

    def examples(self, indices: Iterable[int]) -> list[str]:
        """The first few of `indices`, each with its line and the beginning of its source."""
        shown = [int(index) for index, _ in zip(indices, range(NUM_EXAMPLES), strict=False)]
        several = len(self.origins) > 1
        places = [self.locate(index) if several else f"line {self.rows['line'][index]}" for index in shown]
        return [f"{place}: {_shorten(text)}" for place, text in zip(places, self.dataset[shown]["source"], strict=True)]

    def select(self, keep: NDArray[np.bool_]) -> "Pairs":
        """The rows where `keep` is true, as a table of their own: reading by lists of indices is slow."""
        if keep.all():
            return self
        key = cache_key("select", self.identity, xxhash.xxh3_128_hexdigest(np.packbits(keep).tobytes()))

        def build(folder: Path) -> dict[str, Any]:
            start = 0
            with (
                Progress("Storing the pairs that stay", len(self)) as progress,
                pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer,
            ):
                for table in self.dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
                    writer.write_table(table.filter(pa.array(keep[start : start + len(table)])))
                    start += len(table)
                    progress.advance(len(table))
            kept = (self.rows[i : i + PIECE_ROWS][keep[i : i + PIECE_ROWS]] for i in range(0, len(keep), PIECE_ROWS))
            save_rows(folder, int(keep.sum()), kept)
            return {}

        num_bytes = self.dataset.data.nbytes + self.rows.nbytes
        folder, _ = cached(key, build, what="the table of the pairs that stay", num_bytes=num_bytes)
        return Pairs(open_table(folder), open_rows(folder), self.origins)


def join(parts: list[Pairs]) -> Pairs:
    """Several tables one after the other."""
    if len(parts) == 1:
        return parts[0]

    firsts = np.cumsum([0, *(len(part.origins) for part in parts)])

    def pieces() -> Iterator[NDArray[np.void]]:
        for first, part in zip(firsts, parts, strict=False):
            for piece in part._pieces():
                moved = np.array(piece)
                moved["origin"] += first
                yield moved

    def build(folder: Path) -> dict[str, Any]:
        save_rows(folder, sum(map(len, parts)), pieces())
        return {}

    key = cache_key("join", [[part.identity, len(part.origins)] for part in parts])
    num_bytes = sum(part.rows.nbytes for part in parts)
    folder, _ = cached(key, build, what="the table of hashes of all pairs", num_bytes=num_bytes)
    table = datasets.concatenate_datasets([part.dataset for part in parts])
    return Pairs(table, open_rows(folder), tuple(origin for part in parts for origin in part.origins))


def _shorten(text: str, width: int = 50) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def save_rows(folder: Path, num_rows: int, pieces: Iterable[NDArray[np.void]]) -> None:
    """Write rows.npy in pieces: of a large table it has a gigabyte."""
    with (folder / "rows.npy").open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(ROW), "fortran_order": False, "shape": (num_rows,)}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(np.ascontiguousarray(piece).tobytes())


def open_rows(folder: Path) -> NDArray[np.void]:
    """The rows.npy of a folder, mapped; a pickle in it is never run."""
    rows: NDArray[np.void] = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
    return rows


def open_table(folder: Path) -> datasets.Dataset:
    """The pairs.arrow of a folder, mapped."""
    return datasets.Dataset.from_file(str(folder / "pairs.arrow"))
