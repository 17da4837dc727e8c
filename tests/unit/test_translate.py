"""Translator over a small untrained model: lines, batches, warnings, scores, n-best."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from datasets import Dataset

from translator.errors import ConfigError, TranslatorError
from translator.evaluate import evaluate_set
from translator.markup import mask, mask_pair, unmask
from translator.tokenizer import Tokenizer
from translator.translate import Alternative, DecodeOptions, Translation, Translator, _restored

Make = Callable[..., Translator]


class Warnings(list[str]):
    """Collects what `warn` is told."""

    def about(self, text: str) -> list[str]:
        return [warning for warning in self if text in warning]


def texts(translations: Any) -> list[str]:
    return [translation.text for translation in translations]


# ---------------------------------------------------------------------- one line out for each line in


def test_one_line_out_for_each_line_in(translator: Translator) -> None:
    lines = ["First line.", "", "Third line.", "  ", ""]
    translations = translator.translate(lines)
    assert [bool(text) for text in texts(translations)] == [True, False, True, False, False]
    assert [translation.source for translation in translations] == lines
    assert translations[1].tokens == []
    assert translations[1].finished
    assert translator.translate([]) == []


@pytest.mark.parametrize("beam_size", [1, 3])
def test_batches_and_read_ahead_change_nothing(lines: list[str], translator: Translator, beam_size: int) -> None:
    few = lines[:9]
    expected = texts(translator.translate(few, beam_size=beam_size))
    assert len(set(expected)) == 9
    for batch_tokens in (1, 150):
        assert texts(translator.translate(few, beam_size=beam_size, batch_tokens=batch_tokens)) == expected
    for read_ahead, given in ((2, iter(few)), (256, iter(few)), (4, few)):
        assert texts(translator.translate_stream(given, beam_size=beam_size, read_ahead=read_ahead)) == expected


def test_scores_do_not_depend_on_the_batch(lines: list[str], translator: Translator) -> None:
    together = translator.translate(lines)
    for line, translation in list(zip(lines, together, strict=True))[:5]:
        assert translator.translate([line])[0].log_probability == pytest.approx(translation.log_probability, abs=1e-4)


def test_carriage_returns_at_line_ends_are_no_text(translator: Translator) -> None:
    assert texts(translator.translate(["a cat eats\r", "it rains\r\n"])) == texts(
        translator.translate(["a cat eats", "it rains"])
    )


def test_one_string_is_not_a_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="list of lines"):
        translator.translate("it rains")


def test_training_mode_is_left_as_it_was(make_translator: Make, lines: list[str]) -> None:
    dropping = make_translator(dropout=0.5)
    dropping.model.train()
    first, second = texts(dropping.translate(lines[:3])), texts(dropping.translate(lines[:3]))
    assert first == second
    assert dropping.model.training


# ---------------------------------------------------------------------- streams


def test_a_stream_answers_each_line_before_the_next_is_there(lines: list[str], translator: Translator) -> None:
    asked = threading.Semaphore(1)

    def person() -> Iterator[str]:
        for line in lines[:3]:
            assert asked.acquire(timeout=30)
            yield line

    stream = translator.translate_stream(person())
    for line in lines[:3]:
        assert next(stream).source == line
        asked.release()
    assert list(stream) == []


def test_lines_before_an_error_are_translated(lines: list[str], translator: Translator) -> None:
    def broken() -> Iterator[str]:
        yield from lines[:5]
        raise TranslatorError("line 6 is not UTF-8")

    stream = translator.translate_stream(broken(), read_ahead=2)
    found = [next(stream).source for _ in range(5)]
    with pytest.raises(TranslatorError, match="line 6"):
        next(stream)
    assert found == lines[:5]


# ---------------------------------------------------------------------- limits and warnings


def test_decoding_ends_and_cut_lines_are_told(translator: Translator) -> None:
    warnings = Warnings()
    lines = ["never", "a", "7", "the the the the", "ha ha ha ha ha ha ha ha"]
    for translation in translator.translate(lines, warn=warnings.append, max_length_ratio=2, max_length_extra=3):
        num_tokens = len(translator.src_tokenizer.encode(translation.source))
        assert len(translation.tokens) <= 2 * num_tokens + 3
        assert translation.finished or len(translation.tokens) == 2 * num_tokens + 3
    capped = warnings.about("length limit")
    assert len(capped) == 1
    assert "of 5 translations" in capped[0]


def test_a_line_that_is_too_long_is_cut_and_told(lines: list[str], translator: Translator) -> None:
    warnings = Warnings()
    text = [*lines[:2], "word " * 500, *lines[2:4]]
    found = texts(translator.translate(text, warn=warnings.append, max_source_tokens=39))
    assert warnings.about("Line 3 has 2499 tokens, more than the limit of 39")
    assert [*found[:2], *found[3:]] == texts(translator.translate(lines[:4]))
    assert found[2] == texts(translator.translate(["word " * 8]))[0]


def test_learned_positions_bound_source_and_target(make_translator: Make) -> None:
    translator, warnings = make_translator(positions="learned", max_positions=20), Warnings()
    long = translator.translate(["word " * 10, "it rains"], warn=warnings.append, max_length_ratio=9)[0]
    assert len(long.tokens) <= 19
    assert warnings.about("limit of 19 (model.max_positions")
    with pytest.raises(TranslatorError, match="Line 2 has 49 tokens"):
        translator.score(["a", "word " * 10], ["a", "b"])


def test_a_line_longer_than_any_in_training_is_told_once(make_translator: Make) -> None:
    translator, warnings = make_translator(longest_source=10), Warnings()
    translator.translate(["short", "longer than ten", "much longer than ten"], warn=warnings.append)
    told = warnings.about("Line 2 has 15 tokens, more than any line this model was trained on (10)")
    assert len(told) == len(warnings.about("trained on")) == 1


def test_translations_that_lose_parts_are_told(make_translator: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    translator, warnings = make_translator(), Warnings()
    num_entries = translator.tgt_tokenizer.vocab_size
    ends = torch.eye(num_entries)[Tokenizer.eos_id]  # a model that ends at once
    monkeypatch.setattr(translator.model, "project", lambda hidden: ends.expand(*hidden.shape[:-1], num_entries))
    translator.translate(["we read a book about ships", "it"], warn=warnings.append)
    assert warnings == [
        "1 of 2 translations were less than a third as long as their source; parts may be lost: line 1."
    ]


def test_lines_whose_sentences_are_lost_are_told_once(make_translator: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    translator, warnings = make_translator(longest_source=60), Warnings()
    lines = ["It rains. A cat eats. Is it late?"] * 2 + [
        "It is. It is.",
        "one sentence that is longer than thirty letters.",
    ]
    written = iter(["a cat.", "It is. A cat. It is."])
    monkeypatch.setattr(translator.tgt_tokenizer, "decode", lambda ids: next(written, "a cat."))
    translator.translate(lines, warn=warnings.append)
    told = warnings.about("--split-sentences")
    assert told == [
        "1 of 4 translations were of lines with several sentences, of which fewer came out; "
        "--split-sentences translates each by itself: line 1."
    ]
    translator.translate(lines, warn=warnings.append, split_sentences=True)
    assert warnings.about("--split-sentences") == told


def test_lines_of_unknown_tokens_are_told_once(translator: Translator) -> None:
    warnings = Warnings()
    translator.translate(["it rains", "猫 🙂".replace(" ", ""), "", "Ω", "a 猫"], warn=warnings.append)
    told = warnings.about("wholly unknown")
    assert len(told) == 1
    assert told[0].startswith("2 of 5 translations")
    assert told[0].endswith("lines 2, 4.")


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"beam_size": -1}, "beam_size"),
        ({"beam_size": 65}, "vocabulary of 34"),
        ({"beam_size": 2, "num_best": 3}, "num_best: 3"),
        ({"num_best": 0}, "num_best: 0"),
        ({"length_penalty": float("nan")}, "length_penalty"),
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"beam": 3}, "beam"),
    ],
)
def test_impossible_options_are_refused_by_name(translator: Translator, options: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        translator.translate(["it rains"], **options)


def test_read_ahead_needs_a_line(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="read_ahead"):
        translator.translate_stream(["it rains"], read_ahead=0)


def test_alternatives_are_the_best_ones_in_order(translator: Translator) -> None:
    (translation,) = translator.translate(["it rains"], beam_size=4, num_best=3)
    best = translation.alternatives[0]
    assert (best.text, best.score, best.finished) == (translation.text, translation.score, translation.finished)
    assert len({tuple(one.tokens) for one in translation.alternatives}) == 3
    ranks = [(not one.finished, -one.score) for one in translation.alternatives]
    assert ranks == sorted(ranks)


def test_sentences_of_a_line_can_be_translated_one_by_one(translator: Translator) -> None:
    line = "It rains.  Is it late? Yes!"
    (joined,) = translator.translate([line], split_sentences=True, beam_size=2, num_best=2)
    parts = translator.translate(["It rains.", "Is it late?", "Yes!"], beam_size=2)
    assert joined.text == f"{parts[0].text}  {parts[1].text} {parts[2].text}"
    assert joined.log_probability == pytest.approx(sum(part.log_probability for part in parts), abs=1e-4)
    assert joined.source == line
    assert len(joined.alternatives) == 2


# ---------------------------------------------------------------------- scores


def test_given_translations_are_scored(translator: Translator) -> None:
    scores = translator.score(["it rains", "", "a cat"], ["is it late\r", "a", ""])
    assert [score.num_tokens for score in scores] == [11, 2, 1]
    assert scores[0].tokens[:2] == ["i", "s"]
    assert scores[0].log_probability == pytest.approx(sum(scores[0].token_log_probabilities))
    alone = translator.score(["it rains"], ["is it late"])[0]
    assert alone.log_probability == pytest.approx(scores[0].log_probability, abs=1e-4)
    with pytest.raises(TranslatorError, match="2 source lines"):
        translator.score(["a", "b"], ["a"])


def test_numbered_codes_are_masked_before_and_restored_after(
    make_translator: Callable[..., Translator], lines: list[str]
) -> None:
    translator = make_translator()
    given = [f"%s {line} <b>" for line in lines]
    masked = [mask(text) for text in given]
    plain = translator.translate([text for text, _ in masked], num_best=2, beam_size=2)
    plain_score = translator.score(*zip(*(mask_pair(text, "%s it <i>") for text in given), strict=True))
    translator.number_markup = True
    found = translator.translate(given, num_best=2, beam_size=2)
    for one, other, (_, codes), text in zip(found, plain, masked, given, strict=True):
        assert (one.source, one.tokens) == (text, other.tokens)
        assert one.text == unmask(other.text, codes)
        assert [best.text for best in one.alternatives] == [unmask(best.text, codes) for best in other.alternatives]
    assert translator.score(given, ["%s it <i>"] * len(given)) == plain_score


def test_codes_come_back_in_the_place_of_their_numbers() -> None:
    alternative = Alternative("⸁a⸀", 0.0, 0.0, ["⸁", "a", "⸀"], True)
    restored = _restored(Translation("%s <b>", "⸁a⸀", 0.0, 0.0, ["⸁", "a", "⸀"], True, [alternative]), ("%s", "<b>"))
    assert (restored.text, restored.alternatives[0].text) == ("<b>a%s", "<b>a%s")


@pytest.mark.parametrize(("setting", "expected"), [("keep", False), ("number", True), ("remove", False)])
def test_the_stored_config_says_whether_codes_are_numbered(
    monkeypatch: pytest.MonkeyPatch, make_translator: Callable[..., Translator], setting: str, expected: bool
) -> None:
    one = make_translator()
    corpus = SimpleNamespace(choices=one.choices, markup=setting)
    loaded = SimpleNamespace(
        model=one.model,
        src_tokenizer=one.src_tokenizer,
        tgt_tokenizer=one.tgt_tokenizer,
        config=SimpleNamespace(decode=one.decode, corpus=corpus),
        longest_source=9,
    )
    monkeypatch.setattr("translator.translate.find_folder", lambda *args: Path())
    monkeypatch.setattr("translator.translate.load_weights", lambda folder: loaded)
    assert Translator.load("x", device="cpu").number_markup is expected


# ---------------------------------------------------------------------- long translations


@pytest.mark.parametrize("beam_size", [1, 3])
def test_nothing_but_the_limit_ends_a_translation(
    make_translator: Make, monkeypatch: pytest.MonkeyPatch, beam_size: int
) -> None:
    translator = make_translator()
    endless = torch.zeros(translator.tgt_tokenizer.vocab_size)
    endless[translator.tgt_tokenizer.encode("s")[0]] = 9.0
    endless[Tokenizer.eos_id] = -1e4
    monkeypatch.setattr(translator.model, "project", lambda hidden: endless.expand(*hidden.shape[:-1], -1))
    source = "it rains it rains it rains it."
    assert len(translator.src_tokenizer.encode(source)) == 30
    dataset = Dataset.from_dict({"source": [source], "target": ["it rains"]})
    for ratio, extra, limit in ((4.0, 30, 150), (0.01, 10, 10)):
        warnings = Warnings()
        options: DecodeOptions = {"beam_size": beam_size, "max_length_ratio": ratio, "max_length_extra": extra}
        (translation,) = translator.translate([source], warn=warnings.append, **options)
        assert (len(translation.tokens), translation.finished) == (limit, False)
        assert translation.text == "s" * limit
        told = "1 of 1 translations were ended by the length limit"
        assert len(warnings.about(told)) == 1
        result = evaluate_set(translator, dataset, options=options)
        assert (result.hypotheses, result.num_capped) == (["s" * limit], 1)
        assert any(note.startswith(told) for note in result.notes)
