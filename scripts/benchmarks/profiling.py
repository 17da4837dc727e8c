"""Where the time goes: a table of operators and of named parts, and a trace for Perfetto."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

from scripts.benchmarks.training import OurTraining
from translator.device import Device, apply

STEPS, TOP = 3, 25
Rows = list[dict[str, Any]]


def add_option(parser: argparse.ArgumentParser, measurement: str) -> None:
    """`--profile`, alone or with the file of the trace."""
    trace = f"runs/bench-{measurement}-trace.json"
    parser.add_argument(
        "--profile",
        nargs="?",
        const=Path(trace),
        type=Path,
        metavar="FILE",
        help=f"where the time goes, as a table and a trace for Perfetto (default: {trace})",
    )


@contextmanager
def profiled(device: Device, trace: Path | None, what: str, times: int = 1) -> Iterator[Rows]:
    """Profile what is done inside, `times` times the same; without a trace nothing is done.

    Afterwards the table is printed, the trace is written, and the list has the rows of the table.
    """
    rows: Rows = []
    if trace is None:
        yield rows
        return
    on_gpu = device.torch_device.type == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]) as profiler:
        yield rows
    side = "device" if on_gpu else "cpu"
    averages = profiler.key_averages()
    own_time = f"self_{side}_time_total"  # microseconds
    total = sum(getattr(event, own_time) for event in averages)
    rows += [
        {
            "operator": event.key,
            "share": getattr(event, own_time) / total,
            "milliseconds": getattr(event, own_time) / 1000 / times,
            "calls": event.count / times,
        }
        for event in sorted(averages, key=lambda event: getattr(event, own_time), reverse=True)[:TOP]
    ]
    print(f"\nWhere the time goes, {what} ({side}, own time; {total / 1000 / times:,.0f} ms each with the profiler)")
    print(f"  {'':52} {'share':>7} {'ms each':>9} {'calls':>9}")
    for row in rows:
        print(f"  {row['operator'][:52]:52} {row['share']:7.1%} {row['milliseconds']:9.1f} {row['calls']:9.0f}")
    trace.parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(trace))
    print(f"  Trace: {trace} (open it at https://ui.perfetto.dev)")


def profile_training(folder: Path, device: Device, trace: Path) -> Rows:
    """Profile some steps of ours in this process."""
    apply(device)
    ours = OurTraining(folder, device)
    ours.block(steps=2)
    with profiled(device, trace, f"{STEPS} training steps", STEPS) as rows:
        ours.block(steps=STEPS)
    return rows
