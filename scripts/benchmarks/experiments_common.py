"""What every experiment is made of: its sizes, its two sides, and what it found without measuring."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from scripts.benchmarks.settings import Setting
from translator.batches import Batch, collate
from translator.device import Device
from translator.loss import token_loss
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer

Work = Callable[[], float | None]  # one turn; returns how much was done, if turns differ in that
LENGTH = 16  # tokens of a sentence, end mark counted, where all have one length
SMOOTHING, PAD_ID = 0.1, 0


class LeftOutError(Exception):
    """An experiment that cannot be done here; the message says why."""


@dataclass(frozen=True)
class Setup:
    """Sizes and place of the experiments. Parts work on a whole batch; whole steps on a quarter, to take less time."""

    setting: Setting
    device: Device
    folder: Path  # for what is written on the way
    rounds: int
    num_pairs: int  # of an epoch
    limit: float = 60.0  # seconds that the first turn of a process may take, compiling among them

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and activations."""
        return self.device.dtype

    @property
    def tokens(self) -> int:
        """Cells of a batch in the experiments with one part of a step."""
        return self.setting.batch_tokens

    @property
    def step_tokens(self) -> int:
        """Cells of a batch in the experiments with whole steps."""
        return self.setting.batch_tokens // 4


@dataclass(frozen=True)
class Sides:
    """Two ways to do the same work, which are timed by turns."""

    first: Work
    second: Work
    prepare: Callable[[], None] = lambda: None  # before each turn, outside the timing
    unit: str = ""  # that the times are for, where a turn returns how much was done
    needs: Sequence[AbstractContextManager[object]] = ()  # to be entered before the first turn
    conclude: Callable[[float, float], list[str]] = lambda one, other: []  # more lines, from the median seconds


@dataclass(frozen=True)
class Finding:
    """What could be computed, so that nothing is timed."""

    times_as_fast: float
    text: str


def random_batch(rows: int, src_length: int, tgt_length: int, vocab_size: int) -> Batch:
    """A batch of this shape without padding."""
    ids = [torch.randint(3, vocab_size, (rows, length)).numpy() for length in (src_length - 1, tgt_length - 1)]
    return collate(list(zip(*ids, strict=True)), range(rows))


def padded_to(batch: Batch, multiple: int) -> Batch:
    """The batch with more padding, so that both lengths are multiples."""

    def pad(x: Tensor) -> Tensor:
        return F.pad(x, (0, -x.shape[1] % multiple), value=PAD_ID)  # False in a mask

    return Batch(
        src_BS=pad(batch.src_BS),
        src_mask_BS=pad(batch.src_mask_BS),
        tgt_in_BT=pad(batch.tgt_in_BT),
        labels_BT=pad(batch.labels_BT),
        num_src_tokens=batch.num_src_tokens,
        num_tgt_tokens=batch.num_tgt_tokens,
        index_B=batch.index_B,
    )


def make_model(setting: Setting, dtype: torch.dtype) -> Transformer:
    """The model of a setting, alike in every process."""
    torch.manual_seed(1)
    return Transformer(setting.vocab_size, setting.vocab_size, **setting.model).to(dtype)  # type: ignore[arg-type]


def add_gradients(model: torch.nn.Module, batch: Batch) -> None:
    """Forward, loss and backward."""
    logits_BTV = model(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT)
    loss = token_loss(logits_BTV, batch.labels_BT, label_smoothing=SMOOTHING, pad_id=PAD_ID)
    loss.sum.backward()  # type: ignore[no-untyped-call]


@dataclass
class Training:
    """A model and whole steps of it: gradients, clipping, update."""

    setting: Setting
    dtype: torch.dtype
    model: Transformer = field(init=False)

    def __post_init__(self) -> None:
        self.model = make_model(self.setting, self.dtype)
        self._parameters = FlatParameters(self.model)
        self._optimizer = Optimizer(self._parameters)

    def step(self, batch: Batch) -> None:
        """One update."""
        add_gradients(self.model, batch)
        self._parameters.collect()
        self._optimizer.step(1e-4, divisor=float(batch.num_tgt_tokens))
