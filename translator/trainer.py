"""The training loop: accumulate, check, clip, step, log, validate, save, stop.

One step is a pure function of (weights, moments, seed, step, position in the corpus): dropout is seeded by
(seed, step, micro-batch), the learning rate follows from the step, the batches follow from (seed, epoch). All that a
resumed run needs beside tensors is in `state`.
"""

import math
import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translator import checkpoint
from translator.batches import Batch, BatchStream
from translator.device import wait_for
from translator.errors import TranslatorError
from translator.feed import steps
from translator.files import folder_size
from translator.health import CHECK_EVERY, Health, Noted
from translator.interruption import Interruption
from translator.log import RunLog, Stopwatch
from translator.loss import perplexity
from translator.optim import FlatParameters, Optimizer, WeightAverage
from translator.step import Step
from translator.training_state import Outcome, Settings, State, Sums, duration, plan_steps

PROBE_STEPS = 20  # least steps after which a run limited by minutes fixes its number of steps
PROBE_SHARE = 0.04  # of the minutes, spent before that
MOST_WARMUP = 1000  # steps, where warm-up is a tenth of the run

Metrics = Mapping[str, float]


class Trainer:
    """Runs one training job to its end, its limit or a signal."""

    def __init__(
        self,
        model: nn.Module,
        stream: BatchStream,
        parameters: FlatParameters,
        optimizer: Optimizer,
        average: WeightAverage,
        settings: Settings,
        log: RunLog,
        checkpoints: Path,
        *,
        validate: Callable[[Mapping[str, Tensor], int], Metrics] | None,
        publish: Callable[[Mapping[str, Tensor], int, Metrics], None],
        identity: Mapping[str, Any],
        locate: Callable[[int], str] = "pair {}".format,
    ) -> None:
        """`validate` gets averaged weights and the step and returns metrics by tag; `publish` writes the weights that
        `translate` uses; `identity` (fingerprints, versions) is stored in every checkpoint; `locate` says where in
        the corpus a pair stands, by its number among the encoded ones."""
        self.model, self.stream = model, stream
        self.parameters, self.optimizer, self.average = parameters, optimizer, average
        self.settings, self.log, self.checkpoints = settings, log, checkpoints
        self._validate, self._publish, self.identity = validate, publish, dict(identity)
        self.device = parameters.master.device
        self.state = State(
            total_steps=settings.total_steps,
            validate_every=settings.validate_every,
            loss_scale=settings.loss_scale,
        )
        self._fix_warmup()
        self.watch = Stopwatch()
        self.sums = Sums.zeros(self.device)
        self.step = Step(
            model,
            parameters,
            seed=settings.seed,
            label_smoothing=settings.label_smoothing,
            pad_id=settings.pad_id,
            say=log.line,
            locate=locate,
        )
        self.health = Health(settings, stream, self.step, log, checkpoints)
        self.interruption = Interruption(
            lambda name: log.line(f"{name}: the step ends, then a checkpoint is written ..."),
            stop_at=settings.stop_at,
        )
        self._norm = torch.zeros((), device=self.device)
        self._metrics: Metrics = {}
        self._metrics_step = -1

    def train_step(self, batches: list[Batch], place: Mapping[str, int]) -> bool:
        """One update from the micro-batches of a step, which stand at that place of the stream.

        The loss is divided once, by all their target tokens. Returns whether memory ran out, which changes what the
        steps from here on do.
        """
        state = self.state
        known = (state.most_cells, len(state.left_out))
        sums = self.step.gradients(batches, state)
        learnt = (state.most_cells, len(state.left_out))
        self.sums.add(sums)
        rate = self._learning_rate()
        self._norm, skipped = self.optimizer.step(rate, divisor=state.loss_scale)
        self.average.after_step(state.step)
        result = torch.stack([skipped, (sums.values[0] / max(1, sums.tokens)).to(skipped)])
        self.health.note(Noted(state.step, place["epoch"], place["batch"], rate, *learnt, result))
        return known != learnt

    def _learning_rate(self) -> float:
        state = self.state
        warmup_steps = MOST_WARMUP if state.warmup_steps is None else state.warmup_steps
        return self.settings.learning_rate(state.step, state.total_steps, warmup_steps)

    def _fix_warmup(self) -> None:
        """As set; else once, from the first total that is known: a run that is prolonged does not warm up again."""
        state, asked = self.state, self.settings.warmup_steps
        if asked is not None:
            state.warmup_steps = asked
        elif state.warmup_steps is None and state.total_steps is not None:
            state.warmup_steps = min(MOST_WARMUP, state.total_steps // 10)

    def preflight(self, batch: Batch) -> None:
        """Before the first step: disk space for the checkpoints, a forward and backward of the longest batch, and
        about how long the run will take.

        Weights are left untouched. Raises TranslatorError with what to change.
        """
        size = self.parameters.master.numel() * 4
        each = (3 + self.average.num_buffers) * size
        need = max(each, each * (self.settings.keep + 2) - folder_size(self.checkpoints)) + size
        free = shutil.disk_usage(self.checkpoints.parent).free
        if free < need:
            raise TranslatorError(
                f"{self.checkpoints}: checkpoints need about {need / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free; "
                "free some space or lower train.keep."
            )
        started = time.monotonic()
        try:
            # A copy of the state: what memory teaches here, the first step learns again, and stores.
            self.step.gradients([batch], replace(self.state, left_out=list(self.state.left_out)))
        except RuntimeError as error:
            if "can't allocate memory" not in str(error):  # of a CPU; on a GPU the batch is done in parts
                raise
            rows, width = batch.labels_BT.shape[0], max(batch.src_BS.shape[1], batch.labels_BT.shape[1])
            raise TranslatorError(
                f"The longest batch ({rows} rows of {width} tokens) does not fit into memory; "
                "lower batch.tokens (and raise batch.accumulate) or corpus.filters.max_tokens."
            ) from error
        self.parameters.clear_gradients()
        wait_for(self.device)
        seconds = (time.monotonic() - started) * self.settings.accumulate
        text = f"Preflight: {free / 1e9:,.1f} GB free for checkpoints; the longest batch takes {seconds:.2g} s"
        if self.state.total_steps is not None:
            text += f", {self.state.total_steps - self.state.step:,} steps at most about "
            text += duration(seconds * (self.state.total_steps - self.state.step))
        elif self.settings.minutes is not None:
            text += f"; the run takes {self.settings.minutes:g} minutes"
        self.log.line(text + ".")

    def run(self) -> Outcome:
        """Train until the limit, early stopping or a signal; the last thing done is always a checkpoint.

        Raises TranslatorError when training cannot go on (weights or losses that are not finite).
        """
        try:
            outcome = self._run()
        except TranslatorError:
            self._save_run_state("failed")
            raise
        self._save_run_state(outcome.state)
        return outcome

    def _run(self) -> Outcome:
        state, settings = self.state, self.settings
        self.watch = Stopwatch(state.seconds)
        self.model.train()
        self._save_run_state("running")
        with self.interruption, closing(steps(self.stream, settings.accumulate, self.device)) as feed:
            if settings.validate_first and self._validate is not None and not (state.step or state.validation_seconds):
                self.validate()
                self.watch = Stopwatch()  # the budget of minutes begins with the first step
            outcome = self._limit_reached()
            if outcome is not None and outcome.state == "finished":
                return outcome  # it was reached before: nothing changes
            if state.validation_due and outcome is None:
                state.validation_due = False
                gained, stopped = self._validate_and_judge()
                outcome = outcome or stopped
                if gained:
                    self.save()
            if outcome is not None:
                self.save()
            while outcome is None:
                started = time.monotonic()
                state.step += 1
                place = self.stream.state()
                learnt = self.train_step(next(feed), place)
                if state.step % CHECK_EVERY == 0 or state.step % settings.log_every == 0:
                    wait_for(self.device)  # results are read now in any case; the time belongs to these steps
                seconds = time.monotonic() - started
                self.sums.seconds += seconds
                state.step_seconds += seconds
                outcome = self._after_step(save=learnt)
        return outcome

    def _after_step(self, *, save: bool) -> Outcome | None:
        """Log, plan, validate and save where they are due, or where told; returns how the run ended, if it did."""
        state, settings = self.state, self.settings
        outcome = self._limit_reached()
        # An interrupted run leaves no trace in the numbers: what is not due now is done when the run goes on.
        at_end = outcome is not None and outcome.state != "interrupted"
        if state.step % CHECK_EVERY == 0 or at_end:
            self.health.read(state, at_end=at_end)
        if state.step % settings.log_every == 0 or at_end:
            self._log_training()
            if not at_end:
                self._save_run_state("running")
        due = at_end or (state.validate_every is not None and state.step % state.validate_every == 0)
        if self._can_plan():
            due = due or state.validation_seconds == 0.0  # its length is part of the plan
        gained = False
        if self._validate is not None and due:
            if outcome is not None and not at_end:
                state.validation_due = True
            else:
                gained, stopped = self._validate_and_judge()
                outcome = outcome or stopped
        if self._can_plan() and settings.minutes is not None:
            self._plan(settings.minutes)
        outcome = outcome or self._interrupted()  # a signal during the validation
        if state.step % settings.save_every == 0 or gained or save or outcome is not None:
            self.save()
        self.log.progress(state.step, state.total_steps)
        return outcome

    def _validate_and_judge(self) -> tuple[bool, Outcome | None]:
        """Validate; whether the weights are the best so far, and the outcome when patience is at its end."""
        gained, patience = self.validate(), self.settings.patience
        if patience is None or self.state.validations_without_gain < patience:
            return gained, None
        return gained, Outcome(0, f"no gain in {self.settings.stop_on} for {patience} validations", "stopped")

    def _limit_reached(self) -> Outcome | None:
        state, minutes = self.state, self.settings.minutes
        if state.total_steps is not None and state.step >= state.total_steps:
            return Outcome(0, f"all {state.total_steps} steps are done", "finished")
        if state.is_over(minutes, self.watch.seconds()):
            return Outcome(0, f"the {minutes:g} minutes are over at step {state.step}", "finished")
        return self._interrupted()

    def _interrupted(self) -> Outcome | None:
        if (reason := self.interruption.reason) is None:
            return None
        return Outcome(self.interruption.status, f"{reason} at step {self.state.step}", "interrupted")

    def _can_plan(self) -> bool:
        """Whether a run limited by minutes alone knows its speed well enough to fix its number of steps."""
        state, minutes = self.state, self.settings.minutes
        if minutes is None or state.total_steps is not None or state.step < PROBE_STEPS:
            return False
        return self.watch.seconds() >= PROBE_SHARE * minutes * 60

    def _plan(self, minutes: float) -> None:
        """Fix the number of steps, so that the schedule ends within the minutes."""
        state, seconds = self.state, self.watch.seconds()
        state.total_steps, state.validate_every = plan_steps(state, minutes=minutes, seconds=seconds)
        self._fix_warmup()
        every = f"; validation every {state.validate_every:,} steps" if self._validate is not None else ""
        self.log.line(f"{state.total_steps:,} steps fit into {minutes:g} minutes{every}.")

    def _log_training(self) -> None:
        sums, state = self.sums, self.state
        loss, nll, correct = (value / max(1, sums.tokens) for value in sums.values.tolist())
        rate = self._learning_rate()
        speed = sums.tokens / max(sums.seconds, 1e-9)
        values = {
            "train/loss": loss,
            "train/perplexity": perplexity(nll),
            "train/accuracy": correct,
            "train/learning_rate": rate,
            "train/gradient_norm": self._norm.item(),
            "train/tokens_per_second": speed,
            "train/padding_share": 1 - sums.real_cells / max(1, sums.cells),
            "train/epoch": float(self.stream.state()["epoch"]),
        }
        values = {tag: value for tag, value in values.items() if math.isfinite(value)}
        self.log.scalars(state.step, self.watch.seconds(), values)
        left = self._time_left()
        self.log.interval(
            f"step {state.step:,}{f'/{state.total_steps:,}' if state.total_steps else ''}  loss {loss:.3f}  "
            f"perplexity {perplexity(nll):.2f}  accuracy {correct:.3f}  rate {rate:.2e}  {speed:,.0f} tokens/s"
            f"{f'  {left} left' if left else ''}",
            {"loss": f"{loss:.3f}", "tok/s": f"{speed:,.0f}", "lr": f"{rate:.1e}"},
        )
        self.sums = Sums.zeros(self.device)

    def _time_left(self) -> str:
        state = self.state
        if not state.total_steps or not state.step:
            return ""
        return duration(self.watch.seconds() / state.step * (state.total_steps - state.step))

    def validate(self) -> bool:
        """Validate the averaged weights; returns whether they are the best so far (never before the first step)."""
        assert self._validate is not None
        state = self.state
        if state.step > 0:
            self.average.before_validation()
        started = time.monotonic()
        metrics = self._validate(self.parameters.named(self.average.weights()), state.step)
        seconds = time.monotonic() - started
        state.validation_seconds = state.validation_seconds or seconds
        state.last_validation_seconds = seconds if state.step > 0 else 0.0
        self._metrics = {tag: value for tag, value in metrics.items() if math.isfinite(value)}
        self.log.scalars(state.step, self.watch.seconds(), self._metrics)
        gained = state.step > 0 and self._judge()
        self._metrics_step = state.step
        self.log.line(f"validation at step {state.step:,} ({seconds:.1f} s){': best so far' if gained else ''}")
        by_set: dict[str, list[str]] = {}
        for tag, value in self._metrics.items():
            name, _, metric = tag.rpartition("/")
            by_set.setdefault(name, []).append(f"{metric} {value:.4g}")
        for name, shown in by_set.items():
            self.log.line(f"  {name}  {'  '.join(shown)}")
        return gained

    def _judge(self) -> bool:
        """Compare with the best so far. A tie or NaN is no gain; where BLEU is 0 (no 4-gram), chrF decides."""
        state, settings = self.state, self.settings
        value = self._metrics.get(settings.stop_on) if settings.stop_on is not None else None
        if value is None:  # nothing is watched, or the metric has no meaning for the set
            if settings.stop_on is not None and state.best is None and self._metrics_step <= 0:  # said once in a job
                self.log.line(f"{settings.stop_on} is not defined for this set; the newest weights count as the best.")
            return False
        sign = 1.0 if settings.higher_is_better else -1.0
        tie = self._metrics.get(str(settings.stop_on).replace("bleu", "chrf"), 0.0) if value == 0.0 else 0.0
        best = state.best
        if best is None or (sign * value, tie) > (sign * best["value"], best["tie"]):
            state.best = {"value": value, "step": state.step, "tie": tie}
            state.validations_without_gain = 0
            return True
        state.validations_without_gain += 1
        return False

    def save(self) -> None:
        """Write a checkpoint; and the weights for `translate` where this step is the best, or none is known."""
        state = self.state
        averaged = self.average.weights()
        if not (checkpoint.all_finite(self.parameters.master) and checkpoint.all_finite(averaged)):
            raise TranslatorError(self.health.bad_weights(state))
        state.seconds = self.watch.seconds()
        self.health.store(state)
        best_step = int(state.best["step"]) if state.best else None
        tensors = {
            "model": self.parameters.named(self.parameters.master),
            "optimizer": self.optimizer.state(),
        }
        tensors |= {f"average.{name}": self.parameters.named(buffer) for name, buffer in self.average.state().items()}
        content = {
            **self.identity,
            **{k: v for k, v in vars(state).items() if k != "step"},
            "minutes": self.settings.minutes,
            "stop_on": self.settings.stop_on,
            "is_scaled": self.settings.loss_scale != 1.0,
            "stream": self.stream.state(),
            "sums": {**vars(self.sums), "values": self.sums.values.tolist()},
            "metrics": dict(self._metrics),
            "logs": self.log.positions(),
        }
        if best_step is None or best_step == state.step:
            # Before the checkpoint: a run killed in between comes here again, and the best weights are never stale.
            metrics = self._metrics if self._metrics_step == state.step else {}
            self._publish(self.parameters.named(averaged), state.step, metrics)
        checkpoint.save_checkpoint(
            self.checkpoints, state.step, tensors, content, keep=self.settings.keep, best_step=best_step
        )

    def load(self, loaded: checkpoint.Checkpoint) -> None:
        """Continue from a verified checkpoint: tensors and counters (the stream and the log were set before)."""
        saved = loaded.state
        parts = loaded.tensors
        self.parameters.fill(self.parameters.master, parts["model"])
        self.parameters.publish()
        self.optimizer.load_state(parts["optimizer"])
        buffers = {}
        for part in parts:
            if part.startswith("average."):
                flat = torch.zeros_like(self.parameters.master)
                self.parameters.fill(flat, parts[part])
                buffers[part.removeprefix("average.")] = flat
        self.average.load_state(buffers)
        fields = {name: saved[name] for name in vars(State()) if name != "step"}
        self.state = State(step=loaded.step, **fields)
        if saved["minutes"] != self.settings.minutes or self.settings.total_steps is not None:
            self.state.total_steps = self.settings.total_steps
        if self.settings.validate_every is not None:
            self.state.validate_every = self.settings.validate_every
        self._fix_warmup()
        if self.settings.loss_scale != 1.0 and not saved["is_scaled"]:  # it is float16 from here on
            self.state.loss_scale = self.settings.loss_scale
        if saved["stop_on"] != self.settings.stop_on:
            self.state.best, self.state.validations_without_gain = None, 0
            self.log.line(f"The best weights are searched for anew, by {self.settings.stop_on}.")
        sums = dict(saved["sums"])
        values = Sums.zeros(self.device).values.copy_(torch.tensor(sums.pop("values"), dtype=torch.float64))
        self.sums = Sums(values, **sums)
        self.health.restore(self.state, self.device)
        self._metrics = saved["metrics"]
        if self.state.best is not None and int(self.state.best["step"]) == loaded.step:
            self._metrics_step = loaded.step
        self.watch = Stopwatch(self.state.seconds)

    def _save_run_state(self, name: str) -> None:
        state = self.state
        best = None if state.best is None else {"metric": self.settings.stop_on, **state.best}
        self.log.save_state(
            {
                "state": name,
                "pid": os.getpid(),
                "host": platform.node(),
                "step": state.step,
                "total_steps": state.total_steps,
                "best": best,
                "seconds": round(self.watch.seconds(), 1),
            }
        )
