"""A batch of sentence pairs as the filters look at it: texts, and their characters in one array for each side."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Side:
    """The sentences of one side of a batch. None of them is empty."""

    def __init__(self, texts: Any) -> None:
        """`texts` is an Arrow array of strings."""
        self.texts = texts

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Characters (code points) of each sentence."""
        return np.asarray(pc.utf8_length(self.texts).to_numpy(zero_copy_only=False), dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each sentence begins in `codes`."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """Code points of all sentences, one after the other."""
        texts = self.texts.cast(pa.large_string())
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]]
        return np.frombuffer(str(data, "utf-8").encode("utf-32-le"), dtype=np.uint32)

    def count(self, table: Mask) -> NDArray[np.int64]:
        """How many characters of each sentence `table` (an array over all code points) holds."""
        if not len(self.codes):
            return np.zeros(len(self.lengths), dtype=np.int64)
        return np.asarray(np.add.reduceat(table[self.codes], self.starts, dtype=np.int64))

    def matches(self, pattern: str) -> Mask:
        """Where a regular expression (of RE2) matches somewhere."""
        return np.asarray(pc.match_substring_regex(self.texts, pattern).to_numpy(zero_copy_only=False))

    def where(self, candidates: Mask, holds: Callable[[str], bool]) -> Mask:
        """`candidates` for which `holds`, a slow question, is true."""
        mask = np.zeros(len(self.lengths), dtype=bool)
        rows = np.flatnonzero(candidates)
        mask[rows] = [holds(text) for text in self.texts.take(pa.array(rows)).to_pylist()]
        return mask


@dataclass(frozen=True)
class Sides:
    """Both sides of a batch."""

    source: Side
    target: Side

    @staticmethod
    def of(table: Any) -> "Sides":
        """From an Arrow table with the columns source and target."""
        source, target = (_one_array(table[name]) for name in ("source", "target"))
        return Sides(Side(source), Side(target))

    def __len__(self) -> int:
        return len(self.source.texts)

    def either(self, holds: Callable[[Side], Mask]) -> Mask:
        """Where `holds` for one side at least."""
        return holds(self.source) | holds(self.target)

    def both_where(self, candidates: Mask, holds: Callable[[str, str], bool]) -> Mask:
        """`candidates` for which `holds` of source and target, a slow question, is true."""
        mask = np.zeros(len(self), dtype=bool)
        rows = np.flatnonzero(candidates)
        pairs = (side.texts.take(pa.array(rows)).to_pylist() for side in (self.source, self.target))
        mask[rows] = [holds(source, target) for source, target in zip(*pairs, strict=True)]
        return mask


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
