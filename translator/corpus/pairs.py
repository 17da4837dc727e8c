"""Sentence pairs in a memory-mapped Arrow file, with a few numbers for each row that make checks cheap.

Rows are streamed into the file, so a corpus of any size needs little memory; duplicates, overlap and splits
are worked out on 64-bit hashes. A finished table stays in the cache under a key made of the inputs' content.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from translator.corpus.cache import cache_key, cached
from translator.corpus.read_tables import Row, Unusable
from translator.errors import CorpusError

SCHEMA = pa.schema([("source", pa.string()), ("target", pa.string())])
ROW = np.dtype([("pair", "<u8"), ("source", "<u8"), ("target", "<u8"), ("line", "<i8"), ("origin", "<i4")])
"""Of each row: hash of the exact pair, hashes of the normalised sides, and where it stood."""

BATCH_ROWS = 10_000
NUM_EXAMPLES = 3


@dataclass(frozen=True)
class Pairs:
    """Usable sentence pairs: a table with the columns source and target, and the `ROW` of each pair."""

    dataset: datasets.Dataset
    rows: NDArray[np.void]
    origins: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the hashes of the pairs in order: the content alone, no names or times."""
        return hashlib.sha256(np.ascontiguousarray(self.rows["pair"]).tobytes()).hexdigest()

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
        key = cache_key("select", self.fingerprint, hashlib.sha256(np.packbits(keep).tobytes()).hexdigest())

        def build(folder: Path) -> dict[str, Any]:
            start = 0
            with pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer:
                for table in self.dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
                    writer.write_table(table.filter(pa.array(keep[start : start + len(table)])))
                    start += len(table)
            return {}

        folder, _ = cached(key, build)
        # Lines and origins are not part of the fingerprint, so they come from here and not from the cache.
        return Pairs(_open_table(folder), self.rows[keep], self.origins)


def join(parts: list[Pairs]) -> Pairs:
    """Several tables one after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.rows for part in parts])
    rows["origin"] = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    table = datasets.concatenate_datasets([part.dataset for part in parts])
    return Pairs(table, rows, tuple(part.origins[0] for part in parts))


@dataclass
class Tally:
    """Rows read, and rows skipped by reason with a few line numbers each."""

    num_rows: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    num_folded: int = 0

    def skip(self, reason: str, line: int) -> None:
        """Count a row that holds no pair."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < NUM_EXAMPLES:
            lines.append(line)


def store(identity: Mapping[str, Any], name: str, rows: Callable[[], Iterator[Row]]) -> tuple[Pairs, Tally]:
    """Read `rows` into a table in the cache, or find the one that an earlier run made of this `identity`.

    Args:
        identity: what decides the content, made of JSON values; with the same identity nothing is read again.
        name: how messages call the input.
        rows: begins to read.
    """

    def build(folder: Path) -> dict[str, Any]:
        tally = Tally()
        with pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer:
            parts = [np.empty(0, dtype=ROW)]
            for sources, targets, numbers in _usable_batches(rows(), tally):
                writer.write_batch(pa.record_batch([pa.array(sources), pa.array(targets)], schema=SCHEMA))
                parts.append(numbers)
        np.save(folder / "rows.npy", np.concatenate(parts))
        return vars(tally)

    folder, info = cached(cache_key("read", dict(identity)), build)
    try:
        numbers = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
        return Pairs(_open_table(folder), numbers, (name,)), Tally(**info)
    except (ValueError, TypeError) as error:  # right checksums, yet not what this module writes
        raise CorpusError(f"{folder} is not a table of the cache ({error}); delete the folder") from error


Batch = tuple[list[str], list[str], NDArray[np.void]]


def _usable_batches(rows: Iterator[Row], tally: Tally) -> Iterator[Batch]:
    sources: list[str] = []
    targets: list[str] = []
    lines: list[int] = []
    digests: list[bytes] = []
    for line, source, target in rows:
        tally.num_rows += 1
        if not (isinstance(source, str) and isinstance(target, str) and source.strip() and target.strip()):
            tally.skip(_why_unusable(source, target), line)
            continue
        if "\n" in source or "\n" in target or "\r" in source or "\r" in target:
            source, target = _one_line(source), _one_line(target)
            tally.num_folded += 1
        try:
            texts = (f"{source}\n{target}", normalise(source), normalise(target))
            digests += map(_digest, texts)
        except UnicodeEncodeError:  # JSON can spell half a character, "\ud83d", which no file can hold
            tally.skip("half a character (a lone surrogate)", line)
            continue
        sources.append(source)
        targets.append(target)
        lines.append(line)
        if len(lines) == BATCH_ROWS:
            yield sources, targets, _numbers(lines, digests)
            sources, targets, lines, digests = [], [], [], []
    if lines:
        yield sources, targets, _numbers(lines, digests)


def _why_unusable(source: object, target: object) -> str:
    if isinstance(source, Unusable):
        return source.reason
    sides = {"source": source, "target": target}
    for name, text in sides.items():
        if text is None:
            return f"{name} is missing"
        if not isinstance(text, str):
            return f"{name} is not text"
    empty = [name for name, text in sides.items() if not str(text).strip()]
    return "both sides are empty" if len(empty) == 2 else f"{empty[0]} is empty"


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


def normalise(text: str) -> str:
    """The form in which two sentences count as equal: NFC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _numbers(lines: list[int], digests: list[bytes]) -> NDArray[np.void]:
    hashes = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 3)
    numbers = np.zeros(len(lines), dtype=ROW)
    for column, name in enumerate(("pair", "source", "target")):
        numbers[name] = hashes[:, column]
    numbers["line"] = lines
    return numbers


def _shorten(text: str, width: int = 50) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _open_table(folder: Path) -> datasets.Dataset:
    return datasets.Dataset.from_file(str(folder / "pairs.arrow"))
