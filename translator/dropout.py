"""Dropout (Srivastava et al. 2014) whose masks cost little on a CPU.

There `torch.nn.functional.dropout` draws one number for each element, on one thread: about 12 nanoseconds each, a
twentieth of a training step. Here each 64-bit draw of the same generator decides four elements, 16 bits each. Other
devices draw masks in parallel, and use torch's own.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 2**16  # a rate is rounded to a multiple of 1 / LEVELS


class Dropout(nn.Module):
    """Zeroes each element with probability `rate` in training, and scales the others by 1 / (1 - rate).

    The mask follows torch's default generator, as with `torch.nn.Dropout`.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        return x * keep_mask(x, self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def keep_mask(x: Tensor, rate: float) -> Tensor:
    """Factors in the shape and precision of `x`, on a CPU: 0 with probability `rate`, else 1 / (1 - rate)."""
    num_draws = -(-x.numel() // 4)
    draws = torch.empty(num_draws, dtype=torch.int64).random_(-(2**63), None)  # all 64 bits of each
    sixteen_bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    is_kept = sixteen_bits >= round(rate * LEVELS) - LEVELS // 2
    return is_kept.to(x.dtype).mul_(1.0 / (1.0 - rate))
