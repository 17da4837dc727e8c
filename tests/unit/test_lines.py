"""Sentences of a line, and lines as they come."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from translator.lines import read_available, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["The dog sleeps.", "The cat eats.", "We read a book."],
        ["It rains."] * 6,
        ["Is it late?", "Yes!", "We go home now; tomorrow we come back."],
        ["One sentence only."],
        ["No mark at the end"],
        ["Wait…", "“Really?!”", "(Yes.)", "Good"],
        ["Dr. Smith met J. R. Brown at 10.30 a.m. today.", "It cost 5.", "Nobody paid."],
        ["See e.g. page 3 of file.txt or example.org.", "Then go on."],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["هل تأخر الوقت؟", "نعم!"],
    ],
)
def test_sentences_that_are_spaced(sentences: list[str]) -> None:
    assert [text for text, _ in split_sentences(" ".join(sentences))] == sentences


def test_sentences_without_spaces() -> None:
    assert split_sentences("私は本を読む。「はい！」雨だ？ そう") == [
        ("私は本を読む。", ""), ("「はい！」", ""), ("雨だ？", " "), ("そう", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["", "  ", " A.  B?\tC ", "Hm.  ", "a. b", "...", ". . .", "Oh!\u00a0No."])
def test_the_parts_joined_are_the_line(line: str) -> None:
    parts = split_sentences(line)
    assert "".join(text + gap for text, gap in parts) == line
    assert all(text.strip() for text, _ in parts) or not line.strip()


@pytest.mark.parametrize("most", [1, 3, 10, 100])
@pytest.mark.parametrize("kind", [list, iter])
def test_groups_hold_all_lines_in_order(most: int, kind: type) -> None:
    lines = [str(i) for i in range(25)]
    groups = list(read_available(kind(lines), most))
    assert list(itertools.chain(*groups)) == lines
    assert all(1 <= len(group) <= most for group in groups)
    assert list(read_available(kind([]), most)) == []


def test_what_is_there_is_taken_together() -> None:
    (group,) = read_available(iter(["a", "b", "c"]), 10)
    assert group == ["a", "b", "c"]


def test_a_line_is_handed_over_while_the_next_is_awaited() -> None:
    typed = threading.Event()

    def person() -> Iterator[str]:
        yield "first"
        assert typed.wait(30)
        yield "second"

    groups = read_available(person(), 10)
    assert next(groups) == ["first"]
    typed.set()
    assert list(groups) == [["second"]]


def test_reading_stays_within_the_limit_and_ends_with_its_reader() -> None:
    taken: list[int] = []

    def endless() -> Iterator[str]:
        for i in itertools.count():
            taken.append(i)
            yield str(i)

    groups = read_available(endless(), 4)
    assert len(next(groups)) == 4
    groups.close()  # type: ignore[attr-defined]  # a generator
    reader = next(thread for thread in threading.enumerate() if thread.name == "read ahead")
    reader.join(10)
    assert not reader.is_alive()
    assert len(taken) <= 10
