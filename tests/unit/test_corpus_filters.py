"""Copies, several targets, overlap: counted on hashes of hand-made pairs."""

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from translator.config import Filters
from translator.corpus import filters, language
from translator.corpus.filters import ambiguous_sources, copies, equal_sides, overlap
from translator.corpus.pairs import ROW, Pairs
from translator.corpus.sides import Sides
from translator.corpus.store import normalise, store_parts
from translator.errors import CorpusError


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


def test_overlap_with_many_pairs_works_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "PIECE", 10_000)
    num_pairs = 300_000
    many = np.zeros(num_pairs, dtype=ROW)
    many["source"], many["target"] = np.arange(num_pairs), np.arange(num_pairs)[::-1]
    few = np.array(many[[5, 7]])
    few["source"], few["target"] = many["target"][[5, 7]], many["source"][[5, 9]]
    tracemalloc.start()
    try:
        assert np.flatnonzero(overlap(many, few, "pair", rows_turned=True)).tolist() == [5]
        assert np.flatnonzero(overlap(many, few, "source", rows_turned=True)).tolist() == [5, 7]
        assert overlap(few, many, "pair", others_turned=True).tolist() == [True, False]
        assert overlap(few, many, "source", others_turned=True).tolist() == [True, True]
        assert not overlap(many[:1000], few, "pair").any()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * num_pairs  # one hash for each pair is 8 bytes, a row of the table 36


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


@pytest.mark.parametrize(("num_values", "num_others"), [(0, 3), (5, 0), (500, 40), (40, 500), (7, 7)])
def test_members_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch, num_values: int, num_others: int) -> None:
    monkeypatch.setattr(filters, "PIECE", 16)
    random = np.random.default_rng(num_values)
    values, others = (random.integers(0, 60, size).astype(np.uint64) for size in (num_values, num_others))
    assert filters._members(values, others).tolist() == np.isin(values, others).tolist()


def share(pairs: Pairs, settings: Filters) -> filters.Share:
    return filters.Share(len(pairs), settings, ("en", "it"))


def test_a_pair_counts_for_the_first_filter_that_leaves_it_out(pairs: Make) -> None:
    made = pairs(
        ("one", "uno"),
        ("one", "uno"),
        ("ONE", "Uno!"),
        ("too long", "due"),
        ("too long", "due"),
        ("x", "y"),
        ("x", "z"),
    )
    settings = Filters(max_characters=7, drop_duplicates=True, drop_overlap="pair", targets_per_source="first")
    keep, dropped = filters.apply_filters(made, [share(made, settings)], [pairs(("X", "z"))], num_workers=1)
    assert keep.tolist() == [True, False, False, False, False, True, False]
    assert [(one.key, one.count, one.rows) for one in dropped] == [
        ("max_characters", 2, [3, 4]),
        ("drop_duplicates", 1, [1]),
        ("drop_overlap", 1, [6]),
        ("targets_per_source", 1, [2]),
    ]


def test_the_first_target_is_the_first_that_other_filters_leave(pairs: Make) -> None:
    made = pairs(("one", "much too long"), ("one", "uno"), ("one", "un"))
    settings = Filters(max_characters=7, targets_per_source="first")
    assert filters.apply_filters(made, [share(made, settings)], [])[0].tolist() == [False, True, False]


def test_each_corpus_has_its_filters_and_its_languages(pairs: Make) -> None:
    """Copies and earlier sources are those of pairs that stay, the latter of the same languages."""
    made = pairs(
        *(("too long", "due"), ("one", "uno"), ("Это", "uno")),
        *(("too long", "due"), ("one", "uno"), ("one", "un")),
        *(("too long", "due"), ("one", "uno"), ("Это", "zwei"), ("один", "un")),
    )
    strict = Filters(max_characters=7, drop_duplicates=True, min_script=0.5)
    loose = Filters(drop_duplicates=True, targets_per_source="first")
    shares = [
        filters.Share(3, strict, ("en", "it")),
        filters.Share(3, loose, ("en", "it")),
        filters.Share(4, Filters(min_script=0.5, targets_per_source="first"), ("ru", "de")),
    ]
    keep, dropped = filters.apply_filters(made, shares, [])
    assert keep.tolist() == [False, True, False, True, False, False, False, False, True, True]
    assert [(one.key, one.by_corpus, one.rows) for one in dropped] == [
        ("max_characters", [1, 0, 0], [0]),
        ("min_script", [1, 0, 2], [2, 6, 7]),
        ("drop_duplicates", [0, 1, 0], [4]),
        ("targets_per_source", [0, 1, 0], [5]),
    ]


@pytest.mark.slow  # processes that load everything anew
def test_processes_find_what_one_finds(pairs: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pairs(*((f"number {i}", f"{i % 3}") for i in range(9)))
    settings = Filters(min_shared_numbers=1.0)
    alone = filters.apply_filters(made, [share(made, settings)], [])[0]
    monkeypatch.setattr(filters, "PART_ROWS", 2)
    monkeypatch.setattr(filters, "RULES_VERSION", -1)  # not what is in the cache
    assert filters.apply_filters(made, [share(made, settings)], [], num_workers=2)[0].tolist() == alone.tolist()
    assert alone.tolist() == [True, True, True, *[False] * 6]


def test_parts_that_a_killed_process_filtered_are_not_asked_again(
    pairs: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pairs(*((f"number {i}", f"{i % 3}") for i in range(9)))
    settings = Filters(min_shared_numbers=1.0)
    alone = filters.apply_filters(made, [share(made, settings)], [])[0]
    asked = []

    class KilledAtTheThird:
        @staticmethod
        def of(table: Any) -> Sides:
            asked.append(table["source"][0].as_py())
            if len(asked) == 3:
                raise KeyboardInterrupt
            return Sides.of(table)

    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path))
    monkeypatch.setattr(filters, "PART_ROWS", 2)
    monkeypatch.setattr(filters, "Sides", KilledAtTheThird)
    with pytest.raises(KeyboardInterrupt):
        filters.apply_filters(made, [share(made, settings)], [], num_workers=1)
    again = filters.apply_filters(made, [share(made, settings)], [], num_workers=1)[0]
    assert again.tolist() == alone.tolist() == [True, True, True, *[False] * 6]
    assert asked == [f"number {i}" for i in (0, 2, 4, 4, 6, 8)]
    assert not list((tmp_path / "parts").iterdir())


def test_rules_are_asked_once(pairs: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pairs(("asked", "once"), ("and", "kept"))
    settings = Filters(max_characters=4)
    first = filters.apply_filters(made, [share(made, settings)], [])[0]
    monkeypatch.setattr(filters, "_first_reasons", lambda task: pytest.fail("asked again"))
    assert filters.apply_filters(made, [share(made, settings)], [])[0].tolist() == first.tolist() == [False, True]


def test_an_unknown_script_is_told() -> None:
    assert filters.notes(Filters(min_script=0.5, source_scripts=("Latin",)), ("xx", "qqq")) == [
        "corpus.filters.min_script: the script of qqq is not known; set corpus.filters.target_scripts"
    ]


def test_a_language_that_cannot_be_told_is_refused(pairs: Make) -> None:
    with pytest.raises(CorpusError, match="does not know qqq; it knows ace af"):
        filters.apply_filters(pairs(("a", "b")), [filters.Share(1, Filters(min_language=0.1), ("en", "qqq"))], [])


def test_the_extra_is_named_where_it_is_absent(pairs: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    language._identifier.cache_clear()
    with pytest.raises(CorpusError, match=r'of the extra langid: .*"\.\[langid\]"'):
        filters.apply_filters(pairs(("a", "b")), [filters.Share(1, Filters(min_language=0.1), ("en", "it"))], [])
