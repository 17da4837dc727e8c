"""Checkpoints: whole or absent, verified, pruned; nothing unsafe is read."""

import json
import logging
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from translator import checkpoint
from translator.errors import CheckpointError, FormatError, TranslatorError
from translator.files import sha256_file

STATE = {"stream": {"epoch": 0, "batch": 3}}


def save(folder: Path, step: int, *, keep: int = 3, best: int | None = None) -> Path:
    tensors = {
        "model": {"weight": torch.full((4, 3), float(step))},
        "optimizer": {"exp_avg.weight": torch.zeros(4, 3), "updates": torch.tensor([float(step)])},
    }
    return checkpoint.save_checkpoint(folder, step, tensors, STATE, keep=keep, best_step=best)


def test_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    save(tmp_path, 5)
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 5
    assert loaded.state["stream"] == {"epoch": 0, "batch": 3}
    assert torch.equal(loaded.tensors["model"]["weight"], torch.full((4, 3), 5.0))
    assert (tmp_path / "newest").read_text() == "step-00000005\n"


def test_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    for step in range(1, 7):
        save(tmp_path, step, keep=2, best=min(step, 2))
    assert [p.name for p in checkpoint.list_checkpoints(tmp_path)] == [
        "step-00000002",
        "step-00000005",
        "step-00000006",
    ]
    assert (tmp_path / "best").read_text() == "step-00000002\n"


FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "checksums.json"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "empty"])
def test_a_damaged_file_is_named_and_the_checkpoint_before_it_used(
    tmp_path: Path, name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    save(tmp_path, 1)
    file = save(tmp_path, 2) / name
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "flipped":
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
    else:
        file.write_bytes(data[: len(data) // 2 if damage == "truncated" else 0])
    with caplog.at_level(logging.WARNING):
        loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 1
    assert (name if name != "checksums.json" else "step-00000002") in caplog.text


def test_all_damaged_is_an_error_and_none_is_none(tmp_path: Path) -> None:
    assert checkpoint.load_newest(tmp_path) is None
    (save(tmp_path, 1) / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="is whole"):
        checkpoint.load_newest(tmp_path)


def test_a_half_written_folder_is_never_taken_and_later_removed(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / ".step-00000002").mkdir()
    (tmp_path / ".step-00000002" / "model.safetensors").write_bytes(b"half")
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 1
    save(tmp_path, 2)
    assert not list(tmp_path.glob(".step-*"))


def test_a_failed_write_leaves_the_older_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(TranslatorError, match=r"step-00000002 could not be written \(No space.*needs about 0.1 MB"):
        save(tmp_path, 2)
    assert [p.name for p in tmp_path.glob("*step*")] == ["step-00000001"]


def test_everything_is_flushed_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def noted_fsync(handle: int) -> None:
        calls.append("fsync")
        fsync(handle)

    def noted_rename(self: Path, to: Path) -> Path:
        calls.append("rename")
        return rename(self, to)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    save(tmp_path, 1)
    assert calls.index("rename") >= 8  # four files and their folder entries
    assert "fsync" in calls[calls.index("rename") + 1 :]


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


def test_a_pickle_is_refused_and_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    file = tmp_path / "model.safetensors"
    file.write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(CheckpointError, match="not a safe checkpoint"):
        checkpoint.load_tensors(file)
    assert not marker.exists()


def test_another_format_is_refused_by_name_and_never_taken_for_damage(tmp_path: Path) -> None:
    save(tmp_path, 1)
    folder = save(tmp_path, 2)
    state = json.loads((folder / "state.json").read_text())
    state["format_version"] = 99
    (folder / "state.json").write_text(json.dumps(state))
    sums = json.loads((folder / "checksums.json").read_text())
    sums["state.json"] = {
        "sha256": sha256_file(folder / "state.json"),
        "bytes": (folder / "state.json").stat().st_size,
    }
    sums["weights.safetensors"] = sums.pop("model.safetensors")  # other files, as another format may have
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    (folder / "checksums.json").write_text(json.dumps(sums))
    with pytest.raises(FormatError, match="step-00000002 has checkpoint format 99"):  # not step 1: it would go on there
        checkpoint.load_newest(tmp_path)


def test_a_checksum_list_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    folder = save(tmp_path, 1)
    sums = json.loads((folder / "checksums.json").read_text())
    sums["../newest"] = {"sha256": "0", "bytes": 14}
    (folder / "checksums.json").write_text(json.dumps(sums))
    with pytest.raises(CheckpointError, match="not a file of this folder"):
        checkpoint.load_checkpoint(folder)


# --- folders that somebody else has made


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """What lies outside of a weights folder and looks like leftovers of a run."""
    folder = tmp_path / "away"
    (folder / ".step-00000009").mkdir(parents=True)
    (folder / "inner").mkdir()
    for name in (".step-00000009/letter", ".a.tmp", ".tmpb", "inner/.c.tmp"):
        (folder / name).write_text("dear")
    return folder


def listed(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize(
    "use",
    [checkpoint.recover, checkpoint.load_newest, checkpoint.list_checkpoints, lambda folder: save(folder, 1)],
    ids=["recover", "load_newest", "list_checkpoints", "save_checkpoint"],
)
def test_checkpoints_behind_a_link_out_of_the_weights_folder_are_refused(
    tmp_path: Path, away: Path, use: Callable[[Path], object]
) -> None:
    (tmp_path / "weights").mkdir()
    checkpoints = tmp_path / "weights" / "checkpoints"
    checkpoints.symlink_to(away)
    before = listed(away)
    with pytest.raises(CheckpointError, match=r"checkpoints is a link that leaves its folder"):
        use(checkpoints)
    assert listed(away) == before


def test_links_among_the_checkpoints_are_not_followed_out(tmp_path: Path, away: Path) -> None:
    checkpoints = tmp_path / "weights" / "checkpoints"
    save(checkpoints, 1)
    before = listed(away)
    (checkpoints / ".removed-step-00000007").symlink_to(away / ".step-00000009")
    (checkpoints / "inner").symlink_to(away / "inner")
    checkpoint.recover(checkpoints)
    assert {path.name for path in checkpoints.iterdir()} == {"step-00000001", "newest", "inner"}
    (checkpoints / "step-00000009").symlink_to(away / ".step-00000009")
    with pytest.raises(CheckpointError, match=r"step-00000009 is a link that leaves its folder"):
        checkpoint.load_newest(checkpoints)
    assert listed(away) == before


def test_a_weights_folder_behind_a_link_goes_on(tmp_path: Path) -> None:
    save(tmp_path / "weights" / "checkpoints", 1)
    (tmp_path / "linked").symlink_to(tmp_path / "weights")
    (tmp_path / "weights" / "checkpoints" / ".step-00000002").mkdir()
    loaded = checkpoint.load_newest(tmp_path / "linked" / "checkpoints")
    assert loaded is not None
    assert loaded.step == 1
    save(tmp_path / "linked" / "checkpoints", 2)
    assert len(checkpoint.list_checkpoints(tmp_path / "weights" / "checkpoints")) == 2


@pytest.mark.parametrize("name", FILES)
def test_a_file_behind_a_link_out_of_its_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "weights" / "checkpoints", 1)
    (folder / name).rename(tmp_path / "away")
    (folder / name).symlink_to(tmp_path / "away")
    with pytest.raises(CheckpointError, match=f"{name} is a link that leaves its folder"):
        checkpoint.load_checkpoint(folder)


@pytest.mark.parametrize("make", [os.mkfifo, lambda file: file.symlink_to("/dev/zero"), lambda file: file.mkdir()])
def test_a_pointer_that_is_no_file_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    save(tmp_path, 1)
    (tmp_path / "newest").unlink()
    make(tmp_path / "newest")
    with pytest.raises(CheckpointError, match="newest is missing or no plain file"):
        checkpoint.load_newest(tmp_path)
