"""How the threads of torch wait for each other on a CPU.

One that spins is there at once, and takes the core from whoever else needs it; one that sleeps has to be woken. On a
quiet machine a step that spins is a tenth faster, beside another busy process it is half as fast (docs/benchmarks.md).
So threads spin for a moment, and not at all while other processes want their cores.

libgomp, the OpenMP library of torch on Linux, reads once how long they spin, when torch is loaded. But where there are
more OpenMP threads than cores it cuts that short (its manual, GOMP_SPINCOUNT), at every wait: so idle threads are held
while others are busy. Other OpenMP libraries sleep at once.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator, Set
from itertools import chain, repeat
from pathlib import Path

SPINS = 10_000  # turns of a loop: some 0.1 ms
FIRST, LATER = 0.1, 0.5  # seconds over which is measured how busy the cores are
WANTED = 0.3  # cores more than there are, from which on others are made way for; half of it ends that

POLICY = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": str(SPINS)}
_WATCH = "make-way"  # name of the thread


def spin_briefly() -> None:
    """Set how threads wait, unless the user has. Call it before torch, and with it OpenMP, is loaded."""
    if not any(name in os.environ for name in POLICY):
        os.environ.update(POLICY)


def make_way_for_others(num_threads: int) -> None:
    """From now on, see to it that threads of this process sleep while others need the cores (Linux; else nothing).

    Threads that wait as the user says are left alone.
    """
    is_ours = all(os.environ.get(name) == value for name, value in POLICY.items())
    is_watched = any(thread.name == _WATCH for thread in threading.enumerate())
    if is_ours and not is_watched and num_threads > 1 and sys.platform == "linux":
        threading.Thread(target=_watch, args=(num_threads,), name=_WATCH, daemon=True).start()


def _watch(num_threads: int) -> None:
    cores = os.sched_getaffinity(0)
    # libgomp then counts 1 + (1 + times) x (num_threads - 1) threads, more than there are cores
    idle = IdleThreads((len(cores) - 1) // (num_threads - 1))
    try:
        for others in busy_others(cores):
            excess = others + num_threads - len(cores)
            if excess > WANTED:
                idle.hold()
            elif excess < WANTED / 2:
                idle.release()
    except (OSError, ValueError, RuntimeError):  # it cannot be measured here, or no thread can be started
        idle.release()


def busy_others(cores: Set[int], root: Path = Path("/proc")) -> Iterator[float]:
    """How many of the cores processes other than this one keep busy, measured again at each turn."""
    before = time.monotonic(), _busy_seconds(cores, root), time.process_time()
    for seconds in chain([FIRST], repeat(LATER)):
        time.sleep(seconds)
        now = time.monotonic(), _busy_seconds(cores, root), time.process_time()
        elapsed, busy, own = (new - old for new, old in zip(now, before, strict=True))
        yield (busy - own) / elapsed
        before = now


def _busy_seconds(cores: Set[int], root: Path) -> float:
    """Seconds that these cores have worked since the machine started, all of them together: proc(5), /proc/stat."""
    names, total = {f"cpu{core}" for core in cores}, 0
    for line in (root / "stat").read_text().splitlines():
        name, *ticks = line.split()
        if name in names:
            user, nice, system, _idle, _waiting, interrupts, soft_interrupts = map(int, ticks[:7])
            total += user + nice + system + interrupts + soft_interrupts
    return total / os.sysconf("SC_CLK_TCK")


class IdleThreads:
    """OpenMP threads that do nothing, `times` as many as help the main thread in a parallel operation."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._done = threading.Event()
        self._done.set()

    def hold(self) -> None:
        """Have them, unless they are there."""
        if not self._done.is_set():
            return
        self._done = threading.Event()
        for _ in range(self._times):
            threading.Thread(target=self._idle, args=(self._done,), name="make-way-idle", daemon=True).start()

    def release(self) -> None:
        """Let them end."""
        self._done.set()

    @staticmethod
    def _idle(done: threading.Event) -> None:
        import torch

        torch.zeros(2**16).add_(1.0)  # large enough to be parallel: libgomp gives this thread helpers of its own
        done.wait()
