"""The label-smoothed loss of the tokens of a batch, as sums and counts.

Sums are divided once, by the real tokens of a whole step: the parts of a step then weigh as their tokens do,
however it was cut into micro-batches, and padding has no weight at all.

Shape letters: N tokens (any number of leading dimensions), V vocabulary.
"""

import math
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class TokenLoss(NamedTuple):
    """Sums over the real tokens of a batch, each a tensor without dimensions on the logits' device."""

    sum: Tensor  # nats, with label smoothing; the one to differentiate
    nll_sum: Tensor  # nats, without label smoothing
    num_tokens: Tensor
    num_correct: Tensor  # where no token is more probable than the label


def token_loss(logits_NV: Tensor, labels_N: Tensor, *, label_smoothing: float, pad_id: int) -> TokenLoss:
    """Cross entropy of the labels against logits (..., V); labels equal to `pad_id` do not take part.

    The share `label_smoothing` of a label's probability is spread evenly over the whole vocabulary (Szegedy
    et al. 2016, section 7), as `torch.nn.functional.cross_entropy` does: with e for the share, the loss of a
    token is (1 - e) * -log p(label) + e * mean over V of -log p. Uniform logits give ln(V) for any e.

    Reductions are in float32 whatever the logits are.
    """
    is_real_N = labels_N != pad_id
    sums = _SmoothedCrossEntropy.apply(logits_NV, labels_N, is_real_N, label_smoothing)  # type: ignore[no-untyped-call]
    loss_sum, nll_sum, num_correct = cast(tuple[Tensor, Tensor, Tensor], sums)
    return TokenLoss(loss_sum, nll_sum, is_real_N.sum(), num_correct)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The sums of `token_loss`. Its gradient, softmax minus the smoothed label, is written over the one large buffer.

    Left to autograd, log_softmax, gather and mean keep or make five buffers of the size of the logits.
    """

    @staticmethod
    def forward(
        ctx: Any, logits_NV: Tensor, labels_N: Tensor, is_real_N: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype = torch.promote_types(logits_NV.dtype, torch.float32)
        if logits_NV.is_cpu and logits_NV.dtype != dtype:  # there log_softmax would keep this copy beside its result
            log_p_NV = logits_NV.to(dtype)
            torch.log_softmax(log_p_NV, dim=-1, out=log_p_NV)
        else:
            log_p_NV = logits_NV.log_softmax(dim=-1, dtype=dtype)
        label_log_p_N = log_p_NV.gather(-1, labels_N.unsqueeze(-1)).squeeze(-1)
        # masked_fill and not a product: a padded position adds an exact zero even where its logits are not finite
        nll_sum = -label_log_p_N.masked_fill(~is_real_N, 0.0).sum()
        loss_sum = nll_sum
        if smoothing > 0.0:
            uniform_sum = -log_p_NV.mean(dim=-1).masked_fill(~is_real_N, 0.0).sum()
            loss_sum = (1.0 - smoothing) * nll_sum + smoothing * uniform_sum
        # the maximum costs a tenth of argmax on a CPU; it differs only in counting ties as correct
        num_correct = ((label_log_p_N >= log_p_NV.amax(dim=-1)) & is_real_N).sum()
        ctx.save_for_backward(log_p_NV, labels_N, is_real_N)
        ctx.smoothing, ctx.dtype = smoothing, logits_NV.dtype
        nll_sum = nll_sum.clone()
        ctx.mark_non_differentiable(nll_sum, num_correct)
        return loss_sum, nll_sum, num_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, None, None, None]:
        log_p_NV, labels_N, is_real_N = ctx.saved_tensors
        smoothing = ctx.smoothing
        grad_NV = log_p_NV.exp_()  # in place: a second backward through the same loss is refused by autograd
        if smoothing > 0.0:
            grad_NV -= smoothing / grad_NV.size(-1)
        label_N1 = labels_N.unsqueeze(-1)
        grad_NV.scatter_add_(-1, label_N1, grad_NV.new_full((), smoothing - 1.0).expand(label_N1.shape))
        grad_NV *= (is_real_N * grad).unsqueeze(-1)
        return grad_NV.to(ctx.dtype), None, None, None


def perplexity(nll: float) -> float:
    """e to the mean negative log-likelihood of a token (nats), without label smoothing.

    No more than e^700, so that a run gone wrong still writes a number.
    """
    return math.exp(min(nll, 700.0))
