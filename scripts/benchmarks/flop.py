"""Floating-point operations of a training step, by a formula, and the matrix products that it is made of.

A product of (M, K) by (K, N) is 2 M K N operations. With D the model width, F the feed-forward width, V the vocabulary
and L layers of encoder and of decoder, the forward pass costs

    for each source token    L (8 D^2 + 4 D F)  encoder: four projections, feed-forward
                           + L 4 D^2            decoder: keys and values of the memory
    for each target token    L (12 D^2 + 4 D F) decoder: four projections of self, two of cross attention, feed-forward
                           + 2 D V              logits
    for each pair of a query and a key  L 4 D   scores and mixing: source with source, target with target (all, though
                                                half are masked), target with source

The backward pass has two products for each of the forward pass, so a step costs three times that. Norms, softmax,
dropout, embeddings and the optimizer are not counted: they are what keeps a step from its peak.

Counted over real tokens it is the useful work; over all cells of padded batches it is what is computed, and equals
`torch.utils.flop_counter` (a test holds that).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from scripts.benchmarks.machine import matrix_rate
from scripts.benchmarks.settings import Setting
from translator.batches import Batch

TRAINING = 3  # forward, and two products backward for each forward


@dataclass
class Work:
    """Tokens, and pairs of a query and a key, that steps have gone through."""

    src: int = 0
    tgt: int = 0
    src_src: int = 0
    tgt_tgt: int = 0
    tgt_src: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def forward(self, setting: Setting) -> float:
        """Floating-point operations of the forward pass."""
        d, f, layers = setting.d_model, setting.d_ff, setting.num_layers
        of_source = layers * (12 * d * d + 4 * d * f)
        of_target = layers * (12 * d * d + 4 * d * f) + 2 * d * setting.vocab_size
        of_pair = layers * 4 * d
        pairs = self.src_src + self.tgt_tgt + self.tgt_src
        return float(self.src * of_source + self.tgt * of_target + pairs * of_pair)

    def training(self, setting: Setting) -> float:
        """Floating-point operations forward and backward."""
        return TRAINING * self.forward(setting)


def real_work(batch: Batch) -> Work:
    """The useful work of a batch: its real tokens."""
    src_B = batch.src_mask_BS.sum(dim=1)
    tgt_B = (batch.labels_BT != 0).sum(dim=1)
    sums = (src_B, tgt_B, src_B * src_B, tgt_B * tgt_B, tgt_B * src_B)
    return Work(*(int(values.sum()) for values in sums))


def padded_work(batch: Batch) -> Work:
    """What is computed for a batch: all its cells."""
    (rows, src), tgt = batch.src_BS.shape, batch.labels_BT.shape[1]
    return Work(rows * src, rows * tgt, rows * src * src, rows * tgt * tgt, rows * tgt * src)


@dataclass(frozen=True)
class Product:
    """A linear map of `rows` cells, and how often a step has it."""

    name: str
    rows: int
    inner: int
    outer: int
    count: int

    @property
    def flop(self) -> float:
        """Of all of them, forward and backward."""
        return 2.0 * TRAINING * self.count * self.rows * self.inner * self.outer


def products(setting: Setting, batch: Batch) -> list[Product]:
    """The linear maps of a step on a batch of this shape; attention's small products are not among them."""
    d, layers = setting.d_model, setting.num_layers
    src, tgt = batch.src_BS.numel(), batch.labels_BT.numel()
    return [
        Product("projections, source", src, d, d, 6 * layers),
        Product("projections, target", tgt, d, d, 6 * layers),
        Product("feed-forward in, source", src, d, setting.d_ff, layers),
        Product("feed-forward in, target", tgt, d, setting.d_ff, layers),
        Product("feed-forward out, source", src, setting.d_ff, d, layers),
        Product("feed-forward out, target", tgt, setting.d_ff, d, layers),
        Product("logits", tgt, d, setting.vocab_size, 1),
    ]


# Of y = x W^T with x (M, K) and W (N, K): the shape of each product in M, K, N, and which operands are transposed.
PASSES = {
    "forward": (("M", "K", "N"), "nt"),
    "to the input": (("M", "N", "K"), "nn"),
    "to the weights": (("N", "M", "K"), "tn"),
}


def time_products(
    found: Sequence[Product], precision: str, device: torch.device, *, seconds: float = 0.2
) -> tuple[list[dict[str, Any]], float]:
    """The rate of each product of the step alone, forward and backward; and of all of them together, in FLOP/s."""
    rows: list[dict[str, Any]] = []
    total_seconds = 0.0
    for product in found:
        sizes = {"M": product.rows, "K": product.inner, "N": product.outer}
        rates = {
            name: matrix_rate([sizes[letter] for letter in shape], precision, device, seconds=seconds, layout=layout)
            for name, (shape, layout) in PASSES.items()
        }
        total_seconds += sum(product.flop / TRAINING / rate for rate in rates.values())
        rows.append({"product": product.name, "shape": [*sizes.values()], "count": product.count, "rates": rates})
    return rows, sum(product.flop for product in found) / total_seconds
