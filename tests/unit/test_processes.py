"""Pools of processes, and what is said when one is killed."""

import os
import signal
import time

import pytest

from translator.errors import TranslatorError
from translator.processes import pool, usable_cores


def test_work_is_done_in_order() -> None:
    with pool(2) as executor:
        assert list(executor.map(abs, [-3, 2, -1])) == [3, 2, 1]
    assert usable_cores() >= 1


def test_a_process_that_is_killed_is_told_in_a_sentence() -> None:
    with pytest.raises(TranslatorError, match="One of 1 worker processes was killed"), pool(1) as executor:
        executor.submit(os._exit, 9).result()


def interrupt_itself() -> str:
    signal.raise_signal(signal.SIGINT)
    return "goes on"


def test_the_main_process_alone_answers_to_ctrl_c() -> None:
    with pool(1, os.umask, (0o77,)) as executor:
        assert executor.submit(interrupt_itself).result() == "goes on"
        assert executor.submit(os.umask, 0).result() == 0o77  # what the caller wants done at the beginning is done


def interrupted() -> None:
    with pool(2) as executor:
        waiting = [executor.submit(time.sleep, seconds) for seconds in (0, 300, 300, 300, 300)]
        waiting[0].result()
        raise KeyboardInterrupt


def test_an_exception_does_not_wait_for_work_that_has_begun() -> None:
    """As when a signal ends the program: parts of a large corpus take minutes."""
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - started < 60
