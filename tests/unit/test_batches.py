"""Batches: under the budget, each pair once, little padding, and an order that can be taken up anywhere."""

import tracemalloc
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from translator.batches import Batch, BatchStream, IntArray, collate, plan_epoch, sequential_batches
from translator.errors import CorpusError

PAD, BOS, EOS = 0, 1, 2


class Pairs:
    """Pairs of given lengths (without special tokens) whose ids tell the pair, and whose lengths vary by epoch."""

    def __init__(self, src: list[int], tgt: list[int], *, grows: bool = False) -> None:
        self._src, self._tgt, self._grows = np.array(src, dtype=int), np.array(tgt, dtype=int), grows
        self.index = np.arange(len(src)) + 100

    @property
    def num_pairs(self) -> int:
        return len(self.index)

    def lengths(self, epoch: int) -> tuple[IntArray, IntArray]:
        more = epoch if self._grows else 0
        return self._src + 1 + more, self._tgt + 1 + more

    def pair(self, i: int, epoch: int) -> tuple[IntArray, IntArray]:
        src_len, tgt_len = self.lengths(epoch)
        return np.full(src_len[i] - 1, 10 + i, np.uint16), np.full(tgt_len[i] - 1, 1000 + i, np.uint16)

    def numbers(self, positions: IntArray, epoch: int) -> IntArray:
        return positions


class Given(Pairs):
    """Pairs of which nothing is known but the lengths, with special tokens, which are given as they are."""

    def __init__(self, src_len: IntArray, tgt_len: IntArray) -> None:
        self._given = src_len, tgt_len

    def lengths(self, epoch: int) -> tuple[IntArray, IntArray]:
        return self._given

    def pair(self, i: int, epoch: int) -> tuple[IntArray, IntArray]:
        return np.zeros(1, np.uint16), np.zeros(1, np.uint16)


def some_pairs(num_pairs: int = 500, **settings: Any) -> Pairs:
    random = np.random.default_rng(0)
    src = random.poisson(12, num_pairs) + 1
    tgt = np.clip(src + random.integers(-3, 4, num_pairs), 1, None)
    return Pairs(src.tolist(), tgt.tolist(), **settings)


def same(left: Batch, right: Batch) -> bool:
    return all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
        for a, b in zip(vars(left).values(), vars(right).values(), strict=True)
    )


@pytest.mark.parametrize("budget", [40, 100, 257, 100_000])
@pytest.mark.parametrize("epoch", [0, 1])
def test_each_pair_comes_once_and_no_batch_exceeds_the_budget(budget: int, epoch: int) -> None:
    src_len, tgt_len = some_pairs().lengths(0)
    plan = plan_epoch(src_len, tgt_len, budget=budget, seed=1, epoch=epoch)
    longest = np.maximum(src_len, tgt_len)
    assert sorted(np.concatenate(list(plan)).tolist()) == list(range(500))
    assert all(0 < len(index) * longest[index].max() <= budget for index in plan)
    # Greedy cutting wastes less than half: two neighbours in length never fit together.
    cells = sorted(len(index) * longest[index].max() for index in plan)
    assert len(plan) == 1 or np.mean(cells) > budget / 2


@pytest.mark.parametrize(("budget", "sizes"), [(10, [2, 2]), (9, [1, 1, 1, 1]), (15, [1, 3]), (20, [4])])
def test_the_budget_counts_rows_times_the_longest_of_both_sides(budget: int, sizes: list[int]) -> None:
    plan = plan_epoch(np.array([3, 3, 3, 3]), np.array([5, 2, 5, 5]), budget=budget, seed=1, epoch=0)
    assert sorted(len(index) for index in plan) == sizes


def test_padding_of_short_sentences_is_below_ten_per_cent() -> None:
    pairs = some_pairs(5000)
    stream = BatchStream(pairs, budget=4096, seed=1)
    batches = [next(stream) for _ in range(stream.num_batches(0))]
    num_cells = sum(batch.src_BS.numel() + batch.labels_BT.numel() for batch in batches)
    num_real = sum(batch.num_src_tokens + batch.num_tgt_tokens for batch in batches)
    assert num_real == sum(int(lengths.sum()) for lengths in pairs.lengths(0))
    assert 0 < 1 - num_real / num_cells < 0.10
    assert max(max(batch.src_BS.numel(), batch.labels_BT.numel()) for batch in batches) <= 4096


def test_order_is_a_function_of_seed_and_epoch_and_of_nothing_else() -> None:
    src_len, tgt_len = some_pairs().lengths(0)

    def order(seed: int, epoch: int) -> list[list[int]]:
        torch.manual_seed(seed + 10 * epoch)
        return [i.tolist() for i in plan_epoch(src_len, tgt_len, budget=200, seed=seed, epoch=epoch)]

    orders = {(seed, epoch): order(seed, epoch) for seed in (1, 2) for epoch in (0, 1)}
    assert order(1, 0) == orders[1, 0]
    assert len({str(found) for found in orders.values()}) == 4
    # Not only the batches are shuffled: which pairs meet in a batch changes too.
    assert {frozenset(index) for index in orders[1, 0]} != {frozenset(index) for index in orders[1, 1]}


def test_the_order_is_that_of_a_shuffle_a_stable_sort_and_a_shuffle_of_the_batches() -> None:
    """Written down the plain way: a run that goes on must find the order that it began with."""
    src_len, tgt_len = some_pairs().lengths(0)
    random = np.random.Generator(np.random.PCG64([1, 3]))
    shuffled = random.permutation(500).tolist()
    batches: list[list[int]] = [[]]
    for i in sorted(shuffled, key=lambda i: (max(src_len[i], tgt_len[i]), tgt_len[i], src_len[i])):
        if (len(batches[-1]) + 1) * max(src_len[i], tgt_len[i]) > 200:
            batches.append([])
        batches[-1].append(i)
    expected = [batches[i] for i in random.permutation(len(batches))]
    plan = plan_epoch(src_len.astype(np.int32), tgt_len.astype(np.int32), budget=200, seed=1, epoch=3)
    assert [index.tolist() for index in plan] == expected


def test_planning_takes_twenty_bytes_for_a_pair_beside_its_lengths_in_later_epochs_too() -> None:
    """One more array of positions is 80 MB at twenty million pairs."""
    num_pairs = 500_000
    random = np.random.default_rng(0)
    lengths = [(random.poisson(20, num_pairs) + 1).astype(np.int32) for _ in range(2)]
    pairs = Given(*lengths)
    tracemalloc.start()
    try:
        stream = BatchStream(pairs, budget=4096, seed=1)
        first = tracemalloc.get_traced_memory()[1]
        stream = BatchStream(pairs, budget=4096, seed=1, batch=stream.num_batches(0))
        tracemalloc.reset_peak()
        next(stream)
        later = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert first < 21 * num_pairs
    assert later < 21 * num_pairs


def test_batches_are_counted_without_a_plan() -> None:
    stream = BatchStream(some_pairs(grows=True), budget=300, seed=1)
    counts = [stream.num_batches(epoch) for epoch in range(4)]
    assert counts == [len(BatchStream(some_pairs(grows=True), budget=300, seed=1, epoch=i)._plan) for i in range(4)]
    assert len(set(counts)) > 1
    with pytest.raises(CorpusError, match=r"does not fit in a batch of 300: raise batch\.tokens"):
        stream.num_batches(300)  # found at the start, not when the epoch comes


def test_sorting_of_very_long_pairs_agrees_with_the_packed_sort() -> None:
    src_len, tgt_len = some_pairs().lengths(0)
    scale = 10_000  # lengths whose keys do not fit beside a place in 64 bits
    plain = plan_epoch(src_len, tgt_len, budget=100, seed=1, epoch=0)
    large = plan_epoch(src_len * scale, tgt_len * scale, budget=100 * scale, seed=1, epoch=0)
    assert [index.tolist() for index in plain] == [index.tolist() for index in large]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_pair_beyond_the_budget_is_named_with_the_settings_to_change(side: str) -> None:
    lengths = [3, 30, 4]
    pairs = Pairs(lengths, [3, 3, 3]) if side == "source" else Pairs([3, 3, 3], lengths)
    with pytest.raises(CorpusError, match=r"pair 102 has 31 tokens.*batch of 20: raise batch\.tokens.*max_tokens"):
        BatchStream(pairs, budget=20, seed=1)


def test_no_pairs_is_an_error_and_not_an_endless_loop() -> None:
    with pytest.raises(CorpusError, match="no usable training pairs"):
        BatchStream(Pairs([], []), budget=20, seed=1)
    assert list(sequential_batches(Pairs([], []), 20)) == []


def test_one_pair_makes_one_batch_for_every_epoch() -> None:
    stream = BatchStream(Pairs([2], [3]), budget=4, seed=1)
    assert [next(stream).index_B.tolist() for _ in range(3)] == [[0]] * 3
    assert stream.state() == {"epoch": 2, "batch": 1}


@pytest.mark.parametrize("taken", [0, 1, 7, 30, 61])
def test_a_resumed_stream_equals_the_uninterrupted_one(taken: int) -> None:
    settings: dict[str, Any] = {"budget": 400, "seed": 3}
    pairs = some_pairs(grows=True)  # each epoch has other lengths, as with sampled subwords
    stream = BatchStream(pairs, **settings)
    for _ in range(taken):
        next(stream)
    resumed = BatchStream(pairs, **settings, **stream.state())
    for left, right in islice(zip(stream, resumed, strict=True), 50):
        assert same(left, right)
    assert stream.state() == resumed.state()
    assert stream.state()["epoch"] >= 1


def test_a_stream_saved_at_the_end_of_an_epoch_goes_on_with_the_next() -> None:
    pairs = some_pairs(grows=True)
    stream = BatchStream(pairs, budget=400, seed=3)
    end = {"epoch": 0, "batch": stream.num_batches(0)}
    resumed = BatchStream(pairs, budget=400, seed=3, **end)
    assert same(next(resumed), next(BatchStream(pairs, budget=400, seed=3, epoch=1)))
    assert resumed.num_batches(0) == end["batch"]


def test_collate_adds_special_tokens_and_pads() -> None:
    batch = collate(
        [(np.array([5, 6]), np.array([7])), (np.array([8]), np.array([9, 10, 11]))],
        [4, 2],
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
    )
    assert batch.src_BS.tolist() == [[5, 6, EOS], [8, EOS, PAD]]
    assert batch.src_mask_BS.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tgt_in_BT.tolist() == [[BOS, 7, PAD, PAD], [BOS, 9, 10, 11]]
    assert batch.labels_BT.tolist() == [[7, EOS, PAD, PAD], [9, 10, 11, EOS]]
    assert (batch.num_src_tokens, batch.num_tgt_tokens) == (5, 6)
    assert batch.index_B.tolist() == [4, 2]
    assert {t.dtype for t in (batch.src_BS, batch.tgt_in_BT, batch.labels_BT)} == {torch.int64}
    moved = batch.to("meta")
    assert moved.src_mask_BS.device.type == moved.index_B.device.type == "meta"
    assert moved.num_tgt_tokens == 6


def test_an_empty_sentence_still_has_its_end() -> None:
    batch = collate([(np.array([], dtype=int), np.array([], dtype=int))], [0])
    assert (batch.src_BS.tolist(), batch.tgt_in_BT.tolist(), batch.labels_BT.tolist()) == ([[EOS]], [[BOS]], [[EOS]])


def test_evaluation_takes_each_pair_once_even_beyond_the_budget() -> None:
    pairs = Pairs([3, 50, 2, 3, 0], [3, 3, 2, 60, 1])
    batches = list(sequential_batches(pairs, 20))
    assert sorted(i for batch in batches for i in batch.index_B.tolist()) == [0, 1, 2, 3, 4]
    assert [batch.index_B.tolist() for batch in batches[-2:]] == [[1], [3]]
    assert all(batch.src_BS.numel() <= 20 and batch.labels_BT.numel() <= 20 for batch in batches[:-2])
    assert [batch.src_BS.shape[0] for batch in batches[:-2]] == [3]


def test_the_longest_batch_has_the_most_cells() -> None:
    stream = BatchStream(some_pairs(), budget=300, seed=1)
    longest = stream.longest_batch()
    cells = [batch.src_BS.numel() + batch.labels_BT.numel() for batch in islice(stream, stream.num_batches(0))]
    assert longest.src_BS.numel() + longest.labels_BT.numel() == max(cells)


def test_the_shapes_are_those_of_the_batches() -> None:
    stream = BatchStream(some_pairs(), budget=300, seed=1)
    batches = islice(BatchStream(some_pairs(), budget=300, seed=1), stream.num_batches(0))
    assert stream.shapes() == {(*batch.src_BS.shape, batch.labels_BT.shape[1]) for batch in batches}


def test_rows_of_a_batch_lose_the_padding_that_they_share() -> None:
    batch = collate([(np.arange(3, 3 + n), np.arange(3, 3 + m)) for n, m in ((2, 9), (7, 1), (4, 5))], [5, 6, 7])
    part = batch.rows([2, 0], pad_id=PAD)
    pairs = [(np.arange(3, 7), np.arange(3, 8)), (np.arange(3, 5), np.arange(3, 12))]
    assert same(part, collate(pairs, [7, 5]))
    assert (batch.num_cells, part.num_cells) == (3 * 10, 2 * 10)


def test_another_stream_begins_at_any_place_and_leaves_this_one_alone() -> None:
    stream = BatchStream(some_pairs(grows=True), budget=300, seed=1)
    number = stream.num_batches(0)
    batches, places = [], []
    for _ in range(number + 3):
        places.append(stream.state())
        batches.append(next(stream))
    for i in (0, 5, number - 1, number, number + 2):  # also where an epoch ends
        assert same(next(stream.at(**places[i])), batches[i])
    assert stream.state() == {"epoch": 1, "batch": 3}
