"""The experiments of scripts/bench: what they compare with must do the same work, or the comparison means nothing."""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import experiments
from scripts.benchmarks import experiments_parts as parts
from scripts.benchmarks import experiments_step as step
from scripts.benchmarks.experiments_common import LeftOutError, Setup, Sides, Training, make_model, padded_to
from scripts.benchmarks.experiments_processes import Process
from scripts.benchmarks.settings import Setting
from translator.device import Device
from translator.errors import TranslatorError
from translator.loss import token_loss

SIZES = Setting(d_model=16, d_ff=32, num_heads=2, num_layers=1, vocab_size=60, batch_tokens=320)
SHAPE = (64, 33, 67)  # an odd number of elements, so that the last draw is used in part
Mask = Callable[[int], Tensor]  # of a step


def device(kind: str = "cpu", precision: str = "float32") -> Device:
    return Device(torch.device(kind), precision, 1, "for the test")


def setup(folder: Path, precision: str = "float32") -> Setup:
    return Setup(SIZES, device(precision=precision), folder, rounds=2, num_pairs=500, limit=900.0)


def pooled(rate: float, pool_seed: int = 1) -> Mask:
    pool = parts.MaskPool(4 * torch.Size(SHAPE).numel(), rate, pool_seed)

    def mask(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return pool.mask(SHAPE)

    return mask


def hashed(rate: float) -> Mask:
    return lambda seed: parts.hashed_mask(torch.empty(SHAPE), rate, seed)


BOTH_MASKS = pytest.mark.parametrize("make", [pooled, hashed])


@BOTH_MASKS
@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.5, 0.9])
def test_masks_have_the_right_rate_and_scale(make: Callable[[float], Mask], rate: float) -> None:
    mask = make(rate)
    drawn = torch.stack([mask(seed) for seed in range(20)])
    # the masks of a pool are parts of it, so that they count as no more than its elements
    count = 4 * torch.Size(SHAPE).numel() if make is pooled else drawn.numel()
    assert abs(float((drawn == 0).double().mean()) - rate) < 5 * (rate * (1 - rate) / count) ** 0.5
    torch.testing.assert_close(drawn.max(), torch.tensor(1 / (1 - rate)))


@BOTH_MASKS
def test_masks_are_functions_of_the_seeds_and_those_of_two_steps_are_independent(make: Callable[[float], Mask]) -> None:
    mask, again = make(0.1), make(0.1)
    drawn = torch.stack([mask(step).flatten() for step in range(16)]).double()
    assert torch.equal(drawn, torch.stack([again(step).flatten() for step in range(16)]).double())
    between = torch.corrcoef(drawn)
    between.fill_diagonal_(0.0)
    assert float(between.abs().max()) < 5 / drawn.size(1) ** 0.5
    flat = drawn[0]
    for apart in range(1, 9):
        together = torch.corrcoef(torch.stack([flat[:-apart], flat[apart:]]))[0, 1]
        assert abs(float(together)) < 5 / flat.numel() ** 0.5


def test_a_pool_follows_its_own_seed_too_and_leaves_the_generator_as_it_was() -> None:
    assert not torch.equal(pooled(0.5, pool_seed=1)(3), pooled(0.5, pool_seed=2)(3))
    torch.manual_seed(7)
    state = torch.get_rng_state()
    parts.MaskPool(1000, 0.5, seed=1)
    assert torch.equal(torch.get_rng_state(), state)


def test_an_element_of_a_hashed_mask_does_not_depend_on_how_many_there_are() -> None:
    whole = parts.hashed_mask(torch.empty(1001), 0.5, seed=2**61)
    assert torch.equal(whole[:37], parts.hashed_mask(torch.empty(37), 0.5, seed=2**61))
    assert not torch.equal(whole, parts.hashed_mask(torch.empty(1001), 0.5, seed=2**61 + 1))


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_the_loss_in_pieces_equals_that_of_training_in_value_and_gradient(rows: int) -> None:
    hidden_ND = torch.randn(13, 6, dtype=torch.float64, requires_grad=True)
    table_VD = torch.randn(17, 6, dtype=torch.float64, requires_grad=True)
    labels_N = torch.randint(0, 17, (13,))
    labels_N[2:4] = 0  # padding
    loss: Tensor = parts.PiecewiseLoss.apply(hidden_ND, table_VD, labels_N, rows)
    expected = token_loss(hidden_ND @ table_VD.t(), labels_N, label_smoothing=0.1, pad_id=0).sum
    torch.testing.assert_close(loss, expected)
    inputs = (hidden_ND, table_VD)
    of_both = (torch.autograd.grad(3 * value, inputs) for value in (loss, expected))
    torch.testing.assert_close(*of_both)


def test_the_most_that_was_held_is_counted_in_bytes() -> None:
    given = torch.zeros(1000)
    with (peak := parts.PeakBytes([given])):
        first = torch.zeros(100)
        second = given[10:].view(-1, 9)  # no memory of its own
        third = first + 1
        del first
        fourth = torch.zeros(50, dtype=torch.int64)
        del second, third, fourth
    assert peak.most == 800
    assert peak.held == 0


def test_pieces_hold_less_than_the_whole(tmp_path: Path) -> None:
    sizes = replace(SIZES, batch_tokens=5120, vocab_size=500)
    sides = parts.chunked_loss(replace(setup(tmp_path), setting=sizes))
    (line,) = sides.conclude(1.0, 1.0)
    in_pieces, at_once = (float(word) for word in line.split() if word[0].isdigit())
    logits = sizes.batch_tokens * sizes.vocab_size * 4 / 1e6
    assert 2 * logits < at_once < 2.5 * logits  # logits and their softmax, gradients of the inputs
    assert 0.2 * logits < in_pieces < 0.3 * logits  # the same of a tenth of the rows, and gradients


def test_more_padding_changes_no_loss(tmp_path: Path) -> None:
    batch = step.plan(setup(tmp_path), 1, 80).batches(1, SIZES.vocab_size)[0]
    longer = padded_to(batch, 32)
    assert longer.src_BS.shape[1] % 32 == longer.labels_BT.shape[1] % 32 == longer.tgt_in_BT.shape[1] % 32 == 0
    model = make_model(SIZES, torch.float32).eval()
    losses = []
    for one in (batch, longer):
        logits = model(one.src_BS, one.src_mask_BS, one.tgt_in_BT)
        losses.append(token_loss(logits, one.labels_BT, label_smoothing=0.1, pad_id=0))
    assert losses[0].num_tokens == losses[1].num_tokens == batch.num_tgt_tokens
    torch.testing.assert_close(losses[0].sum, losses[1].sum)


@pytest.mark.parametrize("multiple", [1, 4, 8])
def test_shapes_and_padding_of_an_epoch_are_those_of_its_batches(tmp_path: Path, multiple: int) -> None:
    epoch = step.plan(setup(tmp_path), multiple, 100)
    batches = epoch.batches(len(epoch.plan), SIZES.vocab_size)
    assert [(*one.src_BS.shape, one.labels_BT.shape[1]) for one in batches] == epoch.shapes
    tokens = sum(one.num_src_tokens + one.num_tgt_tokens for one in batches)
    cells = sum(one.src_BS.numel() + one.labels_BT.numel() for one in batches)
    assert epoch.padding == pytest.approx(1 - tokens / cells)
    assert all(one.num_cells <= 100 for one in batches)
    assert sum(len(one.index_B) for one in batches) == 500


def test_rounding_lengths_leaves_fewer_shapes_and_more_padding(tmp_path: Path) -> None:
    epochs = [step.plan(setup(tmp_path), multiple, 100) for multiple in (1, 4, 8)]
    shapes, padding = ([len(set(e.shapes)) for e in epochs], [e.padding for e in epochs])
    assert shapes == sorted(shapes, reverse=True)
    assert padding == sorted(padding)
    assert step.packing(setup(tmp_path)).times_as_fast == pytest.approx(
        1 / (1 - step.plan(setup(tmp_path), 1, SIZES.batch_tokens).padding)
    )


def test_each_turn_of_an_epoch_takes_the_batches_that_follow(tmp_path: Path) -> None:
    batches = step.plan(setup(tmp_path), 1, 100).batches(4, SIZES.vocab_size)
    training = Training(SIZES, torch.float32)
    tokens = [batch.num_tgt_tokens / 1000 for batch in batches]
    work = step.stretches(training, batches, 3)
    assert work() == pytest.approx(sum(tokens[:3]))
    assert work() == pytest.approx(tokens[3] + tokens[0] + tokens[1])


def test_what_prepares_a_turn_is_not_timed_and_a_turn_counts_by_what_it_did() -> None:
    done = []

    def prepare() -> None:
        done.append("prepare")
        time.sleep(0.05)

    def first() -> float:
        done.append("first")
        time.sleep(0.02)
        return 4.0

    sides = Sides(first, lambda: done.append("second"), prepare)
    ((one, other),) = experiments.turns(sides, 1)
    assert done == ["prepare", "second", "prepare", "first", "prepare", "first", "prepare", "second"]
    assert 0.005 <= one < 0.05 / 4
    assert other < 0.05


def test_both_optimizers_are_fused_and_step_on_gradients_made_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []
    adam = torch.optim.AdamW

    def recorded(*args: Any, **options: Any) -> torch.optim.AdamW:
        made.append(options)
        return adam(*args, **options)

    monkeypatch.setattr(torch.optim, "AdamW", recorded)
    sides = parts.optimizer(setup(tmp_path))
    assert [options["fused"] for options in made] == [True, True]
    assert len({options["betas"] + (options["eps"],) for options in made}) == 1
    monkeypatch.setattr(Tensor, "normal_", lambda *_: pytest.fail("a turn draws random numbers"))
    monkeypatch.setattr(torch, "randn_like", lambda *_: pytest.fail("a turn draws random numbers"))
    sides.first()
    sides.second()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_layers_and_inputs_have_the_precision_that_was_asked_for(tmp_path: Path, precision: str) -> None:
    one = setup(tmp_path, precision)
    assert str(parts.random(one, 2, 2).dtype) == f"torch.{precision}"
    training = Training(SIZES, one.dtype)
    assert {parameter.dtype for parameter in training.model.parameters()} == {one.dtype}
    before = training.model.tgt_embedding.weight.clone()
    training.step(step.square_batch(one))
    assert not torch.equal(before, training.model.tgt_embedding.weight)


def test_masters_are_compared_with_autocast_only_where_there_is_something_to_cast(tmp_path: Path) -> None:
    with pytest.raises(LeftOutError, match="give --precision bfloat16"):
        step.masters_or_autocast(setup(tmp_path))


def test_the_list_names_every_experiment_and_measures_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiments, "measure", lambda *_: pytest.fail("measured"))
    assert bench.main(["experiments", "--list", "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    for name, (prediction, _) in experiments.EXPERIMENTS.items():
        assert f"{name}\n  expected: {prediction}\n" in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "nonsense"], 'No experiment has "nonsense" in its name; --list prints all names.\n'),
        (["--rounds", "0"], "--rounds 0 measures nothing: give 1 or more.\n"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["experiments", "--device", "cpu", "--threads", "1", *words]) == 2
    assert capsys.readouterr().err == sentence


def test_another_device_than_a_cpu_is_refused(tmp_path: Path) -> None:
    args = argparse.Namespace(only=None, list=False, rounds=1, setting="tiny")
    with pytest.raises(TranslatorError, match="measure a CPU, not cuda: give --device cpu"):
        experiments.run(args, device("cuda"), tmp_path)


def make_reporter(setup: Setup) -> Callable[[], None]:
    """Fails at its second turn, with what the process finds in its environment."""
    turns: list[int] = []

    def work() -> None:
        turns.append(1)
        if len(turns) > 1:
            raise ValueError(f"{os.environ.get('OMP_WAIT_POLICY')} {os.environ.get('GOMP_SPINCOUNT')}")

    return work


def test_a_process_has_its_own_environment_and_stops_between_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with Process(make_reporter, setup(tmp_path), {"GOMP_SPINCOUNT": "10000"}) as process:
        assert os.environ["OMP_WAIT_POLICY"] == "active"
        assert process.first_seconds > 0
        status = Path(f"/proc/{process._process.pid}/status")
        deadline = time.monotonic() + 5
        while status.exists() and "T (stopped)" not in status.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not status.exists() or "T (stopped)" in status.read_text()
        with pytest.raises(LeftOutError, match="ValueError: None 10000"):
            process.turn()
    assert not process._process.is_alive()
