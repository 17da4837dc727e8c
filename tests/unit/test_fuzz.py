"""Every reader, with text that nobody would write and with good files that were damaged: taken or refused, no crash.

The long version, guided by coverage, is `python -m scripts.fuzz`.
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts import fuzz

few = settings(max_examples=6, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
TEXT_TARGETS = ["config", "text", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "translate"]


@pytest.mark.parametrize("target", TEXT_TARGETS)
@few
@given(text=st.text(max_size=300))
def test_any_text_is_taken_or_refused(target: str, text: str) -> None:
    fuzz.check(target, text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("target", fuzz.TARGETS)
@few
@given(seed=st.integers(0, 2**32))
def test_damaged_files_are_taken_or_refused(target: str, seed: int) -> None:
    files = fuzz.seeds(target)
    rng = random.Random(seed)
    fuzz.check(target, fuzz.mutate(rng.choice(files), files, rng))


def test_the_fuzzer_keeps_what_reaches_new_lines_and_tells_of_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    faults, kept, _ = fuzz.fuzz("jsonl", cases=20, seed=1)
    assert (faults, kept > len(fuzz.seeds("jsonl"))) == (0, True)

    def faulty(data: bytes) -> None:
        if data not in fuzz.seeds("jsonl"):
            raise KeyError("absent")

    monkeypatch.setitem(fuzz.TARGETS, "jsonl", faulty)
    assert fuzz.fuzz("jsonl", cases=3, seed=1)[0] == 3


@pytest.mark.parametrize(
    "line", ["", " ", "\0", "\x1b[31m", "a" * 5_000, "\u202e", "\ud800", "\u2028", "e" + "\u0301" * 500]
)
def test_strange_lines_are_translated_one_by_one(line: str) -> None:
    fuzz.check("translate", f"{line}\nA dog.".encode("utf-8", "surrogatepass"))
