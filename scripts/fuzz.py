"""Coverage-guided fuzzing of everything that reads what a user was given.

    python -m scripts.fuzz                     10,000 cases of each target, from seed 1
    python -m scripts.fuzz --cases 100000 --seed 7 config jsonl

A case changes bytes of an input that reached new lines of the program before (at first: of a good file), and is kept
when it reaches new ones itself. A reader may take it or refuse it with one of our errors; anything else is a fault, and
so is a case of over ten seconds of processor time or a minute by the clock, or memory that grows by over 500 MB in a
case or by over 100 MB from the first tenth of the cases to the end. The input is kept as fuzz-TARGET-NUMBER and the
status is 1; that file also stays where a case takes the whole process down. The same seed gives the same cases, but for
checkpoint and state, whose files hold times.
"""

import argparse
import faulthandler
import gc
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from scripts.fuzz_targets import TARGETS, seeds
from translator.errors import TranslatorError

PACKAGE = str(Path(__file__).resolve().parents[1] / "translator")
MOST_SECONDS, MOST_MEGABYTES, MOST_BYTES, MOST_MESSAGE = 10, 500, 20_000, 50_000
MOST_WAIT = 60  # seconds by the clock
MOST_LEAKED = 100  # megabytes, from the first tenth of the cases to the last
PIECES = (
    *(bytes([byte]) for byte in b'\0\xff\n\r\t"\\,;{}[]:%#'),
    *(b"- ", b"&a ", b"*a", b"!!x ", b"1e999", b"-1", b"9" * 5000, b"null", b"NaN", b"\\ud83d", b"[" * 3000),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b'{"translation":'),
    *(b"<", b"/>", b"&#0;", b"&x;", b'<!ENTITY x "y">', b"<seg>", b"<x/>", b'xml:lang="it"', b"msgid ", b"msgstr[1] "),
    *(piece.encode() for piece in ("\u2028", "\u0301", "\u2581<eos><0x0A>")),
)


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Change a few places: bits, pieces that mean something, parts left out, doubled, or taken from another input."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((1, 2, 8, 64, 1000)))
        how = rng.randrange(5)
        if how == 0 and start < len(content):
            content[start] ^= 1 << rng.randrange(8)
        elif how == 1:
            content[start:start] = rng.choice(PIECES)
        elif how == 2:
            del content[start:end]
        elif how == 3:
            content[start:start] = content[start:end] * rng.choice((1, 2, 50))
        else:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            content[start:end] = other[cut : cut + 200]
    return bytes(content[:MOST_BYTES])


@contextmanager
def watch(reached: set[tuple[CodeType, int]]) -> Iterator[None]:
    """Collect the lines of this program that run."""

    def lines(frame: FrameType, event: str, _: object) -> Any:
        reached.add((frame.f_code, frame.f_lineno))
        return lines

    def calls(frame: FrameType, event: str, _: object) -> Any:
        return lines if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(None)


class Hang(BaseException):
    """A case that does not end; no `except Exception` on the way may swallow it."""


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise `Hang` in a block that takes longer by the clock, where the platform has such alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(signum: int, frame: FrameType | None) -> None:
        raise Hang(f"no end in {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(target: str, data: bytes) -> None:
    """Run one case. Raises what a user must never see: anything but one of our errors, told in few words."""
    try:
        with no_longer_than(MOST_WAIT):
            TARGETS[target](data)
    except TranslatorError as error:
        if len(str(error)) > MOST_MESSAGE:
            raise ValueError(f"a message of {len(str(error)):,} characters") from error


def _start_peak() -> float:
    """Forget the peak of memory so far where the system can (Linux); megabytes in use now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmHWM")


def _megabytes(name: str) -> float:
    """Memory of this process: VmRSS in use now, VmHWM at most since `_start_peak` (elsewhere than on Linux: ever)."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.partition(f"{name}:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_use(kept: list[bytes]) -> float:
    """Megabytes that this process holds beside the kept inputs."""
    gc.collect()
    return _megabytes("VmRSS") - sum(map(len, kept)) / 1e6


def fuzz(target: str, *, cases: int, seed: int) -> tuple[int, int, float]:
    """Run the cases; returns the number of faults, of inputs that reached new lines, and the longest case's seconds."""
    rng = random.Random(f"{target}/{seed}")
    kept, seen, faults, longest = list(seeds(target)), set[tuple[CodeType, int]](), 0, 0.0
    for data in kept:
        TARGETS[target](data)  # a good one that is refused would leave little to be reached
    early = 0.0
    for number in range(cases):
        if number == cases // 10:
            early = _in_use(kept)
        data = mutate(rng.choice(kept), kept, rng)
        reached: set[tuple[CodeType, int]] = set()
        file = Path(f"fuzz-{target}-{number}")
        file.write_bytes(data)
        # Where a library waits, and no alarm is heard, the process ends.
        faulthandler.dump_traceback_later(MOST_WAIT + 60, exit=True, file=sys.__stderr__ or sys.stderr)
        started = time.process_time()
        fault = ""
        before = _start_peak()
        try:
            with watch(reached):
                check(target, data)
        except (KeyboardInterrupt, SystemExit):  # from outside
            raise
        except BaseException as error:  # the panic of a Rust library is no Exception
            fault = f"{type(error).__name__}: {str(error)[:200]}"
        faulthandler.cancel_dump_traceback_later()
        seconds = time.process_time() - started
        longest = max(longest, seconds)
        if seconds > MOST_SECONDS:
            fault = fault or f"{seconds:.0f} seconds"
        if (grown := _megabytes("VmHWM") - before) > MOST_MEGABYTES:
            fault = fault or f"{grown:.0f} MB more memory"
        if fault:
            faults += 1
            print(f"{target} case {number}: {fault} (input kept as {file})", flush=True)
        else:
            file.unlink()
        if reached - seen:
            seen |= reached
            kept.append(data)
    if (leaked := _in_use(kept) - early) > MOST_LEAKED:
        faults += 1
        print(f"{target}: {leaked:.0f} MB more memory after {cases:,} cases than after {cases // 10:,}", flush=True)
    return faults, len(kept), longest


def main() -> int:
    """Fuzz the targets that are named, or all of them."""
    parser = argparse.ArgumentParser(description="Coverage-guided fuzzing of all that is read.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total = 0
    for target in args.targets or TARGETS:
        faults, kept, longest = fuzz(target, cases=args.cases, seed=args.seed)
        print(f"{target}: {args.cases:,} cases, {kept} kept, {faults} faults, longest {longest:.2f} s", flush=True)
        total += faults
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
