"""What a run leaves for people and programs: numbers, translations, curves, pictures, the model card."""

import importlib.metadata
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from datasets import Dataset
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.small_run import CONFIG, VALID, command, records, state, train, write_corpus, write_pairs
from translator import __version__, validation
from translator.encode import encode_corpus
from translator.evaluate import Evaluation
from translator.files import cache_folder
from translator.log import RunLog
from translator.model import Transformer
from translator.tokenizer import Tokenizer, auto_vocab_size
from translator.translate import Translation, Translator
from translator.validation import ValidationSet, Validator
from translator.weights import load_tokenizers

TRAIN_TAGS = [
    "train/loss",
    "train/perplexity",
    "train/accuracy",
    "train/learning_rate",
    "train/gradient_norm",
    "train/tokens_per_second",
    "train/padding_share",
]
VALID_TAGS = ["valid/loss", "valid/bleu", "valid/chrf", "valid/cer", "valid/wer"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and the run small, trained for 60 steps; no test changes it."""
    folder = write_corpus(tmp_path_factory.mktemp("trained"))
    train(folder, "train.steps=60", "train.validate_first=true", "seed=3")
    return folder


def read_events(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0, "images": 0})
    events.Reload()
    return events


def best_validation(folder: Path) -> tuple[int, dict[str, float]]:
    best: Any = state(folder)["best"]
    (record,) = [one for one in records(folder) if one["step"] == best["step"] and "valid/bleu" in one]
    return int(best["step"]), record


def hypotheses(folder: Path, step: int) -> list[str]:
    text = (folder / "runs" / "small" / "hypotheses" / f"valid.step-{step:08d}.txt").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


# --- validation numbers


def test_the_scores_are_those_of_the_stored_translations_against_whole_references(trained: Path) -> None:
    step, record = best_validation(trained)
    references = [target for _, target in VALID]
    found = hypotheses(trained, step)
    assert len(found) == len(references) == 11
    assert record["valid/bleu"] > 5  # where both are 0 nothing is shown
    assert record["valid/bleu"] == pytest.approx(sacrebleu.corpus_bleu(found, [references]).score, abs=0.01)
    assert record["valid/chrf"] == pytest.approx(sacrebleu.corpus_chrf(found, [references]).score, abs=0.01)


def test_the_scores_are_those_of_evaluate_with_the_published_weights(trained: Path) -> None:
    _, record = best_validation(trained)
    output = command(trained, "evaluate", "--model", "small", "--set", "valid", "--json")
    assert output.status == 0
    (result,) = json.loads(output.out).values()
    assert result["num_lines"] == 11
    for metric, tolerance in {"bleu": 0.01, "chrf": 0.01, "loss": 1e-4, "cer": 1e-4, "wer": 1e-4}.items():
        assert result[metric] == pytest.approx(record[f"valid/{metric}"], abs=tolerance), metric


def test_evaluate_treats_inline_codes_as_the_validation_did(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    write_pairs(folder, "valid", [(f"<b>{source}</b>", f"<b>{target}</b>") for source, target in VALID[:5]])
    train(folder, "train.steps=4", "train.validate_every=4", "corpus.markup=remove")
    _, record = best_validation(folder)
    (result,) = json.loads(command(folder, "evaluate", "--model", "small", "--set", "valid", "--json").out).values()
    assert result["loss"] == pytest.approx(record["valid/loss"], abs=1e-4)


def test_every_line_is_translated_in_order_the_longest_too(trained: Path) -> None:
    step, _ = best_validation(trained)
    output = command(trained, "translate", "--model", "small", *(source for source, _ in VALID))
    assert output.status == 0
    assert output.out.split("\n")[:-1] == hypotheses(trained, step)
    assert len(set(hypotheses(trained, step))) > 3  # otherwise their order could not be seen


# --- a line that is much too long


@pytest.mark.parametrize(("side", "file"), [(0, "train.en"), (1, "train.it")])
def test_a_line_of_three_thousand_words_is_told_at_the_start(tmp_path: Path, side: int, file: str) -> None:
    pairs = [[f"the box {number} holds", f"la scatola {number} tiene"] for number in range(13)]
    pairs[2][1] = ""  # a pair that is skipped before must not shift the line number
    pairs[6][side] = "very " * 3000
    both = [(source, target) for source, target in pairs]
    folder = write_corpus(
        tmp_path, CONFIG.replace("filters: {max_tokens: 20}", "filters: {max_tokens: 128, max_characters: 100000}")
    )
    write_pairs(folder, "train", both)
    write_pairs(folder, "valid", both)
    train(folder, "train.steps=2", "batch.tokens=2000")
    log = (folder / "runs/small/train.log").read_text(encoding="utf-8")
    (line,) = [line for line in log.splitlines() if "dropped" in line]
    assert file in line
    assert "line 7:" in line
    assert "300" in line
    assert "11 training pairs" in log
    assert len(hypotheses(folder, 2)) == 12
    assert "Partial: 12 of 13 lines are scored" in log
    assert log.index("line 7:") < log.index("step 1/2")
    report = json.loads((folder / "runs/small/corpus.json").read_text(encoding="utf-8"))
    (row,) = [row for row in report["rows"] if row["reason"].startswith("dropped")]
    assert (row["set"], row["count"]) == ("train", 1)
    assert file in row["example"]
    assert "line 7:" in row["example"]


# --- device


@pytest.mark.parametrize("words", [["train", "small.yaml", "device.kind=cuda"], ["translate", "--device=cuda", "Hi."]])
def test_a_device_that_is_not_there_is_one_sentence(
    trained: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    output = command(trained, *words, *(["name=other"] if "train" in words else []))
    assert output.status == 2
    assert output.out == ""
    (said,) = [line for line in output.err.splitlines() if not line.startswith("Using ")]
    assert "cuda is not available" in said
    assert "cpu" in said
    assert not (trained / "weights" / "other").exists()


def test_the_device_and_its_precision_are_said_at_once(trained: Path) -> None:
    log = (trained / "runs/small/train.log").read_text(encoding="utf-8").splitlines()
    assert log[0].startswith("Device: cpu")
    assert "precision float32" in log[0]


# --- TensorBoard


def test_the_curves_text_and_pictures_of_a_run(trained: Path) -> None:
    events = read_events(trained / "runs" / "small")
    scalars = events.Tags()["scalars"]
    assert set(TRAIN_TAGS + VALID_TAGS) <= set(scalars)
    for tag in TRAIN_TAGS + VALID_TAGS:
        steps = [event.step for event in events.Scalars(tag)]
        assert steps == (list(range(1, 61)) if tag in TRAIN_TAGS else [0, 20, 40, 60]), tag
    by_step = {one["step"]: one for one in records(trained) if "valid/bleu" in one}
    for event in events.Scalars("valid/bleu"):
        assert event.value == pytest.approx(by_step[event.step]["valid/bleu"], rel=1e-4)
    samples = events.Tensors("valid/samples/text_summary")
    assert [event.step for event in samples] == [0, 20, 40, 60]
    for event in samples:
        text = event.tensor_proto.string_val[0].decode()
        assert all(f"| {source} | {target} |" in text for source, target in VALID[:5])
    pictures = [tag for tag in events.Tags()["images"] if tag.startswith("valid/attention")]
    assert len(pictures) > 0
    for tag in pictures:
        assert [image.step for image in events.Images(tag)] == [0, 20, 40, 60], tag
    assert any("hparams" in tag for tag in events.PluginTagToContent("hparams"))


class Translations(list[Translation]):
    """Translations of a set, as a model might have made them."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(Translation(text, text[::-1], -1.0, -1.0, text.split(), True, []) for text in texts)


def size_of_events(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, d_model: int, num_lines: int, validations: int
) -> int:
    """Bytes that 300 logged steps and some validations of `num_lines` lines leave for TensorBoard."""
    lines = [f"this is the sentence of number {number}, as long as they are" for number in range(num_lines)]
    tokenizer = Tokenizer.train(lines, kind="word", vocab_size=1000)
    sizes: dict[str, Any] = {"d_ff": 2 * d_model, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    torch.manual_seed(1)
    model = Transformer(tokenizer.vocab_size, tokenizer.vocab_size, d_model=d_model, **sizes)
    dataset = Dataset.from_dict({"source": lines, "target": lines})
    encoded = encode_corpus(dataset, tokenizer, tokenizer)
    evaluation = Evaluation(dict.fromkeys(("loss", "bleu", "chrf"), 1.0), "settings", Translations(lines), [])
    monkeypatch.setattr(validation, "evaluate_set", lambda *args, **kwargs: evaluation)
    log = RunLog(folder)
    log.open(None)
    translator = Translator(model, tokenizer, tokenizer)
    validator = Validator(
        translator,
        {"valid": ValidationSet(dataset, encoded)},
        log,
        label_smoothing=0.0,
        batch_tokens=4096,
        num_samples=5,
    )
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    log.hyperparameters({"model.d_model": d_model}, ["valid/bleu"])
    for step in range(1, 301):
        log.scalars(step, 1.0, dict.fromkeys(TRAIN_TAGS, 1.0 / step))
        if step % (300 // validations) == 0:
            log.scalars(step, 1.0, validator(weights, step))
    log.close()
    events = read_events(folder)
    pictures = [tag for tag in events.Tags()["images"] if tag.startswith("valid/attention")]
    assert {len(events.Images(tag)) for tag in pictures} == {validations}
    (file,) = folder.glob("events.out.tfevents.*")
    return file.stat().st_size


def test_event_files_stay_small_whatever_the_model_and_the_validation_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def size(name: str, **settings: int) -> int:
        return size_of_events(tmp_path / name, monkeypatch, **settings)

    assert size("whole", d_model=16, num_lines=500, validations=10) < 2e6
    small = size("small", d_model=16, num_lines=50, validations=1)
    assert size("large model", d_model=256, num_lines=50, validations=1) == pytest.approx(small, rel=0.1)
    assert size("large set", d_model=16, num_lines=500, validations=1) == pytest.approx(small, rel=0.1)
    assert capsys.readouterr().out == ""


# --- the model card


def test_the_model_card_tells_what_the_weights_are(trained: Path) -> None:
    card = (trained / "weights/small/README.md").read_text(encoding="utf-8")
    step, record = best_validation(trained)
    log = (trained / "runs/small/train.log").read_text(encoding="utf-8")
    (num_parameters,) = re.findall(r"^Model: (.* parameters)", log, re.MULTILINE)
    expected = [
        "from en to it",
        "Ten words in every order",
        "CC0-1.0",
        "| training pairs | 60 |",
        "1 + 1 layers, width 16",
        num_parameters,
        f"| step | {step} |",
        f"| valid/bleu | {record['valid/bleu']:.4g} |",
        f"| valid/loss | {record['valid/loss']:.4g} |",
        f"translator {__version__}",
        f"torch {importlib.metadata.version('torch')}",
        "translator translate --model small",
    ]
    assert [part for part in expected if part not in card] == []


# --- what a run says of itself


def log_of(folder: Path) -> str:
    return (folder / "runs/small/train.log").read_text(encoding="utf-8")


def test_before_the_first_step_a_run_says_about_how_long_it_will_take(trained: Path) -> None:
    log = log_of(trained)
    (said,) = re.finditer(r"^Preflight: .*takes \S+ s, 60 steps at most about \d+:\d\d:\d\d\.$", log, re.MULTILINE)
    assert said.start() < log.index("step 1/60 ")


def test_the_settings_of_the_metrics_stand_beside_the_numbers(trained: Path) -> None:
    settings = "metrics are computed so: 11 lines; bleu: 0-100, torchmetrics "
    (line,) = [line for line in log_of(trained).splitlines() if line.startswith(f"valid: {settings}")]
    notes = read_events(trained / "runs" / "small").Tensors("valid/notes/text_summary")
    told = [(event.step, event.tensor_proto.string_val[0].decode()) for event in notes]
    # Other notes, which are said once, wait until the model has learned something.
    assert [note for step, note in told if step == 0] == [line.removeprefix("valid: ")]
    assert len(set(told)) == len(told)


def test_the_size_of_the_vocabularies_and_the_place_of_the_cache_are_said(trained: Path) -> None:
    log = log_of(trained)
    sides = zip(("source", "target"), load_tokenizers(trained / "weights/small"), strict=True)
    for side, tokenizer in sides:
        asked = auto_vocab_size(60, "word")
        assert f"Vocabulary ({side}, word): {tokenizer.vocab_size} entries, {asked} asked." in log.splitlines()
    cache = re.escape(str(cache_folder()))
    kept = rf"Tables and token ids are kept in {cache}; delete that folder to clear them\."
    assert re.search(rf"^Corpus ready in [\d.]+ s: 60 training pairs\. {kept}$", log, re.MULTILINE)
    assert "are unknown to" not in log


def test_a_validation_set_of_unknown_words_is_told(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    write_pairs(folder, "valid", [("the dog sees seven ships", "il cane vede sette navi antiche")])
    train(folder, "train.steps=1")
    for side, share in (("source", "40%"), ("target", "50%")):
        assert (
            f"Warning: {share} of the {side} tokens of valid are unknown to the word vocabulary; "
            "tokenizer.kind=bpe or unigram leaves none unknown."
        ) in log_of(folder).splitlines()
