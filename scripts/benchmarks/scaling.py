"""`scaling`: speed and memory of a training step against each size, the others held; JSON and a plot.

Memory is the most that the process (or its work on a GPU) has held, and how much of it came with the steps: what the
backward pass needs, and Adam's two moments. On a CPU the latter is a little low: steps also use what loading has freed.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripts.benchmarks.contest import contest, rates
from scripts.benchmarks.corpus import MEDIAN_TOKENS, NUM_SPECIAL_TOKENS, draw_lengths, write_corpus
from scripts.benchmarks.settings import SETTINGS, Setting, write_config
from scripts.benchmarks.train import work_of
from translator.device import Device

AXES: dict[str, Sequence[int]] = {
    "d_model": (128, 256, 512, 1024),
    "num_layers": (1, 2, 3, 6, 12),
    "vocab_size": (4000, 8000, 16000, 32000, 64000),
    "sentence length": (10, 25, 50, 100, 250, 500),
    "batch_tokens": (500, 1000, 2000, 4500, 9000),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--axes", nargs="*", choices=AXES, default=list(AXES), help="which sizes (default: all)")
    parser.add_argument("--steps", type=int, default=3, help="steps of a block (default: 3)")
    parser.add_argument("--rounds", type=int, default=3, help="blocks of each size (default: 3)")
    parser.add_argument("--setting", choices=SETTINGS, default="reference", help="the sizes that are held")
    parser.add_argument("--plot", type=Path, default=Path("runs/bench-scaling.png"), help="picture to write")


def setting_at(base: Setting, axis: str, value: int) -> Setting:
    """`base` with one size changed; the feed-forward stays four times as wide, heads as they are."""
    if axis == "d_model":
        return replace(base, d_model=value, d_ff=4 * value)
    return base if axis == "sentence length" else replace(base, **{axis: value})


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    base, points = SETTINGS[args.setting], []
    for axis in args.axes:
        print(f"\n{axis}\n  {'':>10} {'tokens/s':>9} {'GFLOP/s':>9} {'MB of steps':>13} {'MB in all':>16}")
        for value in AXES[axis]:
            point = _measure(folder, setting_at(base, axis, value), axis, value, args, device)
            points.append(point)
            print(
                f"  {value:10,} {point['tokens_per_second']:9,.0f} {point['flop_per_second'] / 1e9:9.1f} "
                f"{point['step_bytes'] / 1e6:13,.0f} {point['bytes'] / 1e6:16,.0f}"
            )
    args.plot.parent.mkdir(parents=True, exist_ok=True)
    _plot(points, args.plot)
    print(f"\nPlot: {args.plot}")
    return {"setting": args.setting, "points": points}


def _measure(
    folder: Path, setting: Setting, axis: str, value: int, args: argparse.Namespace, device: Device
) -> dict[str, Any]:
    """One point, in a process of its own, so that its memory is its own."""
    place = folder / f"{axis}-{value}"
    place.mkdir()
    median = float(value) if axis == "sentence length" else MEDIAN_TOKENS
    # Enough text that every word of the vocabulary occurs, and for some batches.
    num_pairs = int(max(200, 10 * setting.batch_tokens / median, 1.1 * setting.vocab_size / median))
    files = write_corpus(place, draw_lengths(num_pairs, median=median), setting.vocab_size - NUM_SPECIAL_TOKENS)
    kind = device.torch_device.type
    write_config(place, setting, files, precision=device.precision, threads=device.threads, kind=kind, tokenizer="word")
    spec = {
        "task": "train", "name": "ours", "folder": str(place), "kind": kind, "precision": device.precision,
        "threads": device.threads, "setting": setting.to_json(), "keep_freed_memory": True,
    }  # fmt: skip
    blocks = contest({f"{axis} {value}": spec}, args.rounds, steps=args.steps)
    (measured,) = blocks.values()
    useful = work_of(measured, "useful")
    speed = sorted(rates(measured))[len(measured) // 2]
    most = max(block["memory"] for block in measured)
    return {
        "axis": axis,
        "value": value,
        "tokens_per_second": speed,
        "flop_per_second": speed * useful.training(setting) / useful.tgt,
        "bytes": most,
        "step_bytes": most - measured[0]["memory_before"],
    }


def _plot(points: Sequence[dict[str, Any]], file: Path) -> None:
    """Speed above, memory below, a column for each size; both axes logarithmic."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    axes = list(dict.fromkeys(point["axis"] for point in points))
    figure = Figure(figsize=(3.2 * len(axes), 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    rows = {"tokens_per_second": ("target tokens a second", 1.0), "bytes": ("MB of the process", 1e6)}
    for row, (key, (label, unit)) in enumerate(rows.items()):
        for column, axis in enumerate(axes):
            plot = figure.add_subplot(len(rows), len(axes), row * len(axes) + column + 1)
            chosen = [point for point in points if point["axis"] == axis]
            plot.loglog([p["value"] for p in chosen], [p[key] / unit for p in chosen], marker="o")
            plot.minorticks_off()
            plot.set_xticks([p["value"] for p in chosen], [f"{p['value']:,}" for p in chosen], rotation=45)
            shown = plot.get_yticks(minor=False)
            if sum(low <= tick <= high for low, high in [plot.get_ylim()] for tick in shown) < 2:
                plot.set_yticks([p[key] / unit for p in chosen])
            plot.yaxis.set_major_formatter("{x:,.0f}")
            plot.set_xlabel(axis.replace("_", " "))
            plot.set_ylabel(label if column == 0 else "")
            plot.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(file, dpi=100)
