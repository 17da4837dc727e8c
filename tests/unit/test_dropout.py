"""Dropout: against the plain definition, and the statistics and repeatability of its masks."""

import pytest
import torch
from torch import Tensor

from translator.dropout import Dropout, keep_mask

SHAPE = (64, 33, 67)  # an odd number of elements, so that the last draw is used in part


def masks(seeds: range, rate: float = 0.1) -> Tensor:
    """One mask (as 0 or 1) for each seed."""
    made = []
    for seed in seeds:
        torch.manual_seed(seed)
        made.append((keep_mask(torch.empty(SHAPE), rate) > 0).double().flatten())
    return torch.stack(made)


def test_equals_the_plain_definition() -> None:
    layer = Dropout(0.25)
    x = torch.randn(SHAPE, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(3)
    y = layer(x)
    torch.manual_seed(3)
    kept = keep_mask(x, 0.25) > 0
    expected = torch.where(kept, x / 0.75, 0.0)
    torch.testing.assert_close(y, expected)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, kept.double() / 0.75)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keeps_the_precision_and_does_nothing_where_it_should_not(dtype: torch.dtype) -> None:
    x = torch.randn(3, 5, dtype=dtype)
    assert Dropout(0.5)(x).dtype == dtype
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.5, 0.9])
def test_the_rate_is_right(rate: float) -> None:
    """Within five standard deviations of a binomial count, which a wrong rate of 1 % leaves at once."""
    dropped = 1 - masks(range(20), rate)
    assert abs(float(dropped.mean()) - rate) < 5 * (rate * (1 - rate) / dropped.numel()) ** 0.5


def test_a_seed_repeats_its_mask_and_masks_that_follow_differ() -> None:
    x = torch.empty(SHAPE)
    torch.manual_seed(5)
    first, second = keep_mask(x, 0.1), keep_mask(x, 0.1)
    torch.manual_seed(5)
    assert torch.equal(keep_mask(x, 0.1), first)
    assert not torch.equal(first, second)


def test_masks_of_different_steps_and_layers_and_neighbouring_elements_are_independent() -> None:
    """Correlations of all pairs of masks, and of elements 1 to 8 places apart, are those of independent numbers."""
    drawn = masks(range(100, 116))
    num_elements = drawn.size(1)
    between = torch.corrcoef(drawn)
    between.fill_diagonal_(0.0)
    assert float(between.abs().max()) < 5 / num_elements**0.5
    torch.manual_seed(1)
    layers = torch.stack([keep_mask(torch.empty(SHAPE), 0.1).flatten() for _ in range(16)])
    among = torch.corrcoef(layers)
    among.fill_diagonal_(0.0)
    assert float(among.abs().max()) < 5 / num_elements**0.5
    flat = layers.flatten()
    for apart in range(1, 9):
        together = torch.corrcoef(torch.stack([flat[:-apart], flat[apart:]]))[0, 1]
        assert abs(float(together)) < 5 / flat.numel() ** 0.5
