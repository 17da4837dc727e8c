"""What an epoch takes from several corpora: exact counts, a pure function of (seed, epoch), nothing copied."""

import random
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from translator.batches import BatchStream
from translator.encode import Encoded, IntArray, encode_corpus
from translator.mixing import Mixture, Part, draw, mix, num_draws, temperature_weights
from translator.tokenizer import Tokenizer

TOKENIZER = Tokenizer.train(["a b c d e f"], kind="character", vocab_size=32)


def encoded(texts: list[str]) -> Encoded:
    table = Dataset.from_dict({"source": texts, "target": [text[::-1] + "f" for text in texts]})
    return encode_corpus(table, TOKENIZER, TOKENIZER)


SHORT, LONG = encoded(["a", "b", "c"]), encoded(["abcd", "bcda", "cdab", "dabc", "aaaa"])


def counts(numbers: "np.ndarray[tuple[int], np.dtype[np.integer]]", total: int) -> list[int]:
    return [int(count) for count in np.bincount(numbers, minlength=total)]


def test_a_weight_says_how_often_each_pair_is_drawn() -> None:
    drawn = draw([3, 5, 4], [2, 1, 0.5], seed=1, epoch=0)
    assert counts(drawn, 12)[:8] == [2, 2, 2, 1, 1, 1, 1, 1]
    assert sorted(counts(drawn, 12)[8:]) == [0, 0, 1, 1]


def test_fractions_go_round_so_that_no_pair_falls_behind() -> None:
    sizes, weights = [7, 10], [0.4, 2.3]  # 3 and 23 draws in each epoch
    total = np.zeros(17, dtype=int)
    for epoch in range(29):
        drawn = draw(sizes, weights, seed=5, epoch=epoch)
        assert len(drawn) == 26
        total += np.bincount(drawn, minlength=17)
        assert np.ptp(total[:7]) <= 1
        assert np.ptp(total[7:]) <= 1
    assert total[:7].sum() == 29 * 3


def test_an_epoch_is_a_function_of_seed_and_epoch_alone() -> None:
    def epochs(seed: int, numbers: range) -> list[list[int]]:
        return [draw([50, 50], [0.5, 1.5], seed=seed, epoch=epoch).tolist() for epoch in numbers]

    forwards = epochs(1, range(4))
    assert forwards == epochs(1, range(3, -1, -1))[::-1]
    assert forwards[0] != forwards[1]
    assert forwards[0] != epochs(2, range(1))[0]


def test_every_corpus_is_drawn_from_in_every_epoch() -> None:
    assert [num_draws(1000, 0.5), num_draws(3, 0.5), num_draws(10, 1e-6)] == [500, 2, 1]


def test_temperature_keeps_the_length_of_an_epoch_and_evens_out_the_corpora() -> None:
    sizes = [1_000_000, 10_000, 100]
    for temperature, ratio in ((1.0, 10_000), (2.0, 100), (5.0, 10_000 ** (1 / 5))):
        weights = temperature_weights(sizes, temperature)
        draws = [size * weight for size, weight in zip(sizes, weights, strict=True)]
        assert sum(draws) == pytest.approx(sum(sizes))
        assert draws[0] / draws[2] == pytest.approx(ratio)
    assert temperature_weights(sizes, 1) == pytest.approx([1, 1, 1])


def test_one_whole_corpus_is_what_it_is() -> None:
    assert mix([Part(LONG)]) is LONG
    assert isinstance(mix([Part(LONG, weight=2)]), Mixture)
    assert isinstance(mix([Part(LONG, prefix=(4,))]), Mixture)
    assert isinstance(mix([Part(LONG), Part(SHORT)]), Mixture)


def test_a_pair_has_one_number_in_every_epoch() -> None:
    """So that a pair can be found in the corpus, and left out, whatever epoch it was met in."""
    mixture = Mixture([Part(SHORT, weight=0.5), Part(LONG, weight=1.5, first_row=3)], seed=1)
    found: dict[int, tuple[list[int], ...]] = {}
    for epoch in range(4):
        numbers = mixture.numbers(np.arange(mixture.num_pairs), epoch)
        for position, number in enumerate(numbers.tolist()):
            pair = tuple(side.tolist() for side in mixture.pair(position, epoch))
            assert found.setdefault(number, pair) == pair
    assert sorted(found) == list(range(8))
    assert mixture.index[sorted(found)].tolist() == list(range(8))


def test_whole_corpora_follow_one_another_like_one_table() -> None:
    together = encoded(["a", "b", "c", "abcd", "bcda", "cdab", "dabc", "aaaa"])
    mixture = Mixture([Part(SHORT), Part(LONG, first_row=3)], seed=1)
    assert mixture.num_pairs == together.num_pairs
    assert mixture.index.tolist() == together.index.tolist()
    for ours, theirs in zip(mixture.lengths(0), together.lengths(0), strict=True):
        assert ours.tolist() == theirs.tolist()
    streams = [BatchStream(one, budget=24, seed=3) for one in (mixture, together)]
    for _ in range(7):
        ours_batch, their_batch = map(next, streams)
        assert ours_batch.src_BS.equal(their_batch.src_BS)
        assert ours_batch.labels_BT.equal(their_batch.labels_BT)


def test_a_part_puts_its_tokens_before_each_source_and_can_be_turned_round() -> None:
    mixture = Mixture([Part(SHORT, prefix=(7, 8)), Part(SHORT.reversed(), prefix=(9,))], seed=1)
    source, target = TOKENIZER.encode("a"), TOKENIZER.encode("af")
    assert [side.tolist() for side in mixture.pair(0)] == [[7, 8, *source], target]
    assert [side.tolist() for side in mixture.pair(3)] == [[9, *target], source]
    src_len, tgt_len = mixture.lengths()
    assert (src_len.tolist(), tgt_len.tolist()) == ([4] * 3 + [4] * 3, [3] * 3 + [2] * 3)


def test_lengths_and_pairs_of_a_drawn_epoch_belong_together() -> None:
    mixture = Mixture([Part(SHORT, prefix=(7,), weight=1.4), Part(LONG, weight=0.5)], seed=2)
    for epoch in (0, 1, 0):
        src_len, tgt_len = mixture.lengths(epoch)
        assert len(src_len) == len(tgt_len) == mixture.num_pairs == 4 + 3
        for i in range(mixture.num_pairs):
            source, target = mixture.pair(i, epoch)
            assert (len(source) + 1, len(target) + 1) == (src_len[i], tgt_len[i])


def test_a_stream_goes_on_in_the_middle_of_a_drawn_epoch() -> None:
    def stream(**position: int) -> BatchStream:
        parts = [Part(SHORT, prefix=(7,), weight=2.5), Part(LONG, weight=0.6)]
        return BatchStream(Mixture(parts, seed=4), budget=20, seed=4, **position)

    straight = stream()
    states, batches = [], []
    for _ in range(12):
        states.append(straight.state())
        batches.append(next(straight))
    assert states[-1]["epoch"] >= 2
    for state, batch in zip(states, batches, strict=True):
        assert next(stream(**state)).src_BS.equal(batch.src_BS)


class Shared(Mixture):
    """A mixture that another thread asks for another epoch now and then, between any two looks of this one."""

    _held: tuple[int, IntArray] | None = None
    _random = random.Random(1)

    @property
    def _drawn(self) -> tuple[int, IntArray] | None:
        held = self._held
        if self._random.random() < 0.3:
            self._held = self._random.choice([None, (99, np.zeros(0, dtype=np.int32))])
        return held

    @_drawn.setter
    def _drawn(self, drawn: tuple[int, IntArray] | None) -> None:
        self._held = drawn


def test_another_thread_may_read_another_epoch_meanwhile() -> None:
    parts = [Part(SHORT, weight=1.4), Part(LONG, weight=0.5)]
    alone, shared = Mixture(parts, seed=2), Shared(parts, seed=2)
    positions = np.arange(alone.num_pairs)
    for number in range(200):
        epoch = number // 10 % 2
        assert shared.numbers(positions, epoch).tolist() == alone.numbers(positions, epoch).tolist()


def test_sampled_spellings_are_turned_round_too(tmp_path: Path) -> None:
    texts = ["banana bandana"] * 5
    tokenizer = Tokenizer.train(texts, vocab_size=300)
    table = Dataset.from_dict({"source": texts, "target": ["ban"] * 5})
    pairs = encode_corpus(table, tokenizer, tokenizer, dropout=0.5, dropout_samples=3, cache=tmp_path)
    for epoch in range(3):
        for there, back in zip(pairs.pair(2, epoch), pairs.reversed().pair(2, epoch)[::-1], strict=True):
            assert there.tolist() == back.tolist()
