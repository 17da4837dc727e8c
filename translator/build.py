"""From a configuration to a training run: the one place where settings become objects.

config -> device -> corpus -> tokenizers -> token ids -> model -> trainer -> run
"""

import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translator import __version__, checkpoint
from translator import corpus as corpora
from translator.batches import BatchStream
from translator.card import model_card
from translator.config import (
    Config,
    dump_config,
    flat_settings,
    load_config,
    resolve,
    stop_rule,
    unused_settings,
    validation_sets,
)
from translator.device import Device, apply, available_kinds, choose_device
from translator.encode import Encoded, encode_corpus
from translator.errors import CheckpointError, TranslatorError
from translator.files import cache_folder, hold, write_atomic
from translator.log import RunLog
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer, WeightAverage, learning_rate
from translator.resuming import already_done, check_identity, compare, keep_choices, stream_position
from translator.tokenizer import Tokenizer, train_tokenizers
from translator.trainer import Trainer
from translator.training_state import Outcome, Settings
from translator.translate import Translator
from translator.validation import ValidationSet, Validator
from translator.weights import WEIGHTS, load_tokenizers, save_tokenizers, save_weights

FLOAT16_LOSS_SCALE = 2.0**16
UNKNOWN_WARNING = 0.05  # share of unknown tokens in a validation set above which the run warns


@dataclass(frozen=True)
class Folders:
    """Where a run keeps its files."""

    home: Path
    name: str

    @property
    def runs(self) -> Path:
        """For a person: logs, curves, hypotheses."""
        return self.home / "runs" / self.name

    @property
    def weights(self) -> Path:
        """For a program: weights, tokenizers, config, checkpoints."""
        return self.home / "weights" / self.name

    @property
    def lock(self) -> Path:
        """Held while a process trains; beside the folder, which may be moved away."""
        return self.home / "weights" / f".{self.name}.lock"

    @property
    def checkpoints(self) -> Path:
        """Folders of training state."""
        return self.weights / "checkpoints"


def train(config: Config, *, home: Path, restart: bool = False) -> int:
    """Train, or go on with the unfinished run of that name. Returns the exit status."""
    assert config.name is not None
    folders = Folders(home, config.name)
    if not restart and (folders.weights / WEIGHTS).exists() and not folders.checkpoints.is_dir():
        raise CheckpointError(
            f"{folders.weights} holds weights without checkpoints, which training would overwrite; give this run "
            "another name (name=...), or keep them aside with --restart."
        )
    with hold(folders.lock, f"run {folders.name}"):
        return _run(config, folders, unused_settings(config), restart=restart)


def resume(name: str, overrides: list[str], *, home: Path) -> int:
    """Go on with a run from its newest checkpoint and its stored configuration. Returns the exit status."""
    folders = Folders(home, name)
    stored = folders.weights / "config.yaml"
    if not stored.is_file():
        raise CheckpointError(f"There is no run {name} (no {stored}); `translator runs` lists the runs.")
    if not checkpoint.list_checkpoints(folders.checkpoints):
        raise CheckpointError(
            f"Run {name} has no checkpoint yet; begin it again with `translator train` and its configuration."
        )
    with hold(folders.lock, f"run {folders.name}"):
        return _run(load_config(stored, overrides), folders, [])


def _run(config: Config, folders: Folders, warnings: Sequence[str], *, restart: bool = False) -> int:
    """Nothing is written before it is known that the run can begin, or go on and is not finished."""
    loaded = None if restart else checkpoint.load_newest(folders.checkpoints)
    stored = config
    if loaded is not None:
        stored = load_config(folders.weights / "config.yaml")
        config = keep_choices(config, stored, available_kinds())
    device = choose_device(config.device.kind, config.device.precision, config.device.threads)
    choices = {"kind": device.torch_device.type, "precision": device.precision, "threads": device.threads}
    choices["compile"] = config.device.compile is True
    config = resolve(config, **{f"device.{key}": value for key, value in choices.items()})
    if loaded is not None and device.precision == stored.device.precision:
        device = replace(device, reason="as the run began")
    apply(device, deterministic=config.device.deterministic)
    log = RunLog(folders.runs)
    log.line(device.describe())
    for line in [*([] if loaded is None else compare(stored, config)), *(f"Warning: {text}" for text in warnings)]:
        log.line(line)
    data = _prepare_data(config, folders, log, loaded)
    position = stream_position(stored, config, loaded.state["stream"]) if loaded is not None else {}
    trainer = make_trainer(config, folders, device, data, log, position)
    if loaded is not None:
        trainer.load(loaded)
        if done := already_done(config, trainer.state):
            print(done, file=sys.stderr)
            return 0
    if restart:
        _set_aside(folders)
    _open_folders(config, folders, data, log, trainer, loaded)
    try:
        trainer.preflight(trainer.stream.longest_batch())
        outcome = trainer.run()
    except TranslatorError as error:
        log.record(str(error))
        raise
    finally:
        log.close()
    _say_how_it_ended(log, folders, trainer, outcome)
    return outcome.status


def _open_folders(
    config: Config, folders: Folders, data: "Data", log: RunLog, trainer: Trainer, loaded: checkpoint.Checkpoint | None
) -> None:
    """Write what stands in the folders of a run from its first moment: log, settings, report, tokenizers."""
    folders.checkpoints.mkdir(parents=True, exist_ok=True)
    log.open(None if loaded is None else loaded.state["logs"])
    if loaded is None:
        save_tokenizers(folders.weights, data.src_tokenizer, data.tgt_tokenizer)
        log.line(f"Run {folders.name} begins; translator {__version__}, torch {torch.__version__}.")
        settings = {key: value for key, (value, _) in flat_settings(config).items()}
        log.hyperparameters(settings, [trainer.settings.stop_on or "train/loss"])
    else:
        log.line(f"Run {folders.name} goes on from step {loaded.step:,} ({loaded.folder}).")
    text = dump_config(config)
    write_atomic(folders.weights / "config.yaml", text)
    log.save_text("config.yaml", text)
    log.save_text("corpus.json", json.dumps(data.report, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Data:
    """What a run learns from and is measured on."""

    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer
    train: Encoded
    valid: dict[str, ValidationSet]
    fingerprint: str
    report: dict[str, Any]

    @property
    def longest_source(self) -> int:
        """Tokens of the longest training source, without the end mark."""
        return int(self.train.lengths(0)[0].max()) - 1


def _prepare_data(config: Config, folders: Folders, log: RunLog, loaded: checkpoint.Checkpoint | None) -> Data:
    """Read, filter and encode the corpus; train the tokenizers, or load those of the run that goes on."""
    started = time.monotonic()
    corpus = corpora.prepare(config.corpus)
    if loaded is None:
        src_tokenizer, tgt_tokenizer = train_tokenizers(corpus.train, config.tokenizer)
    else:
        src_tokenizer, tgt_tokenizer = load_tokenizers(folders.weights)
        check_identity(loaded, corpus.fingerprint, src_tokenizer, tgt_tokenizer)
    filters, tokenizer = config.corpus.filters, config.tokenizer
    common: dict[str, Any] = {
        "seed": config.seed,
        "cache": cache_folder() / "tokens",
        "num_workers": int(config.device.threads),
    }
    train_set = encode_corpus(
        corpus.train,
        src_tokenizer,
        tgt_tokenizer,
        max_tokens=filters.max_tokens,
        max_ratio=filters.max_ratio,
        dropout=tokenizer.dropout,
        dropout_samples=tokenizer.dropout_samples,
        **common,
    )
    for reason, count in train_set.skipped.items():
        examples = [
            f"{corpus.locate('train', row)}: {src} source and {tgt} target tokens"
            for row, src, tgt in train_set.examples[reason]
        ]
        corpus.report.add("train", f"dropped: {reason}", count, examples)
    valid_sets = {
        name: ValidationSet(
            dataset,
            encode_corpus(dataset, src_tokenizer, tgt_tokenizer, **common),
            num_left_out=corpus.num_left_out("valid" if name == "valid" else f"valid/{name}"),
        )
        for name, dataset in corpus.valid.items()
    }
    if loaded is None:
        _describe_data(corpus, src_tokenizer, tgt_tokenizer, config, log)
    log.line(
        f"Corpus ready in {time.monotonic() - started:.1f} s: {train_set.num_pairs:,} training pairs. "
        f"Tables and token ids are kept in {cache_folder()}; delete that folder to clear them."
    )
    report: dict[str, Any] = corpus.report.to_json()
    return Data(src_tokenizer, tgt_tokenizer, train_set, valid_sets, corpus.fingerprint, report)


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


def make_trainer(
    config: Config, folders: Folders, device: Device, data: Data, log: RunLog, position: Mapping[str, int]
) -> Trainer:
    """The objects of the loop; `position` is where its batches begin."""

    def make_model() -> Transformer:
        sizes = data.src_tokenizer.vocab_size, data.tgt_tokenizer.vocab_size
        return Transformer(*sizes, **config.model.model_dump(), pad_id=data.src_tokenizer.pad_id)

    torch.manual_seed(config.seed)
    model = make_model().to(device.torch_device, device.dtype)
    parameters = FlatParameters(model)
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    log.line(f"Model: {num_parameters:,} parameters.")
    tokenizer = data.src_tokenizer
    stream = BatchStream(
        data.train,
        budget=config.batch.tokens,
        seed=config.seed,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        **position,
    )
    optim = config.optim
    optimizer = Optimizer(
        parameters, betas=optim.betas, eps=optim.eps, weight_decay=optim.weight_decay, clip_norm=optim.clip_norm
    )
    average = WeightAverage(optim.average, parameters.master, decay=optim.average_decay, num_last=optim.average_last)
    validator = None
    if data.valid:
        translator = Translator(
            make_model().to(device.torch_device).eval(),
            data.src_tokenizer,
            data.tgt_tokenizer,
            decode=config.decode.model_copy(update={"beam_size": 1}),  # greedy, whatever `translate` does later
            longest_source=data.longest_source,
            target_language=config.corpus.target_language,
        )
        validator = Validator(
            translator,
            data.valid,
            log,
            label_smoothing=optim.label_smoothing,
            batch_tokens=config.batch.tokens,
            num_samples=config.train.samples,
        )

    def publish(weights: Mapping[str, Tensor], step: int, metrics: Mapping[str, float]) -> None:
        save_weights(
            folders.weights,
            weights,
            step=step,
            src_tokenizer=data.src_tokenizer,
            tgt_tokenizer=data.tgt_tokenizer,
            longest_source=data.longest_source,
        )
        card = model_card(
            config,
            step=step,
            metrics=metrics,
            num_pairs=data.train.num_pairs,
            num_parameters=num_parameters,
            vocab_sizes=(data.src_tokenizer.vocab_size, data.tgt_tokenizer.vocab_size),
        )
        write_atomic(folders.weights / "README.md", card)

    if config.device.compile:
        model.compile(dynamic=True)  # in place: parameter names stay as they are
    return Trainer(
        model,
        stream,
        parameters,
        optimizer,
        average,
        _settings(config, stream, device),
        log,
        folders.checkpoints,
        validate=validator,
        publish=publish,
        identity={
            "corpus": data.fingerprint,
            "tokenizers": [data.src_tokenizer.fingerprint, data.tgt_tokenizer.fingerprint],
            "program": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    )


def _settings(config: Config, stream: BatchStream, device: Device) -> Settings:
    train, optim = config.train, config.optim
    limits = [train.steps] if train.steps is not None else []
    if train.epochs is not None:
        whole = int(train.epochs)
        batches = sum(stream.num_batches(epoch) for epoch in range(whole))
        if part := train.epochs - whole:
            batches += round(part * stream.num_batches(whole))
        limits.append(max(1, -(-batches // config.batch.accumulate)))
    if not limits and train.minutes is None:
        limits = [10_000]
    rule = stop_rule(config)

    def rate(step: int, total_steps: int | None, warmup_steps: int) -> float:
        return learning_rate(
            step,
            schedule=optim.schedule,
            peak=optim.learning_rate,
            warmup_steps=warmup_steps,
            total_steps=total_steps,
            minimum=optim.min_learning_rate,
            d_model=config.model.d_model,
        )

    total = min(limits) if limits else None
    every = None if train.validate_every == "auto" else train.validate_every
    if every is None and total is not None:
        every = max(1, total // 20)
    return Settings(
        seed=config.seed,
        total_steps=total,
        minutes=train.minutes,
        learning_rate=rate,
        warmup_steps=None if optim.warmup_steps == "auto" else optim.warmup_steps,
        label_smoothing=optim.label_smoothing,
        accumulate=config.batch.accumulate,
        validate_every=every,
        save_every=train.save_every,
        log_every=train.log_every,
        keep=train.keep,
        stop_on=None if rule is None else tag_of(rule.set, rule.metric, validation_sets(config)[0]),
        higher_is_better=rule is not None and rule.direction == "max",
        patience=train.patience,
        max_bad_steps=train.max_bad_steps,
        validate_first=train.validate_first,
        loss_scale=FLOAT16_LOSS_SCALE if device.precision == "float16" else 1.0,
    )


def tag_of(set_name: str, metric: str, first: str) -> str:
    """The TensorBoard tag of a validation metric: `valid/bleu` for the first set, `valid/SET/bleu` for others."""
    return f"valid/{metric}" if set_name == first else f"valid/{set_name}/{metric}"


def _set_aside(folders: Folders) -> None:
    """Rename the folders of an old run, so that --restart loses nothing."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    while any(folder.with_name(f"{folder.name}.{stamp}").exists() for folder in (folders.runs, folders.weights)):
        stamp += "-1"
    for folder in (folders.runs, folders.weights):
        if folder.exists():
            kept = folder.with_name(f"{folder.name}.{stamp}")
            folder.rename(kept)
            print(f"The old run is kept as {kept}.", file=sys.stderr)


def _say_how_it_ended(log: RunLog, folders: Folders, trainer: Trainer, outcome: Outcome) -> None:
    best = trainer.state.best
    home = "" if folders.home == Path() else f" --home {folders.home}"
    if best is not None:
        log.line(f"Best {trainer.settings.stop_on}: {best['value']:.4g} at step {int(best['step']):,}.")
    log.line(f"Ended: {outcome.reason}. Weights: {folders.weights}")
    if outcome.status:
        log.line(f"Go on with: translator resume {folders.name}{home}")
    else:
        log.line(f'Try it: translator translate --model {folders.name}{home} "A sentence."')
