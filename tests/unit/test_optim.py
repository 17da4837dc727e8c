"""Schedules, flat parameters, the optimizer and weight averages."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from translator import optim
from translator.optim import FlatParameters, Optimizer, Schedule, WeightAverage, learning_rate


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("constant", 5, 0.5),
        ("constant", 10, 1.0),
        ("constant", 99, 1.0),
        ("inverse_sqrt", 10, 1.0),
        ("inverse_sqrt", 40, 0.5),
        ("linear", 10, 1.0),
        ("linear", 60, 0.55),
        ("linear", 110, 0.1),
        ("linear", 500, 0.1),
        ("cosine", 60, 0.55),
        ("cosine", 35, 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 4))),
        ("cosine", 110, 0.1),
    ],
)
def test_schedule(schedule: Schedule, step: int, expected: float) -> None:
    rate = learning_rate(step, schedule=schedule, peak=1.0, warmup_steps=10, total_steps=110, minimum=0.1)
    assert rate == pytest.approx(expected)


def test_vaswani_schedule_is_the_papers_formula() -> None:
    rates = [learning_rate(s, schedule="vaswani", peak=1.0, warmup_steps=4000, d_model=512) for s in (1, 4000, 16000)]
    assert rates == pytest.approx([512**-0.5 * 4000**-1.5, 512**-0.5 * 4000**-0.5, 512**-0.5 * 16000**-0.5])


def test_nothing_falls_while_the_number_of_steps_is_unknown() -> None:
    assert learning_rate(50, schedule="cosine", peak=1.0, warmup_steps=10, total_steps=None) == 1.0


def small_model(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3))
    return model.to(dtype)


def run(model: nn.Module, step: int, scale: float = 1.0) -> torch.Tensor:
    torch.manual_seed(step)
    x = torch.randn(11, 5, dtype=next(model.parameters()).dtype)
    output: torch.Tensor = model(x)
    return output.float().square().sum() * scale


def test_equals_plain_adamw_with_clipping() -> None:
    model, plain = small_model(), small_model()
    decayed = [p for p in plain.parameters() if p.dim() >= 2]
    others = [p for p in plain.parameters() if p.dim() < 2]
    adam = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=0.01,
        betas=(0.9, 0.98),
        eps=1e-9,
    )
    parameters = FlatParameters(model)
    optimizer = Optimizer(parameters, weight_decay=0.1, clip_norm=1.0)
    for step in range(1, 6):
        run(model, step).backward()
        parameters.collect()
        norm, skipped = optimizer.step(0.01, divisor=4.0)
        adam.zero_grad()
        (run(plain, step) / 4.0).backward()
        expected_norm = nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        adam.step()
        assert norm.item() == pytest.approx(expected_norm.item(), rel=1e-5)
        assert skipped.item() == 0
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_step_that_is_not_finite_moves_nothing(bad: float) -> None:
    model = small_model()
    parameters = FlatParameters(model)
    optimizer = Optimizer(parameters)
    run(model, 1).backward()
    optimizer.step(0.01, divisor=1.0)
    before = {name: tensor.clone() for name, tensor in optimizer.state().items()}
    weights = parameters.master.clone()
    run(model, 2).backward()
    parameters.grad[3] = bad
    _, skipped = optimizer.step(0.01, divisor=1.0)
    assert skipped.item() == 1
    assert torch.equal(weights, parameters.master)
    assert all(torch.equal(before[name], tensor) for name, tensor in optimizer.state().items())
    assert parameters.grad.abs().max() == 0
    run(model, 3).backward()
    optimizer.step(0.01, divisor=1.0)
    assert torch.isfinite(parameters.master).all()
    assert not torch.equal(weights, parameters.master)


def test_a_kernel_that_only_updates_is_not_relied_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(torch.optim.AdamW):
        """As on MPS before torch 2.13: no error, and no effect."""

        def step(self, closure: Any = None) -> Any:
            for name in ("grad_scale", "found_inf"):
                if hasattr(self, name):
                    delattr(self, name)
            return super().step(closure)

    assert [optim.kernel_can_skip(torch.device(kind)) for kind in ("cpu", "cuda", "mps")] == [True, True, False]
    usual, other = (FlatParameters(small_model()) for _ in range(2))
    obeyed = Optimizer(usual, weight_decay=0.1)
    monkeypatch.setattr(torch.optim, "AdamW", Deaf)
    taken_back = Optimizer(other, weight_decay=0.1)
    for step in range(1, 8):
        gradient = torch.randn(len(usual.master), generator=torch.Generator().manual_seed(step)) * 10
        gradient[3] = {1: math.nan, 4: math.inf}.get(step, 1.0)  # at the first step, and later
        results = []
        for parameters, optimizer, skips in ((usual, obeyed, True), (other, taken_back, False)):
            monkeypatch.setattr(optim, "kernel_can_skip", lambda device, skips=skips: skips)
            parameters.grad.copy_(gradient)
            results.append(optimizer.step(0.01, divisor=4.0))
        assert results[0][1].item() == results[1][1].item() == (step in (1, 4))
        assert torch.equal(usual.master, other.master)
        theirs = taken_back.state()
        assert all(torch.equal(tensor, theirs[name]) for name, tensor in obeyed.state().items())
        assert not other.grad.any()
    assert obeyed.state()["updates"].item() == 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_parameter_and_gradient_begins_a_cache_line(dtype: torch.dtype) -> None:
    model = small_model(dtype)
    parameters = FlatParameters(model)
    tensors = [*model.parameters(), *parameters.named(parameters.master).values()]
    tensors += [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert len(tensors) == 18
    assert {tensor.data_ptr() % 64 for tensor in tensors} == {0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_resumed_optimizer_continues_bit_for_bit(dtype: torch.dtype) -> None:
    straight, resumed = small_model(dtype), small_model(dtype)
    p1 = FlatParameters(straight)
    o1 = Optimizer(p1, weight_decay=0.01)
    for step in range(1, 7):
        if step == 4:
            p2 = FlatParameters(resumed)
            p2.fill(p2.master, {n: t.clone() for n, t in p1.named(p1.master).items()})
            p2.publish()
            o2 = Optimizer(p2, weight_decay=0.01)
            o2.load_state({n: t.clone() for n, t in o1.state().items()})
        run(straight, step).backward()
        p1.collect()
        o1.step(0.01, divisor=2.0)
        if step >= 4:
            run(resumed, step).backward()
            p2.collect()
            o2.step(0.01, divisor=2.0)
    assert torch.equal(p1.master, p2.master)
    assert torch.equal(next(straight.parameters()), next(resumed.parameters()))


def test_low_precision_keeps_float32_masters() -> None:
    model = small_model(torch.bfloat16)
    parameters = FlatParameters(model)
    optimizer = Optimizer(parameters, clip_norm=None)
    start = parameters.master.clone()
    for step in range(1, 4):
        run(model, step).backward()
        parameters.collect()
        optimizer.step(1e-6, divisor=1.0)  # far below bfloat16's resolution
    moved = (parameters.master - start).abs()
    assert moved.max() > 1e-6
    for name, weight in model.named_parameters():
        assert torch.equal(weight, parameters.named(parameters.master)[name].bfloat16())


def test_accumulated_low_precision_gradients_add_in_float32() -> None:
    model = small_model(torch.bfloat16)
    parameters = FlatParameters(model)
    for _ in range(300):
        run(model, 1, scale=0.01).backward()
        parameters.collect()
    once = parameters.grad.clone() / 300
    parameters.grad.zero_()
    run(model, 1, scale=0.01).backward()
    parameters.collect()
    torch.testing.assert_close(once, parameters.grad, rtol=1e-4, atol=1e-6)


def test_ema_follows_by_hand() -> None:
    master = torch.tensor([0.0])
    average = WeightAverage("ema", master, decay=0.5)
    expected = 0.0
    for step, value in enumerate([1.0, 2.0, 3.0], start=1):
        master.fill_(value)
        average.after_step(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * value
    assert average.weights().item() == pytest.approx(expected)


def test_mean_of_the_last_snapshots_survives_a_resume() -> None:
    master = torch.tensor([0.0])
    average = WeightAverage("last", master, num_last=2)
    for value in (1.0, 2.0, 4.0):
        master.fill_(value)
        average.before_validation()
    again = WeightAverage("last", torch.tensor([9.0]), num_last=2)
    again.load_state({n: t.clone() for n, t in average.state().items()})
    assert average.weights().item() == again.weights().item() == 3.0
