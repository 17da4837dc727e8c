"""Contestants in processes of their own, measured by turns in short blocks.

Each has a process because the settings of the allocator cannot be undone, and so that its memory is its own. While one
works, the others wait for a line on their standard input. The order of the turns is reversed every round, and ratios
are taken within a round, so that what slows the machine for a minute slows both sides of a ratio.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scripts.benchmarks import ENVIRONMENT
from translator.errors import TranslatorError
from translator.threads import LATER

Block = Mapping[str, float]  # seconds, tokens and more, as the contestant counts them
PAUSE = 2 * LATER  # threads of ours wait in another way while others are busy
ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """A process that has made a contestant of `spec` (see `worker`) and waits to be told to work."""

    def __init__(self, name: str, spec: Mapping[str, Any]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by `close`)
        command = [sys.executable, "-m", "scripts.benchmarks.worker", json.dumps(spec)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT,
            env=ENVIRONMENT,
        )  # fmt: skip

    def ready(self) -> None:
        """Wait until it can begin. Raises TranslatorError with the last words of a process that could not."""
        self._answer()

    def block(self, **work: float) -> Block:
        """Have it do this much work, and measure it, when all others have been quiet for a moment."""
        time.sleep(PAUSE)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(work) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            last = (self._errors.read().strip().splitlines() or ["it ended without a word"])[-1]
            raise TranslatorError(f"{self.name} cannot be measured: {last}")
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()
        self._errors.close()


def contest(specs: Mapping[str, Mapping[str, Any]], rounds: int, **work: float) -> dict[str, list[Block]]:
    """The blocks of each contestant, one a round, after one that does not count.

    Of peers that cannot be measured here a sentence is printed; the first contestant must work.

    Raises:
        TranslatorError: the first contestant cannot be measured.
    """
    with ExitStack() as stack:
        workers: list[Worker] = []
        for name, spec in specs.items():  # one after the other: they would disturb each other's preparation
            worker = Worker(name, spec)
            stack.callback(worker.close)
            try:
                worker.ready()
                worker.block(**work)
            except TranslatorError as error:
                if not workers:
                    raise
                print(f"Left out: {error}", file=sys.stderr)
                continue
            workers.append(worker)
            print(f"ready: {name}", file=sys.stderr)
        blocks: dict[str, list[Block]] = {worker.name: [] for worker in workers}
        for number in range(rounds):
            for worker in workers if number % 2 == 0 else reversed(workers):
                blocks[worker.name].append(worker.block(**work))
    return blocks


def rates(blocks: Sequence[Block]) -> list[float]:
    """Tokens a second of each block."""
    return [block["tokens"] / block["seconds"] for block in blocks]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """How many times faster we are: median, least and most of the rounds."""
    values = [one / other for one, other in zip(ours, theirs, strict=True)]
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def summarise(blocks: Mapping[str, Sequence[Block]]) -> dict[str, dict[str, Any]]:
    """For each contestant its speed, its memory, and how many times faster the first one is."""
    first = rates(next(iter(blocks.values())))
    found: dict[str, dict[str, Any]] = {}
    for name, of_one in blocks.items():
        speeds = rates(of_one)
        found[name] = {
            "tokens_per_second": statistics.median(speeds),
            "range": [min(speeds), max(speeds)],
            "first_is_faster": ratio(first, speeds),
            "memory_bytes": max(block.get("memory", 0.0) for block in of_one),
        }
    return found
