"""Batches made ahead: the same ones in the same order, a place that counts what was taken, and no thread left over."""

import threading
from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from translator.batches import BatchStream, IntArray
from translator.errors import TranslatorError
from translator.feed import steps

CPU, CUDA, MPS = map(torch.device, ("cpu", "cuda", "mps"))


class Pairs:
    """Pairs whose lengths differ from epoch to epoch. Making a batch fails from `breaks_at` pairs on."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.num_made, self.breaks_at = 0, breaks_at
        self.makers: set[str] = set()
        self.index = np.arange(40)

    @property
    def num_pairs(self) -> int:
        return len(self.index)

    def lengths(self, epoch: int) -> tuple[IntArray, IntArray]:
        lengths = 2 + (self.index * 7 + epoch) % 9
        return lengths, lengths

    def pair(self, i: int, epoch: int) -> tuple[IntArray, IntArray]:
        self.num_made += 1
        if self.num_made == self.breaks_at:
            raise TranslatorError("the disk is gone")
        self.makers.add(threading.current_thread().name)
        ids = np.full(self.lengths(epoch)[0][i] - 1, 10 + i)
        return ids, ids

    def numbers(self, positions: IntArray, epoch: int) -> IntArray:
        return positions


@pytest.fixture(autouse=True)
def pinned(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What was pinned; a machine without a GPU cannot."""
    asked: list[Tensor] = []

    def pin_memory(tensor: Tensor) -> Tensor:
        asked.append(tensor)
        return tensor.clone()

    monkeypatch.setattr(Tensor, "pin_memory", pin_memory)
    return asked


def stream(pairs: Pairs, **place: int) -> BatchStream:
    return BatchStream(pairs, budget=30, seed=1, **place)


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("feed")}


@pytest.mark.parametrize("device", [CPU, CUDA, MPS], ids=str)
def test_order_and_place_are_those_of_the_stream(device: torch.device) -> None:
    plain, fed = stream(Pairs()), stream(Pairs())
    with closing(steps(fed, 2, device)) as feed:
        for _ in range(3 * plain.num_batches(0) // 2):  # into a third epoch
            assert fed.state() == plain.state()
            for batch in next(feed):
                expected = next(plain)
                assert batch.src_BS.equal(expected.src_BS)
                assert batch.labels_BT.equal(expected.labels_BT)
                assert batch.index_B.equal(expected.index_B)
            assert fed.state() == plain.state()
    assert plain.state()["epoch"] >= 2


@pytest.mark.parametrize("device", [CPU, CUDA], ids=str)
def test_a_stream_that_was_left_goes_on_with_the_next_batch(device: torch.device) -> None:
    fed = stream(Pairs())
    with closing(steps(fed, 1, device)) as feed:
        for _ in range(5):
            next(feed)
    expected = stream(Pairs(), **fed.state())
    assert next(fed).src_BS.equal(next(expected).src_BS)
    assert fed.state() == {"epoch": 0, "batch": 6}


def test_a_thread_makes_batches_only_where_the_device_is_not_the_cpu() -> None:
    for device, is_threaded in ((CPU, False), (CUDA, True), (MPS, True)):
        pairs = Pairs()
        with closing(steps(stream(pairs), 1, device)) as feed:
            next(feed)
            assert bool(threads()) == is_threaded
        assert all(name.startswith("feed") == is_threaded for name in pairs.makers)


def test_only_cuda_asks_for_pinned_memory(pinned: list[Tensor]) -> None:
    for device in (CPU, MPS):
        with closing(steps(stream(Pairs()), 1, device)) as feed:
            next(feed)
    assert not pinned
    with closing(steps(stream(Pairs()), 1, CUDA)) as feed:
        (batch,) = next(feed)
    assert len(pinned) >= 5  # source, mask, target, labels, numbers
    assert not any(tensor is batch.src_BS for tensor in pinned)  # what is given out is the pinned copy


def test_a_consumer_that_stops_leaves_no_thread() -> None:
    def consume(stop: type[BaseException]) -> None:
        with closing(steps(stream(Pairs()), 1, CUDA)) as feed:
            next(feed)
            assert threads()
            raise stop

    for stop in (KeyboardInterrupt, SystemExit, TranslatorError):
        with pytest.raises(stop):
            consume(stop)
        assert not threads()


def test_little_is_made_ahead() -> None:
    pairs = Pairs()
    fed = stream(pairs)
    with closing(steps(fed, 1, CUDA)) as feed:
        next(feed)
    plain = stream(Pairs())
    most = sum(len(next(plain).index_B) for _ in range(3))  # the one that was taken, and two more
    assert pairs.num_made <= most


def test_what_goes_wrong_in_the_thread_comes_out_when_its_turn_comes() -> None:
    num_pairs = [len(batch.index_B) for batch, _ in zip(stream(Pairs()), range(3), strict=False)]
    pairs = Pairs(breaks_at=sum(num_pairs) + 1)
    fed = stream(pairs)
    with closing(steps(fed, 1, CUDA)) as feed:
        for _ in num_pairs:
            next(feed)
        with pytest.raises(TranslatorError, match=r"^the disk is gone$"):
            next(feed)
    assert fed.state() == {"epoch": 0, "batch": 3}
    assert not threads()


@pytest.mark.parametrize(("kind", "expected"), [("cpu", False), ("cuda", True), ("mps", False)])
def test_only_cuda_is_left_to_copy_by_itself(monkeypatch: pytest.MonkeyPatch, kind: str, expected: bool) -> None:
    asked: list[tuple[Any, bool]] = []

    def to(tensor: Tensor, device: torch.device, *, non_blocking: bool) -> Tensor:
        asked.append((device, non_blocking))
        return tensor

    monkeypatch.setattr(Tensor, "to", to)
    next(stream(Pairs())).to(kind)
    assert asked == [(torch.device(kind), expected)] * 5
