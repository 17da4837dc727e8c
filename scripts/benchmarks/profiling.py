"""Where the time of the training step goes: a table of operators, and a trace for Perfetto."""

from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

from scripts.benchmarks.training import OurTraining
from translator.device import Device, apply

STEPS, TOP = 3, 25


def profile_training(folder: Path, device: Device, trace: Path) -> list[dict[str, Any]]:
    """Profile some steps of ours in this process; print the operators that take the most time by themselves."""
    apply(device)
    ours = OurTraining(folder, device)
    ours.block(steps=2)
    on_gpu = device.torch_device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as profiler:
        ours.block(steps=STEPS)
    side = "device" if on_gpu else "cpu"
    averages = profiler.key_averages()
    total = sum(getattr(event, f"self_{side}_time_total") for event in averages)
    ordered = sorted(averages, key=lambda event: getattr(event, f"self_{side}_time_total"), reverse=True)[:TOP]
    rows = [
        {
            "operator": event.key,
            "share": getattr(event, f"self_{side}_time_total") / total,
            "milliseconds_a_step": getattr(event, f"self_{side}_time_total") / 1000 / STEPS,
            "calls_a_step": event.count / STEPS,
        }
        for event in ordered
    ]
    print(
        f"\nWhere the time goes ({side}, self time, {STEPS} steps, {total / 1000 / STEPS:,.0f} ms each with profiler)"
    )
    print(f"  {'operator':52} {'share':>7} {'ms/step':>9} {'calls/step':>11}")
    for row in rows:
        print(
            f"  {row['operator'][:52]:52} {row['share']:7.1%} {row['milliseconds_a_step']:9.1f} "
            f"{row['calls_a_step']:11.0f}"
        )
    trace.parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(trace))
    print(f"  Trace: {trace} (open it at https://ui.perfetto.dev)")
    return rows
