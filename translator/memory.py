"""Memory of a training step by counting its tensors: plain numbers in, bytes out (docs/memory.md has the formula).

A step needs what lasts (weights, gradients, moments, averages) and what each batch adds and gives back: activations
kept for the backward, logits over the vocabulary with their gradients, and what one operation needs while it works.
It is largest at one of a few moments, which `Sizes.batch_bytes` compares.

Letters: N rows x length of a side, D model width, F feed-forward width, H heads, V target vocabulary.
"""

from dataclasses import dataclass, fields
from typing import Any, Self

FLOAT32 = 4  # bytes
LIBRARIES = 120_000_000
"""Bytes that the first steps on a CPU take at any size: scratch space of kernels, code that is loaded late (measured,
docs/scaling.md)."""
IDS_AND_MASK = 8 + 8 + 8 + 1  # bytes of a cell: source ids and mask, target in, labels


@dataclass(frozen=True)
class Sizes:
    """What the memory of a step depends on, beside the shape of the batch. Names as in the configuration's `model`."""

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int
    num_heads: int
    d_ff: int
    num_encoder_layers: int
    num_decoder_layers: int
    dropout: float
    attention_dropout: float
    feedforward_dropout: float
    norm: str
    norm_kind: str
    norm_gain: str
    positions: str
    max_positions: int
    activation: str
    share_embeddings: str
    element: int = FLOAT32  # bytes of a number in the layers: 4, or 2 in bfloat16 and float16
    dropout_mask: int | None = None  # bytes of an element of a dropout mask; None: as large as a number (CPU)
    fused_attention_dropout: bool = False  # whether the kernel of the attention can drop weights (CUDA's can)
    plain_attention_keys: int = 0  # keys up to which attention is not fused though no weights are dropped
    libraries: int = 0  # bytes that a step takes whatever the sizes: `LIBRARIES` on a CPU
    num_averages: int = 1  # buffers of averaged weights
    has_validation: bool = True  # a second model, in float32, holds the weights that are validated

    @classmethod
    def of(cls, model: dict[str, Any], **others: Any) -> Self:
        """From the fields of a configuration's `model`, of which only some matter here."""
        return cls(**{field.name: model[field.name] for field in fields(cls) if field.name in model}, **others)

    def num_parameters(self) -> int:
        """Trainable numbers of the Transformer, exactly."""
        d, f = self.d_model, self.d_ff
        attention = 4 * (d * d + d)
        feed_forward = 2 * d * f + f + d + (d * f + f if self.activation == "swiglu" else 0)
        norm = (d if self.norm_gain == "feature" else 1) * (2 if self.norm_kind == "layer" else 1)
        encoder_layer = attention + feed_forward + 2 * norm
        decoder_layer = 2 * attention + feed_forward + 3 * norm
        total = self.num_encoder_layers * encoder_layer + self.num_decoder_layers * decoder_layer
        total += self.tgt_vocab_size * d + (2 * norm if self.norm == "pre" else 0)
        total += self.src_vocab_size * d if self.share_embeddings != "all" else 0
        total += self.tgt_vocab_size * (d + 1) if self.share_embeddings == "none" else 0
        return total + (2 * self.max_positions * d if self.positions == "learned" else 0)

    def lasting_bytes(self) -> int:
        """What a run holds from its first step on, whatever the batch."""
        each = FLOAT32 * (4 + self.num_averages)  # masters, gradients, two moments; averages
        each += 2 * self.element if self.element < FLOAT32 else 0  # weights and gradients of the layers themselves
        each += FLOAT32 if self.has_validation else 0
        return self.libraries + each * self.num_parameters()

    def batch_bytes(self, rows: int, src_length: int, tgt_length: int) -> int:
        """Most bytes that one micro-batch adds at a time, its forward and backward taken together."""
        src, tgt = rows * src_length, rows * tgt_length
        d, f, e, vocab = self.d_model, self.d_ff, self.element, self.tgt_vocab_size
        encoder, decoder = self._activations(rows, src_length, tgt_length)
        kept = encoder + decoder + IDS_AND_MASK * max(src, tgt)
        logits = e * tgt * vocab  # held until the step ends
        table = e * vocab * d
        # log-probabilities in float32, over which their gradient is written; rounded where the layers are less precise
        at_loss = kept + logits + (FLOAT32 + (e if e < FLOAT32 else 0)) * tgt * vocab
        # gradient of the logits; of the table; of the hidden states
        at_projection = kept + 2 * logits + table + e * tgt * d
        # gradients behind and before the activation, or of the matrix
        at_feed_forward = kept + logits + table + e * (tgt * f + max(tgt * f, d * f))
        # gradients of the weights and of the scores; with dropout the product with its mask is free by then
        at_attention = kept + logits + table
        if self._keeps_weights(src_length):
            gradients = 1 if self.attention_dropout > 0 else 2
            at_attention += gradients * FLOAT32 * rows * self.num_heads * tgt_length * src_length
        # the gradients of the shared table from the projection and from the embedding, and their sum
        at_embedding = kept - decoder + logits + e * (tgt + src) * d
        at_embedding += (1 if self.share_embeddings == "none" else 3) * table
        return max(at_loss, at_projection, at_feed_forward, at_attention, at_embedding)

    def saving_bytes(self) -> int:
        """What writing a checkpoint takes for a moment, when no batch is there: copies of both moments, twice."""
        return 4 * FLOAT32 * self.num_parameters()

    def peak_bytes(self, rows: int, src_length: int, tgt_length: int) -> int:
        """The peak of training with batches of this shape."""
        return self.lasting_bytes() + max(self.batch_bytes(rows, src_length, tgt_length), self.saving_bytes())

    def _activations(self, rows: int, src_length: int, tgt_length: int) -> tuple[int, int]:
        """Bytes that encoder and decoder keep for the backward."""
        d, e = self.d_model, self.element
        src, tgt = rows * src_length, rows * tgt_length
        any_mask = e if self.dropout_mask is None else self.dropout_mask
        mask = any_mask if self.dropout > 0 else 0
        dropped = any_mask + e if self.feedforward_dropout > 0 else 0  # a mask, and the product with it
        hidden = self.d_ff * (e * {"relu": 1, "gelu": 2, "swiglu": 4}[self.activation] + dropped)
        norm = e * d  # its output
        if self.norm_kind == "rms":  # made of several operations, which work in float32
            norm += (e if e == FLOAT32 else FLOAT32 + e) * d
        added = (e + mask) * d + 2 * FLOAT32  # a residual sum, the mask of what was added, the norm's statistics
        attended = 2 * e * d + FLOAT32 * self.num_heads  # queries and the mixed values; a log-sum for each head
        embedded = (e + mask) * d
        keys_values = 2 * e * d
        encoder_layer = 2 * (norm + added) + attended + keys_values + hidden
        encoder = src * (embedded + norm + self.num_encoder_layers * encoder_layer)
        layer = tgt * (3 * (norm + added) + 2 * attended + keys_values + hidden) + src * keys_values
        decoder = tgt * (embedded + norm) + self.num_decoder_layers * layer
        encoder += self.num_encoder_layers * self._weights(rows, src_length, src_length)
        decoder += self.num_decoder_layers * (
            self._weights(rows, tgt_length, tgt_length) + self._weights(rows, tgt_length, src_length)
        )
        return encoder, decoder

    def _keeps_weights(self, keys: int) -> bool:
        """Whether attention weights are kept for the backward: no fused kernel of a CPU drops some of them, and for few
        keys products are faster there than the kernel."""
        return keys <= self.plain_attention_keys or (self.attention_dropout > 0 and not self.fused_attention_dropout)

    def _weights(self, rows: int, queries: int, keys: int) -> int:
        """Attention weights in float32; with dropout mask and product too, else rounded for less precise layers."""
        if not self._keeps_weights(keys):
            return 0
        rounded = self.element if self.element < FLOAT32 else 0
        each = FLOAT32 + (2 * self.element if self.attention_dropout > 0 else rounded)
        return each * rows * self.num_heads * queries * keys
