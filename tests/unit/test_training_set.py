"""Training corpora as token ids: each direction, its tokens, its filters, its weight."""

from pathlib import Path
from typing import Any

import pytest

from translator import training_set
from translator.config import Config
from translator.corpus import prepare
from translator.mixing import Part
from translator.prefix import control_tokens
from translator.tokenizer import Tokenizer, train_tokenizers
from translator.training_set import describe, encode_held_out, encode_parts, learn_tokenizers, longest_source

PAIRS = [("one two", "uno due"), ("three", "tre"), ("one two three four five", "uno due tre quattro cinque")]


def config(folder: Path, *, shared: bool = True, temperature: float = 1.0, weight: float = 1.0) -> Config:
    for name, pairs in {
        "a": PAIRS,
        "b": [*PAIRS, ("six", "sechs")],
        "copies": PAIRS[:2],
        "v": [("two", "due")],
    }.items():
        (folder / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return Config.model_validate(
        {
            "corpus": {
                "source_language": "en",
                "target_language": "it",
                "train": [
                    {"path": folder / "a.tsv", "directions": ["en>it", "it>en"], "weight": weight},
                    {"path": folder / "b.tsv", "target_language": "de", "tag": "web", "filters": {"max_tokens": 3}},
                    {"path": folder / "copies.tsv"},
                ],
                "valid": {"it-en": {"path": folder / "v.tsv", "source_language": "it", "target_language": "en"}},
                "filters": {"drop_duplicates": True},
                "mix": {"temperature": temperature},
            },
            "tokenizer": {"kind": "word", "shared": shared},
            "model": {"share_embeddings": "none"},
        }
    )


def make(settings: Config) -> tuple[dict[str, Part], Tokenizer, Tokenizer]:
    corpus = prepare(settings.corpus)
    tokens = control_tokens(settings.corpus.choices.languages, settings.corpus.choices.known_tags)
    sides = learn_tokenizers(settings, corpus, tokens)
    return encode_parts(settings, corpus, *sides), *sides


@pytest.mark.parametrize("shared", [True, False])
def test_a_vocabulary_is_learned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "cache"))
    learned: list[int] = []

    def count(*args: Any) -> tuple[Tokenizer, Tokenizer]:
        learned.append(len(args[0]))
        return train_tokenizers(*args)

    monkeypatch.setattr(training_set, "train_tokenizers", count)
    settings, tokens = config(tmp_path, shared=shared), ["<2it>", "<2en>", "<2de>", "<domain:web>"]
    corpus = prepare(settings.corpus)
    first, again = (learn_tokenizers(settings, corpus, tokens) for _ in range(2))
    assert learned == [4 if shared else 7]  # three of them turned round
    for one, other in zip(first, again, strict=True):
        assert (one.fingerprint, one.asked_vocab_size) == (other.fingerprint, other.asked_vocab_size)
        assert one.asked_vocab_size is not None
    assert (again[0] is again[1]) == shared
    learn_tokenizers(settings, corpus, tokens[:2])
    smaller = settings.tokenizer.model_copy(update={"vocab_size": 30})
    learn_tokenizers(settings.model_copy(update={"tokenizer": smaller}), corpus, tokens)
    narrow = settings.corpus.train[0].model_copy(update={"directions": None})
    one_way = settings.corpus.model_copy(update={"train": [narrow, *settings.corpus.train[1:]]})
    learn_tokenizers(settings.model_copy(update={"corpus": one_way}), corpus, tokens)
    assert learned[1:] == ([4, 4] if shared else [7, 7, 4])


@pytest.mark.parametrize("shared", [True, False])
def test_each_corpus_in_each_direction(tmp_path: Path, shared: bool) -> None:
    parts, src, tgt = make(config(tmp_path, shared=shared))
    # Of b three pairs are copies of a's, as all of the last corpus are: that one is gone.
    assert [(name, part.encoded.num_pairs, part.first_row) for name, part in parts.items()] == [
        ("corpus 1, en>it", 3, 0),
        ("corpus 1, it>en", 3, 0),
        ("corpus 2, en>de, web", 1, 3),
    ]
    assert [src.tokens(part.prefix) for part in parts.values()] == [["<2it>"], ["<2en>"], ["<2de>", "<domain:web>"]]
    for i, (english, italian) in enumerate(PAIRS):
        for name, pair in (("en>it", (english, italian)), ("it>en", (italian, english))):
            source, target = parts[f"corpus 1, {name}"].encoded.pair(i)
            assert (src.decode(source.tolist()), tgt.decode(target.tolist())) == pair
    assert longest_source(parts) == 5
    assert tgt.control_ids == (src.control_ids if shared else {})


def test_a_corpus_has_its_own_limits_of_tokens(tmp_path: Path) -> None:
    settings = config(tmp_path)
    settings = settings.model_copy(
        update={"corpus": settings.corpus.model_copy(update={"filters": settings.corpus.filters.model_copy(
            update={"drop_duplicates": False})})}
    )  # fmt: skip
    corpus = prepare(settings.corpus)
    sides = train_tokenizers(corpus.train, settings.tokenizer, ["<2it>", "<2en>", "<2de>", "<domain:web>"])
    parts = encode_parts(settings, corpus, *sides)
    assert [part.encoded.num_pairs for part in parts.values()] == [3, 3, 3, 2]
    (row,) = [row for row in corpus.report.rows if row.reason == "dropped: longer than 3 tokens"]
    assert (row.count, row.example) == (1, f"{tmp_path / 'b.tsv'}, line 3: 5 source and 5 target tokens")


def test_weights_and_temperature_are_said(tmp_path: Path) -> None:
    parts, *_ = make(config(tmp_path, weight=2))
    assert describe(parts) == [
        "An epoch takes 6 of 3 pairs of corpus 1, en>it (weight 2, 46.2% of the epoch).",
        "An epoch takes 6 of 3 pairs of corpus 1, it>en (weight 2, 46.2% of the epoch).",
        "An epoch takes 1 of 1 pairs of corpus 2, en>de, web (weight 1, 7.7% of the epoch).",
    ]
    evened, *_ = make(config(tmp_path, temperature=1000))
    assert [round(part.weight * part.encoded.num_pairs, 2) for part in evened.values()] == [2.33, 2.33, 2.33]


def test_a_held_out_set_has_the_tokens_of_its_direction(tmp_path: Path) -> None:
    settings = config(tmp_path)
    corpus = prepare(settings.corpus)
    _, src, tgt = make(settings)
    part = encode_held_out(settings, corpus, src, tgt)["it-en"]
    assert (part.target_language, part.tag) == ("en", None)
    assert src.tokens(part.encoded.pair(0, 0)[0].tolist()) == ["<2en>", "▁two"]
    assert part.encoded.lengths(0)[0].tolist() == [3]


def test_a_filter_by_tokens_is_one_row_for_all_corpora(tmp_path: Path) -> None:
    rows = {"a": "one two three\tuno\nfour\tquattro\n", "b": "five\tcinque\nsix seven eight\tsei\nnine ten one\tnove\n"}
    for name, text in rows.items():
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    places = [{"path": tmp_path / f"{name}.tsv"} for name in rows]
    languages = {"source_language": "en", "target_language": "it"}
    settings = Config.model_validate(
        {"corpus": {**languages, "train": places, "filters": {"max_tokens": 2}}, "tokenizer": {"kind": "word"}}
    )
    corpus = prepare(settings.corpus)
    encode_parts(settings, corpus, *learn_tokenizers(settings, corpus, ()))
    (result,) = [found for found in corpus.report.filters if found.key == "max_tokens"]
    assert (result.count, [pair["source"] for pair in result.examples]) == (
        3, ["one two three", "six seven eight", "nine ten one"],
    )  # fmt: skip
    assert [(row.count, row.example.count("3 source")) for row in corpus.report.rows if "dropped" in row.reason] == [
        (3, 3)
    ]
    assert [(place.kept, place.dropped) for place in corpus.report.places] == [
        (1, {"longer than 2 tokens": 1}), (1, {"longer than 2 tokens": 2}),
    ]  # fmt: skip
