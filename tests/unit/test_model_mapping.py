"""Weights of the widely copied tutorial models, mapped onto ours by a table of names, give the same outputs.

The three models below are written as such tutorials write them, with their names for parameters; what they share
is in functions, so that each shows only what is its own.
"""

import math
import re

import pytest
import torch
from torch import Tensor, nn

from translator.model import Transformer

WIDTH, HEADS, HIDDEN, LAYERS, SRC, TGT = 64, 4, 96, 2, 40, 50
PER_HEAD = WIDTH // HEADS


def add_positions(x: Tensor) -> Tensor:
    table = torch.zeros(x.size(1), WIDTH)
    position = torch.arange(x.size(1)).unsqueeze(1)
    rate = torch.exp(torch.arange(0, WIDTH, 2) * -(math.log(10000.0) / WIDTH))
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return x + table


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Heads before positions, (B, H, T, K), in and (B, T, D) out."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(PER_HEAD)
    mixed = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1) @ value
    return mixed.transpose(1, 2).reshape(mixed.size(0), -1, WIDTH)


def heads(x: Tensor) -> Tensor:
    return x.view(x.size(0), -1, HEADS, PER_HEAD).transpose(1, 2)


class UnbiasedNorm(nn.Module):
    """Divides by the unbiased standard deviation plus epsilon; a gain for each feature, or one for all."""

    def __init__(self, gain: str, bias: str, size: int) -> None:
        super().__init__()
        self.names = gain, bias
        self.register_parameter(gain, nn.Parameter(torch.ones(size)))
        self.register_parameter(bias, nn.Parameter(torch.zeros(size)))

    def forward(self, x: Tensor) -> Tensor:
        gain, bias = (self.get_parameter(name) for name in self.names)
        return gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + bias


class Block(nn.Module):
    """Named children and nothing else: the tutorials' many small classes, seen from their parameters."""

    def __init__(self, **children: nn.Module) -> None:
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


def word_level(is_scalar: bool) -> nn.Module:
    """Pre-norm models: the annotated one (feature gains), and the one with scalar gains and no attention biases."""

    def norm() -> nn.Module:
        return UnbiasedNorm("alpha", "bias", 1) if is_scalar else UnbiasedNorm("a_2", "b_2", WIDTH)

    def attention() -> nn.Module:
        if is_scalar:
            return Block(**{name: nn.Linear(WIDTH, WIDTH, bias=False) for name in ("w_q", "w_k", "w_v", "w_o")})
        return Block(linears=nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)))

    def layer(attentions: tuple[str, ...]) -> nn.Module:
        first, second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        residuals = nn.ModuleList(Block(norm=norm()) for _ in range(len(attentions) + 1))
        children = {name: attention() for name in attentions}
        if is_scalar:
            inner: nn.Module = Block(linear_1=first, linear_2=second)
            return Block(**children, feed_forward_block=inner, residual_connections=residuals)
        return Block(**children, feed_forward=Block(w_1=first, w_2=second), sublayer=residuals)

    def stack(*attentions: str) -> nn.Module:
        return Block(layers=nn.ModuleList(layer(attentions) for _ in range(LAYERS)), norm=norm())

    src, tgt, last = nn.Embedding(SRC, WIDTH), nn.Embedding(TGT, WIDTH), nn.Linear(WIDTH, TGT)
    if is_scalar:
        return Block(
            encoder=stack("self_attention_block"),
            decoder=stack("self_attention_block", "cross_attention_block"),
            src_embed=Block(embedding=src),
            tgt_embed=Block(embedding=tgt),
            projection_layer=Block(proj=last),
        )
    return Block(
        encoder=stack("self_attn"),
        decoder=stack("self_attn", "src_attn"),
        src_embed=nn.Sequential(Block(lut=src)),
        tgt_embed=nn.Sequential(Block(lut=tgt)),
        generator=Block(proj=last),
    )


def run_word_level(model: nn.Module, src: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
    """Both pre-norm models compute the same; their children stand in the same order."""

    def attention(block: nn.Module, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        query, key, value, output = (m for m in block.modules() if isinstance(m, nn.Linear))
        result: Tensor = output(attend(heads(query(x)), heads(key(memory)), heads(value(memory)), mask))
        return result

    def stack(part: nn.Module, x: Tensor, mask: Tensor, memory: Tensor | None = None) -> Tensor:
        for layer in part.get_submodule("layers").children():
            *attentions, feed_forward, residuals = layer.children()
            norms = [residual.get_submodule("norm") for residual in residuals.children()]
            y = norms[0](x)
            x = x + attention(attentions[0], y, y, mask)
            if memory is not None:
                x = x + attention(attentions[1], norms[1](x), memory, src_mask)
            first, second = feed_forward.children()
            x = x + second(torch.relu(first(norms[-1](x))))
        normed: Tensor = part.get_submodule("norm")(x)
        return normed

    encoder, decoder, *rest = model.children()
    src_table, tgt_table, last = (
        next(m for m in part.modules() if isinstance(m, nn.Embedding | nn.Linear)) for part in rest
    )
    memory = stack(encoder, add_positions(src_table(src) * math.sqrt(WIDTH)), src_mask)
    logits: Tensor = last(stack(decoder, add_positions(tgt_table(tgt) * math.sqrt(WIDTH)), tgt_mask, memory))
    return logits


class CharacterNorm(nn.Module):
    """Divides by the root of variance plus epsilon."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(WIDTH))
        self.beta = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.gamma * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + self.beta


class CharacterLayer(nn.Module):
    """Post-norm; queries, keys and values of each head side by side in one matrix."""

    def __init__(self, is_decoder: bool) -> None:
        super().__init__()
        fused, output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.attention = Block(qkv_layer=fused, linear_layer=output)
        self.norm1, self.norm2 = CharacterNorm(), CharacterNorm()
        self.ffn = Block(linear1=nn.Linear(WIDTH, HIDDEN), linear2=nn.Linear(HIDDEN, WIDTH))
        if is_decoder:
            fused, query, output = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
            self.encoder_decoder_attention = Block(kv_layer=fused, q_layer=query, linear_layer=output)
            self.norm3 = CharacterNorm()

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        fused, output = self.attention.children()
        q, k, v = fused(x).view(*x.shape[:2], HEADS, 3 * PER_HEAD).transpose(1, 2).chunk(3, dim=-1)
        x = self.norm1(x + output(attend(q, k, v, mask)))
        if memory is not None and memory_mask is not None:
            fused, query, output = self.encoder_decoder_attention.children()
            k, v = fused(memory).view(*memory.shape[:2], HEADS, 2 * PER_HEAD).transpose(1, 2).chunk(2, dim=-1)
            x = self.norm2(x + output(attend(heads(query(x)), k, v, memory_mask)))
        first, second = self.ffn.children()
        last_norm = self.norm2 if memory is None else self.norm3
        normed: Tensor = last_norm(x + second(torch.relu(first(x))))
        return normed


class CharacterLevel(nn.Module):
    """Unscaled embeddings, no norm after the last layer."""

    def __init__(self) -> None:
        super().__init__()
        src, tgt = nn.Embedding(SRC, WIDTH), nn.Embedding(TGT, WIDTH)
        self.encoder = Block(embedding=src, layers=nn.ModuleList(CharacterLayer(False) for _ in range(LAYERS)))
        self.decoder = Block(embedding=tgt, layers=nn.ModuleList(CharacterLayer(True) for _ in range(LAYERS)))
        self.linear = nn.Linear(WIDTH, TGT)

    def forward(self, src: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        table, layers = self.encoder.children()
        memory = add_positions(table(src))
        for layer in layers.children():
            memory = layer(memory, src_mask)
        table, layers = self.decoder.children()
        x = add_positions(table(tgt))
        for layer in layers.children():
            x = layer(x, tgt_mask, memory, src_mask)
        logits: Tensor = self.linear(x)
        return logits


# A name of theirs (pattern) -> ours. Two or three names: the matrix holds them side by side for each head.
Table = dict[str, str | list[str]]
UNBIASED = math.sqrt((WIDTH - 1) / WIDTH)  # turns the unbiased standard deviation of their norms into the plain one

ANNOTATED: Table = {
    r"(\w+)_embed\.0\.lut\.": r"\1_embedding.",
    r"generator\.proj\.": "projection.",
    r"(.*)\.self_attn\.linears\.": r"\1.self_attention.",
    r"(.*)\.src_attn\.linears\.": r"\1.cross_attention.",
    r"(.*attention)\.0\.": r"\1.query.",
    r"(.*attention)\.1\.": r"\1.key.",
    r"(.*attention)\.2\.": r"\1.value.",
    r"(.*attention)\.3\.": r"\1.output.",
    r"(.*feed_forward)\.w_1\.": r"\1.inner.",
    r"(.*feed_forward)\.w_2\.": r"\1.outer.",
    r"(.*)\.sublayer\.0\.norm": r"\1.norm1",
    r"(.*)\.sublayer\.1\.norm": r"\1.norm2",
    r"(.*)\.sublayer\.2\.norm": r"\1.norm3",
    r"(.*)\.a_2$": r"\1.weight",
    r"(.*)\.b_2$": r"\1.bias",
}
SCALAR: Table = {
    r"(\w+)_embed\.embedding\.": r"\1_embedding.",
    r"projection_layer\.proj\.": "projection.",
    r"(.*)\.(self|cross)_attention_block\.": r"\1.\2_attention.",
    r"(.*attention)\.w_q\.": r"\1.query.",
    r"(.*attention)\.w_k\.": r"\1.key.",
    r"(.*attention)\.w_v\.": r"\1.value.",
    r"(.*attention)\.w_o\.": r"\1.output.",
    r"(.*)\.feed_forward_block\.linear_1\.": r"\1.feed_forward.inner.",
    r"(.*)\.feed_forward_block\.linear_2\.": r"\1.feed_forward.outer.",
    r"(.*)\.residual_connections\.0\.norm": r"\1.norm1",
    r"(.*)\.residual_connections\.1\.norm": r"\1.norm2",
    r"(.*)\.residual_connections\.2\.norm": r"\1.norm3",
    r"(.*)\.alpha$": r"\1.weight",
}
CHARACTER: Table = {
    r"encoder\.embedding\.": "src_embedding.",
    r"decoder\.embedding\.": "tgt_embedding.",
    r"linear\.": "projection.",
    r"(.*)\.attention\.": r"\1.self_attention.",
    r"(.*)\.encoder_decoder_attention\.": r"\1.cross_attention.",
    r"(.*)\.q_layer\.": r"\1.query.",
    r"(.*)\.linear_layer\.": r"\1.output.",
    r"(.*)\.ffn\.linear1\.": r"\1.feed_forward.inner.",
    r"(.*)\.ffn\.linear2\.": r"\1.feed_forward.outer.",
    r"(.*)\.gamma$": r"\1.weight",
    r"(.*)\.beta$": r"\1.bias",
    r"(.*)\.qkv_layer\.": [r"\1.query.", r"\1.key.", r"\1.value."],
    r"(.*)\.kv_layer\.": [r"\1.key.", r"\1.value."],
}


def mapped(state: dict[str, Tensor], table: Table) -> dict[str, Tensor]:
    """Their parameters under our names; the rules of the table apply one after the other."""
    result = {}
    for theirs, tensor in state.items():
        names = [theirs]
        for pattern, ours in table.items():
            if re.match(pattern, names[0]):
                targets = [ours] if isinstance(ours, str) else ours
                names = [re.sub(pattern, target, names[0], count=1) for target in targets]
        parts = tensor.view(HEADS, len(names), PER_HEAD, *tensor.shape[1:]) if len(names) > 1 else None
        for number, name in enumerate(names):
            result[name] = tensor if parts is None else parts[:, number].flatten(0, 1)
            if theirs.endswith((".a_2", ".alpha")):
                result[name] = tensor * UNBIASED
    return result


@pytest.mark.parametrize("style", ["annotated", "scalar", "character"])
def test_mapped_weights_give_the_same_outputs(style: str) -> None:
    torch.manual_seed(5)
    theirs = CharacterLevel() if style == "character" else word_level(style == "scalar")
    with torch.no_grad():  # nothing may stay at zero or one
        for parameter in theirs.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    ours = Transformer(
        SRC,
        TGT,
        d_model=WIDTH,
        num_heads=HEADS,
        d_ff=HIDDEN,
        num_encoder_layers=LAYERS,
        num_decoder_layers=LAYERS,
        norm="post" if style == "character" else "pre",
        norm_gain="scalar" if style == "scalar" else "feature",
        scale_embeddings=style != "character",
        share_embeddings="none",
    ).eval()
    state = mapped(theirs.state_dict(), {"annotated": ANNOTATED, "scalar": SCALAR, "character": CHARACTER}[style])
    if style == "scalar":  # its attention has no biases
        names = [name for name in ours.state_dict() if "attention" in name and name.endswith("bias")]
        state |= {name: torch.zeros(WIDTH) for name in names}
    ours.load_state_dict(state)

    src, tgt = torch.randint(1, SRC, (3, 9)), torch.randint(1, TGT, (3, 7))
    src[1, 4:] = 0
    tgt[2, 5:] = 0
    is_real = (src != 0)[:, None, None, :]
    causal = torch.ones(7, 7).tril().bool() & (tgt != 0)[:, None, None, :]
    with torch.no_grad():
        if isinstance(theirs, CharacterLevel):
            expected = theirs(src, is_real, tgt, causal)
        else:
            expected = run_word_level(theirs, src, is_real, tgt, causal)
        logits = ours(src, src != 0, tgt)
    torch.testing.assert_close(logits[tgt != 0], expected[tgt != 0], rtol=0, atol=1e-4)
    assert expected.std() > 0.3
