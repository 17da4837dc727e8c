"""How far a long preparation is: a bar on a terminal, a line now and then in a file, nothing for what is quick."""

import sys
import time
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

QUIET_SECONDS = 5.0
SECONDS_BETWEEN_LINES = 30.0
MANY_PAIRS = 200_000


def announce(what: str, num_pairs: int) -> None:
    """Say that something begins whose progress cannot be seen, where it takes many pairs and so some time."""
    if num_pairs >= MANY_PAIRS:
        print(f"{what} ({num_pairs:,} pairs) ...", file=sys.stderr, flush=True)


class Progress:
    """Counts pairs that are done; the time left is told where `total` is known."""

    def __init__(self, what: str, total: int | None = None, *, done: int = 0) -> None:
        self._what, self._total, self._begun, self._num = what, total, done, done
        self._of = "of"
        self._started = self._said = time.monotonic()
        self._bar: Any = None

    def advance(self, count: int, *, about: int | None = None) -> None:
        """`count` more pairs are done; there are `about` so many in all, as far as can be told by now."""
        self._num += count
        if about is not None:
            self._total, self._of = max(about, self._num), "of about"
        now = time.monotonic()
        if now - self._started < QUIET_SECONDS:
            return
        if sys.stderr.isatty():
            if self._bar is None:
                self._bar = tqdm(desc=self._what, initial=self._begun, total=self._total, unit="pairs", unit_scale=True,
                                 file=sys.stderr, dynamic_ncols=True, leave=False)  # fmt: skip
            self._bar.total = self._total
            self._bar.update(self._num - self._bar.n)
        elif now - self._said > SECONDS_BETWEEN_LINES:
            self._said = now
            print(self._line(now - self._started), file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        speed = max(self._num - self._begun, 1) / seconds
        if self._total is None:
            return f"{self._what}: {self._num:,} pairs, {speed:,.0f} a second."
        left = (self._total - self._num) / speed / 60
        counted = f"{self._num:,} {self._of} {self._total:,} pairs"
        return f"{self._what}: {counted}, {speed:,.0f} a second, {left:.0f} min left."

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
