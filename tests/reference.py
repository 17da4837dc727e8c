"""The Transformer once more, as plainly as possible, to hold the real one against; and the models to hold.

The reference takes one sentence pair at a time: no batches, padding or masks; loops over heads and queries; float64.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.model import Transformer

State = Mapping[str, Tensor]

BASE: dict[str, Any] = {
    "d_model": 12,
    "num_heads": 3,
    "d_ff": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "dropout": 0.0,
    "norm": "pre",
    "norm_kind": "layer",
    "norm_gain": "feature",
    "positions": "sinusoidal",
    "max_positions": 32,
    "activation": "relu",
    "share_embeddings": "none",
    "scale_embeddings": True,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "post": {"norm": "post"},
    "post-scalar": {"norm": "post", "norm_gain": "scalar"},
    "scalar": {"norm_gain": "scalar"},
    "rms": {"norm_kind": "rms"},
    "rms-scalar-post": {"norm_kind": "rms", "norm_gain": "scalar", "norm": "post"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "rotary-post-rms": {"positions": "rotary", "norm": "post", "norm_kind": "rms", "share_embeddings": "all"},
    "learned-all": {"positions": "learned", "share_embeddings": "all", "norm_kind": "rms"},
    "unscaled": {"scale_embeddings": False, "norm": "post"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu", "norm_kind": "rms", "positions": "rotary"},
    "share-target": {"share_embeddings": "target"},
    "share-all": {"share_embeddings": "all"},
    "uneven-depth": {"num_encoder_layers": 1, "num_decoder_layers": 3, "num_heads": 1},
    "no-encoder": {"num_encoder_layers": 0, "num_decoder_layers": 1, "num_heads": 6},
}
SRC = [[5, 17, 9, 4, 2], [8, 2], []]
TGT = [[1, 7, 11, 6], [1, 12, 3, 9], [1, 4, 4, 10]]


def make_model(
    settings: Mapping[str, Any], src_vocab_size: int = 20, tgt_vocab_size: int = 30, seed: int = 3
) -> Transformer:
    """A float64 model in evaluation mode with nothing at zero or one, so that no gain or bias can hide."""
    torch.manual_seed(seed)
    if settings["share_embeddings"] == "all":
        src_vocab_size = tgt_vocab_size
    model = Transformer(src_vocab_size, tgt_vocab_size, **settings).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def make_batch(extra: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Sources of 5, 2 and 0 tokens, padded, with `extra` columns of padding on both sides."""
    width = 5 + extra
    src = torch.tensor([row + [0] * (width - len(row)) for row in SRC])
    return src, src != 0, F.pad(torch.tensor(TGT), (0, extra))


def gradients(model: Transformer, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True))


def position(index: int, width: int) -> Tensor:
    """The sinusoidal vector of one position: sine on even, cosine on odd dimensions."""
    values = []
    for dimension in range(width):
        angle = index / 10000 ** (2 * (dimension // 2) / width)
        values.append(math.sin(angle) if dimension % 2 == 0 else math.cos(angle))
    return torch.tensor(values, dtype=torch.float64)


def turned(vector: Tensor, index: int) -> Tensor:
    """Rotary: the pair (i, i + K/2) turned by index / 10000^(2i/K)."""
    result, half = vector.clone(), len(vector) // 2
    for i in range(half):
        angle = index / 10000 ** (2 * i / len(vector))
        result[i] = vector[i] * math.cos(angle) - vector[i + half] * math.sin(angle)
        result[i + half] = vector[i + half] * math.cos(angle) + vector[i] * math.sin(angle)
    return result


class Reference:
    """Logits and attention weights of single pairs, from a model's state and its settings."""

    def __init__(self, state: State, settings: Mapping[str, Any]) -> None:
        self.state = {name: tensor.detach().double() for name, tensor in state.items()}
        self.settings = settings

    def logits(self, src: list[int], tgt: list[int]) -> tuple[Tensor, list[Tensor]]:
        """(T, V), and the cross attention (H, T, S) of each decoder layer."""
        weights: list[Tensor] = []
        side = "tgt" if self.settings["share_embeddings"] == "all" else "src"
        memory = self.embed(src, side, "src")
        for number in range(self.settings["num_encoder_layers"]):
            layer = f"encoder.layers.{number}."
            memory = self.add(memory, layer + "norm1", partial(self.attend, layer + "self_attention"))
            memory = self.add(memory, layer + "norm2", partial(self.feed_forward, layer))
        memory = self.last_norm(memory, "encoder.norm")
        x = self.embed(tgt, "tgt", "tgt")
        for number in range(self.settings["num_decoder_layers"]):
            layer = f"decoder.layers.{number}."
            x = self.add(x, layer + "norm1", partial(self.attend, layer + "self_attention", causal=True))
            across = partial(self.attend, layer + "cross_attention", memory=memory, weights=weights)
            x = self.add(x, layer + "norm2", across)
            x = self.add(x, layer + "norm3", partial(self.feed_forward, layer))
        x = self.last_norm(x, "decoder.norm")
        if self.settings["share_embeddings"] == "none":
            return self.linear("projection", x), weights
        return x @ self.state["tgt_embedding.weight"].T, weights

    def embed(self, ids: list[int], table: str, side: str) -> Tensor:
        width = self.settings["d_model"]
        scale = math.sqrt(width) if self.settings["scale_embeddings"] else 1.0
        rows = []
        for index, token in enumerate(ids):
            row = self.state[f"{table}_embedding.weight"][token] * scale
            if self.settings["positions"] == "sinusoidal":
                row = row + position(index, width)
            elif self.settings["positions"] == "learned":
                row = row + self.state[f"{side}_positions.weight"][index]
            rows.append(row)
        return torch.stack(rows) if rows else torch.zeros(0, width, dtype=torch.float64)

    def add(self, x: Tensor, norm: str, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.settings["norm"] == "pre":
            return x + sublayer(self.norm(x, norm))
        return self.norm(x + sublayer(x), norm)

    def last_norm(self, x: Tensor, name: str) -> Tensor:
        return self.norm(x, name) if self.settings["norm"] == "pre" else x

    def norm(self, x: Tensor, name: str) -> Tensor:
        gain = self.state[f"{name}.weight"]
        if self.settings["norm_kind"] == "rms":
            return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + self.state[f"{name}.bias"]

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.state[f"{name}.weight"].T + self.state[f"{name}.bias"]

    def attend(
        self,
        name: str,
        x: Tensor,
        memory: Tensor | None = None,
        weights: list[Tensor] | None = None,
        causal: bool = False,
    ) -> Tensor:
        looked_at = x if memory is None else memory
        queries = self.linear(f"{name}.query", x)
        keys, values = self.linear(f"{name}.key", looked_at), self.linear(f"{name}.value", looked_at)
        heads = self.settings["num_heads"]
        width = x.size(1) // heads
        mixed = torch.zeros_like(x)
        shares = torch.zeros(heads, len(x), len(looked_at), dtype=torch.float64)
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            for t in range(len(x)):
                seen = t + 1 if causal else len(looked_at)
                scores = [self.score(queries[t, part], t, keys[s, part], s, memory is None) for s in range(seen)]
                total = sum(math.exp(score) for score in scores)
                for s, score in enumerate(scores):
                    shares[head, t, s] = math.exp(score) / total
                    mixed[t, part] += shares[head, t, s] * values[s, part]
        if weights is not None:
            weights.append(shares)
        return self.linear(f"{name}.output", mixed)

    def score(self, query: Tensor, t: int, key: Tensor, s: int, is_self: bool) -> float:
        if self.settings["positions"] == "rotary" and is_self:
            query, key = turned(query, t), turned(key, s)
        return float(query @ key) / math.sqrt(len(query))

    def feed_forward(self, layer: str, x: Tensor) -> Tensor:
        inner, activation = self.linear(f"{layer}feed_forward.inner", x), self.settings["activation"]
        if activation == "relu":
            inner = inner.clamp(min=0.0)
        elif activation == "gelu":
            inner = inner * 0.5 * (1.0 + torch.erf(inner / math.sqrt(2.0)))
        else:
            gate = self.linear(f"{layer}feed_forward.gate", x)
            inner = gate / (1.0 + torch.exp(-gate)) * inner
        return self.linear(f"{layer}feed_forward.outer", inner)
