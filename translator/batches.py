"""Batches under a token budget, in an order that is a pure function of (seed, epoch).

Each epoch shuffles the pairs, sorts them by length so that neighbours need little padding, cuts the sequence
wherever the next pair would exceed the budget, and shuffles the batches. All that has to be stored to go on
after an interruption is the epoch and the number of batches taken from it.

The budget bounds rows x max(longest source, longest target), padding and end tokens counted: the size of the
largest tensor that a batch makes, whatever the mix of lengths.

Shape letters: B batch, S source length, T target length.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translator.device import copies_on_its_own
from translator.errors import CorpusError

IntArray = NDArray[np.integer]


class EncodedPairs(Protocol):
    """What batches need of `encode.Encoded`; lengths count the one special token that each sequence gains."""

    @property
    def num_pairs(self) -> int: ...
    @property
    def index(self) -> IntArray: ...
    def lengths(self, epoch: int) -> tuple[IntArray, IntArray]: ...
    def pair(self, i: int, epoch: int) -> tuple[IntArray, IntArray]: ...
    def numbers(self, positions: IntArray, epoch: int) -> IntArray: ...


@dataclass(frozen=True)
class Batch:
    """Padded pairs: from the source and `tgt_in_BT` the model predicts `labels_BT`."""

    src_BS: Tensor  # int64, source + [eos], then pad
    src_mask_BS: Tensor  # bool, True for real tokens
    tgt_in_BT: Tensor  # int64, [bos] + target, then pad
    labels_BT: Tensor  # int64, target + [eos], then pad
    num_src_tokens: int  # real tokens of src_BS
    num_tgt_tokens: int  # real tokens of labels_BT
    index_B: Tensor  # int64, number of each pair in the encoded corpora, the same in every epoch

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch with its tensors on `device`."""
        device = torch.device(device)
        return self._each(lambda tensor: tensor.to(device, non_blocking=copies_on_its_own(device)))

    def pin_memory(self) -> "Batch":
        """The same batch in page-locked memory (see `device.copies_on_its_own`)."""
        return self._each(Tensor.pin_memory)

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        changed: dict[str, Any] = {
            field.name: change(getattr(self, field.name)) for field in fields(self) if field.type is Tensor
        }
        return replace(self, **changed)

    @property
    def needed_src_mask(self) -> Tensor | None:
        """`src_mask_BS` where it hides anything: in a large corpus most batches have sources of one length."""
        return None if self.num_src_tokens == self.src_BS.numel() else self.src_mask_BS

    def rows(self, rows: Sequence[int], pad_id: int) -> "Batch":
        """Some of the rows, without the columns that would be padding in all of them."""
        src_mask_BS = self.src_mask_BS[list(rows)]
        is_label_BT = self.labels_BT[list(rows)] != pad_id
        src_length, tgt_length = (int(mask.sum(dim=1).max()) for mask in (src_mask_BS, is_label_BT))
        return Batch(
            src_BS=self.src_BS[list(rows), :src_length],
            src_mask_BS=src_mask_BS[:, :src_length],
            tgt_in_BT=self.tgt_in_BT[list(rows), :tgt_length],
            labels_BT=self.labels_BT[list(rows), :tgt_length],
            num_src_tokens=int(src_mask_BS.sum()),
            num_tgt_tokens=int(is_label_BT.sum()),
            index_B=self.index_B[list(rows)],
        )

    @property
    def num_cells(self) -> int:
        """Rows x (longest source or target): what the budget bounds."""
        return self.src_BS.shape[0] * max(self.src_BS.shape[1], self.labels_BT.shape[1])


class BatchPlan:
    """The batches of an epoch, each an array of pair numbers; holds two flat arrays, however many pairs."""

    def __init__(self, order: IntArray, starts: IntArray) -> None:
        self._order, self._starts = order, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, i: int) -> IntArray:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self._order[self._starts[i] : self._starts[i + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[i] for i in range(len(self)))

    def shapes(
        self, src_len: IntArray, tgt_len: IntArray
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Rows, source length and target length of each batch, from the lengths of the pairs."""
        longest = (np.maximum.reduceat(side[self._order], self._starts[:-1]) for side in (src_len, tgt_len))
        rows, src, tgt = (side.astype(np.int64) for side in (np.diff(self._starts), *longest))
        return rows, src, tgt


_NO_PLAN = BatchPlan(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))


def plan_epoch(
    src_len: IntArray,
    tgt_len: IntArray,
    *,
    budget: int,
    seed: int,
    epoch: int,
    row_of: Callable[[int], int] = int,
) -> BatchPlan:
    """Plan one epoch: every pair once, no batch above `budget` cells a side. A pure function.

    The lengths count the end token. `row_of` numbers the pair at a position in messages (from 0; default: the
    position). It takes 28 bytes for each pair, the lengths among them, where these and a position have four.

    Raises:
        CorpusError: a pair is longer than the budget, or there is no pair.
    """
    _refuse_too_long(src_len, tgt_len, budget, row_of)
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = _numbers(len(src_len))
    random.shuffle(order)
    order = order[_argsort(_length_keys(src_len, tgt_len)[order])]
    starts = _cut(np.maximum(src_len, tgt_len)[order], budget)
    batches = random.permutation(len(starts) - 1)
    sizes = np.diff(starts)[batches]
    ends = np.cumsum(sizes)
    places = np.repeat((starts[:-1][batches] - (ends - sizes)).astype(order.dtype), sizes)
    places += _numbers(len(order))
    return BatchPlan(order[places], np.concatenate([[0], ends]))


def count_batches(src_len: IntArray, tgt_len: IntArray, *, budget: int, row_of: Callable[[int], int] = int) -> int:
    """Number of batches in the plan of any epoch with these lengths, found without a plan.

    Raises:
        CorpusError: as `plan_epoch` raises it.
    """
    _refuse_too_long(src_len, tgt_len, budget, row_of)
    return len(_cut(np.sort(np.maximum(src_len, tgt_len)), budget)) - 1


def _refuse_too_long(src_len: IntArray, tgt_len: IntArray, budget: int, row_of: Callable[[int], int]) -> None:
    if len(src_len) == 0:
        raise CorpusError("there are no usable training pairs: nothing to make batches of")
    longest = max(int(src_len.max()), int(tgt_len.max()))
    if longest > budget:
        row = row_of(int(np.maximum(src_len, tgt_len).argmax()))
        raise CorpusError(
            f"training pair {row + 1} has {longest} tokens on its longer side and does not fit in a "
            f"batch of {budget}: raise batch.tokens to at least {longest} or lower corpus.filters.max_tokens"
        )


def _length_keys(src_len: IntArray, tgt_len: IntArray) -> NDArray[np.int64]:
    """One sortable number for each pair: the longer side first, then the target, then the source."""
    keys = np.maximum(src_len, tgt_len, dtype=np.int64)
    base = int(keys.max()) + 1
    if base < 2**20:  # else three such lengths do not fit in 64 bits; nothing is lost but a little padding
        for side in (tgt_len, src_len):  # in place: a large corpus has no memory to spare
            keys *= base
            keys += side
    return keys


def _argsort(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of `keys` in ascending order, equal ones as they stand; the keys are lost."""
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)) >= 2 ** (63 - bits):
        return np.argsort(keys, kind="stable")
    # The same, several times faster for millions: sort values that carry their place in the low bits.
    keys <<= bits
    keys |= _numbers(len(keys))
    keys.sort()
    keys &= 2**bits - 1
    return keys


def _numbers(count: int) -> IntArray:
    """0, 1, 2 ... in as little memory as will do."""
    return np.arange(count, dtype=np.int32) if count < 2**31 else np.arange(count, dtype=np.int64)


def _cut(longest: IntArray, budget: int) -> NDArray[np.int64]:
    """First positions of the batches in a sequence of ascending lengths, and its end.

    A pair that is longer than the budget makes a batch of its own.
    """
    num_pairs = len(longest)
    start = 0
    pieces = [np.zeros(1, dtype=np.int64)]
    while start < num_pairs:
        size = max(1, budget // int(longest[start]))  # rows, while the length stays what it is
        same_until = int(np.searchsorted(longest, longest[start], side="right"))
        num_full = (same_until - start) // size
        if num_full:
            ends = start + size * np.arange(1, num_full + 1)
        else:
            # Lengths ascend, so the cells of a batch grow with its end: bisect for the last end in budget.
            rest = np.arange(start + 1, min(start + size, num_pairs) + 1)
            cells = (rest - start) * longest[rest - 1]
            ends = np.array([start + max(1, int(np.searchsorted(cells, budget, side="right")))])
        pieces.append(ends)
        start = int(ends[-1])
    return np.concatenate(pieces)


def collate(
    pairs: Sequence[tuple[IntArray, IntArray]],
    index: IntArray | Sequence[int],
    *,
    pad_id: int = 0,
    bos_id: int = 1,
    eos_id: int = 2,
) -> Batch:
    """Pad pairs of token ids, which hold no special tokens, into one batch; `index` numbers them."""
    src_lengths = np.array([len(src) + 1 for src, _ in pairs])
    tgt_lengths = np.array([len(tgt) + 1 for _, tgt in pairs])
    src_BS = np.full((len(pairs), src_lengths.max()), pad_id, dtype=np.int64)
    tgt_in_BT = np.full((len(pairs), tgt_lengths.max()), pad_id, dtype=np.int64)
    labels_BT = tgt_in_BT.copy()
    tgt_in_BT[:, 0] = bos_id
    for row, (src, tgt) in enumerate(pairs):
        src_BS[row, : len(src)] = src
        src_BS[row, len(src)] = eos_id
        tgt_in_BT[row, 1 : len(tgt) + 1] = tgt
        labels_BT[row, : len(tgt)] = tgt
        labels_BT[row, len(tgt)] = eos_id
    return Batch(
        src_BS=torch.from_numpy(src_BS),
        src_mask_BS=torch.from_numpy(np.arange(src_BS.shape[1]) < src_lengths[:, None]),
        tgt_in_BT=torch.from_numpy(tgt_in_BT),
        labels_BT=torch.from_numpy(labels_BT),
        num_src_tokens=int(src_lengths.sum()),
        num_tgt_tokens=int(tgt_lengths.sum()),
        index_B=torch.from_numpy(np.array(index, dtype=np.int64)),
    )


class BatchStream:
    """Endless iterator over the training batches of epoch after epoch, which can start anywhere.

    `BatchStream(..., **stream.state())` goes on exactly where `stream` stands.
    """

    def __init__(
        self,
        encoded: EncodedPairs,
        *,
        budget: int,
        seed: int,
        pad_id: int = 0,
        bos_id: int = 1,
        eos_id: int = 2,
        epoch: int = 0,
        batch: int = 0,
    ) -> None:
        self._encoded, self._budget, self._seed = encoded, budget, seed
        self.ids = {"pad_id": pad_id, "bos_id": bos_id, "eos_id": eos_id}
        self._epoch, self._batch = epoch, batch
        self._plan = self._plan_epoch(epoch)

    def __iter__(self) -> "BatchStream":
        return self

    def __next__(self) -> Batch:
        if self._batch >= len(self._plan):
            self._plan = _NO_PLAN  # let go of the old one first: there need not be room for two
            self._plan = self._plan_epoch(self._epoch + 1)
            self._epoch, self._batch = self._epoch + 1, 0
        index = self._plan[self._batch]
        batch = self._collate(index)
        self._batch += 1
        return batch

    def state(self) -> dict[str, int]:
        """Where the next batch comes from: the epoch, and the number of batches already taken from it."""
        return {"epoch": self._epoch, "batch": self._batch}

    def at(self, epoch: int, batch: int) -> "BatchStream":
        """Another stream over the same pairs, which begins at a place that `state` gave."""
        other = copy.copy(self)
        other._plan = self._plan if epoch == self._epoch else self._plan_epoch(epoch)
        other._epoch, other._batch = epoch, batch
        return other

    def move_to(self, other: "BatchStream") -> None:
        """Stand where another stream over the same pairs stands."""
        self._plan, self._epoch, self._batch = other._plan, other._epoch, other._batch

    def num_batches(self, epoch: int) -> int:
        """Number of batches in an epoch; sampled encodings differ in length, so it can vary."""
        if epoch == self._epoch:
            return len(self._plan)
        return count_batches(*self._encoded.lengths(epoch), budget=self._budget, row_of=self._row_of(epoch))

    def longest_batch(self) -> Batch:
        """The batch with the most cells of the current epoch, to try before training starts."""
        shapes = self._shapes()
        return self._collate(self._plan[int(np.argmax(shapes[0] * (shapes[1] + shapes[2])))])

    def shapes(self) -> set[tuple[int, int, int]]:
        """Rows, source length and target length of the batches of the current epoch, each shape once."""
        return set(zip(*(side.tolist() for side in self._shapes()), strict=True))

    def _shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        return self._plan.shapes(*self._encoded.lengths(self._epoch))

    def _collate(self, index: IntArray) -> Batch:
        pairs = [self._encoded.pair(int(i), self._epoch) for i in index]
        return collate(pairs, self._encoded.numbers(index, self._epoch), **self.ids)

    def _plan_epoch(self, epoch: int) -> BatchPlan:
        lengths, row_of = self._encoded.lengths(epoch), self._row_of(epoch)
        return plan_epoch(*lengths, budget=self._budget, seed=self._seed, epoch=epoch, row_of=row_of)

    def _row_of(self, epoch: int) -> Callable[[int], int]:
        """Row in the corpora of the pair at a position of an epoch."""
        encoded = self._encoded
        return lambda position: int(encoded.index[encoded.numbers(np.array([position]), epoch)[0]])


def sequential_batches(
    encoded: EncodedPairs, budget: int, *, pad_id: int = 0, bos_id: int = 1, eos_id: int = 2
) -> Iterator[Batch]:
    """Each pair once, for evaluation: sorted by length, and no pair refused.

    A pair that is longer than the budget makes a batch of its own.
    """
    if encoded.num_pairs == 0:
        return
    src_len, tgt_len = encoded.lengths(0)
    order = _argsort(_length_keys(src_len, tgt_len))
    for index in BatchPlan(order, _cut(np.maximum(src_len, tgt_len)[order], budget)):
        pairs = [encoded.pair(int(i), 0) for i in index]
        yield collate(pairs, index, pad_id=pad_id, bos_id=bos_id, eos_id=eos_id)
