"""Sentence pairs in a memory-mapped Arrow file, with a few numbers for each row that make checks cheap.

Rows are streamed into the file, so a corpus of any size needs little memory; duplicates, overlap and splits
are worked out on 64-bit hashes. A finished table stays in the cache under a key made of the inputs' content.
"""

import hashlib
import json
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from translator.corpus.cache import cache_key, cached, parts_folder, usable_cores
from translator.corpus.progress import Progress
from translator.corpus.read_tables import Row, Unusable
from translator.errors import CorpusError
from translator.files import write_atomic

SCHEMA = pa.schema([("source", pa.string()), ("target", pa.string())])
ROW = np.dtype([("pair", "<u8"), ("source", "<u8"), ("target", "<u8"), ("line", "<i8"), ("origin", "<i4")])
"""Of each row: hash of the exact pair, hashes of the normalised sides, and where it stood."""

BATCH_ROWS = 10_000
PART_ROWS = 50_000
"""Rows that one process reads at once, and that are not read again after a kill."""

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
        for start in range(0, len(self.rows), PIECE_ROWS):
            digest.update(np.ascontiguousarray(self.rows["pair"][start : start + PIECE_ROWS]).tobytes())
        return digest.hexdigest()

    @cached_property
    def identity(self) -> str:
        """Hash of all of `rows`: the content and where it stood, without the names of files."""
        digest = xxhash.xxh3_128()
        for start in range(0, len(self.rows), PIECE_ROWS):
            digest.update(np.ascontiguousarray(self.rows[start : start + PIECE_ROWS]).tobytes())
        return digest.hexdigest()

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
            with pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer:
                for table in self.dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
                    writer.write_table(table.filter(pa.array(keep[start : start + len(table)])))
                    start += len(table)
            pieces = range(0, len(keep), PIECE_ROWS)
            _save_rows(
                folder, int(keep.sum()), (self.rows[i : i + PIECE_ROWS][keep[i : i + PIECE_ROWS]] for i in pieces)
            )
            return {}

        folder, _ = cached(key, build)
        return Pairs(_open_table(folder), _open_rows(folder), self.origins)


def join(parts: list[Pairs]) -> Pairs:
    """Several tables one after the other."""
    if len(parts) == 1:
        return parts[0]

    def pieces() -> Iterator[NDArray[np.void]]:
        for origin, part in enumerate(parts):
            for start in range(0, len(part), PIECE_ROWS):
                piece = np.array(part.rows[start : start + PIECE_ROWS])
                piece["origin"] = origin
                yield piece

    def build(folder: Path) -> dict[str, Any]:
        _save_rows(folder, sum(map(len, parts)), pieces())
        return {}

    folder, _ = cached(cache_key("join", [part.identity for part in parts]), build)
    table = datasets.concatenate_datasets([part.dataset for part in parts])
    return Pairs(table, _open_rows(folder), tuple(part.origins[0] for part in parts))


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

    def add(self, other: "Tally") -> None:
        """Count the rows of the part that follows, too."""
        self.num_rows += other.num_rows
        self.num_folded += other.num_folded
        for reason, number in other.skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + number
            lines = self.lines.setdefault(reason, [])
            lines += other.lines[reason][: NUM_EXAMPLES - len(lines)]


def store(identity: Mapping[str, Any], name: str, rows: Callable[[], Iterator[Row]]) -> tuple[Pairs, Tally]:
    """Read `rows` into a table in the cache, or find the one that an earlier run made of this `identity`.

    Args:
        identity: what decides the content, made of JSON values; with the same identity nothing is read again.
        name: how messages call the input.
        rows: begins to read.
    """

    key = cache_key("read", dict(identity))

    def build(folder: Path) -> dict[str, Any]:
        tally = Tally()
        with parts_folder(f"{key}-{PART_ROWS}") as parts, Progress(f"Reading {name}") as progress:
            numbers = []
            for number, part in enumerate(_in_parts(rows(), parts, progress)):
                tally.add(part)
                numbers.append(number)
            with pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer:
                for number in numbers:
                    with pa.ipc.open_stream(str(parts / f"{number}.arrow")) as reader:
                        for batch in reader:
                            writer.write_batch(batch)
            pieces = (np.load(parts / f"{number}.npy", allow_pickle=False) for number in numbers)
            _save_rows(folder, tally.num_rows - sum(tally.skipped.values()), pieces)
        return vars(tally)

    folder, info = cached(key, build)
    try:
        return Pairs(_open_table(folder), _open_rows(folder), (name,)), Tally(**info)
    except (ValueError, TypeError) as error:  # right checksums, yet not what this module writes
        raise CorpusError(f"{folder} is not a table of the cache ({error}); delete the folder") from error


def _in_parts(rows: Iterator[Row], folder: Path, progress: Progress) -> Iterator[Tally]:
    """Write the usable pairs of `rows` in parts NUMBER.arrow and NUMBER.npy; what each part holds, in order.

    Parts that an earlier process finished are not made again: their rows are only passed over. The first part is
    made here, the others by one process for each core.
    """
    waiting: deque[Future[Tally] | Tally] = deque()
    workers = usable_cores()
    with ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None
        for number in count():
            chunk = list(islice(rows, PART_ROWS))
            if not chunk:
                break
            if (done := _finished_part(folder, number)) is not None:
                waiting.append(done)
            elif number == 0 or workers == 1:
                waiting.append(_write_part(chunk, folder, number))
            else:
                # "spawn": a process that runs torch or the tokenizer's threads cannot be forked safely.
                pool = pool or stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn")))
                waiting.append(pool.submit(_write_part, chunk, folder, number))
            while len(waiting) > 2 * workers:
                yield _told(waiting.popleft(), progress)
        while waiting:
            yield _told(waiting.popleft(), progress)


def _told(part: "Future[Tally] | Tally", progress: Progress) -> Tally:
    tally = part if isinstance(part, Tally) else part.result()
    progress.advance(tally.num_rows)
    return tally


def _finished_part(folder: Path, number: int) -> Tally | None:
    try:
        return Tally(**json.loads((folder / f"{number}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write_part(rows: list[Row], folder: Path, number: int) -> Tally:
    tally = Tally()
    with pa.ipc.new_stream(str(folder / f"{number}.arrow"), SCHEMA) as writer:
        parts = [np.empty(0, dtype=ROW)]
        for sources, targets, numbers in _usable_batches(iter(rows), tally):
            writer.write_batch(pa.record_batch([pa.array(sources), pa.array(targets)], schema=SCHEMA))
            parts.append(numbers)
    np.save(folder / f"{number}.npy", np.concatenate(parts))
    write_atomic(folder / f"{number}.json", json.dumps(vars(tally)))  # the last: it says that the part is whole
    return tally


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


def _save_rows(folder: Path, num_rows: int, pieces: Iterable[NDArray[np.void]]) -> None:
    """Write rows.npy in pieces: of a large table it has a gigabyte."""
    with (folder / "rows.npy").open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(ROW), "fortran_order": False, "shape": (num_rows,)}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(np.ascontiguousarray(piece).tobytes())


def _open_rows(folder: Path) -> NDArray[np.void]:
    rows: NDArray[np.void] = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
    return rows


def _open_table(folder: Path) -> datasets.Dataset:
    return datasets.Dataset.from_file(str(folder / "pairs.arrow"))
