"""Signals end a step, not the program; a second Ctrl-C does."""

import os
import signal
import time

import pytest

from translator.interruption import Interruption


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_remembered_and_said(number: signal.Signals, status: int) -> None:
    said: list[str] = []
    before = signal.getsignal(number)
    interruption = Interruption(said.append)
    with interruption:
        os.kill(os.getpid(), number)
    assert (interruption.signal, interruption.status, said) == (number, status, [number.name])
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_leaves_at_once() -> None:
    with Interruption(lambda name: None):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_nothing_happened() -> None:
    with Interruption(print, stop_at=time.monotonic() + 1000) as interruption:
        assert (interruption.signal, interruption.reason, interruption.status) == (None, None, 0)


def test_the_time_of_a_job_ends_and_a_signal_comes_first() -> None:
    interruption = Interruption(lambda name: None, stop_at=time.monotonic() - 0.1)
    assert (interruption.reason, interruption.status) == ("the time of this job (train.stop_after) is over", 75)
    with interruption:
        os.kill(os.getpid(), signal.SIGTERM)
    assert (interruption.reason, interruption.status) == ("SIGTERM", 143)
