"""What is done to a process, armed inside it before the program begins.

{"kill_at": 17}                                   SIGKILL before its 17th change on disk
{"kill_in": "translator.training_set:train_tokenizers", "call": 1, "after": 0.01}
                                                  SIGKILL 0.01 s after the first call of a function
{"half_written": 3}                               the third tensor file is cut in half, then SIGKILL
{"limit_in": "translator.checkpoint:save_checkpoint", "call": 2, "bytes": 4000}
                                                  from that call on no file can be longer (RLIMIT_FSIZE)
{"limit_around": "translator.log:_append_whole", "bytes": 500}
                                                  the same, only while that function runs
{"fill_in": "translator.checkpoint:save_checkpoint", "call": 2, "filler": "/small/disk/file", "leave": 4096}
                                                  from that call on the disk of the filler has so many bytes free
{"clock": [-5000, 900000]}                        time.time() jumps at each call
{"slow": 0.05}                                    each step takes at least these seconds
{"interrupt_in": "translator.trainer:Trainer.train_step", "call": 4, "times": 2}
                                                  SIGINT so many times at the fourth step
{"machine": {"cores": 3, "bfloat16": false, "free": 140000000}}
                                                  what the machine seems to have
{"stderr": "/dev/full"}                            what is printed there meets a full disk
"""

import contextlib
import functools
import importlib
import itertools
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR


def die() -> None:
    """End this process as a power switch would, as far as a process can tell."""
    os.kill(os.getpid(), signal.SIGKILL)


def count_changes(folders: list[str], at_change: Callable[[int], None]) -> None:
    """Call `at_change` with 1, 2, ... before each change that Python makes under `folders`, flushes included."""
    counter = itertools.count(1)
    fsync = os.fsync

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES or (event == "open" and _writes(arguments, folders)):
            at_change(next(counter))

    def counted_fsync(handle: int) -> None:
        at_change(next(counter))
        fsync(handle)

    sys.addaudithook(hook)
    os.fsync = counted_fsync  # type: ignore[assignment]


def _writes(arguments: tuple[Any, ...], folders: list[str]) -> bool:
    path, _, flags = arguments
    return isinstance(path, str) and bool(flags & WRITING) and path.startswith(tuple(folders))


def at_call(place: str, number: int, act: Callable[[], object]) -> None:
    """Call `act` when the function at `place` ("module:name" or "module:Class.name") is called for the n-th time."""
    counter = itertools.count(1)

    def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if next(counter) == number:
            act()
        return function(*args, **kwargs)

    _wrap(*_find(place), called)


def _find(place: str) -> tuple[Any, str]:
    """What holds a function, and the function's name there."""
    module, _, names = place.partition(":")
    *way, name = names.split(".")
    return functools.reduce(getattr, way, importlib.import_module(module)), name


def _wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace a function by `wrapper`, which is called with the function and its arguments."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(function, *args, **kwargs)

    setattr(owner, name, wrapped)


def arm(fault: Mapping[str, Any], folders: list[str]) -> None:
    """Prepare a fault (module text above) in this process."""
    if "kill_at" in fault:
        count_changes(folders, lambda number: die() if number == fault["kill_at"] else None)
    if "kill_in" in fault:
        after = fault.get("after", 0.0)
        at_call(fault["kill_in"], fault.get("call", 1), lambda: threading.Timer(after, die).start() if after else die())
    if "half_written" in fault:
        _cut_in_half(fault["half_written"])
    if "limit_in" in fault:
        at_call(fault["limit_in"], fault.get("call", 1), lambda: limit_files(fault["bytes"]))
    if "limit_around" in fault:
        _limit_around(fault["limit_around"], fault["bytes"])
    if "fill_in" in fault:
        fill = functools.partial(fill_disk, Path(fault["filler"]), fault["leave"])
        at_call(fault["fill_in"], fault.get("call", 1), fill)
    if "clock" in fault:
        jumps, real = itertools.cycle([0, *fault["clock"]]), time.time
        time.time = lambda: real() + next(jumps)
    if "slow" in fault:
        _slow_down(fault["slow"])
    if "interrupt_in" in fault:
        at_call(fault["interrupt_in"], fault.get("call", 1), lambda: _interrupt(fault["times"]))
    if "machine" in fault:
        _pretend(**fault["machine"])
    if "stderr" in fault:
        os.dup2(os.open(fault["stderr"], os.O_WRONLY), 2)


def _pretend(cores: int, bfloat16: bool, free: int) -> None:
    for place, value in (
        ("translator.device:usable_cores", cores),
        ("translator.device:cpu_has_bfloat16", bfloat16),
        ("translator.build:free_memory", free),
    ):
        _wrap(*_find(place), lambda *_, value=value: value)


def _interrupt(times: int) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


def limit_files(num_bytes: int) -> None:
    """From now on a write beyond `num_bytes` of any file fails in this process, as with a quota."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def _limit_around(place: str, num_bytes: int) -> None:
    def limited(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit_files(num_bytes)
        try:
            return function(*args, **kwargs)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    _wrap(*_find(place), limited)


def _slow_down(seconds: float) -> None:
    def slowed(step: Callable[..., Any], *args: Any) -> Any:
        time.sleep(seconds)
        return step(*args)

    _wrap(*_find("translator.trainer:Trainer.train_step"), slowed)


def fill_disk(filler: Path, leave: int) -> None:
    """Fill a small disk up to `leave` bytes."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filler, max(0, filler.stat().st_size - leave))


def _cut_in_half(number: int) -> None:
    checkpoint = importlib.import_module("translator.checkpoint")
    save_file, counter = checkpoint.save_file, itertools.count(1)

    def save(tensors: Any, file: Path, **kwargs: Any) -> None:
        save_file(tensors, file, **kwargs)
        if next(counter) == number:
            os.truncate(file, file.stat().st_size // 2)
            die()

    checkpoint.save_file = save  # type: ignore[attr-defined]
