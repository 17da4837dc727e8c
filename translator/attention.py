"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) by the kernel that is fastest where it runs."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.dropout import keep_mask


def attend(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, mask: Tensor | None, dropout: float, *, is_causal: bool
) -> Tensor:
    """The mean of the values (B, H, T, K), weighted by how well each key fits the query.

    `mask` (broadcasts to B, H, T, S) is True where a query may look, `is_causal` says that it looks at no later
    position; at most one of them is given. `dropout` is the rate at which weights are dropped.

    No fused kernel of a CPU drops weights: torch makes them one by one there, with slow masks (`dropout`). So do we,
    with fast ones.
    """
    if dropout == 0.0 or query_BHTK.device.type != "cpu":
        return F.scaled_dot_product_attention(query_BHTK, key_BHSK, value_BHSK, mask, dropout, is_causal)
    scores_BHTS, hidden = _scores(query_BHTK, key_BHSK, mask, is_causal)
    factors_BHTS = keep_mask(scores_BHTS, dropout)
    if hidden is not None:
        factors_BHTS.masked_fill_(hidden, 0.0)
    at_least_float32 = torch.promote_types(scores_BHTS.dtype, torch.float32)
    weights_BHTS = scores_BHTS.softmax(dim=-1, dtype=at_least_float32).to(scores_BHTS.dtype)
    return (weights_BHTS * factors_BHTS) @ value_BHSK


def attention_weights(query_BHTK: Tensor, key_BHSK: Tensor, mask: Tensor | None, *, is_causal: bool) -> Tensor:
    """The weights (B, H, T, S) by themselves, none dropped. A query that may look at no key gets zeros."""
    scores_BHTS, hidden = _scores(query_BHTK, key_BHSK, mask, is_causal)
    weights_BHTS = scores_BHTS.softmax(dim=-1)
    return weights_BHTS if hidden is None else weights_BHTS.masked_fill(hidden, 0.0)


def _scores(query_BHTK: Tensor, key_BHSK: Tensor, mask: Tensor | None, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """Scaled products, and where no query may look. The lowest number stands there, not -inf: a row without any key
    stays finite, and it is for the caller to make its weights zero.
    """
    scores_BHTS = (query_BHTK / math.sqrt(query_BHTK.size(-1))) @ key_BHSK.transpose(-2, -1)
    hidden = None if mask is None else ~mask
    if is_causal:
        hidden = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool, device=scores_BHTS.device).triu(1)
    if hidden is not None:
        scores_BHTS.masked_fill_(hidden, torch.finfo(scores_BHTS.dtype).min)
    return scores_BHTS, hidden
