"""Memory and bad steps in whole commands: `auto`, refusals, a bad step that is replayed without its corpus."""

import json
import math
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.small_run import CONFIG, command, state, train, write_corpus
from translator import bad_steps, build, weights
from translator.config import load_config
from translator.model import FeedForward, Transformer

AUTO = CONFIG.replace("batch: {tokens: 128}", "batch: {accumulate: 2}")


def test_auto_is_resolved_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_corpus(tmp_path, AUTO)
    output = train(folder, "train.steps=2")
    assert "Batches of 1,024 tokens: suits" in output.err
    assert "Memory: training takes about 0.1" in output.err
    stored = folder / "weights" / "small" / "config.yaml"
    assert load_config(stored).batch.tokens == 1024
    monkeypatch.setattr(build, "free_memory", lambda device: 130_000_000)  # auto would be less now
    for words in (("resume", "small"), ("train", "small.yaml")):
        output = command(folder, *words, f"train.steps={len(words[1])}")
        assert output.status == 0, output.err
        assert "suits" not in output.err
        assert load_config(stored).batch.tokens == 1024


def test_auto_has_room_for_the_longest_pair_that_the_filters_allow(tmp_path: Path) -> None:
    output = train(write_corpus(tmp_path, AUTO), "train.steps=1", "corpus.filters.max_tokens=2000")
    assert "Batches of 2,001 tokens: one pair of corpus.filters.max_tokens must fit." in output.err


def test_batches_that_are_cut_otherwise_begin_the_next_epoch_whatever_happens_before_the_next_checkpoint(
    tmp_path: Path,
) -> None:
    """The stored configuration names the new size at once; the checkpoint's own plan says how it was made."""
    folder = write_corpus(tmp_path)
    train(folder, "train.steps=2")
    checkpoint = folder / "weights" / "small" / "checkpoints" / "step-00000002" / "state.json"
    assert json.loads(checkpoint.read_text(encoding="utf-8"))["stream"] == {"epoch": 0, "batch": 2}
    stored = folder / "weights" / "small" / "config.yaml"
    text = stored.read_text(encoding="utf-8").split("\n", 1)[1]
    stored.write_text(text.replace("  tokens: 128\n", "  tokens: 200\n"), encoding="utf-8")  # killed right after that
    assert command(folder, "resume", "small", "train.steps=3").status == 0
    newest = checkpoint.parents[1] / "step-00000003" / "state.json"
    assert json.loads(newest.read_text(encoding="utf-8"))["stream"] == {"epoch": 1, "batch": 1}


def test_a_run_that_cannot_fit_is_refused_before_it_takes_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_corpus(tmp_path)
    monkeypatch.setattr(build, "free_memory", lambda device: 127_500_000)  # a megabyte beside what libraries take
    output = command(folder, "train", "small.yaml", "batch.tokens=5000", "train.steps=1")
    assert output.status == 2
    found = re.search(r"batch.tokens=5000 .*the largest batch.tokens that would fit is (\d+)", output.message)
    assert found is not None, output.err
    assert not (folder / "weights" / "small").exists()
    assert train(folder, f"batch.tokens={found[1]}", "train.steps=1").status == 0
    output = command(folder, "train", "small.yaml", "name=wide", "model.d_model=131072", "model.d_ff=131072")
    assert (output.status, "parameters alone" in output.message) == (2, True), output.err
    assert "Traceback" not in output.err


@pytest.mark.parametrize(
    "setting",
    [
        "model.d_model=1000000000",
        "model.d_ff=1000000000",
        "model.num_decoder_layers=1000000",
        "tokenizer.vocab_size=1000000000000",
        "model.max_positions=1000000000",
    ],
)
def test_absurd_sizes_are_refused_in_a_sentence(tmp_path: Path, setting: str) -> None:
    output = command(write_corpus(tmp_path), "train", "small.yaml", setting)
    assert output.status == 2
    assert output.err.count("\n") == 1
    assert f"{setting.replace('=', ': ')} is not allowed; allowed: a whole number of at least" in output.err


def test_a_weights_folder_that_lies_about_its_size_is_refused_before_a_model_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_corpus(tmp_path)
    train(folder, "train.steps=1")
    stored = folder / "weights" / "small" / "config.yaml"
    text = stored.read_text(encoding="utf-8").split("\n", 1)[1]  # without the checksum, as a liar would
    monkeypatch.setattr(weights, "Transformer", lambda *args, **kwargs: pytest.fail("a model was made"))
    for key, value in (("d_model", 131072), ("num_encoder_layers", 256)):
        stored.write_text(re.sub(rf"  {key}: \d+", f"  {key}: {value}", text), encoding="utf-8")
        output = command(folder, "translate", "--model", "small", "A sentence.")
        assert output.status == 2
        assert re.search(r"config.yaml describes a model of [\d,]+ parameters, but model.safetensors", output.message)


def test_a_bad_step_is_kept_and_replayed_without_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_corpus(tmp_path)
    train(folder, "train.steps=4", "train.save_every=4")
    forward = FeedForward.forward

    def poisoned(self: FeedForward, x_BTD: torch.Tensor) -> torch.Tensor:
        output = forward(self, x_BTD)
        return output * math.inf if x_BTD.shape[0] * x_BTD.shape[1] % 2 and self.training else output

    monkeypatch.setattr(FeedForward, "forward", poisoned)
    output = command(folder, "resume", "small", "train.steps=40", "train.max_bad_steps=30")
    monkeypatch.undo()
    kept = re.findall(r"step (\d+) .*`translator replay small \1` does it again", output.err)
    assert kept, output.err
    for name in ("train.en", "train.it"):
        (folder / name).unlink()
    monkeypatch.setattr(FeedForward, "forward", poisoned)
    output = command(folder, "replay", "small", kept[0])
    assert output.status == 0, output.err
    assert "The first output that is not finite: " in output.out
    assert ".feed_forward.\n" in output.out
    assert "Parameters whose gradient is not finite: " in output.out
    assert re.search(r"  train\.en, train\.it, line \d+|  .*line \d+\n    source: .+\n    target: .+", output.out)
    monkeypatch.undo()
    output = command(folder, "replay", "small", kept[0], "--weights", str(folder / "weights" / "small"))
    assert "with these weights the step is a good one." in output.out
    assert re.search(r"Loss \d", output.out)


@pytest.fixture(scope="module")
def with_a_bad_step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run small, one of whose steps was kept as a bad one; tests that change it work on a copy."""
    folder = write_corpus(tmp_path_factory.mktemp("bad"))
    train(folder, "train.steps=1")
    pair = bad_steps.Pair("line 1", 0, [5, 6], [5])
    bad = bad_steps.BadStep(
        step=2, epoch=0, batch=1, precision="float32", learning_rate=0.1, loss_scale=1.0, label_smoothing=0.0,
        bos_id=1, eos_id=2, pad_id=0, seeds=[3], parts=[[pair]],
    )  # fmt: skip
    bad_steps.write(folder / "runs" / "small", bad)
    assert command(folder, "replay", "small").status == 0
    return folder


NEWEST = Path("weights", "small", "checkpoints", "step-00000001", "model.safetensors")


def larger(folder: Path) -> None:
    stored = folder / "weights" / "small" / "config.yaml"
    text = stored.read_text(encoding="utf-8").split("\n", 1)[1]
    stored.write_text(re.sub(r"  d_model: \d+", "  d_model: 131072", text), encoding="utf-8")


def narrower(folder: Path) -> None:
    stored = folder / "weights" / "small" / "config.yaml"
    text = stored.read_text(encoding="utf-8").split("\n", 1)[1]
    stored.write_text(re.sub(r"  d_model: \d+", "  d_model: 8", text), encoding="utf-8")


def linked(folder: Path) -> None:
    (folder / NEWEST).rename(folder / "away")
    (folder / NEWEST).symlink_to(folder / "away")


def piped(folder: Path) -> None:
    (folder / NEWEST).unlink()
    os.mkfifo(folder / NEWEST)


def changed(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (file,) = bad_steps.files(folder / "runs" / "small")
        content = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**content, **changes}), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (larger, r"config.yaml describes a model of [\d,]+ parameters, but model.safetensors in .* is only"),
        (narrower, "does not fit the stored config.yaml: "),
        (linked, "model.safetensors is a link that leaves its folder"),
        (piped, "model.safetensors is missing or no plain file"),
        (changed(pad_id=3), "was done with other tokenizers"),
        (changed(precision="float7"), "float7 is not allowed; allowed: float32"),
    ],
)
def test_replay_refuses_what_does_not_fit_in_a_sentence(
    with_a_bad_step: Path, tmp_path: Path, spoil: Callable[[Path], None], said: str
) -> None:
    folder = shutil.copytree(with_a_bad_step, tmp_path / "copy")
    spoil(folder)
    with pytest.MonkeyPatch.context() as patch:
        if spoil is larger:
            patch.setattr(weights, "Transformer", lambda *args, **kwargs: pytest.fail("a model was made"))
        output = command(folder, "replay", "small")
    assert (output.status, output.err.count("\n")) == (2, 1), output.err
    assert re.search(said, output.err)


def test_replay_of_nothing_says_so(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    assert "There is no run named small" in command(folder, "replay", "small").message
    train(folder, "train.steps=1")
    output = command(folder, "replay", "small")
    assert (output.status, "has no bad steps to replay" in output.message) == (2, True)


def test_a_run_whose_memory_is_short_does_the_same_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, most_rows = Transformer.forward, 6

    def limited(self: Transformer, src_BS: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        if self.training and src_BS.shape[0] > most_rows:
            raise torch.OutOfMemoryError("injected")
        return forward(self, src_BS, *rest)

    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    for folder in (straight, resumed):
        folder.mkdir()
        write_corpus(folder)
    monkeypatch.setattr(Transformer, "forward", limited)
    said = train(straight, "train.steps=20").err
    assert "are done in parts" in said
    assert "are done in parts" in train(resumed, "train.steps=6").err
    monkeypatch.undo()  # room for everything, yet the run goes on as it began
    assert "done in parts" not in train(resumed, "train.steps=20").err
    for part in ("model", "optimizer", "average.ema"):
        file = Path("weights", "small", "checkpoints", "step-00000020", f"{part}.safetensors")
        assert (straight / file).read_bytes() == (resumed / file).read_bytes(), part
    assert state(resumed)["step"] == 20
