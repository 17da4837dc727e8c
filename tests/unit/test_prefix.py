"""Tokens for languages and domains: in the vocabulary, and in no text."""

import pickle
from pathlib import Path

import pytest

from translator.errors import ConfigError
from translator.prefix import control_tokens, prefix_ids, require
from translator.tokenizer import KINDS, Tokenizer
from translator.tokenizer_form import SPECIAL_TOKENS

TOKENS = control_tokens(["it", "de"], ["news"])
LINES = ["say <2it> or <2de> now", "<domain:news>", "<2it>", "<2it>", "2it 2it domain:news", "a<domain:news>b"] * 5


def make(kind: str, tokens: list[str]) -> Tokenizer:
    return Tokenizer.train(LINES, kind=kind, vocab_size=340, control_tokens=tokens)


def test_one_target_language_needs_no_token() -> None:
    assert TOKENS == ["<2it>", "<2de>", "<domain:news>"]
    assert control_tokens(["it"], []) == []
    assert control_tokens(["it"], ["news"]) == ["<domain:news>"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_spells_a_control_token(kind: str, tmp_path: Path) -> None:
    tokenizer = make(kind, TOKENS)
    assert tokenizer.control_ids == {token: len(SPECIAL_TOKENS) + i for i, token in enumerate(TOKENS)}
    reserved = set(tokenizer.control_ids.values())
    for text in (*LINES, *TOKENS, "<2it><2it> <2it >", "a<domain:news>b"):
        ids = tokenizer.encode(text)
        assert ids
        assert reserved.isdisjoint(ids)
        assert tokenizer.decode(ids) == tokenizer.normalise(text)
    assert tokenizer.decode([4, *tokenizer.encode("say"), 6]) == "say"
    tokenizer.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").control_ids == tokenizer.control_ids
    assert pickle.loads(pickle.dumps(tokenizer)).control_ids == tokenizer.control_ids


@pytest.mark.parametrize("kind", KINDS)
def test_without_control_tokens_a_vocabulary_knows_none(kind: str) -> None:
    tokenizer = make(kind, [])
    assert tokenizer.control_ids == {}
    assert prefix_ids(tokenizer, "it", None) == ()


def test_the_language_comes_before_the_domain() -> None:
    tokenizer = make("word", TOKENS)
    assert prefix_ids(tokenizer, "de", "news") == (5, 6)
    assert prefix_ids(tokenizer, "it", None) == (4,)
    assert prefix_ids(make("word", TOKENS[2:]), "it", "news") == (4,)


def test_what_an_older_vocabulary_lacks_is_said() -> None:
    tokenizer = make("word", TOKENS)
    with pytest.raises(
        ConfigError, match=r"has no <2fr> to put before a source, only <2it>, <2de>, <domain:news>; new"
    ):
        prefix_ids(tokenizer, "fr", None)
    with pytest.raises(ConfigError, match="has no <2it> and no <2de> to put before a source, only none at all"):
        require(make("word", []), TOKENS[:2])
