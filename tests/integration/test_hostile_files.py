"""A weights folder that somebody made to do harm: every command refuses it in one sentence, and nothing runs.

Each fault is put into a copy of a folder that works. The commands run in a process of their own, together, which
counts its seconds and its memory.
"""

import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.small_run import train, write_corpus

SECONDS, MEGABYTES = 5, 64
"""Most processor time for one refusal and most memory for all of them, beyond what a good folder takes."""

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "translate": lambda model: ["translate", "--model", model, "Anna sees a boy."],
    "check": lambda model: ["check", model],
    "evaluate": lambda model: ["evaluate", "--model", model, "valid.en", "valid.it"],
    "resume": lambda model: ["resume", model],
}

CHILD = """
import json, resource, signal, sys, time
from pathlib import Path
from tests.integration.test_hostile_files import COMMANDS, commands_of
from tests.small_run import command
folder = Path(sys.argv[1])
print(json.dumps([command(folder, *words("good")).status for words in COMMANDS.values()]), flush=True)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[2:]:
    for one in commands_of(name):
        started = time.process_time()
        signal.alarm(60)  # the end of this process, where a refusal never comes
        output = command(folder, *COMMANDS[one](name))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        said = [output.status, output.out, output.err, time.process_time() - started, grown]
        print(json.dumps([f"{name}: {one}", *said]), flush=True)
"""


def commands_of(name: str) -> list[str]:
    """The commands that read what the fault of that name is in."""
    if name.startswith("checkpoint"):
        return ["check", "resume"]
    return [one for one in COMMANDS if one != "resume" or name.startswith(("config", "tokenizer"))]


class Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.file,)


def write_safetensors(folder: Path, header: bytes, data: bytes = b"", length: int | None = None) -> None:
    size = len(header) if length is None else length
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", size) + header + data)


def read_header(folder: Path) -> tuple[dict[str, Any], bytes]:
    content = (folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def change_header(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        header, data = read_header(folder)
        change(header)
        write_safetensors(folder, json.dumps(header).encode(), data)

    return spoil


def change_tokenizer(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        file = folder / "tokenizer.source.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content)
        file.write_text(json.dumps(content), encoding="utf-8")

    return spoil


def write_tokenizer(content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "tokenizer.source.json").write_text(content, encoding="utf-8")


def append_to_config(text: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        file = folder / "config.yaml"
        file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")

    return spoil


def pickled(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(pickle.dumps(Bomb(folder.parent.parent / "boom")))


def replaced(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return spoil


def moved_away(name: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        away = folder.parent.parent / f"{folder.name}.{Path(name).name}"
        (folder / name).rename(away)
        (folder / name).symlink_to(away)

    return spoil


def duplicate_keys(folder: Path) -> None:
    header, data = read_header(folder)
    name, entry = next((name, entry) for name, entry in header.items() if name != "__metadata__")
    again = json.dumps({name: {**entry, "data_offsets": [0, 8]}})
    write_safetensors(folder, (json.dumps(header)[:-1] + "," + again[1:]).encode(), data)


def first(header: dict[str, Any]) -> dict[str, Any]:
    return next(entry for name, entry in sorted(header.items()) if name != "__metadata__")


def overlap(header: dict[str, Any]) -> None:
    for entry in (entry for name, entry in header.items() if name != "__metadata__"):
        size = entry["data_offsets"][1] - entry["data_offsets"][0]
        entry["data_offsets"] = [0, size]


def explode(content: dict[str, Any]) -> None:
    """Forty replacements that double the text each time: a word of one letter becomes a terabyte."""
    doubling = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    content["normalizer"] = {"type": "Sequence", "normalizers": [doubling] * 40}


def never_ending(content: dict[str, Any]) -> None:
    pattern = {"Regex": "(.*)*(.*)*(.*)*(.*)*!"}
    content["normalizer"] = {"type": "Replace", "pattern": pattern, "content": "x"}


ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
DEEP = 100_000
STEP = "checkpoints/step-00000002"

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
ADDED = {"id": 5, "content": "Anna", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}


def all_integers(header: dict[str, Any]) -> None:
    for entry in (entry for name, entry in header.items() if name != "__metadata__"):
        entry["dtype"] = "I32"


FAULTS: dict[str, Callable[[Path], object]] = {
    "pickled weights": pickled("model.safetensors"),
    "pickled tokenizer": pickled("tokenizer.source.json"),
    "pickled config": pickled("config.yaml"),
    "header of 2^63 bytes": lambda folder: write_safetensors(folder, b"{}", length=2**63),
    "header of 2^40 bytes": lambda folder: write_safetensors(folder, b"{}", length=2**40),
    "header of 99 MB": lambda folder: write_safetensors(folder, b"{}", length=99_000_000),
    "header nested deeply": lambda folder: write_safetensors(folder, b'{"a":' + b"[" * DEEP),
    "header of no object": lambda folder: write_safetensors(folder, b"[1, 2]"),
    "empty weights": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "huge shape": change_header(lambda header: first(header).update(shape=[2**40, 2**40])),
    "shape that is right but its size": change_header(lambda header: first(header).update(shape=[10**12])),
    "negative shape": change_header(lambda header: first(header).update(shape=[-1])),
    "shape of text": change_header(lambda header: first(header).update(shape="many")),
    "offsets out of range": change_header(lambda header: first(header).update(data_offsets=[0, 2**62])),
    "offsets backwards": change_header(lambda header: first(header).update(data_offsets=[8, 0])),
    "offsets that overlap": change_header(overlap),
    "keys given twice": duplicate_keys,
    "another type": change_header(all_integers),
    "unknown type": change_header(lambda header: first(header).update(dtype="Q32")),
    "a tensor less": change_header(lambda header: header.pop(sorted(header)[-1])),
    "a tensor by another name": change_header(lambda header: header.update(extra=header.pop(sorted(header)[-1]))),
    "no metadata": change_header(lambda header: header.pop("__metadata__")),
    "metadata of no text": change_header(lambda header: header["__metadata__"].update(step=[1])),
    "a step of 5,000 digits": change_header(lambda header: header["__metadata__"].update(step="9" * 5000)),
    "an older format": change_header(lambda header: header["__metadata__"].update(format_version="0")),
    "tokenizer nested deeply": write_tokenizer("[" * DEEP),
    "tokenizer of nothing": write_tokenizer("{}"),
    "tokenizer that explodes": change_tokenizer(explode),
    "tokenizer that never ends": change_tokenizer(never_ending),
    "tokenizer with a post-processor": change_tokenizer(
        lambda content: content.update(post_processor=BYTE_LEVEL)
    ),
    "tokenizer with an added token": change_tokenizer(
        lambda content: content.update(added_tokens=[{**ADDED, "special": True}])
    ),
    "tokenizer that pads": change_tokenizer(
        lambda content: content.update(padding={**PADDING, "pad_type_id": 0, "pad_token": "<pad>"})
    ),
    "tokenizer with an id of 2^32": change_tokenizer(lambda content: content["model"]["vocab"].update(Anna=2**32 - 1)),
    "tokenizer with an id of 10^30": change_tokenizer(lambda content: content["model"]["vocab"].update(Anna=10**30)),
    "config with a tag": append_to_config('\ndescription: !!python/object/apply:os.system ["touch boom"]\n'),
    "config of aliases": append_to_config(ALIASES),
    "config nested deeply": append_to_config("extra: " + "[" * DEEP + "\n"),
    "config with a key twice": append_to_config("\nseed: 1\nseed: 2\n"),
    "config with a huge number": append_to_config("\nseed: " + "9" * 10_000 + "\n"),
    "config of two megabytes": append_to_config("# " + "x" * 2_000_000 + "\n"),
    "weights behind a link": moved_away("model.safetensors"),
    "tokenizer behind a link": moved_away("tokenizer.target.json"),
    "config behind a link": moved_away("config.yaml"),
    "weights of a device": replaced("model.safetensors", lambda file: file.symlink_to("/dev/zero")),
    "weights of a pipe": replaced("model.safetensors", os.mkfifo),
    "tokenizer of a pipe": replaced("tokenizer.source.json", os.mkfifo),
    "config of a pipe": replaced("config.yaml", os.mkfifo),
    "config that is a folder": replaced("config.yaml", Path.mkdir),
    "checkpoints behind a link": moved_away("checkpoints"),
    "checkpoint behind a link": moved_away(STEP),
    "checkpoint with a state behind a link": moved_away(f"{STEP}/state.json"),
    "checkpoint with weights behind a link": moved_away(f"{STEP}/model.safetensors"),
    "checkpoint with checksums of a pipe": replaced(f"{STEP}/checksums.json", os.mkfifo),
    "checkpoint with weights of a pipe": replaced(f"{STEP}/model.safetensors", os.mkfifo),
    "checkpoint with checksums nested deeply": lambda folder: (folder / STEP / "checksums.json").write_text("[" * DEEP),
    "checkpoint whose name is in a pipe": replaced("checkpoints/newest", os.mkfifo),
    "checkpoint whose name is on a device": replaced("checkpoints/newest", lambda file: file.symlink_to("/dev/zero")),
}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each command did with each of the folders: status, output, errors, seconds, megabytes."""
    home = write_corpus(tmp_path_factory.mktemp("hostile"))
    train(home, "train.steps=2", "name=good")
    for name, spoil in FAULTS.items():
        folder = home / "weights" / name
        shutil.copytree(home / "weights" / "good", folder)
        spoil(folder)
    command = [sys.executable, "-c", CHILD, str(home), *FAULTS]
    job = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    works, *lines = job.stdout.splitlines()
    assert json.loads(works) == [0] * len(COMMANDS), job.stderr
    assert not (home / "boom").exists()
    return {name: rest for name, *rest in map(json.loads, lines)}


@pytest.mark.parametrize("name", [f"{name}: {one}" for name in FAULTS for one in commands_of(name)])
def test_it_is_refused_in_one_sentence(outcomes: dict[str, list[Any]], name: str) -> None:
    assert name in outcomes, "this one took the process down, or a minute"
    status, out, err, seconds, megabytes = outcomes[name]
    assert (status, out if not name.endswith(": check") else "") == (2, ""), err
    said = [line for line in err.strip().splitlines() if not line.startswith("Device: ")]  # how `resume` begins
    # A config is told everything at once, one line each; a checkpoint that is not whole first as a warning.
    assert len(said) == 1 or name.startswith(("config", "checkpoint")), err
    assert "Traceback" not in err
    assert len(err) < 2000
    assert seconds < SECONDS
    assert megabytes < MEGABYTES
