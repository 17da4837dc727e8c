"""`numerics`: the loss curve of 16 bits beside float32, by the whole program (`translator train`).

Three seeds train in float32, and the first of them once more in 16 bits with float32 masters. That run has the first
weights and the batches of the first seed, so sound arithmetic keeps it near that curve. Three numbers tell the spread
of seeds badly (their range varies by half its size), so the mean of the ranges at all points is taken; the rule is that
no point leaves the range of the three by more than that. A fourth seed would at 4 points of 100, if seeds are normal.
"""

import argparse
import contextlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from translator import build
from translator.config import load_config
from translator.device import Device
from translator.errors import TranslatorError

Curve = Mapping[int, float]  # step -> mean loss of a token since the point before

SEEDS = (1, 2, 3)
EVERY = 50  # steps
SETTINGS = (  # of the starter corpus; nothing is validated
    "corpus.valid=null",
    "corpus.test=null",
    "tokenizer.vocab_size=1000",
    "model.d_model=64",
    "model.num_heads=4",
    "model.d_ff=256",
    "model.num_encoder_layers=2",
    "model.num_decoder_layers=2",
    "batch.tokens=512",
    "train.minutes=null",
    f"train.log_every={EVERY}",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--steps", type=int, default=500, help="of each of the four runs (default: 500)")


def curve(folder: Path, device: Device, *, seed: int, precision: str, steps: int) -> Curve:
    """Train, and read the training loss from the log."""
    name = f"{precision}-{seed}"
    words = [f"name={name}", f"seed={seed}", f"train.steps={steps}", f"device.precision={precision}"]
    words += [f"device.kind={device.torch_device.type}", f"device.threads={device.threads}"]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = build.train(load_config(None, [*SETTINGS, *words]), home=folder)
    if status:
        raise TranslatorError(f"The run {name} did not end well: {said.getvalue().splitlines()[-1]}")
    lines = (folder / "runs" / name / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = map(json.loads, lines)
    return {record["step"]: record["train/loss"] for record in records if "train/loss" in record}


def judge(seeds: Sequence[Curve], other: Curve) -> dict[str, Any]:
    """Of each point the range of the seeds, its width and how far outside the other curve is; and the verdict."""
    points: list[dict[str, Any]] = []
    for step in seeds[0]:
        losses = [one[step] for one in seeds]
        least, most = min(losses), max(losses)
        low = other.get(step, math.nan)  # only finite losses are logged
        outside = max(least - low, low - most, 0.0)  # in this order NaN stays NaN
        points.append({"step": step, "float32": losses, "low": low, "spread": most - least, "outside": outside})
    allowed = sum(point["spread"] for point in points) / len(points)
    bad = [point["step"] for point in points if not point["outside"] <= allowed]
    return {"points": points, "allowed": allowed, "bad": bad, "status": int(bool(bad))}


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Train the four runs, print the table, and return what goes into the JSON file; `status` is the exit status."""
    low = "bfloat16" if device.precision == "float32" else device.precision
    seeds = []
    for seed in SEEDS:
        seeds.append(curve(folder, device, seed=seed, precision="float32", steps=args.steps))
    other = curve(folder, device, seed=SEEDS[0], precision=low, steps=args.steps)
    found = judge(seeds, other)
    print("Training loss, mean since the line before:")
    print(" step" + "".join(f"   seed {seed}" for seed in SEEDS) + f"   spread  {low}  outside")
    for point in found["points"]:
        losses = "".join(f"{loss:9.4f}" for loss in point["float32"])
        print(f"{point['step']:5}{losses}{point['spread']:9.4f}{point['low']:10.4f}{point['outside']:9.4f}")
    verdict = f"TOO FAR at step {', '.join(map(str, found['bad']))}" if found["bad"] else "ok"
    print(f"{low} may be outside the seeds by their mean spread, {found['allowed']:.4f}: {verdict}")
    return {"low_precision": low, "seeds": SEEDS, **found}
