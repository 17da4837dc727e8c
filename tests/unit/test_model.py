"""The model family: against a plain reference, and the promises of its docstrings."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.reference import BASE, SRC, TGT, VARIANTS, Reference, gradients, make_batch, make_model, position
from translator.kv_cache import KVCache
from translator.loss import token_loss
from translator.model import Transformer, sinusoids


@pytest.fixture(params=VARIANTS)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BASE | VARIANTS[request.param]


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
    other = make_model(BASE | {"share_embeddings": share}, seed=4)
    assert not torch.equal(other(*batch), model(*batch))
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
    torch.manual_seed(3)
    model = Transformer(500, 500, **(BASE | {"d_model": 64, "num_heads": 4, "d_ff": 128} | changes))
    weight = model.get_parameter(f"{table}.weight")
    assert float(weight.detach().std()) == pytest.approx(deviation, rel=0.04)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("bias"))
    assert not model.tgt_embedding.weight[0].any()
