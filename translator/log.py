"""What a person looks at: the terminal, `train.log`, `metrics.jsonl` and TensorBoard.

All of it lies in `runs/NAME/`. `positions` tells how long each file is at a checkpoint; `rewind` cuts the files back
to that, so that after a resume no line and no TensorBoard point stands twice.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from translator import events
from translator.files import fsync_file, make_folder, remove_leftovers, write_atomic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RunLog:
    """Writes the log files of one run. Standard output stays free; a person reads standard error.

    Training does not end because a log cannot be written: that is said once on standard error, and what could not be
    added to a file waits in memory until it can.
    """

    def __init__(self, folder: Path, *, quiet: bool = False) -> None:
        """Touches no file before `open`: lines until then go to the terminal (unless `quiet`) and wait."""
        self._quiet = quiet
        self.folder = folder
        self._events: str | None = None  # name of the event file, made at the first event
        self._bar: Any = None  # a tqdm bar, opened at the first use
        self._shown: Mapping[str, str] = {}
        self._is_open = False
        self._waiting: dict[str, bytes] = {}  # what each file still lacks
        self._warned = False

    def open(self, positions: Mapping[str, int] | None = None) -> None:
        """Begin to write: after what stood there at a checkpoint, or with empty files."""
        self._attempt(lambda: make_folder(self.folder))
        self._attempt(self._remove_leftovers)
        self._attempt(lambda: self.rewind(positions or {}))
        self._is_open = True
        self._append("train.log", b"")

    def line(self, text: str) -> None:
        """A line for the terminal and `train.log`."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)
        self.record(text)

    def record(self, text: str) -> None:
        """A line for `train.log` alone."""
        self._append("train.log", f"{text}\n".encode())

    def interval(self, text: str, values: Mapping[str, str]) -> None:
        """The numbers of an interval: as a line where a file is read, in the bar on a terminal."""
        self._shown = values
        if sys.stderr.isatty():
            self.record(text)
        else:
            self.line(text)

    def scalars(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        """Numbers of one step, to `metrics.jsonl` and TensorBoard; keys are TensorBoard tags."""
        record = {"step": step, "seconds": round(seconds, 3), **{k: float(f"{v:.6g}") for k, v in values.items()}}
        self._append("metrics.jsonl", f"{json.dumps(record)}\n".encode())
        self._add_events(b"".join(events.scalar(tag, value, step) for tag, value in values.items()))

    def text(self, step: int, tag: str, markdown: str) -> None:
        """A text for TensorBoard."""
        self._add_events(events.text(tag, markdown, step))

    def picture(self, step: int, tag: str, image: "NDArray[np.uint8]") -> None:
        """A picture (height, width, 3) for TensorBoard."""
        self._add_events(events.picture(tag, image, step))

    def save_text(self, name: str, content: str) -> None:
        """A file in the run's folder (hypotheses, resolved config, reports)."""

        def write() -> None:
            make_folder((self.folder / name).parent)
            write_atomic(self.folder / name, content)

        self._attempt(write)

    def hyperparameters(self, settings: Mapping[str, Any], metrics: Sequence[str]) -> None:
        """The run's settings for TensorBoard's HPARAMS page, beside the metrics (tags) that it compares."""
        self._add_events(events.hyperparameters(settings, metrics))

    def save_state(self, state: Mapping[str, Any]) -> None:
        """`state.json`, which `translator runs` reads."""
        self.save_text("state.json", json.dumps(state, indent=1) + "\n")

    def progress(self, step: int, total: int | None) -> None:
        """Move the bar on a terminal; nothing elsewhere."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = tqdm(initial=step - 1, total=total, unit="step", file=sys.stderr, dynamic_ncols=True)
        self._bar.total = total
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(step - self._bar.n)

    def positions(self) -> dict[str, int]:
        """The length in bytes of each log file, everything flushed to disk."""
        for file in self._files():
            self._attempt(partial(fsync_file, file))
        return {file.name: file.stat().st_size for file in self._files()}

    def rewind(self, positions: Mapping[str, int]) -> None:
        """Cut every log file back to what it was at a checkpoint; younger event files are removed."""
        for file in self._files():
            length = positions.get(file.name)
            if length is None:
                file.unlink()
            elif length < file.stat().st_size:
                with file.open("rb+") as handle:
                    handle.truncate(length)

    def close(self) -> None:
        """Close the bar, and try once more to write what waits."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        for name in list(self._waiting):
            self._append(name, b"")

    def _remove_leftovers(self) -> None:
        inner = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()]
        for folder in (self.folder, *inner):  # hypotheses, bad steps
            remove_leftovers(folder)

    def _files(self) -> list[Path]:
        listed = [self.folder / name for name in ("train.log", "metrics.jsonl")]
        return [file for file in [*events.files(self.folder), *listed] if file.exists()]

    def _add_events(self, records: bytes) -> None:
        if self._events is None:  # a file of its own for each job: TensorBoard follows files that only grow
            self._events, records = events.next_name(self.folder), events.header() + records
        self._append(self._events, records)

    def _append(self, name: str, data: bytes) -> None:
        """Add to a log file, after what it still lacks: all of it or nothing."""
        data = self._waiting.pop(name, b"") + data
        if not (self._is_open and self._attempt(lambda: _append_whole(self.folder / name, data))):
            self._waiting[name] = data

    def _attempt(self, write: Callable[[], None]) -> bool:
        """Whether something could be written; if not, that is said once."""
        try:
            write()
        except OSError as error:
            if not self._warned:
                self._warned = True
                reason = f"{error.strerror or error}: {error.filename or self.folder}"
                print(
                    f"Warning: {reason}. Training goes on without what cannot be written there (logs, TensorBoard, "
                    "hypotheses); make room to have it again.",
                    file=sys.stderr,
                    flush=True,
                )
            return False
        return True


def _append_whole(file: Path, data: bytes) -> None:
    """Add bytes to a file; where that fails the file is as long as before."""
    with file.open("ab", buffering=0) as opened:
        length = opened.tell()
        try:
            while data:
                data = data[opened.write(data) :]
        except OSError as error:
            with suppress(OSError):
                opened.truncate(length)
            raise OSError(error.errno, error.strerror, str(file)) from error


class Stopwatch:
    """Seconds of training, counted over all jobs of a run."""

    def __init__(self, seconds_before: float = 0.0) -> None:
        self._start = time.monotonic() - seconds_before

    def seconds(self) -> float:
        """Seconds since the first step of the run, time between jobs left out."""
        return time.monotonic() - self._start
