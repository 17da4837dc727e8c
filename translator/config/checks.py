"""Settings of different sections that contradict each other, or that have no effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

if TYPE_CHECKING:  # fields imports this module, so that a Config made by hand is checked too
    from translator.config.base import Problem
    from translator.config.fields import Config

# every metric that a validation computes
LOWER_IS_BETTER = {
    "loss": True,
    "perplexity": True,
    "accuracy": False,
    "bleu": False,
    "chrf": False,
    "cer": True,
    "wer": True,
    "bleu_effective_order": False,
}


@dataclass(frozen=True)
class StopRule:
    """Which number decides which weights are best: metric `metric` of validation set `set`."""

    set: str
    metric: str
    direction: Literal["min", "max"]


def validation_sets(config: Config) -> list[str]:
    """Names of the validation sets; the first is the one that decides."""
    if config.corpus.valid:
        return list(config.corpus.valid)
    return ["valid"] if config.corpus.split is not None and config.corpus.split.valid > 0 else []


def stop_rule(config: Config) -> StopRule | None:
    """The rule that `train.stop_on` names, or None when there is nothing to validate on."""
    rule = _parse_stop_on(config)
    return rule if isinstance(rule, StopRule) else None


def _parse_stop_on(config: Config) -> StopRule | str | None:
    """The rule, a sentence about what is wrong with it, or None."""
    sets, text = validation_sets(config), config.train.stop_on
    if text is None:
        return None
    if not sets:
        if text == "valid/bleu":  # the default: nothing to decide, nothing to refuse
            return None
        return f"{text} needs a validation set; give corpus.valid or corpus.split, or set it to null"
    *way, metric = text.split("/")
    if way and way[0] == "valid" and len(way) == 2:  # the tag of TensorBoard, valid/SET/METRIC
        way = way[1:]
    name = way[0] if way else sets[0]
    if name == "valid":  # valid/METRIC is the first set's, as in TensorBoard
        name = sets[0]
    if len(way) > 1 or name not in sets or not metric:
        return f"{text} names no validation set; allowed: SET/METRIC with SET one of {', '.join(sets)}"
    if metric not in LOWER_IS_BETTER:  # it would never be seen: no weights would be the best
        return f"{text} names no metric of validation; allowed: {', '.join(LOWER_IS_BETTER)}"
    direction: Literal["min", "max"] = "min" if LOWER_IS_BETTER[metric] else "max"
    if config.train.stop_direction not in (None, direction):
        given = config.train.stop_direction
        return f"{text}: the best {metric} is the {direction}, not the {given}; remove stop_direction"
    return StopRule(name, metric, direction)


def problems_between_sections(config: Config) -> list[Problem]:
    """Settings of different sections that cannot stand together."""
    found: list[Problem] = []
    corpus = config.corpus
    longest = max(corpus.filters_of(one).max_tokens for one in corpus.train)
    num_before = (len(corpus.choices.languages) > 1) + bool(corpus.choices.known_tags)  # language token, domain tag
    max_tokens = longest + num_before
    beside = f" with {num_before} before the source" if num_before else ""
    if config.model.share_embeddings == "all" and not config.tokenizer.shared:
        found.append(
            (
                ("model.share_embeddings", "tokenizer.shared"),
                "all needs one vocabulary, but tokenizer.shared is false; set it to target or none",
            )
        )
    if config.batch.tokens != "auto" and max_tokens + 1 > config.batch.tokens:
        found.append(
            (
                ("batch.tokens", "corpus.filters.max_tokens"),
                f"{config.batch.tokens} is too small for one pair of corpus.filters.max_tokens: {longest}{beside}"
                f" and an end mark; raise it to {max_tokens + 1} at least, or lower max_tokens",
            )
        )
    if config.model.positions == "learned" and config.model.max_positions < max_tokens + 2:
        found.append(
            (
                ("model.max_positions", "model.positions", "corpus.filters.max_tokens"),
                f"{config.model.max_positions} is too small for corpus.filters.max_tokens: {longest}{beside}"
                f" and the marks of begin and end; raise it to {max_tokens + 2} at least",
            )
        )
    if isinstance(wrong := _parse_stop_on(config), str):
        found.append((("train.stop_on", "train.stop_direction", "corpus.valid", "corpus.split"), wrong))
    return found


def unused_settings(config: Config, overrides: Sequence[str] | None = None) -> list[str]:
    """Sentences about settings the user wrote that change nothing in this run.

    Of a stored config, in which every setting is written, only about those that `overrides` name.
    """
    corpus, optim, model, decode, train = config.corpus, config.optim, config.model, config.decode, config.train
    kind = config.tokenizer.kind
    no_validation = not validation_sets(config)
    filters = [corpus.filters_of(one) for one in corpus.train]
    no_scripts = all(one.min_script is None and not one.drop_invisible for one in filters)
    conditions: list[tuple[str, bool, str]] = [
        ("tokenizer.dropout_samples", config.tokenizer.dropout == 0, "tokenizer.dropout is 0"),
        ("tokenizer.min_frequency", kind == "unigram", "tokenizer.kind is unigram, which weighs frequency itself"),
        ("tokenizer.split_digits", kind == "character", "tokenizer.kind is character, so each digit is a token"),
        ("model.max_positions", model.positions != "learned", f"model.positions is {model.positions}"),
        ("optim.average", optim.average == "last" and no_validation,
         "last is the mean of the weights at the last validations, and there is no validation set"),
        ("optim.average_decay", optim.average != "ema", f"optim.average is {optim.average}"),
        ("optim.average_last", optim.average != "last", f"optim.average is {optim.average}"),
        ("optim.min_learning_rate", optim.schedule in ("vaswani", "constant"),
         f"optim.schedule is {optim.schedule}"),
        ("corpus.filters.drop_overlap", not corpus.valid and not corpus.test,
         "there is no validation or test set" if corpus.split is None else
         "corpus.split keeps all pairs of a source in one set"),
        ("corpus.filters.source_scripts", no_scripts, "min_script is null and drop_invisible is false"),
        ("corpus.filters.target_scripts", no_scripts, "min_script is null and drop_invisible is false"),
        ("corpus.mix.temperature", len(corpus.train) == len(corpus.all_directions) == 1,
         "there is one corpus in one direction"),
        ("decode.length_penalty", decode.beam_size == 1, "decode.beam_size is 1 (greedy)"),
        ("device.threads", config.device.kind in ("cuda", "mps"), f"device.kind is {config.device.kind}"),
        ("train.patience", no_validation or train.stop_on is None, "nothing is validated or watched"),
        ("train.validate_every", no_validation, "there is no validation set"),
        ("train.validate_first", no_validation, "there is no validation set"),
        ("train.samples", no_validation, "there is no validation set"),
        ("train.stop_direction", train.stop_on is None, "train.stop_on is null"),
    ]  # fmt: skip
    written = written_keys(config)
    said = [f"{key} has no effect: {reason}" for key, holds, reason in conditions if holds and key in written]
    if train.steps is not None and optim.warmup_steps != "auto" and optim.warmup_steps > train.steps:
        said.append(
            f"optim.warmup_steps ({optim.warmup_steps}) is more than train.steps ({train.steps}):"
            " the learning rate never reaches its peak"
        )
    counted = [f"train.{key}" for key in ("steps", "epochs") if getattr(train, key) is not None]
    if train.minutes is not None and counted:
        said.append(
            f"train.minutes is given beside {' and '.join(counted)}: training stops at whichever comes first, and the"
            f" schedule is fitted to {' and '.join(counted)}, so the minutes may end before it does"
        )
    if no_validation:
        said.append(
            "there is no validation set, so the newest weights count as the best;"
            " give corpus.valid, or corpus.split to take pairs from corpus.train"
        )
    if overrides is None:
        return said
    named = tuple(f"{override.partition('=')[0].strip()}." for override in overrides)
    return [sentence for sentence in said if f"{sentence.split()[0]}.".startswith(named)]


def written_keys(section: BaseModel, prefix: str = "") -> set[str]:
    """Dotted keys that the user wrote, rather than left at their defaults."""
    keys = set()
    for key in section.model_fields_set:
        value = getattr(section, key)
        keys |= written_keys(value, f"{prefix}{key}.") if isinstance(value, BaseModel) else {f"{prefix}{key}"}
    return keys
