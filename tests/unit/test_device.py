"""Which device, in which precision: chosen, said and refused."""

import platform
import sys
from pathlib import Path

import pytest
import torch

from translator import device
from translator.errors import ConfigError


@pytest.mark.parametrize(
    ("flags", "precision"),
    [("fpu avx2 avx512f avx512_bf16", "bfloat16"), ("fpu amx_tile amx_bf16", "bfloat16"), ("fpu avx2", "float32")],
)
def test_precision_follows_the_processor(monkeypatch: pytest.MonkeyPatch, flags: str, precision: str) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"model name : A\nflags : {flags}\n")
    monkeypatch.setattr(Path, "exists", lambda _: True)
    chosen = device.choose_device("cpu", "auto", 3)
    assert (chosen.precision, chosen.threads) == (precision, 3)
    assert chosen.dtype == getattr(torch, precision)
    assert f"precision {precision}: this CPU" in chosen.describe()


def test_what_is_not_there_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"^device.kind: cuda is not available here \(available: .*cpu\); use "):
        device.choose_device("cuda")
    with pytest.raises(ConfigError, match="float16 is not supported on a CPU"):
        device.choose_device("cpu", "float16")


@pytest.mark.parametrize(("major", "precision"), [(9, "bfloat16"), (8, "bfloat16"), (7, "float16")])
def test_precision_follows_the_gpu(monkeypatch: pytest.MonkeyPatch, major: int, precision: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (major, 0))
    chosen = device.choose_device()
    assert (chosen.torch_device.type, chosen.precision) == ("cuda", precision)


def test_the_allocator_takes_its_settings() -> None:
    assert device.keep_freed_memory() == (platform.libc_ver()[0] == "glibc")


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:    5000 kB\n"}


def test_free_memory_is_what_the_kernel_calls_available(tmp_path: Path) -> None:
    assert device.free_main_memory(machine(tmp_path, MEMINFO)) == 5000 * 1024
    assert device.free_main_memory(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(("limit", "free"), [("max", 5000 * 1024), ("3000000", 2_100_000), ("100", 0)])
def test_a_control_group_of_version_2_bounds_it(tmp_path: Path, limit: str, free: int) -> None:
    group = "sys/fs/cgroup/job/step"
    files = {
        **MEMINFO,
        "proc/self/cgroup": "0::/job/step\n",
        f"{group}/memory.max": "max\n",
        f"{group}/memory.current": "1000\n",
        f"{group}/memory.stat": "inactive_file 0\n",
        "sys/fs/cgroup/job/memory.max": f"{limit}\n",  # the limit of a group around it
        "sys/fs/cgroup/job/memory.current": "1000000\n",
        "sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 100000\n",
    }
    assert device.free_main_memory(machine(tmp_path, files)) == free


def test_a_control_group_of_version_1_bounds_it(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory/box"
    files = {
        **MEMINFO,
        "proc/self/cgroup": "5:cpu,cpuacct:/box\n4:memory:/box\n",
        f"{folder}/memory.limit_in_bytes": "2000000\n",
        f"{folder}/memory.usage_in_bytes": "600000\n",
        f"{folder}/memory.stat": "cache 1\ntotal_inactive_file 50000\n",
    }
    assert device.free_main_memory(machine(tmp_path, files)) == 1_450_000


def test_free_memory_of_this_machine_is_known() -> None:
    free = device.free_memory(torch.device("cpu"))
    assert free is None or free > 0


def test_determinism_is_asked_of_torch() -> None:
    before = torch.are_deterministic_algorithms_enabled()
    try:
        for asked in (True, False):
            device.apply(device.choose_device("cpu", "float32", torch.get_num_threads()), deterministic=asked)
            assert torch.are_deterministic_algorithms_enabled() == asked
    finally:
        torch.use_deterministic_algorithms(before)
