"""Words that are looked up give the ids that the library gives for the whole text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator import word_ids
from translator.tokenizer import Tokenizer
from translator.word_ids import WordIds

LINES = ["The old dog's 12 mats cost 1,000.50 $!", "né il cane né İl gatto ΣΑΣ Straße", "猫 🙂 a_b ▁ é"] * 4
# What could tell a text from its words: white space of many kinds, marks that combine, letters that change, cuts.
PIECES = [
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\x0b",
    "\x1c",
    "\x85",
    "\xa0",
    "\u2002",
    "\u2028",
    "\u202f",
    "\u3000",
    "\u200b",
]
PIECES += [
    "\u0301",
    "e\u0301",
    "\u1100",
    "\u1161",
    "\u0344",
    "\u212b",
    "\u2000",
    "İ",
    "Σ",
    "ß",
    "▁",
    "▁▁",
    "_",
    "\ufeff",
]
PIECES += ["a", "dog", "The", "12", "3", ".", ",", "(", "<eos>", "<0x41>", "<2it>", "猫", "🙂", "\ud83d", "\0", "né"]


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    return [
        Tokenizer.train(LINES, kind=kind, vocab_size=330, lowercase=lowercase, split_digits=lowercase)
        for kind in ("bpe", "unigram", "word")
        for lowercase in (False, True)
    ]


def by_library(tokenizer: Tokenizer, text: str) -> list[int]:
    """The whole text in one piece."""
    ids: list[int] = tokenizer._inner.encode(text.encode("utf-8", "replace").decode()).ids
    return ids


@settings(max_examples=600, deadline=None)
@given(text=st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=12)))
def test_the_ids_of_a_text_are_those_of_its_words(tokenizers: list[Tokenizer], text: str) -> None:
    for tokenizer in tokenizers:
        assert tokenizer.encode(text) == by_library(tokenizer, text)


def test_white_space_beside_a_word_is_not_trimmed_inside_a_text(tokenizers: list[Tokenizer]) -> None:
    """A word alone would lose it, which is why such a text is encoded whole."""
    text = "a\xa0 dog"
    assert all(tokenizer.encode(text) == by_library(tokenizer, text) for tokenizer in tokenizers)
    assert tokenizers[0].encode(text) != tokenizers[0].encode("a dog")


def test_words_are_encoded_once_and_not_too_many_are_kept(
    tokenizers: list[Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_ids, "MOST_WORDS", 2)
    ids = WordIds(tokenizers[0]._inner)
    first = ids.of("dog dog")
    assert (np.frombuffer(first or b"", np.uint32).tolist(), set(ids._known)) == (
        by_library(tokenizers[0], "dog dog"),
        {"dog"},
    )
    ids.of("a mat")
    assert set(ids._known) == {"mat"}
    assert ids.of("dog dog") == first


def test_sentences_without_spaces_are_not_remembered(tokenizers: list[Tokenizer]) -> None:
    """Each is another one: they would fill the memory and never be met again."""
    ids, sentence = WordIds(tokenizers[0]._inner), "猫" * (word_ids.LONGEST_WORD + 1)
    assert ids.of(sentence) is ids.of(f"a {sentence}") is ids.of("dog\xa0") is None
    assert set(ids._known) == {"a"}
    mixed = ["a dog", sentence, "", f"{sentence} a", "né"]
    assert tokenizers[0].encode_batch(mixed) == [by_library(tokenizers[0], text) for text in mixed]
