"""translator.config: settings that contradict each other or have no effect, and the metric that decides."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from translator.config import Config, StopRule, dump_config, load_config, stop_rule, unused_settings
from translator.errors import ConfigError

WriteConfig = Callable[..., Path]


def errors_of(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load_config(path, overrides)
    return str(raised.value).split("\n")


@pytest.mark.parametrize(
    ("overrides", "blamed", "error"),
    [
        (
            ["tokenizer.shared=false"],
            0,
            "model.share_embeddings: all needs one vocabulary, but tokenizer.shared is false; set it to target",
        ),
        (["model.d_model=100"], 0, "model.num_heads: 8 does not divide d_model: 100"),
        (["model.d_model=100", "model.num_heads=3"], 1, "model.num_heads: 3 does not divide d_model: 100"),
        (
            ["model.d_model=24", "model.positions=rotary"],
            1,
            "model.positions: rotary needs heads of even width; d_model / num_heads is 3",
        ),
        (["model.num_heads=1", "model.d_model=3"], 1, "model.d_model: 3 is odd"),
        (
            ["model.positions=learned", "model.max_positions=201"],
            1,
            "model.max_positions: 201 is too small for corpus.filters.max_tokens: 200"
            " and the marks of begin and end; raise it to 202 at least",
        ),
        (
            ["batch.tokens=200"],
            0,
            "batch.tokens: 200 is too small for one pair of corpus.filters.max_tokens: 200"
            " and an end mark; raise it to 201 at least, or lower max_tokens",
        ),
        (
            ["corpus.split.valid=1", "corpus.valid=v.tsv"],
            0,
            "corpus.split.valid: takes pairs from train, but corpus.valid is given too; set one to 0 or null",
        ),
        (
            ["corpus.split={valid: 0, test: 1}", "corpus.valid=v.tsv", "corpus.test=t.tsv"],
            2,
            "corpus.split.test: takes pairs from train",
        ),
        (["tokenizer.dropout=0.1", "tokenizer.kind=word"], 0, "tokenizer.dropout: works with kind bpe only"),
        (["optim.min_learning_rate=1"], 0, "optim.min_learning_rate: is above optim.learning_rate"),
        (["train.stop_on=chrf"], 0, "train.stop_on: chrf needs a validation set; give corpus.valid or"),
        (
            ["corpus.split={}", "train.stop_on=meteor"],
            1,
            "train.stop_on: meteor names no metric of validation;"
            " allowed: loss, perplexity, accuracy, bleu, chrf, cer, wer, bleu_effective_order",
        ),
        (  # a direction does not make it a number that exists
            ["corpus.split={}", "train.stop_on=valid/ter", "train.stop_direction=min"],
            1,
            "train.stop_on: valid/ter names no metric of validation",
        ),
        (
            ["corpus.split={}", "train.stop_on=new/bleu"],
            1,
            "train.stop_on: new/bleu names no validation set; allowed: SET/METRIC with SET one of valid",
        ),
        (
            ["corpus.split={}", "train.stop_direction=min"],
            1,
            "train.stop_on: valid/bleu: the best bleu is the max, not the min; remove stop_direction",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    write_config: WriteConfig, overrides: list[str], blamed: int, error: str
) -> None:
    (line,) = errors_of(write_config(), *overrides)
    assert line.startswith(f"override `{overrides[blamed]}`: {error}")


def test_a_wrong_value_is_not_blamed_for_a_contradiction_too(write_config: WriteConfig) -> None:
    assert len(errors_of(write_config(), "model.d_model=big", "model.num_heads=7", "batch.tokens=-1")) == 2


def test_a_config_made_by_hand_is_checked_too(write_config: WriteConfig) -> None:
    config = load_config(write_config())
    with pytest.raises(ValidationError, match="does not divide"):
        Config.model_validate({**config.model_dump(), "model": {"d_model": 10, "num_heads": 3}})
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 2


@pytest.mark.parametrize(
    ("sets", "stop_on", "rule"),
    [
        ("v.tsv", "valid/bleu", StopRule("valid", "bleu", "max")),
        ("{news: n.tsv, talks: t.tsv}", "valid/bleu", StopRule("news", "bleu", "max")),
        ("{news: n.tsv, talks: t.tsv}", "cer", StopRule("news", "cer", "min")),
        ("{news: n.tsv, talks: t.tsv}", "talks/chrf", StopRule("talks", "chrf", "max")),
        ("{news: n.tsv, talks: t.tsv}", "valid/talks/loss", StopRule("talks", "loss", "min")),
        ("{news: n.tsv, valid: v.tsv}", "valid/wer", StopRule("news", "wer", "min")),
        ("null", "valid/bleu", None),
        ("v.tsv", "null", None),
    ],
)
def test_the_metric_that_decides(write_config: WriteConfig, sets: str, stop_on: str, rule: StopRule | None) -> None:
    assert stop_rule(load_config(write_config(), [f"corpus.valid={sets}", f"train.stop_on={stop_on}"])) == rule


def test_a_direction_may_confirm_what_is_known(write_config: WriteConfig) -> None:
    overrides = ["corpus.split={}", "train.stop_on=bleu_effective_order", "train.stop_direction=max"]
    assert stop_rule(load_config(write_config(), overrides)) == StopRule("valid", "bleu_effective_order", "max")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], ["there is no validation set, so the newest weights count as the best;"]),
        (["corpus.split={}"], []),
        (["corpus.split={}", "tokenizer.dropout_samples=4"], ["tokenizer.dropout_samples has no effect"]),
        (["corpus.split={}", "tokenizer.dropout_samples=4", "tokenizer.dropout=0.1"], []),
        (
            ["corpus.split={}", "optim.average=none", "optim.average_decay=0.9"],
            ["optim.average_decay has no effect"],
        ),
        (
            ["corpus.split={}", "decode.length_penalty=1"],
            ["decode.length_penalty has no effect: decode.beam_size is 1"],
        ),
        (
            ["corpus.split={}", "train.steps=30", "optim.warmup_steps=40"],
            ["optim.warmup_steps (40) is more than train.steps (30)"],
        ),
        (["corpus.split={}", "train.steps=30"], []),
        (["optim.average=last"], ["optim.average has no effect", "there is no validation set"]),
        (["corpus.split={}", "optim.average=last"], []),
        (
            ["corpus.split={}", "tokenizer.kind=unigram", "tokenizer.min_frequency=2"],
            ["tokenizer.min_frequency has no effect"],
        ),
        (
            ["corpus.split={}", "tokenizer.kind=character", "tokenizer.split_digits=true"],
            ["tokenizer.split_digits has no effect"],
        ),
        (["corpus.split={}", "tokenizer.split_digits=true", "tokenizer.min_frequency=2"], []),
        (
            ["corpus.split={}", "train.minutes=5", "train.epochs=3"],
            ["train.minutes is given beside train.epochs: training stops at whichever comes first, and the schedule"],
        ),
        (["corpus.split={}", "train.minutes=5"], []),
        (["train.patience=3"], ["train.patience has no effect", "there is no validation set"]),
        (
            ["corpus.filters.drop_overlap=pair"],
            ["corpus.filters.drop_overlap has no effect", "there is no valid"],
        ),
        (
            ["corpus.split={test: 9}", "corpus.filters.drop_overlap=pair"],
            ["corpus.filters.drop_overlap has no effect: corpus.split keeps all pairs of a source in one set"],
        ),
        (["corpus.split={}", "corpus.test=t.tsv", "corpus.filters.drop_overlap=pair"], []),
    ],
)
def test_settings_without_effect_draw_a_warning(
    write_config: WriteConfig, overrides: list[str], said: list[str]
) -> None:
    sentences = unused_settings(load_config(write_config(), overrides))
    assert [sentence[: len(one)] for sentence, one in zip(sentences, said, strict=True)] == said


@pytest.mark.parametrize(
    ("overrides", "keys"),
    [
        ([], []),
        (["optim.average_decay=0.9"], ["optim.average_decay"]),
        (["optim.average=none"], []),  # average_decay is written, but not here
        (["optim={average: none, average_decay: 0.9}"], ["optim.average_decay"]),
        (["train.steps=9", " train.patience = 3"], ["train.patience"]),
    ],
)
def test_of_a_stored_config_only_what_overrides_name_draws_a_warning(
    write_config: WriteConfig, overrides: list[str], keys: list[str]
) -> None:
    stored = write_config(dump_config(load_config(write_config(), ["optim.average=none"])))
    said = unused_settings(load_config(stored, overrides), overrides)
    assert [sentence.split(" has no effect")[0] for sentence in said] == keys
