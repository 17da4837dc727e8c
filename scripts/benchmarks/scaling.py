"""`scaling`: speed and memory of a training step against each size, the others held; JSON, a plot, a Markdown table.

Memory is the most that the process (or its work on a GPU) has held, and how much of it came with the model, the
optimizer and the steps: what the formula of `translator.memory` predicts, beside which it stands.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripts.benchmarks.contest import contest, rates
from scripts.benchmarks.corpus import MEDIAN_TOKENS, NUM_SPECIAL_TOKENS, draw_lengths, write_corpus
from scripts.benchmarks.machine import peak_rates
from scripts.benchmarks.settings import SETTINGS, Setting, write_config
from scripts.benchmarks.train import work_of
from translator.device import Device
from translator.files import write_atomic

AXES: dict[str, Sequence[int]] = {
    "d_model": (128, 256, 512, 1024),
    "num_layers": (1, 2, 3, 6, 12),
    "vocab_size": (4000, 8000, 16000, 32000, 64000),
    "sentence length": (10, 25, 50, 100, 250, 500),
    "batch_tokens": (500, 1000, 2000, 4500, 9000),
}


COLUMNS: list[tuple[str, int, Callable[[dict[str, Any]], str]]] = [  # title, width, what stands there
    ("value", 8, lambda point: f"{point['value']:,}"),
    ("tokens/s", 10, lambda point: f"{point['tokens_per_second']:,.0f}"),
    ("GFLOP/s", 9, lambda point: f"{point['flop_per_second'] / 1e9:,.1f}"),
    ("of peak", 9, lambda point: f"{point['share_of_peak']:.1%}"),
    ("MB, process", 13, lambda point: f"{point['bytes'] / 1e6:,.0f}"),
    ("MB, training", 14, lambda point: f"{point['training_bytes'] / 1e6:,.0f}"),
    ("predicted", 11, lambda point: f"{point['predicted_bytes'] / 1e6:,.0f}"),
    ("predicted/measured", 20, lambda point: f"{point['predicted_over_measured']:.2f}"),
]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--axes", nargs="*", choices=AXES, default=list(AXES), help="which sizes (default: all)")
    parser.add_argument("--steps", type=int, default=3, help="steps of a block (default: 3)")
    parser.add_argument("--rounds", type=int, default=3, help="blocks of each size (default: 3)")
    parser.add_argument("--setting", choices=SETTINGS, default="reference", help="the sizes that are held")
    parser.add_argument("--plot", type=Path, default=Path("runs/bench-scaling.png"), help="picture to write")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the figures to this file, as a table")


def setting_at(base: Setting, axis: str, value: int) -> Setting:
    """`base` with one size changed; the feed-forward stays four times as wide, heads as they are."""
    if axis == "d_model":
        return replace(base, d_model=value, d_ff=4 * value)
    return base if axis == "sentence length" else replace(base, **{axis: value})


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    base, points = SETTINGS[args.setting], []
    peak = peak_rates(device)[device.precision]
    for axis in args.axes:
        print(f"\n{axis}\n  {''.join(f'{title:>{width}}' for title, width, _ in COLUMNS)}")
        for value in AXES[axis]:
            point = _measure(folder, setting_at(base, axis, value), axis, value, args, device)
            point["share_of_peak"] = point["flop_per_second"] / peak
            points.append(point)
            print(f"  {''.join(f'{show(point):>{width}}' for _, width, show in COLUMNS)}")
    args.plot.parent.mkdir(parents=True, exist_ok=True)
    _plot(points, args.plot)
    print(f"\nPlot: {args.plot}")
    if args.markdown is not None:
        args.markdown.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(args.markdown, to_markdown(points))
    return {"setting": args.setting, "points": points}


def to_markdown(points: Sequence[dict[str, Any]]) -> str:
    """The figures as one table, sizes one below the other."""
    titles = ["size", *(title for title, _, _ in COLUMNS)]
    rows = [titles, ["---"] * len(titles)]
    rows += [[point["axis"].replace("_", " "), *(show(point) for _, _, show in COLUMNS)] for point in points]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


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
        "threads": device.threads, "setting": setting.to_json(), "keep_freed_memory": True, "pad_to": 0,
    }  # fmt: skip
    blocks = contest({f"{axis} {value}": spec}, args.rounds, steps=args.steps)
    (measured,) = blocks.values()
    useful = work_of(measured, "useful")
    speed = sorted(rates(measured))[len(measured) // 2]
    most = max(block["memory"] for block in measured)
    of_training, predicted = most - measured[0]["memory_before"], measured[-1]["memory_predicted"]
    return {
        "axis": axis,
        "value": value,
        "tokens_per_second": speed,
        "flop_per_second": speed * useful.training(setting) / useful.tgt,
        "bytes": most,
        "training_bytes": of_training,
        "predicted_bytes": predicted,
        "predicted_over_measured": predicted / of_training,
    }


def _plot(points: Sequence[dict[str, Any]], file: Path) -> None:
    """Speed above, memory of training as measured and as predicted below, a column for each size; logarithmic."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    axes = list(dict.fromkeys(point["axis"] for point in points))
    figure = Figure(figsize=(3.2 * len(axes), 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    rows = [
        ("target tokens a second", 1.0, {"measured": "tokens_per_second"}),
        ("MB of training", 1e6, {"measured": "training_bytes", "predicted": "predicted_bytes"}),
    ]
    for row, (label, unit, lines) in enumerate(rows):
        for column, axis in enumerate(axes):
            plot = figure.add_subplot(len(rows), len(axes), row * len(axes) + column + 1)
            chosen = [point for point in points if point["axis"] == axis]
            for (name, key), style in zip(lines.items(), ("o-", "x:"), strict=False):
                plot.loglog([p["value"] for p in chosen], [p[key] / unit for p in chosen], style, label=name)
            plot.minorticks_off()
            plot.set_xticks([p["value"] for p in chosen], [f"{p['value']:,}" for p in chosen], rotation=45)
            shown = plot.get_yticks(minor=False)
            if sum(low <= tick <= high for low, high in [plot.get_ylim()] for tick in shown) < 2:
                plot.set_yticks([p[lines["measured"]] / unit for p in chosen])
            plot.yaxis.set_major_formatter("{x:,.0f}")
            plot.set_xlabel(axis.replace("_", " "))
            plot.set_ylabel(label if column == 0 else "")
            plot.grid(visible=True, which="both", alpha=0.3)
            if row + 1 == len(rows) and column == 0:
                plot.legend()
    figure.savefig(file, dpi=100)
