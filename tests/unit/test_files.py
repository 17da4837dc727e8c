"""Atomic writes, the lock of a run, and where the cache lies."""

import subprocess
import sys
from pathlib import Path

import pytest

from translator import files
from translator.errors import TranslatorError


def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    files.write_atomic(file, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("translator.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_atomic(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


HOLD = """
import sys, time
from pathlib import Path
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
