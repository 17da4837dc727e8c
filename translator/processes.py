"""Cores and processes for work that is cut into pieces."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from translator.errors import TranslatorError


def usable_cores() -> int:
    """Cores that this process may use (a container or taskset may allow fewer than the machine has)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _begin(initializer: Callable[..., object] | None, initargs: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if initializer is not None:
        initializer(*initargs)


@contextmanager
def pool(
    num_workers: int, initializer: Callable[..., object] | None = None, initargs: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Processes that begin anew ("spawn"): one that runs torch or the tokenizer's threads cannot be forked safely.

    When the block ends with an exception, a signal's too, they are ended at once: what each was at is done anew.
    They do not answer to Ctrl-C themselves, which a terminal sends to all of them.

    Raises:
        TranslatorError: one of them was killed from outside.
    """
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(num_workers, context, _begin, (initializer, initargs)) as executor:
            try:
                yield executor
            except BaseException:
                for process in list((executor._processes or {}).values()):
                    process.terminate()
                raise
    except BrokenProcessPool as error:
        raise TranslatorError(
            f"One of {num_workers} worker processes was killed, perhaps because memory ran out; give the same command "
            "again (finished parts are kept), with more memory or fewer cores (taskset)."
        ) from error
