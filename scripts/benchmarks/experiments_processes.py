"""Experiments with whole training steps in processes of their own: compiling, two processes, waiting threads.

What these try cannot be undone in a process: the environment of its threads, what its compiler holds. A process that
is not at work is stopped, because threads that wait by spinning would take a core from the one that is.
"""

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from types import TracebackType

from scripts.benchmarks.experiments_common import LeftOutError, Setup, Sides, Training, random_batch
from scripts.benchmarks.experiments_step import square_batch
from translator.device import apply
from translator.threads import POLICY

COMPILED_LENGTHS = (16, 24)


def serve(line: Connection, make: Callable[[Setup], Callable[[], None]], setup: Setup) -> None:
    """The other end of `Process`: make something that works in turns, and answer each message with one turn."""
    try:
        apply(setup.device)
        work = make(setup)
        line.send("made")
        while True:
            started = time.perf_counter()
            work()
            line.send(time.perf_counter() - started)
            line.recv()
    except (EOFError, ConnectionError):  # the line was closed
        pass
    except Exception as error:  # of torch.compile it may be any
        line.send(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")


class Process:
    """A process with these variables in its environment, that does its first turn when it is entered."""

    def __init__(
        self,
        make: Callable[[Setup], Callable[[], None]],
        setup: Setup,
        environment: Mapping[str, str] = POLICY,
    ) -> None:
        self.first_seconds = 0.0  # of the first turn
        self._environment, self._limit = environment, setup.limit
        context = multiprocessing.get_context("spawn")
        self._line, self._other_end = context.Pipe()
        self._process = context.Process(target=serve, args=(self._other_end, make, setup), daemon=True)

    def __enter__(self) -> "Process":
        kept = dict(os.environ)
        for name in POLICY:
            os.environ.pop(name, None)
        os.environ.update(self._environment)
        try:
            self._process.start()
        finally:
            os.environ.clear()
            os.environ.update(kept)
        self._other_end.close()
        try:
            self._answer(None)
            self.first_seconds = float(self._answer(self._limit))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._signal(signal.SIGSTOP)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signal(signal.SIGCONT)
        self._line.close()  # which ends it, unless its first turn is not done
        self._process.join(5 if self.first_seconds else 0)
        self._process.kill()
        self._process.join()

    def begin(self) -> None:
        """Start a turn."""
        self._signal(signal.SIGCONT)
        self._line.send("again")

    def end(self) -> None:
        """Wait until it is done."""
        self._answer(None)
        self._signal(signal.SIGSTOP)

    def turn(self) -> None:
        """One turn."""
        self.begin()
        self.end()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def _answer(self, limit: float | None) -> float | str:
        if not self._line.poll(limit):
            raise LeftOutError(f"the first turn was not done within {limit:.0f} s")
        try:
            answer: float | str = self._line.recv()
        except EOFError:
            raise LeftOutError("its process ended without a word") from None
        if isinstance(answer, str) and answer != "made":
            raise LeftOutError(answer)
        return answer


@dataclass(frozen=True)
class Steps:
    """Whole steps on a part of the square batch."""

    parts: int = 1

    def __call__(self, setup: Setup) -> Callable[[], None]:
        training, batch = Training(setup.setting, setup.dtype), square_batch(setup, self.parts)
        return lambda: training.step(batch)


@dataclass(frozen=True)
class CompiledSteps:
    """A step at each of a few fixed shapes, where a part of the model ("layers", "model" or "nothing") is compiled."""

    what: str
    lengths: tuple[int, ...]

    def __call__(self, setup: Setup) -> Callable[[], None]:
        training = Training(setup.setting, setup.dtype)
        model = training.model
        layers = [*model.encoder.layers, *model.decoder.layers]
        compiled = {"layers": layers, "model": [model], "nothing": []}[self.what]
        if compiled:
            import torch._dynamo

            # layers of one kind share their code, and each shape of each kind is a version of it
            torch._dynamo.config.recompile_limit = 2 * len(layers) * len(self.lengths)
        for module in compiled:
            module.compile(dynamic=False)
        batches = [
            random_batch(max(1, setup.step_tokens // length), length, length, setup.setting.vocab_size)
            for length in self.lengths
        ]

        def work() -> None:
            for batch in batches:
                training.step(batch)

        return work


def compiled(setup: Setup, what: str, lengths: tuple[int, ...]) -> Sides:
    """torch.compile at fixed shapes, against none; and after how many steps its time is paid back."""
    # an empty cache: what an earlier run has compiled would hide the time
    cache = tempfile.mkdtemp(prefix="compiled-", dir=setup.folder)
    fast = Process(CompiledSteps(what, lengths), setup, {**POLICY, "TORCHINDUCTOR_CACHE_DIR": cache})
    plain = Process(CompiledSteps("nothing", lengths), setup)

    def conclude(one: float, other: float) -> list[str]:
        compiling = fast.first_seconds - one
        before, after = (seconds / len(lengths) for seconds in (other, one))
        paid = f"paid back after {compiling / (before - after):,.0f} steps" if after < before else "never paid back"
        return [
            f"compiling took {compiling:.0f} s for {len(lengths)} shape{'s' * (len(lengths) > 1)}; a step takes "
            f"{before * 1e3:.1f} ms before and {after * 1e3:.1f} ms after: {paid}"
        ]

    return Sides(fast.turn, plain.turn, needs=[fast, plain], conclude=conclude)


def with_threads(setup: Setup, threads: int) -> Setup:
    return replace(setup, device=replace(setup.device, threads=threads))


def two_processes(setup: Setup) -> Sides:
    """Half of the batch in each of two processes of one thread, against the whole in one process of two threads.

    Each updates its own weights: gradients are not exchanged, so this is the most that two processes could gain.
    """
    halves = [Process(Steps(2), with_threads(setup, 1)) for _ in range(2)]
    whole = Process(Steps(), with_threads(setup, 2))

    def both() -> None:
        for half in halves:
            half.begin()
        for half in halves:
            half.end()

    def conclude(one: float, other: float) -> list[str]:
        tokens = [2 * square_batch(setup, 2).num_tgt_tokens / one, square_batch(setup).num_tgt_tokens / other]
        return [f"{tokens[0]:,.0f} tokens/s of both together, {tokens[1]:,.0f} of one"]

    return Sides(both, whole.turn, needs=[*halves, whole], conclude=conclude)


def waiting_threads(setup: Setup, other: Mapping[str, str]) -> Sides:
    """Threads that spin for a moment and then sleep, as `translator` has them on a quiet machine, against others."""
    ours, theirs = Process(Steps(), setup), Process(Steps(), setup, other)
    return Sides(ours.turn, theirs.turn, needs=[ours, theirs])
