"""The machine: what it is, how busy it is, and how fast it multiplies matrices."""

import ctypes
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch

from translator.device import DTYPES, Device, cpu_has_bfloat16, wait_for
from translator.processes import usable_cores

BUSY = 0.5  # load average above which figures are not to be trusted
STATUS = Path("/proc/self/status")  # on Linux
LARGE = {"cpu": 2048, "mps": 4096, "cuda": 8192}  # rows, inner, columns of the square product that stands for the peak


@dataclass(frozen=True)
class Machine:
    """What figures depend on."""

    device: str  # in words
    cores: int
    load: float  # average of the last minute, before the measurement
    torch: str

    def lines(self) -> list[str]:
        """For the head of every report."""
        text = [self.device, f"Usable cores: {self.cores}; torch {self.torch}; load average before: {self.load:.2f}"]
        if self.load > BUSY:
            text.append("WARNING: something else is running; only ratios mean anything, and they are noisy.")
        return text

    def to_json(self) -> dict[str, object]:
        """The fields by name."""
        return asdict(self)


def describe_machine(device: Device) -> Machine:
    """This machine now."""
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0
    return Machine(device.describe(), usable_cores(), load, torch.__version__)


def precisions(kind: str) -> list[str]:
    """Precisions that this device multiplies natively, float32 first."""
    if kind == "cuda":
        return ["float32", "bfloat16" if torch.cuda.get_device_capability()[0] >= 8 else "float16"]
    return ["float32", "bfloat16"] if kind == "cpu" and cpu_has_bfloat16() else ["float32"]


def most_memory(kind: str) -> float:
    """Most bytes that this process (on a GPU: its work there) has held since `forget_memory`."""
    if kind == "cuda":
        return float(torch.cuda.max_memory_allocated())
    unit = 1 if sys.platform == "darwin" else 1024  # of getrusage, which counts the process that started this one too
    return _held("VmHWM") or float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def forget_memory(kind: str) -> float:
    """Begin anew with the most memory held, as far as the system can; returns the bytes that are held now."""
    if kind == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return float(torch.cuda.memory_allocated())
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)  # what was freed would be used again unseen
    with suppress(OSError):  # another system, or a container that forbids it
        Path("/proc/self/clear_refs").write_text("5")
    return _held("VmRSS") or most_memory(kind)


def _held(entry: str) -> float:
    """Bytes of an entry of this process's status; 0 where the system does not tell."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((int(line.split()[1]) * 1024.0 for line in lines if line.startswith(f"{entry}:")), 0.0)


def median_seconds(work: Callable[[], object], device: torch.device, *, at_least: float, most: int = 200) -> float:
    """Median time of one call, of as many as take `at_least` seconds (three or more); the first is not counted."""
    work()
    wait_for(device)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < at_least and len(times) < most):
        started = time.perf_counter()
        work()
        wait_for(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def matrix_rate(
    shape: Sequence[int], precision: str, device: torch.device, *, seconds: float = 1.0, layout: str = "nn"
) -> float:
    """FLOP/s of `torch.mm` of (M, K) by (K, N); `layout` says which operands are stored transposed ("n" or "t")."""
    rows, inner, columns = shape
    dtype = DTYPES[precision]

    def operand(height: int, width: int, stored: str) -> torch.Tensor:
        # small values, so that no sum grows into slow or special numbers
        size = (height, width) if stored == "n" else (width, height)
        tensor = (torch.randn(size, device=device) * 0.1).to(dtype)
        return tensor if stored == "n" else tensor.t()

    first, second = operand(rows, inner, layout[0]), operand(inner, columns, layout[1])
    out = torch.empty(rows, columns, dtype=dtype, device=device)
    with torch.no_grad():
        time_of_one = median_seconds(lambda: torch.mm(first, second, out=out), device, at_least=seconds)
    return 2.0 * rows * inner * columns / time_of_one


@cache
def peak_rates(device: Device) -> dict[str, float]:
    """FLOP/s of a large matrix product by precision, those that are native and the chosen one: the measured peak.

    Measured once in a process: the head of every report says it, and figures are set beside the same.
    """
    kind = device.torch_device.type
    shape = (LARGE[kind],) * 3
    names = dict.fromkeys([*precisions(kind), device.precision])
    return {name: matrix_rate(shape, name, device.torch_device) for name in names}
