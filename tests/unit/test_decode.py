"""Search and scores of token ids through a real, untrained model."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from translator import decode
from translator.decode import inference, max_positions, score_ids, search_ids
from translator.model import Transformer
from translator.tokenizer import Tokenizer
from translator.translate import Translator

Make = Callable[..., Translator]


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_the_decoder_gives_the_score_of_teacher_forcing(
    make_translator: Make, lines: list[str], beam_size: int, positions: str
) -> None:
    translator = make_translator(positions=positions)
    sources = translator.src_tokenizer.encode_batch(lines)
    settings = translator.decode.model_copy(update={"beam_size": beam_size})
    hypotheses = [found[0] for found in search_ids(translator.model, sources, settings)]
    forced = score_ids(translator.model, sources, [one.ids for one in hypotheses], 200)
    assert {one.finished for one in hypotheses} == {True, False}
    for hypothesis, values in zip(hypotheses, forced, strict=True):
        assert hypothesis.token_log_probabilities == pytest.approx(values, abs=1e-4)
        assert hypothesis.log_probability == pytest.approx(sum(values), abs=1e-4)


def test_special_tokens_are_never_produced(translator: Translator) -> None:
    sources = [[Tokenizer.unk_id] * 5, [9, 10], []]
    settings = translator.decode.model_copy(update={"beam_size": 8})
    for found in search_ids(translator.model, sources, settings, num_best=8):
        for hypothesis in found:
            assert min(hypothesis.ids, default=4) >= 4


def test_limits_follow_the_source(translator: Translator) -> None:
    settings = translator.decode.model_copy(update={"max_length_ratio": 1.5, "max_length_extra": 2})
    for length in (0, 1, 3, 7):
        (best,) = search_ids(translator.model, [[9] * length], settings)[0]
        limit = int(1.5 * length) + 2
        assert len(best.ids) <= limit
        assert best.finished or len(best.ids) == limit


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_logits_of_a_step_are_bounded(
    translator: Translator, lines: list[str], beam_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = translator.src_tokenizer.encode_batch(lines[:10])
    settings = translator.decode.model_copy(update={"beam_size": beam_size})
    expected = search_ids(translator.model, sources, settings)
    project, sizes = translator.model.project, []

    def spy(hidden: Tensor) -> Tensor:
        logits = project(hidden)
        sizes.append(logits.numel())
        return logits

    monkeypatch.setattr(translator.model, "project", spy)
    most = 8 * translator.tgt_tokenizer.vocab_size
    monkeypatch.setattr(decode, "MAX_LOGITS", most)
    found = search_ids(translator.model, sources, settings)
    assert [one[0].ids for one in found] == [one[0].ids for one in expected]
    assert most // 2 < max(sizes) <= most


def test_a_high_limit_makes_small_batches(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def spy(model: Transformer, sources: list[Any], *_: Any) -> list[Any]:
        sizes.append(len(sources))
        return sources

    monkeypatch.setattr(decode, "_search_batch", spy)
    settings = translator.decode.model_copy(update={"batch_tokens": 120, "max_length_ratio": 1.0})
    for extra in (5, 399):
        search_ids(translator.model, [[9]] * 60, settings.model_copy(update={"max_length_extra": extra}))
    assert sizes == [60] + [1] * 60


def test_learned_positions_have_an_end(make_translator: Make) -> None:
    assert max_positions(make_translator().model) is None
    model = make_translator(positions="learned", max_positions=12).model
    assert max_positions(model) == 12
    settings = make_translator().decode.model_copy(update={"max_length_extra": 50})
    (best,) = search_ids(model, [[9] * 11], settings)[0]
    assert len(best.ids) <= 11


@pytest.mark.parametrize("mode", [True, False])
def test_inference_gives_the_mode_back(make_translator: Make, mode: bool) -> None:
    model = make_translator(dropout=0.5).model.train(mode)

    def fail() -> None:
        assert not model.training
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), inference(model):
        fail()
    assert model.training is mode
