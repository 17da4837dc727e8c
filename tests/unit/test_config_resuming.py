"""translator.config: a config that is stored, read again, compared and completed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from translator.config import (
    Change,
    diff_for_resume,
    dump_config,
    flat_settings,
    load_config,
    resolve,
    unused_settings,
)
from translator.config.keys import known_keys

WriteConfig = Callable[..., Path]
AWKWARD = [
    "corpus.train=[{path: 'a b: c#.tsv', source_column: 'no', target_column: 3}, {hub: a/b}]",
    "corpus.valid={'no': {path: v.tsv}, true: {path: \"tab\\there\u2028.tsv\"}}",
    "corpus.licence='1e3'",
    "corpus.description=' \"null\" – ~ '",
    "optim.eps=1e-9",
    "optim.clip_norm=null",
    "device.compile=false",
    "train.stop_on=no/bleu",
]


def test_a_stored_config_reads_back_equal(write_config: WriteConfig, tmp_path: Path) -> None:
    config = load_config(write_config(), AWKWARD)
    (tmp_path / "stored.yaml").write_text(dump_config(config), encoding="utf-8")
    again = load_config(tmp_path / "stored.yaml")
    assert again == config
    assert diff_for_resume(config, again) == []
    assert dump_config(again) == dump_config(config)


@pytest.mark.parametrize(
    ("override", "key", "old", "new", "kind"),
    [
        ("decode.beam_size=4", "decode.beam_size", 1, 4, "free"),
        ("optim.learning_rate=2e-3", "optim.learning_rate", 0.001, 0.002, "announced"),
        ("model.dropout=0.3", "model.dropout", 0.1, 0.3, "announced"),
        ("model.d_model=512", "model.d_model", 256, 512, "refused"),
        ("seed=2", "seed", 1, 2, "refused"),
        ("corpus.filters.max_ratio=3", "corpus.filters.max_ratio", None, 3.0, "refused"),
        ("corpus.train.source=/moved", "corpus.train.0.source", Path("/a.en"), Path("/moved"), "announced"),
        ("corpus.licence=MIT", "corpus.licence", None, "MIT", "free"),
    ],
)
def test_what_a_change_means_on_resume(
    write_config: WriteConfig, override: str, key: str, old: Any, new: Any, kind: str
) -> None:
    before, after = (load_config(write_config(), overrides, folder=Path("/")) for overrides in ([], [override]))
    assert diff_for_resume(before, after) == [Change(key, old, new, kind)]  # type: ignore[arg-type]


def test_a_section_that_comes_or_goes_is_a_change(write_config: WriteConfig) -> None:
    without, with_split = load_config(write_config()), load_config(write_config(), ["corpus.split={test: 7}"])
    assert {change.key: (change.old, change.new, change.kind) for change in diff_for_resume(with_split, without)} == {
        "corpus.split.valid": (1000, None, "refused"),
        "corpus.split.test": (7, None, "refused"),
    }
    assert len(diff_for_resume(without, with_split)) == 2


def test_every_setting_is_compared_on_resume(write_config: WriteConfig) -> None:
    settings = flat_settings(load_config(write_config(), ["corpus.valid=v.tsv", "corpus.split={valid: 0}"]))
    sets = {"corpus.train", "corpus.valid"}
    assert sets.isdisjoint(settings)
    assert set(known_keys()) - sets <= set(settings)


def test_automatic_choices_are_replaced_and_nothing_else(write_config: WriteConfig) -> None:
    config = load_config(write_config(), ["decode.length_penalty=1"])
    chosen = resolve(config, threads=2, precision="float32", compile=False, vocab_size=1000, **{"device.kind": "cpu"})
    assert {change.key: change.new for change in diff_for_resume(config, chosen)} == {
        "device.kind": "cpu",
        "device.precision": "float32",
        "device.threads": 2,
        "device.compile": False,
        "tokenizer.vocab_size": 1000,
    }
    assert "decode.length_penalty has no effect" in unused_settings(chosen)[0]
    assert not any("max_positions" in sentence for sentence in unused_settings(chosen))


@pytest.mark.parametrize(("name", "value"), [("kind", "cpu"), ("unheard_of", 1), ("seed", 2), ("optim.steps", 1)])
def test_a_choice_needs_the_name_of_one_setting(write_config: WriteConfig, name: str, value: Any) -> None:
    with pytest.raises(KeyError, match=name):
        resolve(load_config(write_config()), **{name: value})
