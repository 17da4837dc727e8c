"""The formula for the memory of a step, against the live bytes of torch's allocator in real steps."""

from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from translator.attention import MOST_KEYS
from translator.batches import collate
from translator.config import ModelConfig
from translator.memory import Sizes
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer
from translator.step import Step
from translator.training_state import State

SMALL = {"d_model": 32, "num_heads": 4, "d_ff": 64, "num_encoder_layers": 1, "num_decoder_layers": 1}


def sizes(vocab_size: int, dtype: torch.dtype = torch.float32, **model: Any) -> tuple[Sizes, Transformer]:
    settings = ModelConfig(**{**SMALL, **model}).model_dump()
    expected = Sizes.of(
        settings, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size, element=dtype.itemsize, num_averages=0,
        has_validation=False, plain_attention_keys=MOST_KEYS,
    )  # fmt: skip
    return expected, Transformer(vocab_size, vocab_size, **settings).to(dtype)


def peak(model: Transformer, vocab_size: int, rows: int, src_length: int, tgt_length: int) -> int:
    """Most bytes that the allocator gave at a time, in one step, beyond those from before it."""
    parameters = FlatParameters(model)
    optimizer = Optimizer(parameters)
    optimizer.state()
    pairs = [(torch.randint(4, vocab_size, (n - 1,)).numpy() for n in (src_length, tgt_length)) for _ in range(rows)]
    batch = collate([(next(pair), next(pair)) for pair in pairs], range(rows))
    step = Step(model, parameters, seed=1, label_smoothing=0.1, pad_id=0, say=print, locate=str)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step.gradients([batch], State(step=1))
        optimizer.step(1e-3, divisor=1.0)
    assert profiler.profiler is not None
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        most = max(most, live)
    return most


@pytest.mark.parametrize(
    ("vocab_size", "shape", "dtype", "model"),
    [
        (4000, (4, 12, 12), torch.float32, {}),  # logits outweigh all else
        (4000, (4, 12, 12), torch.bfloat16, {}),
        (2000, (1, 5, 5), torch.float32, {"share_embeddings": "target"}),  # tables do
        (100, (4, 60, 20), torch.float32, {"num_encoder_layers": 2}),  # activations do
        (50, (4, 40, 40), torch.float32, {"d_ff": 512, "activation": "swiglu"}),  # the feed-forward does
        (50, (2, 100, 100), torch.float32, {"attention_dropout": 0.1}),  # attention weights do
        (50, (2, 100, 100), torch.bfloat16, {"attention_dropout": 0.1, "norm_kind": "rms"}),
        (50, (4, MOST_KEYS, MOST_KEYS), torch.float32, {"num_heads": 16}),
        (50, (4, MOST_KEYS, MOST_KEYS), torch.bfloat16, {"num_heads": 16}),
        (50, (2, 2 * MOST_KEYS, 2 * MOST_KEYS), torch.float32, {"num_heads": 16}),
        (50, (4, 40, 40), torch.float32, {"dropout": 0.0, "norm": "post", "feedforward_dropout": 0.1}),
    ],
)
def test_the_formula_is_within_a_fifth_of_what_a_step_takes(
    vocab_size: int, shape: tuple[int, int, int], dtype: torch.dtype, model: dict[str, Any]
) -> None:
    expected, transformer = sizes(vocab_size, dtype, **model)
    measured = peak(transformer, vocab_size, *shape)
    assert 0.8 * measured <= expected.batch_bytes(*shape) <= 1.2 * measured, measured


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_where_the_logits_outweigh_all_else_it_is_exact(dtype: torch.dtype) -> None:
    """One tensor of their size too many, or too few, is a fault of the loss or of the formula."""
    expected, transformer = sizes(8000, dtype)
    assert expected.batch_bytes(16, 12, 12) == pytest.approx(peak(transformer, 8000, 16, 12, 12), rel=0.01)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"norm": "post", "norm_gain": "scalar", "share_embeddings": "none"},
        {"norm_kind": "rms", "activation": "swiglu", "share_embeddings": "target"},
        {"positions": "learned", "max_positions": 300, "num_encoder_layers": 3},
    ],
)
def test_parameters_are_counted_exactly(model: dict[str, Any]) -> None:
    expected, transformer = sizes(70, **model)
    assert expected.num_parameters() == sum(p.numel() for p in transformer.parameters())


def test_what_lasts_is_counted_exactly() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        expected, transformer = sizes(64, dtype, d_model=32, d_ff=64)  # sizes that need no padding between tensors
        parameters = FlatParameters(transformer)
        moments = {name: t for name, t in Optimizer(parameters).state().items() if name.startswith("exp_avg")}
        held = parameters.master.nbytes + parameters.grad.nbytes + sum(t.nbytes for t in moments.values())
        if dtype == torch.bfloat16:
            held += 2 * sum(p.nbytes for p in transformer.parameters())
        assert expected.lasting_bytes() == pytest.approx(held, rel=0.01)
        large, lasting = (64, 30, 40), expected.lasting_bytes()
        assert expected.peak_bytes(*large) == lasting + expected.batch_bytes(*large)
        assert expected.peak_bytes(1, 1, 1) == lasting + 16 * expected.num_parameters()  # a checkpoint takes more


def test_memory_grows_with_the_averages_and_the_model_that_validates() -> None:
    base, _ = sizes(64)
    more = Sizes(**{**vars(base), "num_averages": 5, "has_validation": True})
    assert more.lasting_bytes() - base.lasting_bytes() == 6 * 4 * base.num_parameters()
    assert Sizes(**{**vars(base), "libraries": 1000}).lasting_bytes() - base.lasting_bytes() == 1000
