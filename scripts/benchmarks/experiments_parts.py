"""Experiments with one part of the training step: attention, projections, dropout masks, loss, optimizer.

Shape letters as in `translator.model`; N cells of a batch.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from scripts.benchmarks.experiments_common import PAD_ID, SMOOTHING, Setup, Sides, Work, make_model
from translator.attention import attend_by_products
from translator.dropout import LEVELS, Dropout, keep_mask
from translator.loss import token_loss
from translator.optim import FlatParameters, Optimizer

RATE = 0.1
PIECE = 512  # rows of logits at a time


def forward_backward(function: Callable[..., Tensor | Sequence[Tensor]], *inputs: Tensor) -> Work:
    """Call, then give each output a gradient as the rest of a model would: a whole tensor.

    The gradient of a sum is one number that is repeated; products of matrices are several times as slow with it.
    """
    gradients: list[Tensor] = []

    def work() -> None:
        for tensor in inputs:
            tensor.grad = None
        outputs = tree_leaves(function(*inputs))
        if not gradients:
            gradients.extend(torch.randn_like(output) for output in outputs)
        torch.autograd.backward(outputs, gradients)

    return work


def random(setup: Setup, *shape: int) -> Tensor:
    """An input that is differentiated, in the precision of the layers."""
    return torch.randn(shape, dtype=setup.dtype, requires_grad=True)


def attention(setup: Setup, length: int) -> Sides:
    """The fused kernel against `translator.attention`'s products, with heads and positions as the model has them."""
    heads, rows = setup.setting.num_heads, max(1, setup.tokens // length)
    inputs = [random(setup, rows, length, heads, setup.setting.d_model // heads) for _ in range(3)]
    mask = torch.ones(rows, 1, 1, length, dtype=torch.bool)
    mask[..., -1] = False

    def mixed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        return function(*(x.transpose(1, 2) for x in inputs)).transpose(1, 2).flatten(2)

    def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, mask)

    def products(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attend_by_products(query, key, value, mask, dropout=0.0, is_causal=False)

    return Sides(forward_backward(partial(mixed, fused), *inputs), forward_backward(partial(mixed, products), *inputs))


def joined_projections(setup: Setup) -> Sides:
    """Query, key and value by one product of three times the width, against three products.

    They go their own ways afterwards, so each gets a gradient of its own, which one product has to put together.
    """
    width = setup.setting.d_model
    x, whole = random(setup, setup.tokens, width), random(setup, 3 * width, width)
    parts = [random(setup, width, width) for _ in range(3)]

    def one(x: Tensor, weight: Tensor) -> Sequence[Tensor]:
        return F.linear(x, weight).chunk(3, dim=-1)

    def three(x: Tensor, *weights: Tensor) -> Sequence[Tensor]:
        return [F.linear(x, weight) for weight in weights]

    return Sides(forward_backward(one, x, whole), forward_backward(three, x, *parts))


class MaskPool:
    """Dropout factors drawn once; each mask is a stretch of them that begins at a random place.

    A mask is a function of the pool's seed and of torch's default generator, which a step seeds. Two masks overlap
    at different places, so they are uncorrelated element by element, but no new decisions are ever made.
    """

    def __init__(self, size: int, rate: float, seed: int, dtype: torch.dtype = torch.float32) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._factors = keep_mask(torch.empty(size, dtype=dtype), rate)

    def mask(self, shape: Sequence[int]) -> Tensor:
        """Factors of one call."""
        count = torch.Size(shape).numel()
        start = int(torch.randint(self._factors.numel() - count + 1, ()))
        return self._factors[start : start + count].view(shape)


# SplitMix64 (Steele, Lea and Flood 2014), its constants as signed numbers
GOLDEN, MIXERS = 0x9E3779B97F4A7C15 - 2**64, ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))
STREAM = 0xD1342543DE82EF95  # odd, so that every seed begins elsewhere


def hashed_mask(x: Tensor, rate: float, seed: int) -> Tensor:
    """As `keep_mask`, but element i is a hash of (seed, i): any part of it can be made alone, on any thread."""
    begin = (seed * STREAM + 2**63) % 2**64 - 2**63
    bits = torch.arange(-(-x.numel() // 4)).mul_(GOLDEN).add_(begin)
    for shift, factor in MIXERS:
        bits.bitwise_xor_((bits >> shift).bitwise_and_(2 ** (64 - shift) - 1)).mul_(factor)
    bits.bitwise_xor_((bits >> 31).bitwise_and_(2**33 - 1))
    sixteen_bits = bits.view(torch.int16)[: x.numel()].view(x.shape)
    return (sixteen_bits >= round(rate * LEVELS) - LEVELS // 2).to(x.dtype).mul_(1.0 / (1.0 - rate))


def pooled_masks(x: Tensor) -> Callable[[Tensor], Tensor]:
    """Dropout by a pool of four times the elements."""
    pool = MaskPool(4 * x.numel(), RATE, 1, x.dtype)
    return lambda x: x * pool.mask(x.shape)


def hashed_masks(x: Tensor) -> Callable[[Tensor], Tensor]:
    """Dropout by hashes, of seeds from torch's generator."""
    return lambda x: x * hashed_mask(x, RATE, int(torch.randint(2**62, ())))


def masks_of_torch(x: Tensor) -> Callable[[Tensor], Tensor]:
    """torch's own dropout."""
    return lambda x: F.dropout(x, RATE)


def dropout_masks(setup: Setup, other: Callable[[Tensor], Callable[[Tensor], Tensor]]) -> Sides:
    """Our dropout against one with other masks, on what a sub-layer adds."""
    x = random(setup, setup.tokens, setup.setting.d_model)
    return Sides(forward_backward(Dropout(RATE), x), forward_backward(other(x), x))


def smoothed(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """The loss of the training step."""
    return token_loss(logits_NV, labels_N, label_smoothing=SMOOTHING, pad_id=PAD_ID).sum


def loss(setup: Setup) -> Sides:
    """Our loss, with its counts, against cross_entropy alone."""
    vocab_size = setup.setting.vocab_size
    logits_NV, labels_N = random(setup, setup.tokens, vocab_size), torch.randint(1, vocab_size, (setup.tokens,))

    def theirs(logits_NV: Tensor) -> Tensor:
        wide_NV = logits_NV.float()  # reductions in float32, as ours
        return F.cross_entropy(wide_NV, labels_N, label_smoothing=SMOOTHING, ignore_index=PAD_ID, reduction="sum")

    return Sides(
        forward_backward(lambda logits_NV: smoothed(logits_NV, labels_N), logits_NV),
        forward_backward(theirs, logits_NV),
    )


def add_piece(piece_ND: Tensor, table_VD: Tensor, labels_N: Tensor, to_piece_ND: Tensor, grad_VD: Tensor) -> Tensor:
    """The loss of a piece; writes one gradient and adds to the other. Its logits are gone when the next begins."""
    logits_NV = F.linear(piece_ND, table_VD).requires_grad_()
    with torch.enable_grad():
        loss = smoothed(logits_NV, labels_N)
    (to_logits_NV,) = torch.autograd.grad(loss, logits_NV)
    torch.mm(to_logits_NV, table_VD, out=to_piece_ND)
    grad_VD += to_logits_NV.t() @ piece_ND
    return loss.detach()


class PiecewiseLoss(torch.autograd.Function):
    """Projection and loss, `rows` cells at a time; the gradients of each piece are made at once.

    So no piece is projected twice, and the logits of one piece are all that is ever held.
    """

    @staticmethod
    def forward(ctx: Any, hidden_ND: Tensor, table_VD: Tensor, labels_N: Tensor, rows: int) -> Tensor:
        total = torch.zeros(())
        grad_ND = torch.empty_like(hidden_ND)
        grad_VD = torch.zeros_like(table_VD, dtype=torch.promote_types(table_VD.dtype, torch.float32))
        pieces = zip(*(torch.split(x, rows) for x in (hidden_ND, labels_N, grad_ND)), strict=True)
        for piece_ND, labels, to_piece_ND in pieces:
            total = total + add_piece(piece_ND, table_VD, labels, to_piece_ND, grad_VD)
        ctx.save_for_backward(grad_ND, grad_VD.to(table_VD.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_ND, grad_VD = ctx.saved_tensors
        return grad_ND * grad.to(grad_ND.dtype), grad_VD * grad.to(grad_VD.dtype), None, None


class PeakBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of the tensors that are made inside, and keeps the most held at one time."""

    def __init__(self, known: Sequence[Tensor] = ()) -> None:
        """Storages of `known` tensors are not counted."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.held: int = 0
        self.most: int = 0
        self._alive: set[int] = {tensor.untyped_storage()._cdata for tensor in known}

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and (storage := tensor.untyped_storage())._cdata not in self._alive:
                self._alive.add(storage._cdata)
                self.held += storage.nbytes()
                self.most = max(self.most, self.held)
                weakref.finalize(storage, self._forget, storage._cdata, storage.nbytes()).atexit = False
        return result

    def _forget(self, key: int, size: int) -> None:
        self._alive.discard(key)
        self.held -= size


def most_bytes(work: Work, inputs: Sequence[Tensor]) -> int:
    """What one turn holds beside its inputs at the most."""
    peak = PeakBytes(inputs)
    with peak:
        work()
    return peak.most


def chunked_loss(setup: Setup) -> Sides:
    """Projection and loss in pieces, against all at once; with what each holds."""
    width, vocab_size = setup.setting.d_model, setup.setting.vocab_size
    hidden_ND, table_VD = random(setup, setup.tokens, width), random(setup, vocab_size, width)
    labels_N = torch.randint(1, vocab_size, (setup.tokens,))

    def pieces(hidden_ND: Tensor, table_VD: Tensor) -> Tensor:
        total: Tensor = PiecewiseLoss.apply(hidden_ND, table_VD, labels_N, PIECE)  # type: ignore[no-untyped-call]
        return total

    def whole(hidden_ND: Tensor, table_VD: Tensor) -> Tensor:
        return smoothed(F.linear(hidden_ND, table_VD), labels_N)

    inputs = hidden_ND, table_VD
    first, second = forward_backward(pieces, *inputs), forward_backward(whole, *inputs)

    def conclude(one: float, other: float) -> list[str]:
        held = [most_bytes(side, inputs) / 1e6 for side in (first, second)]
        return [f"{held[0]:,.1f} MB in pieces and {held[1]:,.1f} MB at once are held at the most, gradients among them"]

    return Sides(first, second, conclude=conclude)


def optimizer(setup: Setup) -> Sides:
    """AdamW and clipping over flat buffers against the same over one tensor a parameter; float32, as masters are."""
    flat = FlatParameters(make_model(setup.setting, torch.float32))
    ours = Optimizer(flat)
    plain = list(make_model(setup.setting, torch.float32).parameters())
    theirs = torch.optim.AdamW(plain, lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True)

    def prepare() -> None:  # what backward would have left
        flat.grad.normal_()
        for parameter in plain:
            parameter.grad = torch.randn_like(parameter)

    def step_of_ours() -> None:
        ours.step(1e-4, divisor=1.0)

    def step_of_theirs() -> None:
        torch.nn.utils.clip_grad_norm_(plain, 1.0)
        theirs.step()
        theirs.zero_grad()

    return Sides(step_of_ours, step_of_theirs, prepare)
