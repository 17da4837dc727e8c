"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) by what is fastest where it runs."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.dropout import keep_mask

MOST_KEYS = 64
"""On a CPU plain products are faster than the fused kernel up to so many keys (docs/benchmarks.md)."""


def attend(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, mask: Tensor | None, dropout: float, *, is_causal: bool
) -> Tensor:
    """The mean of the values (B, H, T, K), weighted by how well each key fits the query.

    `mask` (broadcasts to B, H, T, S) is True where a query may look, `is_causal` says that it looks at no later
    position; at most one of them is given. A query that may look nowhere gets zeros. `dropout` is the rate at which
    weights are dropped.

    A CPU has no fused kernel that drops weights: torch makes them one by one there, with slow masks (`dropout`). So do
    we, with fast ones.
    """
    if query_BHTK.device.type != "cpu" or (dropout == 0.0 and key_BHSK.size(-2) > MOST_KEYS):
        return F.scaled_dot_product_attention(query_BHTK, key_BHSK, value_BHSK, mask, dropout, is_causal)
    return attend_by_products(query_BHTK, key_BHSK, value_BHSK, mask, dropout, is_causal=is_causal)


def attend_by_products(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, mask: Tensor | None, dropout: float, *, is_causal: bool
) -> Tensor:
    """As `attend`, on a CPU, with a tensor of all weights."""
    weights_BHTS = _weights(query_BHTK, key_BHSK, mask, is_causal)
    if dropout > 0.0:
        weights_BHTS = weights_BHTS * keep_mask(weights_BHTS, dropout)
    return _with_zeros(weights_BHTS @ value_BHSK, mask)


def attention_weights(query_BHTK: Tensor, key_BHSK: Tensor, mask: Tensor | None, *, is_causal: bool) -> Tensor:
    """The weights (B, H, T, S) by themselves, none dropped. A query that may look nowhere gets zeros."""
    return _with_zeros(_weights(query_BHTK, key_BHSK, mask, is_causal), mask)


def _weights(query_BHTK: Tensor, key_BHSK: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    """Softmax, in float32 at least, of the scaled products; the weights of a query that may look nowhere are equal."""
    scores_BHTS = (query_BHTK / math.sqrt(query_BHTK.size(-1))) @ key_BHSK.transpose(-2, -1)
    if is_causal:
        mask = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool, device=scores_BHTS.device).tril()
    if mask is not None:  # the lowest number, not -inf: a query that may look nowhere stays finite
        lowest = torch.finfo(scores_BHTS.dtype).min
        scores_BHTS += torch.zeros(mask.shape, dtype=scores_BHTS.dtype, device=mask.device).masked_fill_(~mask, lowest)
    at_least_float32 = torch.promote_types(scores_BHTS.dtype, torch.float32)
    return scores_BHTS.softmax(dim=-1, dtype=at_least_float32).to(scores_BHTS.dtype)


def _with_zeros(x_BHTX: Tensor, mask: Tensor | None) -> Tensor:
    """`x_BHTX` with zeros for queries that may look nowhere."""
    return x_BHTX if mask is None else x_BHTX.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
