"""How threads wait: briefly spinning, or, while others need the cores, asleep."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from translator import threads

STAT = """cpu  9000 9000 9000 9000 9000 9000 9000 9000 0 0
cpu0 {0} 10 20 {2} {2} 3 7 {2} 0 0
cpu1 {2} {2} {2} 5000 500 {2} {2} 900 0 0
cpu2 5 {1} {1} {2} 500 {1} {1} 900 0 0
intr 1
"""


def test_what_others_do_on_our_cores_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"now": 50.0, "own": 3.0}
    ticks = [0, 0, 0]  # of core 0 in one column; of core 2 in four; of what must not count

    def sleep(seconds: float) -> None:
        clock["now"] += seconds
        clock["own"] += 0.75 * seconds
        per_second = os.sysconf("SC_CLK_TCK")
        for kind, share in enumerate((1.0, 0.1, 0.9)):
            ticks[kind] += round(share * seconds * per_second)
        (tmp_path / "stat").write_text(STAT.format(*ticks))

    (tmp_path / "stat").write_text(STAT.format(*ticks))
    times = SimpleNamespace(sleep=sleep, monotonic=lambda: clock["now"], process_time=lambda: clock["own"])
    monkeypatch.setattr(threads, "time", times)
    others = threads.busy_others({0, 2}, tmp_path)  # of the third core nothing counts
    assert [next(others) for _ in range(3)] == pytest.approx([1.0 + 4 * 0.1 - 0.75] * 3)
    assert clock["now"] == pytest.approx(50 + threads.FIRST + 2 * threads.LATER)


def test_idle_threads_are_held_while_there_are_too_few_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Held:
        def __init__(self, count: int) -> None:
            done.append(f"{count} times")

        def hold(self) -> None:
            done.append("hold")

        def release(self) -> None:
            done.append("release")

    def busy(cores: set[int]) -> Iterator[float]:
        yield from (2.0, 2.25, 2.35, 2.25, 2.1)

    monkeypatch.setattr(threads, "IdleThreads", Held)
    monkeypatch.setattr(threads, "busy_others", busy)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)))
    threads._watch(3)  # two cores are left for others
    # 1 + 2 x (1 + 2) OpenMP threads are more than 5 cores; between the limits nothing changes
    assert done == ["2 times", "release", "hold", "release"]


def said_by(code: str) -> list[str]:
    """What a new Python prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_idle_threads_cut_short_how_long_others_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor time of a thread that waits in vain, without idle threads, with them, and without again."""
    if not sys.platform.startswith("linux"):
        pytest.skip("libgomp is what torch has on Linux")
    monkeypatch.setenv("GOMP_SPINCOUNT", "3000000")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    code = """
import os, time, torch
from translator.threads import IdleThreads
torch.set_num_threads(2)
x, idle = torch.zeros(2**20), IdleThreads(len(os.sched_getaffinity(0)) - 1)
def spun():
    time.sleep(0.3)
    before = time.process_time()
    for _ in range(10):
        x.add_(1.0)
        time.sleep(0.05)
    return time.process_time() - before
alone = spun()
idle.hold()
held = spun()
idle.release()
print(alone, held, spun())
"""
    alone, held, after = map(float, said_by(code))
    assert held < 0.5 * alone
    assert held < 0.5 * after


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["passive", str(threads.SPINS), "1"]),
        (threads.POLICY, ["passive", str(threads.SPINS), "1"]),  # from a process that has set it
        ({"OMP_WAIT_POLICY": "active"}, ["active", "None", "0"]),
        ({"GOMP_SPINCOUNT": "7"}, ["None", "7", "0"]),
    ],
)
def test_the_policy_of_the_user_holds(
    given: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
        if name in given:
            monkeypatch.setenv(name, given[name])
    code = """
import os, threading
from translator.threads import make_way_for_others, spin_briefly
spin_briefly()
for _ in range(2):
    make_way_for_others(2)
print(os.environ.get("OMP_WAIT_POLICY"), os.environ.get("GOMP_SPINCOUNT"))
print([thread.name for thread in threading.enumerate()].count("make-way"))
"""
    if not sys.platform.startswith("linux"):
        expected[2] = "0"
    assert said_by(code) == expected


def test_a_single_thread_has_nobody_to_wait_for() -> None:
    code = """
import threading
from translator.threads import make_way_for_others, spin_briefly
spin_briefly()
make_way_for_others(1)
print(threading.active_count())
"""
    assert said_by(code) == ["1"]
