"""The loop: accumulation, finite check, best and patience, limits, signals, exact continuation."""

import itertools
import json
import math
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from translator import checkpoint
from translator.batches import BatchStream
from translator.errors import TranslatorError
from translator.log import RunLog
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer, WeightAverage, learning_rate
from translator.trainer import Trainer
from translator.training_state import Settings, State, plan_steps, step_seed

VOCAB = 20


class Pairs:
    """Encoded pairs in memory: the target is the source reversed."""

    def __init__(self, lengths: Sequence[int]) -> None:
        random = np.random.default_rng(3)
        self.sides = [random.integers(4, VOCAB, length) for length in lengths]

    @property
    def index(self) -> np.ndarray[Any, Any]:
        return np.arange(len(self.sides))

    @property
    def num_pairs(self) -> int:
        return len(self.sides)

    def lengths(self, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        del epoch
        lengths = np.array([len(side) + 1 for side in self.sides])
        return lengths, lengths

    def pair(self, i: int, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        del epoch
        return self.sides[i], self.sides[i][::-1]

    def numbers(self, positions: np.ndarray[Any, Any], epoch: int) -> np.ndarray[Any, Any]:
        return positions


def make_trainer(
    folder: Path,
    *,
    lengths: Sequence[int] = (2, 3, 4, 5, 6, 7, 8, 9) * 3,
    budget: int = 40,
    validate: Callable[[Mapping[str, Tensor], int], Mapping[str, float]] | None = None,
    average: Any = "ema",
    dropout: float = 0.1,
    loaded: checkpoint.Checkpoint | None = None,
    **changes: Any,
) -> Trainer:
    settings: dict[str, Any] = {
        "seed": 1,
        "total_steps": 12,
        "minutes": None,
        "warmup_steps": 0,
        "learning_rate": lambda step, total, warmup: 1e-3 * min(1, step / 5),
        "label_smoothing": 0.1,
        "accumulate": 1,
        "validate_every": 4,
        "save_every": 4,
        "log_every": 3,
        "keep": 3,
        "stop_on": "valid/bleu",
        "higher_is_better": True,
        "patience": None,
        "max_bad_steps": 5,
        "validate_first": False,
        **changes,
    }
    torch.manual_seed(0)
    model = Transformer(
        VOCAB, VOCAB, d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=1, dropout=dropout
    )
    parameters = FlatParameters(model)
    log = RunLog(folder / "run")
    stream = loaded.state["stream"] if loaded else {}

    def publish(weights: Mapping[str, Tensor], step: int, metrics: Mapping[str, float]) -> None:
        (folder / "published").write_text(str(step))

    log.open(loaded.state["logs"] if loaded else None)
    (folder / "checkpoints").mkdir(exist_ok=True)
    trainer = Trainer(
        model,
        BatchStream(Pairs(lengths), budget=budget, seed=1, **stream),
        parameters,
        Optimizer(parameters),
        WeightAverage(average, parameters.master),
        Settings(**settings),
        log,
        folder / "checkpoints",
        validate=validate,
        publish=publish,
        identity={"corpus": "c"},
    )
    if loaded:
        trainer.load(loaded)
    return trainer


def scores(values: Mapping[int, float], metric: str = "valid/bleu") -> Callable[..., dict[str, float]]:
    return lambda weights, step: {metric: values[step], "valid/chrf": values.get(-step, 0.0)}


def lines(folder: Path) -> list[dict[str, float]]:
    """metrics.jsonl without times and speeds."""
    records = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if "second" not in k} for r in records]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_accumulated_micro_batches_give_the_gradients_of_the_large_batch(
    tmp_path: Path, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = [2] * 4 + [55] * 4  # a mean of means would weigh the short ones 20 times too much
    gradients: list[Tensor] = []
    losses: list[float] = []
    for number, budget in enumerate((8 * 56, 4 * 56, 2 * 56, 56)):
        trainer = make_trainer(
            tmp_path / str(number), lengths=lengths, budget=budget, dropout=0.0, label_smoothing=smoothing
        )
        trainer.state.step = 1
        grad = trainer.parameters.grad

        def keep(rate: float, *, divisor: float, grad: Tensor = grad) -> tuple[Tensor, Tensor]:
            gradients.append(grad / divisor)
            return torch.zeros(()), torch.zeros(())

        monkeypatch.setattr(trainer.optimizer, "step", keep)
        trainer.train_step(
            [next(trainer.stream) for _ in range(trainer.stream.num_batches(0))], {"epoch": 0, "batch": 0}
        )
        assert trainer.sums.tokens == 4 * 3 + 4 * 56
        losses.append(float(trainer.sums.values[0]) / trainer.sums.tokens)
    assert losses == pytest.approx([losses[0]] * 4, abs=1e-5)
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0], atol=1e-5, rtol=1e-4)


def final_state(folder: Path) -> checkpoint.Checkpoint:
    loaded = checkpoint.load_newest(folder / "checkpoints")
    assert loaded is not None
    return loaded


@pytest.mark.parametrize(("average", "ahead"), [("ema", False), ("last", False), ("none", False), ("ema", True)])
def test_resumed_equals_uninterrupted_bit_for_bit(
    tmp_path: Path, average: str, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = scores({4: 10.0, 8: 30.0, 12: 20.0})
    make_trainer(tmp_path / "a", validate=validate, average=average, accumulate=2).run()
    if ahead:  # batches made by a thread, as on a GPU, give the same run
        monkeypatch.setattr("translator.feed.works_on_its_own", lambda device: True)

    class KilledError(Exception):
        pass

    def die_at(step: int) -> Callable[[int, int | None, int], float]:
        def rate(now: int, total: int | None, warmup: int) -> float:
            if now == step:
                raise KilledError
            return 1e-3 * min(1, now / 5)

        return rate

    for step in (3, 7, 11):  # before the first checkpoint, and twice after one
        loaded = checkpoint.load_newest(tmp_path / "b" / "checkpoints")
        trainer = make_trainer(
            tmp_path / "b", validate=validate, average=average, accumulate=2, loaded=loaded, learning_rate=die_at(step)
        )
        with pytest.raises(KilledError):
            trainer.run()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("feed")]
    make_trainer(
        tmp_path / "b", validate=validate, average=average, accumulate=2, loaded=final_state(tmp_path / "b")
    ).run()
    straight, resumed = final_state(tmp_path / "a"), final_state(tmp_path / "b")
    assert straight.step == resumed.step == 12
    for part, tensors in straight.tensors.items():
        for name, tensor in tensors.items():
            assert torch.equal(tensor, resumed.tensors[part][name]), (part, name)
    assert lines(tmp_path / "a") == lines(tmp_path / "b")
    assert (tmp_path / "b" / "published").read_text() == "8"


@pytest.mark.parametrize("at", [4, 7])  # where a validation and a checkpoint are due, and where nothing is
def test_a_sigterm_ends_the_step_saves_and_continues_exactly(tmp_path: Path, at: int) -> None:
    validate = scores({4: 10.0, 8: 30.0, 12: 20.0})

    def rate(step: int, total: int | None, warmup: int) -> float:
        if step == at:
            os.kill(os.getpid(), signal.SIGTERM)
        return 1e-3 * min(1, step / 5)

    make_trainer(tmp_path / "a", validate=validate).run()
    outcome = make_trainer(tmp_path / "b", validate=validate, learning_rate=rate).run()
    assert (outcome.status, outcome.state) == (143, "interrupted")
    loaded = final_state(tmp_path / "b")
    assert loaded.step == at
    make_trainer(tmp_path / "b", validate=validate, loaded=loaded).run()
    a, b = final_state(tmp_path / "a"), final_state(tmp_path / "b")
    assert all(torch.equal(t, b.tensors["model"][n]) for n, t in a.tensors["model"].items())
    assert lines(tmp_path / "a") == lines(tmp_path / "b")


@pytest.mark.parametrize(
    ("metric", "higher", "values", "best_step"),
    [
        ("valid/loss", False, (3.0, 2.0, 1.0), 12),
        ("valid/bleu", True, (10.0, 30.0, 20.0), 8),
        ("valid/chrf", True, (10.0, 30.0, 30.0), 8),
        ("valid/cer", False, (0.9, 0.5, 0.7), 8),
        ("valid/bleu", True, (10.0, math.nan, 5.0), 4),
    ],
)
def test_the_best_step(
    tmp_path: Path, metric: str, higher: bool, values: tuple[float, float, float], best_step: int
) -> None:
    trainer = make_trainer(
        tmp_path,
        stop_on=metric,
        higher_is_better=higher,
        validate=lambda weights, step: {metric: dict(zip((4, 8, 12), values, strict=True))[step]},
    )
    trainer.run()
    assert trainer.state.best is not None
    assert trainer.state.best["step"] == best_step
    assert (tmp_path / "checkpoints" / "best").read_text() == f"step-{best_step:08d}\n"
    assert (tmp_path / "published").read_text() == str(best_step)


def test_where_bleu_is_zero_chrf_decides(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, validate=scores({4: 0.0, -4: 20.0, 8: 0.0, -8: 40.0, 12: 0.0, -12: 30.0}))
    trainer.run()
    assert trainer.state.best == {"value": 0.0, "step": 8, "tie": 40.0}


def test_a_metric_that_the_set_does_not_have_is_said_once(tmp_path: Path) -> None:
    values = {0: 1.0, 4: 1.0, 8: 1.0, 12: 1.0}
    make_trainer(tmp_path, validate=scores(values, "valid/loss"), validate_first=True).run()
    told = [line for line in (tmp_path / "run" / "train.log").read_text().splitlines() if "valid/bleu" in line]
    assert len(told) == 1
    assert told[0].endswith("valid/bleu is not defined for this set; the newest weights count as the best.")
    assert (tmp_path / "published").read_text() == "12"


def test_patience_survives_a_resume(tmp_path: Path) -> None:
    values = {4: 10.0, 8: 9.0, 12: 9.5, 16: 10.0, 20: 99.0}
    make_trainer(tmp_path, total_steps=12, patience=3, validate=scores(values)).run()
    trainer = make_trainer(tmp_path, total_steps=40, patience=3, validate=scores(values), loaded=final_state(tmp_path))
    outcome = trainer.run()
    assert (outcome.state, trainer.state.step) == ("stopped", 16)  # a tie is no gain
    assert trainer.state.best == {"value": 10.0, "step": 4, "tie": 0.0}


def test_a_short_run_saves_at_its_end(tmp_path: Path) -> None:
    make_trainer(tmp_path, total_steps=3, save_every=5000, validate_every=5000).run()
    assert final_state(tmp_path).step == 3
    assert (tmp_path / "published").read_text() == "3"


def test_a_reached_limit_is_said_and_nothing_moves(tmp_path: Path) -> None:
    make_trainer(tmp_path, total_steps=4).run()
    before = {p: p.read_bytes() for p in (tmp_path / "checkpoints").rglob("*") if p.is_file()}
    outcome = make_trainer(tmp_path, total_steps=4, loaded=final_state(tmp_path)).run()
    assert outcome.reason == "all 4 steps are done"
    assert before == {p: p.read_bytes() for p in (tmp_path / "checkpoints").rglob("*") if p.is_file()}


def test_a_poisoned_parameter_stops_the_run_and_keeps_the_good_checkpoint(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, total_steps=100, max_bad_steps=5)
    rate = trainer.settings.learning_rate

    def poison(step: int, total: int | None, warmup: int) -> float:
        if step == 9:
            trainer.parameters.master[5] = math.nan
        return rate(step, total, warmup)

    object.__setattr__(trainer.settings, "learning_rate", poison)
    with pytest.raises(TranslatorError, match="step-00000008"):
        trainer.run()
    assert trainer.state.step <= 9 + 5 + 10
    assert torch.isfinite(torch.cat([t.flatten() for t in final_state(tmp_path).tensors["model"].values()])).all()
    make_trainer(tmp_path, total_steps=10, loaded=final_state(tmp_path)).run()
    assert final_state(tmp_path).step == 10


def test_one_infinite_batch_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make_trainer(tmp_path, total_steps=12)
    step = trainer.optimizer.step

    def once(rate: float, *, divisor: float) -> tuple[Tensor, Tensor]:
        if trainer.state.step == 5:
            trainer.parameters.grad[0] = math.inf
        return step(rate, divisor=divisor)

    monkeypatch.setattr(trainer.optimizer, "step", once)
    trainer.run()
    assert (
        "step 5 (epoch 0, batch 5): the loss or a gradient is not finite"
        in (tmp_path / "run" / "train.log").read_text()
    )
    assert final_state(tmp_path).tensors["optimizer"]["updates"].item() == 11
    assert [file.name for file in (tmp_path / "run" / "bad-steps").iterdir()] == ["step-00000005.json"]


def test_a_step_that_runs_out_of_memory_ends_with_a_checkpoint(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, total_steps=8, dropout=0.0)  # checkpoints are due at 4 and 8
    learnt_at: list[int] = []

    def limit(module: object, args: object, output: Tensor) -> None:
        if trainer.state.step in (5, 6, 7) and output.shape[0] > 1 and not learnt_at:
            learnt_at.append(trainer.state.step)
            raise torch.OutOfMemoryError("injected")

    trainer.model.decoder.register_forward_hook(limit)  # type: ignore[union-attr]
    trainer.run()
    loaded = checkpoint.load_checkpoint(tmp_path / "checkpoints" / f"step-{learnt_at[0]:08d}")
    assert trainer.state.most_cells is not None
    assert loaded.state["most_cells"] == trainer.state.most_cells
    other = make_trainer(tmp_path, total_steps=8, dropout=0.0, loaded=loaded)
    assert other.state.most_cells == trainer.state.most_cells


def test_minutes_fix_the_number_of_steps_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 200)  # a clock of its own: 5 ms whenever it is read
    trainer = make_trainer(
        tmp_path, total_steps=None, minutes=0.05, validate_every=None, validate=lambda w, s: {"valid/bleu": s}
    )
    outcome = trainer.run()
    assert outcome.state == "finished"
    total = trainer.state.total_steps
    assert total is not None
    assert trainer.state.step <= total
    assert 0.9 * 3 < trainer.watch.seconds() < 3 + 0.05  # of 3 s
    assert final_state(tmp_path).state["total_steps"] == total


def test_the_last_validation_ends_within_the_minutes() -> None:
    """The budget of 60 s is over when only the last validation, as long as the newest one, still fits."""
    state = State(step=5, last_validation_seconds=20.0)
    assert not state.is_over(1.0, 39.9)
    assert state.is_over(1.0, 40.0)
    assert not state.is_over(None, 1e9)


@pytest.mark.parametrize(
    ("step", "step_seconds", "seconds", "validation", "every", "expected"),
    [
        (20, 10.0, 10.0, 0.0, None, (20 + 1132, 58)),  # 576 s - 10 s at 0.5 s each; 20 validations
        (20, 10.0, 10.0, 15.0, None, (20 + 1037, 225)),  # 10 s for a later validation: a twelfth of 566 s
        (20, 10.0, 50.0, 15.0, 100, (20 + 876, 100)),  # 526 s at 0.5 s + 10 s / 100
        (20, 10.0, 700.0, 0.0, None, (21, 2)),  # the budget has passed: one step more
    ],
)
def test_the_plan_fills_the_minutes(
    step: int, step_seconds: float, seconds: float, validation: float, every: int | None, expected: tuple[int, int]
) -> None:
    state = State(step=step, step_seconds=step_seconds, validation_seconds=validation, validate_every=every)
    assert plan_steps(state, minutes=10, seconds=seconds) == expected


def test_a_full_disk_is_told_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make_trainer(tmp_path)
    before = trainer.parameters.master.clone()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
        with pytest.raises(TranslatorError, match="free some space"):
            trainer.preflight(trainer.stream.longest_batch())
    trainer.preflight(trainer.stream.longest_batch())
    assert torch.equal(before, trainer.parameters.master)
    assert trainer.parameters.grad.abs().max() == 0


def test_a_batch_that_memory_cannot_hold_is_told_before_the_first_step(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path)
    trainer.model.register_forward_hook(lambda *_: torch.empty(10**15))  # what a CPU really says then
    with pytest.raises(TranslatorError, match=r"The longest batch \(\d+ rows of \d+ tokens\) does not fit into memory"):
        trainer.preflight(trainer.stream.longest_batch())


def test_what_memory_teaches_before_the_first_step_is_learnt_by_it(tmp_path: Path) -> None:
    """Else a run that is killed before its first checkpoint would go on otherwise than it began."""
    trainer = make_trainer(tmp_path, dropout=0.0)

    def limit(module: object, args: object, output: Tensor) -> None:
        if output.shape[0] > 1:
            raise torch.OutOfMemoryError("injected")

    hook = trainer.model.decoder.register_forward_hook(limit)  # type: ignore[union-attr]
    trainer.preflight(trainer.stream.longest_batch())
    assert (trainer.state.most_cells, trainer.state.left_out) == (None, [])
    hook.remove()


def test_seeds_of_neighbouring_steps_share_nothing() -> None:
    seeds = {step_seed(seed, step, micro) for seed in range(5) for step in range(50) for micro in range(4)}
    assert len(seeds) == 1000
    assert max(seeds) < 2**63


def falling(step: int, total: int | None, warmup: int) -> float:
    """A rate that is 0 at the last step of the schedule, and only there."""
    return learning_rate(step, schedule="linear", peak=1e-3, warmup_steps=warmup, total_steps=total, d_model=16)


def test_the_schedule_ends_within_the_minutes_and_again_when_they_are_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine of even speed: a step takes 20 ms, a validation 20 ms, the first one twice as long."""
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def run(minutes: float, loaded: checkpoint.Checkpoint | None = None) -> Trainer:
        nonlocal now

        def validate(weights: Mapping[str, Tensor], step: int) -> dict[str, float]:
            nonlocal now
            now += 0.02 if trainer.state.validation_seconds else 0.04
            return {"valid/bleu": 1.0}  # a gain only once: no checkpoint each time

        def one_step(*args: Any) -> bool:
            nonlocal now
            now += 0.02
            return step(*args)

        trainer = make_trainer(
            tmp_path,
            loaded=loaded,
            total_steps=None,
            minutes=minutes,
            validate_every=None,
            save_every=1000,
            log_every=50,
            learning_rate=falling,
            validate=validate,
        )
        step = trainer.train_step
        monkeypatch.setattr(trainer, "train_step", one_step)
        assert trainer.run().state == "finished"
        assert trainer.state.step == trainer.state.total_steps
        assert 0.9 * 60 * minutes < trainer.watch.seconds() <= 60 * minutes
        rates = {record["step"]: record["train/learning_rate"] for record in lines(tmp_path) if "train/loss" in record}
        assert [number for number, rate in rates.items() if rate == 0.0][-1] == trainer.state.step
        return trainer

    first = run(0.02).state.step
    assert run(0.04, final_state(tmp_path)).state.step > 1.8 * first


class ShortTargets(Pairs):
    """Targets of half the length, so that the two sides have shares of padding of their own."""

    def lengths(self, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        lengths, _ = super().lengths(epoch)
        return lengths, (lengths - 1) // 2 + 1

    def pair(self, i: int, epoch: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        source, target = super().pair(i, epoch)
        return source, target[: len(target) // 2]


def test_the_share_of_padding_and_the_gradient_norm_are_those_of_the_batches(tmp_path: Path) -> None:
    def make(name: str) -> Trainer:
        trainer = make_trainer(
            tmp_path / name,
            dropout=0.0,
            label_smoothing=0.0,
            accumulate=2,
            log_every=2,
            total_steps=2,
            learning_rate=lambda *_: 0.0,  # the weights stay as they are
        )
        trainer.stream = BatchStream(ShortTargets((2, 9, 3, 8, 5, 6) * 6), budget=40, seed=1)
        return trainer

    make("run").run()
    (record,) = lines(tmp_path / "run")
    same = make("same")
    batches = [next(same.stream) for _ in range(4)]
    sides = [side for batch in batches for side in (batch.src_BS, batch.labels_BT)]
    padding = sum(int((side == 0).sum()) for side in sides) / sum(side.numel() for side in sides)
    assert 0.01 < padding < 0.5
    assert record["train/padding_share"] == pytest.approx(padding, abs=1e-5)

    losses, num_tokens = torch.zeros(()), 0
    for batch in batches[2:]:  # those of the newest step
        logits = same.model(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT)
        losses = losses + torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.labels_BT.flatten(), ignore_index=0, reduction="sum"
        )
        num_tokens += int((batch.labels_BT != 0).sum())
    gradients = torch.autograd.grad(losses / num_tokens, list(same.model.parameters()))
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
    assert norm > 1.0  # what it is before it is clipped to 1
    assert record["train/gradient_norm"] == pytest.approx(norm, rel=1e-4)


LINE = (
    r"step (\d+)/12  loss (\d+\.\d{3})  perplexity (\d+\.\d\d)  accuracy (\d\.\d{3})  rate (\d\.\d\de-\d\d)  "
    r"[\d,]+ tokens/s  \d+:\d\d:\d\d left"
)


def test_a_plain_line_holds_the_numbers_of_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_trainer(tmp_path).run()
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("step ")]
    found = [re.fullmatch(LINE, line) for line in shown]
    numbers = [tuple(map(float, match.groups())) for match in found if match]
    assert len(numbers) == len(shown) == 4
    for record, (step, loss, perplexity, accuracy, rate) in zip(lines(tmp_path), numbers, strict=True):
        assert step == record["step"]
        assert loss == pytest.approx(record["train/loss"], abs=6e-4)
        assert perplexity == pytest.approx(record["train/perplexity"], abs=6e-3)
        assert accuracy == pytest.approx(record["train/accuracy"], abs=6e-4)
        assert rate == pytest.approx(record["train/learning_rate"], rel=6e-3)


def test_on_a_terminal_a_bar_follows_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    trainer = make_trainer(tmp_path)
    trainer.run()
    trainer.log.close()
    shown = terminal.getvalue()
    (newest,) = lines(tmp_path)[-1:]
    assert "12/12 [" in shown
    assert f"loss={newest['train/loss']:.3f}, tok/s=" in shown
    assert f"lr={newest['train/learning_rate']:.1e}]" in shown
    assert "perplexity" not in shown
    assert re.search(LINE, (tmp_path / "run" / "train.log").read_text())
