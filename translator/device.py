"""Everything that depends on the device: which one, in which precision, with how many threads."""

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from translator.errors import ConfigError
from translator.processes import usable_cores
from translator.threads import make_way_for_others

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # mallopt(3)


@dataclass(frozen=True)
class Device:
    """The chosen device. `precision` is a key of `DTYPES`; `reason` says in words why it was chosen."""

    torch_device: torch.device
    precision: str
    threads: int
    reason: str

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights in training."""
        return DTYPES[self.precision]

    def describe(self) -> str:
        """The first line of a run."""
        kind = self.torch_device.type
        name = torch.cuda.get_device_name(self.torch_device) if kind == "cuda" else _processor_name()
        threads = f", {self.threads} thread{'s' if self.threads > 1 else ''}" if kind == "cpu" else ""
        return f"Device: {kind} ({name}){threads}; precision {self.precision}: {self.reason}."


def choose_device(kind: str = "auto", precision: str = "auto", threads: int | str = "auto") -> Device:
    """Take CUDA, then MPS, then the CPU, unless told; and the fastest precision that the hardware multiplies natively.

    Raises ConfigError when the device asked for is not there.
    """
    present = available_kinds()
    if kind == "auto":
        kind = present[0]
    elif kind not in present:
        raise ConfigError(
            f"device.kind: {kind} is not available here (available: {', '.join(present)}); use device.kind=auto."
        )
    reason = "as asked"
    if precision == "auto":
        precision, reason = _choose_precision(kind)
    elif precision == "float16" and kind == "cpu":
        raise ConfigError("device.precision: float16 is not supported on a CPU; use float32, bfloat16 or auto.")
    num_threads = usable_cores() if threads == "auto" else int(threads)
    return Device(torch.device(kind), precision, num_threads, reason)


def available_kinds() -> list[str]:
    """Kinds of device that this machine has, the best first."""
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [kind for kind, there in present.items() if there]


def _choose_precision(kind: str) -> tuple[str, str]:
    if kind == "cuda":
        if torch.cuda.get_device_capability()[0] >= 8:
            return "bfloat16", "this GPU multiplies bfloat16 natively"
        return "float16", "this GPU is older than bfloat16; the loss is scaled"
    if kind == "mps":
        return "float32", "the safe choice on MPS"
    if cpu_has_bfloat16():
        return "bfloat16", "this CPU multiplies bfloat16 natively"
    return "float32", "this CPU has no bfloat16 units"


def cpu_has_bfloat16() -> bool:
    """Whether the processor has AVX512_BF16 or AMX (on Linux; elsewhere no such claim is made)."""
    cpuinfo = Path("/proc/cpuinfo")
    if not sys.platform.startswith("linux") or not cpuinfo.exists():
        return False
    flags = next((line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), "").split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def apply(device: Device, *, deterministic: bool = False) -> None:
    """Set threads, determinism and the memory allocator of this process."""
    torch.set_num_threads(device.threads)
    if deterministic != torch.are_deterministic_algorithms_enabled():  # setting it loads torch's compiler
        torch.use_deterministic_algorithms(deterministic)
    if deterministic and device.torch_device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it, before its first use
    settle()


def settle() -> None:
    """Have this process keep its memory, and its threads on a CPU wait so that neither it nor others are slowed."""
    keep_freed_memory()
    make_way_for_others(torch.get_num_threads())


def wait_for(device: torch.device) -> None:
    """Return when the device has done all that it was given: a GPU works on while Python goes ahead."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def works_on_its_own(device: torch.device) -> bool:
    """Whether the device computes while Python goes ahead, so that the processor is free for other work meanwhile."""
    return device.type != "cpu"


def copies_on_its_own(device: torch.device) -> bool:
    """Whether the device may be left to copy from main memory while Python goes ahead.

    CUDA does so from page-locked memory and keeps it until then; from other memory it copies at once. MPS would copy
    from memory that was given away meanwhile (pytorch issue 189690).
    """
    return device.type == "cuda"


def keep_freed_memory() -> bool:
    """Have glibc keep freed memory instead of handing it back to the kernel, which costs page faults every step.

    Returns whether the C library took the settings (another library than glibc is left as it is).
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 64 << 20))
    return all(mallopt(parameter, value) == 1 for parameter, value in settings)


def free_memory(device: torch.device) -> int | None:
    """Bytes that this process may still take: of the GPU, or of the machine within the limits of its control group.

    None where the system does not tell.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return free_main_memory()


def free_main_memory(root: Path = Path("/")) -> int | None:
    """The least of what the kernel calls available and what each control group around this process leaves (Linux)."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    available = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return min([*available, *_left_by_groups(root)], default=None)


def _left_by_groups(root: Path) -> Iterator[int]:
    """What version 1 and version 2 control groups leave; file pages that the kernel can drop count as free."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, limit, used, droppable = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, limit = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            used, droppable = "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        top = root / base
        folder = top / group.lstrip("/")
        for around in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # absent, or "max": no limit here
                left = int((around / limit).read_text()) - int((around / used).read_text())
                stat = dict(entry.split() for entry in (around / "memory.stat").read_text().splitlines())
                yield max(0, left + int(stat.get(droppable, 0)))
            if around == top:
                break


def _processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
