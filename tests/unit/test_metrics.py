"""Metrics: equal to sacrebleu and torchmetrics, defined on awkward sets, refused on wrong shapes."""

import random
import unicodedata

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torchmetrics.functional.text import char_error_rate
from torchmetrics.text import CHRFScore

from translator.metrics import (
    bleu_tokenizer,
    corpus_metrics,
    edit_distance,
    metric_notes,
    metric_settings,
    sacrebleu_metrics,
)

REFERENCES = [
    "Don't worry, it's only a well-known test.",
    "The price is 1,000.50 euro (about $1,100).",
    '"Yes," she said; "we\'ll see what the captain says."',
    "The small dog sleeps near the old green door of the house.",
    "We read a long book about ships & rivers, didn't we?",
    "Le città più belle d'Italia sono là: Roma e Firenze!",
    "Am 3. Mai 2024 fährt der Zug um 16:05 Uhr ab.",
    "私は本を読みます。",
    "Write to info@example.org or see https://example.org/a_b?x=1.",
    "She walked home slowly after the long meeting in the town hall.",
]
EMPTY = {"No reference holds any text: BLEU, chrF, CER and WER are undefined."}


def noisy(share: float) -> list[str]:
    """The references with some words replaced, doubled or left out."""
    random_words = random.Random(5)
    hypotheses = []
    for reference in REFERENCES:
        words = []
        for word in reference.split():
            draw = random_words.random()
            words += [word] if draw > share else random_words.choice([[], [word, word], ["ship"]])
        hypotheses.append(" ".join(words))
    return hypotheses


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("tokenize", ["13a", "zh", "char", "intl"])
def test_bleu_and_chrf_equal_sacrebleu(share: float, tokenize: str) -> None:
    hypotheses = noisy(share)
    metrics = corpus_metrics(hypotheses, REFERENCES, tokenize)
    assert metrics["bleu"] == pytest.approx(
        BLEU(tokenize=tokenize).corpus_score(hypotheses, [REFERENCES]).score, abs=0.01
    )
    assert metrics["chrf"] == pytest.approx(CHRF().corpus_score(hypotheses, [REFERENCES]).score, abs=0.01)
    signed = sacrebleu_metrics(hypotheses, REFERENCES, tokenize)
    assert signed["bleu"].value == pytest.approx(metrics["bleu"], abs=0.01)
    assert f"tok:{tokenize}|" in signed["bleu"].signature


def test_chrf_and_cer_equal_torchmetrics() -> None:
    hypotheses = noisy(0.3)
    metrics = corpus_metrics(hypotheses, REFERENCES)
    chrf = CHRFScore(n_char_order=6, n_word_order=0, beta=2.0)
    chrf.update(hypotheses, [[reference] for reference in REFERENCES])
    value = chrf.compute()
    assert isinstance(value, torch.Tensor)
    # torchmetrics averages the F of each order, sacrebleu the precisions and recalls.
    assert metrics["chrf"] == pytest.approx(100 * value.item(), abs=0.02)
    assert metrics["cer"] == pytest.approx(float(char_error_rate(hypotheses, REFERENCES)), abs=1e-6)


def test_references_are_nested_rightly() -> None:
    hypotheses = [
        "the small dog sleeps near the old door",
        "we read a book about ships",
        "it rains",
        "they walk home slowly after the long meeting in town today again",
    ]
    references = [
        "the small dog sleeps near the old green door of the house",
        "we read a long book about ships and rivers",
        "it rains",
        "they walk home slowly after the meeting in town",
    ]
    assert corpus_metrics(hypotheses, references)["bleu"] == pytest.approx(55.29, abs=0.005)
    shuffled = [2, 0, 3, 1]
    again = corpus_metrics([hypotheses[i] for i in shuffled], [references[i] for i in shuffled])
    assert again["bleu"] == pytest.approx(55.29, abs=0.005)


@pytest.mark.parametrize(
    ("hypotheses", "references", "says"),
    [
        (["a"], ["a", "b"], "1 hypotheses cannot be compared with 2 references"),
        (["a"], [["a"]], "references must be a list"),
        ("a", ["a"], "hypotheses must be a list"),
    ],
)
def test_wrong_shapes_are_refused(hypotheses: list[str], references: list[str], says: str) -> None:
    for function in (corpus_metrics, sacrebleu_metrics, metric_notes):
        with pytest.raises(ValueError, match=says):
            function(hypotheses, references)


def test_short_perfect_lines() -> None:
    lines = ["Hello", "Yes", "No way", "Thank you"]
    metrics = corpus_metrics(lines, lines)
    assert metrics["bleu"] == 0.0
    assert metrics["bleu_effective_order"] == pytest.approx(100.0)
    assert (metrics["chrf"], metrics["cer"], metrics["wer"]) == (100.0, 0.0, 0.0)
    (note,) = metric_notes(lines, lines)
    assert "no reference has four words" in note
    assert "effective-order BLEU is 100.00" in note
    assert metric_notes(REFERENCES, REFERENCES) == []
    assert "bleu_effective_order" not in corpus_metrics(REFERENCES, REFERENCES)


def test_error_rates_are_of_the_whole_set_and_may_exceed_one() -> None:
    hypotheses, references = ["Hello Hello Hello Hello", "", "kitten"], ["Hello", "Good", "sitting"]
    metrics = corpus_metrics(hypotheses, references)
    assert metrics["cer"] == pytest.approx(25 / 16)
    assert metrics["wer"] == pytest.approx(5 / 3)
    for hypothesis, reference, expected in zip(hypotheses, references, (3.6, 1.0, 3 / 7), strict=True):
        assert corpus_metrics([hypothesis], [reference])["cer"] == pytest.approx(expected)
    assert "1 of 3 translations are empty." in metric_notes(hypotheses, references)


def test_what_is_undefined_is_absent() -> None:
    assert corpus_metrics(["abc", ""], ["", ""]) == {}
    assert corpus_metrics(["", ""], ["", " "]) == {"cer": 0.0, "wer": 0.0}
    assert (corpus_metrics([], []), sacrebleu_metrics([], [])) == ({}, {})
    assert set(metric_notes(["abc"], [""])) == set(metric_notes([], [])) == EMPTY
    (note,) = metric_notes(["a b c d", "e"], ["a b c d", ""])
    assert "1 of 2 references are empty" in note


@pytest.mark.parametrize("decomposed", ["hypotheses", "references"])
def test_text_typed_with_combining_marks_scores_the_same(decomposed: str) -> None:
    hypotheses, references = noisy(0.3), REFERENCES
    expected = corpus_metrics(hypotheses, references), sacrebleu_metrics(hypotheses, references)
    lines = hypotheses if decomposed == "hypotheses" else references
    other = [unicodedata.normalize("NFD", line) for line in lines]
    assert other != lines
    hypotheses, references = (other, references) if decomposed == "hypotheses" else (hypotheses, other)
    assert (corpus_metrics(hypotheses, references), sacrebleu_metrics(hypotheses, references)) == expected
    assert "NFC" in metric_settings()


def test_text_without_detokenisation_scores_low() -> None:
    references = [
        "Don't worry, it's only a well-known test.",
        "The price is 1,000.50 euro (about $1,100).",
        '"Yes," she said; "we\'ll see."',
    ]
    tokenised = [
        "Do n't worry , it 's only a well - known test .",
        "The price is 1 , 000.50 euro ( about $ 1 , 100 ) .",
        '" Yes , " she said ; " we \'ll see . "',
    ]
    assert corpus_metrics(references, references)["bleu"] == pytest.approx(100.0)
    assert corpus_metrics(tokenised, references)["bleu"] == pytest.approx(35.62, abs=0.005)


def test_signatures_name_metric_and_version() -> None:
    signed = sacrebleu_metrics(REFERENCES, REFERENCES)
    assert {name: score.value for name, score in signed.items()} == pytest.approx(
        {"bleu": 100.0, "chrf": 100.0, "ter": 0.0}
    )
    assert all("version:" in score.signature for score in signed.values())
    assert "tok 13a" in metric_settings()


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2),
        ("a" * 100, "a" * 63 + "b" + "a" * 40, 4), ("città", "citta", 1), ("ab", "ba", 2),
    ],
)  # fmt: skip
def test_edit_distance(first: str, second: str, distance: int) -> None:
    assert edit_distance(first, second) == edit_distance(second, first) == distance


def test_edit_distance_of_random_strings_is_that_of_the_table() -> None:
    drawn = random.Random(1)
    for _ in range(200):
        first, second = ("".join(drawn.choices("abc ", k=drawn.randrange(12))) for _ in range(2))
        row = list(range(len(second) + 1))
        for i, letter in enumerate(first, start=1):
            previous, row = row, [i]
            for j, other in enumerate(second):
                row.append(min(previous[j + 1] + 1, row[j] + 1, previous[j] + (letter != other)))
        assert edit_distance(first, second) == row[-1]


@pytest.mark.parametrize(
    ("language", "tokenize"),
    [("de", "13a"), ("no", "13a"), ("zh", "zh"), ("zh-Hant", "zh"), ("zho_Hans", "zh"), ("ja", "char"), ("th", "char"),
     ("km", "char"), ("MY", "char"), ("ko", "13a"), ("", "13a")],
)  # fmt: skip
def test_bleu_cuts_words_as_the_language_needs(language: str, tokenize: str) -> None:
    assert bleu_tokenizer(language) == tokenize
