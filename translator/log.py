"""What a person looks at: the terminal, `train.log`, `metrics.jsonl` and TensorBoard.

All of it lies in `runs/NAME/`. `positions` tells how long each file is at a checkpoint; `rewind` cuts the files back
to that, so that after a resume no line and no TensorBoard point stands twice.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from translator.files import write_atomic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch.utils.tensorboard import SummaryWriter

EVENTS = "events.out.tfevents."


class RunLog:
    """Writes the log files of one run. Standard output stays free; a person reads standard error."""

    def __init__(self, folder: Path, *, quiet: bool = False) -> None:
        """Touches no file before `open`: lines until then go to the terminal (unless `quiet`) and wait."""
        self._quiet = quiet
        self.folder = folder
        self._writer: SummaryWriter | None = None
        self._bar: Any = None  # a tqdm bar, opened at the first use
        self._shown: Mapping[str, str] = {}
        self._waiting: list[str] | None = []

    def open(self, positions: Mapping[str, int] | None = None) -> None:
        """Begin to write: after what stood there at a checkpoint, or with empty files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rewind(positions or {})
        waiting, self._waiting = self._waiting or [], None
        for text in waiting:
            self.record(text)

    def line(self, text: str) -> None:
        """A line for the terminal and `train.log`."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)
        self.record(text)

    def record(self, text: str) -> None:
        """A line for `train.log` alone."""
        if self._waiting is None:
            self._append("train.log", text)
        else:
            self._waiting.append(text)

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
        self._append("metrics.jsonl", json.dumps(record))
        for tag, value in values.items():
            self.tensorboard.add_scalar(tag, value, step)

    def text(self, step: int, tag: str, markdown: str) -> None:
        """A text for TensorBoard."""
        self.tensorboard.add_text(tag, markdown, step)

    def picture(self, step: int, tag: str, image: "NDArray[np.uint8]") -> None:
        """A picture (height, width, 3) for TensorBoard."""
        self.tensorboard.add_image(tag, image, step, dataformats="HWC")

    def save_text(self, name: str, content: str) -> None:
        """A file in the run's folder (hypotheses, resolved config, reports)."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)

    def hyperparameters(self, settings: Mapping[str, Any], metrics: Sequence[str]) -> None:
        """The run's settings for TensorBoard's HPARAMS page, beside the metrics (tags) that it compares."""
        from torch.utils.tensorboard.summary import hparams

        known = {k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in settings.items()}
        events = self.tensorboard.file_writer
        assert events is not None
        for summary in hparams(known, dict.fromkeys(metrics, 0.0)):
            events.add_summary(summary)

    def save_state(self, state: Mapping[str, Any]) -> None:
        """`state.json`, which `translator runs` reads."""
        write_atomic(self.folder / "state.json", json.dumps(state, indent=1) + "\n")

    def progress(self, step: int, total: int | None) -> None:
        """Move the bar on a terminal; nothing elsewhere."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = tqdm(initial=step - 1, total=total, unit="step", file=sys.stderr, dynamic_ncols=True)
        self._bar.total = total
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(step - self._bar.n)

    @property
    def tensorboard(self) -> "SummaryWriter":
        """The event writer, opened at the first use (its import is slow)."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self.folder))
        return self._writer

    def positions(self) -> dict[str, int]:
        """The length in bytes of each log file, everything flushed."""
        if self._writer is not None:
            self._writer.flush()
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
        """Flush and close everything."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _files(self) -> list[Path]:
        events = [f for f in self.folder.iterdir() if f.name.startswith(EVENTS)]
        return sorted(events + [f for n in ("train.log", "metrics.jsonl") if (f := self.folder / n).exists()])

    def _append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")


class Stopwatch:
    """Seconds of training, counted over all jobs of a run."""

    def __init__(self, seconds_before: float = 0.0) -> None:
        self._start = time.monotonic() - seconds_before

    def seconds(self) -> float:
        """Seconds since the first step of the run, time between jobs left out."""
        return time.monotonic() - self._start
