"""Attention of the model: the cache, queries without keys, and the weights on request."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.reference import BASE, TGT, VARIANTS, gradients, make_batch, make_model
from translator.kv_cache import KVCache
from translator.loss import token_loss
from translator.model import Attention, Scope


@pytest.fixture(params=VARIANTS)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BASE | VARIANTS[request.param]


def test_cached_decoding_equals_full_decoding(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, mask, _ = make_batch()
    tgt = torch.randint(3, 30, (3, 23))  # longer than the room that the cache first makes
    with torch.no_grad():
        memory = model.encode(src, mask)
        full = model.decode(tgt, memory, mask)
        cache = KVCache(settings["num_decoder_layers"])
        parts, start = [], 0
        for length in (1, 1, 4, 1, 12, 1, 3):  # token by token, and several at once in the middle
            parts.append(model.decode(tgt[:, start : start + length], memory, mask, cache))
            start += length
            assert cache.length == start
    torch.testing.assert_close(torch.cat(parts, dim=1), full, rtol=0, atol=1e-10)


def test_no_mask_is_a_mask_that_hides_nothing(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, tgt = torch.randint(3, 20, (4, 6)), torch.randint(3, 30, (4, 5))
    everything = torch.ones_like(src, dtype=torch.bool)
    results = [model(src, mask, tgt) for mask in (everything, None)]
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-10)
    masked, unmasked = (gradients(model, result.square().mean()) for result in results)
    for one, other in zip(masked, unmasked, strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-10)
    cache, rows = KVCache(settings["num_decoder_layers"]), torch.tensor([3, 3, 1])
    with torch.no_grad():
        memory = model.encode(src, None)
        model.decode(tgt[:, :3], memory, None, cache)
        cache.select(rows)
        hidden = model.decode(tgt[rows][:, 3:], memory, None, cache)
        torch.testing.assert_close(model.project(hidden), results[0][rows][:, 3:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("index", [[2, 0], [1, 1, 0, 2, 1], [0]])
def test_selected_rows_go_on_as_if_decoded_alone(index: list[int]) -> None:
    model = make_model(BASE | {"positions": "rotary"})
    src, mask, _ = make_batch()
    tgt = torch.randint(3, 30, (3, 20))
    rows = torch.tensor(index)
    continued = torch.cat((tgt[rows], torch.randint(3, 30, (len(index), 15))), dim=1)
    with torch.no_grad():
        memory = model.encode(src, mask)
        cache = KVCache(2)
        for t in range(20):
            model.decode(tgt[:, t : t + 1], memory, mask, cache)
        cache.select(rows)
        hidden = [model.decode(continued[:, t : t + 1], memory, mask[rows], cache) for t in range(20, 35)]
        full = model.decode(continued, memory[rows], mask[rows])
    torch.testing.assert_close(torch.cat(hidden, dim=1), full[:, 20:], rtol=0, atol=1e-10)


def test_the_memory_is_read_once() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    with torch.no_grad():
        memory, cache = model.encode(src, mask), KVCache(2)
        model.decode(tgt[:, :1], memory, mask, cache)
        kept = model.decode(tgt[:, 1:], torch.full_like(memory, math.nan), mask, cache)
    torch.testing.assert_close(kept, model.decode(tgt, memory, mask)[:, 1:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("num_keys", [0, 7])
def test_a_query_without_keys_gets_zeros_and_finite_gradients(
    dtype: torch.dtype, dropout: float, num_keys: int
) -> None:
    torch.manual_seed(3)
    attention = Attention(16, 2, dropout).to(dtype)
    torch.nn.init.zeros_(attention.output.bias)
    mask = torch.rand(3, 1, 5, num_keys) > 0.3
    mask[1], mask[2, :, 3] = False, False
    if num_keys:
        mask[0, :, :, 0] = True
    weights: list[Tensor] = []
    x, memory = (torch.randn(3, n, 16, dtype=dtype, requires_grad=True) for n in (5, num_keys))
    output = attention(x, Scope(memory=memory, mask=mask, weights=weights))
    assert (output[1] == 0).all()
    assert (output[2, 3] == 0).all()
    assert (weights[0][1] == 0).all()
    loss = output.float().square().sum() + weights[0].float().square().sum()
    for gradient in torch.autograd.grad(loss, [x, memory, *attention.parameters()]):
        assert gradient.isfinite().all()
    assert num_keys == 0 or (output[0] != 0).any(dim=-1).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_empty_sources_leave_the_other_rows_alone(training: bool, norm: str) -> None:
    model = make_model(BASE | {"norm": norm}).float().train(training)
    src = torch.tensor([[5, 6, 7, 2], [0, 0, 0, 0], [8, 9, 2, 0], [0, 0, 0, 0]])
    tgt = torch.tensor([[1, 5, 6], [1, 5, 6], [1, 7, 8], [1, 9, 9]])
    normal = torch.tensor([0, 2])

    def run(rows: Tensor, counted: Tensor) -> list[Tensor]:
        logits = model(src[rows], src[rows] != 0, tgt[rows])
        assert logits.isfinite().all()
        loss = token_loss(logits[counted], tgt[rows][counted], label_smoothing=0.1, pad_id=0)
        return [loss.sum, *gradients(model, loss.sum)]

    for alone, among in zip(run(normal, torch.tensor([0, 1])), run(torch.arange(4), normal), strict=True):
        torch.testing.assert_close(among, alone, rtol=1e-5, atol=1e-5)
    whole = run(torch.arange(4), torch.arange(4))  # and the empty ones may be trained on
    assert all(tensor.isfinite().all() for tensor in whole)


def test_a_batch_of_sources_of_length_zero(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    logits = model(torch.empty(3, 0, dtype=torch.long), torch.empty(3, 0, dtype=torch.bool), torch.tensor(TGT))
    padded = model(torch.zeros(3, 4, dtype=torch.long), torch.zeros(3, 4, dtype=torch.bool), torch.tensor(TGT))
    torch.testing.assert_close(logits, padded, rtol=0, atol=1e-10)
    assert all(gradient.isfinite().all() for gradient in gradients(model, logits.square().sum()))


@pytest.mark.parametrize("training", [True, False])
def test_attention_weights_sum_to_one_over_what_may_be_attended(training: bool) -> None:
    model = make_model(BASE | {"attention_dropout": 0.5}).train(training)
    src, mask, tgt = make_batch()
    per_head = model.attention(src, mask, tgt)
    averaged = model.attention(src, mask, tgt, average_heads=True)
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    may_attend = {
        "encoder": mask[:, None, None, :].expand(3, 3, 5, 5),
        "decoder": causal.expand(3, 3, 4, 4),
        "cross": mask[:, None, None, :].expand(3, 3, 4, 5),
    }
    for kind, allowed in may_attend.items():
        layers = getattr(per_head, kind)
        assert len(layers) == 2
        for layer, mean in zip(layers, getattr(averaged, kind), strict=True):
            assert layer.shape == allowed.shape
            assert (layer[~allowed] == 0).all()
            assert (layer[allowed] > 0).all()
            torch.testing.assert_close(layer.sum(-1), allowed.any(-1).to(layer.dtype))
            if not training:  # under dropout the layers above the first differ from call to call
                torch.testing.assert_close(mean, layer.mean(dim=1))
            assert mean.shape == (3, *allowed.shape[2:])


def test_asking_for_weights_changes_nothing_and_keeps_nothing() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    before = model(src, mask, tgt)
    names = {name: set(vars(module)) for name, module in model.named_modules()}
    weights: list[Tensor] = []
    memory = model.encode(src, mask, [])
    hidden = model.decode(tgt, memory, mask, weights=weights, cross_weights=weights)
    assert torch.equal(model.project(hidden), before)
    assert len(weights) == 4
    assert {name: set(vars(module)) for name, module in model.named_modules()} == names


def test_cached_decoding_gives_the_weights_of_all_tokens_so_far() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    full, cache, steps = model.attention(src, mask, tgt), KVCache(2), []
    with torch.no_grad():
        memory = model.encode(src, mask)
        for t in range(4):
            own: list[Tensor] = []
            cross: list[Tensor] = []
            model.decode(tgt[:, t : t + 1], memory, mask, cache, own, cross)
            steps.append((own, cross))
    for t, (own, cross) in enumerate(steps):
        for layer in range(2):
            torch.testing.assert_close(own[layer][:, :, 0], full.decoder[layer][:, :, t, : t + 1])
            torch.testing.assert_close(cross[layer][:, :, 0], full.cross[layer][:, :, t])
