"""Tokenizers: nothing is lost, invented or mistaken for a special token; sizes are kept; training repeats."""

import pickle
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from translator.errors import CheckpointError, ConfigError
from translator.tokenizer import Tokenizer, auto_vocab_size, train_tokenizers
from translator.tokenizer_form import BYTE_TOKENS, SPECIAL_TOKENS

TEXT = [
    "The old man's dog sat on the mat, and the cat sat on the dog.",
    "A dog and a cat; a mat and a man: what is that?",
    "L'uomo non ha visto né il cane né il gatto (ieri, alle 10.30).",
    "Der Hund sitzt auf der Straße - und die Katze auch!",
] * 5
SUBWORDS = ("bpe", "unigram")
KINDS = (*SUBWORDS, "word", "character")
LITERALS = [
    "The tag </s> ends a sentence.",
    "<s> Start <pad> stop <bos><eos> <unk> [PAD] [EOS] now.",
    "<0x41><0xFF> are not bytes",
]
LINES = [
    "Hello, world! (Really?)",
    "It's 5 o'clock - don't be late.",
    '"Quoted" text; e.g. A/B, C&D.',
    "1,000.50 $ or 20%?  C++ vs. F#",
    "https://example.org/a_b?x=1&y=2#top",
    "...well... yes…",
    "&amp; &quot; stay as they are",
    "snake_case ## @@ Ġ ¿Qué? ¡Sí!",
    "猫 and 🙂🙂 and Ω½",
]


def trained(kind: str, lines: list[str] = TEXT, vocab_size: int = 400, **settings: Any) -> Tokenizer:
    return Tokenizer.train(lines, kind=kind, vocab_size=vocab_size, **settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", [*LINES, *LITERALS])
def test_text_comes_back_whole_and_gives_no_special_token(kind: str, line: str) -> None:
    # Word and character level know only what they have seen; subwords know every byte.
    tokenizer = trained(kind, TEXT if kind in SUBWORDS else [*TEXT, line])
    ids = tokenizer.encode(line)
    assert min(ids) >= len(SPECIAL_TOKENS)
    assert max(ids) < tokenizer.vocab_size
    assert tokenizer.decode(ids) == tokenizer.normalise(line) == " ".join(line.split())


@pytest.mark.parametrize("kind", SUBWORDS)
def test_text_that_looks_like_a_byte_token_is_spelt_out(kind: str) -> None:
    tokens = trained(kind).tokens(trained(kind).encode("<0x41>"))
    assert "<0x41>" not in tokens
    assert tokens[1] == "<0x3C>"  # the bracket itself was never seen in training


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("  a\tb \u2028 c\r\n", "a b c"),
        ("one\x85two\u2029three", "one two three"),
        ("1\u00a0000\u202f€", "1\u00a0000\u202f€"),  # blanks that do not break are part of the spelling
        ("e\u0301", "é"),
        ("", ""),
        (" \n ", ""),
        ("bad \ud800 escape", "bad ? escape"),
    ],
)
@pytest.mark.parametrize("kind", SUBWORDS)
def test_normalisation(kind: str, text: str, normalised: str) -> None:
    tokenizer = trained(kind)
    assert tokenizer.normalise(text) == normalised
    assert tokenizer.decode(tokenizer.encode(text)) == normalised


def test_the_word_marker_in_text_becomes_an_underscore_where_it_is_used() -> None:
    assert trained("bpe").decode(trained("bpe").encode("a\u2581b")) == "a_b"
    assert (
        trained("character", ["a\u2581b"]).decode(trained("character", ["a\u2581b"]).encode("a\u2581b")) == "a\u2581b"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_tokenizer(kind: str) -> None:
    # Capitals that stand in few words: unigram leaves them no score of their own. More training shows rarer orders.
    text = [f"{letter}{word} {number}" for number, letter in enumerate("ABCDEFGHIJKLMNOP") for word in TEXT[0].split()]
    assert len({trained(kind, text).fingerprint for _ in range(3)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_composed_and_decomposed_text_are_the_same(kind: str) -> None:
    line = "né il cane à Köln, ಕನ್ನಡ ಕೊ"
    tokenizer = trained(kind, [*TEXT, line])
    assert tokenizer.encode(unicodedata.normalize("NFD", line)) == tokenizer.encode(line)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_character_does_not_vanish(kind: str) -> None:
    tokenizer = trained(kind, ["we see a cat", "we read a book"] * 9)
    texts = ["we see a ", "we see a q", "we see a 猫 book", "Ω", "🙂🙂🙂"]
    encoded = tokenizer.encode_batch(texts)
    assert len({tuple(ids) for ids in encoded[:4]}) == 4
    assert all(encoded)
    if kind in SUBWORDS:
        assert tokenizer.decode(encoded[2]) == texts[2]
    else:
        assert tokenizer.decode(encoded[2]) == "we see a <unk> book"
        assert tokenizer.unknown_rate(["a q"]) == pytest.approx({"word": 1 / 2, "character": 1 / 3}[kind])


def test_unknown_rate_is_high_for_words_of_a_language_without_spaces() -> None:
    seen, held_out = ["今日は天気がいい", "私は本を読む"], ["今日は本を読む", "私は天気がいい"]
    assert trained("word", seen).unknown_rate(held_out) == 1.0
    assert trained("bpe", seen).unknown_rate(held_out) == 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab_size", [300, 350])
def test_the_asked_size_is_never_exceeded(kind: str, vocab_size: int) -> None:
    lines = ["".join(chr(0x4E00 + 30 * row + i) + " " for i in range(30)) for row in range(20)]
    tokenizer = trained(kind, lines, vocab_size)
    assert tokenizer.vocab_size <= vocab_size == tokenizer.asked_vocab_size
    assert max(max(ids) for ids in tokenizer.encode_batch(lines)) < tokenizer.vocab_size
    if kind in SUBWORDS:
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(lines)] == [line.strip() for line in lines]


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_text_gets_a_small_vocabulary(kind: str) -> None:
    tokenizer = trained(kind, ["the cat sat", "the dog sat", "a cat and a dog"], 32000)
    assert tokenizer.vocab_size < 100 + (len(BYTE_TOKENS) if kind in SUBWORDS else 0)
    assert tokenizer.asked_vocab_size == 32000


@pytest.mark.parametrize(("kind", "needed"), [("bpe", "276"), ("unigram", "276"), ("word", "20")])
def test_a_size_without_room_is_refused(kind: str, needed: str) -> None:
    with pytest.raises(ConfigError, match=rf"tokenizer\.vocab_size is 19\b.*ask for {needed} or more"):
        trained(kind, vocab_size=19)


@pytest.mark.parametrize("kind", ["bpe", "word", "character"])
def test_training_repeats_and_takes_an_iterator(kind: str) -> None:
    assert trained(kind).fingerprint == Tokenizer.train(iter(TEXT), kind=kind, vocab_size=400).fingerprint


def test_rare_characters_are_left_to_bytes() -> None:
    tokenizer = trained("bpe", ["a common line of text"] * 1000 + ["猫"])
    assert "猫" not in tokenizer.description()["model"]["vocab"]
    assert tokenizer.decode(tokenizer.encode("a 猫")) == "a 猫"


def test_options_of_the_text() -> None:
    assert trained("bpe", lowercase=True).decode(trained("bpe", lowercase=True).encode("DÉJÀ Vu")) == "déjà vu"
    digits = trained("bpe", ["in 1999 and 1999"] * 9, split_digits=True)
    assert digits.tokens(digits.encode("1999"))[-4:] == ["1", "9", "9", "9"]
    assert "▁1999" in trained("bpe", ["in 1999 and 1999"] * 9).description()["model"]["vocab"]
    assert trained("word", ["a a b"], min_frequency=2).unknown_rate(["a b"]) == 0.5


def test_decoding_leaves_out_special_tokens_and_never_breaks_the_line() -> None:
    tokenizer = trained("bpe")
    newline = [len(SPECIAL_TOKENS) + ord("\n")]
    ids = [1, *tokenizer.encode("the cat"), *newline, *tokenizer.encode("sat"), 2, 0, 0]
    assert tokenizer.decode(ids) == "the cat  sat"
    assert tokenizer.decode([1, 2]) == ""
    with pytest.raises(ValueError, match="outside the vocabulary"):
        tokenizer.decode([tokenizer.vocab_size])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tokenizer_is_the_same(kind: str, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    tokenizer.save(tmp_path / "tokenizer.json")
    for other in (Tokenizer.load(tmp_path / "tokenizer.json"), pickle.loads(pickle.dumps(tokenizer))):
        assert (other.fingerprint, other.kind) == (tokenizer.fingerprint, kind)
        assert other.encode_batch([*LINES, *LITERALS]) == tokenizer.encode_batch([*LINES, *LITERALS])


@pytest.mark.parametrize("content", [None, "", '{"version": "1.0"', "wrong specials"])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    if content == "wrong specials":
        trained("word").save(path)
        path.write_text(path.read_text(encoding="utf-8").replace("<bos>", "<s>"), encoding="utf-8")
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: "):
        Tokenizer.load(path)


@pytest.mark.parametrize(
    ("kind", "vocab_size", "num_rare"),
    [
        ("bpe", 320, 155),  # 60 to learn, of which three quarters may be characters, one of them the marker
        ("unigram", 320, 155),
        ("bpe", 1000, 0),
        ("character", 100, 104),  # 96 entries
        ("character", 300, 0),
        ("word", 300, None),
    ],
)
def test_characters_without_an_entry_are_counted(kind: str, vocab_size: int, num_rare: int | None) -> None:
    characters = [chr(0x4E00 + i) for i in range(199)]  # and the space of a character vocabulary is the 200th
    tokenizer = trained(kind, [f"{a} {a}" for a in characters], vocab_size)
    assert tokenizer.num_rare_characters == num_rare
    assert tokenizer.vocab_size <= vocab_size
    if kind == "character":
        assert sum(tokenizer.encode(one) == [Tokenizer.unk_id] for one in characters) == num_rare


@pytest.mark.parametrize(
    ("num_pairs", "kind", "size"),
    [
        (29_000, "bpe", 8000),
        (29_000, "word", 16000),
        (100, "unigram", 1000),
        (10**9, "bpe", 32000),
        (5, "character", 4000),
    ],
)
def test_auto_size_grows_with_the_corpus(num_pairs: int, kind: str, size: int) -> None:
    assert auto_vocab_size(num_pairs, kind) == size


@dataclass(frozen=True)
class Settings:
    shared: bool
    kind: str = "word"
    vocab_size: int | str = "auto"
    min_frequency: int = 1
    split_digits: bool = False
    lowercase: bool = False


def test_tokenizers_of_a_corpus_are_shared_or_one_for_each_side() -> None:
    pairs = Dataset.from_dict({"source": ["a cat", "a dog"], "target": ["ein Kater", "ein Hund"]})
    both, same = train_tokenizers(pairs, Settings(shared=True))
    assert both is same
    assert both.unknown_rate(["a cat", "ein Hund"]) == 0
    source, target = train_tokenizers(pairs, Settings(shared=False))
    assert (source.unknown_rate(["a cat"]), source.unknown_rate(["ein Hund"])) == (0, 1)
    assert (target.unknown_rate(["a cat"]), target.unknown_rate(["ein Hund"])) == (1, 0)


def test_a_very_large_corpus_is_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.tokenizer.MAX_TRAINING_PAIRS", 2)
    monkeypatch.setattr("translator.tokenizer._BATCH_LINES", 2)
    pairs = Dataset.from_dict({"source": list("abcde"), "target": list("vwxyz")})
    source, _ = train_tokenizers(pairs, Settings(shared=False))
    assert set(source.tokens(range(4, source.vocab_size))) == {"▁a", "▁d"}
