"""Teacher-forced numbers and metrics of translations of a set."""

import copy
import math
from collections.abc import Callable

import pytest
from datasets import Dataset

from translator.decode import score_ids
from translator.encode import Encoded, encode_corpus
from translator.evaluate import evaluate_set, teacher_forced
from translator.metrics import corpus_metrics, sacrebleu_metrics
from translator.translate import Translator

Make = Callable[..., Translator]


@pytest.fixture(scope="module")
def pairs(lines: list[str]) -> Dataset:
    """Eleven pairs of uneven length."""
    targets = [" ".join(lines[: i % 4]) + "it rains" for i in range(11)]
    return Dataset.from_dict({"source": lines[:11], "target": targets})


def encode(translator: Translator, pairs: Dataset) -> Encoded:
    return encode_corpus(pairs, translator.src_tokenizer, translator.tgt_tokenizer)


def test_loss_and_perplexity_are_means_over_all_real_tokens(translator: Translator, pairs: Dataset) -> None:
    encoded = encode(translator, pairs)
    sources = translator.src_tokenizer.encode_batch(list(pairs["source"]))
    targets = translator.tgt_tokenizer.encode_batch(list(pairs["target"]))
    values = [value for one in score_ids(translator.model, sources, targets, 4096) for value in one]
    expected = -sum(values) / len(values)
    for batch_tokens in (1, 60, 4096):
        metrics = teacher_forced(translator.model, encoded, batch_tokens=batch_tokens)
        assert metrics["loss"] == pytest.approx(expected, abs=1e-5)
        assert metrics["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)
        assert 0 < metrics["accuracy"] < 1
    smoothed = teacher_forced(translator.model, encoded, label_smoothing=0.1)
    assert smoothed["loss"] > expected + 0.01
    assert smoothed["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)


def test_metrics_are_those_of_translating_and_scoring_the_file(translator: Translator, pairs: Dataset) -> None:
    result = evaluate_set(translator, pairs, encode(translator, pairs))
    assert result.hypotheses == [one.text for one in translator.translate(list(pairs["source"]))]
    assert len(result.hypotheses) == len(pairs)
    by_hand = sacrebleu_metrics(result.hypotheses, list(pairs["target"]))
    assert result.metrics["bleu"] == pytest.approx(by_hand["bleu"].value, abs=0.01)
    assert result.metrics["chrf"] == pytest.approx(by_hand["chrf"].value, abs=0.01)
    assert {"loss", "perplexity", "accuracy", "bleu", "chrf", "cer", "wer"} <= set(result.metrics)
    assert result.num_capped == sum(not one.finished for one in result.translations) > 0
    assert any(f"{result.num_capped} of 11" in note for note in result.notes)
    assert "tok 13a" in result.settings


def test_sets_need_not_be_encoded_before(translator: Translator, pairs: Dataset) -> None:
    expected = evaluate_set(translator, pairs, encode(translator, pairs), label_smoothing=0.1)
    assert evaluate_set(translator, pairs, label_smoothing=0.1) == expected


def test_inline_codes_are_scored_as_the_model_learned_them(translator: Translator) -> None:
    """Written out in the user's file, numbered in a set that the reader numbered: the same loss."""
    raw = Dataset.from_dict({"source": ["it %s rains %d", "a <b>dog</b>"], "target": ["%d it rains", "a <b>dog</b>"]})
    second = "a \u2e00dog\u2e01"
    numbered = {"source": ["it \u2e00 rains \u2e01", second], "target": ["\u2e01 it rains", second]}
    knows = copy.copy(translator)
    knows.number_markup = True
    losses = [
        evaluate_set(one, pairs).metrics["loss"]
        for one, pairs in ((knows, raw), (knows, Dataset.from_dict(numbered)), (translator, raw))
    ]
    assert losses[0] == losses[1] != losses[2]


def test_options_reach_the_search(translator: Translator, pairs: Dataset) -> None:
    result = evaluate_set(translator, pairs, options={"max_length_ratio": 0.01, "max_length_extra": 3})
    assert max(len(one.tokens) for one in result.translations) == 3


def test_long_lines_are_scored_uncut(make_translator: Make, pairs: Dataset) -> None:
    """Sources beyond the model are cut and told; references never are, and every line counts."""
    translator = make_translator(positions="learned", max_positions=16)
    result = evaluate_set(translator, pairs)
    assert len(result.hypotheses) == len(pairs)
    references = list(pairs["target"])
    assert result.metrics["cer"] == corpus_metrics(result.hypotheses, references)["cer"]
    assert max(map(len, references)) > 16
    assert any("the limit of 15 (model.max_positions" in note for note in result.notes)
    num_long = sum(len(row["source"]) >= 16 or len(row["target"]) >= 16 for row in pairs)
    assert any(f"count {num_long} long pairs up to model.max_positions" in note for note in result.notes)


def test_every_line_counts_and_a_part_is_called_one(translator: Translator, pairs: Dataset) -> None:
    blank = Dataset.from_dict({"source": [*pairs["source"], "it rains"], "target": [*pairs["target"], ""]})
    whole = evaluate_set(translator, blank)
    assert whole.settings.startswith("12 lines; ")
    assert len(whole.hypotheses) == 12
    assert any("1 of 12 references are empty" in note for note in whole.notes)
    part = evaluate_set(translator, pairs, num_left_out=1)
    assert part.settings.startswith("11 of 12 lines; ")
    assert part.notes[0] == "Partial: 11 of 12 lines are scored; 1 hold no text on a side."
    assert part.metrics["wer"] != whole.metrics["wer"]  # text for an empty reference is an error


def test_the_target_language_chooses_the_tokenisation(make_translator: Make, pairs: Dataset) -> None:
    translator = make_translator()
    translator.target_language = "ja"
    assert "tok char" in evaluate_set(translator, pairs).settings


def test_an_empty_set_has_no_numbers(translator: Translator) -> None:
    nothing = Dataset.from_dict({"source": [], "target": []})
    result = evaluate_set(translator, nothing, encode(translator, nothing))
    assert (result.metrics, result.hypotheses) == ({}, [])
