"""The products that take the place of the fused kernel on a CPU, where weights are dropped or keys are few."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from translator.attention import MOST_KEYS, attend, attend_by_products
from translator.dropout import keep_mask

SHAPE = (3, 2, 5, 4)  # batch, heads, positions, width


def plain(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, factors: Tensor) -> Tensor:
    """Softmax of the scaled products over the keys that may be looked at, weights times factors, mean of the values."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    seen = torch.ones_like(scores, dtype=torch.bool)
    seen = seen.tril() if is_causal else seen if mask is None else seen & mask
    exponentials = scores.exp() * seen
    mean: Tensor = exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-30) * factors @ value
    return mean


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["causal", "mask", "none"])
def test_products_equal_the_formula_and_its_gradients(kind: str, dropout: float) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(SHAPE, dtype=torch.float64) for _ in range(3)]
    mask = torch.ones(3, 1, 1, 5, dtype=torch.bool)
    mask[1, ..., 3:] = False
    mask[2] = False  # a row without any key
    given, causal = mask if kind == "mask" else None, kind == "causal"
    results = []
    for number in range(2):
        query, key, value = (x.clone().requires_grad_() for x in inputs)
        torch.manual_seed(7)
        factors = keep_mask(torch.empty(3, 2, 5, 5, dtype=torch.float64), dropout)
        torch.manual_seed(7)
        out = (
            attend(query, key, value, given, dropout, is_causal=causal)
            if number
            else plain(query, key, value, given, causal, factors)
        )
        out.square().sum().backward()
        results.append((out, query.grad, key.grad, value.grad))
    for expected, found in zip(*results, strict=True):
        assert found is not None
        assert found.isfinite().all()
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    if kind == "mask":
        assert not results[1][0][2].any()


@pytest.mark.parametrize("kind", ["causal", "mask", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_equal_the_fused_kernel(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    query, key, value = (torch.randn(SHAPE).to(dtype) for _ in range(3))
    mask = torch.ones(3, 1, 1, 5, dtype=torch.bool)
    mask[1, ..., 3:] = False
    mask[2] = False
    given, causal = mask if kind == "mask" else None, kind == "causal"
    expected = F.scaled_dot_product_attention(query, key, value, given, is_causal=causal)
    found = attend_by_products(query, key, value, given, 0.0, is_causal=causal)
    assert found.dtype == dtype
    tolerance = {torch.float32: 1e-6, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def test_only_on_a_cpu_and_for_few_keys_are_weights_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long sentences must not take memory by the square of their length."""
    fused: list[int] = []
    kernel = F.scaled_dot_product_attention

    def counted(query: Tensor, key: Tensor, *others: Any) -> Tensor:
        fused.append(key.size(2))
        return kernel(query, key, *others)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    for length in (MOST_KEYS, MOST_KEYS + 1):
        x = torch.randn(1, 2, length, 4)
        attend(x, x, x, None, 0.0, is_causal=False)
    assert fused == [MOST_KEYS + 1]


def test_on_the_average_nothing_is_lost() -> None:
    torch.manual_seed(2)
    query, key, value = (torch.randn(SHAPE) for _ in range(3))
    expected = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attend(query, key, value, None, 0.0, is_causal=False), expected)
    mean = torch.stack([attend(query, key, value, None, 0.25, is_causal=False) for _ in range(4000)]).mean(0)
    torch.testing.assert_close(mean, expected, rtol=0.0, atol=0.06)
