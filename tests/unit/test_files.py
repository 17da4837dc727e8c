"""Atomic writes, the lock of a run, and where the cache lies."""

import errno
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from translator import files
from translator.errors import TranslatorError

NO_ROOM = {
    errno.ENOSPC: "and .* MB are free",
    errno.EDQUOT: "and the quota is used up",
    errno.EFBIG: r"and files may not be as large \(ulimit -f\)",
}


def told(number: int, size: str) -> str:
    """What is said of a file for which there is no room."""
    return rf"a could not be written \({os.strerror(number)}\): it needs about {size} MB, {NO_ROOM[number]}\. Make room"


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_failed_write_leaves_the_old_content_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file = tmp_path / "a"
    files.write_atomic(file, "old")

    def full(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("translator.files.os.fsync", full)
    with pytest.raises(OSError, match=os.strerror(number)) as failed:
        files.write_atomic(file, "new")
    assert (failed.value.errno, failed.value.filename) == (number, str(file))
    with pytest.raises(TranslatorError, match=told(number, "0.1")):
        files.write_or_tell(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


HOLD = """
import sys, time
from pathlib import Path
from typing import Any
from translator.files import hold
with hold(Path(sys.argv[1]), "run a"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_holds_the_lock_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(TranslatorError, match=f"process {other.pid} on "), files.hold(lock, "run a"):
        pass
    other.kill()
    other.communicate()
    with files.hold(lock, "run a"):
        pass


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with suppress(KeyError), files.new_folder(tmp_path / "a") as temporary:
        (temporary / "x").write_text("half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    for content in ("old", "new"):
        with files.new_folder(tmp_path / "a") as temporary:
            (temporary / "x").write_text(content)
    assert (tmp_path / "a" / "x").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_folder_that_nobody_writes_any_more_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".new-left"
    left.mkdir()
    with files.new_folder(tmp_path / "a") as held:
        assert not left.exists()
        with files.new_folder(tmp_path / "b"):
            assert held.is_dir()  # its writer is alive
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a", tmp_path / "b"]


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with files.held_folder(folder) as first:
        with files.held_folder(folder) as second:
            assert (first, second) == (True, False)
        files.remove_unheld([folder])
        assert folder.is_dir()
    with files.held_folder(folder) as again:
        assert again
    files.remove_unheld([folder])
    assert not folder.exists()


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_full_disk_is_told_with_the_file_and_the_space(tmp_path: Path, number: int) -> None:
    with pytest.raises(TranslatorError, match=told(number, "3.0")), files.room_for(tmp_path / "a", 3_000_000):
        raise OSError(number, os.strerror(number))
    with pytest.raises(PermissionError), files.room_for(tmp_path / "a", 3_000_000):
        raise PermissionError


def test_without_locks_nothing_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with files.hold(tmp_path / "lock", "run a"), files.new_folder(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_dir()
    with files.held_folder(tmp_path / "b") as held:
        assert held


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLATOR_CACHE", "/a/b")
    assert files.cache_folder() == Path("/a/b")
    monkeypatch.setenv("TRANSLATOR_CACHE", "~/c")
    assert files.cache_folder() == Path.home() / "c"
    monkeypatch.delenv("TRANSLATOR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert files.cache_folder() == Path("/c/translator")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert files.cache_folder() == Path.home() / ".cache" / "translator"


def test_a_new_folder_that_another_process_removes_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is locked it looks like the leftover of a killed process."""
    make = tempfile.mkdtemp
    made: list[str] = []

    def removed_at_first(**options: Any) -> str:
        made.append(make(**options))
        if len(made) == 1:
            files.remove_unheld([Path(made[0])])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_first)
    with files.new_folder(tmp_path / "a") as temporary:
        (temporary / "file").write_text("x")
    assert (len(made), (tmp_path / "a" / "file").read_text()) == (2, "x")
