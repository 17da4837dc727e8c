"""SIGINT, SIGTERM and SIGHUP as a request: the work in hand is finished first."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

# 128 + the signal's number, as shells report it; SIGHUP comes when a terminal is closed (not on Windows)
EXIT_STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143} | ({signal.SIGHUP: 129} if hasattr(signal, "SIGHUP") else {})


class Interruption:
    """While it is entered, remembers the first of the signals; a second SIGINT raises KeyboardInterrupt at once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` is called with the name of a signal when it comes."""
        self.signal: signal.Signals | None = None
        self._say = say
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def status(self) -> int:
        """The exit status that tells the signal; 0 when there was none."""
        return 0 if self.signal is None else EXIT_STATUS[self.signal]

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
