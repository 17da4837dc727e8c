"""From a configuration to a training run: the one place where settings become objects.

config -> device -> corpus -> tokenizers -> token ids -> model -> trainer -> run
"""

import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from translator import __version__, budget, checkpoint
from translator.batches import BatchStream
from translator.card import model_card
from translator.config import (
    Config,
    dump_config,
    flat_settings,
    load_stored_config,
    resolve,
    seal,
    seconds_of,
    stop_rule,
    unused_settings,
    validation_sets,
)
from translator.device import Device, apply, available_kinds, choose_device, free_memory
from translator.errors import CheckpointError, TranslatorError
from translator.files import Folders, hold, make_folder, remove_leftovers, write_or_tell
from translator.initial import Initial, inherit, load_initial
from translator.log import RunLog
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer, WeightAverage, learning_rate
from translator.resuming import (
    already_done,
    as_stored,
    check_stored,
    compare,
    keep_choices,
    other_versions,
    plan,
    stream_position,
)
from translator.run_data import RunData, prepare_data
from translator.trainer import Trainer
from translator.training_state import Outcome, Settings
from translator.translate import Translator
from translator.validation import Validator
from translator.weights import WEIGHTS, save_tokenizers, save_weights

FLOAT16_LOSS_SCALE = 2.0**16


def train(config: Config, *, home: Path, restart: bool = False, accept_new_corpus: bool = False) -> int:
    """Train, or go on with the unfinished run of that name. Returns the exit status."""
    assert config.name is not None
    folders = Folders(home, config.name)
    if not restart and (folders.weights / WEIGHTS).exists() and not folders.checkpoints.is_dir():
        raise CheckpointError(
            f"{folders.weights} holds weights without checkpoints, which training would overwrite; give this run "
            "another name (name=...), or keep them aside with --restart."
        )
    with hold(folders.lock, f"run {folders.name}"):
        return _run(config, folders, unused_settings(config), restart=restart, accept_new_corpus=accept_new_corpus)


def resume(name: str, overrides: list[str], *, home: Path, accept_new_corpus: bool = False) -> int:
    """Go on with a run from its newest checkpoint and its stored configuration. Returns the exit status."""
    folders = Folders(home, name)
    stored = folders.weights / "config.yaml"
    if not stored.is_file():
        raise CheckpointError(f"There is no run {name} (no {stored}); `translator runs` lists the runs.")
    with hold(folders.lock, f"run {folders.name}"):
        checkpoint.recover(folders.checkpoints)
        if not checkpoint.list_checkpoints(folders.checkpoints):
            raise CheckpointError(
                f"Run {name} has no checkpoint yet; begin it again with `translator train` and its configuration."
            )
        config = load_stored_config(folders.weights, overrides)
        return _run(config, folders, unused_settings(config, overrides), accept_new_corpus=accept_new_corpus)


def _run(
    config: Config,
    folders: Folders,
    warnings: Sequence[str],
    *,
    restart: bool = False,
    accept_new_corpus: bool = False,
) -> int:
    """Nothing is written before it is known that the run can begin, or go on and is not finished."""
    started = time.monotonic()
    loaded = None if restart else checkpoint.load_newest(folders.checkpoints)
    stored, initial = config, None
    if loaded is not None:
        with as_stored(loaded):
            check_stored(loaded.state)
        stored = load_stored_config(folders.weights)
        if stored.train.init_from is not None:
            config = inherit(config, stored)  # the weights that it began with are not needed any more
        config = keep_choices(config, stored, available_kinds())
    elif config.train.init_from is not None:
        initial = load_initial(config.train.init_from, folders.home)
        config = inherit(config, initial.config)
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
    data = prepare_data(config, folders, log, loaded, initial, accept_new_corpus=accept_new_corpus)
    config = with_batch_tokens(config, device, data, log)
    position = {}
    if loaded is not None:
        with as_stored(loaded):
            position = stream_position(loaded.state, config, new_corpus=bool(data.changed))
    stop_after = config.train.stop_after
    stop_at = None if stop_after is None else started + seconds_of(stop_after)
    trainer = make_trainer(config, folders, device, data, log, position, initial, stop_at=stop_at)
    if loaded is not None:
        with as_stored(loaded):
            trainer.load(loaded)
            if position != loaded.state["stream"]:
                trainer.health.forget()
    if loaded is not None and (done := already_done(config, trainer.state)):
        print(done, file=sys.stderr)
        return 0
    if restart:
        _set_aside(folders)
    _open_folders(config, folders, data, log, trainer, loaded)
    if data.changed:
        _take_new_corpus(trainer, data.changed)
    try:
        trainer.preflight(trainer.stream.longest_batch())
        outcome = trainer.run()
    except TranslatorError as error:
        log.record(str(error))
        raise
    finally:
        log.close()
    _say_how_it_ended(config, log, folders, trainer, outcome)
    return outcome.status


def with_batch_tokens(config: Config, device: Device, data: RunData, log: RunLog) -> Config:
    """`config` with a number for `batch.tokens: auto`."""
    if config.batch.tokens != "auto":
        return config
    kind, free, lengths = device.torch_device.type, free_memory(device.torch_device), data.train.lengths(0)
    tokens, reason = budget.choose_tokens(data.sizes(config, device), kind, *lengths, free=free)
    corpus = config.corpus
    longest = max(corpus.filters_of(place).max_tokens for place in corpus.train)
    longest += 1 + (len(corpus.choices.languages) > 1) + bool(corpus.choices.known_tags)  # the end, tokens before it
    if tokens < longest:
        tokens, reason = longest, "one pair of corpus.filters.max_tokens must fit"
    log.line(f"Batches of {tokens:,} tokens: {reason}.")
    return resolve(config, **{"batch.tokens": tokens})


def _take_new_corpus(trainer: Trainer, changed: Mapping[str, str]) -> None:
    """Store at once that the run goes on with another corpus, so that it can be resumed without saying so again."""
    if changed.keys() - {"train"}:  # scores of other sets cannot be compared: the best is searched for anew
        trainer.state.best, trainer.state.validations_without_gain = None, 0
    if "train" in changed:
        trainer.state.left_out.clear()  # numbers of other pairs
    trainer.save()


def _open_folders(
    config: Config, folders: Folders, data: RunData, log: RunLog, trainer: Trainer, loaded: checkpoint.Checkpoint | None
) -> None:
    """Write what stands in the folders of a run from its first moment: log, settings, report, tokenizers."""
    make_folder(folders.checkpoints)
    remove_leftovers(folders.weights)
    log.open(None if loaded is None else loaded.state["logs"])
    if loaded is None:
        save_tokenizers(folders.weights, data.src_tokenizer, data.tgt_tokenizer)
        log.line(f"Run {folders.name} begins; translator {__version__}, torch {torch.__version__}.")
        if data.origin is not None:
            log.line(f"Its weights are those of {data.origin['name']}, step {data.origin['step']:,}.")
        settings = {key: value for key, (value, _) in flat_settings(config).items()}
        log.hyperparameters(settings, [trainer.settings.stop_on or "train/loss"])
    else:
        log.line(f"Run {folders.name} goes on from step {loaded.step:,} ({loaded.folder}).")
        for line in other_versions(loaded.state, trainer.identity):
            log.line(line)
        for change in data.changed.values():
            log.line(f"New corpus accepted: {change}. A new epoch begins.")
    text = dump_config(config)
    write_or_tell(folders.weights / "config.yaml", seal(text))
    log.save_text("config.yaml", text)
    log.save_text("corpus.json", json.dumps(data.report, indent=1, ensure_ascii=False) + "\n")


def make_trainer(
    config: Config,
    folders: Folders,
    device: Device,
    data: RunData,
    log: RunLog,
    position: Mapping[str, int],
    initial: Initial | None = None,
    *,
    stop_at: float | None = None,
) -> Trainer:
    """The objects of the loop; `position` is where its batches begin, `stop_at` (monotonic) when the job ends."""

    def make_model() -> Transformer:
        sizes = data.src_tokenizer.vocab_size, data.tgt_tokenizer.vocab_size
        return Transformer(*sizes, **config.model.model_dump(), pad_id=data.src_tokenizer.pad_id)

    tokenizer, tokens = data.src_tokenizer, config.batch.tokens
    assert tokens != "auto"
    stream = BatchStream(
        data.train,
        budget=tokens,
        seed=config.seed,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        **position,
    )
    free = free_memory(device.torch_device)
    log.line(budget.check(data.sizes(config, device), stream.shapes(), tokens=tokens, free=free))
    torch.manual_seed(config.seed)
    model = make_model().to(device.torch_device, device.dtype)
    parameters = FlatParameters(model)
    if initial is not None:
        parameters.fill(parameters.master, initial.weights)
        parameters.publish()
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    log.line(f"Model: {num_parameters:,} parameters.")
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
            choices=config.corpus.choices,
        )
        validator = Validator(
            translator,
            data.valid,
            log,
            label_smoothing=optim.label_smoothing,
            batch_tokens=tokens,
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
            num_pairs=data.num_pairs,
            num_parameters=num_parameters,
            vocab_sizes=(data.src_tokenizer.vocab_size, data.tgt_tokenizer.vocab_size),
            origin=data.origin,
        )
        write_or_tell(folders.weights / "README.md", card)

    if config.device.compile:
        model.compile(dynamic=True)  # in place: parameter names stay as they are
    return Trainer(
        model,
        stream,
        parameters,
        optimizer,
        average,
        _settings(config, stream, device, stop_at),
        log,
        folders.checkpoints,
        validate=validator,
        publish=publish,
        identity={
            "plan": plan(config),
            "corpus": data.fingerprint,
            "contents": data.contents,
            "tokenizers": [data.src_tokenizer.fingerprint, data.tgt_tokenizer.fingerprint],
            "program": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "init_from": data.origin,
        },
        locate=data.locate,
    )


def _settings(config: Config, stream: BatchStream, device: Device, stop_at: float | None) -> Settings:
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
        pad_id=stream.ids["pad_id"],
        stop_at=stop_at,
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


def _say_how_it_ended(config: Config, log: RunLog, folders: Folders, trainer: Trainer, outcome: Outcome) -> None:
    best = trainer.state.best
    home = "" if folders.home == Path() else f" --home {folders.home}"
    if best is not None:
        log.line(f"Best {trainer.settings.stop_on}: {best['value']:.4g} at step {int(best['step']):,}.")
    log.line(f"Ended: {outcome.reason}. Weights: {folders.weights}")
    if outcome.status:
        log.line(f"Go on with: translator resume {folders.name}{home}")
    else:
        log.line(
            f'Try it: translator translate --model {folders.name}{home}{config.corpus.choices.example} "A sentence."'
        )
