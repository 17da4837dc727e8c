"""How far a long preparation is: a bar on a terminal, a line now and then in a file, nothing for what is quick."""

import sys
import time
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

QUIET_SECONDS = 5.0
SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Counts pairs that are done; the time left is told where `total` is known."""

    def __init__(self, what: str, total: int | None = None, *, done: int = 0) -> None:
        self._what, self._total, self._begun, self._num = what, total, done, done
        self._started = self._said = time.monotonic()
        self._bar: Any = None

    def advance(self, count: int) -> None:
        """`count` more pairs are done."""
        self._num += count
        now = time.monotonic()
        if now - self._started < QUIET_SECONDS:
            return
        if sys.stderr.isatty():
            if self._bar is None:
                self._bar = tqdm(desc=self._what, initial=self._begun, total=self._total, unit="pairs", unit_scale=True,
                                 file=sys.stderr, dynamic_ncols=True, leave=False)  # fmt: skip
            self._bar.update(self._num - self._bar.n)
        elif now - self._said > SECONDS_BETWEEN_LINES:
            self._said = now
            print(self._line(now - self._started), file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        speed = max(self._num - self._begun, 1) / seconds
        if self._total is None:
            return f"{self._what}: {self._num:,} pairs, {speed:,.0f} a second."
        left = (self._total - self._num) / speed / 60
        return f"{self._what}: {self._num:,} of {self._total:,} pairs, {speed:,.0f} a second, {left:.0f} min left."

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
