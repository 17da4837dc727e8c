"""The README holds what it promises: its commands run, in its order, in one folder, on small data.

`translator` is wrapped so that training stays short. Presets of public data need a network, so they are only
checked. Files that the README takes for the user's own are made here: `OWN_FILES` needs each of their names.
"""

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ("scripts/quickstart", "scripts/test")
ELSEWHERE = ("git clone", "cd ", "pip install", "python3 -m venv", "source .venv", ". .venv")
"""Commands that need a network or change the shell of the reader."""

PAIRS = [
    ("The house is old.", "La casa è vecchia."),
    ("The book is new.", "Il libro è nuovo."),
    ("I see the old house.", "Vedo la vecchia casa."),
    ("She reads a new book.", "Legge un libro nuovo."),
    ("We have two books.", "Abbiamo due libri."),
    ("Where is the book?", "Dov'è il libro?"),
]
OWN_FILES = {
    **{f"{name}.en": 0 for name in ("train", "valid", "test", "input")},
    **{f"{name}.it": 1 for name in ("train", "valid", "test")},
    "input.txt": 0,
    "reference.txt": 1,
}

WRAPPER = """#!{python}
import pathlib, signal, subprocess, sys
from translator.cli import main

command, *words = sys.argv[1:]
limits = ("train.steps=", "train.epochs=", "train.minutes=", "train.validate_every=", "model.")
if command == "inspect":
    default = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = [sys.executable, "-m", "translator", *sys.argv[1:]]
    server = subprocess.Popen(server, stdout=subprocess.PIPE, text=True, preexec_fn=default)
    address = server.stdout.readline()
    server.send_signal(signal.SIGINT)
    sys.exit(server.wait() or "http://" not in address)
if command == "train" and any(pathlib.Path(word).parent.name == "configs" for word in words):
    sys.exit(main(["config", *(word for word in words if word != "--restart")]))
if command in ("train", "resume"):
    words = [word for word in words if not word.startswith(limits)]
    words += ["train.steps=" + ("3" if command == "train" else "5"), "train.validate_every=100"]
if command == "train":
    words += ["model.d_model=16", "model.num_heads=2", "model.d_ff=32"]
    words += ["model.num_encoder_layers=1", "model.num_decoder_layers=1"]
sys.exit(main([command, *words]))
"""


def blocks(language: str) -> list[str]:
    """The contents of the README's code blocks of one language, in order."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """One entry for each shell command; comments, line continuations and prompts resolved."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_first_commands_are_scripts_that_can_be_started(script: str) -> None:
    file = ROOT / script
    assert commands()[SCRIPTS.index(script)].split()[0].removeprefix("./") == script
    assert file.stat().st_mode & stat.S_IXUSR, f"chmod +x {script}"
    subprocess.run(["bash", "-n", file], check=True)


def test_the_other_commands_run_as_written(tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "translator").write_text(WRAPPER.format(python=sys.executable), encoding="utf-8")
    (bin_ / "translator").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / "configs").symlink_to(ROOT / "configs")
    for name, side in OWN_FILES.items():
        (home / name).write_text("".join(pair[side] + "\n" for pair in PAIRS), encoding="utf-8")
    for text in blocks("yaml"):  # named in a comment at its top, else the user's own my.yaml
        title = re.match(r"# *(\S+\.ya?ml)\b", text)
        (home / (title[1] if title else "my.yaml")).write_text(text, encoding="utf-8")
    env = os.environ | {"PATH": f"{bin_}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands():
        if command.removeprefix("./").startswith((*SCRIPTS, *ELSEWHERE)):
            continue
        command = command.removeprefix(".venv/bin/")
        shell = ["bash", "-euo", "pipefail", "-c", command]
        done = subprocess.run(shell, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if shlex.split(command, comments=True)[:2] == ["translator", "translate"] and ">" not in command:
            assert done.stdout, command
    for code in blocks("python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=home, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{code}\n{done.stderr[-2000:]}"
