"""`guard`: a quick check in one process that training and decoding have not become slow.

The training step is measured against a plain one (torch.nn.Transformer, F.cross_entropy, AdamW) of the same sizes on
the same batches, greedy decoding against the plainest search without a cache; by turns, so that ratios hold on a busy
machine too. Exit status 1 when a ratio is below its limit.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from scripts.benchmarks.contest import ratio
from scripts.benchmarks.corpus import NUM_SPECIAL_TOKENS, draw_lengths, load_data, write_corpus
from scripts.benchmarks.decoding import OurDecoding, sources, without_cache
from scripts.benchmarks.peers import plain
from scripts.benchmarks.settings import Setting, write_config
from scripts.benchmarks.training import OurTraining, PeerTraining
from translator.batches import BatchStream
from translator.device import Device

SIZES = Setting(d_model=128, d_ff=512, num_heads=4, num_layers=2, vocab_size=2000, batch_tokens=500)
NUM_PAIRS = 600
# Least times as fast as the reference: some 0.8 of what is measured (1.27 and 2.64), to leave room for noise.
TRAINING_LIMIT, DECODING_LIMIT = 1.0, 2.0
SENTENCES, LENGTH = 16, 40


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--rounds", type=int, default=7, help="blocks of each side (default: 7)")


def by_turns(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> dict[str, float]:
    """How many times faster ours is; both give a rate. One round comes before that does not count."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    sides = [("ours", ours), ("theirs", theirs)]
    for number in range(rounds + 1):
        for name, rate in sides if number % 2 else reversed(sides):
            found[name].append(rate())
    return ratio(found["ours"][1:], found["theirs"][1:])


def train_ratio(folder: Path, device: Device, rounds: int) -> dict[str, float]:
    """Our training step against a plain one."""
    files = write_corpus(folder, draw_lengths(NUM_PAIRS), SIZES.vocab_size - NUM_SPECIAL_TOKENS)
    kind = device.torch_device.type
    write_config(folder, SIZES, files, precision=device.precision, threads=device.threads, kind=kind, tokenizer="word")
    ours = OurTraining(folder, device)
    _, data = load_data(folder)
    stream = BatchStream(data.train, budget=SIZES.batch_tokens, seed=1)
    model, loss = plain(SIZES, data.src_tokenizer.vocab_size)
    theirs = PeerTraining(model, loss, stream, device)

    def rate(contestant: OurTraining | PeerTraining) -> float:
        block = contestant.block(steps=3)
        return block["tokens"] / block["seconds"]

    return by_turns(lambda: rate(ours), lambda: rate(theirs), rounds)


def decode_ratio(device: Device, rounds: int) -> dict[str, float]:
    """Greedy decoding against a search that computes every token anew at each step."""
    ours = OurDecoding(SIZES, device.torch_device)
    rows = [torch.tensor([*ids, 2]) for ids in sources(SENTENCES, SIZES.vocab_size)]
    src_BS = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device.torch_device)

    def rate_of_ours() -> float:
        block = ours.block(sentences=SENTENCES, beam=1, length=LENGTH)
        return block["tokens"] / block["seconds"]

    def rate_of_plain() -> float:
        started = time.perf_counter()
        without_cache(ours.model, src_BS, src_BS != 0, LENGTH + 1)
        return SENTENCES * LENGTH / (time.perf_counter() - started)

    return by_turns(rate_of_ours, rate_of_plain, rounds)


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file; `status` is the exit status."""
    found = {
        "training step": (train_ratio(folder, device, args.rounds), TRAINING_LIMIT),
        "greedy decoding": (decode_ratio(device, args.rounds), DECODING_LIMIT),
    }
    status = 0
    for name, (measured, limit) in found.items():
        verdict = "ok" if measured["median"] >= limit else "TOO SLOW"
        status = max(status, int(measured["median"] < limit))
        print(
            f"{name}: {measured['median']:.2f} times as fast as the plain one ({measured['least']:.2f}-"
            f"{measured['most']:.2f}; at least {limit:g}): {verdict}"
        )
    return {"status": status, **{name: {**measured, "limit": limit} for name, (measured, limit) in found.items()}}
