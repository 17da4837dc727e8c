"""What the training loop must know, what changes in it, and how it ends."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """What the loop must know; `build` fills it from the configuration."""

    seed: int
    total_steps: int | None  # None: found from `minutes`
    minutes: float | None
    learning_rate: Callable[[int, int | None], float]  # (step, total steps) -> rate
    label_smoothing: float
    accumulate: int
    validate_every: int | None  # None: twenty times within the total
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


@dataclass
class State:
    """What changes in training and must survive a resume, besides tensors."""

    step: int = 0
    total_steps: int | None = None
    validate_every: int | None = None
    seconds: float = 0.0
    best: dict[str, float] | None = None  # value, step, tie
    validations_without_gain: int = 0
    bad_steps: int = 0
    good_steps: int = 0
    loss_scale: float = 1.0
    pending: list[tuple[int, float]] = field(default_factory=list)


def step_seed(seed: int, step: int, micro_batch: int) -> int:
    """A seed for the random numbers of one micro-batch, well mixed so that neighbours share nothing."""
    digest = hashlib.blake2b(f"{seed}/{step}/{micro_batch}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
