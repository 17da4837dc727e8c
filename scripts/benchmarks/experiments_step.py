"""Experiments with whole training steps in this process: precision, threads, shapes of batches, padding."""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from scripts.benchmarks.corpus import draw_lengths
from scripts.benchmarks.experiments_common import (
    LENGTH,
    Finding,
    LeftOutError,
    Setup,
    Sides,
    Training,
    Work,
    add_gradients,
    make_model,
    padded_to,
    random_batch,
)
from translator.batches import Batch, BatchPlan, IntArray, collate, plan_epoch
from translator.optim import FlatParameters

NUM_BATCHES = 30  # of an epoch, that are timed


def square_batch(setup: Setup, parts: int = 1) -> Batch:
    """Sentences of one length, or an equal part of them."""
    return random_batch(max(1, setup.step_tokens // LENGTH // parts), LENGTH, LENGTH, setup.setting.vocab_size)


def masters_or_autocast(setup: Setup) -> Sides:
    """Layers in low precision with float32 masters in the optimizer, against float32 layers under autocast."""
    if setup.dtype == torch.float32:
        raise LeftOutError("in float32 there is nothing to cast; give --precision bfloat16")
    batch = square_batch(setup)
    low, full = Training(setup.setting, setup.dtype), Training(setup.setting, torch.float32)

    def autocast() -> None:
        with torch.autocast("cpu", setup.dtype):
            full.step(batch)

    return Sides(lambda: low.step(batch), autocast)


def two_threads(setup: Setup) -> Sides:
    """Half of the batch on each of two threads of one core, against the whole on one thread that uses all cores."""
    whole, halves = square_batch(setup), [square_batch(setup, 2) for _ in range(2)]
    model, *copies = (make_model(setup.setting, setup.dtype) for _ in range(3))
    of_model, *buffers = (FlatParameters(one) for one in (model, *copies))
    pool = ThreadPoolExecutor(2, initializer=torch.set_num_threads, initargs=(1,))

    def by_two() -> None:
        for done in [pool.submit(add_gradients, *work) for work in zip(copies, halves, strict=True)]:
            done.result()
        for one in buffers:
            one.collect()
        buffers[0].grad.add_(buffers[1].grad)

    def by_one() -> None:
        torch.set_num_threads(setup.device.threads)
        add_gradients(model, whole)
        of_model.collect()

    return Sides(by_two, by_one, needs=[pool])


@dataclass(frozen=True)
class Epoch:
    """The batches of an epoch at the lengths of Multi30k, whose lengths are rounded up to multiples."""

    src_len: IntArray
    tgt_len: IntArray
    plan: BatchPlan
    multiple: int

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Rows, source and target length of each batch."""
        rounded = (rounded_up(side, self.multiple) for side in (self.src_len, self.tgt_len))
        return list(zip(*(side.tolist() for side in self.plan.shapes(*rounded)), strict=True))

    @property
    def padding(self) -> float:
        """The share of all cells that holds no token."""
        cells = sum(rows * (src + tgt) for rows, src, tgt in self.shapes)
        return 1 - int(self.src_len.sum() + self.tgt_len.sum()) / cells

    def batches(self, count: int, vocab_size: int) -> list[Batch]:
        """The first ones, of random tokens."""
        random = np.random.default_rng(1)
        made = []
        for index in itertools.islice(self.plan, count):
            lengths = zip(self.src_len[index], self.tgt_len[index], strict=True)
            pairs = [tuple(random.integers(3, vocab_size, length - 1) for length in both) for both in lengths]
            made.append(padded_to(collate([(src, tgt) for src, tgt in pairs], index), self.multiple))
        return made


def rounded_up(lengths: IntArray, multiple: int) -> IntArray:
    """The next multiples."""
    rounded: IntArray = -(-lengths // multiple) * multiple
    return rounded


def plan(setup: Setup, multiple: int, budget: int) -> Epoch:
    """An epoch planned as training plans it, by the rounded lengths."""
    src_len, tgt_len = draw_lengths(setup.num_pairs).T + 1  # the end mark
    rounded = (rounded_up(side, multiple) for side in (src_len, tgt_len))
    return Epoch(src_len, tgt_len, plan_epoch(*rounded, budget=budget, seed=1, epoch=0), multiple)


def stretches(training: Training, batches: Sequence[Batch], size: int) -> Work:
    """Each turn takes `size` steps, on the batches that follow; returns thousands of real target tokens."""
    following = itertools.cycle(batches)

    def work() -> float:
        tokens = 0
        for batch in itertools.islice(following, size):
            training.step(batch)
            tokens += batch.num_tgt_tokens
        return tokens / 1000

    return work


def buckets(setup: Setup, multiple: int) -> Sides:
    """The batches of an epoch as they are, against those of lengths rounded up: fewer shapes, more padding."""
    epochs = [plan(setup, 1, setup.step_tokens), plan(setup, multiple, setup.step_tokens)]
    training = Training(setup.setting, setup.dtype)
    size = max(1, NUM_BATCHES // setup.rounds)
    present, rounded = (
        stretches(training, epoch.batches(NUM_BATCHES, setup.setting.vocab_size), size) for epoch in epochs
    )
    texts = [
        f"{len(set(epoch.shapes))} shapes in {len(epoch.plan)} batches with {epoch.padding:.1%} padding"
        for epoch in epochs
    ]
    return Sides(
        rounded,
        present,
        unit=" for 1,000 target tokens",
        conclude=lambda one, other: [
            f"rounded: {texts[1]}; as they are: {texts[0]} (batches of {setup.step_tokens:,} cells)"
        ],
    )


def packing(setup: Setup) -> Finding:
    """What several sentences in one row could gain at the most: the cells that are padding now."""
    padding = plan(setup, 1, setup.tokens).padding
    most = 1 / (1 - padding)
    return Finding(
        most,
        f"{padding:.1%} of the cells are padding in batches of {setup.tokens:,} cells: packing gains {most:.3f} times "
        "at the most",
    )
