"""The token loss: against torch's cross entropy, values computed by hand, and its promises about padding."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from translator.loss import perplexity, token_loss
from translator.model import Transformer

SMOOTHING = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])


@SMOOTHING
@pytest.mark.parametrize("pad_id", [0, 3])
def test_equals_torch_in_value_and_gradient(smoothing: float, pad_id: int) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(4, 6, 11, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 11, (4, 6), generator=generator)
    labels[1, 3:] = pad_id
    loss = token_loss(logits, labels, label_smoothing=smoothing, pad_id=pad_id)
    options: dict[str, Any] = {"ignore_index": pad_id, "reduction": "sum"}
    flat = logits.flatten(0, 1)
    expected = F.cross_entropy(flat, labels.flatten(), label_smoothing=smoothing, **options)
    torch.testing.assert_close(loss.sum, expected)
    torch.testing.assert_close(loss.nll_sum, F.cross_entropy(flat, labels.flatten(), **options).detach())
    torch.testing.assert_close(*(torch.autograd.grad(value, logits)[0] for value in (loss.sum, expected)))
    is_real = labels != pad_id
    assert loss.num_tokens == is_real.sum()
    assert loss.num_correct == ((logits.argmax(-1) == labels) & is_real).sum()
    assert not loss.nll_sum.requires_grad


def test_values_by_hand() -> None:
    """Probabilities 1/2, 1/4, 1/8, 1/8; a share of 0.2, so 0.05 for each of the four."""
    logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]] * 3).log()
    loss = token_loss(logits, torch.tensor([1, 0, 2]), label_smoothing=0.2, pad_id=0)
    uniform = (1 + 2 + 3 + 3) / 4 * math.log(2)
    assert float(loss.nll_sum) == pytest.approx((2 + 3) * math.log(2))
    assert float(loss.sum) == pytest.approx(0.8 * (2 + 3) * math.log(2) + 0.2 * 2 * uniform)
    assert (int(loss.num_tokens), int(loss.num_correct)) == (2, 0)
    assert int(token_loss(logits, torch.tensor([1, 0, 2]), label_smoothing=0.0, pad_id=3).num_correct) == 1


@SMOOTHING
def test_uniform_logits_give_the_logarithm_of_the_vocabulary_size(smoothing: float) -> None:
    loss = token_loss(torch.full((2, 3, 50), 7.0), torch.ones(2, 3).long(), label_smoothing=smoothing, pad_id=0)
    assert float(loss.sum / loss.num_tokens) == pytest.approx(math.log(50), rel=1e-6)
    assert perplexity(float(loss.nll_sum / loss.num_tokens)) == pytest.approx(50, rel=1e-5)


def step(model: Transformer, targets: list[list[int]], width: int, smoothing: float) -> list[Tensor]:
    """Loss per token of one batch padded to `width`, and its gradients."""
    padded = torch.tensor([row + [0] * (width - len(row)) for row in targets])
    src = torch.tensor([[5, 6, 2]] * len(targets))
    logits = model(src, src != 0, padded[:, :-1])
    loss = token_loss(logits, padded[:, 1:], label_smoothing=smoothing, pad_id=0)
    parameters = list(model.parameters())
    return [loss.sum, loss.num_tokens, *torch.autograd.grad(loss.sum, parameters)]


@SMOOTHING
def test_padding_has_no_weight(smoothing: float) -> None:
    """Targets of 3 and 9 tokens in one batch, with and without 20 more columns, equal the two alone."""
    torch.manual_seed(0)
    model = Transformer(
        20, 20, d_model=8, num_heads=2, d_ff=8, num_encoder_layers=1, num_decoder_layers=1, share_embeddings="none"
    )
    model.double().eval()
    short, long = [1, 7, 8, 2], [1, 9, 4, 5, 6, 7, 8, 9, 10, 2]
    together = step(model, [short, long], 10, smoothing)
    apart = [a + b for a, b in zip(step(model, [short], 4, smoothing), step(model, [long], 10, smoothing), strict=True)]
    wider = step(model, [short, long], 30, smoothing)
    assert together[1] == 12
    for value, alone, wide in zip(together, apart, wider, strict=True):
        torch.testing.assert_close(value, alone, rtol=0, atol=1e-10)
        torch.testing.assert_close(value, wide, rtol=0, atol=1e-10)
    names = [name for name, _ in model.named_parameters()]
    assert (together[2 + names.index("tgt_embedding.weight")][0] == 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_are_float32_for_half_precision_logits(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3000, 40, generator=generator).to(dtype).requires_grad_()
    labels = torch.randint(1, 40, (3000,), generator=generator)
    loss = token_loss(logits, labels, label_smoothing=0.1, pad_id=0)
    expected = F.cross_entropy(logits.double(), labels, label_smoothing=0.1, reduction="sum")
    assert loss.sum.dtype == loss.nll_sum.dtype == torch.float32
    torch.testing.assert_close(loss.sum.double(), expected, rtol=1e-5, atol=0)
    (gradient,) = torch.autograd.grad(loss.sum, logits)
    assert gradient.dtype == dtype


def test_a_padded_position_may_have_any_logits() -> None:
    logits = torch.zeros(3, 5, requires_grad=True)
    with torch.no_grad():
        logits[1] = math.inf
    loss = token_loss(logits, torch.tensor([1, 0, 2]), label_smoothing=0.1, pad_id=0)
    assert float(loss.sum.detach()) == pytest.approx(2 * math.log(5))


def test_a_batch_without_real_tokens_is_zero_with_zero_gradients() -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = token_loss(logits, torch.zeros(2, 3).long(), label_smoothing=0.1, pad_id=0)
    assert [float(value.detach()) for value in loss] == [0, 0, 0, 0]
    assert not torch.autograd.grad(loss.sum, logits)[0].any()


@pytest.mark.parametrize(("nll", "expected"), [(0.0, 1.0), (math.log(40), 40.0), (1e9, math.exp(700))])
def test_perplexity(nll: float, expected: float) -> None:
    assert perplexity(nll) == pytest.approx(expected)
