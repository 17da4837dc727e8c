"""Rows that are read become a table of pairs in the cache, made in chunks by all cores.

Rows are streamed into the chunks, so a corpus of any size needs little memory; a process that is killed leaves those
that it has finished to the next one. A finished table stays under a key made of the inputs' content.
"""

import hashlib
import json
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from translator.corpus.cache import cache_key, cached, parts_folder
from translator.corpus.pairs import BATCH_ROWS, NUM_EXAMPLES, ROW, SCHEMA, Pairs, open_rows, open_table, save_rows
from translator.corpus.progress import Progress
from translator.corpus.read_tables import Row, Unusable
from translator.errors import CorpusError
from translator.files import new_folder
from translator.processes import pool, usable_cores

CHUNK_ROWS = 50_000
"""Rows that one process reads at once, and that are not read again after a kill."""

CHUNK_CHARACTERS, BATCH_CHARACTERS = 64 << 20, 16 << 20
"""A chunk, and a batch that is written at once, has not many more characters than these: lines can be long."""


@dataclass
class Tally:
    """Rows read, and rows skipped by reason with a few line numbers each.

    Attributes:
        parts: names of the files inside the input, such as an archive's; one "" where the input is one file.
        part: number of the file that is being read.
        lines: of each reason, line numbers.
        places: of each reason, the number of the part that each of these lines is in.
    """

    num_rows: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    num_folded: int = 0
    parts: list[str] = field(default_factory=list)
    part: int = 0

    def skip(self, reason: str, line: int) -> None:
        """Count a row of the part that is being read that holds no pair."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < NUM_EXAMPLES:
            lines.append(line)
            self.places.setdefault(reason, []).append(self.part)

    def add(self, other: "Tally") -> None:
        """Count the rows of the chunk that follows, too."""
        self.num_rows += other.num_rows
        self.num_folded += other.num_folded
        for reason, number in other.skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + number
            for own, others in ((self.lines, other.lines), (self.places, other.places)):
                numbers = own.setdefault(reason, [])
                numbers += others[reason][: NUM_EXAMPLES - len(numbers)]


Part = tuple[str, Iterator[Row]]
"""A file of an input with several ("" for the only one), and its rows."""


def store_parts(
    identity: Mapping[str, Any],
    name: str,
    parts: Callable[[], Iterator[Part]],
    *,
    num_bytes: int = 0,
    text_bytes: int = 0,
) -> tuple[Pairs, Tally]:
    """Read `parts` into a table in the cache, or find the one that an earlier run made of this `identity`.

    Args:
        identity: what decides the content, made of JSON values; with the same identity nothing is read again.
        name: how messages call the input.
        parts: begins to read; each part is read to its end before the next is asked for.
        num_bytes: about how large the table will be, for the message when it does not fit; 0: not known.
        text_bytes: about how many the texts of all rows have, as lines in files, for the time left; 0: not known.
    """
    key = cache_key("read", dict(identity))

    def build(folder: Path) -> dict[str, Any]:
        tally, stored, num_read = Tally(), [], 0
        with parts_folder(f"{key}-{CHUNK_ROWS}") as place:
            with Progress(f"Reading {name}") as progress:
                for chunk, counts in _write_chunks(_chunks(parts(), tally.parts), place):
                    tally.add(counts)
                    stored.append(chunk)
                    # As lines of text: the table has two offsets of four bytes where the files have two ends of lines.
                    num_read += (chunk / "pairs.arrow").stat().st_size - 6 * counts.num_rows
                    whole = round(text_bytes / num_read * tally.num_rows) if text_bytes and num_read > 0 else None
                    progress.advance(counts.num_rows, about=whole)
            num_pairs = tally.num_rows - sum(tally.skipped.values())
            with (
                Progress(f"Joining the parts of {name}", num_pairs) as progress,
                pa.ipc.new_stream(str(folder / "pairs.arrow"), SCHEMA) as writer,
            ):
                for chunk in stored:
                    with pa.ipc.open_stream(str(chunk / "pairs.arrow")) as reader:
                        for batch in reader:
                            writer.write_batch(batch)
                            progress.advance(batch.num_rows)
            save_rows(folder, num_pairs, map(open_rows, stored))
        return vars(tally)

    # The chunks and the table lie there beside each other at the end.
    folder, info = cached(key, build, what=f"the table of {name}", num_bytes=2 * num_bytes)
    try:
        tally = Tally(**info)
        origins = tuple(f"{name}: {part}" if part else name for part in tally.parts) or (name,)
        return Pairs(open_table(folder), open_rows(folder), origins), tally
    except (ValueError, TypeError) as error:  # right checksums, yet not what this module writes
        raise CorpusError(f"{folder} is not a table of the cache ({error}); delete the folder") from error


Chunk = list[tuple[int, list[Row]]]
"""Rows that are written together: numbers of parts, each with rows of it."""

Written = tuple[Path, Tally]
"""The folder of a finished chunk, and what was counted in it."""


def _chunks(parts: Iterator[Part], names: list[str]) -> Iterator[Chunk]:
    """The rows of all parts in chunks; the names of the parts are added to `names`."""
    chunk: Chunk = []
    num_rows = num_characters = 0
    for number, (name, rows) in enumerate(parts):
        names.append(name)
        chunk.append((number, []))
        for row in rows:
            chunk[-1][1].append(row)
            num_rows += 1
            for text in row[1:]:
                if isinstance(text, str):
                    num_characters += len(text)
            if num_rows == CHUNK_ROWS or num_characters > CHUNK_CHARACTERS:
                yield chunk
                chunk, num_rows, num_characters = [(number, [])], 0, 0
    if num_rows:
        yield chunk


def _write_chunks(chunks: Iterator[Chunk], place: Path) -> Iterator[Written]:
    """Write the usable pairs of the chunks into the folders 0, 1, ...; gives them in order.

    Chunks that an earlier process finished are not made again: their rows are only passed over. The first chunk is
    made here, the others by one process for each core.
    """
    waiting: deque[Future[Written] | Written] = deque()
    workers = usable_cores()
    with ExitStack() as stack:
        executor: ProcessPoolExecutor | None = None
        for number, chunk in enumerate(chunks):
            folder = place / str(number)
            if number == 0 or workers == 1 or folder.exists():
                waiting.append(_write_chunk(chunk, folder))
            else:
                executor = executor or stack.enter_context(pool(workers))
                waiting.append(executor.submit(_write_chunk, chunk, folder))
            while len(waiting) > 2 * workers:
                yield _finished(waiting.popleft())
        yield from map(_finished, waiting)


def _finished(waiting: Future[Written] | Written) -> Written:
    return waiting if isinstance(waiting, tuple) else waiting.result()


def _write_chunk(chunk: Chunk, folder: Path) -> Written:
    """Write a chunk, or find it finished."""
    if not folder.exists():
        with new_folder(folder) as temporary:
            tally = Tally()
            numbers = [np.empty(0, dtype=ROW)]
            with pa.ipc.new_stream(str(temporary / "pairs.arrow"), SCHEMA) as writer:
                for tally.part, rows in chunk:
                    for sources, targets, of_batch in _usable_batches(iter(rows), tally):
                        writer.write_batch(pa.record_batch([pa.array(sources), pa.array(targets)], schema=SCHEMA))
                        of_batch["origin"] = tally.part
                        numbers.append(of_batch)
            save_rows(temporary, sum(map(len, numbers)), numbers)
            (temporary / "tally.json").write_text(json.dumps(vars(tally)), encoding="utf-8")
    return folder, Tally(**json.loads((folder / "tally.json").read_text(encoding="utf-8")))


Batch = tuple[list[str], list[str], NDArray[np.void]]


def _usable_batches(rows: Iterator[Row], tally: Tally) -> Iterator[Batch]:
    sources: list[str] = []
    targets: list[str] = []
    lines: list[int] = []
    digests: list[bytes] = []
    num_characters = 0
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
        num_characters += len(source) + len(target)
        if len(lines) == BATCH_ROWS or num_characters > BATCH_CHARACTERS:
            yield sources, targets, _numbers(lines, digests)
            sources, targets, lines, digests, num_characters = [], [], [], [], 0
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
