"""Runs that do not go on: with other settings, tokenizers or text than they began with."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_run import PAIRS, command, snapshot, state, train, write_corpus, write_pairs
from translator.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and the run small; tests that change it work on a copy."""
    folder = write_corpus(tmp_path_factory.mktemp("trained"))
    train(folder, "train.steps=5")
    return folder


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change; its stored configuration names the corpus in the copy."""
    folder = shutil.copytree(trained, tmp_path / "copy")
    stored = folder / "weights" / "small" / "config.yaml"
    _, _, text = stored.read_text(encoding="utf-8").partition("\n")  # without the line that holds its checksum
    stored.write_text(text.replace(str(trained), str(folder)), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        (["model.d_model=32"], ["model.d_model: 16 is stored, 32 is asked"]),
        (["seed=2", "tokenizer.kind=bpe"], ["seed: 1 is stored, 2 is asked", "tokenizer.kind: word", "bpe"]),
    ],
)
@pytest.mark.parametrize("begin", [["resume", "small"], ["train", "small.yaml"]])
def test_settings_that_cannot_change_are_listed(
    trained: Path, begin: list[str], words: list[str], listed: list[str]
) -> None:
    before = snapshot(trained)
    output = command(trained, *begin, "train.steps=8", *words)
    assert output.status == 2
    assert all(part in output.message for part in listed)
    assert snapshot(trained) == before


# --- files that do not belong together


def more_entries(weights: Path) -> None:
    lines = [f"{source} {' '.join(f'w{number}' for number in range(50))}" for source, _ in PAIRS]
    old = Tokenizer.load(weights / "tokenizer.source.json").vocab_size
    new = Tokenizer.train(lines, kind="word", vocab_size=1000)
    assert new.vocab_size == old + 50
    new.save(weights / "tokenizer.source.json")


def swapped_entries(weights: Path) -> None:
    file = weights / "tokenizer.target.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    first, second = list(vocabulary)[-2:]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    file.write_text(json.dumps(content), encoding="utf-8")


def swapped_files(weights: Path) -> None:
    source, target = weights / "tokenizer.source.json", weights / "tokenizer.target.json"
    source.rename(weights / "aside")
    target.rename(source)
    (weights / "aside").rename(target)


@pytest.mark.parametrize("spoil", [more_entries, swapped_entries, swapped_files])
def test_tokenizers_of_another_model_are_refused(copy: Path, spoil: Callable[[Path], None]) -> None:
    spoil(copy / "weights" / "small")
    before = snapshot(copy)
    for words in (["translate", "--model", "small", PAIRS[0][0]], ["resume", "small", "train.steps=8"]):
        output = command(copy, *words)
        assert output.status == 2, words
        assert output.out == "", words
        assert "tokenizer" in output.message, words
        assert len(re.findall(r"\b[0-9a-f]{12}\b", output.message)) == 2, words  # both hashes
        assert snapshot(copy) == before, words


@pytest.mark.parametrize("name", ["train", "valid"])
def test_a_changed_corpus_is_refused_and_accepted_when_asked(copy: Path, name: str) -> None:
    write_pairs(copy, name, [*PAIRS[1:], ("Anna sees.", "Anna vede.")])
    before = snapshot(copy)
    said = (
        f"{name} has {len(PAIRS)} pairs as before, but not the same ones" if name == "train" else "valid had 11 pairs"
    )
    for begin in (["resume", "small"], ["train", "small.yaml"]):
        output = command(copy, *begin, "train.steps=8")
        assert output.status == 2
        assert "The corpus has changed since" in output.message
        assert said in output.message
        assert f"(in {copy}/{name}.en and {copy}/{name}.it)" in output.message
        assert snapshot(copy) == before
    (last,) = (copy / "weights" / "small" / "checkpoints").glob("step-*5")
    position = json.loads((last / "state.json").read_text(encoding="utf-8"))["stream"]
    output = command(copy, "resume", "small", "train.steps=6", "--accept-new-corpus")
    assert output.status == 0, output.err
    assert f"New corpus accepted: {said}" in output.err
    stored = json.loads((last / "state.json").read_text(encoding="utf-8"))["stream"]
    assert stored == {"epoch": position["epoch"] + 1, "batch": 0}  # written at once, at the step where it was left
    assert command(copy, "resume", "small", "train.steps=8").status == 0  # and known from then on
    assert state(copy)["step"] == 8


def test_another_version_is_announced_and_a_strange_checkpoint_refused(copy: Path) -> None:
    (last,) = (copy / "weights" / "small" / "checkpoints").glob("step-*5")
    file = last / "state.json"
    content = json.loads(file.read_text(encoding="utf-8"))

    def rewrite(**changes: object) -> None:
        text = json.dumps({**content, **changes})
        file.write_text(text, encoding="utf-8")
        sums = json.loads((last / "checksums.json").read_text(encoding="utf-8"))
        sums["state.json"] = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text.encode())}
        (last / "checksums.json").write_text(json.dumps(sums), encoding="utf-8")

    rewrite(format_version=0)
    refused = command(copy, "resume", "small", "train.steps=8")
    assert (refused.status, "has checkpoint format 0" in refused.message) == (2, True)
    strange: list[dict[str, object]] = [{"stream": {"epoch": -1}}, {"stream": None}, {"sums": []}, {"tokenizers": [1]}]
    strange += [
        {"stream": {"epoch": -1, "batch": 0}},
        {"logs": []},
        {"validations_without_gain": "x"},
        {"best": {"step": 1}},
    ]
    strange += [{"sums": {**content["sums"], "tokens": "x"}}, {"loss_variance": -1.0}, {"unread": [["x"] * 8]}]
    for changes in strange:
        rewrite(**changes)
        refused = command(copy, "resume", "small", "train.steps=8")
        assert (refused.status, "does not hold what this program stores" in refused.message) == (2, True), refused.err
    rewrite(torch="1.0", contents=None)
    output = command(copy, "resume", "small", "train.steps=6")
    assert output.status == 0, output.err
    assert "torch was 1.0, is 2." in output.err


def test_a_moved_corpus_is_accepted(copy: Path) -> None:
    moved = copy / "moved"
    moved.mkdir()
    for file in [*copy.glob("*.en"), *copy.glob("*.it"), copy / "small.yaml"]:
        file.rename(moved / file.name)
    output = command(copy, "train", "moved/small.yaml", "train.steps=6")
    assert output.status == 0, output.err
    assert state(copy)["step"] == 6
    assert command(copy, "resume", "small", "train.steps=7").status == 0  # the new place is stored
