"""The data of a run: corpus, tokenizers and token ids, read, filtered, encoded, and compared with what they were."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from translator import corpus as corpora
from translator.batches import EncodedPairs
from translator.budget import sizes_of
from translator.checkpoint import Checkpoint
from translator.config import Config
from translator.device import Device
from translator.files import Folders, cache_folder
from translator.initial import Initial
from translator.log import RunLog
from translator.memory import Sizes
from translator.mixing import mix
from translator.prefix import control_tokens, require
from translator.resuming import as_stored, check_identity
from translator.tokenizer import Tokenizer
from translator.training_set import describe, encode_held_out, encode_parts, learn_tokenizers, longest_source
from translator.validation import ValidationSet
from translator.weights import load_tokenizers

UNKNOWN_WARNING = 0.05  # share of unknown tokens in a validation set above which the run warns


@dataclass(frozen=True)
class RunData:
    """What a run learns from and is measured on."""

    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer
    train: EncodedPairs
    num_pairs: int  # different ones; an epoch may take some of them, or some twice
    longest_source: int
    valid: dict[str, ValidationSet]
    fingerprint: str
    contents: dict[str, list[dict[str, Any]]]
    report: dict[str, Any]
    changed: dict[str, str]
    """Sets that are not what they were when the run was left, with what has changed."""
    locate: Callable[[int], str]  # where in the corpus a training pair stands, by its number in `train`
    origin: dict[str, Any] | None  # of the weights that the run began with, where they are another run's

    def sizes(self, config: Config, device: Device) -> Sizes:
        """What the memory of the run depends on."""
        vocab_sizes = self.src_tokenizer.vocab_size, self.tgt_tokenizer.vocab_size
        return sizes_of(config, device, *vocab_sizes, validates=bool(self.valid))


def prepare_data(
    config: Config,
    folders: Folders,
    log: RunLog,
    loaded: Checkpoint | None,
    initial: Initial | None = None,
    *,
    accept_new_corpus: bool = False,
) -> RunData:
    """Read, filter and encode the corpus; train the tokenizers, or take those of the run that goes on or is built upon.

    Raises:
        CheckpointError: the corpus or a tokenizer is not what it was when `loaded` was written.
        ConfigError: the vocabulary of `initial` has no token for a language or tag.
        CorpusError: the corpus cannot be used.
    """
    started = time.monotonic()
    choices = config.corpus.choices
    before = control_tokens(choices.languages, choices.known_tags)
    if initial is not None:
        require(initial.src_tokenizer, before)
    corpus = corpora.prepare(config.corpus)
    contents, changed = corpus.contents(), dict[str, str]()
    if loaded is not None:
        src_tokenizer, tgt_tokenizer = load_tokenizers(folders.weights)
        tokenizers = src_tokenizer, tgt_tokenizer
        with as_stored(loaded):
            changed = check_identity(
                loaded, corpus.fingerprint, contents, tokenizers, accept_new_corpus=accept_new_corpus
            )
    elif initial is not None:
        src_tokenizer, tgt_tokenizer = initial.src_tokenizer, initial.tgt_tokenizer
    else:
        src_tokenizer, tgt_tokenizer = learn_tokenizers(config, corpus, before)
    common: dict[str, Any] = {"seed": config.seed, "cache": cache_folder() / "tokens"}
    sampling = {"dropout": config.tokenizer.dropout, "dropout_samples": config.tokenizer.dropout_samples}
    parts = encode_parts(config, corpus, src_tokenizer, tgt_tokenizer, **sampling, **common)
    train_set = mix(list(parts.values()), seed=config.seed)
    num_pairs = sum({part.first_row: part.encoded.num_pairs for part in parts.values()}.values())
    valid_sets = encode_held_out(config, corpus, src_tokenizer, tgt_tokenizer, **common)
    if loaded is None:
        _describe_data(corpus, src_tokenizer, tgt_tokenizer, config, log)
        for line in describe(parts):
            log.line(line)
    log.line(
        f"Corpus ready in {time.monotonic() - started:.1f} s: {num_pairs:,} training pairs. "
        f"Tables and token ids are kept in {cache_folder()}; delete that folder to clear them."
    )
    report: dict[str, Any] = corpus.report.to_json()

    def locate(pair: int) -> str:
        return corpus.locate("train", int(train_set.index[pair]))

    origin = initial.origin if initial is not None else (loaded.state["init_from"] if loaded is not None else None)
    return RunData(
        src_tokenizer=src_tokenizer,
        tgt_tokenizer=tgt_tokenizer,
        train=train_set,
        num_pairs=num_pairs,
        longest_source=longest_source(parts),
        valid=valid_sets,
        fingerprint=corpus.fingerprint,
        contents=contents,
        report=report,
        changed=changed,
        locate=locate,
        origin=origin,
    )


def _describe_data(
    corpus: corpora.Corpus, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer, config: Config, log: RunLog
) -> None:
    """What was found in the corpus, how large the vocabularies are, and whether they cover the validation sets."""
    for line in corpus.report.table().splitlines():
        log.line(line)
    sides = {"source": src_tokenizer, "target": tgt_tokenizer}
    for side, one in ({"shared": src_tokenizer} if config.tokenizer.shared else sides).items():
        asked = one.asked_vocab_size or config.tokenizer.vocab_size
        rare = f" {one.num_rare_characters:,} rare characters have none." if one.num_rare_characters else ""
        log.line(f"Vocabulary ({side}, {one.kind}): {one.vocab_size:,} entries, {asked} asked.{rare}")
    for name, dataset in corpus.valid.items():
        for side, one in sides.items():
            if (rate := one.unknown_rate(dataset[side])) > UNKNOWN_WARNING:
                log.line(
                    f"Warning: {rate:.0%} of the {side} tokens of {name} are unknown to the {one.kind} vocabulary; "
                    "tokenizer.kind=bpe or unigram leaves none unknown."
                )
