"""What the training loop must know, what changes in it, and how it ends."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """What the loop must know; `build` fills it from the configuration."""

    seed: int
    total_steps: int | None  # None: found from `minutes`
    minutes: float | None
    learning_rate: Callable[[int, int | None, int], float]  # (step, total steps, warm-up steps) -> rate
    warmup_steps: int | None  # None: a tenth of the total, at most 1,000, fixed when the total is first known
    label_smoothing: float
    accumulate: int
    validate_every: int | None  # None: at most twenty times within the total
    save_every: int
    log_every: int
    keep: int
    stop_on: str | None  # metric as a TensorBoard tag
    higher_is_better: bool
    patience: int | None
    max_bad_steps: int
    validate_first: bool
    pad_id: int = 0
    loss_scale: float = 1.0  # the first one; other than 1 only in float16
    stop_at: float | None = None  # when this job ends, by time.monotonic()


@dataclass
class Outcome:
    """How a run ended: the exit status and a sentence."""

    status: int
    reason: str
    state: str  # finished, stopped or interrupted


@dataclass
class Sums:
    """Counts since the last log line, as one tensor on the device so that no step waits for the host."""

    values: Tensor  # loss, negative log-likelihood, correct tokens (float64 where the device has it)
    tokens: int = 0
    cells: int = 0
    real_cells: int = 0
    seconds: float = 0.0

    @classmethod
    def zeros(cls, device: torch.device) -> Self:
        """No tokens yet."""
        dtype = torch.float32 if device.type == "mps" else torch.float64
        return cls(torch.zeros(3, dtype=dtype, device=device))

    def add(self, other: Self) -> None:
        """Count what another one has counted."""
        self.values += other.values
        self.tokens += other.tokens
        self.cells += other.cells
        self.real_cells += other.real_cells
        self.seconds += other.seconds


@dataclass
class State:
    """What changes in training and must survive a resume, besides tensors."""

    step: int = 0
    total_steps: int | None = None
    warmup_steps: int | None = None
    validate_every: int | None = None
    seconds: float = 0.0  # of training, validations and checkpoints included
    step_seconds: float = 0.0  # of the steps alone
    best: dict[str, float] | None = None  # value, step, tie
    validations_without_gain: int = 0
    bad_steps: int = 0
    good_steps: int = 0
    loss_scale: float = 1.0
    validation_seconds: float = 0.0  # of the first one
    last_validation_seconds: float = 0.0  # of the newest one after step 0, where a model writes up to the length cap
    validation_due: bool = False  # it fell on a step that a signal ended
    unread: list[list[Any]] = field(default_factory=list)  # of `health.Noted`: steps whose result nobody has read yet
    loss_mean: float = 0.0  # of the last steps, for `health`
    loss_variance: float = 0.0
    losses_seen: int = 0
    in_spike: bool = False
    # What running out of memory has taught (`step`): micro-batches with more cells are done in parts, pairs that do
    # not fit even alone (by number in the encoded corpus) are left out.
    most_cells: int | None = None
    left_out: list[int] = field(default_factory=list)

    def is_over(self, minutes: float | None, seconds: float) -> bool:
        """Whether after `seconds` of training no more than the last validation fits into the budget of minutes."""
        return minutes is not None and seconds + self.last_validation_seconds >= minutes * 60


def step_seed(seed: int, step: int, micro_batch: int, part: int = 0) -> int:
    """A seed for the random numbers of one micro-batch, or of a part of it, well mixed so that neighbours share
    nothing. The first part has the seed of the whole."""
    name = f"{seed}/{step}/{micro_batch}" + (f"/{part}" if part else "")
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def plan_steps(
    state: State, *, minutes: float, seconds: float, share: float = 0.96, most_validations: int = 20
) -> tuple[int, int | None]:
    """Number of steps, and of steps between validations, that fill a budget of minutes.

    `seconds` of training have passed; `share` of the budget is planned for, the rest is for slower moments. The first
    validation, of a model that knows nothing and writes up to the length cap, is taken as half as long again as later
    ones (measured: 1.1 to 2.9 times). Where the interval is free there are `most_validations`, fewer if they would
    take over a twelfth of the time.
    """
    per_step, validation = state.step_seconds / state.step, state.validation_seconds * 2 / 3
    rest = max(0.0, share * minutes * 60 - seconds)
    every = state.validate_every
    if every is None:
        number = min(most_validations, max(2.0, rest / 12 / validation)) if validation else most_validations
        steps = max(1, int((rest - number * validation) / per_step))
        return state.step + steps, max(1, math.ceil((state.step + steps) / number))
    return state.step + max(1, int(rest / (per_step + validation / every))), every


def duration(seconds: float) -> str:
    """Hours, minutes and seconds: 1:02:03."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
