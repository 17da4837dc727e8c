"""How many tokens a batch may have: what suits the corpus, and what fits into memory.

`batch.tokens: auto` is the smaller of two numbers, resolved once and stored with the run (docs/memory.md):

- by the size of the corpus, `SUITABLE`: a small corpus learns more in a given time from small batches;
- by memory, the largest power of two whose worst batch needs at most `SHARE` of what is free.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from translator.attention import MOST_KEYS
from translator.config import Config
from translator.device import Device
from translator.errors import TranslatorError
from translator.memory import LIBRARIES, Sizes

Lengths = NDArray[np.integer]
Shape = tuple[int, int, int]  # rows, source length, target length

SHARE = 0.5  # of the free memory that auto fills at most: validation, checkpoints and other programs need some too
HEADROOM = 0.95  # of the free memory that a run may need at most
SUITABLE = {  # kind of device -> (training target tokens below, tokens of a batch), ..., tokens of a batch above
    "cpu": ((2_000_000, 1_024), (20_000_000, 2_048), (None, 4_096)),
    "gpu": ((2_000_000, 4_096), (20_000_000, 8_192), (None, 16_384)),
}


def sizes_of(config: Config, device: Device, src_vocab_size: int, tgt_vocab_size: int, *, validates: bool) -> Sizes:
    """What the memory of a run depends on."""
    kind, optim = device.torch_device.type, config.optim
    on_gpu, on_cpu = kind == "cuda", kind == "cpu"
    return Sizes.of(
        config.model.model_dump(),
        src_vocab_size=src_vocab_size,
        tgt_vocab_size=tgt_vocab_size,
        element=device.dtype.itemsize,
        dropout_mask=1 if on_gpu else None,
        fused_attention_dropout=on_gpu,
        plain_attention_keys=MOST_KEYS if on_cpu else 0,
        libraries=LIBRARIES if on_cpu else 0,
        num_averages={"none": 0, "ema": 1, "last": optim.average_last}[optim.average],
        has_validation=validates,
    )


def suitable_tokens(kind: str, num_target_tokens: int) -> int:
    """The budget that suits a corpus of that many target tokens on that kind of device (cpu, cuda or mps)."""
    rules = SUITABLE["cpu" if kind == "cpu" else "gpu"]
    return next(tokens for below, tokens in rules if below is None or num_target_tokens < below)


def worst_bytes(sizes: Sizes, tokens: int, longest: int) -> int:
    """The most that training with batches of `tokens` can need, where no side of a pair is longer than `longest`.

    Attention weights grow with the length of rows, all else with the tokens alone: nothing is worse than a batch whose
    rows are all of the longest, on both sides, or of the longest whose weights are kept.
    """
    lengths = {longest, max(1, min(longest, sizes.plain_attention_keys))}
    return max(sizes.peak_bytes(-(-tokens // length), length, length) for length in lengths)


def largest_that_fits(sizes: Sizes, free: float, longest: int) -> int | None:
    """The largest budget, to two per cent, whose worst batch needs at most `free` bytes; None where no pair fits."""
    low, high = longest, 2 * longest
    if worst_bytes(sizes, low, longest) > free:
        return None
    while worst_bytes(sizes, high, longest) <= free and high < 2**40:
        low, high = high, 2 * high
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        low, high = (middle, high) if worst_bytes(sizes, middle, longest) <= free else (low, middle)
    return low


def choose_tokens(
    sizes: Sizes, kind: str, src_lengths: Lengths, tgt_lengths: Lengths, *, free: int | None
) -> tuple[int, str]:
    """The budget for `batch.tokens: auto` on that kind of device, and why; at least the longest pair.

    The lengths are those of all training pairs, end marks counted; `free` bytes of memory, if known.
    """
    num_target_tokens, longest = int(tgt_lengths.sum()), max(int(src_lengths.max()), int(tgt_lengths.max()))
    tokens = suitable_tokens(kind, num_target_tokens)
    reason = f"suits {num_target_tokens:,} target tokens on {kind}"
    fitting = tokens if free is None else largest_that_fits(sizes, SHARE * free, longest) or longest
    if free is not None and fitting < tokens:
        tokens = 1 << (fitting.bit_length() - 1)
        reason = f"fits into {SHARE:.0%} of the {free / 1e9:,.1f} GB of free memory"
    if tokens < longest:
        tokens, reason = longest, "the longest pair"
    return tokens, reason


def check(sizes: Sizes, shapes: Iterable[Shape], *, tokens: int, free: int | None) -> str:
    """Say what the worst of the batches needs. Raises TranslatorError for a run that cannot fit into `free` bytes.

    `shapes` are rows, source length and target length of the batches.
    """
    shapes = list(shapes)
    need, shape = max((sizes.peak_bytes(*shape), shape) for shape in shapes)
    largest = "{} rows of {} source and {} target tokens".format(*shape)
    said = f"Memory: training takes about {need / 1e9:,.2f} GB (largest batch: {largest})"
    if free is None:
        return f"{said}."
    if need <= HEADROOM * free:
        return f"{said} of {free / 1e9:,.1f} GB that are free."
    longest = max(max(src_length, tgt_length) for _, src_length, tgt_length in shapes)
    lasting, fitting = sizes.lasting_bytes() + sizes.saving_bytes(), largest_that_fits(sizes, HEADROOM * free, longest)
    if fitting is not None:
        remedy = f"the largest batch.tokens that would fit is {fitting} (raise batch.accumulate to make up for it)"
    elif lasting > HEADROOM * free:
        remedy = f"{sizes.num_parameters():,} parameters alone take {lasting / 1e9:,.2f} GB: choose a smaller model"
    else:
        remedy = "no batch.tokens would: lower corpus.filters.max_tokens, or choose a smaller model"
    raise TranslatorError(
        f"Training would need about {need / 1e9:,.2f} GB of memory with batch.tokens={tokens} (a batch of {largest}), "
        f"and {free / 1e9:,.2f} GB are free; {remedy}."
    )
