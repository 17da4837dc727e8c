"""Standard output and standard error of a command: UTF-8, whatever the locale says, and what cannot be written there.

Standard output is what was asked for: a command that cannot write it fails. Standard error is for the person who
watches: a full disk behind `2> file`, or a terminal that has gone, ends nothing, least of all days of training.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any, TextIO, cast


class Lenient:
    """A stream that drops what cannot be written; all else is done by the stream behind it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or drop, `text`."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what waits, if it can be written."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def prepared() -> Iterator[None]:
    """While a command runs, standard output and standard error are as the module text says."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", newline="\n", errors="backslashreplace")
    stderr = sys.stderr
    try:
        with redirect_stderr(cast(TextIO, Lenient(stderr))):
            yield
    finally:
        let_go(stderr)


def let_go(stream: TextIO) -> None:
    """Drop what still cannot be written, so that Python does not try again, and complain, when it ends."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
