"""The table in the cache: what is skipped and why, what decides its content, and that damage is mended."""

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from translator.corpus import store as store_module
from translator.corpus.cache import checksum
from translator.corpus.pairs import BATCH_ROWS, Pairs, join
from translator.corpus.read_tables import Row, Unusable
from translator.corpus.store import Batch, Tally, store_parts
from translator.errors import CorpusError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Reader:
    """Gives the same rows each time and counts how often it was asked."""

    def __init__(self, *rows: Row) -> None:
        self.rows = rows
        self.num_reads = 0

    def __call__(self) -> Iterator[Row]:
        self.num_reads += 1
        return iter(self.rows)


def store(identity: dict[str, Any], name: str, rows: Callable[[], Iterator[Row]]) -> tuple[Pairs, Tally]:
    """The table of an input that is one file."""
    return store_parts(identity, name, lambda: iter([("", rows())]))


def tally_of(*rows: Row) -> Tally:
    return store({"rows": repr(rows)}, "a table", Reader(*rows))[1]


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (None, "A", "source is missing"),
        ("a", None, "target is missing"),
        (42, "A", "source is not text"),
        ("a", ["A"], "target is not text"),
        ("a", float("nan"), "target is not text"),
        ("", "A", "source is empty"),
        ("a", " \u00a0\t", "target is empty"),
        (" ", "", "both sides are empty"),
        ("a", "\ud83d", "half a character (a lone surrogate)"),
        (Unusable("the row is blank"), None, "the row is blank"),
    ],
)
def test_rows_without_a_pair_are_counted_by_reason(source: object, target: object, reason: str) -> None:
    tally = tally_of((3, "good", "gut"), (7, source, target))
    assert (tally.num_rows, tally.skipped, tally.lines) == (2, {reason: 1}, {reason: [7]})


def test_few_examples_are_kept() -> None:
    tally = tally_of((0, "good", "gut"), *((line, "", "A") for line in range(1, 100)))
    assert tally.skipped == {"source is empty": 99}
    assert tally.lines == {"source is empty": [1, 2, 3]}


def test_line_breaks_inside_a_pair_become_spaces() -> None:
    pairs, tally = store({"n": 1}, "a table", Reader((1, "a\r\nb", "A\rB\nC"), (2, "c\u2028d", "D")))
    assert pairs.dataset[:] == {"source": ["a b", "c\u2028d"], "target": ["A B C", "D"]}
    assert tally.num_folded == 1


def test_more_rows_than_a_batch_stay_in_order() -> None:
    num = 2 * BATCH_ROWS + 3
    pairs, _ = store({"n": num}, "a table", Reader(*((i, f"s{i}", f"t{i}") for i in range(num))))
    assert len(pairs) == len(pairs.dataset) == num
    assert pairs.dataset[num - 1] == {"source": f"s{num - 1}", "target": f"t{num - 1}"}
    assert pairs.locate(BATCH_ROWS) == f"a table, line {BATCH_ROWS}"
    assert pairs.dataset.cache_files  # memory-mapped, not in memory


def test_the_second_start_reads_nothing(cache: Path) -> None:
    reader = Reader((1, "a", "A"), (2, "", "B"))
    first = store({"input": 1}, "a table", reader)
    again = store({"input": 1}, "a table", reader)
    assert reader.num_reads == 1
    assert first[1] == again[1]
    assert first[0].fingerprint == again[0].fingerprint
    store({"input": 2}, "a table", reader)
    assert reader.num_reads == 2


class Canary:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.marker,)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("name", ["pairs.arrow", "rows.npy", "entry.json"])
def test_a_damaged_entry_is_made_again(cache: Path, name: str, damage: Callable[[Path], None]) -> None:
    reader = Reader((1, "a", "A"))
    whole, _ = store({"input": 1}, "a table", reader)
    fingerprint = whole.fingerprint
    del whole
    (path,) = cache.rglob(name)
    damage(path)
    mended, _ = store({"input": 1}, "a table", reader)
    assert reader.num_reads == 2
    assert mended.fingerprint == fingerprint
    assert mended.dataset[0] == {"source": "a", "target": "A"}


def test_a_pickle_in_the_cache_is_never_run(cache: Path, tmp_path: Path) -> None:
    store({"input": 1}, "a table", Reader((1, "a", "A")))
    (rows,), (entry,) = cache.rglob("rows.npy"), cache.rglob("entry.json")
    rows.write_bytes(pickle.dumps({"model": Canary(tmp_path / "marker")}))
    entry.write_text(re.sub(r'("rows.npy": ")\w+', rf"\g<1>{checksum(rows)}", entry.read_text()))
    with pytest.raises(CorpusError, match=r"is not a table of the cache .*delete the folder"):
        store({"input": 1}, "a table", Reader((1, "a", "A")))
    assert not (tmp_path / "marker").exists()


def test_what_a_killed_process_left_is_removed(cache: Path) -> None:
    left = cache / "pairs" / ".new-left"
    left.mkdir(parents=True)
    (left / "pairs.arrow").write_bytes(b"half")
    store({"input": 1}, "a table", Reader((1, "a", "A")))
    assert not left.exists()


def test_an_error_while_reading_leaves_nothing_behind(cache: Path) -> None:
    def broken() -> Iterator[Row]:
        yield 1, "a", "A"
        raise CorpusError("line 2 is bad")

    with pytest.raises(CorpusError, match="line 2 is bad"):
        store({"input": 1}, "a table", broken)
    assert list((cache / "pairs").iterdir()) == list((cache / "parts").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "file"))
    with pytest.raises(CorpusError, match=r"cannot be written .*set TRANSLATOR_CACHE to another folder"):
        store({"input": 1}, "a table", Reader((1, "a", "A")))


def test_joined_tables_remember_where_each_row_was() -> None:
    first, _ = store({"n": "first"}, "one.tsv", Reader((1, "a", "A"), (3, "b", "B")))
    second, _ = store({"n": "second"}, "two.tsv", Reader((8, "c", "C")))
    both = join([first, second])
    assert both.dataset["source"][:] == ["a", "b", "c"]
    assert [both.locate(i) for i in range(3)] == ["one.tsv, line 1", "one.tsv, line 3", "two.tsv, line 8"]


def numbered(first: int, last: int) -> list[Row]:
    return [(number, f"s{number}", f"t{number}" if number % 3 else "") for number in range(first, last)]


def test_chunks_make_the_table_that_one_piece_makes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, counts = store({"input": 1}, "a table", Reader(*numbered(1, 12)))
    monkeypatch.setattr("translator.corpus.store.CHUNK_ROWS", 3)
    monkeypatch.setattr("translator.corpus.store.usable_cores", lambda: 1)
    in_parts, tally = store({"input": 2}, "a table", Reader(*numbered(1, 12)))
    assert in_parts.identity == whole.identity
    assert in_parts.dataset["target"][:] == whole.dataset["target"][:]
    assert tally == counts
    assert tally.lines == {"target is empty": [3, 6, 9]}


def test_chunks_span_the_files_of_an_input(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.corpus.store.CHUNK_ROWS", 4)
    monkeypatch.setattr("translator.corpus.store.usable_cores", lambda: 1)
    files: dict[str, list[Row]] = {"a": numbered(1, 3), "b": [], "c": numbered(1, 8), "d": [(1, "", "")]}
    pairs, tally = store_parts({"input": 1}, "an archive", lambda: ((name, iter(rows)) for name, rows in files.items()))
    assert [pairs.locate(i) for i in range(len(pairs))] == [
        *(f"an archive: a, line {line}" for line in (1, 2)),
        *(f"an archive: c, line {line}" for line in (1, 2, 4, 5, 7)),
    ]
    assert (tally.parts, tally.places) == (
        ["a", "b", "c", "d"],
        {"target is empty": [2, 2], "both sides are empty": [3]},
    )


def test_finished_chunks_are_not_made_again_after_a_kill(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.corpus.store.CHUNK_ROWS", 3)
    monkeypatch.setattr("translator.corpus.store.usable_cores", lambda: 1)

    def killed() -> Iterator[Row]:
        yield from numbered(1, 8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store({"input": 1}, "a table", killed)
    made: list[str] = []
    write = store_module._usable_batches

    def count(rows: Iterator[Row], tally: Tally) -> Iterator[Batch]:
        made.append("a part")
        return write(rows, tally)

    monkeypatch.setattr(store_module, "_usable_batches", count)
    again, _ = store({"input": 1}, "a table", Reader(*numbered(1, 12)))
    assert len(made) == 2
    assert again.dataset["source"][:] == [f"s{number}" for number in range(1, 12) if number % 3]
    assert list((cache / "parts").iterdir()) == []


def test_joined_and_selected_rows_lie_on_disk(cache: Path) -> None:
    one, two = (store({"input": n}, f"table {n}", Reader(*numbered(n, n + 5)))[0] for n in (1, 4))
    both = join([one, two])
    kept = both.select(both.rows["line"] % 2 == 0)
    for pairs in (both, kept):
        assert isinstance(pairs.rows, np.memmap)
    assert [kept.locate(i) for i in range(len(kept))] == [
        "table 1, line 2", "table 1, line 4", "table 4, line 4", "table 4, line 8"
    ]  # fmt: skip
