"""The model family: against a plain reference, and the promises of its docstrings."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.reference import Reference, position
from translator.loss import token_loss
from translator.model import Attention, KVCache, Scope, Transformer, sinusoids

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


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        yield


@pytest.fixture(params=VARIANTS)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BASE | VARIANTS[request.param]


def make_model(settings: dict[str, Any], src_vocab_size: int = 20, tgt_vocab_size: int = 30) -> Transformer:
    """A float64 model in evaluation mode with nothing at zero or one, so that no gain or bias can hide."""
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


def test_equals_the_plain_reference(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, mask, tgt = make_batch()
    logits, cross = model(src, mask, tgt), model.attention(src, mask, tgt).cross
    reference = Reference(model.state_dict(), settings)
    for row, (src_ids, tgt_ids) in enumerate(zip(SRC, TGT, strict=True)):
        expected, expected_cross = reference.logits(src_ids, tgt_ids)
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-10)
        for layer, weights in zip(cross, expected_cross, strict=True):
            torch.testing.assert_close(layer[row, :, :, : len(src_ids)], weights, rtol=0, atol=1e-10)


def test_gradients_equal_differences(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, mask, tgt = make_batch()

    def loss() -> Tensor:
        logits: Tensor = model(src, mask, tgt)
        return logits.square().mean()

    parameters = list(model.parameters())
    directions = [torch.randn_like(parameter) for parameter in parameters]
    for table in (model.src_embedding, model.tgt_embedding):
        if table is not None:  # the embedding of padding counts as constant
            directions[[p is table.weight for p in parameters].index(True)][0] = 0.0
    slope = sum((g * d).sum() for g, d in zip(gradients(model, loss()), directions, strict=True))
    values = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):  # forward, and back over the middle
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter.add_(direction, alpha=step)
            values.append(loss())
    torch.testing.assert_close((values[0] - values[1]) / 2e-6, slope, rtol=1e-6, atol=1e-8)


def test_a_future_token_changes_nothing_before_it(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, mask, tgt = make_batch()
    before = model(src, mask, tgt)
    for t in range(1, tgt.size(1)):
        changed = tgt.clone()
        changed[:, t] = 13
        after = model(src, mask, changed)
        torch.testing.assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-12)
        assert (after[:, t:] != before[:, t:]).any(dim=-1).all()


def test_more_padding_changes_neither_logits_nor_gradients(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    results = []
    for extra in (0, 7):
        logits = model(*make_batch(extra))
        labels = F.pad(torch.tensor(TGT)[:, 1:], (0, 1 + extra))
        loss = token_loss(logits, labels, label_smoothing=0.1, pad_id=0).sum
        results.append([logits[:, :4], *gradients(model, loss)])
    for narrow, wide in zip(*results, strict=True):
        torch.testing.assert_close(wide, narrow, rtol=0, atol=1e-10)


def test_cached_decoding_equals_full_decoding(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    src, mask, _ = make_batch()
    tgt = torch.randint(3, 30, (3, 23))  # longer than the room that the cache first makes
    with torch.no_grad():
        memory = model.encode(src, mask)
        full = model.decode(tgt, memory, mask)
        cache = KVCache(settings["num_decoder_layers"])
        parts, start = [], 0
        for length in (1, 1, 4, 1, 12, 1, 3):  # token by token, and several at once in the middle
            parts.append(model.decode(tgt[:, start : start + length], memory, mask, cache))
            start += length
            assert cache.length == start
    torch.testing.assert_close(torch.cat(parts, dim=1), full, rtol=0, atol=1e-10)


@pytest.mark.parametrize("index", [[2, 0], [1, 1, 0, 2, 1], [0]])
def test_selected_rows_go_on_as_if_decoded_alone(index: list[int]) -> None:
    model = make_model(BASE | {"positions": "rotary"})
    src, mask, _ = make_batch()
    tgt = torch.randint(3, 30, (3, 20))
    rows = torch.tensor(index)
    continued = torch.cat((tgt[rows], torch.randint(3, 30, (len(index), 15))), dim=1)
    with torch.no_grad():
        memory = model.encode(src, mask)
        cache = KVCache(2)
        for t in range(20):
            model.decode(tgt[:, t : t + 1], memory, mask, cache)
        cache.select(rows)
        hidden = [model.decode(continued[:, t : t + 1], memory, mask[rows], cache) for t in range(20, 35)]
        full = model.decode(continued, memory[rows], mask[rows])
    torch.testing.assert_close(torch.cat(hidden, dim=1), full[:, 20:], rtol=0, atol=1e-10)


def test_the_memory_is_read_once() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    with torch.no_grad():
        memory, cache = model.encode(src, mask), KVCache(2)
        model.decode(tgt[:, :1], memory, mask, cache)
        kept = model.decode(tgt[:, 1:], torch.full_like(memory, math.nan), mask, cache)
    torch.testing.assert_close(kept, model.decode(tgt, memory, mask)[:, 1:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("num_keys", [0, 7])
def test_a_query_without_keys_gets_zeros_and_finite_gradients(
    dtype: torch.dtype, dropout: float, num_keys: int
) -> None:
    attention = Attention(16, 2, dropout).to(dtype)
    torch.nn.init.zeros_(attention.output.bias)
    mask = torch.rand(3, 1, 5, num_keys) > 0.3
    mask[1], mask[2, :, 3] = False, False
    if num_keys:
        mask[0, :, :, 0] = True
    weights: list[Tensor] = []
    x, memory = (torch.randn(3, n, 16, dtype=dtype, requires_grad=True) for n in (5, num_keys))
    output = attention(x, Scope(memory=memory, mask=mask, weights=weights))
    assert (output[1] == 0).all()
    assert (output[2, 3] == 0).all()
    assert (weights[0][1] == 0).all()
    loss = output.float().square().sum() + weights[0].float().square().sum()
    for gradient in torch.autograd.grad(loss, [x, memory, *attention.parameters()]):
        assert gradient.isfinite().all()
    assert num_keys == 0 or (output[0] != 0).any(dim=-1).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_empty_sources_leave_the_other_rows_alone(training: bool, norm: str) -> None:
    model = make_model(BASE | {"norm": norm}).float().train(training)
    src = torch.tensor([[5, 6, 7, 2], [0, 0, 0, 0], [8, 9, 2, 0], [0, 0, 0, 0]])
    tgt = torch.tensor([[1, 5, 6], [1, 5, 6], [1, 7, 8], [1, 9, 9]])
    normal = torch.tensor([0, 2])

    def run(rows: Tensor, counted: Tensor) -> list[Tensor]:
        logits = model(src[rows], src[rows] != 0, tgt[rows])
        assert logits.isfinite().all()
        loss = token_loss(logits[counted], tgt[rows][counted], label_smoothing=0.1, pad_id=0)
        return [loss.sum, *gradients(model, loss.sum)]

    for alone, among in zip(run(normal, torch.tensor([0, 1])), run(torch.arange(4), normal), strict=True):
        torch.testing.assert_close(among, alone, rtol=1e-5, atol=1e-5)
    whole = run(torch.arange(4), torch.arange(4))  # and the empty ones may be trained on
    assert all(tensor.isfinite().all() for tensor in whole)


def test_a_batch_of_sources_of_length_zero(settings: dict[str, Any]) -> None:
    model = make_model(settings)
    logits = model(torch.empty(3, 0, dtype=torch.long), torch.empty(3, 0, dtype=torch.bool), torch.tensor(TGT))
    padded = model(torch.zeros(3, 4, dtype=torch.long), torch.zeros(3, 4, dtype=torch.bool), torch.tensor(TGT))
    torch.testing.assert_close(logits, padded, rtol=0, atol=1e-10)
    assert all(gradient.isfinite().all() for gradient in gradients(model, logits.square().sum()))


@pytest.mark.parametrize("training", [True, False])
def test_attention_weights_sum_to_one_over_what_may_be_attended(training: bool) -> None:
    model = make_model(BASE | {"attention_dropout": 0.5}).train(training)
    src, mask, tgt = make_batch()
    per_head = model.attention(src, mask, tgt)
    averaged = model.attention(src, mask, tgt, average_heads=True)
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    may_attend = {
        "encoder": mask[:, None, None, :].expand(3, 3, 5, 5),
        "decoder": causal.expand(3, 3, 4, 4),
        "cross": mask[:, None, None, :].expand(3, 3, 4, 5),
    }
    for kind, allowed in may_attend.items():
        layers = getattr(per_head, kind)
        assert len(layers) == 2
        for layer, mean in zip(layers, getattr(averaged, kind), strict=True):
            assert layer.shape == allowed.shape
            assert (layer[~allowed] == 0).all()
            assert (layer[allowed] > 0).all()
            torch.testing.assert_close(layer.sum(-1), allowed.any(-1).to(layer.dtype))
            if not training:  # under dropout the layers above the first differ from call to call
                torch.testing.assert_close(mean, layer.mean(dim=1))
            assert mean.shape == (3, *allowed.shape[2:])


def test_asking_for_weights_changes_nothing_and_keeps_nothing() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    before = model(src, mask, tgt)
    names = {name: set(vars(module)) for name, module in model.named_modules()}
    weights: list[Tensor] = []
    memory = model.encode(src, mask, [])
    hidden = model.decode(tgt, memory, mask, weights=weights, cross_weights=weights)
    assert torch.equal(model.project(hidden), before)
    assert len(weights) == 4
    assert {name: set(vars(module)) for name, module in model.named_modules()} == names


def test_cached_decoding_gives_the_weights_of_all_tokens_so_far() -> None:
    model = make_model(BASE)
    src, mask, tgt = make_batch()
    full, cache, steps = model.attention(src, mask, tgt), KVCache(2), []
    with torch.no_grad():
        memory = model.encode(src, mask)
        for t in range(4):
            own: list[Tensor] = []
            cross: list[Tensor] = []
            model.decode(tgt[:, t : t + 1], memory, mask, cache, own, cross)
            steps.append((own, cross))
    for t, (own, cross) in enumerate(steps):
        for layer in range(2):
            torch.testing.assert_close(own[layer][:, :, 0], full.decoder[layer][:, :, t, : t + 1])
            torch.testing.assert_close(cross[layer][:, :, 0], full.cross[layer][:, :, t])


ATTENTION, FEED_FORWARD, NORM, TABLES = 4 * (12 * 12 + 12), 2 * 12 * 16 + 16 + 12, 2 * 12, (20 + 30) * 12
LAYERS = 2 * (ATTENTION + FEED_FORWARD + 2 * NORM) + 2 * (2 * ATTENTION + FEED_FORWARD + 3 * NORM)
PROJECTION = 30 * 12 + 30


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("base", TABLES + LAYERS + 2 * NORM + PROJECTION),
        ("post", TABLES + LAYERS + PROJECTION),
        ("scalar", TABLES + LAYERS - 10 * NORM + 12 * 2 + PROJECTION),
        ("rms", TABLES + LAYERS - 10 * NORM + 12 * 12 + PROJECTION),
        ("learned", TABLES + LAYERS + 2 * NORM + PROJECTION + 2 * 32 * 12),
        ("swiglu", TABLES + LAYERS - 10 * NORM + 12 * 12 + PROJECTION + 4 * (12 * 16 + 16)),
        ("share-target", TABLES + LAYERS + 2 * NORM),
        ("share-all", 30 * 12 + LAYERS + 2 * NORM),
    ],
)
def test_number_of_parameters(variant: str, expected: int) -> None:
    assert sum(p.numel() for p in make_model(BASE | VARIANTS[variant]).parameters()) == expected


@pytest.mark.parametrize("share", ["none", "target"])
def test_source_and_target_vocabularies_of_different_sizes(share: str) -> None:
    model = make_model(BASE | {"share_embeddings": share}, 200, 300)
    src, mask = torch.tensor([[199, 2]]), torch.ones(1, 2, dtype=torch.bool)
    assert model(src, mask, torch.tensor([[1, 299]])).shape == (1, 2, 300)
    with pytest.raises(IndexError):
        model(torch.tensor([[200, 2]]), mask, torch.tensor([[1, 299]]))


def test_parameter_names_are_stable() -> None:
    """Weights of older versions are found by these names."""
    attention = [f"{part}.{kind}" for part in ("query", "key", "value", "output") for kind in ("weight", "bias")]
    feed_forward = [f"feed_forward.{part}.{kind}" for part in ("inner", "outer") for kind in ("weight", "bias")]
    expected = {f"{table}.weight" for table in ("src_embedding", "tgt_embedding", "projection")} | {"projection.bias"}
    for stack, attentions, num_norms in (
        ("encoder", ["self_attention"], 2),
        ("decoder", ["self_attention", "cross_attention"], 3),
    ):
        inside = [f"{name}.{part}" for name in attentions for part in attention] + feed_forward
        inside += [f"norm{n}.{kind}" for n in range(1, num_norms + 1) for kind in ("weight", "bias")]
        expected |= {f"{stack}.layers.0.{name}" for name in inside}
        expected |= {f"{stack}.norm.weight", f"{stack}.norm.bias"}
    one_layer = BASE | {"num_encoder_layers": 1, "num_decoder_layers": 1}
    assert set(make_model(one_layer).state_dict()) == expected
    learned = make_model(one_layer | {"positions": "learned", "activation": "swiglu"}).state_dict()
    gates = {f"{stack}.layers.0.feed_forward.gate.{k}" for stack in ("encoder", "decoder") for k in ("weight", "bias")}
    assert set(learned) - expected == gates | {"src_positions.weight", "tgt_positions.weight"}


@pytest.mark.parametrize(
    ("share", "missing"),
    [
        ("target", {"projection.weight", "projection.bias"}),
        ("all", {"projection.weight", "projection.bias", "src_embedding.weight"}),
    ],
)
def test_a_shared_tensor_has_one_name(share: str, missing: set[str]) -> None:
    model = make_model(BASE | {"share_embeddings": share})
    state = model.state_dict()
    assert set(make_model(BASE).state_dict()) - set(state) == missing
    assert len({tensor.data_ptr() for tensor in state.values()}) == len(state)
    batch = make_batch()
    other = make_model(BASE | {"share_embeddings": share})
    other.load_state_dict(state)
    assert torch.equal(other(*batch), model(*batch))
    (gradient,) = torch.autograd.grad(model(*batch)[..., 29].sum(), [model.tgt_embedding.weight])
    assert gradient[29].any()  # as projection: id 29 is nowhere looked up
    assert gradient[17].any() == (share == "all")  # as source embedding: 17 is only in a source


@pytest.mark.parametrize(
    "wrong",
    [
        {"d_model": 10, "num_heads": 4},
        {"d_model": 9, "num_heads": 3},
        {"d_model": 12, "num_heads": 4, "positions": "rotary"},
        {"share_embeddings": "all"},
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"d_model=|vocabulary"):
        Transformer(20, 30, **(BASE | wrong))


def test_learned_positions_end_with_a_clear_error() -> None:
    model = make_model(BASE | {"positions": "learned", "max_positions": 4})
    src, mask, tgt = make_batch()
    with pytest.raises(ValueError, match=r"5 tokens .* max_positions \(4\)"):
        model.encode(src, mask)
    memory, cache = torch.zeros(3, 5, 12, dtype=torch.float64), KVCache(2)
    model.decode(tgt, memory, mask, cache)
    with pytest.raises(ValueError, match=r"5 tokens .* max_positions \(4\)"):
        model.decode(tgt[:, :1], memory, mask, cache)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_other_positions_know_no_end(positions: str) -> None:
    model = make_model(BASE | {"positions": positions, "num_encoder_layers": 1, "num_decoder_layers": 0})
    src = torch.full((1, 3000), 5)
    assert model.encode(src, src != 0).isfinite().all()


def test_sinusoids() -> None:
    table = sinusoids(3, 40, 6, torch.empty(0, dtype=torch.float64))
    expected = torch.stack([position(index, 6) for index in range(3, 43)])
    torch.testing.assert_close(table, expected, rtol=0, atol=1e-12)
    half = sinusoids(1000, 2, 6, torch.empty(0, dtype=torch.bfloat16))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half[1].double(), position(1001, 6), rtol=0, atol=0.01)


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "feedforward_dropout"])
def test_each_dropout_acts_in_training_alone_and_follows_the_seed(kind: str) -> None:
    model = make_model(BASE | {kind: 0.5})
    batch = make_batch()
    still = make_model(BASE)
    still.load_state_dict(model.state_dict())
    assert torch.equal(model(*batch), still(*batch))
    model.train()
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        runs.append(model(*batch))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    assert not torch.equal(runs[0], still(*batch))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("variant", ["base", "rotary-post-rms", "learned-all", "swiglu"])
def test_half_precision_weights(variant: str, dtype: torch.dtype) -> None:
    model = make_model(BASE | VARIANTS[variant])
    src, mask, tgt = make_batch()
    exact = model(src, mask, tgt)
    with torch.no_grad():
        model.to(dtype)
        logits = model(src, mask, tgt)
        memory, cache = model.encode(src, mask), KVCache(2)
        steps = [model.decode(tgt[:, t : t + 1], memory, mask, cache) for t in range(4)]
    assert logits.dtype == dtype
    assert (logits.double() - exact).abs().mean() < 0.05 * exact.std()
    assert (model.project(torch.cat(steps, dim=1)).double() - exact).abs().mean() < 0.05 * exact.std()
    gradient = gradients(model, model(src, mask, tgt).float().square().mean())
    assert all(tensor.isfinite().all() for tensor in gradient)


@pytest.mark.parametrize("variant", ["base", "rotary-post-rms", "learned-all"])
def test_autocast(variant: str) -> None:
    model = make_model(BASE | VARIANTS[variant]).float()
    src, mask, tgt = make_batch()
    exact = model(src, mask, tgt)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        logits = model(src, mask, tgt)
        memory, cache = model.encode(src, mask), KVCache(2)
        steps = [model.decode(tgt[:, t : t + 1], memory, mask, cache) for t in range(4)]
        stepwise = model.project(torch.cat(steps, dim=1))
    assert (logits - exact).abs().mean() < 0.05 * exact.std()
    assert (stepwise - exact).abs().mean() < 0.05 * exact.std()


def test_the_padding_embedding_gets_no_gradient() -> None:
    model = make_model(BASE)
    assert model.src_embedding is not None
    src, mask, tgt = make_batch(extra=3)
    loss = token_loss(model(src, mask, tgt), F.pad(tgt[:, 1:], (0, 1)), label_smoothing=0.1, pad_id=0).sum
    tables = [model.src_embedding.weight, model.tgt_embedding.weight]
    for gradient in torch.autograd.grad(loss, tables):
        assert (gradient[0] == 0).all()
        assert (gradient[5] != 0).any() or (gradient[7] != 0).any()


@pytest.mark.parametrize(
    ("changes", "table", "deviation"),
    [
        ({}, "tgt_embedding", 64**-0.5),
        ({"scale_embeddings": False}, "tgt_embedding", 1.0),
        ({"scale_embeddings": False, "share_embeddings": "target"}, "tgt_embedding", 64**-0.5),
        ({"scale_embeddings": False, "share_embeddings": "target"}, "src_embedding", 1.0),
        ({}, "encoder.layers.0.self_attention.query", math.sqrt(2 / (64 + 3 * 64))),
        ({}, "decoder.layers.0.cross_attention.output", math.sqrt(2 / (64 + 64))),
        ({}, "encoder.layers.0.feed_forward.outer", math.sqrt(2 / (64 + 128))),
        ({}, "projection", math.sqrt(2 / (64 + 500))),
        ({"initialisation": "normal"}, "decoder.layers.0.self_attention.key", 0.02),
        ({"initialisation": "normal"}, "decoder.layers.0.feed_forward.outer", 0.02 / math.sqrt(2 * 3)),
        ({"initialisation": "normal"}, "encoder.layers.0.self_attention.output", 0.02 / math.sqrt(2 * 2)),
    ],
)
def test_initial_deviations(changes: dict[str, Any], table: str, deviation: float) -> None:
    model = Transformer(500, 500, **(BASE | {"d_model": 64, "num_heads": 4, "d_ff": 128} | changes))
    weight = model.get_parameter(f"{table}.weight")
    assert float(weight.detach().std()) == pytest.approx(deviation, rel=0.04)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("bias"))
    assert not model.tgt_embedding.weight[0].any()
