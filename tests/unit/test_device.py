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
