"""The scripts of a fresh clone: what they install, when they do it again, and the commands that they run.

Python, pip and the commands that pip would install are stubs that note how they were called.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CANDIDATES = ("python3.13", "python3.12", "python3.11", "python3", "python")

PYTHON = """#!/usr/bin/env bash
case "$1 ${2-}" in
    "-c "*) ;; # it is new enough
    "--version ") echo "Python 3.13" ;;
    "-m venv")
        echo "venv" >>"$CALLS"
        rm -rf "${@: -1}" && mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python"
        ;;
    "-m pip")
        echo "pip ${@: -1}" >>"$CALLS"
        [[ ! -e no-network ]] || exit 1
        for name in translator ruff mypy pytest; do cp "$(dirname "$CALLS")/tool" ".venv/bin/$name"; done
        ;;
    *) exit 9 ;;
esac
"""
TOOL = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$CALLS"
[[ ${1-} != translate ]] || sed "s/^/it: /"
"""


class Clone:
    """A folder with the project's scripts, and what the stubs were called with."""

    def __init__(self, folder: Path, python: str = PYTHON) -> None:
        self.folder, self._calls = folder / "clone", folder / "calls"
        shutil.copytree(ROOT / "scripts", self.folder / "scripts", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for name in ("pyproject.toml", "constraints.txt"):
            (self.folder / name).write_text(f"{name} of the project\n", encoding="utf-8")
        (folder / "bin").mkdir()
        for file, text in {**{f"bin/{name}": python for name in CANDIDATES}, "tool": TOOL}.items():
            (folder / file).write_text(text, encoding="utf-8")
            (folder / file).chmod(0o755)
        self._env = os.environ | {
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(self._calls),
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command there."""
        return subprocess.run(words, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False)

    def install(self, extras: str = "") -> list[str]:
        """Source the environment and install; returns the calls that this took."""
        return self.calls("bash", "-euo", "pipefail", "-c", f'source scripts/environment; install_into_venv "{extras}"')

    def calls(self, *words: str) -> list[str]:
        """What the stubs were called with when this command, which must succeed, ran."""
        self._calls.unlink(missing_ok=True)
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_environment_is_made_once(clone: Clone) -> None:
    assert clone.install() == ["venv", "pip ."]
    assert clone.install() == []
    assert clone.install("[dev]") == ["pip .[dev]"]
    assert clone.install("[dev]") == []
    assert clone.install() == []  # what [dev] installs has it all


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_other_requirements_are_installed(clone: Clone, name: str) -> None:
    clone.install()
    (clone.folder / name).write_text("other\n", encoding="utf-8")
    assert clone.install() == ["pip ."]
    assert clone.install() == []


def test_a_folder_that_was_moved_is_installed_again(clone: Clone) -> None:
    clone.install()
    clone.folder = clone.folder.rename(clone.folder.with_name("moved"))
    assert clone.install() == ["pip ."]


def test_an_installation_that_failed_is_tried_again(clone: Clone) -> None:
    (clone.folder / "no-network").touch()
    assert clone.run("scripts/quickstart").returncode == 1
    (clone.folder / "no-network").unlink()
    assert clone.install() == ["pip ."]


def test_without_a_python_that_is_new_enough_nothing_is_made(tmp_path: Path) -> None:
    clone = Clone(tmp_path, python="#!/usr/bin/env bash\nexit 1\n")
    done = clone.run("scripts/quickstart")
    assert done.returncode == 2
    assert done.stderr == "Python 3.11 or later was not found on the PATH; install it and run this again.\n"
    assert not (clone.folder / ".venv").exists()


def test_the_quickstart_can_be_run_twice(clone: Clone) -> None:
    commands = ["train", "evaluate --model starter-en-it", "translate --model starter-en-it"]
    expected = [f"translator {command}" for command in commands]
    assert clone.calls("scripts/quickstart") == ["venv", "pip .", *expected]
    assert clone.calls("scripts/quickstart") == expected
    lines = clone.run("scripts/quickstart").stdout.splitlines()
    shown = [line.split("  ") for line in lines if "it: " in line]
    assert len(shown) == 3
    for parts in shown:  # each sentence beside its own translation
        source, translation = [part.strip() for part in parts if part]
        assert translation == f"it: {source}"


def test_the_tests_are_run_after_lint_and_types(clone: Clone) -> None:
    before = ["ruff check .", "ruff format --check .", "mypy "]
    pytest_runs = "pytest -n 2 --dist loadfile"
    assert clone.calls("scripts/test") == ["venv", "pip .[dev]", *before, f"{pytest_runs} -m not slow"]
    assert clone.calls("scripts/test", "--all") == [*before, pytest_runs]
    assert clone.calls("scripts/test", "tests/unit", "-k", "config") == [
        *before,
        f"{pytest_runs} -m not slow tests/unit -k config",
    ]
