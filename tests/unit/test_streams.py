"""Standard error that cannot be written ends nothing."""

import errno
import io
import sys

import pytest

from translator import streams


class Full(io.StringIO):
    """A stream on a full disk."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_standard_error_on_a_full_disk_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Full()
    monkeypatch.setattr(sys, "stderr", full)
    with streams.prepared():
        print("lost", file=sys.stderr, flush=True)
        assert not sys.stderr.isatty()
        assert sys.stderr.encoding == "utf-8"  # all else is as it was
    assert sys.stderr is full


def test_standard_output_on_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    with streams.prepared(), pytest.raises(OSError, match="No space"):
        print("lost", flush=True)
