"""Presets of filters: what they set, and that what is written beside them wins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.conftest import SMALL_CONFIG
from translator.config import Filters, dump_config, load_config, unused_settings
from translator.config.filters import FILTER_PRESETS
from translator.errors import ConfigError

Write = Callable[..., Path]


@pytest.mark.parametrize("name", FILTER_PRESETS)
def test_a_preset_sets_what_it_lists_and_nothing_else(name: str) -> None:
    expected = {**Filters().model_dump(), **FILTER_PRESETS[name], "preset": name}
    assert Filters.model_validate({"preset": name}).model_dump() == expected


def test_what_is_written_beside_a_preset_wins(write_config: Write) -> None:
    config = load_config(write_config(), ["corpus.filters.preset=web", "corpus.filters.min_script=null"])
    assert (config.corpus.filters.min_script, config.corpus.filters.max_digits) == (None, 0.5)
    assert load_config(write_config(dump_config(config))) == config


def test_the_keys_of_a_preset_are_not_what_the_user_wrote(write_config: Write) -> None:
    said = unused_settings(load_config(write_config(), ["corpus.filters.preset=basic"]))
    assert not [sentence for sentence in said if "drop_overlap" in sentence]
    said = unused_settings(load_config(write_config(), ["corpus.filters.drop_overlap=pair"]))
    assert [sentence for sentence in said if "drop_overlap" in sentence]


def test_a_preset_of_one_corpus_replaces_what_presets_set(write_config: Write) -> None:
    common = ["corpus.filters.preset=web", "corpus.filters.max_tokens=50"]
    own = ["corpus.train.0.filters.preset=basic", "corpus.train.0.filters.drop_mojibake=false"]
    config = load_config(write_config(), common + own)
    filters = config.corpus.filters_of(config.corpus.train[0])
    assert (filters.max_character_ratio, filters.max_digits, filters.drop_mojibake) == (9, None, False)
    assert (filters.drop_invisible, filters.max_tokens) == (True, 50)
    again = load_config(write_config(dump_config(config)))
    assert again.corpus.filters_of(again.corpus.train[0]) == filters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset: strict", "allowed: none, basic, web"),
        ("source_scripts: Latim", "or several of them in brackets"),
        ("{min_characters: 9, max_characters: 8}", "more than max_characters"),
        ("{preset: [web]}", "allowed: none, basic, web"),
        ("min_script: 1.5", "of at least 0"),
    ],
)
def test_wrong_filters_are_named(write_config: Write, text: str, message: str) -> None:
    inner = text if text.startswith("{") else "{" + text + "}"
    with pytest.raises(ConfigError, match=message):
        load_config(write_config(SMALL_CONFIG + f"  filters: {inner}\n"))


def test_scripts_may_be_one_or_several(write_config: Write) -> None:
    for text, scripts in (("Latin", ("Latin",)), ("[Latin, Cyrillic]", ("Latin", "Cyrillic"))):
        text = SMALL_CONFIG + f"  filters: {{min_script: 0.5, target_scripts: {text}}}\n"
        assert load_config(write_config(text)).corpus.filters.target_scripts == scripts
