"""SIGINT, SIGTERM, SIGHUP and the end of a job's time as a request: the work in hand is finished first."""

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

# 128 + the signal's number, as shells report it; SIGHUP comes when a terminal is closed (not on Windows)
EXIT_STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143} | ({signal.SIGHUP: 129} if hasattr(signal, "SIGHUP") else {})
TIME_IS_OVER = 75  # EX_TEMPFAIL of sysexits.h: try again later


class Interruption:
    """While it is entered, remembers the first of the signals; a second SIGINT raises KeyboardInterrupt at once."""

    def __init__(self, say: Callable[[str], None], *, stop_at: float | None = None) -> None:
        """`say` is called with the name of a signal when it comes; `stop_at` is a time of `time.monotonic()`."""
        self.signal: signal.Signals | None = None
        self._say, self._stop_at = say, stop_at
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def reason(self) -> str | None:
        """Why to end now; None: there is no reason."""
        if self.signal is not None:
            return self.signal.name
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            return "the time of this job (train.stop_after) is over"
        return None

    @property
    def status(self) -> int:
        """The exit status that tells the reason; 0 when there is none."""
        if self.signal is not None:
            return EXIT_STATUS[self.signal]
        return 0 if self.reason is None else TIME_IS_OVER

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._remember) for number in EXIT_STATUS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)
        self._say(self.signal.name)
