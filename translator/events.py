"""TensorBoard's event files: records that are added to a file in one piece.

The writer of the library hands records to a thread and names its files by the clock. Here a record is bytes, so that
it can wait where the disk is full, a file never ends within a record, and names rise also when the clock goes back.
The format of a record is that of TFRecord files: length, checksum, data, checksum.
"""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PREFIX = "events.out.tfevents."


def files(folder: Path) -> list[Path]:
    """The event files of a run, in the order in which TensorBoard reads them."""
    return sorted(folder.glob(f"{PREFIX}*"))


def next_name(folder: Path) -> str:
    """A name that comes after those of all event files there: the time in seconds, unless the clock went back."""
    numbers = [file.name.removeprefix(PREFIX).split(".")[0] for file in files(folder)]
    newest = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return f"{PREFIX}{max(int(time.time()), newest + 1):010d}.{platform.node()}.{os.getpid()}"


def header() -> bytes:
    """The record that every event file begins with."""
    return _record(file_version="brain.Event:2")


def scalar(tag: str, value: float, step: int) -> bytes:
    """A point of a curve."""
    from torch.utils.tensorboard import summary

    return _record(step=step, summary=summary.scalar(tag, value))  # type: ignore[no-untyped-call]


def text(tag: str, markdown: str, step: int) -> bytes:
    """A text."""
    from torch.utils.tensorboard import summary

    return _record(step=step, summary=summary.text(tag, markdown))  # type: ignore[no-untyped-call]


def picture(tag: str, image: "NDArray[np.uint8]", step: int) -> bytes:
    """A picture (height, width, 3)."""
    from torch.utils.tensorboard import summary

    return _record(step=step, summary=summary.image(tag, image, dataformats="HWC"))  # type: ignore[no-untyped-call]


def hyperparameters(settings: Mapping[str, Any], metrics: Sequence[str]) -> bytes:
    """Settings for the HPARAMS page, beside the metrics (tags) that it compares."""
    from torch.utils.tensorboard import summary

    known = {k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in settings.items()}
    summaries = summary.hparams(known, dict.fromkeys(metrics, 0.0))  # type: ignore[no-untyped-call]
    return b"".join(_record(summary=one) for one in summaries)


def _record(**fields: Any) -> bytes:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.record_writer import RecordWriter

    buffer = BytesIO()
    RecordWriter(buffer).write(Event(wall_time=time.time(), **fields).SerializeToString())
    return buffer.getvalue()
