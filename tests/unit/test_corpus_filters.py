"""Copies, several targets, overlap: counted on hashes of hand-made pairs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from translator.corpus.filters import ambiguous_sources, copies, equal_sides, overlap, too_long
from translator.corpus.pairs import Pairs, normalise, store_parts


@pytest.fixture
def pairs() -> Callable[..., Pairs]:
    def make(*texts: tuple[str, str]) -> Pairs:
        rows = [(number, source, target) for number, (source, target) in enumerate(texts, start=1)]
        return store_parts({"test": texts}, "a table", lambda: iter([("", iter(rows))]))[0]

    return make


Make = Callable[..., Pairs]


def test_copies_are_exact_and_the_first_one_stays(pairs: Make) -> None:
    made = pairs(("a", "A"), ("b", "B"), ("a", "A"), ("a", "B"), ("a ", "A"), ("a", "A"))
    assert copies(made.rows).tolist() == [False, False, True, False, False, True]


def test_source_and_target_do_not_run_into_each_other(pairs: Make) -> None:
    assert not copies(pairs(("ab", "c"), ("a", "bc")).rows).any()
    made = pairs(("a", "b"))
    assert not overlap(made.rows, pairs(("b", "a")).rows, "pair").any()


def test_several_targets_are_counted_once_for_each_source(pairs: Make) -> None:
    made = pairs(("a", "A"), ("b", "B"), ("c", "C"), ("B", "x"), ("b", "y"), ("a", "A"), ("C", "c "), ("c", "z"))
    assert ambiguous_sources(made.rows).tolist() == [1, 2]


def test_equal_sides(pairs: Make) -> None:
    assert equal_sides(pairs(("OK  then", "ok then"), ("OK", "okay")).rows).tolist() == [True, False]


def test_overlap_by_pair_and_by_source(pairs: Make) -> None:
    train = pairs(("The train is late.", "Der Zug ist spät."), ("Rain is falling.", "Es regnet."), ("c", "C"))
    valid = pairs(("the train is late.", "Der Zug ist spa\u0308t."), ("Rain  is falling.", "Regen fällt."))
    assert overlap(train.rows, valid.rows, "pair").tolist() == [True, False, False]
    assert overlap(train.rows, valid.rows, "source").tolist() == [True, True, False]


def test_length_counts_characters_of_either_side(pairs: Make) -> None:
    made = pairs(("abcd", "x"), ("ಕನ್ನ", "😀😀😀😀"), ("abcde", "x"), ("x", "ಕನ್ನಡ"))
    assert too_long(made, 4).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("  Caffe\u0300\t al\u2028bar ", "caffè al bar"), ("STRASSE", "strasse"), ("Straße", "strasse")],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_selected_rows_keep_their_places(pairs: Make, tmp_path: Path) -> None:
    made = pairs(("a", "A"), ("b", "B"), ("a", "A"), ("c", "C"))
    kept = made.select(~copies(made.rows))
    assert kept.dataset["source"][:] == ["a", "b", "c"]
    assert kept.locate(2) == "a table, line 4"
    assert kept.fingerprint == pairs(("a", "A"), ("b", "B"), ("c", "C")).fingerprint
