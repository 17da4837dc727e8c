"""The Transformer (Vaswani et al. 2017, "Attention is all you need") and its common variants.

    source ids -> embed -> encoder layers -> memory
    target ids -> embed -> decoder layers, which look at themselves and at the memory -> hidden -> logits

Shape letters, as suffixes of names:
    B batch (rows)     S source length, or keys    T target length, or queries
    D model width      H heads                     K head width = D / H
    F feed-forward     V vocabulary                1 a dimension of size one, which broadcasts

A mask is boolean and True means "may attend". A query that may attend nothing gets zeros, and finite
gradients: `attention` sees to it (the fused kernels do so since PyTorch 2.5), and the tests hold it to that.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.attention import attend, attention_weights
from translator.dropout import Dropout
from translator.kv_cache import KeysValues, KVCache

Rotation = tuple[Tensor, Tensor]  # cosines and sines, each (T, 1, K)


class AttentionWeights(NamedTuple):
    """Attention of one batch: for each layer a tensor (B, H, T, S), or (B, T, S) when averaged over heads.

    Each query's weights sum to one over the keys that it may attend, and are zero elsewhere.
    """

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


LayerCache = tuple[KeysValues, KeysValues] | tuple[None, None]  # of self and of cross attention


class Scope(NamedTuple):
    """What the queries of self attention, or of cross attention, may see in one pass, alike in all layers."""

    memory: Tensor | None = None  # (B, S, D) to look at; None: at the input itself
    mask: Tensor | None = None  # broadcasts to (B, H, T, S)
    is_causal: bool = False  # query t sees keys 0 to t; instead of a mask
    rotation: Rotation | None = None  # of queries and keys
    weights: list[Tensor] | None = None  # receives the weights (B, H, T, S) of each layer, before dropout


def angles(start: int, length: int, width: int, like: Tensor) -> Tensor:
    """Angles (length, width / 2) of positions from `start` on: position / 10000^(2i / width), section 3.5."""
    dtype = torch.promote_types(like.dtype, torch.float32)  # bfloat16 cannot tell position 257 from 256
    position_T1 = torch.arange(start, start + length, device=like.device, dtype=dtype)[:, None]
    even_E = torch.arange(0, width, 2, device=like.device, dtype=dtype)
    return position_T1 * torch.exp(even_E * (-math.log(10000.0) / width))


def sinusoids(start: int, length: int, width: int, like: Tensor) -> Tensor:
    """Position table (length, width): sine on even, cosine on odd dimensions (section 3.5)."""
    angles_TE = angles(start, length, width, like)
    return torch.stack((angles_TE.sin(), angles_TE.cos()), dim=-1).flatten(-2).to(like.dtype)


def rotate(x_BTHK: Tensor, rotation: Rotation) -> Tensor:
    """Turn each pair of features (i, i + K/2) by its angle (RoFormer; Su et al. 2021, section 3.4)."""
    cos_T1K, sin_T1K = rotation
    first, second = x_BTHK.chunk(2, dim=-1)
    return x_BTHK * cos_T1K + torch.cat((-second, first), dim=-1) * sin_T1K


class Norm(nn.Module):
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019), its gain by feature or one scalar."""

    def __init__(self, d_model: int, kind: str, gain: str) -> None:
        super().__init__()
        size = d_model if gain == "feature" else 1
        self.d_model = d_model
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if kind == "layer" else None

    def forward(self, x: Tensor) -> Tensor:
        weight_D = self.weight.expand(self.d_model)  # a gain for each feature has this shape already
        if self.bias is None:
            return F.rms_norm(x, (self.d_model,), weight_D, eps=1e-6)
        return F.layer_norm(x, (self.d_model,), weight_D, self.bias.expand(self.d_model), eps=1e-5)


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = (num_heads, d_model // num_heads)
        self.dropout = dropout
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x_BTD: Tensor, scope: Scope, cache: KeysValues | None = None) -> Tensor:
        """What each position of `x_BTD` gathers from its scope.

        Self attention adds its keys and values to the cache and looks at all it holds; cross attention fills
        the cache once. Attention weights are built only where the scope asks for them.
        """
        query_BTHK = self._heads(self.query(x_BTD), scope.rotation)
        if scope.memory is None or cache is None or cache.is_empty:
            looked_at_BSD = x_BTD if scope.memory is None else scope.memory
            key_BSHK = self._heads(self.key(looked_at_BSD), scope.rotation)
            value_BSHK = self._heads(self.value(looked_at_BSD), None)
            if cache is not None:
                cache.append(key_BSHK, value_BSHK)
        if cache is not None:
            cached_BTD: Tensor = self.output(cache.attend(query_BTHK, scope.weights).flatten(2))
            return cached_BTD
        query_BHTK, key_BHSK, value_BHSK = (x.transpose(1, 2) for x in (query_BTHK, key_BSHK, value_BSHK))
        dropout = self.dropout if self.training else 0.0
        mixed_BHTK = attend(query_BHTK, key_BHSK, value_BHSK, scope.mask, dropout, is_causal=scope.is_causal)
        if scope.weights is not None:
            weights_BHTS = attention_weights(query_BHTK, key_BHSK, scope.mask, is_causal=scope.is_causal)
            scope.weights.append(weights_BHTS)
        output_BTD: Tensor = self.output(mixed_BHTK.transpose(1, 2).flatten(2))
        return output_BTD

    def _heads(self, x_BTD: Tensor, rotation: Rotation | None) -> Tensor:
        x_BTHK = x_BTD.view(*x_BTD.shape[:2], *self.heads)
        return x_BTHK if rotation is None else rotate(x_BTHK, rotation)


class FeedForward(nn.Module):
    """Two linear maps with an activation between (section 3.3), or SwiGLU with a gate (Shazeer 2020)."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.gate = nn.Linear(d_model, d_ff) if activation == "swiglu" else None
        self.outer = nn.Linear(d_ff, d_model)
        functions: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}
        self.activation = functions[activation]
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor) -> Tensor:
        if self.gate is None:
            hidden_BTF = self.activation(self.inner(x_BTD))
        else:
            hidden_BTF = self.activation(self.gate(x_BTD)) * self.inner(x_BTD)
        output_BTD: Tensor = self.outer(self.dropout(hidden_BTF))
        return output_BTD


class Layer(nn.Module):
    """Self attention, in a decoder also cross attention, and feed-forward, each inside a residual sum."""

    def __init__(
        self,
        attention: Callable[[], Attention],
        feed_forward: Callable[[], FeedForward],
        norm: Callable[[], Norm],
        *,
        norm_first: bool,
        dropout: float,
        is_decoder: bool,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = attention()
        self.cross_attention = attention() if is_decoder else None
        self.feed_forward = feed_forward()
        self.norm1 = norm()
        self.norm2 = norm()
        self.norm3 = norm() if is_decoder else None
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, of_self: Scope, of_cross: Scope | None, held: LayerCache) -> Tensor:
        x_BTD = self._add(x_BTD, self.norm1, partial(self.self_attention, scope=of_self, cache=held[0]))
        if self.cross_attention is None or self.norm3 is None:
            return self._add(x_BTD, self.norm2, self.feed_forward)
        x_BTD = self._add(x_BTD, self.norm2, partial(self.cross_attention, scope=of_cross, cache=held[1]))
        return self._add(x_BTD, self.norm3, self.feed_forward)

    def _add(self, x_BTD: Tensor, norm: Norm, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.norm_first:  # Xiong et al. 2020, "On layer normalization in the Transformer architecture"
            sum_BTD: Tensor = x_BTD + self.dropout(sublayer(norm(x_BTD)))
        else:
            sum_BTD = norm(x_BTD + self.dropout(sublayer(x_BTD)))
        return sum_BTD


class Stack(nn.Module):
    """The layers of an encoder or a decoder, and the norm after the last of them where norms come first."""

    def __init__(self, layers: list[Layer], norm: Norm | nn.Identity) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self, x_BTD: Tensor, of_self: Scope, of_cross: Scope | None = None, cache: KVCache | None = None
    ) -> Tensor:
        for number, layer in enumerate(self.layers):
            x_BTD = layer(x_BTD, of_self, of_cross, (None, None) if cache is None else cache.layers[number])
        output_BTD: Tensor = self.norm(x_BTD)
        return output_BTD


class Transformer(nn.Module):
    """An encoder-decoder Transformer; its keyword arguments are the fields of the config's `model`.

    `norm` is "pre" (before each sub-layer, and after the last layer) or "post" (after each residual sum).
    `dropout` is on embeddings and on what each sub-layer adds, `attention_dropout` on attention weights,
    `feedforward_dropout` on the hidden layer of the feed-forward. Of the `positions` only "learned" end, at
    `max_positions`. `share_embeddings`: projection and target are one tensor ("target"), also source ("all");
    it has one name, `tgt_embedding.weight`, and the projection no bias. `scale_embeddings` multiplies them
    by sqrt(d_model) (section 3.4). Looking up `pad_id` gives its embedding no gradient.
    Raises ValueError where sizes do not fit each other.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        d_model: int = 256,
        num_heads: int = 8,
        d_ff: int = 1024,
        num_encoder_layers: int = 3,
        num_decoder_layers: int = 3,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        feedforward_dropout: float = 0.0,
        norm: Literal["pre", "post"] = "pre",
        norm_kind: Literal["layer", "rms"] = "layer",
        norm_gain: Literal["feature", "scalar"] = "feature",
        positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal",
        max_positions: int = 1024,
        activation: Literal["relu", "gelu", "swiglu"] = "relu",
        share_embeddings: Literal["none", "target", "all"] = "all",
        scale_embeddings: bool = True,
        initialisation: Literal["xavier", "normal"] = "xavier",
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        if d_model % 2 or d_model % num_heads or (positions == "rotary" and d_model // num_heads % 2):
            raise ValueError(f"d_model={d_model} does not fit num_heads={num_heads}, positions={positions}")
        if share_embeddings == "all" and src_vocab_size != tgt_vocab_size:
            raise ValueError(f"source and target vocabulary ({src_vocab_size}, {tgt_vocab_size}) must be one")
        self.d_model = d_model
        self.num_heads = num_heads
        self.num_decoder_layers = num_decoder_layers
        self.positions = positions
        self.scale = math.sqrt(d_model) if scale_embeddings else 1.0
        self.dropout = Dropout(dropout)

        table = partial(nn.Embedding, embedding_dim=d_model, padding_idx=pad_id)
        self.tgt_embedding = table(tgt_vocab_size)
        self.src_embedding = table(src_vocab_size) if share_embeddings != "all" else None
        self.projection = nn.Linear(d_model, tgt_vocab_size) if share_embeddings == "none" else None
        self.src_positions = nn.Embedding(max_positions, d_model) if positions == "learned" else None
        self.tgt_positions = nn.Embedding(max_positions, d_model) if positions == "learned" else None

        make_norm = partial(Norm, d_model, norm_kind, norm_gain)
        layer = partial(
            Layer,
            partial(Attention, d_model, num_heads, attention_dropout),
            partial(FeedForward, d_model, d_ff, activation, feedforward_dropout),
            make_norm,
            norm_first=norm == "pre",
            dropout=dropout,
        )
        encoder_layers = [layer(is_decoder=False) for _ in range(num_encoder_layers)]
        decoder_layers = [layer(is_decoder=True) for _ in range(num_decoder_layers)]
        self.encoder = Stack(encoder_layers, make_norm() if norm == "pre" else nn.Identity())
        self.decoder = Stack(decoder_layers, make_norm() if norm == "pre" else nn.Identity())
        self.reset_parameters(initialisation)

    def reset_parameters(self, initialisation: Literal["xavier", "normal"] = "xavier") -> None:
        """Draw all matrices anew from torch's generator; biases become zero.

        "xavier": uniform (Glorot and Bengio 2010), query, key and value as thirds of a matrix, as in fairseq.
        "normal": deviation 0.02, over sqrt(residual sums) where a residual branch ends (GPT-2; Radford et al.
        2019, section 2.3). Embeddings are normal with deviation d_model^-0.5 in both: scaling makes it one,
        and a shared projection gives logits of about one. Neither scaled nor shared, the deviation is one.
        """
        for stack, sums_per_layer in ((self.encoder, 2), (self.decoder, 3)):
            for name, module in stack.named_modules():
                if isinstance(module, nn.Linear):
                    sums = sums_per_layer * len(stack.layers) if name.endswith(("output", "outer")) else 1
                    parts = 2 if name.endswith(("query", "key", "value")) else 1
                    if initialisation == "normal":
                        nn.init.normal_(module.weight, std=0.02 / math.sqrt(sums))
                    else:
                        nn.init.xavier_uniform_(module.weight, gain=1 / math.sqrt(parts))
                    nn.init.zeros_(module.bias)
        if self.projection is not None:
            nn.init.xavier_uniform_(self.projection.weight)
            nn.init.zeros_(self.projection.bias)
        small = self.d_model**-0.5
        for table in (self.src_embedding, self.tgt_embedding):
            if table is not None:
                is_shared = table is self.tgt_embedding and self.projection is None
                nn.init.normal_(table.weight, std=small if is_shared or self.scale > 1.0 else 1.0)
                nn.init.zeros_(table.weight[table.padding_idx])
        for positions in (self.src_positions, self.tgt_positions):
            if positions is not None:
                nn.init.normal_(positions.weight, std=small)

    def forward(self, src_BS: Tensor, src_mask_BS: Tensor | None, tgt_BT: Tensor) -> Tensor:
        """Logits (B, T, V) of the token after each of `tgt_BT`, all at once, as training needs them.

        `src_mask_BS` is True on real tokens; None says that all are, which a GPU has a faster kernel for. The target
        is padded on the right, where no real token looks.
        """
        return self.project(self.decode(tgt_BT, self.encode(src_BS, src_mask_BS), src_mask_BS))

    def encode(self, src_BS: Tensor, src_mask_BS: Tensor | None, weights: list[Tensor] | None = None) -> Tensor:
        """The memory (B, S, D). `weights` receives the attention weights (B, H, S, S) of each layer."""
        embedding = self.tgt_embedding if self.src_embedding is None else self.src_embedding
        x_BSD, rotation = self._embed(src_BS, embedding, self.src_positions, start=0)
        mask = None if src_mask_BS is None else src_mask_BS[:, None, None, :]
        scope = Scope(mask=mask, rotation=rotation, weights=weights)
        memory_BSD: Tensor = self.encoder(x_BSD, scope)
        return memory_BSD

    def decode(
        self,
        tgt_BT: Tensor,
        memory_BSD: Tensor,
        src_mask_BS: Tensor | None,
        cache: KVCache | None = None,
        weights: list[Tensor] | None = None,
        cross_weights: list[Tensor] | None = None,
    ) -> Tensor:
        """Hidden states (B, T, D) at each of `tgt_BT`, which sees itself, all before it, and the memory.

        With a `cache`, `tgt_BT` continues the tokens that the cache holds, in one row for each of its rows. The
        memory and its mask are read in the first call only.
        The lists receive each layer's weights: (B, H, T, tokens so far) and (B, H, T, S).
        """
        past = 0 if cache is None else cache.length
        x_BTD, rotation = self._embed(tgt_BT, self.tgt_embedding, self.tgt_positions, start=past)
        mask = None if src_mask_BS is None else src_mask_BS[:, None, None, :]
        if cache is not None:
            cache.open(tgt_BT.size(0), tgt_BT.size(1), mask, memory_BSD.device)
        of_self = Scope(is_causal=True, rotation=rotation, weights=weights)
        of_cross = Scope(memory=memory_BSD, mask=mask, weights=cross_weights)
        hidden_BTD: Tensor = self.decoder(x_BTD, of_self, of_cross, cache)
        return hidden_BTD

    def project(self, hidden: Tensor) -> Tensor:
        """Logits (..., V) over the target vocabulary from hidden states (..., D)."""
        if self.projection is None:
            return F.linear(hidden, self.tgt_embedding.weight)
        logits: Tensor = self.projection(hidden)
        return logits

    def attention(
        self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, average_heads: bool = False
    ) -> AttentionWeights:
        """The attention weights that `forward` has on the same arguments, before dropout."""
        weights = AttentionWeights([], [], [])
        memory_BSD = self.encode(src_BS, src_mask_BS, weights.encoder)
        self.decode(tgt_BT, memory_BSD, src_mask_BS, None, weights.decoder, weights.cross)
        if average_heads:
            return AttentionWeights(*([layer.mean(dim=1) for layer in layers] for layers in weights))
        return weights

    def _embed(
        self, ids_BT: Tensor, embedding: nn.Embedding, learned: nn.Embedding | None, start: int
    ) -> tuple[Tensor, Rotation | None]:
        x_BTD, end, rotation = embedding(ids_BT) * self.scale, start + ids_BT.size(1), None
        if learned is not None:
            if end > learned.num_embeddings:
                raise ValueError(f"{end} tokens are more than max_positions ({learned.num_embeddings})")
            x_BTD = x_BTD + learned.weight[start:end]
        elif self.positions == "sinusoidal":
            x_BTD = x_BTD + sinusoids(start, ids_BT.size(1), self.d_model, x_BTD)
        else:
            angles_TE = angles(start, ids_BT.size(1), self.d_model // self.num_heads, x_BTD)
            angles_T1K = torch.cat((angles_TE, angles_TE), dim=-1)[:, None, :]
            rotation = (angles_T1K.cos().to(x_BTD.dtype), angles_T1K.sin().to(x_BTD.dtype))
        return self.dropout(x_BTD), rotation
