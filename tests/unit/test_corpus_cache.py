"""Folders of the cache and the parts of them that outlive a kill; what is read is tested with `store`."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from translator.corpus.cache import cache_key, cached, parts_folder
from translator.errors import CorpusError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path))
    return tmp_path


def test_a_full_disk_is_told_with_what_needs_how_much(cache: Path) -> None:
    def fill(folder: Path) -> dict[str, Any]:
        (folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    said = r"pairs cannot be written \(No space left on device\); the table needs about 3\.0 MB; make room there"
    with pytest.raises(CorpusError, match=said):
        cached("key", fill, what="the table", num_bytes=3_000_000)
    with pytest.raises(CorpusError, match=r"\(No space left on device\); make room there"):
        cached("key", fill, what="the table")
    assert list((cache / "pairs").iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_parts_stay_when_the_next_process_can_go_on_with_them(cache: Path, error: type[BaseException]) -> None:
    with suppress(error), parts_folder("key") as folder:
        (folder / "0").write_text("done")
        raise error
    with parts_folder("key") as folder:
        assert (folder / "0").read_text() == "done"
    assert list((cache / "parts").iterdir()) == []


def test_parts_of_an_input_that_cannot_be_used_are_removed(cache: Path) -> None:
    with pytest.raises(CorpusError), parts_folder("key"):
        raise CorpusError("line 2 is bad")
    assert list((cache / "parts").iterdir()) == []


def test_each_process_has_parts_of_its_own(cache: Path) -> None:
    with parts_folder("key") as first, parts_folder("key") as second:
        assert first != second
        assert second.is_dir()
    assert list((cache / "parts").iterdir()) == []


def test_parts_are_removed_when_nobody_has_gone_on_with_them_for_a_day(cache: Path) -> None:
    for name in ("old", "key", "new"):
        (cache / "parts" / name).mkdir(parents=True)
    for name in ("old", "key"):
        os.utime(cache / "parts" / name, (0, 0))
    (cache / "parts" / "key" / "0").mkdir()
    os.utime(cache / "parts" / "key", (0, 0))
    with parts_folder("key") as folder:
        assert (folder / "0").is_dir()
        assert sorted(path.name for path in (cache / "parts").iterdir()) == ["key", "new"]


def test_keys_are_of_values_whatever_the_order_of_names() -> None:
    assert cache_key({"a": 1, "b": 2}) == cache_key({"b": 2, "a": 1}) != cache_key({"a": 1, "b": 3})
