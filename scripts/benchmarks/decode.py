"""`decode`: greedy and beam search beside `generate` of transformers, and how cost grows with length.

How many tokens each translation has is fixed, the same for both sides: all as many, or each as many as its source.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks import profiling
from scripts.benchmarks.contest import contest, summarise
from scripts.benchmarks.decoding import AS_SOURCE, OurDecoding
from scripts.benchmarks.machine import peak_rates
from scripts.benchmarks.peers import need
from scripts.benchmarks.settings import SETTINGS
from translator.device import Device

PRECISION = "float32"  # that of every translation
SEARCHES = {"greedy, 64 sentences": (64, 1), "beam of 5, 32 sentences": (32, 5)}
LENGTHS = (25, 50, 100, 200, 350, 500)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--setting", choices=SETTINGS, default="reference")
    parser.add_argument("--length", type=int, default=16, help="tokens of each translation (default: 16)")
    parser.add_argument(
        "--mixed-lengths",
        dest="length",
        action="store_const",
        const=AS_SOURCE,
        help="each translation has as many tokens as its source, so that the rows of a batch end at different lengths",
    )
    parser.add_argument("--rounds", type=int, default=5, help="batches of each contestant (default: 5)")
    parser.add_argument("--peers", action="store_true", help="also transformers, by turns with ours")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help="lengths for the growth of cost")
    profiling.add_option(parser, "decode")


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
    peak = peak_rates(device)[PRECISION]
    tokens = "as many tokens as the source" if args.length == AS_SOURCE else f"{args.length} tokens each"
    result: dict[str, Any] = {"setting": args.setting, "length": args.length}
    for search, (sentences, beam) in SEARCHES.items():
        work = {"sentences": sentences, "beam": beam, "length": args.length}
        blocks = contest(specs, args.rounds, **work)
        summary: dict[str, dict[str, Any]] = summarise(blocks)
        print(f"\nDecoding, {args.setting}, {search}, {tokens}, {PRECISION}")
        print(f"  {'':34} {'tokens/s':>9} {'ms/sentence':>12} {'GFLOP/s':>8} {'of peak':>8} {'first is faster':>22}")
        for name, one in summary.items():
            block = blocks[name][0]
            one["ms_per_sentence"] = 1000 * block["tokens"] / block["sentences"] / one["tokens_per_second"]
            one["flop_per_second"] = one["tokens_per_second"] * block["flop"] / block["tokens"]
            one["share_of_peak"] = one["flop_per_second"] / peak
            faster = one["first_is_faster"]
            print(
                f"  {name:34} {one['tokens_per_second']:9,.0f} {one['ms_per_sentence']:12.2f} "
                f"{one['flop_per_second'] / 1e9:8.1f} {one['share_of_peak']:8.1%} "
                f"{faster['median']:8.2f} ({faster['least']:.2f}-{faster['most']:.2f})"
            )
        result[search] = dict(summary)
        if args.lengths:
            result[search]["growth"] = _growth(specs, args, sentences, beam)
        if args.profile is not None:
            ours = OurDecoding(SETTINGS[args.setting], device.torch_device)
            ours.block(**work)
            trace = args.profile.with_stem(f"{args.profile.stem}-beam-{beam}")
            with profiling.profiled(device, trace, f"a batch, {search}") as rows:
                ours.block(**work)
            result[search]["profile"] = rows
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
