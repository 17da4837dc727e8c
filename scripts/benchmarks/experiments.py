"""`experiments`: choices of the training step, each beside what it replaced or what was left out.

Every experiment has two sides that do the same work; they run by turns, and the median of each and of their ratio are
printed beside the gain that was expected. All of them measure a CPU.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch

from scripts.benchmarks import experiments_parts as parts
from scripts.benchmarks import experiments_processes as processes
from scripts.benchmarks import experiments_step as step
from scripts.benchmarks.contest import ratio
from scripts.benchmarks.corpus import NUM_PAIRS
from scripts.benchmarks.experiments_common import Finding, LeftOutError, Setup, Sides
from scripts.benchmarks.settings import SETTINGS
from translator.device import Device
from translator.errors import TranslatorError

Make = Callable[[Setup], Sides | Finding]

EXPERIMENTS: dict[str, tuple[str, Make]] = {
    "attention: fused or eager, length 16": (
        "fused loses where scores are small: 0.8",
        partial(parts.attention, length=16),
    ),
    "attention: fused or eager, length 64": ("even", partial(parts.attention, length=64)),
    "attention: fused or eager, length 256": (
        "fused wins by the memory it saves: 1.5",
        partial(parts.attention, length=256),
    ),
    "query, key, value: one product or three": (
        "wider products run nearer the peak: 1.2",
        parts.joined_projections,
    ),
    "dropout: four masks a draw, or torch's": (
        "a quarter of the draws: 4",
        partial(parts.dropout_masks, other=parts.masks_of_torch),
    ),
    "dropout: four masks a draw, or stretches of a pool": (
        "a pool draws nothing: 0.3",
        partial(parts.dropout_masks, other=parts.pooled_masks),
    ),
    "dropout: four masks a draw, or hashes of a counter": (
        "more operations, but on all threads and vectors: 0.8",
        partial(parts.dropout_masks, other=parts.hashed_masks),
    ),
    "loss: gradient in place, or cross_entropy": ("fewer passes over the logits: 1.5", parts.loss),
    "loss: pieces of 512 rows, or all at once": (
        "a tenth of the memory for as many products: 1.0",
        parts.chunked_loss,
    ),
    "optimizer: flat or by parameter": ("one call in place of one a parameter: 1.2", parts.optimizer),
    "precision: float32 masters or autocast": (
        "no casts of weights and activations: 1.5",
        step.masters_or_autocast,
    ),
    "threads: two of one core, or one of all": ("the serial parts are a fifth: 1.2", step.two_threads),
    "processes: two of one thread, or one of two": (
        "the same without one interpreter in common: 1.2",
        processes.two_processes,
    ),
    "waiting: threads spin 10,000 turns, or as long as by default": (
        "even on a quiet machine: 1.0",
        partial(processes.waiting_threads, other={}),
    ),
    "waiting: threads spin 10,000 turns, or for ever (active)": (
        "even on a quiet machine: 1.0",
        partial(processes.waiting_threads, other={"OMP_WAIT_POLICY": "active"}),
    ),
    "waiting: threads spin 10,000 turns, or sleep": (
        "short waits need no waking: 1.15",
        partial(processes.waiting_threads, other={"OMP_WAIT_POLICY": "passive"}),
    ),
    "buckets: lengths in multiples of 4, or as they are": (
        "without a compiler shapes cost nothing, padding does: 0.95",
        partial(step.buckets, multiple=4),
    ),
    "buckets: lengths in multiples of 8, or as they are": (
        "twice that padding: 0.85",
        partial(step.buckets, multiple=8),
    ),
    "packing: rows without padding": ("batches by length leave little: 1.04", step.packing),
    "compiled: the model at one shape, or not": (
        "fused element-wise kernels: 1.2",
        partial(processes.compiled, what="model", lengths=(16,)),
    ),
    "compiled: by layer at two shapes, or not": (
        "less to fuse, layers of one kind compile once: 1.1",
        partial(processes.compiled, what="layers", lengths=processes.COMPILED_LENGTHS),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--setting", choices=SETTINGS, default="reference")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each side (default: 9)")
    parser.add_argument("--only", metavar="WORD", help="experiments with this word in their name")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that compiling may take (default: 60)")
    parser.add_argument("--list", action="store_true", help="print names and expectations, measure nothing")


def turns(sides: Sides, rounds: int) -> Iterator[tuple[float, float]]:
    """Seconds of each side, round by round, after one that does not count."""
    for number in range(rounds + 1):
        seconds = {}
        for work in (sides.first, sides.second) if number % 2 else (sides.second, sides.first):
            sides.prepare()
            started = time.perf_counter()
            amount = work()
            seconds[work] = (time.perf_counter() - started) / (1.0 if amount is None else amount)
        if number:
            yield seconds[sides.first], seconds[sides.second]


def measure(make: Make, setup: Setup) -> tuple[dict[str, Any], list[str]]:
    """What one experiment finds, as figures and as lines. Raises LeftOutError."""
    torch.manual_seed(0)
    torch.set_num_threads(setup.device.threads)
    sides = make(setup)
    if isinstance(sides, Finding):
        return {"times_as_fast": {"median": sides.times_as_fast}}, [sides.text]
    with ExitStack() as stack:
        for one in sides.needs:
            stack.enter_context(one)
        pairs = list(turns(sides, setup.rounds))
        first, second = (list(side) for side in zip(*pairs, strict=True))
        medians = statistics.median(first), statistics.median(second)
        lines = sides.conclude(*medians)
    faster = ratio(second, first)  # of seconds, so the other way round
    head = (
        f"{medians[0] * 1e3:.1f} ms, {medians[1] * 1e3:.1f} ms{sides.unit}; "
        f"{faster['median']:.2f} ({faster['least']:.2f}-{faster['most']:.2f}) times as fast"
    )
    return {"seconds": list(medians), "times_as_fast": faster}, [head, *lines]


def chosen(word: str | None) -> dict[str, tuple[str, Make]]:
    """The experiments with the word in their name. Raises TranslatorError where there is none."""
    found = {name: entry for name, entry in EXPERIMENTS.items() if word is None or word in name}
    if not found:
        raise TranslatorError(f'No experiment has "{word}" in its name; --list prints all names.')
    return found


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    experiments = chosen(args.only)
    if args.list:
        for name, (prediction, _) in experiments.items():
            print(f"{name}\n  expected: {prediction}")
        return {}
    if args.rounds < 1:
        raise TranslatorError(f"--rounds {args.rounds} measures nothing: give 1 or more.")
    kind = device.torch_device.type
    if kind != "cpu":
        raise TranslatorError(f"The experiments measure a CPU, not {kind}: give --device cpu.")
    setup = Setup(SETTINGS[args.setting], device, folder, args.rounds, NUM_PAIRS, args.limit)
    found: dict[str, Any] = {}
    for name, (prediction, make) in experiments.items():
        try:
            figures, lines = measure(make, setup)
        except LeftOutError as error:
            figures, lines = {"left_out": str(error)}, [f"left out: {error}"]
        found[name] = {**figures, "prediction": prediction}
        print("\n  ".join([name, f"expected: {prediction}", *lines]), flush=True)
    return {"setting": {"name": args.setting, **setup.setting.to_json()}, "experiments": found}
