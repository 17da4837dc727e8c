"""The pinned split: exact counts, no source on both sides, the same in any order."""

import hashlib

import numpy as np
import pytest
from numpy.typing import NDArray

from translator.corpus.split import TEST, TRAIN, VALID, pinned_split
from translator.errors import CorpusError


def hashes(num: int, copies: int = 1) -> NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(str(i).encode(), digest_size=8).digest() for i in range(num))
    return np.repeat(np.frombuffer(digests, dtype="<u8"), copies)


@pytest.mark.parametrize(("valid", "test"), [(1, 0), (0, 1), (10, 5), (30, 69)])
def test_counts_are_exact(valid: int, test: int) -> None:
    parts = pinned_split(hashes(100), valid=valid, test=test)
    assert np.bincount(parts, minlength=3).tolist() == [100 - valid - test, valid, test]


def test_the_smallest_hashes_are_validation_and_the_next_are_test() -> None:
    sources = hashes(50)
    parts = pinned_split(sources, valid=4, test=3)
    assert parts[np.argsort(sources)].tolist() == [VALID] * 4 + [TEST] * 3 + [TRAIN] * 43


def test_equal_sources_stay_together_and_counts_stay_exact() -> None:
    sources = np.concatenate([hashes(40, copies=3), hashes(60)[40:]])
    parts = pinned_split(sources, valid=10, test=10)
    assert np.bincount(parts).tolist() == [120, 10, 10]
    for source in np.unique(sources):
        assert len(set(parts[sources == source].tolist())) == 1


def test_order_and_further_pairs_of_train_change_nothing() -> None:
    sources = hashes(200)
    shuffled = np.random.default_rng(0).permutation(sources)
    held_out = set(sources[pinned_split(sources, valid=20, test=0) == VALID].tolist())
    assert set(shuffled[pinned_split(shuffled, valid=20, test=0) == VALID].tolist()) == held_out
    larger = hashes(220)
    moved = held_out - set(larger[pinned_split(larger, valid=20, test=0) == VALID].tolist())
    assert len(moved) <= 20 // 4  # only where a new pair has a smaller hash


@pytest.mark.parametrize(
    ("sources", "valid", "message"),
    [
        (hashes(10), 10, "asks for 10 \\+ 0 pairs and there are only 10"),
        (hashes(5, copies=4), 3, "3 pairs cannot be held out"),
        (hashes(5, copies=4), 6, "too many pairs share their source; 4 can"),
    ],
)
def test_impossible_counts_are_refused(sources: NDArray[np.uint64], valid: int, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        pinned_split(sources, valid=valid, test=0)
