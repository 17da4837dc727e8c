"""The program in processes that can be killed: forked from one that has loaded all libraries, which takes seconds.

python -m tests.torture.jobs      the process they are forked from: JSON lines in, JSON lines out
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
CHANGES = "\x00changes on disk: "
LIBRARIES = [  # what a run loads sooner or later
    "translator.build",
    "translator.check",
    "translator.commands.checking",
    "translator.commands.training",
    "translator.commands.using",
    "tensorboard.summary.writer.record_writer",
    "torch._inductor",
    "torch.utils.tensorboard.summary",
    "torchmetrics.text",
    "sacrebleu",
]


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status (-9 when it was killed), what it printed, its changes on disk."""

    status: int
    out: str
    num_changes: int

    @property
    def reached(self) -> int:
        """The last step that it told of, or 0."""
        return max((int(step) for step in re.findall(r"^step (\d+)", self.out, re.MULTILINE)), default=0)


class Jobs:
    """Starts processes of the program, one at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        environment["OMP_WAIT_POLICY"] = "passive"  # two threads beside another test would spin for minutes
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.jobs"],
            cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(
        self,
        folder: Path,
        words: Sequence[str],
        *,
        fault: Mapping[str, Any] | None = None,
        kill_after: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """`translator WORDS` with `folder` as the current one, and as the place of its cache, until it ends.

        Args:
            fault: see `tests.torture.faults`.
            kill_after: seconds until it is killed from outside.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job: dict[str, Any] = {"folder": str(folder), "words": list(words), "fault": dict(fault or {})}
        job["environment"] = {"TRANSLATOR_CACHE": str(folder / "cache"), **(environment or {})}
        print(json.dumps(job), file=self._server.stdin, flush=True)
        pid = json.loads(self._server.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.kill(pid, signal.SIGKILL)
        status, printed = json.loads(self._server.stdout.readline())
        text, _, num_changes = printed.partition(CHANGES)
        return Ended(status, text, int(num_changes or 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


def serve() -> None:
    """Fork a process for each line of standard input; print its number at once, and its exit status when it ended."""
    import importlib

    for library in LIBRARIES:
        importlib.import_module(library)
    from translator import validation

    validation.MAX_PICTURE_TOKENS = 0  # drawing takes longer than training here
    for line in sys.stdin:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(json.loads(line), writer)
        os.close(writer)
        print(pid, flush=True)
        with open(reader, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
            text = opened.read()
        _, waited = os.waitpid(pid, 0)
        print(json.dumps([os.waitstatus_to_exitcode(waited), text]), flush=True)


def _child(job: Mapping[str, Any], output: int) -> None:
    """Be the program; never returns."""
    from tests.torture.faults import arm, count_changes
    from translator import cli

    status = 1
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(job["environment"])
        os.chdir(job["folder"])
        folders = [job["folder"], job["environment"]["TRANSLATOR_CACHE"], "runs", "weights"]
        arm(job["fault"], folders)
        num_changes = [0]
        if not job["fault"]:
            count_changes(folders, lambda number: num_changes.__setitem__(0, number))
        status = cli.main(job["words"])
        sys.stderr.flush()  # the changes are the last that is printed
        print(f"{CHANGES}{num_changes[0]}" if num_changes[0] else "", end="", flush=True)
    except SystemExit as error:
        status = int(error.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
