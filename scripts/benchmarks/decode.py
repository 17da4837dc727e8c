"""`decode`: greedy and beam search beside `generate` of transformers, and how cost grows with length.

Every hypothesis is made to be of the same length, so both sides run the decoder equally often.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks.contest import contest, summarise
from scripts.benchmarks.peers import need
from scripts.benchmarks.settings import SETTINGS
from translator.device import Device

SEARCHES = {"greedy, 64 sentences": (64, 1), "beam of 5, 32 sentences": (32, 5)}
LENGTHS = (25, 50, 100, 200, 350, 500)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--setting", choices=SETTINGS, default="reference")
    parser.add_argument("--length", type=int, default=16, help="tokens of each translation (default: 16)")
    parser.add_argument("--rounds", type=int, default=5, help="batches of each contestant (default: 5)")
    parser.add_argument("--peers", action="store_true", help="also transformers, by turns with ours")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help="lengths for the growth of cost")


def fit_growth(lengths: Sequence[int], seconds: Sequence[float]) -> dict[str, float]:
    """seconds = fixed + linear n + quadratic n^2, by least squares of relative errors, and the shares at the longest.

    A negative term has no meaning and is left out of the fit.
    """
    n, measured = np.array(lengths, dtype=float), np.array(seconds)
    names = ["fixed", "linear", "quadratic"]
    kept = list(range(3))
    while True:
        powers = np.stack([n**power for power in kept], axis=1)
        values = np.linalg.lstsq(powers / measured[:, None], np.ones_like(n), rcond=None)[0]
        if len(kept) == 1 or values.min() >= 0:
            break
        kept.pop(int(values.argmin()))
    terms = dict.fromkeys(names, 0.0) | {names[power]: float(value) for power, value in zip(kept, values, strict=True)}
    longest = n.max()
    parts = {name: terms[name] * longest**power for power, name in enumerate(names)}
    shares = {f"{name}_share_at_{longest:.0f}": part / sum(parts.values()) for name, part in parts.items()}
    return terms | shares


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    del folder
    if args.peers:
        need("transformers")
    kind = device.torch_device.type
    common = {
        "task": "decode",
        "kind": kind,
        "threads": device.threads,
        "setting": SETTINGS[args.setting].to_json(),
        "keep_freed_memory": True,
    }
    specs = {"translator": {**common, "name": "ours"}}
    if args.peers:
        specs["transformers"] = {**common, "name": "transformers"}
        specs["transformers, default allocator"] = {**specs["transformers"], "keep_freed_memory": False}
    result: dict[str, Any] = {"setting": args.setting, "length": args.length}
    for search, (sentences, beam) in SEARCHES.items():
        blocks = contest(specs, args.rounds, sentences=sentences, beam=beam, length=args.length)
        summary = summarise(blocks)
        print(f"\nDecoding, {args.setting}, {search}, {args.length} tokens each, float32")
        print(f"  {'':34} {'tokens/s':>9} {'ms/sentence':>12} {'first is faster':>22}")
        for name, one in summary.items():
            one["ms_per_sentence"] = 1000 * args.length / one["tokens_per_second"]
            faster = one["first_is_faster"]
            print(
                f"  {name:34} {one['tokens_per_second']:9,.0f} {one['ms_per_sentence']:12.2f} "
                f"{faster['median']:8.2f} ({faster['least']:.2f}-{faster['most']:.2f})"
            )
        result[search] = summary
        if args.lengths:
            result[search]["growth"] = _growth(specs, args, sentences, beam)
    return result


def _growth(specs: dict[str, Any], args: argparse.Namespace, sentences: int, beam: int) -> dict[str, Any]:
    """Seconds of a batch against the number of tokens that it is made to write."""
    seconds: dict[str, list[float]] = {}
    for length in args.lengths:
        blocks = contest(specs, max(1, args.rounds // 2), sentences=sentences, beam=beam, length=length)
        for name, of_one in blocks.items():
            seconds.setdefault(name, []).append(statistics.median(block["seconds"] for block in of_one))
    found: dict[str, Any] = {"lengths": list(args.lengths), "seconds": seconds, "fit": {}}
    for name, values in seconds.items():
        found["fit"][name] = fit = fit_growth(args.lengths, values)
        points = "  ".join(f"{n}: {value:.2f} s" for n, value in zip(args.lengths, values, strict=True))
        shares = ", ".join(f"{key.replace('_', ' ')} {fit[key]:.0%}" for key in fit if "share" in key)
        print(f"  {name}, seconds of a batch by length: {points}\n    {shares}")
    return found
