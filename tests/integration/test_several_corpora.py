"""One model of several corpora, directions and domains; and a run that begins with the weights of another."""

import json
from itertools import product
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.small_run import Output, command, curve, records

SOURCES = [" ".join(letters) for n in (2, 3) for letters in product("abcd", repeat=n) if letters != letters[::-1]]
VALID = SOURCES[::4]  # of training: the question is whether the token before the source decides

CONFIG = """
corpus:
  source_language: en
  target_language: same
  train:
    - {path: same.tsv}
    - {path: back.tsv, target_language: back, weight: 1.5}
    - {path: back.tsv, tag: mirror}
  valid:
    same: {path: valid.same.tsv}
    back: {path: valid.back.tsv, target_language: back}
    mirror: {path: valid.back.tsv, tag: mirror}
  filters: {max_tokens: 20}
tokenizer: {kind: word}
model: {d_model: 32, num_heads: 4, d_ff: 64, num_encoder_layers: 1, num_decoder_layers: 1, dropout: 0}
batch: {tokens: 256}
optim: {learning_rate: 1e-2, schedule: cosine, warmup_steps: 20, label_smoothing: 0.0, average_decay: 0.9}
train: {steps: 280, validate_every: 140, log_every: 10, validate_first: false, stop_on: valid/cer}
decode: {max_length_extra: 2}
device: {kind: cpu, precision: float32, threads: 1}
"""


def write_corpora(folder: Path) -> Path:
    """Copying and reversing the same sources, as two languages and as two domains of one."""
    for prefix, sources in (("", SOURCES), ("valid.", VALID)):
        for name, order in (("same", 1), ("back", -1)):
            lines = "".join(f"{source}\t{source[::order]}\n" for source in sources)
            (folder / f"{prefix}{name}.tsv").write_text(lines, encoding="utf-8")
    (folder / "small.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


def run(folder: Path, *words: str) -> Output:
    output = command(folder, *words)
    assert output.status == 0, output.err
    return output


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_corpora(tmp_path_factory.mktemp("two-directions"))
    said = run(folder, "train", "small.yaml").err
    assert "of corpus 2, en>back (weight 1.5, 42.9% of the epoch)" in said
    assert 'translate --model small --to same "A sentence."' in said
    return folder


def test_one_model_learns_both_directions(trained: Path) -> None:
    assert min(curve(trained, "valid/cer").values()) <= 0.1
    assert min(curve(trained, "valid/back/cer").values()) <= 0.1
    there = run(trained, "translate", "--to", "same", "a b d", "c d").out
    assert there == "a b d\nc d\n"
    assert run(trained, "translate", "--to", "back", "a b d", "c d").out == "d b a\nd c\n"


def test_a_missing_or_unknown_choice_is_one_sentence(trained: Path) -> None:
    output = command(trained, "translate", "a b")
    assert (output.status, output.out) == (2, "")
    assert output.message == "This model translates into same, back: choose one (--to, target_language)."
    unknown = command(trained, "translate", "--to", "fr", "a b")
    assert unknown.message == "This model does not translate into fr, only into same, back."
    assert command(trained, "translate", "--to", "back", "--tag", "x", "a").message.endswith(
        "no domain tag x, only mirror."
    )


def test_evaluate_and_score_ask_for_the_direction_of_the_set(trained: Path) -> None:
    results = json.loads(run(trained, "evaluate", "--set", "same", "--set", "back", "--json").out)
    assert {name: result["cer"] <= 0.1 for name, result in results.items()} == {"valid/same": True, "valid/back": True}
    (trained / "s.txt").write_text("a b d\n")
    (trained / "t.txt").write_text("d b a\n")
    right, wrong = (float(run(trained, "score", "--to", to, "s.txt", "t.txt").out) for to in ("back", "same"))
    assert right > -1 > wrong
    both = command(trained, "evaluate", "--to", "back", "--set", "same")
    assert both.message == "--to and --tag go with two files; the sets of a configuration know theirs."
    assert json.loads(run(trained, "evaluate", "--to", "back", "s.txt", "t.txt", "--json").out)["s.txt"]["cer"] == 0


def test_a_tag_decides_between_two_domains_of_a_language(trained: Path) -> None:
    (trained / "letters.txt").write_text("a b d\nc d\n")
    (trained / "mirrored.txt").write_text("d b a\nd c\n")
    to = ["--to", "same", "--tag", "mirror"]
    assert run(trained, "translate", *to, "a b d", "c d").out == "d b a\nd c\n"
    with_tag, without = (
        [float(line) for line in run(trained, "score", *choice, "letters.txt", "mirrored.txt").out.splitlines()]
        for choice in (to, to[:2])
    )
    assert min(with_tag) > -1 > max(without)
    results = json.loads(run(trained, "evaluate", *to, "letters.txt", "mirrored.txt", "--json").out)
    assert results["letters.txt"]["cer"] == 0
    assert json.loads(run(trained, "evaluate", "--set", "mirror", "--json").out)["valid/mirror"]["cer"] <= 0.1


def test_the_card_says_what_can_be_asked_for(trained: Path) -> None:
    card = (trained / "weights" / "small" / "README.md").read_text(encoding="utf-8")
    assert "Translates from en to same; from en to back. Domains: mirror." in card
    assert 'translator translate --model small --to same "A sentence."' in card


def test_a_run_begins_with_the_weights_of_another(trained: Path) -> None:
    best = int(min(curve(trained, "valid/cer").items(), key=lambda point: (point[1], point[0]))[0])
    (trained / "more.yaml").write_text(
        CONFIG[: CONFIG.index("  train:")]
        + "  train: {path: back.tsv, target_language: back}\n"
        + "  valid: {path: valid.back.tsv, target_language: back}\n"
        + "  filters: {max_tokens: 20}\nbatch: {tokens: 256}\n"
        + "train: {init_from: small, steps: 10, save_every: 5}\n"
        + "optim: {label_smoothing: 0.0}\ndecode: {max_length_extra: 2}\n"
        + "device: {kind: cpu, precision: float32, threads: 1}\n",
        encoding="utf-8",
    )
    said = run(trained, "train", "more.yaml").err
    assert f"Its weights are those of small, step {best}." in said
    before = next(record for record in records(trained) if record["step"] == best and "valid/back/loss" in record)
    base_line = records(trained, "more")[0]
    assert base_line["step"] == 0
    for metric in ("loss", "accuracy", "cer", "chrf"):
        assert base_line[f"valid/{metric}"] == before[f"valid/back/{metric}"]
    weights = trained / "weights"
    assert (weights / "more/tokenizer.json").read_bytes() == (weights / "small/tokenizer.json").read_bytes()
    assert f"| begun with | the weights of small, step {best} |" in (weights / "more/README.md").read_text()
    (state,) = [json.loads(file.read_text()) for file in weights.glob("more/checkpoints/step-00000010/state.json")]
    assert (state["init_from"]["name"], state["init_from"]["step"]) == ("small", best)

    weights.joinpath("small").rename(trained / "elsewhere")  # a run that goes on needs the old weights no more
    try:
        again = command(trained, "train", "more.yaml", "train.steps=12")
        assert again.status == 0, again.err
        assert "goes on from step 10" in again.err
    finally:
        (trained / "elsewhere").rename(weights / "small")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.d_model=64"], "(model.d_model: 32 there, 64 here). Leave these settings out"),
        (
            ["corpus.train.0.target_language=fr", "corpus.valid=null", "train.stop_on=null"],
            "has no <2fr> to put before a source, only",
        ),
        (
            ["corpus.train.0.tag=news", "corpus.valid=null", "train.stop_on=null"],
            "has no <domain:news> to put before a source, only",
        ),
        (["train.init_from=nothing"], "nothing is neither a weights folder nor a name under"),
    ],
)
def test_weights_that_do_not_suit_are_refused(trained: Path, words: list[str], message: str) -> None:
    output = command(trained, "train", "small.yaml", "name=other", "train.init_from=small", *words)
    assert output.status == 2
    assert message in output.message
    assert not (trained / "weights" / "other").exists()


def test_a_mixed_run_resumes_exactly_and_says_a_new_weight(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    less = [
        "optim.schedule=inverse_sqrt",
        "train.validate_every=1000",
        "corpus.valid=null",
        "train.stop_on=null",
        "corpus.train.0.weight=0.3",
    ]
    for name, steps in (("straight", 16), ("stopped", 9)):
        run(tmp_path, "train", "small.yaml", f"name={name}", *less, f"train.steps={steps}")
    run(tmp_path, "resume", "stopped", "train.steps=16")
    ours, theirs = (load_file(tmp_path / "weights" / name / "model.safetensors") for name in ("straight", "stopped"))
    assert all(ours[name].equal(theirs[name]) for name in ours)
    assert records(tmp_path, "straight")[-1]["train/epoch"] >= 1
    said = run(tmp_path, "resume", "stopped", "train.steps=18", "corpus.train.0.weight=1").err
    assert "Changed: corpus.train.0.weight was 0.3, is 1.0 from here on." in said
    refused = command(tmp_path, "resume", "stopped", "train.steps=20", "corpus.train.0.tag=news")
    assert "corpus.train.0.tag: None is stored, news is asked" in refused.message
