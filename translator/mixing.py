"""Several corpora as one training set: which pairs make an epoch, the other way round or not, after which tokens.

A part is one corpus in one direction. Its weight says how often each of its pairs is drawn in an epoch: 1 is once, 2
twice; 0.25 takes a quarter of the pairs in each epoch, another quarter in the next, and all of them in four. An epoch
so has a fixed size, and its pairs are a pure function of (seed, epoch). Nothing is copied: a part refers to the token
ids of its corpus, and an epoch is one array of numbers.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from translator.encode import Encoded, IntArray

_STREAM = 0x6D6978  # keeps the random numbers of the draw apart from those of the order of batches


@dataclass(frozen=True)
class Part:
    """One corpus in one direction.

    `prefix` are the token ids before each source; `first_row` is the place of the corpus in the table of all.
    """

    encoded: Encoded
    prefix: tuple[int, ...] = ()
    weight: float = 1.0
    first_row: int = 0


def temperature_weights(sizes: Sequence[int], temperature: float) -> list[float]:
    """Weights that draw from each corpus in proportion to size ^ (1 / temperature) (Arivazhagan et al. 2019, section
    4.2). All draws of an epoch together are as many as there are pairs.
    """
    largest = max(sizes)
    shares = [(size / largest) ** (1 / temperature) for size in sizes]
    scale = sum(sizes) / sum(shares)
    return [scale * share / size for share, size in zip(shares, sizes, strict=True)]


def num_draws(size: int, weight: float) -> int:
    """Pairs that an epoch takes from a corpus: weight x size, rounded to the nearest, and at least one."""
    return max(1, int(weight * size + 0.5))


def draw(sizes: Sequence[int], weights: Sequence[float], *, seed: int, epoch: int) -> IntArray:
    """Numbers of the pairs of an epoch, corpus after corpus; pairs are numbered through all corpora.

    Of a corpus with num_draws = k x size + rest each pair comes k times, and `rest` of them once more: the next ones
    in a fixed random order that goes round, so that after any number of epochs two pairs of a corpus differ by one draw
    at most. A pure function.
    """
    dtype = np.int32 if sum(sizes) < 2**31 else np.int64
    pieces = []
    first = 0
    for number, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        pairs = np.arange(first, first + size, dtype=dtype)
        times, rest = divmod(num_draws(size, weight), size)
        pieces += [pairs] * times
        if rest:
            order = np.arange(size, dtype=dtype)
            np.random.Generator(np.random.PCG64([seed, _STREAM, number])).shuffle(order)
            start = epoch * rest % size
            taken = np.zeros(size, dtype=bool)
            taken[order[start : start + rest]] = True
            taken[order[: max(0, start + rest - size)]] = True
            pieces.append(pairs[taken])  # ascending: lengths and token ids are then read in the order they lie in
        first += size
    return np.concatenate(pieces)


class Mixture:
    """Parts as one set of pairs, as `batches` reads it. Pair `i` of an epoch is the i-th that is drawn for it."""

    def __init__(self, parts: Sequence[Part], *, seed: int) -> None:
        self.parts = list(parts)
        self._seed = seed
        sizes = [part.encoded.num_pairs for part in self.parts]
        self._sizes, self._weights = sizes, [part.weight for part in self.parts]
        self._firsts = [0, *np.cumsum(sizes).tolist()]
        self._prefixes = [np.array(part.prefix, dtype=np.int64) for part in self.parts]
        self._is_whole = all(num_draws(*one) == one[0] for one in zip(sizes, self._weights, strict=True))
        self._drawn: tuple[int, IntArray] | None = None  # of the epoch that was asked for last

    @property
    def num_pairs(self) -> int:
        """Pairs of an epoch."""
        return sum(map(num_draws, self._sizes, self._weights))

    @property
    def index(self) -> IntArray:
        """Row of each pair in the table of all corpora, by the pair's number."""
        return np.concatenate([part.first_row + part.encoded.index for part in self.parts])

    def numbers(self, positions: IntArray, epoch: int = 0) -> IntArray:
        """Numbers, through all parts, of the pairs that stand at these positions of this epoch."""
        return positions if self._is_whole else self._numbers(epoch)[positions]

    def lengths(self, epoch: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source and target lengths of the pairs of this epoch: with the prefix, and one special token more."""
        of_parts = [part.encoded.lengths(epoch) for part in self.parts]
        src = [src + np.int32(len(part.prefix)) for part, (src, _) in zip(self.parts, of_parts, strict=True)]
        return self._of_epoch(src, epoch), self._of_epoch([tgt for _, tgt in of_parts], epoch)

    def pair(self, i: int, epoch: int = 0) -> tuple[IntArray, IntArray]:
        """Prefix and source ids, and target ids, of pair `i` of this epoch."""
        number = i if self._is_whole else int(self._numbers(epoch)[i])
        part = bisect_right(self._firsts, number) - 1
        src, tgt = self.parts[part].encoded.pair(number - self._firsts[part], epoch)
        prefix = self._prefixes[part]
        return (np.concatenate([prefix, src]) if len(prefix) else src), tgt

    def _of_epoch(self, values: Sequence[NDArray[Any]], epoch: int) -> NDArray[Any]:
        joined = np.concatenate(values)
        return joined if self._is_whole else joined[self._numbers(epoch)]

    def _numbers(self, epoch: int) -> IntArray:
        drawn = self._drawn  # looked up once: another thread may ask for another epoch meanwhile
        if drawn is None or drawn[0] != epoch:
            drawn = self._drawn = None  # let go of the old one first
            drawn = self._drawn = epoch, draw(self._sizes, self._weights, seed=self._seed, epoch=epoch)
        return drawn[1]


def mix(parts: Sequence[Part], *, seed: int = 0) -> Encoded | Mixture:
    """The parts as one set of pairs; a single one without weight and prefix is what it is."""
    if len(parts) == 1 and parts[0].weight == 1 and not parts[0].prefix:
        return parts[0].encoded
    return Mixture(parts, seed=seed)
