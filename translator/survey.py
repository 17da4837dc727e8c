"""What a person wants to know of a corpus before training on it, as values that JSON can hold.

corpus -> figures of its text -> tokenizers and token ids -> a few real steps of the configured model.
`translator.corpus.page` draws it.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from translator import build
from translator import corpus as corpora
from translator.batches import EncodedPairs
from translator.config import Config, CorpusConfig, Filters, resolve
from translator.corpus.figures import figures, histogram
from translator.corpus.filters import would_drop
from translator.device import apply, choose_device, wait_for
from translator.errors import TranslatorError
from translator.files import Folders, cache_folder
from translator.initial import inherit, load_initial
from translator.log import RunLog
from translator.mixing import mix
from translator.prefix import control_tokens
from translator.processes import usable_cores
from translator.run_data import RunData
from translator.tokenizer import Tokenizer
from translator.tokenizer_form import BYTE_TOKENS
from translator.training_set import encode_parts, learn_tokenizers, longest_source

PAIRS_TRIED = 50_000
"""Pairs on which filters that are off are tried, and whose tokens are looked at one by one."""

TIMED_STEPS, TIMED_SECONDS = 8, 20.0


def survey(config: Config, *, home: Path = Path(), sample: int | None = None, timing: bool = True) -> dict[str, Any]:
    """Read, filter and encode the corpus of a run and say what is in it.

    Args:
        home: folder of the runs, for the weights that `train.init_from` names.
        sample: read no more rows than this of each place.
        timing: take a few steps of the configured model, to tell how long training takes.
    """
    settings, initial = config.corpus, None
    if config.train.init_from is not None:
        initial = load_initial(config.train.init_from, home)
        config = inherit(config, initial.config)
    corpus = corpora.prepare(settings, most_rows=sample)
    if initial is None:
        before = control_tokens(settings.choices.languages, settings.choices.known_tags)
        tokenizers = learn_tokenizers(config, corpus, before)
    else:
        tokenizers = initial.src_tokenizer, initial.tgt_tokenizer
    parts = encode_parts(config, corpus, *tokenizers, seed=config.seed, cache=cache_folder() / "tokens")
    encoded = mix(list(parts.values()), seed=config.seed)
    found: dict[str, Any] = {
        "name": config.name,
        "directions": [str(way) for way in settings.all_directions],
        "sample": sample,
        **corpus.report.to_json(),
        "preset": settings.filters.preset,
        "off": _filters_that_are_off(corpus, config),
        "sets": {name: figures(pairs, _languages(settings, name)) for name, pairs in corpus.sets.items()},
        "tokens": _tokens(corpus, encoded, tokenizers),
        "training": None,
    }
    if timing:
        data = RunData(
            *tokenizers,
            train=encoded,
            num_pairs=encoded.num_pairs,
            longest_source=longest_source(parts),
            valid={},
            fingerprint=corpus.fingerprint,
            contents={},
            report={},
            changed={},
            locate=str,
            origin=None,
        )
        try:
            found["training"] = _time_training(config, data)
        except TranslatorError as error:  # the model does not fit, or there is no such device
            found["warnings"].append(str(error))
    return found


def _languages(settings: CorpusConfig, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Languages of both sides of a set, named as in the report; of `train`, and of a split of it, all that it has."""
    kind, _, own = name.partition("/")
    place = ({"valid": settings.valid, "test": settings.test}.get(kind) or {}).get(own or kind)
    sources, targets = zip(*map(settings.languages, settings.train if place is None else [place]), strict=True)
    return tuple(dict.fromkeys(sources)), tuple(dict.fromkeys(targets))


def _filters_that_are_off(corpus: corpora.Corpus, config: Config) -> list[dict[str, Any]]:
    """What the filters of the preset web that are off would leave out of the first pairs of each corpus."""
    web, found = Filters.model_validate({"preset": "web"}), dict[str, dict[str, Any]]()
    train, first, settings = corpus.sets["train"], 0, config.corpus
    num_tried = 0
    for place, size in zip(settings.train, corpus.sizes, strict=True):
        filters = settings.filters_of(place)
        on = {key for key, value in filters if value not in (None, False)}
        scripts = {"source_scripts": filters.source_scripts, "target_scripts": filters.target_scripts}
        part, most = train.part(first, first + size), PAIRS_TRIED * size // len(train)
        num_tried += min(most, size)
        for dropped in would_drop(part, web.model_copy(update=scripts), settings.languages(place), most):
            if dropped.key not in on and dropped.count:
                one = found.setdefault(
                    dropped.key,
                    {"key": dropped.key, "value": getattr(web, dropped.key), "reason": dropped.reason, "count": 0},
                )
                one["count"] += dropped.count
                shown = one.setdefault("examples", [])
                shown += [part.shown(row) for row in dropped.rows[: corpora.NUM_EXAMPLES - len(shown)]]
        first += size
    return [{**one, "of": num_tried} for one in found.values()]


def _tokens(corpus: corpora.Corpus, encoded: EncodedPairs, tokenizers: tuple[Tokenizer, Tokenizer]) -> dict[str, Any]:
    """Lengths in tokens of all training pairs, and what the tokens of some of them are."""
    step = -(-len(corpus.train) // PAIRS_TRIED)
    some = corpus.train.select(range(0, len(corpus.train), step))
    sides: dict[str, Any] = {}
    for side, tokenizer, lengths in zip(("source", "target"), tokenizers, encoded.lengths(0), strict=True):
        texts = some[side][:]
        ids, _ = tokenizer.encode_flat(texts)
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


def _time_training(config: Config, data: RunData) -> dict[str, Any]:
    """Seconds of a step of the configured model on this machine, measured, and what they come to."""
    device = choose_device(config.device.kind, config.device.precision, config.device.threads)
    apply(device, deterministic=config.device.deterministic)
    config = resolve(config, **{"device.compile": config.device.compile is True})  # as a run does
    with tempfile.TemporaryDirectory() as name:
        folders = Folders(Path(name), "timing")
        log = RunLog(folders.runs, quiet=True)
        config = build.with_batch_tokens(config, device, data, log)
        trainer = build.make_trainer(config, folders, device, data, log, {})
    stream = trainer.stream
    num_tokens, seconds, num_steps = 0, 0.0, 0
    for step in range(TIMED_STEPS + 1):
        place = stream.state()
        batches = [next(stream) for _ in range(config.batch.accumulate)]
        started = time.monotonic()
        trainer.state.step += 1
        trainer.train_step(batches, place)
        wait_for(device.torch_device)
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
        "cores": usable_cores(),
        "seconds_per_step": per_step,
        "target_tokens_per_second": num_tokens / seconds,
        "measured_steps": num_steps,
        "steps_per_epoch": per_epoch,
        "seconds_per_epoch": per_step * per_epoch,
        "total_steps": total,
        "minutes": config.train.minutes,
        "seconds": None if total is None else per_step * total,
    }
