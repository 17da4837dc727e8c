"""BPE dropout (Provilkov et al. 2020, algorithm 1) that is repeatable.

The `tokenizers` library can drop merges but cannot be seeded. Here each word type (a distinct pre-token) gets
several sampled segmentations, drawn from a generator seeded by (seed, word); each place in the text then takes
one of them by a hash of (seed, sentence, place, sample). A frequent word is thus cut in up to 32 ways, a rare one
in as many as there are samples, and the work grows with the number of types, not of words.
"""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from translator.processes import pool
from translator.tokenizer import Tokenizer
from translator.tokenizer_form import BYTE_TOKENS

# (id of the left piece, id of the right piece) -> (rank of the merge, id of the merged piece)
Merges = dict[tuple[int, int], tuple[int, int]]
IdArray = NDArray[np.unsignedinteger]
OffsetArray = NDArray[np.int64]

_MOST_SEGMENTATIONS = 32
# Starting processes takes about a second; fewer segmentations than this take one process some ten.
_WORTH_PROCESSES = 1_000_000
_TYPES_PER_TASK = 5000


def segment(symbols: Sequence[int], merges: Merges, dropout: float, random: Random) -> list[int]:
    """Merge `symbols` by rank until no merge is left; before each merge, each candidate is dropped by chance.

    With dropout 0 this is BPE itself.
    """
    symbols = list(symbols)
    found = [merges.get(pair) for pair in pairwise(symbols)]
    draw = random.random
    while True:
        best: tuple[int, int] | None = None
        place = -1
        for i, merge in enumerate(found):
            # Only a merge that would come first needs a draw: the others could not win in any case.
            if merge is not None and (best is None or merge[0] < best[0]) and draw() >= dropout:
                best, place = merge, i
        if best is None:
            return symbols
        symbols[place : place + 2] = [best[1]]
        del found[place]
        if place < len(found):
            found[place] = merges.get((symbols[place], symbols[place + 1]))
        if place > 0:
            found[place - 1] = merges.get((symbols[place - 1], symbols[place]))


class SubwordSampler:
    """Collects the word types of a text, samples segmentations of each, and spells sentences with them."""

    def __init__(self, tokenizer: Tokenizer, *, dropout: float, num_samples: int, seed: int) -> None:
        assert tokenizer.kind == "bpe"
        self._dropout, self._num_samples, self._seed = dropout, num_samples, seed
        model = tokenizer.description()["model"]
        ids: dict[str, int] = model["vocab"]
        self._merges: Merges = {
            (ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in enumerate(model["merges"])
        }
        whole = {ids[token] for token in BYTE_TOKENS}
        self._symbols = [
            (i,) if i in whole else tuple(ids.get(character, tokenizer.unk_id) for character in token)
            for token, i in sorted(ids.items(), key=lambda item: item[1])
        ]
        self._types: dict[bytes, int] = {}
        self._counts: list[int] = []

    def add(self, ids: IdArray, words: NDArray[np.integer], offsets: OffsetArray) -> tuple[IdArray, OffsetArray]:
        """Register the words of some sentences.

        `ids` are the plain token ids of all sentences in one array, `words` the number of the word that each
        token is part of, `offsets` the start of each sentence and the end of the last. Returns the type of each
        word and the offsets of the sentences among the words.
        """
        first = np.ones(len(ids), dtype=bool)
        first[1:] = words[1:] != words[:-1]
        first[offsets[:-1][offsets[:-1] < len(ids)]] = True
        starts = np.flatnonzero(first)
        data = ids.astype(np.uint32).tobytes()
        bounds = [*(starts * 4).tolist(), len(data)]
        types, counts = self._types, self._counts
        found = np.empty(len(starts), dtype=np.uint32)
        for k in range(len(starts)):
            word = data[bounds[k] : bounds[k + 1]]
            number = types.get(word)
            if number is None:
                number = types[word] = len(types)
                counts.append(0)
            counts[number] += 1
            found[k] = number
        return found, np.searchsorted(starts, offsets).astype(np.int64)

    def sample(self, num_workers: int = 1) -> None:
        """Sample the segmentations of all registered types; call it once, after the last `add`."""
        tasks: list[list[tuple[tuple[int, ...], bytes, int]]] = []
        num_segmentations = 0
        for i, (word, count) in enumerate(zip(self._types, self._counts, strict=True)):
            if i % _TYPES_PER_TASK == 0:
                tasks.append([])
            pieces = np.frombuffer(word, dtype=np.uint32).tolist()
            symbols = tuple(symbol for piece in pieces for symbol in self._symbols[piece])
            how_many = min(max(count, self._num_samples), _MOST_SEGMENTATIONS)
            tasks[-1].append((symbols, word, how_many))
            num_segmentations += how_many
        shared = (self._merges, self._dropout, self._seed)
        if num_workers > 1 and num_segmentations >= _WORTH_PROCESSES:
            with pool(num_workers, _share, shared) as executor:
                results = list(executor.map(_sample_types, tasks))
        else:
            _share(*shared)
            results = [_sample_types(task) for task in tasks]
        empty = np.zeros(0, dtype=np.uint32)
        self._ids = np.concatenate([empty, *(ids for ids, _ in results)])
        lengths = np.concatenate([empty, *(lengths for _, lengths in results)]).astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._lengths = lengths
        self._how_many = np.array([item[2] for task in tasks for item in task], dtype=np.uint64)
        self._first = np.cumsum(self._how_many) - self._how_many

    def spell(
        self, types: IdArray, offsets: OffsetArray, *, sample: int, first_sentence: int
    ) -> tuple[IdArray, OffsetArray]:
        """Token ids of sentences given by their word types, in the spelling of number `sample`.

        The arrays are those that `add` returned; `first_sentence` is the number of the first of these sentences
        in the whole text. Returns all ids in one array and the offsets of the sentences in it.
        """
        sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        place = np.arange(len(types)) - offsets[:-1][sentence]
        hashed = _mix(np.uint64(self._seed % 2**64) + np.uint64(sample))
        hashed = _mix(hashed + (sentence + first_sentence).astype(np.uint64))
        hashed = _mix(hashed + place.astype(np.uint64))
        chosen = self._first[types] + hashed % self._how_many[types]
        lengths = self._lengths[chosen]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        take = np.repeat(self._starts[chosen] - ends[:-1], lengths) + np.arange(ends[-1])
        return self._ids[take], ends[offsets].astype(np.int64)


def sample_batch(
    tokenizer: Tokenizer, texts: Sequence[str], *, dropout: float, num_samples: int, seed: int
) -> list[list[list[int]]]:
    """`num_samples` encodings of each text: the result holds one list for each sample."""
    sampler = SubwordSampler(tokenizer, dropout=dropout, num_samples=num_samples, seed=seed)
    types, offsets = sampler.add(*flatten(tokenizer.encode_words(texts)))
    sampler.sample()
    samples = []
    for sample in range(num_samples):
        ids, bounds = sampler.spell(types, offsets, sample=sample, first_sentence=0)
        samples.append([part.tolist() for part in np.split(ids, bounds[1:-1])] if len(texts) else [])
    return samples


def flatten(
    encoded: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> tuple[IdArray, NDArray[np.uint32], OffsetArray]:
    """What `Tokenizer.encode_words` gave, as three arrays: all ids, all word numbers, offsets of the texts."""
    ids = np.array([i for ids, _ in encoded for i in ids], dtype=np.uint32)
    words = np.array([word for _, words in encoded for word in words], dtype=np.uint32)
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in encoded])]).astype(np.int64)
    return ids, words, offsets


_shared: tuple[Merges, float, int] = ({}, 0.0, 0)


def _share(merges: Merges, dropout: float, seed: int) -> None:
    """Give a worker process what all its tasks need."""
    global _shared
    _shared = (merges, dropout, seed)


def _sample_types(task: list[tuple[tuple[int, ...], bytes, int]]) -> tuple[IdArray, IdArray]:
    """Segmentations of some word types: all ids in one array, and the length of each segmentation."""
    merges, dropout, seed = _shared
    ids: list[int] = []
    lengths = []
    for symbols, word, how_many in task:
        digest = hashlib.blake2b(word, digest_size=8, key=str(seed).encode()).digest()
        random = Random(int.from_bytes(digest, "little"))
        for _ in range(how_many):
            pieces = segment(symbols, merges, dropout, random)
            ids += pieces
            lengths.append(len(pieces))
    return np.array(ids, dtype=np.uint32), np.array(lengths, dtype=np.uint32)


def _mix(x: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, Steele et al. 2014, figure 16)."""
    x = np.atleast_1d(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
