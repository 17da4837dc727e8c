"""`data`: how fast pairs are read, tokenised, planned and fed, beside how fast they are trained on."""

import argparse
import contextlib
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.profiler import record_function

from scripts.benchmarks import profiling
from scripts.benchmarks.corpus import NUM_SPECIAL_TOKENS, caches_in, draw_lengths, load_data, write_corpus
from scripts.benchmarks.settings import SETTINGS, read_config, write_config
from scripts.benchmarks.training import OurTraining
from translator import corpus
from translator.batches import BatchStream, plan_epoch
from translator.device import Device
from translator.encode import encode_corpus
from translator.tokenizer import train_tokenizers


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--setting", choices=SETTINGS, default="reference")
    parser.add_argument("--pairs", type=int, default=29_000, help="number of invented pairs (default: 29,000)")
    parser.add_argument("--steps", type=int, default=10, help="training steps to compare with (default: 10)")
    profiling.add_option(parser, "data")


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    setting = SETTINGS[args.setting]
    files = write_corpus(folder, draw_lengths(args.pairs), setting.vocab_size - NUM_SPECIAL_TOKENS)
    write_config(folder, setting, files, precision=device.precision, threads=device.threads, tokenizer="bpe")
    config = read_config(folder)
    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(name: str) -> Iterator[None]:
        started = time.perf_counter()
        with record_function(name):  # a row of the profile
            yield
        seconds[name] = time.perf_counter() - started

    with profiling.profiled(device, args.profile, "all stages") as profile:
        with caches_in(folder), contextlib.redirect_stderr(io.StringIO()):
            with timed("read, check and filter"):
                found = corpus.prepare(config.corpus)
            with timed("read again, from the cache"):
                corpus.prepare(config.corpus)
            with timed("train the tokenizer"):
                tokenizer, _ = train_tokenizers(found.train, config.tokenizer)
            with timed("tokenise"):
                encoded = encode_corpus(found.train, tokenizer, tokenizer, max_tokens=200)
        src_len, tgt_len = encoded.lengths(0)
        with timed("plan an epoch"):
            plan_epoch(src_len, tgt_len, budget=setting.batch_tokens, seed=1, epoch=0)
        stream = BatchStream(encoded, budget=setting.batch_tokens, seed=1)
        with timed("make the batches of an epoch"):
            for _ in range(stream.num_batches(0)):
                next(stream)
    load_data(folder)
    ours = OurTraining(folder, device)
    ours.block(steps=2)
    block = ours.block(steps=args.steps)
    speed = block["tokens"] / block["seconds"]
    num_pairs, num_tokens = encoded.num_pairs, int(tgt_len.sum())
    print(f"\nData, {num_pairs:,} pairs, {num_tokens:,} target tokens; training runs at {speed:,.0f} target tokens/s")
    print(f"  {'':30} {'seconds':>9} {'pairs/s':>12} {'tokens/s':>13} {'of training':>12}")
    rows: dict[str, Any] = {}
    for name, value in seconds.items():
        rates = {"seconds": value, "pairs_per_second": num_pairs / value, "tokens_per_second": num_tokens / value}
        rows[name] = rates | {"times_training": num_tokens / value / speed}
        print(
            f"  {name:30} {value:9.3f} {rates['pairs_per_second']:12,.0f} {rates['tokens_per_second']:13,.0f} "
            f"{rows[name]['times_training']:11,.0f}x"
        )
    once = ("read, check and filter", "train the tokenizer", "tokenise", "plan an epoch")
    total = sum(seconds[name] for name in once)
    times_training = num_tokens / total / speed
    waiting = block["waiting"] / block["seconds"]
    print(f"  Reading, tokenizer, tokenising and planning together: {times_training:,.0f} times the speed of training.")
    print(
        f"  The step waits for its batches {waiting:.2%} of the time; padding is {block['padding']:.1%} of the cells."
    )
    return {
        "setting": args.setting,
        "threads": torch.get_num_threads(),
        "training_tokens_per_second": speed,
        "stages": rows,
        "preparation_times_training": times_training,
        "waiting_share": waiting,
        "padding_share": block["padding"],
        **({"profile": profile} if profile else {}),
    }
