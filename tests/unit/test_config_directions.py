"""Several corpora in a config: languages, directions, tags and filters of each; what a model can be asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from translator.config import Choices, Config, Direction, diff_for_resume, dump_config, load_config, unused_settings
from translator.errors import ConfigError

SEVERAL = """\
corpus:
  source_language: en
  target_language: it
  train:
    - {path: a.tsv, weight: 2, directions: [en>it, it>en]}
    - {source: b.en, target: b.de, target_language: de, tag: web, filters: {max_tokens: 30, drop_duplicates: false}}
    - {path: c.tsv, directions: it>en}
  valid:
    en-it: a.valid.tsv
    en-de: {path: b.valid.tsv, target_language: de}
    it-en: {path: c.valid.tsv, source_language: it, target_language: en}
  filters: {max_tokens: 50, max_ratio: 2.5, drop_duplicates: true}
"""

WriteConfig = Callable[..., Path]


def load(write_config: WriteConfig, *overrides: str, text: str = SEVERAL) -> Config:
    return load_config(write_config(text), overrides)


def test_each_corpus_has_its_languages_and_directions(write_config: WriteConfig) -> None:
    corpus = load(write_config).corpus
    assert [[str(way) for way in corpus.directions(one)] for one in corpus.train] == [
        ["en>it", "it>en"],
        ["en>de"],
        ["it>en"],
    ]
    assert corpus.languages(corpus.train[2]) == Direction("en", "it")
    assert corpus.languages(corpus.valid["it-en"]) == Direction("it", "en")  # type: ignore[index]
    assert list(map(str, corpus.all_directions)) == ["en>it", "it>en", "en>de"]
    assert corpus.choices == Choices({"it": (None,), "en": (None,), "de": ("web",)})


@pytest.mark.parametrize(
    "train",
    [
        "[{path: a.tsv}, {path: b.tsv, source_language: it, target_language: en, directions: [en>it]}]",
        "[{path: a.tsv, directions: [it>en]}]",
    ],
)
def test_a_split_needs_files_whose_source_side_is_what_the_model_reads(write_config: WriteConfig, train: str) -> None:
    text = f"corpus:\n  source_language: en\n  target_language: it\n  train: {train}\n  split: {{valid: 5}}\n"
    with pytest.raises(ConfigError, match="cannot take sets from corpora of several directions or tags"):
        load(write_config, text=text)


def test_filters_of_a_corpus_go_before_the_common_ones(write_config: WriteConfig) -> None:
    corpus = load(write_config).corpus
    assert corpus.filters_of(corpus.train[0]) is corpus.filters
    own = corpus.filters_of(corpus.train[1])
    assert (own.max_tokens, own.max_ratio, own.drop_duplicates) == (30, 2.5, False)


def test_what_is_stored_is_read_back_equal(write_config: WriteConfig) -> None:
    config = load(write_config, "corpus.mix.temperature=1")
    again = load_config(write_config(dump_config(config)))
    assert diff_for_resume(config, again) == []
    assert again.corpus.filters_of(again.corpus.train[1]) == config.corpus.filters_of(config.corpus.train[1])


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        ("corpus.train.0.weight=0.5", "announced"),
        ("corpus.mix.temperature=3", "announced"),
        ("corpus.train.1.tag=news", "refused"),
        ("corpus.train.1.target_language=fr", "refused"),
        ("corpus.train.0.directions=en>it", "refused"),
        ("corpus.train.1.filters.max_tokens=31", "refused"),
        ("corpus.train.2.path=d.tsv", "announced"),
    ],
)
def test_what_a_change_means_on_resume(write_config: WriteConfig, override: str, kind: str) -> None:
    plain = SEVERAL.replace("weight: 2, ", "")
    plain = plain[: plain.index("  valid:")] + plain[plain.index("  filters:") :]
    changes = diff_for_resume(load(write_config, text=plain), load(write_config, override, text=plain))
    assert {change.kind for change in changes} == {kind}


def test_an_override_reaches_one_corpus_of_the_list(write_config: WriteConfig) -> None:
    corpus = load(write_config, "corpus.train.1.path=d.tsv", "corpus.train.1.filters.max_ratio=9").corpus
    second = corpus.train[1]
    assert (second.path, second.source, second.tag, second.target_language) == (
        Path("d.tsv").absolute(),
        None,
        "web",
        "de",
    )
    assert corpus.filters_of(second).max_ratio == 9
    assert corpus.train[0].weight == 2
    held_out = load(write_config, "corpus.valid.it-en.hub=a/b").corpus.valid
    assert held_out is not None
    assert (held_out["it-en"].hub, held_out["it-en"].source_language) == ("a/b", "it")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("corpus.train.3.weight=2", "corpus.train has 3 entries, and they are counted from 0"),
        ("corpus.train.0.wieght=2", "unknown key; did you mean corpus.train.0.weight?"),
        ("corpus.train.0.weight=0", "corpus.train.0.weight: 0 is not allowed; allowed: a number above 0"),
        ("corpus.train.1.directions=en>it", "en>it is no direction of a corpus of en and de; allowed: en>de, de>en"),
        ("corpus.train.0.directions=en-it", "allowed: a list of text of two languages such as en>it"),
        ("corpus.mix.temperature=2", "stands beside weights of corpus.train; give one of the two"),
        ("corpus.valid.en-it.target_language=fr", "does not translate into fr, only into it, en, de"),
        ("corpus.valid.en-it.tag=news", "a model of corpus.train knows no domain tag news, only web"),
        ("corpus.split.test=5", "cannot take sets from corpora of several directions or tags"),
        ("batch.tokens=52", "is too small for one pair of corpus.filters.max_tokens: 50 with 2 before the source"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(write_config: WriteConfig, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(write_config, override)
    assert message in str(error.value)


def test_a_weight_of_a_held_out_set_is_unknown(write_config: WriteConfig) -> None:
    with pytest.raises(ConfigError, match=r"my.yaml:10: corpus.valid.en-de.weight: unknown key"):
        load(write_config, text=SEVERAL.replace("b.valid.tsv,", "b.valid.tsv, weight: 2,"))


def test_a_temperature_without_a_mixture_has_no_effect(write_config: WriteConfig) -> None:
    one = "corpus: {source_language: en, target_language: it, train: a.tsv, valid: b.tsv, mix: {temperature: 2}}"
    assert unused_settings(load(write_config, text=one)) == [
        "corpus.mix.temperature has no effect: there is one corpus in one direction"
    ]


def test_only_what_has_several_answers_must_be_chosen() -> None:
    choices = Choices.of([("it", None), ("it", "books"), ("de", "web"), ("de", "law"), ("fr", "law")])
    assert choices.choose("it") == ("it", None)
    assert choices.choose("it", "law") == ("it", "law")  # known from another language
    assert choices.choose("fr") == ("fr", "law")
    assert Choices.of([("it", None)]).choose() == ("it", None)
    for words, message in (
        ((), "This model translates into it, de, fr: choose one (--to, target_language)."),
        (("de",), "This model writes de in the domains web, law: choose one (--tag, tag)."),
        (("es",), "This model does not translate into es, only into it, de, fr."),
        (("it", "x"), "This model knows no domain tag x, only books, web, law."),
    ):
        with pytest.raises(ConfigError) as error:
            choices.choose(*words)
        assert str(error.value) == message


def test_the_example_on_the_command_line_makes_the_choices() -> None:
    assert Choices.of([("it", None)]).example == ""
    assert Choices.of([("it", None), ("de", "web")]).example == " --to it"
    assert Choices.of([("de", "web"), ("de", "law")]).example == " --tag web"


def test_init_from_is_a_name_or_a_path(write_config: WriteConfig) -> None:
    text = SEVERAL + "train: {init_from: other/weights}\n"
    assert load(write_config, text=text).train.init_from == str(Path("other/weights").absolute())
    assert load(write_config, "train.init_from=first-try").train.init_from == "first-try"
