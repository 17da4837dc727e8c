"""Step-by-step decoding: rows that branch, end and go on are decoded as if each had been decoded alone."""

import random

import pytest
import torch

from tests.reference import BASE, make_model
from translator import kv_cache
from translator.kv_cache import KVCache

STEPS = 40


def num_nodes(cache: KVCache) -> int:
    """Nodes of a group in the first layer, room for more not counted."""
    return cache.layers[0][0].num_held


def grow(rows: list[tuple[int, list[int]]], width: int, choose: random.Random) -> list[int]:
    """Parents as a beam gives them: some rows twice and more, some not at all, now and then all of a sentence gone."""
    sentences = sorted({sentence for sentence, _ in rows})
    if len(sentences) > 1 and choose.random() < 0.1:
        sentences.pop(choose.randrange(len(sentences)))
    parents = []
    for wanted in sentences:
        own = [row for row, (sentence, _) in enumerate(rows) if sentence == wanted]
        parents += sorted(choose.choices(own, k=choose.randint(1, width)))
    return parents


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize(("width", "most_scores"), [(1, 2**24), (4, 2**24), (4, 60)])
def test_a_tree_of_rows_is_decoded_as_each_row_alone(
    positions: str, width: int, most_scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_cache, "MAX_SCORES", most_scores)
    model = make_model(BASE | {"positions": positions})
    choose = random.Random(5)
    src = torch.randint(3, 20, (9, 6))
    mask = torch.ones(9, 6, dtype=torch.bool)
    mask[::2, 4:] = False
    rows: list[tuple[int, list[int]]] = [(sentence, []) for sentence in range(9)]
    last: list[list[float]] = []
    with torch.no_grad():
        memory, cache = model.encode(src, mask), KVCache(2)
        for step in range(STEPS):
            if step:
                parents = grow(rows, width, choose)
                cache.select(torch.tensor(parents))
                rows = [rows[parent] for parent in parents]
            length = 3 if step % 7 == 6 else 1
            new = [[choose.randrange(3, 30) for _ in range(length)] for _ in rows]
            last = model.decode(torch.tensor(new), memory, mask, cache)[:, -1].tolist()
            rows = [(sentence, [*seen, *more]) for (sentence, seen), more in zip(rows, new, strict=True)]
        owners = [sentence for sentence, _ in rows]
        alone = model.decode(torch.tensor([seen for _, seen in rows]), memory[owners], mask[owners])[:, -1]
    assert len(set(owners)) < 9
    torch.testing.assert_close(torch.tensor(last, dtype=alone.dtype), alone, rtol=0, atol=1e-10)


def test_what_lies_on_no_way_is_forgotten() -> None:
    """Every row descends from the same parent at each step, so a tree of 4 x 200 tokens is hardly more than a line."""
    model = make_model(BASE | {"num_encoder_layers": 1, "num_decoder_layers": 1})
    mask = torch.ones(2, 3, dtype=torch.bool)
    most = 0
    with torch.no_grad():
        memory, cache = model.encode(torch.full((2, 3), 5), mask), KVCache(1)
        for step in range(200):
            if step:
                first_of_each = [0, 1] if step == 1 else [0, 4]
                cache.select(torch.tensor([row for row in first_of_each for _ in range(4)]))
            model.decode(torch.full((2 if step == 0 else 8, 1), 7), memory, mask, cache)
            most = max(most, num_nodes(cache))
    assert cache.length == 200
    assert most < 2 * 200 + 8


def test_groups_without_rows_leave() -> None:
    model = make_model(BASE)
    mask = torch.ones(16, 3, dtype=torch.bool)
    held = []
    with torch.no_grad():
        memory, cache = model.encode(torch.full((16, 3), 5), mask), KVCache(2)
        for kept in (16, 15, 14, 3, 3, 1):
            if cache.length:
                cache.select(torch.arange(kept))
            model.decode(torch.full((kept, 1), 7), memory, mask, cache)
            held.append(cache.layers[1][1].num_groups)
    assert held == [16, 16, 14, 3, 3, 1]  # one of sixteen is not worth a copy of the others


def test_rows_that_only_change_places_need_no_look_at_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU their groups stay what they were; here both ways are gone on a CPU."""
    model = make_model(BASE)
    mask = torch.ones(3, 6, dtype=torch.bool)
    choose, results = random.Random(2), []
    orders = [[4 * sentence + choose.randrange(4) for sentence in range(3) for _ in range(4)] for _ in range(STEPS)]
    for knows_groups in (True, False):
        with torch.no_grad(), monkeypatch.context() as patched:
            memory, cache = model.encode(torch.full((3, 6), 5), mask), KVCache(2)
            model.decode(torch.full((3, 1), 7), memory, mask, cache)
            cache.select(torch.arange(3).repeat_interleave(4))
            if not knows_groups:
                patched.setattr(cache, "_regroup", lambda *_: None)
            for number, order in enumerate(orders):
                hidden = model.decode(torch.arange(12)[:, None] + 3 + number % 5, memory, mask, cache)
                cache.select(torch.tensor(order))
            results.append((hidden, num_nodes(cache)))
    torch.testing.assert_close(results[1][0], results[0][0], rtol=0, atol=1e-12)
    assert results[0][1] == results[1][1] < 4 * STEPS
