"""`batch.tokens: auto`, and the refusal of runs that cannot fit."""

import re
from dataclasses import replace

import numpy as np
import pytest

from translator import budget
from translator.budget import choose_tokens, largest_that_fits, worst_bytes
from translator.config import ModelConfig
from translator.errors import TranslatorError
from translator.memory import Sizes

SIZES = Sizes.of(ModelConfig().model_dump(), src_vocab_size=8000, tgt_vocab_size=8000)
GB = 10**9


def lengths(*of: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(of, dtype=np.int32)


@pytest.mark.parametrize(
    ("kind", "num_target_tokens", "tokens"),
    [
        ("cpu", 400_000, 1024),
        ("cpu", 2_000_000, 2048),
        ("cpu", 300_000_000, 4096),
        ("cuda", 400_000, 4096),
        ("mps", 300_000_000, 16384),
    ],
)
def test_small_corpora_get_small_batches(kind: str, num_target_tokens: int, tokens: int) -> None:
    tgt = np.full(num_target_tokens // 100, 100)
    assert choose_tokens(SIZES, kind, tgt, tgt, free=1000 * GB)[0] == tokens
    assert choose_tokens(SIZES, kind, tgt, tgt, free=None)[0] == tokens  # where the system does not tell


def test_memory_bounds_the_batches_to_half_of_what_is_free() -> None:
    tgt = np.full(10_000_000, 50)
    free = 2 * worst_bytes(SIZES, 3000, 50)
    tokens, reason = choose_tokens(SIZES, "cpu", tgt, tgt, free=free)
    assert tokens == 2048  # the next power of two below 3,000, not the 4,096 that suit the corpus
    assert "50%" in reason
    assert choose_tokens(SIZES, "cpu", tgt, tgt, free=int(free * 1.01))[0] == tokens


def test_the_longest_pair_fits_whatever_else_is_wanted() -> None:
    assert choose_tokens(SIZES, "cpu", lengths(5, 1500), lengths(4, 30), free=100 * GB) == (1500, "the longest pair")
    assert choose_tokens(SIZES, "cpu", lengths(5, 700), lengths(4, 30), free=1)[0] == 700


def test_the_largest_budget_that_fits() -> None:
    limit = worst_bytes(SIZES, 5000, 40)
    tokens = largest_that_fits(SIZES, limit, 40)
    assert tokens is not None
    assert 4900 <= tokens <= 5000
    assert worst_bytes(SIZES, tokens, 40) <= limit
    assert largest_that_fits(SIZES, SIZES.lasting_bytes() + SIZES.saving_bytes() - 1, 40) is None


def test_rows_whose_attention_weights_are_kept_may_need_more_than_longer_ones() -> None:
    sizes = replace(SIZES, plain_attention_keys=64)
    assert worst_bytes(sizes, 6400, 100) == sizes.peak_bytes(100, 64, 64) > sizes.peak_bytes(64, 100, 100)
    assert worst_bytes(sizes, 6400, 40) == sizes.peak_bytes(160, 40, 40)


def test_a_run_that_fits_says_what_it_takes() -> None:
    assert re.fullmatch(
        r"Memory: training takes about 0\.\d\d GB \(largest batch: 9 rows of 20 source and 30 target tokens\) "
        r"of 8\.0 GB that are free\.",
        budget.check(SIZES, {(9, 20, 30), (2, 1, 1)}, tokens=300, free=8 * GB),
    )
    assert "free" not in budget.check(SIZES, {(9, 20, 30)}, tokens=300, free=None)


def test_a_run_that_does_not_fit_is_refused_with_the_budget_that_would() -> None:
    free = int(worst_bytes(SIZES, 2000, 30) / budget.HEADROOM)
    with pytest.raises(TranslatorError, match=r"batch.tokens=30000 \(a batch of 1000 rows of 30") as raised:
        budget.check(SIZES, {(1000, 30, 30)}, tokens=30000, free=free)
    found = re.search(r"the largest batch.tokens that would fit is (\d+)", str(raised.value))
    assert found is not None
    assert 1950 <= int(found[1]) <= 2000
    assert "\n" not in str(raised.value)


def test_a_model_that_does_not_fit_is_refused_as_such() -> None:
    with pytest.raises(TranslatorError, match=r"parameters alone take .* choose a smaller model"):
        budget.check(SIZES, {(1, 5, 5)}, tokens=50, free=SIZES.lasting_bytes())
    free = int((SIZES.lasting_bytes() + SIZES.saving_bytes()) * 1.1 / budget.HEADROOM)
    with pytest.raises(TranslatorError, match=r"lower corpus\.filters\.max_tokens"):
        budget.check(SIZES, {(1, 9000, 9000)}, tokens=9000, free=free)
