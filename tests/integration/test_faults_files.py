"""Damaged files, odd places, and a weights folder that opens without this program."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.small_run import PAIRS, command, snapshot, train, write_corpus
from translator.checkpoint import list_checkpoints

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, no_pictures: None) -> Path:
    """A folder with a corpus and the run small, with checkpoints of steps 4, 8 and 10."""
    folder = write_corpus(tmp_path_factory.mktemp("trained"))
    train(folder, "train.steps=10", "train.save_every=4", "train.validate_every=100")
    return folder


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(trained, tmp_path / "copy")


def flip(file: Path, place: float) -> None:
    data = bytearray(file.read_bytes())
    data[int(place * (len(data) - 1))] ^= 0x10
    file.write_bytes(data)


def cut(file: Path, share: float) -> None:
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])


DAMAGES: dict[str, Callable[[Path], None]] = {
    **{f"a bit flipped at {place}": partial(flip, place=place) for place in (0.0, 0.3, 0.7, 1.0)},
    "cut in the middle": lambda file: cut(file, 0.5),
    "empty": lambda file: cut(file, 0.0),
    "missing": lambda file: file.unlink(),
}

# --- checkpoints


def test_every_damage_to_a_checkpoint_is_found_and_named(copy: Path) -> None:
    newest = list_checkpoints(copy / "weights/small/checkpoints")[-1]
    files = sorted(newest.iterdir())
    assert len(files) == 5
    for file in files:
        whole = file.read_bytes()
        for name, damage in DAMAGES.items():
            damage(file)
            output = command(copy, "check", "small")
            assert output.status == 2, (file, name)
            (found,) = [line for line in output.out.splitlines() if line.startswith("DAMAGED")]
            assert newest.name in found, (file, name)
            assert file.name in found or file.name == "checksums.json", (file, name)
            file.write_bytes(whole)


def test_the_checkpoint_before_a_damaged_one_is_used(
    trained: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    newest = list_checkpoints(copy / "weights/small/checkpoints")[-1]
    flip(newest / "optimizer.safetensors", 0.5)
    output = command(copy, "resume", "small", "train.steps=12")
    assert output.status == 0
    assert f"{newest.name}/optimizer.safetensors is damaged (its checksum differs)" in caplog.text
    assert "goes on from step 8" in output.err
    again = shutil.copytree(trained, copy / "again")
    assert command(again, "resume", "small", "train.steps=12").status == 0
    last = "weights/small/checkpoints/step-00000012/model.safetensors"
    assert (copy / last).read_bytes() == (again / last).read_bytes()
    damaged = [line for line in command(copy, "check", "small").out.splitlines() if line.startswith("DAMAGED")]
    assert len(damaged) == 1  # it stays among the older ones until it is pruned
    assert newest.name in damaged[0]


# --- the weights folder


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "tokenizer.source.json", "tokenizer.target.json"])
def test_no_damaged_file_is_ever_translated_with(copy: Path, name: str) -> None:
    folder = copy / "weights" / "small"
    file, whole = folder / name, (folder / name).read_bytes()
    expected = command(copy, "translate", "--model", "small", PAIRS[0][0])
    assert expected.status == 0
    for damage, do in DAMAGES.items():
        do(file)
        output = command(copy, "translate", "--model", "small", PAIRS[0][0])
        if output.status == 0:  # a bit of white space or of a comment: nothing that is read has changed
            assert output.out == expected.out, damage
        else:
            assert (output.status, output.out) == (2, ""), damage
            assert name.split(".")[0] in output.message, damage
        if damage != "a bit flipped at 0.0":
            assert output.status == 2 or name.startswith("tokenizer"), damage
        file.write_bytes(whole)


def test_a_stored_configuration_that_was_changed_by_hand_is_told(copy: Path) -> None:
    file = copy / "weights" / "small" / "config.yaml"
    text = file.read_text(encoding="utf-8").replace("beam_size: 1", "beam_size: 2")
    file.write_text(text, encoding="utf-8")
    refused = command(copy, "translate", "--model", "small", PAIRS[0][0])
    assert refused.status == 2
    assert "remove its first line if the change is wanted" in refused.message
    file.write_text(text.partition("\n")[2], encoding="utf-8")
    assert command(copy, "translate", "--model", "small", PAIRS[0][0]).status == 0


def test_check_tells_every_part(trained: Path) -> None:
    output = command(trained, "check", "--json", "small")
    assert output.status == 0
    parts = {part["name"]: part for part in map(json.loads, output.out.splitlines())}
    steps = {f"checkpoints/step-{step:08d}" for step in (4, 8, 10)}
    names = {"config.yaml", "tokenizers", "model.safetensors", "all together", "checkpoints/newest", "checkpoints/best"}
    assert parts.keys() == names | steps
    assert all(part["whole"] for part in parts.values())
    assert "checksum right, all finite" in parts["model.safetensors"]["found"]


OPEN_ALL = """
import json, sys
from pathlib import Path
from ruamel.yaml import YAML
from safetensors import safe_open
opened = 0
for file in sorted(Path(sys.argv[1]).rglob("*")):
    if file.suffix == ".safetensors":
        with safe_open(file, framework="numpy") as tensors:
            assert all(tensors.get_tensor(name).size for name in tensors.keys())
    elif file.suffix == ".json":
        json.loads(file.read_text(encoding="utf-8"))
    elif file.suffix == ".yaml":
        assert YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))["seed"] == 1
    elif file.is_file():
        assert file.name in ("README.md", "newest", "best") and file.read_text(encoding="utf-8")
    opened += file.is_file()
assert not any(name.partition(".")[0] in ("translator", "torch") for name in sys.modules)
print(opened)
"""


def test_every_file_opens_without_this_program(trained: Path, tmp_path: Path) -> None:
    code = [sys.executable, "-I", "-c", OPEN_ALL, str(trained / "weights" / "small")]
    result = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) == sum(path.is_file() for path in (trained / "weights" / "small").rglob("*"))


# --- odd places


def test_spaces_and_letters_of_any_script_in_paths(tmp_path: Path) -> None:
    folder = tmp_path / "un dossier à part" / "模型"
    folder.mkdir(parents=True)
    train(write_corpus(folder), "train.steps=2")
    assert command(folder, "resume", "small", "train.steps=3").status == 0
    assert command(tmp_path, "check", str(folder / "weights" / "small")).status == 0


def test_a_copied_and_a_linked_weights_folder_translate_alike(trained: Path, tmp_path: Path) -> None:
    expected = command(trained, "translate", "--model", "small", PAIRS[0][0]).out
    shutil.copytree(trained / "weights" / "small", tmp_path / "elsewhere", ignore=shutil.ignore_patterns("checkpoints"))
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "linked").symlink_to(trained / "weights" / "small")
    for model in ("elsewhere", "linked", str(tmp_path / "weights" / "linked")):
        assert command(tmp_path, "translate", "--model", model, PAIRS[0][0]).out == expected
        assert command(tmp_path, "check", model).status == 0


def run_without_rights(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; root does without its right to write everywhere."""
    environment = {**os.environ, "HOME": str(folder), "HF_HOME": str(folder / "hf"), "LC_ALL": "C"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    prefix = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all"] if os.geteuid() == 0 else []
    code = [*prefix, sys.executable, "-m", "translator", *words]
    return subprocess.run(code, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def read_only(copy: Path) -> Iterator[Path]:
    """The copy, in which nobody may write."""
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    yield copy
    for path in folders:
        path.chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere")
def test_a_read_only_folder_translates_and_says_why_it_does_not_train(read_only: Path) -> None:
    translated = run_without_rights(read_only, "translate", "--model", "small", PAIRS[0][0])
    assert translated.returncode == 0, translated.stderr
    refused = run_without_rights(read_only, "resume", "small", "train.steps=12")
    assert refused.returncode == 2
    assert "Permission denied: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_checkpoint_that_may_not_be_read_is_not_taken_for_a_damaged_one(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = list_checkpoints(copy / "weights/small/checkpoints")[-1]
    before = snapshot(copy)
    (newest / "state.json").chmod(0)
    really_open = Path.open

    def refusing(file: Path, *args: Any, **kwargs: Any) -> Any:
        if file.parts[-2:] == (newest.name, "state.json"):  # what root may read all the same
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return really_open(file, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refusing)
    refused = command(copy, "resume", "small", "train.steps=12")
    monkeypatch.undo()
    (newest / "state.json").chmod(0o644)
    assert refused.status == 2
    assert refused.message.startswith("Permission denied: ")
    assert f"{newest.name}/state.json. Check who may read" in refused.message
    assert snapshot(copy) == before
