"""Power loss: the order of the system calls says what is on the disk at any moment."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.small_run import write_corpus
from tests.torture.tracing import Call, trace, unsafe_renames


@pytest.fixture
def strace() -> None:
    """Skips the test unless strace is here and may look at processes."""
    words = ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"]
    if shutil.which("strace") is None or subprocess.run(words, check=False).returncode != 0:
        pytest.skip("needs the program strace (Linux)")


@pytest.mark.usefixtures("strace")
def test_everything_is_flushed_before_it_gets_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    write_corpus(folder)
    words = ["train.steps=2", "train.validate_every=2", "train.save_every=1"]
    words += ["tokenizer.kind=bpe", "tokenizer.dropout=0.1"]
    calls = trace(folder, "train", "small.yaml", *words)
    number, problems = unsafe_renames(calls, folder)
    assert problems == []
    renamed = {call.text.rpartition("/")[2].rstrip('"') for call in calls if call.name.startswith("rename")}
    assert {"newest", "best", "step-00000001", "step-00000002", "state.json", "checksums.json"} <= renamed
    assert {"model.safetensors", "optimizer.safetensors", "config.yaml", "tokenizer.source.json"} <= renamed
    assert number > 30


def test_the_reader_of_traces_sees_what_is_missing() -> None:
    write, flush = Call("write", "", "/f/.a"), Call("fsync", "", "/f/.a")
    rename, folder = Call("rename", '"/f/.a", "/f/a"', "/f/.a"), Call("fsync", "", "/f")
    assert unsafe_renames([write, flush, rename, folder], Path("/f")) == (1, [])
    assert "is not flushed before" in unsafe_renames([write, rename, folder], Path("/f"))[1][0]
    assert "never flushed" in unsafe_renames([write, flush, rename], Path("/f"))[1][0]
    inside = Call("write", "", "/f/.a/x")
    assert "/f/.a/x is not flushed" in unsafe_renames([inside, rename, folder], Path("/f"))[1][0]
    assert unsafe_renames([inside, Call("unlink", "", "/f/.a/x"), rename, folder], Path("/f")) == (1, [])
    made, its_folder = Call("openat", "", "/f/.a/x"), Call("fsync", "", "/f/.a")
    flushed = Call("fsync", "", "/f/.a/x")
    assert unsafe_renames([made, inside, flushed, its_folder, rename, folder], Path("/f")) == (1, [])
    assert "/f/.a is not flushed" in unsafe_renames([made, inside, flushed, rename, folder], Path("/f"))[1][0]
    named = Call("rename", '"/f/.a/y", "/f/.a/x"', "/f/.a/y")
    assert "/f/.a is not flushed" in unsafe_renames([named, rename, folder], Path("/f"))[1][0]
