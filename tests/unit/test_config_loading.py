"""translator.config: reading a file and overrides; every error in one report."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from translator.config import Files, TrainingCorpus, load_config
from translator.config.data import FORMS, GOES_WITH
from translator.errors import ConfigError

WriteConfig = Callable[..., Path]
SMALL = "corpus:\n  source_language: en\n  target_language: no\n  train: {source: a.en, target: a.no}\n"
SMALL_CORPUS = "corpus:\n  source_language: en\n  target_language: it\n  train: {train}\n"
PLACE_KEYS = {
    "subset": "en-it",
    "revision": "abc",
    "streaming": "true",
    "split": "test",
    "source_column": "0",
    "target_column": "1",
    "header": "false",
    "format": "tsv",
    "sheet": "0",
    "members": "'*'",
    "states": "[final]",
    "fuzzy": "true",
    "obsolete": "true",
}
BILLIONS = "a: &a [1,2,3,4,5,6,7,8,9,0]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def errors_of(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load_config(path, overrides)
    return str(raised.value).split("\n")


def test_six_lines_make_a_run(write_config: WriteConfig, tmp_path: Path) -> None:
    config = load_config(write_config())
    assert config.name == "my"
    assert config.corpus.target_language == "no"
    assert config.corpus.train == [TrainingCorpus(source=tmp_path / "a.en", target=tmp_path / "a.no")]
    assert config.corpus.valid is None
    assert config.train.steps == 10_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1.0e-3", 0.001),
        ("+2", 2.0),
        (".5", 0.5),
        ("1e2", 100.0),
        ("0x10", 16.0),
        ("0o17", 15.0),
    ],
)
def test_yaml_1_2_numbers(write_config: WriteConfig, text: str, value: float) -> None:
    assert load_config(write_config(SMALL + f"optim: {{learning_rate: {text}}}\n")).optim.learning_rate == value


@pytest.mark.parametrize("text", ["no", "on", "y", "2024-01-01", '"1"', "off"])
def test_yaml_1_2_has_no_other_words_than_true_and_false(write_config: WriteConfig, text: str) -> None:
    assert load_config(write_config(SMALL + f"name: {text}\n")).name == text.strip('"')


def test_all_errors_come_in_one_report_with_line_and_nearest_key(write_config: WriteConfig) -> None:
    path = write_config(
        "learning_rte: 0.0005\n"
        + SMALL
        + """\
model:
  drop_out: 0.3
  num_head: 4
  num_heads: 7
  d_ff: "12"
training:
  batch_size: 32
  epoch: 3
label_smoothing: 0.1
traning:
  max_steps: 10
seed: 1
seed: 2
optim: {learning_rate: fast, betas: [0.9, 2]}
"""
    )
    whole_number = "allowed: a whole number of at least 1"
    assert errors_of(path, "train.step=3", "train.steps=0", "tokenizer.shared=no") == [
        "my.yaml:18: seed: given twice, first in line 17",
        "my.yaml:1: learning_rte: unknown key; did you mean optim.learning_rate?",
        "my.yaml:7: model.drop_out: unknown key; did you mean model.dropout?",
        "my.yaml:8: model.num_head: unknown key; did you mean model.num_heads?",
        "my.yaml:11: training: unknown key; did you mean train?",
        "my.yaml:12: training.batch_size: unknown key; did you mean batch.tokens?",
        "my.yaml:13: training.epoch: unknown key; did you mean train.epochs?",
        "my.yaml:14: label_smoothing: unknown key; label_smoothing belongs under optim",
        "my.yaml:15: traning: unknown key; did you mean train?",
        "my.yaml:16: traning.max_steps: unknown key; did you mean train.steps?",
        "override `train.step=3`: train.step: unknown key; did you mean train.steps?",
        "override `tokenizer.shared=no`: tokenizer.shared: `no` is not allowed; allowed: true or false",
        f"my.yaml:10: model.d_ff: `12` is not allowed; {whole_number} and up to 131072",
        "my.yaml:19: optim.learning_rate: `fast` is not allowed; allowed: a number above 0",
        f"override `train.steps=0`: train.steps: 0 is not allowed; {whole_number}, or null",
        "my.yaml:9: model.num_heads: 7 does not divide d_model: 256",
        "my.yaml:19: optim.betas: [0.9, 2.0]: each must be at least 0 and below 1",
    ]


def test_a_section_without_keys_is_as_if_it_were_not_there(write_config: WriteConfig) -> None:
    assert load_config(write_config(SMALL + "  filters:\nmodel:\n  # d_model: 512\n")).model.d_model == 256


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: [1\n", "my.yaml:2: not valid YAML: "),
        ("corpus:\n\ttrain: a\n", "my.yaml:2: a tab before the text; YAML takes spaces only"),
        ("name: a: b\n", "my.yaml:1: a second ': ' in one line, or wrong indentation"),
        (SMALL + "name: café\n", "my.yaml:5: name: `café` is not allowed"),
        (SMALL.encode() + b"name: caf\xe9\n", "my.yaml:5: byte 0xE9 is not UTF-8; save the file as UTF-8"),
        (SMALL.encode("utf-16"), "my.yaml:1: byte 0xFF is not UTF-8; save the file as UTF-8"),
        (SMALL + "name: a\x07\n", "my.yaml:5: not valid YAML: special characters are not allowed"),
        (SMALL + "name: !!python/object:os.system x\n", "my.yaml:5: the tag tag:yaml.org,2002:python/"),
        (
            SMALL + "model: &a {dropout: 0.2}\noptim: *a\n",
            "my.yaml:6: optim.dropout: unknown key; dropout belongs under tokenizer or model",
        ),
        ("seed: &a [*a]\n", "my.yaml:1: *a has no complete &a before it"),
        (BILLIONS, "my.yaml:5: too many values for a config (over 20,000)"),
        ("seed: " + "[" * 100, "my.yaml:1: nested deeper than 20 levels"),
        ("#" * 1_000_001, "my.yaml: larger than 1,000,000 bytes; this is not a config file"),
        ("- a\n", "my.yaml: holds no keys"),
        ("? [a]\n: 1\n", "my.yaml:1: a key must be a plain word"),
        (SMALL + "---\nseed: 1\n", "my.yaml:5: a second document begins; a config is one"),
        (SMALL.replace("{source: a.en, target: a.no}", ""), "my.yaml:4: corpus.train: missing; The training pairs"),
        ("", "my.yaml: corpus: missing; The sentence pairs and their languages"),
        (
            "corpus: {source_language: en, train: a.tsv}\n",
            "my.yaml:1: corpus.target_language: missing; Language to translate into, such as it",
        ),
        ("<<: {seed: 1}\n" + SMALL, "my.yaml:1: <<: unknown key; allowed at the top: name, seed, corpus,"),
    ],
)
def test_a_file_that_is_no_config_is_told_in_one_sentence(
    write_config: WriteConfig, text: str | bytes, error: str
) -> None:
    lines = errors_of(write_config(text))
    assert lines[0].startswith(error)
    assert len(lines) == 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert errors_of(tmp_path / "none.yaml") == [f"{tmp_path / 'none.yaml'}: no such config file"]
    assert errors_of(tmp_path) == [f"{tmp_path}: a folder, a pipe or a device; a config is a file"]


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("seed", "write section.key=value, such as train.steps=2000"),
        ("train..steps=1", "write section.key=value"),
        ("seed=", "no value; write seed=null for none"),
        ("corpus.split={valid: [}", "not valid YAML"),
        ("corpus.split={valid: 1, valid: 2}", "valid: given twice"),
        ("corpus.split={vald: 1}", "corpus.split.vald: unknown key; did you mean corpus.split.valid?"),
        ("optim.steps=3", "optim.steps: unknown key; steps belongs under train"),
        ("train.seed=3", "train.seed: unknown key; seed belongs under no section, at the top"),
        ("train.lr=3", "train.lr: unknown key; did you mean optim.learning_rate?"),
        ("device.compile=no", "device.compile: `no` is not allowed; allowed: true or false, or auto"),
        ("optim.learning_rate=.nan", "optim.learning_rate: nan is not allowed"),
        ("optim.learning_rate=true", "optim.learning_rate: true is not allowed"),
        ("model.d_model=1.5", "model.d_model: 1.5 is not allowed; allowed: a whole"),
        ("optim.betas=[0.9]", "optim.betas: [0.9] is not allowed; allowed: two numbers in brackets"),
        ("model=5", "model: 5 is not allowed; allowed: a section of settings"),
        ("name=2024", "name: 2024 is not allowed; allowed: text of letters"),
        ("name=../up", "name: `../up` is not allowed; allowed: text of letters"),
        ("name=.hidden", "name: `.hidden` is not allowed; allowed: text of letters"),
        ("corpus.source_language=null", "corpus.source_language: null is not"),
        ("corpus.train=5", "corpus.train: 5 is not allowed; allowed: {source: FILE,"),
        ("corpus.train.sorce=a", "corpus.train.sorce: unknown key; did you mean corpus.train.source?"),
        ("corpus.train={source: a}", "corpus.train.source: target is missing"),
        ("corpus.train={path: a, hub: b}", "corpus.train.hub: cannot stand"),
        ("corpus.train={header: true}", "corpus.train: says no place"),
        ("corpus.train={path: a, subset: b}", "corpus.train.subset: goes with hub"),
        ("corpus.train=[]", "corpus.train: [] is not allowed; allowed: {source: FILE"),
        ("corpus.valid={my set: a.tsv}", "corpus.valid.my set: the name of"),
        ("corpus.valid={a/b: a.tsv}", "corpus.valid.a/b: the name of a set"),
        ("corpus.valid.news.source=a", "corpus.valid.news.source: target is"),
    ],
)
def test_a_wrong_override_is_named(write_config: WriteConfig, override: str, error: str) -> None:
    (line,) = errors_of(write_config(), override)
    assert line.startswith(f"override `{override}`: {error}")


@pytest.mark.parametrize(
    ("before", "overrides", "after"),
    [
        (
            "{hub: a/b, subset: en-no, source_column: 1, target_column: 0}",
            ["source=a", "target=b"],
            "[{source: a, target: b}]",
        ),
        ("{hub: a/b, subset: en-no}", ["split=test"], "[{hub: a/b, subset: en-no, split: test}]"),
        ("a.tsv", ["header=true"], "[{path: a.tsv, header: true}]"),
        ("[a.tsv, b.tsv]", ["path=c.tsv"], "[{path: c.tsv}]"),
        ("{source: a, target: b}", ["target=c"], "[{source: a, target: c}]"),
        ("{starter: train}", ["path=~/x.tsv"], "[{path: ~/x.tsv}]"),
        ("{starter: train}", ["path=~/x.tsv", "starter=null"], "[{path: ~/x.tsv}]"),
        ("{starter: train}", ["starter=null", "path=~/x.tsv"], "[{path: ~/x.tsv}]"),
    ],
)
def test_an_override_takes_the_place_of_another_form(
    write_config: WriteConfig, before: str, overrides: list[str], after: str
) -> None:
    overridden = load_config(write_config(SMALL), [f"corpus.train={before}", *(f"corpus.train.{o}" for o in overrides)])
    assert overridden.corpus.train == load_config(write_config(SMALL), [f"corpus.train={after}"]).corpus.train


@pytest.mark.parametrize(
    ("before", "overrides", "names"),
    [
        ("v.tsv", ["news.path=n.tsv"], ["valid", "news"]),
        ("{a: a.tsv, b: {path: b.tsv}}", ["b.header=false", "c=c.tsv"], ["a", "b", "c"]),
        ("{a: a.tsv, b: b.tsv}", ["path=c.tsv"], ["valid"]),
        ("null", ["news.source=x", "news.target=y"], ["news"]),
    ],
)
def test_overrides_reach_into_named_sets(
    write_config: WriteConfig, before: str, overrides: list[str], names: list[str]
) -> None:
    config = load_config(write_config(), [f"corpus.valid={before}", *(f"corpus.valid.{one}" for one in overrides)])
    assert config.corpus.valid is not None
    assert list(config.corpus.valid) == names


def test_paths_are_relative_to_where_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "there" / "my.yaml").write_text(SMALL + "  valid: {news: ../v.tsv}\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", "/home/somebody")
    overrides = ["corpus.train.target=a.no", "corpus.test={talks: ~/t.tsv, hub_set: {hub: a/b}}"]
    corpus = load_config(Path("../there/my.yaml"), overrides).corpus
    assert corpus.train == [TrainingCorpus(source=tmp_path / "there/a.en", target=tmp_path / "here/a.no")]
    assert corpus.valid == {"news": Files(path=tmp_path / "v.tsv")}
    assert corpus.test == {"talks": Files(path=Path("/home/somebody/t.tsv")), "hub_set": Files(hub="a/b")}
    moved = load_config(Path("../there/my.yaml"), folder=tmp_path)
    assert moved.corpus.train[0].source == tmp_path / "a.en"


def test_settings_of_formats(write_config: WriteConfig) -> None:
    text = SMALL_CORPUS.format(train="{path: a.xlf, states: [final], markup: remove}")
    (place,) = load_config(write_config(text)).corpus.train
    assert (place.states, place.markup, place.format) == (["final"], "remove", None)
    wrong = write_config(SMALL_CORPUS.format(train="{path: a.xlf, states: final, format: tmq, streaming: true}"))
    assert errors_of(wrong) == [
        "my.yaml:4: corpus.train.format: `tmq` is not allowed; "
        "allowed: text, tsv, csv, jsonl, tmx, xliff, po, mo, sheet, parquet, arrow, or null",
        "my.yaml:4: corpus.train.states: `final` is not allowed; allowed: a list of text, or null",
    ]
    wrong = write_config(SMALL_CORPUS.format(train="{path: a.xlf, streaming: true}"))
    assert errors_of(wrong) == [
        "my.yaml:4: corpus.train.streaming: goes with hub and has no effect beside path; remove it"
    ]


def test_every_key_of_a_place_is_known_to_go_with_some_kind_of_place() -> None:
    anywhere = {"source_language", "target_language", "tag", "markup"}
    assert set(Files.model_fields) == {*FORMS, *GOES_WITH, *anywhere} == {*FORMS, *PLACE_KEYS, *anywhere}


@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("source: a, target: b", PLACE_KEYS),
        ("starter: train", PLACE_KEYS),
        ("hub: a/b", {"header", "format", "sheet", "members", "states", "fuzzy", "obsolete"}),
        ("path: a.tsv", {"subset", "revision", "streaming"}),
    ],
)
def test_a_key_of_another_kind_of_place_is_refused(write_config: WriteConfig, place: str, keys: Iterable[str]) -> None:
    written = ", ".join(f"{key}: {value}" for key, value in PLACE_KEYS.items())
    lines = errors_of(write_config(SMALL_CORPUS.format(train=f"{{{place}, {written}}}")))
    assert {line.split(": ")[1] for line in lines} == {f"corpus.train.{key}" for key in keys}
    assert all(f" and has no effect beside {place.partition(':')[0]}; remove it" in line for line in lines)
    rest = ", ".join(f"{key}: {value}" for key, value in PLACE_KEYS.items() if key not in keys)
    load_config(write_config(SMALL_CORPUS.format(train=f"{{{place}, tag: news, markup: remove, {rest}}}")))
