"""Every reader, with text that nobody would write and with good files that were damaged: taken or refused, no crash.

The long version, guided by coverage, is `python -m scripts.fuzz`.
"""

import random
import signal
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts import fuzz
from scripts.fuzz_targets import BETWEEN, TARGETS, seeds
from translator.errors import CheckpointError

few = settings(max_examples=6, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
TEXT_TARGETS = ["config", "text", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "bad-step", "state", "translate"]


@pytest.mark.parametrize("target", TEXT_TARGETS)
@few
@given(text=st.text(max_size=300))
def test_any_text_is_taken_or_refused(target: str, text: str) -> None:
    fuzz.check(target, text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("target", TARGETS)
@few
@given(seed=st.integers(0, 2**32))
def test_damaged_files_are_taken_or_refused(target: str, seed: int) -> None:
    files = seeds(target)
    rng = random.Random(seed)
    fuzz.check(target, fuzz.mutate(rng.choice(files), files, rng))


@pytest.mark.parametrize("target", TARGETS)
def test_good_inputs_are_taken(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


def test_a_changed_state_of_a_checkpoint_gets_through_the_checksums() -> None:
    case = BETWEEN.join([b"", b'{"format_version": 2, "step": 5}', b"", b""])
    with pytest.raises(CheckpointError, match="does not hold what this program stores"):
        TARGETS["checkpoint"](case)


def test_the_fuzzer_keeps_what_reaches_new_lines_and_tells_of_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    faults, kept, _ = fuzz.fuzz("jsonl", cases=20, seed=1)
    assert (faults, kept > len(seeds("jsonl"))) == (0, True)

    def faulty(data: bytes) -> None:
        if data not in seeds("jsonl"):
            raise KeyError("absent")

    monkeypatch.setitem(TARGETS, "jsonl", faulty)
    assert fuzz.fuzz("jsonl", cases=3, seed=1)[0] == 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms here")
def test_the_fuzzer_ends_what_hangs(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    def hang(data: bytes) -> None:
        while data not in seeds("jsonl"):
            try:
                time.sleep(1)
            except Exception:
                continue

    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    monkeypatch.setattr(fuzz, "MOST_WAIT", 2)  # by the clock, and a busy machine may stand still for a while
    monkeypatch.setitem(TARGETS, "jsonl", hang)
    assert fuzz.fuzz("jsonl", cases=1, seed=1)[0] == 1
    assert "Hang: no end in 2 seconds" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="only there is the memory in use known")
def test_the_fuzzer_sees_a_slow_leak(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    leaked: list[bytes] = []
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    monkeypatch.setitem(TARGETS, "jsonl", lambda data: leaked.append(b"x" * 20_000_000))
    assert fuzz.fuzz("jsonl", cases=10, seed=1)[0] == 1
    assert "MB more memory after 10 cases than after 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ["", " ", "\0", "\x1b[31m", "a" * 5_000, "\u202e", "\ud800", "\u2028", "e" + "\u0301" * 500]
)
def test_strange_lines_are_translated_one_by_one(line: str) -> None:
    fuzz.check("translate", f"{line}\nA dog.".encode("utf-8", "surrogatepass"))
