"""Encoded corpora: right ids, counted filters, a cache that is found again and heals, repeatable subword sampling."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, concatenate_datasets

from translator import encode, subword_sampling
from translator.corpus import cache as cache_module
from translator.encode import Encoded, encode_corpus
from translator.errors import CorpusError, TranslatorError
from translator.subword_sampling import SubwordSampler, sample_batch
from translator.tokenizer import Tokenizer

SOURCES = [
    "the old man sat on the mat", "", "a dog and a cat", "what is that?",
    "the man's dog sees the cat", "猫 and dogs", "mat", "a man, a dog; a mat.",
]  # fmt: skip
TARGETS = ["l'uomo vecchio", "vuoto", "un cane e un gatto", "che cos'è?", "il cane vede", "猫 e cani", "x", "uomo"]
BPE = Tokenizer.train((SOURCES + TARGETS) * 20, kind="bpe", vocab_size=420)
SAMPLED: dict[str, Any] = {"dropout": 0.3, "dropout_samples": 3, "seed": 1}


def table(sources: list[str] = SOURCES, targets: list[str] = TARGETS) -> Dataset:
    return Dataset.from_dict({"source": sources, "target": targets})


def pairs_of(encoded: Encoded, epoch: int = 0) -> list[tuple[list[int], list[int]]]:
    return [(src.tolist(), tgt.tolist()) for src, tgt in (encoded.pair(i, epoch) for i in range(encoded.num_pairs))]


def test_ids_are_those_of_the_tokenizers_without_special_tokens() -> None:
    characters = Tokenizer.train(TARGETS, kind="character", vocab_size=100)
    encoded = encode_corpus(table(), BPE, characters)
    assert encoded.num_pairs == len(SOURCES)
    assert [src for src, _ in pairs_of(encoded)] == BPE.encode_batch(SOURCES)
    assert [tgt for _, tgt in pairs_of(encoded)] == characters.encode_batch(TARGETS)
    src_len, tgt_len = encoded.lengths()
    assert src_len.tolist() == [len(ids) + 1 for ids in BPE.encode_batch(SOURCES)]
    assert tgt_len.tolist() == [len(text) + 1 for text in TARGETS]
    assert (str(src_len.dtype), str(encoded.pair(0)[0].dtype)) == ("int32", "uint16")


@pytest.mark.parametrize("side", ["source", "target"])
def test_long_pairs_are_left_out_counted_and_named(side: str) -> None:
    long, short = ["a cat"] * 6 + ["cat " * 3001] + ["a cat"] * 6, ["a dog"] * 13
    dataset = table(long, short) if side == "source" else table(short, long)
    encoded = encode_corpus(dataset, BPE, BPE, max_tokens=128)
    assert encoded.num_pairs == 12
    assert encoded.index.tolist() == [*range(6), *range(7, 13)]
    assert encoded.skipped == {"longer than 128 tokens": 1}
    ((row, *lengths),) = encoded.examples["longer than 128 tokens"]
    assert row == 6
    assert max(lengths) > 128
    assert encode_corpus(dataset, BPE, BPE).num_pairs == 13  # validation sets keep all


def test_limits_hold_exactly_and_count_tokens_not_words() -> None:
    characters = Tokenizer.train(["abc"], kind="character", vocab_size=100)
    dataset = table(["aaaa", "aaaaa", "aaaa", "aaa", ""], ["bb", "bb", "b", "b", "bb"])
    encoded = encode_corpus(dataset, characters, characters, max_tokens=4, max_ratio=2.0)
    assert encoded.index.tolist() == [0, 4]
    assert encoded.skipped == {"longer than 4 tokens": 1, "token ratio above 2": 2}
    assert encoded.examples["token ratio above 2"] == [[2, 4, 1], [3, 3, 1]]  # row, source and target tokens


def test_examples_are_few_and_rows_right_over_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_CHUNK_PAIRS", 4)
    dataset = table(["a", "mat mat mat mat mat mat"] * 9, ["b"] * 18)
    whole = encode_corpus(dataset, BPE, BPE, max_tokens=5)
    assert whole.index.tolist() == list(range(0, 18, 2))
    assert whole.skipped == {"longer than 5 tokens": 9}
    assert [row for row, _, _ in whole.examples["longer than 5 tokens"]] == [1, 3, 5, 7, 9]


def test_a_corpus_without_a_usable_pair_is_an_error() -> None:
    with pytest.raises(CorpusError, match=r"none of the 8 pairs is usable \(8 longer than 0 tokens\)"):
        encode_corpus(table(TARGETS, TARGETS), BPE, BPE, max_tokens=0)


def test_the_cache_is_found_again_by_content_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encode_corpus(table(), BPE, BPE, cache=tmp_path)
    monkeypatch.setattr(Tokenizer, "encode_batch", None)  # from here on, encoding would fail
    halves = [table(SOURCES[:3], TARGETS[:3]), table(SOURCES[3:], TARGETS[3:])]
    shuffled = concatenate_datasets(halves[::-1]).select([5, 6, 7, 0, 1, 2, 3, 4])
    for same in (table(), concatenate_datasets(halves), shuffled):
        again = encode_corpus(same, BPE, BPE, cache=tmp_path)
        assert pairs_of(again) == pairs_of(first)
        assert again.fingerprint == first.fingerprint
    assert isinstance(again.pair(0)[0], np.memmap)


@pytest.mark.parametrize(
    "change",
    [{"max_tokens": 50}, {"max_ratio": 9.0}, SAMPLED, {**SAMPLED, "seed": 2}, {**SAMPLED, "dropout": 0.2}],
)
def test_other_settings_have_another_fingerprint(change: dict[str, Any]) -> None:
    plain = encode_corpus(table(), BPE, BPE, seed=1).fingerprint
    changed = encode_corpus(table(), BPE, BPE, **change).fingerprint
    assert changed != plain
    assert changed == encode_corpus(table(), BPE, BPE, **change).fingerprint
    assert plain == encode_corpus(table(), BPE, BPE, seed=2).fingerprint  # without sampling the seed is not used


def test_moving_text_across_a_boundary_changes_the_fingerprint() -> None:
    fingerprints = {
        encode_corpus(table(sources, targets), BPE, BPE).fingerprint
        for sources, targets in [(["ab", "c"], ["d", "e"]), (["a", "bc"], ["d", "e"]), (["ab", "cd"], ["", "e"])]
    }
    assert len(fingerprints) == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "remove", "meta"])
@pytest.mark.parametrize("settings", [{}, SAMPLED])
def test_a_damaged_entry_is_made_anew(damage: str, settings: dict[str, Any], tmp_path: Path) -> None:
    first = pairs_of(encode_corpus(table(), BPE, BPE, cache=tmp_path, **settings))
    (entry,) = (tmp_path / "encoded").iterdir()
    file = entry / ("entry.json" if damage == "meta" else "target.0.ids")
    content = file.read_bytes()
    file.unlink()
    if damage != "remove":
        file.write_bytes(content[:-2] if damage in ("cut", "meta") else bytes([content[0] ^ 1]) + content[1:])
    assert pairs_of(encode_corpus(table(), BPE, BPE, cache=tmp_path, **settings)) == first
    assert list((tmp_path / "encoded").iterdir()) == [entry]
    assert file.read_bytes() == content


def test_an_interrupted_build_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "checksum", lambda path: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            encode_corpus(table(), BPE, BPE, cache=tmp_path)
    assert list((tmp_path / "encoded").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TranslatorError, match=r"file.*cannot be written.*TRANSLATOR_CACHE"):
        encode_corpus(table(), BPE, BPE, cache=tmp_path / "file")


def test_an_entry_of_an_older_layout_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Format 1 kept examples as sentences; now they are [row, source tokens, target tokens]."""
    long = table(["cat " * 50, "cat"], ["x", "y"])
    monkeypatch.setattr(encode, "_FORMAT", 1)
    encode_corpus(long, BPE, BPE, max_tokens=9, cache=tmp_path)
    (file,) = tmp_path.glob("encoded/*/entry.json")
    old = json.loads(file.read_text())
    old["info"]["examples"] = {reason: ["pair 1: 50 source and 1 target tokens"] for reason in old["info"]["examples"]}
    file.write_text(json.dumps(old))
    monkeypatch.undo()
    (example,) = encode_corpus(long, BPE, BPE, max_tokens=9, cache=tmp_path).examples["longer than 9 tokens"]
    assert example[0] == 0


def test_sampled_encodings_spell_the_same_text_in_several_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = encode_corpus(table(), BPE, BPE, **SAMPLED)
    plain = encode_corpus(table(), BPE, BPE)
    for epoch in range(4):
        pairs = pairs_of(encoded, epoch)
        assert [BPE.decode(src) for src, _ in pairs] == SOURCES
        assert [BPE.decode(tgt) for _, tgt in pairs] == TARGETS
        src_len, tgt_len = encoded.lengths(epoch)
        assert [(len(src) + 1, len(tgt) + 1) for src, tgt in pairs] == [*zip(src_len, tgt_len, strict=True)]
        # No sampled spelling is longer than the longest plain one, so a budget that holds one holds all.
        assert max(src_len.max(), tgt_len.max()) <= max(lengths.max() for lengths in plain.lengths())
    assert pairs_of(encoded, 0) == pairs_of(encoded, 3) != pairs_of(encoded, 1)
    assert pairs_of(encoded, 1) == pairs_of(encode_corpus(table(), BPE, BPE, **SAMPLED), 1)
    monkeypatch.setattr(encode, "_CHUNK_PAIRS", 3)  # how the corpus is cut into chunks must not matter
    assert pairs_of(encoded, 1) == pairs_of(encode_corpus(table(), BPE, BPE, **SAMPLED), 1)


def test_sampling_skips_kinds_without_merges() -> None:
    words = Tokenizer.train(SOURCES + TARGETS, kind="word", vocab_size=100)
    assert encode_corpus(table(), words, words, **SAMPLED).num_samples == 1


def test_sampling_with_no_dropout_is_the_library_itself() -> None:
    random = Random(0)
    letters = "the old man's dog sat, 猫è. "
    texts = ["".join(random.choices(letters, k=random.randrange(40))) for _ in range(1000)]
    for sample in sample_batch(BPE, texts, dropout=0.0, num_samples=2, seed=1):
        assert sample == BPE.encode_batch(texts)


def test_sampling_drops_as_many_merges_as_asked() -> None:
    """One merge, dropped with probability p, is left out in a share p of the places, independently in each."""
    pair = Tokenizer.train(["ab"] * 9 + ["a", "b"] * 9, kind="bpe", vocab_size=276)
    texts = ["ab " * 50] * 40
    samples = sample_batch(pair, texts, dropout=1.0, num_samples=1, seed=1)
    assert pair.tokens(samples[0][0][:3]) == ["▁", "a", "b"]
    num_whole = Counter[str]()
    for sample in sample_batch(pair, texts, dropout=0.25, num_samples=8, seed=1):
        assert len({tuple(ids) for ids in sample}) == len(texts)
        num_whole.update(token for ids in sample for token in pair.tokens(ids))
    assert num_whole["▁ab"] / (50 * 40 * 8) == pytest.approx(0.75**2, abs=0.2)  # 32 segmentations were drawn


def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = sample_batch(BPE, SOURCES, dropout=0.3, num_samples=2, seed=1)
    monkeypatch.setattr(subword_sampling, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(subword_sampling, "_TYPES_PER_TASK", 10)
    monkeypatch.setattr(SubwordSampler.sample, "__defaults__", (2,))
    assert sample_batch(BPE, SOURCES, dropout=0.3, num_samples=2, seed=1) == alone
    assert sample_batch(BPE, SOURCES, dropout=0.3, num_samples=2, seed=2) != alone


@pytest.mark.slow  # processes that load everything anew
def test_parts_make_the_files_that_one_piece_makes_and_survive_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path))
    dataset = table(SOURCES * 3, TARGETS * 3)
    whole = encode_corpus(dataset, BPE, BPE, max_tokens=9)
    monkeypatch.setattr(encode, "_PART_PAIRS", 5)
    monkeypatch.setattr(encode._Plain, "count", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(dataset, BPE, BPE, max_tokens=9, cache=tmp_path / "tokens", num_workers=2)
    monkeypatch.undo()
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path))
    monkeypatch.setattr(encode, "_PART_PAIRS", 5)
    (parts,) = (tmp_path / "parts").iterdir()
    made = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    again = encode_corpus(dataset, BPE, BPE, max_tokens=9, cache=tmp_path / "tokens", num_workers=1)
    assert sorted(made) == ["0", "1", "2", "3", "4"]
    assert pairs_of(again) == pairs_of(whole)
    assert again.index.tolist() == whole.index.tolist()
    assert (again.skipped, again.examples) == (whole.skipped, whole.examples)
    assert not list((tmp_path / "parts").iterdir())
