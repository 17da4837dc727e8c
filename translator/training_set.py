"""Corpora to token ids: each corpus in each of its directions, with its filters, weight and tokens before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import Dataset, concatenate_datasets

from translator.config import Config, TrainingCorpus
from translator.corpus import NUM_EXAMPLES, Corpus
from translator.corpus.cache import cache_key, cached
from translator.corpus.progress import announce
from translator.encode import encode_corpus
from translator.files import cache_folder
from translator.mixing import Part, mix, num_draws, temperature_weights
from translator.prefix import prefix_ids
from translator.tokenizer import LEARNED_BY, MAX_TRAINING_PAIRS, Tokenizer, auto_vocab_size, train_tokenizers
from translator.validation import ValidationSet
from translator.weights import load_tokenizers, save_tokenizers

BYTES_PER_ENTRY = 100  # about: an entry and its merge in a tokenizer file


def learn_tokenizers(config: Config, corpus: Corpus, control_tokens: Sequence[str]) -> tuple[Tokenizer, Tokenizer]:
    """Source and target tokenizer, by `train_tokenizers`; found in the cache for texts and settings that had some.

    Where the sides have a vocabulary each, pairs that are learned in reverse are learned from turned round, too.
    """
    turned = []
    if not config.tokenizer.shared:
        settings = config.corpus
        for _, place, first_row, table in _corpora(config, corpus):
            if settings.languages(place).reverse in settings.directions(place):
                turned.append((first_row, table))

    def build(folder: Path) -> dict[str, Any]:
        tables = [corpus.train, *(_turned(table) for _, table in turned)]
        announce("Learning the vocabulary", min(sum(map(len, tables)), MAX_TRAINING_PAIRS))
        sides = train_tokenizers(concatenate_datasets(tables), config.tokenizer, control_tokens)
        save_tokenizers(folder, *sides)
        return {"sides": [[one.asked_vocab_size, one.num_rare_characters] for one in sides]}

    wanted = config.tokenizer.model_dump(mode="json", exclude={"dropout", "dropout_samples"})
    texts = [corpus.sets["train"].fingerprint, [(first_row, len(table)) for first_row, table in turned]]
    key = cache_key(LEARNED_BY, wanted, list(control_tokens), texts)
    size = config.tokenizer.vocab_size
    entries = auto_vocab_size(len(corpus.train), config.tokenizer.kind) if size == "auto" else size
    need = BYTES_PER_ENTRY * entries * (1 if config.tokenizer.shared else 2)
    folder, info = cached(key, build, what="the vocabulary", num_bytes=need, parent=cache_folder() / "tokenizers")
    sides = load_tokenizers(folder)
    for one, numbers in zip(sides, info["sides"], strict=True):
        one.asked_vocab_size, one.num_rare_characters = numbers
    return sides


def encode_parts(
    config: Config, corpus: Corpus, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer, **options: Any
) -> dict[str, Part]:
    """Each corpus in each direction, by a name for people. Pairs that the filters by tokens drop are reported.

    `options` are those of `encode_corpus`.

    Raises:
        CorpusError: no pair of a corpus is usable.
        ConfigError: the vocabulary has no token for a language or a tag.
    """
    settings = config.corpus
    parts: dict[str, Part] = {}
    dropped: dict[str, tuple[list[int], list[list[int]]]] = {}  # by reason: pairs of each corpus, the first rows
    for number, place, first_row, table in _corpora(config, corpus):
        filters = settings.filters_of(place)
        limits: dict[str, Any] = {"max_tokens": filters.max_tokens, "max_ratio": filters.max_ratio}
        encoded = encode_corpus(table, src_tokenizer, tgt_tokenizer, **limits, **options)
        for reason, count in encoded.skipped.items():
            by_corpus, rows = dropped.setdefault(reason, ([0] * len(settings.train), []))
            by_corpus[number - 1] = count
            rows += [[first_row + row, *lengths] for row, *lengths in encoded.examples[reason]]
        for way in settings.directions(place):
            ids = encoded
            if way != settings.languages(place):
                one_vocabulary = src_tokenizer is tgt_tokenizer
                ids = encoded.reversed() if one_vocabulary else encode_corpus(
                    _turned(table), src_tokenizer, tgt_tokenizer, **limits, **options
                )  # fmt: skip
            name = f"corpus {number}, {way}" + ("" if place.tag is None else f", {place.tag}")
            parts[name] = Part(ids, prefix_ids(src_tokenizer, way.target, place.tag), place.weight, first_row)
    for reason, (by_corpus, rows) in dropped.items():
        del rows[NUM_EXAMPLES:]
        places = (f"{corpus.locate('train', row)}: {src} source and {tgt} target tokens" for row, src, tgt in rows)
        corpus.report.add("train", f"dropped: {reason}", sum(by_corpus), places)
        key = "max_ratio" if "ratio" in reason else "max_tokens"
        corpus.report.leave_out(key, reason, by_corpus, [corpus.sets["train"].shown(row) for row, _, _ in rows])
    lost = [number for number, size in enumerate(corpus.sizes, start=1) if not size]
    corpus.report.warnings += [f"the filters leave no pair of corpus {number}" for number in lost]
    if settings.mix.temperature != 1:
        weights = temperature_weights([part.encoded.num_pairs for part in parts.values()], settings.mix.temperature)
        parts = {
            name: replace(part, weight=weight) for (name, part), weight in zip(parts.items(), weights, strict=True)
        }
    return parts


def encode_held_out(
    config: Config, corpus: Corpus, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer, **options: Any
) -> dict[str, ValidationSet]:
    """The validation sets, each with its direction and tag; `options` are those of `encode_corpus`."""
    settings = config.corpus
    sets = {}
    for name, table in corpus.valid.items():
        language, tag = settings.asked_of((settings.valid or {}).get(name))
        ids = encode_corpus(table, src_tokenizer, tgt_tokenizer, **options)
        sets[name] = ValidationSet(
            table,
            mix([Part(ids, prefix_ids(src_tokenizer, language, tag))]),
            num_left_out=corpus.num_left_out("valid" if name == "valid" else f"valid/{name}"),
            target_language=language,
            tag=tag,
        )
    return sets


def describe(parts: dict[str, Part]) -> list[str]:
    """A line for each part about what an epoch takes from it; none where there is one whole corpus."""
    draws = {name: num_draws(part.encoded.num_pairs, part.weight) for name, part in parts.items()}
    if draws == {name: part.encoded.num_pairs for name, part in parts.items()} and len(parts) == 1:
        return []
    total = sum(draws.values())
    return [
        f"An epoch takes {draws[name]:,} of {part.encoded.num_pairs:,} pairs of {name} (weight {part.weight:.4g}, "
        f"{draws[name] / total:.1%} of the epoch)."
        for name, part in parts.items()
    ]


def longest_source(parts: dict[str, Part]) -> int:
    """Tokens of the longest training source, without the end mark and the tokens before it."""
    return max(int(part.encoded.lengths(0)[0].max()) for part in parts.values()) - 1


def _corpora(config: Config, corpus: Corpus) -> Iterator[tuple[int, TrainingCorpus, int, Dataset]]:
    """Number from 1, settings, first row and pairs of each training corpus that has pairs left."""
    first = 0
    for number, (place, size) in enumerate(zip(config.corpus.train, corpus.sizes, strict=True), start=1):
        if size:
            whole = size == len(corpus.train)
            yield number, place, first, corpus.train if whole else corpus.train.select(range(first, first + size))
        first += size


def _turned(table: Dataset) -> Dataset:
    return table.rename_columns({"source": "target", "target": "source"}).select_columns(["source", "target"])
