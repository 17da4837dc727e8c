"""Pairs of text to token ids in memory-mapped files, computed once, cached under the content's fingerprint.

Ids are stored without special tokens, all sentences of a side in one flat array with the offset of each. With
BPE dropout each side is stored in several sampled spellings, and epoch e uses number e mod dropout_samples: what
a pair looks like is a function of (seed, epoch).

The cache (`files.cache_folder`) may be deleted at any time.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from translator.corpus.cache import cached, parts_folder
from translator.corpus.progress import Progress, announce
from translator.errors import CorpusError
from translator.files import new_folder
from translator.processes import pool, usable_cores
from translator.subword_sampling import SubwordSampler, flatten
from translator.tokenizer import Tokenizer

if TYPE_CHECKING:
    from datasets import Dataset

IntArray = NDArray[np.integer]

_FORMAT = 4  # raise it when what an entry holds, or how ids are computed, changes
_SIDES = ("source", "target")
_CHUNK_PAIRS = 4096
_MOST_EXAMPLES = 5
_PART_PAIRS = 250_000  # pairs that one process encodes at once, and that are not encoded again after a kill
_LEFT_OUT = "left_out.json"


@dataclass(frozen=True)
class Encoded:
    """Token ids of the pairs that passed the filters."""

    index: IntArray  # row of each pair in the data set, from 0
    skipped: dict[str, int]  # reason -> number of pairs left out
    examples: dict[str, list[list[int]]]  # reason -> [row, source tokens, target tokens] of the first few
    fingerprint: str  # of the texts, the tokenizers and the settings
    num_samples: int
    _ids: dict[str, IntArray]  # "source.0" (side and sample) -> ids of all sentences
    _offsets: dict[str, NDArray[np.int64]]

    @property
    def num_pairs(self) -> int:
        return len(self.index)

    def lengths(self, epoch: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source and target lengths in this epoch, with the one special token that each sequence gains."""
        sample = epoch % self.num_samples
        src, tgt = (np.diff(self._offsets[f"{side}.{sample}"]).astype(np.int32) for side in _SIDES)
        src += 1
        tgt += 1
        return src, tgt

    def pair(self, i: int, epoch: int = 0) -> tuple[IntArray, IntArray]:
        """Source and target ids of pair `i` in this epoch, without special tokens."""
        sample = epoch % self.num_samples
        src, tgt = (self._sentence(f"{side}.{sample}", i) for side in _SIDES)
        return src, tgt

    def numbers(self, positions: IntArray, epoch: int = 0) -> IntArray:
        """Numbers of the pairs at these positions of an epoch: here the positions themselves."""
        del epoch
        return positions

    def reversed(self) -> "Encoded":
        """The same pairs from target to source, where one tokenizer serves both sides."""

        def turned(by_name: dict[str, Any]) -> dict[str, Any]:
            other = dict(zip(_SIDES, _SIDES[::-1], strict=True))
            parts = ((*name.split("."), values) for name, values in by_name.items())
            return {f"{other[side]}.{sample}": values for side, sample, values in parts}

        return replace(self, _ids=turned(self._ids), _offsets=turned(self._offsets))

    def _sentence(self, name: str, i: int) -> IntArray:
        start, end = self._offsets[name][i : i + 2]
        return self._ids[name][start:end]


def encode_corpus(
    dataset: "Dataset",
    src_tokenizer: Tokenizer,
    tgt_tokenizer: Tokenizer,
    *,
    max_tokens: int | None = None,
    max_ratio: float | None = None,
    dropout: float = 0.0,
    dropout_samples: int = 8,
    seed: int = 1,
    cache: Path | None = None,
    num_workers: int | None = None,
) -> Encoded:
    """Encode the columns `source` and `target`; leave out pairs that are too long or too uneven.

    `max_tokens` bounds either side in tokens without special ones, `max_ratio` the longer side over the
    shorter; None turns a filter off. Both look at the plain encoding. A sampled spelling (BPE dropout, kind bpe
    only) that is longer than the longest plain one that is kept gives way to the plain spelling of its sentence.

    With a `cache` folder the result is memory-mapped from it and found again for the same texts, tokenizers
    and settings; a damaged entry is made anew. Without one it is held in memory.

    Raises:
        CorpusError: there are pairs, but none passes the filters.
    """
    tokenizers = {"source": src_tokenizer, "target": tgt_tokenizer}
    sampled = dropout > 0 and src_tokenizer.kind == tgt_tokenizer.kind == "bpe"
    settings = {
        "format": _FORMAT,
        "texts": _texts_fingerprint(dataset),
        "tokenizers": [tokenizer.fingerprint for tokenizer in tokenizers.values()],
        "max_tokens": max_tokens,
        "max_ratio": max_ratio,
        "sampling": [dropout, dropout_samples, seed] if sampled else None,
    }
    fingerprint = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    samplers: dict[str, SubwordSampler] = {}
    if sampled:
        for side, tokenizer in tokenizers.items():
            shared = samplers.get("source") if tokenizer is src_tokenizer else None
            samplers[side] = shared or SubwordSampler(
                tokenizer, dropout=dropout, num_samples=dropout_samples, seed=seed
            )

    in_parts = cache is not None and not samplers and len(dataset) >= 2 * _PART_PAIRS

    def build(folder: Path) -> dict[str, Any]:
        begin = partial(_Plain, tokenizers, samplers, max_tokens=max_tokens, max_ratio=max_ratio)
        plain = begin()
        workers = num_workers or usable_cores()
        if in_parts:
            _write_in_parts(plain, begin, dataset, folder, fingerprint, workers)
        else:
            with Progress("Tokenising", len(dataset)) as progress:
                plain.write(dataset, folder, progress)
        if samplers:
            _write_samples(folder, samplers, tokenizers, dropout_samples, workers)
        return {"skipped": plain.skipped, "examples": plain.examples}

    num_samples = dropout_samples if samplers else 1
    if cache is None:
        with tempfile.TemporaryDirectory() as name:
            info = build(Path(name))
            encoded = _open(Path(name), info, fingerprint, num_samples, tokenizers, mapped=False)
    else:
        num_bytes, parent = _size(dataset, num_samples, in_parts=in_parts), cache / "encoded"
        entry, info = cached(fingerprint, build, what="the encoded corpus", num_bytes=num_bytes, parent=parent)
        encoded = _open(entry, info, fingerprint, num_samples, tokenizers, mapped=True)
    if len(dataset) and not encoded.num_pairs:
        reasons = "; ".join(f"{count} {reason}" for reason, count in encoded.skipped.items())
        raise CorpusError(f"none of the {len(dataset)} pairs is usable ({reasons}): see corpus.filters")
    return encoded


def _texts_fingerprint(dataset: "Dataset") -> str:
    """Hash of both columns in order, whatever pieces the table is stored in."""
    digest = xxhash.xxh3_128()
    for table in dataset.select_columns(list(_SIDES)).with_format("arrow").iter(_CHUNK_PAIRS):
        for side in _SIDES:
            texts = table[side].cast("large_string").combine_chunks()
            offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
            digest.update(np.diff(offsets).tobytes())
            digest.update(memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]])
    return digest.hexdigest()


class _Plain:
    """Writes the plain encoding of the pairs that pass, and for sampling the type of each of their words."""

    def __init__(
        self,
        tokenizers: dict[str, Tokenizer],
        samplers: dict[str, SubwordSampler],
        *,
        max_tokens: int | None,
        max_ratio: float | None,
    ) -> None:
        self.tokenizers, self._samplers = tokenizers, samplers
        self._max_tokens, self._max_ratio = max_tokens, max_ratio
        self.skipped: dict[str, int] = {}
        self.examples: dict[str, list[list[int]]] = {}

    def write(self, dataset: "Dataset", folder: Path, progress: Progress | None = None) -> None:
        name = "{}.plain" if self._samplers else "{}.0"
        first_row = 0
        with ExitStack() as stack:
            index = stack.enter_context((folder / "index").open("wb"))
            ids_to, types_to = {}, {}
            for side, tokenizer in self.tokenizers.items():
                ids_to[side] = stack.enter_context(_Writer(folder, name.format(side), _dtype(tokenizer)))
                if self._samplers:
                    types_to[side] = stack.enter_context(_Writer(folder, f"{side}.types", np.dtype(np.uint32)))
            for batch in dataset.iter(_CHUNK_PAIRS):
                encoded = {side: self._encode(side, batch[side]) for side in _SIDES}
                lengths = {side: np.diff(offsets) for side, (_, offsets) in encoded.items()}
                keep = self._filter(lengths["source"], lengths["target"], first_row)
                index.write((first_row + np.flatnonzero(keep)).astype(np.int64).tobytes())
                for side, (columns, _) in encoded.items():
                    kept = [column[np.repeat(keep, lengths[side])] for column in columns]
                    offsets = np.cumsum([0, *lengths[side][keep]])
                    ids_to[side].append(kept[0], offsets)
                    if self._samplers:
                        types_to[side].append(*self._samplers[side].add(kept[0], kept[1], offsets))
                first_row += len(keep)
                if progress is not None:
                    progress.advance(len(keep))

    def count(self, skipped: dict[str, int], examples: dict[str, list[list[int]]], first_row: int) -> None:
        """Add what was left out of a part that begins at `first_row`."""
        for reason, number in skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + number
            known = self.examples.setdefault(reason, [])
            known += [[first_row + row, *lengths] for row, *lengths in examples[reason][: _MOST_EXAMPLES - len(known)]]

    def _encode(self, side: str, texts: list[str]) -> tuple[list[NDArray[np.uint32]], NDArray[np.int64]]:
        """The ids of all texts, for sampling also the word of each, and where each text begins."""
        if self._samplers:
            *columns, offsets = flatten(self.tokenizers[side].encode_words(texts))
            return columns, offsets
        ids, offsets = self.tokenizers[side].encode_flat(texts)
        return [ids], offsets

    def _filter(self, src_len: IntArray, tgt_len: IntArray, first_row: int) -> NDArray[np.bool_]:
        """Which of the pairs to keep; counts the others, each by the first reason that holds."""
        keep = np.ones(len(src_len), dtype=bool)
        longer, shorter = np.maximum(src_len, tgt_len), np.maximum(np.minimum(src_len, tgt_len), 1)
        reasons = {}
        if self._max_tokens is not None:
            reasons[f"longer than {self._max_tokens} tokens"] = longer > self._max_tokens
        if self._max_ratio is not None:
            reasons[f"token ratio above {self._max_ratio:g}"] = longer > self._max_ratio * shorter
        for reason, found in reasons.items():
            rows = np.flatnonzero(found & keep)
            keep[rows] = False
            if len(rows):
                self.skipped[reason] = self.skipped.get(reason, 0) + len(rows)
                examples = self.examples.setdefault(reason, [])
                for i in rows[: _MOST_EXAMPLES - len(examples)]:
                    examples.append([first_row + int(i), int(src_len[i]), int(tgt_len[i])])
        return keep


def _write_in_parts(
    plain: _Plain, begin: Callable[[], _Plain], dataset: "Dataset", folder: Path, fingerprint: str, num_workers: int
) -> None:
    """Encode a large data set by several processes; parts that an earlier process finished are not made again."""
    starts = range(0, len(dataset), _PART_PAIRS)
    tasks = [dataset.select(range(start, min(start + _PART_PAIRS, len(dataset)))) for start in starts]
    with parts_folder(f"{fingerprint}-{_PART_PAIRS}") as parts, Progress("Tokenising", len(dataset)) as progress:
        with pool(num_workers, _begin_worker, (begin,)) as executor:
            where = [parts / str(number) for number in range(len(tasks))]
            for task, _ in zip(tasks, executor.map(_write_part, tasks, where), strict=True):
                progress.advance(len(task))
        announce("Joining the token ids", len(dataset))
        with ExitStack() as stack:
            index = stack.enter_context((folder / "index").open("wb"))
            writers = {
                side: stack.enter_context(_Writer(folder, f"{side}.0", _dtype(tokenizer)))
                for side, tokenizer in plain.tokenizers.items()
            }
            for start, part in zip(starts, where, strict=True):
                left_out = json.loads((part / _LEFT_OUT).read_text(encoding="utf-8"))
                plain.count(left_out["skipped"], left_out["examples"], start)
                index.write((np.fromfile(part / "index", dtype=np.int64) + start).tobytes())
                for side, writer in writers.items():
                    writer.append(*_read_sentences(part, f"{side}.0", _dtype(plain.tokenizers[side]), mapped=False))


_begin: Callable[[], _Plain]  # of a process that encodes parts: its tokenizers know the words of the parts before


def _begin_worker(begin: Callable[[], _Plain]) -> None:
    global _begin
    _begin = begin
    os.environ["RAYON_NUM_THREADS"] = "1"  # each process has a core of its own; set before the threads are first used


def _write_part(dataset: "Dataset", folder: Path) -> None:
    """Encode a part, or find it finished."""
    if not folder.exists():
        plain = _begin()
        with new_folder(folder) as temporary:
            plain.write(dataset, temporary)
            left_out = {"skipped": plain.skipped, "examples": plain.examples}
            (temporary / _LEFT_OUT).write_text(json.dumps(left_out), encoding="utf-8")


def _write_samples(
    folder: Path,
    samplers: dict[str, SubwordSampler],
    tokenizers: dict[str, Tokenizer],
    num_samples: int,
    num_workers: int,
) -> None:
    """Replace the plain files in `folder` by those of the sampled spellings."""
    plain = {side: _read_sentences(folder, f"{side}.plain", _dtype(tokenizers[side])) for side in _SIDES}
    num_pairs = len(plain["source"][1]) - 1
    announce("Cutting the words in several ways", num_pairs)
    for sampler in {id(sampler): sampler for sampler in samplers.values()}.values():
        sampler.sample(num_workers)
    longest = max(int(np.diff(offsets).max(initial=0)) for _, offsets in plain.values())
    for number, side in enumerate(_SIDES):
        plain_ids, plain_offsets = plain[side]
        types, type_offsets = _read_sentences(folder, f"{side}.types", np.dtype(np.uint32))
        for sample in range(num_samples):
            with (
                Progress(f"Spelling, {side} {sample + 1} of {num_samples}", num_pairs) as progress,
                _Writer(folder, f"{side}.{sample}", _dtype(tokenizers[side])) as writer,
            ):
                for start in range(0, num_pairs, _CHUNK_PAIRS):
                    offsets = type_offsets[start : start + _CHUNK_PAIRS + 1]
                    ids, bounds = samplers[side].spell(
                        types[offsets[0] : offsets[-1]].astype(np.uint32),
                        offsets - offsets[0],
                        sample=2 * sample + number,
                        first_sentence=start,
                    )
                    too_long = np.flatnonzero(np.diff(bounds) > longest)
                    if len(too_long):
                        parts = np.split(ids, bounds[1:-1])
                        for i in too_long:
                            row = start + int(i)
                            parts[i] = plain_ids[plain_offsets[row] : plain_offsets[row + 1]].astype(np.uint32)
                        ids = np.concatenate(parts)
                        bounds = np.cumsum([0, *map(len, parts)])
                    writer.append(ids, bounds)
                    progress.advance(len(bounds) - 1)
    del plain, plain_ids, types  # let go of the maps, so that the files can be deleted everywhere
    for side in _SIDES:
        for ending in ("plain.ids", "plain.offsets", "types.ids", "types.offsets"):
            (folder / f"{side}.{ending}").unlink()


def _size(dataset: "Dataset", num_samples: int, *, in_parts: bool) -> int:
    """About how many bytes the token ids will take: two for each token of about three bytes, eight for each offset.

    At the end the parts lie there too.
    """
    return int((2 if in_parts else num_samples) * (2 * dataset.data.nbytes / 3 + 16 * len(dataset)))


def _open(
    folder: Path,
    info: dict[str, Any],
    fingerprint: str,
    num_samples: int,
    tokenizers: dict[str, Tokenizer],
    *,
    mapped: bool,
) -> Encoded:
    ids, offsets = {}, {}
    for side in _SIDES:
        for sample in range(num_samples):
            name = f"{side}.{sample}"
            ids[name], offsets[name] = _read_sentences(folder, name, _dtype(tokenizers[side]), mapped=mapped)
    return Encoded(
        index=_read(folder / "index", np.dtype(np.int64), mapped=mapped),
        skipped=info["skipped"],
        examples=info["examples"],
        fingerprint=fingerprint,
        num_samples=num_samples,
        _ids=ids,
        _offsets=offsets,
    )


class _Writer:
    """Appends sentences to NAME.ids and NAME.offsets in a folder."""

    def __init__(self, folder: Path, name: str, dtype: "np.dtype[Any]") -> None:
        self._ids = (folder / f"{name}.ids").open("wb")
        self._offsets = (folder / f"{name}.offsets").open("wb")
        self._offsets.write(np.zeros(1, dtype=np.int64).tobytes())
        self._dtype, self._end = dtype, 0

    def append(self, ids: IntArray, offsets: IntArray) -> None:
        self._ids.write(ids.astype(self._dtype).tobytes())
        self._offsets.write((offsets[1:] + self._end).astype(np.int64).tobytes())
        self._end += len(ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()
        self._offsets.close()


def _dtype(tokenizer: Tokenizer) -> "np.dtype[Any]":
    return np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32)


def _read_sentences(
    folder: Path, name: str, dtype: "np.dtype[Any]", *, mapped: bool = True
) -> tuple[IntArray, NDArray[np.int64]]:
    ids = _read(folder / f"{name}.ids", dtype, mapped=mapped)
    return ids, _read(folder / f"{name}.offsets", np.dtype(np.int64), mapped=mapped)


def _read(path: Path, dtype: "np.dtype[Any]", *, mapped: bool) -> NDArray[Any]:
    if mapped and path.stat().st_size:  # an empty file cannot be mapped
        return np.memmap(path, dtype=dtype, mode="r")
    return np.fromfile(path, dtype=dtype)
