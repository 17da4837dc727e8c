"""What a person wants to know of a corpus before training on it, as values that JSON can hold.

corpus -> figures of its text -> tokenizers and token ids -> a few real steps of the configured model.
`translator.corpus.page` draws it.
"""

import itertools
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from translator import build
from translator import corpus as corpora
from translator.config import Config, Filters, resolve
from translator.corpus.figures import figures, histogram
from translator.corpus.filters import would_drop
from translator.device import apply, choose_device
from translator.encode import Encoded, encode_corpus
from translator.files import cache_folder
from translator.log import RunLog
from translator.tokenizer import BYTE_TOKENS, Tokenizer, train_tokenizers

PAIRS_TRIED = 50_000
"""Pairs on which filters that are off are tried, and whose tokens are looked at one by one."""

TIMED_STEPS, TIMED_SECONDS = 8, 20.0


def survey(config: Config, *, sample: int | None = None, timing: bool = True) -> dict[str, Any]:
    """Read, filter and encode the corpus of a run and say what is in it.

    Args:
        sample: read no more rows than this of each place.
        timing: take a few steps of the configured model, to tell how long training takes.
    """
    settings = config.corpus
    languages = (settings.source_language, settings.target_language)
    corpus = corpora.prepare(settings, most_rows=sample)
    report = corpus.report
    src_tokenizer, tgt_tokenizer = train_tokenizers(corpus.train, config.tokenizer)
    encoded = encode_corpus(
        corpus.train,
        src_tokenizer,
        tgt_tokenizer,
        max_tokens=settings.filters.max_tokens,
        max_ratio=settings.filters.max_ratio,
        seed=config.seed,
        cache=cache_folder() / "tokens",
    )
    _count_encoded(corpus, encoded)
    found: dict[str, Any] = {
        "name": config.name,
        "languages": list(languages),
        "sample": sample,
        **report.to_json(),
        "preset": settings.filters.preset,
        "off": _filters_that_are_off(corpus.sets["train"], settings.filters, languages),
        "sets": {name: figures(pairs, languages) for name, pairs in corpus.sets.items()},
        "tokens": _tokens(corpus, encoded, (src_tokenizer, tgt_tokenizer)),
        "training": None,
    }
    if timing:
        data = build.Data(src_tokenizer, tgt_tokenizer, encoded, {}, corpus.fingerprint, {})
        found["training"] = _time_training(config, data)
    return found


def _count_encoded(corpus: corpora.Corpus, encoded: Encoded) -> None:
    """Count what was left out for its tokens like what the other filters left out."""
    train = corpus.sets["train"]
    left = np.bincount(train.rows["origin"][encoded.index], minlength=len(train.origins))
    for reason, count in encoded.skipped.items():
        key = "max_ratio" if "ratio" in reason else "max_tokens"
        rows = [row for row, _, _ in encoded.examples[reason]]
        corpus.report.filters.append(
            corpora.FilterResult("train", key, reason, count, [train.shown(row) for row in rows[:3]])
        )
    for place, num_left in zip((p for p in corpus.report.places if p.set == "train"), left, strict=True):
        if place.kept > num_left:
            place.dropped["too many tokens, or too uneven in tokens"] = place.kept - int(num_left)
            place.kept = int(num_left)


def _filters_that_are_off(train: Any, filters: Filters, languages: tuple[str, str]) -> list[dict[str, Any]]:
    """What the filters of the preset web that are off would leave out of the first pairs that are kept."""
    web = Filters.model_validate({"preset": "web"})
    on = {key for key, value in filters if value not in (None, False)}
    scripts = {"source_scripts": filters.source_scripts, "target_scripts": filters.target_scripts}
    return [
        {
            "key": found.key,
            "value": getattr(web, found.key),
            "reason": found.reason,
            "count": found.count,
            "of": min(PAIRS_TRIED, len(train)),
            "examples": [train.shown(row) for row in found.rows],
        }
        for found in would_drop(train, web.model_copy(update=scripts), languages, PAIRS_TRIED)
        if found.key not in on and found.count
    ]


def _tokens(corpus: corpora.Corpus, encoded: Encoded, tokenizers: tuple[Tokenizer, Tokenizer]) -> dict[str, Any]:
    """Lengths in tokens of all training pairs, and what the tokens of some of them are."""
    step = -(-len(corpus.train) // PAIRS_TRIED)
    some = corpus.train.select(range(0, len(corpus.train), step))
    sides: dict[str, Any] = {}
    for side, tokenizer, lengths in zip(("source", "target"), tokenizers, encoded.lengths(), strict=True):
        texts = some[side][:]
        ids = np.fromiter(itertools.chain.from_iterable(tokenizer.encode_batch(texts)), dtype=np.int64)
        num_words = sum(len(text.split()) for text in texts)
        counts = np.bincount(ids, minlength=tokenizer.vocab_size)
        vocabulary = tokenizer.tokens(range(tokenizer.vocab_size))
        is_byte = np.isin(vocabulary, BYTE_TOKENS)
        sides[side] = {
            "kind": tokenizer.kind,
            "vocabulary": tokenizer.vocab_size,
            "per_epoch": int(lengths.sum()),
            "per_word": round(len(ids) / max(num_words, 1), 3),
            "unknown": float(counts[tokenizer.unk_id] / max(len(ids), 1)),
            "bytes": float(counts[is_byte].sum() / max(len(ids), 1)),
            "lengths": histogram(np.bincount(lengths)),
        }
    return {**sides, "pairs": encoded.num_pairs}


def _time_training(config: Config, data: build.Data) -> dict[str, Any]:
    """Seconds of a step of the configured model on this machine, measured, and what they come to."""
    device = choose_device(config.device.kind, config.device.precision, config.device.threads)
    apply(device, deterministic=config.device.deterministic)
    config = resolve(config, **{"device.compile": config.device.compile is True})  # as a run does
    with tempfile.TemporaryDirectory() as name:
        folders = build.Folders(Path(name), "timing")
        trainer = build.make_trainer(config, folders, device, data, RunLog(folders.runs, quiet=True), {})
    stream = trainer.stream
    num_tokens, seconds, num_steps = 0, 0.0, 0
    for step in range(TIMED_STEPS + 1):
        batches = [next(stream) for _ in range(config.batch.accumulate)]
        started = time.monotonic()
        trainer.train_step(batches)
        if device.torch_device.type == "cuda":
            torch.cuda.synchronize()
        if step:  # the first one warms up
            seconds += time.monotonic() - started
            num_steps += 1
            num_tokens += sum(batch.num_tgt_tokens for batch in batches)
        if seconds > TIMED_SECONDS:
            break
    per_step = seconds / num_steps
    per_epoch = -(-stream.num_batches(0) // config.batch.accumulate)
    total = trainer.settings.total_steps
    return {
        "device": device.describe().removeprefix("Device: "),
        "cores": os.cpu_count(),
        "seconds_per_step": per_step,
        "target_tokens_per_second": num_tokens / seconds,
        "measured_steps": num_steps,
        "steps_per_epoch": per_epoch,
        "seconds_per_epoch": per_step * per_epoch,
        "total_steps": total,
        "minutes": config.train.minutes,
        "seconds": None if total is None else per_step * total,
    }
