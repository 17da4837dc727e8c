"""What is noticed about steps after they were done: those that were left out, the loss scale, spikes of the loss.

Nothing waits for the device in a step: whether it was left out, and its loss, are read `CHECK_EVERY` steps at a time.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from translator import bad_steps, checkpoint
from translator.bad_steps import BadStep, pairs_of
from translator.batches import BatchStream
from translator.errors import TranslatorError
from translator.log import RunLog
from translator.step import Step
from translator.training_state import Settings, State

CHECK_EVERY = 10  # steps between readings
GROW_SCALE_AFTER = 2000  # good steps after which the float16 loss scale is doubled

SPIKE_DEVIATIONS = 5.0  # a loss that many deviations above the running mean is a spike
SPIKE_MEMORY = 0.98  # of the running mean and variance, for each step: they look back about 50 steps
SPIKE_AFTER = 100  # steps that are seen before the first spike is


@dataclass(frozen=True)
class Noted:
    """A step that was done, where its first batch came from, and what is needed to do it again."""

    step: int
    epoch: int
    batch: int
    learning_rate: float
    most_cells: int | None
    num_left_out: int
    result: Tensor  # on the device: 1.0 where the step was left out, and its loss


class Health:
    """Reads the results of steps, and says or does what follows from them."""

    def __init__(self, settings: Settings, stream: BatchStream, step: Step, log: RunLog, checkpoints: Path) -> None:
        """Bad steps are kept in the folder of `log`."""
        self.settings, self.stream, self.step, self.log, self.checkpoints = settings, stream, step, log, checkpoints
        self._unread: list[Noted] = []

    def note(self, noted: Noted) -> None:
        """Remember a step until the next reading."""
        self._unread.append(noted)

    def store(self, state: State) -> None:
        """Put what is unread into the state, so that it survives a resume (null where the loss is not finite)."""
        state.unread = []
        results = torch.stack([one.result for one in self._unread]).tolist() if self._unread else []
        for one, (skipped, loss) in zip(self._unread, results, strict=True):
            place = [one.step, one.epoch, one.batch, one.learning_rate, one.most_cells, one.num_left_out]
            state.unread.append([*place, skipped, loss if math.isfinite(loss) else None])

    def restore(self, state: State, device: torch.device) -> None:
        """Take over what `store` put there."""
        self._unread = []
        for step, epoch, batch, rate, most_cells, num_left_out, skipped, loss in state.unread:
            result = torch.tensor([skipped, math.nan if loss is None else loss], device=device)
            self._unread.append(Noted(int(step), int(epoch), int(batch), rate, most_cells, int(num_left_out), result))

    def forget(self) -> None:
        """Let go of what is unread: batches are made otherwise from here on, and its places mean others."""
        self._unread = []

    def read(self, state: State, *, at_end: bool = False) -> None:
        """Read the results of the last steps; raises TranslatorError after too many bad ones in a row."""
        noted, self._unread = self._unread, []
        results = torch.stack([one.result for one in noted]).tolist() if noted else []
        is_scaled = self.settings.loss_scale != 1.0
        overflow_is_usual = is_scaled and state.loss_scale > 1.0
        for one, (skipped, loss) in zip(noted, results, strict=True):
            if not skipped:
                state.bad_steps = 0
                state.good_steps += 1
                self._watch_loss(one, loss, state)
                continue
            state.good_steps = 0
            if not overflow_is_usual:  # else a smaller loss scale is the answer
                state.bad_steps += 1
                self.log.line(
                    f"{self._name(one)}: the loss or a gradient is not finite; the step was left out"
                    f"{self._keep(one, state)}"
                )
        if is_scaled and any(skipped for skipped, _ in results):
            state.loss_scale = max(1.0, state.loss_scale / 2)
        elif is_scaled and state.good_steps >= GROW_SCALE_AFTER:
            state.loss_scale, state.good_steps = state.loss_scale * 2, 0
        most = min(self.settings.max_bad_steps, state.step) if at_end else self.settings.max_bad_steps
        if state.bad_steps >= most:
            raise TranslatorError(self.bad_weights(state))

    def bad_weights(self, state: State) -> str:
        """Why training cannot go on, and from where it can."""
        newest = checkpoint.list_checkpoints(self.checkpoints)
        good = f"The last good checkpoint is {newest[-1]}" if newest else "No checkpoint was written yet"
        return (
            f"The loss, a gradient or a weight is not finite at step {state.step}; training stopped. {good}; "
            "lower optim.learning_rate, or use device.precision=float32, and resume."
        )

    def _name(self, noted: Noted) -> str:
        """A step, and epoch and number (from 1) of its first batch."""
        stream = self.stream.at(noted.epoch, noted.batch)
        next(stream)
        place = stream.state()
        return f"step {noted.step:,} (epoch {place['epoch']}, batch {place['batch']})"

    def _keep(self, noted: Noted, state: State) -> str:
        """Write what `translator replay` needs to do a step again; returns where it is, to end a sentence with."""
        stream, run = self.stream.at(noted.epoch, noted.batch), self.log.folder
        then = State(step=noted.step, most_cells=noted.most_cells, left_out=state.left_out[: noted.num_left_out])
        parts = self.step.parts([next(stream) for _ in range(self.settings.accumulate)], then)
        bad = BadStep(
            step=noted.step,
            epoch=noted.epoch,
            batch=noted.batch,
            precision=self.step.precision,
            learning_rate=noted.learning_rate,
            loss_scale=state.loss_scale,
            label_smoothing=self.settings.label_smoothing,
            seeds=[part.seed for part in parts],
            parts=[pairs_of(part.batch, self.step.locate, **stream.ids) for part in parts],
            **stream.ids,
        )
        try:
            file = bad_steps.write(run, bad)
        except OSError as error:
            return f", and could not be kept ({error.strerror or error})"
        return f"; `translator replay {run.name} {noted.step}` does it again ({file})"

    def _watch_loss(self, noted: Noted, loss: float, state: State) -> None:
        """Say once that the loss has leapt, until it is back; then follow its running mean and variance.

        A leap moves them only as far as the limit does, so that one batch does not hide the next, and a loss that
        stays high becomes the usual one after a while.
        """
        limit = state.loss_mean + SPIKE_DEVIATIONS * math.sqrt(state.loss_variance)
        is_spike = state.losses_seen >= SPIKE_AFTER and loss > limit
        if is_spike and not state.in_spike:
            self.log.line(
                f"{self._name(noted)}: the loss leapt to {loss:.3f}, from a mean of {state.loss_mean:.3f} "
                f"(deviation {math.sqrt(state.loss_variance):.3f})"
            )
        state.in_spike = is_spike
        state.losses_seen += 1
        weight = max(1.0 - SPIKE_MEMORY, 1.0 / state.losses_seen)
        away = (min(loss, limit) if is_spike else loss) - state.loss_mean
        state.loss_mean += weight * away
        state.loss_variance = (1.0 - weight) * (state.loss_variance + weight * away * away)
