"""Searches over hand-made tables of probabilities: no model is needed."""

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from translator.beam import beam_search, top
from translator.search import Hypothesis, Step, greedy, length_factor, sample

PAD, BOS, EOS, UNK = range(4)
BLOCKED = (PAD, BOS, UNK)
A, B, C = 4, 5, 6


class Table:
    """A model whose next-token logits depend on the sentence and all tokens so far."""

    def __init__(self, logits: Callable[[int, tuple[int, ...]], Sequence[float] | Tensor]) -> None:
        self._logits = logits
        self._rows: list[tuple[int, tuple[int, ...]]] = []
        self.rows_per_call: list[int] = []

    def __call__(self, tokens_R: Tensor, parents_R: Tensor | None) -> Tensor:
        parents = range(len(tokens_R)) if parents_R is None else parents_R.tolist()
        tokens = tokens_R.tolist()
        if not self.rows_per_call:
            assert set(tokens) == {BOS}
            self._rows = [(row, ()) for row in parents]
        else:
            rows = [self._rows[parent] for parent in parents]
            self._rows = [(i, (*seen, token)) for (i, seen), token in zip(rows, tokens, strict=True)]
        self.rows_per_call.append(len(tokens))
        return torch.stack([torch.as_tensor(self._logits(i, seen)) for i, seen in self._rows])


def random_table(vocab_size: int = 12, seed: int = 0, bias_to_end: float = 0.0) -> Table:
    """Logits drawn from (seed, sentence, tokens so far)."""

    def logits(sentence: int, seen: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(hash((seed, sentence, seen)) % 2**31)
        drawn = 2 * torch.randn(vocab_size, generator=generator)
        drawn[EOS] += bias_to_end
        return drawn

    return Table(logits)


def probabilities(**tokens: float) -> list[float]:
    """Logits of a distribution over the end of the sentence and A, B, C."""
    row = [0.0, 0.0, tokens.get("end", 0.0), 0.0, *(tokens.get(name, 0.0) for name in "abc")]
    return [math.log(value) if value > 0 else -math.inf for value in row]


def run_greedy(step: Step, limits: Sequence[int]) -> list[Hypothesis]:
    return greedy(step, len(limits), bos_id=BOS, eos_id=EOS, max_lengths=limits, blocked_ids=BLOCKED)


def run_beam(
    step: Step, limits: Sequence[int], size: int, alpha: float = 0.0, num_best: int = 1
) -> list[list[Hypothesis]]:
    return beam_search(
        step, len(limits), bos_id=BOS, eos_id=EOS, max_lengths=limits, blocked_ids=BLOCKED,
        beam_size=size, length_penalty=alpha, num_best=num_best,
    )  # fmt: skip


def teacher_forced(table: Table, sentence: int, ids: list[int]) -> float:
    total = 0.0
    for position, token in enumerate([*ids, EOS]):
        total += float(torch.as_tensor(table._logits(sentence, tuple(ids[:position]))).log_softmax(0)[token])
    return total


def garden_path(_: int, seen: tuple[int, ...]) -> list[float]:
    """The likelier first token leads to unlikely ends: greedy reaches 0.6 x 0.4, a beam finds 0.4 x 0.9."""
    if not seen:
        return probabilities(a=0.6, b=0.4)
    if seen == (A,):
        return probabilities(end=0.4, a=0.3, c=0.3)
    return probabilities(end=0.9, c=0.1)


def test_beam_finds_what_greedy_misses() -> None:
    assert run_greedy(Table(garden_path), [5])[0].ids == [A]
    (best, second), = run_beam(Table(garden_path), [5], size=2, num_best=2)  # fmt: skip
    assert (best.ids, second.ids) == ([B], [A])
    assert best.log_probability == pytest.approx(math.log(0.4 * 0.9), abs=1e-6)
    assert second.log_probability == pytest.approx(math.log(0.6 * 0.4), abs=1e-6)


def test_greedy_of_a_hand_made_table() -> None:
    table = Table(lambda sentence, seen: probabilities(a=0.7, end=0.3) if len(seen) < sentence else
                  probabilities(end=0.8, b=0.2))  # fmt: skip
    hypotheses = run_greedy(table, [9] * 4)
    assert [hypothesis.ids for hypothesis in hypotheses] == [[], [A], [A, A], [A, A, A]]
    assert all(hypothesis.finished for hypothesis in hypotheses)
    assert hypotheses[2].token_log_probabilities == pytest.approx([math.log(p) for p in (0.7, 0.7, 0.8)])
    assert hypotheses[2].log_probability == pytest.approx(math.log(0.7 * 0.7 * 0.8))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("bias", [-1.0, 0.0, 2.0])
def test_beam_of_one_is_greedy(alpha: float, bias: float) -> None:
    limits = [0, 1, 3, 7, 12, 12, 5]
    expected = run_greedy(random_table(bias_to_end=bias), limits)
    found = run_beam(random_table(bias_to_end=bias), limits, 1, alpha)
    for (one,), other in zip(found, expected, strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        assert one.log_probability == pytest.approx(other.log_probability)


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.6, 1.5])
def test_a_full_beam_finds_the_best_of_all_outputs(alpha: float) -> None:
    """A beam wider than the number of outputs is exhaustive, so its early stop must lose nothing."""
    vocab_size, limit = 7, 3  # 3 tokens and the end: 40 outputs
    for seed in range(8):
        table = random_table(vocab_size, seed)
        outputs = [list(ids) for n in range(limit + 1) for ids in itertools.product((A, B, C), repeat=n)]
        totals = [teacher_forced(table, 0, ids) for ids in outputs]
        scores = [t / length_factor(len(ids) + 1, alpha) for t, ids in zip(totals, outputs, strict=True)]
        # One that the limit cuts comes after all others, whatever its score.
        expected = max(s for s, ids in zip(scores, outputs, strict=True) if len(ids) < limit)
        found = beam_search(
            _widened(table, 64), 1, bos_id=BOS, eos_id=EOS, max_lengths=[limit], blocked_ids=BLOCKED,
            beam_size=60, length_penalty=alpha,
        )[0][0]  # fmt: skip
        assert found.score >= expected - 1e-5
        assert found.log_probability == pytest.approx(teacher_forced(table, 0, found.ids), abs=1e-5)


@pytest.mark.parametrize(
    ("alpha", "first", "expected"),
    [
        # After one token the long one lies behind, -0.92 / (7/6); its end is at -0.92 / (15/6), before -0.51.
        (1.0, {"end": 0.6, "a": 0.4}, 9),
        # A negative penalty rewards short outputs: here the bound is the nearest end, not the farthest.
        (-1.0, {"end": 0.4, "a": 0.6}, 1),
    ],
)
def test_the_search_goes_on_while_an_open_row_can_win(alpha: float, first: dict[str, float], expected: int) -> None:
    def logits(_: int, seen: tuple[int, ...]) -> list[float]:
        if not seen:
            return probabilities(**first)
        return probabilities(end=1.0) if len(seen) == expected else probabilities(a=1.0)

    assert run_beam(Table(logits), [9], 2, alpha)[0][0].ids == [A] * expected


def test_the_search_stops_when_no_open_row_can_win() -> None:
    table = Table(lambda _, seen: probabilities(end=0.6, a=0.4))
    assert run_beam(table, [50], 2, 0.0)[0][0].ids == []
    assert table.rows_per_call == [1]


def test_a_finished_hypothesis_keeps_its_place() -> None:
    table = Table(lambda _, seen: probabilities(end=0.3, a=0.4, b=0.3))
    found = run_beam(table, [4], 3, num_best=3)[0]
    assert [hypothesis.ids for hypothesis in found] == [[], [A], [A] * 4]
    assert table.rows_per_call == [1, 2, 1, 1, 1]


def _widened(table: Table, vocab_size: int) -> Step:
    """The same distribution over a larger vocabulary, so that a wide beam is allowed."""

    def step(tokens_R: Tensor, parents_R: Tensor | None) -> Tensor:
        logits_RV = table(tokens_R, parents_R)
        return torch.nn.functional.pad(logits_RV, (0, vocab_size - logits_RV.shape[1]), value=-math.inf)

    return step


@pytest.mark.parametrize("size", [1, 2, 5])
def test_scores_are_those_of_teacher_forcing(size: int) -> None:
    table = random_table(bias_to_end=0.5)
    for sentence, hypotheses in enumerate(run_beam(table, [6, 0, 9, 3], size, 0.6, num_best=size)):
        for hypothesis in hypotheses:
            forced = teacher_forced(table, sentence, hypothesis.ids)
            assert hypothesis.log_probability == pytest.approx(forced, abs=1e-5)
            assert sum(hypothesis.token_log_probabilities) == pytest.approx(forced, abs=1e-5)
            assert hypothesis.score == pytest.approx(forced / length_factor(len(hypothesis.ids) + 1, 0.6))


def test_length_penalty_of_wu_et_al() -> None:
    assert length_factor(7, 0.0) == 1.0
    assert length_factor(1, 0.9) == 1.0
    assert length_factor(13, 0.5) == pytest.approx(math.sqrt(3.0))

    def short_or_long(_: int, seen: tuple[int, ...]) -> list[float]:
        if not seen:
            return probabilities(end=0.45, a=0.55)
        return probabilities(a=1.0) if len(seen) < 6 else probabilities(end=0.8, b=0.2)

    # 0.45 against 0.55 x 0.8 = 0.44: the plain sum prefers the short one, a penalty the long one.
    assert run_beam(Table(short_or_long), [9], 2, alpha=0.0)[0][0].ids == []
    assert run_beam(Table(short_or_long), [9], 2, alpha=0.6)[0][0].ids == [A] * 6


@pytest.mark.parametrize("size", [None, 1, 4])
def test_decoding_that_never_ends_by_itself_stops_at_each_limit(size: int | None) -> None:
    table = Table(lambda sentence, seen: [0.0] * 2 + [-9.0, 0.0] + [0.1 * token for token in range(8)])
    limits = [3, 0, 8]
    found = run_greedy(table, limits) if size is None else [best[0] for best in run_beam(table, limits, size)]
    assert [len(hypothesis.ids) for hypothesis in found] == limits
    assert not any(hypothesis.finished for hypothesis in found)
    assert len(table.rows_per_call) == max(limits) + 1


def test_a_cut_hypothesis_never_wins_over_a_finished_one() -> None:
    def loop(_: int, seen: tuple[int, ...]) -> list[float]:
        return probabilities(a=0.95, end=0.05)

    best = run_beam(Table(loop), [4], 3, alpha=1.0)[0][0]
    assert best.finished
    cut = run_greedy(Table(loop), [4])[0]
    assert (cut.ids, cut.finished) == ([A] * 4, False)


def test_ended_rows_leave_the_batch() -> None:
    ends_at = [1, 1, 1, 1, 1, 1, 1, 12]

    def logits(sentence: int, seen: tuple[int, ...]) -> list[float]:
        return probabilities(end=1.0) if len(seen) == ends_at[sentence] else probabilities(a=1.0)

    table = Table(logits)
    run_greedy(table, [20] * 8)
    assert table.rows_per_call[2:] == [1] * 11
    table = Table(logits)
    run_beam(table, [20] * 8, 2)
    assert table.rows_per_call[2:] == [2] * 11  # the free places of one sentence


@pytest.mark.parametrize("size", [None, 1, 2, 5])
def test_rows_carried_along_on_a_gpu_change_nothing(size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [0, 1, 3, 7, 12, 12, 5, 2]

    def found() -> tuple[list[list[Hypothesis]], list[int]]:
        table = random_table(bias_to_end=0.5)
        hypotheses = [run_greedy(table, limits)] if size is None else run_beam(table, limits, size, 0.6, num_best=size)
        return hypotheses, table.rows_per_call

    expected, each = found()
    for module in ("search", "beam"):
        monkeypatch.setattr(f"translator.{module}.steps_between_looks", lambda device: 4)
    carried, rarely = found()
    assert carried == expected
    assert sum(rarely) > sum(each)
    assert len(set(rarely[:4] if size is None else rarely[1:5])) == 1


def test_the_best_tokens_are_found_the_same_way_on_a_gpu() -> None:
    """There values and ids are put together into whole numbers, as here for a tie across the border, or no border."""
    torch.manual_seed(5)
    values = torch.randn(6, 50).round(decimals=1) + 0.0  # many ties; no negative zero
    values[0, 7:] = -math.inf
    values[1] = 0.25
    values[2] = -values[2].abs()
    values[3, ::2] = torch.finfo(torch.float32).min
    for k in (1, 3, 10, 50):
        best, ids = top(values, k)
        expected, order = values.sort(dim=1, descending=True, stable=True)
        assert torch.equal(best, expected[:, :k])
        assert torch.equal(ids, order[:, :k])
        by_numbers, ids = top(values[:, :k], k)  # as many as there are: no border
        expected, order = values[:, :k].sort(dim=1, descending=True, stable=True)
        assert torch.equal(by_numbers, expected)
        assert torch.equal(ids, order)


def test_neighbours_change_nothing() -> None:
    alone = [run_beam(_only(random_table(), i), [9], 3, 0.6, 3)[0] for i in range(6)]
    assert run_beam(random_table(), [9] * 6, 3, 0.6, 3) == alone


def _only(table: Table, sentence: int) -> Table:
    return Table(lambda _, seen: table._logits(sentence, seen))


def test_blocked_tokens_are_never_produced_but_keep_their_probability() -> None:
    table = Table(lambda _, seen: [5.0, 5.0, 2.0 if seen else 0.0, 5.0, 1.0, 0.0])
    log_softmax = torch.tensor([5.0, 5.0, 0.0, 5.0, 1.0, 0.0]).log_softmax(0)
    for hypothesis in (run_greedy(table, [5])[0], run_beam(_only(table, 0), [5], 2)[0][0]):
        assert not set(hypothesis.ids) & set(BLOCKED)
    hypothesis = run_greedy(_only(table, 0), [5])[0]
    assert hypothesis.ids == [A]
    assert hypothesis.token_log_probabilities[0] == pytest.approx(float(log_softmax[A]))


def test_ties_go_to_the_lowest_id() -> None:
    flat = Table(lambda _, seen: [0.0] * 40)
    assert run_greedy(flat, [3])[0].ids == []  # the end of the sentence is the lowest id allowed
    even = Table(lambda _, seen: [0.0, 0.0, -1.0, 0.0] + [0.0] * 300)
    assert run_greedy(even, [2])[0].ids == [A, A]
    found = run_beam(_only(even, 0), [1], 5, num_best=5)[0]
    assert [hypothesis.ids for hypothesis in found] == [[A], [B], [C], [7], [8]]


@pytest.mark.parametrize(
    ("size", "num_best", "says"),
    [
        (0, 1, "beam size 0"),
        (-1, 1, "beam size -1"),
        (13, 1, "vocabulary of 12"),
        (2, 3, "3 best"),
        (2, 0, "0 best"),
    ],
)
def test_impossible_beams_are_refused(size: int, num_best: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        run_beam(random_table(12), [4], size, num_best=num_best)


def test_limits_must_fit() -> None:
    with pytest.raises(ValueError, match="2 rows"):
        greedy(random_table(), 2, bos_id=BOS, eos_id=EOS, max_lengths=[3])
    with pytest.raises(ValueError, match="negative"):
        run_greedy(random_table(), [-1])
    with pytest.raises(ValueError, match="never end"):
        greedy(random_table(), 1, bos_id=BOS, eos_id=EOS, max_lengths=[3], blocked_ids=[EOS])
    assert run_greedy(random_table(), []) == []
    assert run_beam(random_table(), [], 2) == []


def run_sample(table: Table, rows: int, **settings: float) -> list[Hypothesis]:
    generator = torch.Generator().manual_seed(0)
    return sample(
        table, rows, bos_id=BOS, eos_id=EOS, max_lengths=[1] * rows, blocked_ids=BLOCKED, generator=generator,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def test_sampling_draws_from_the_distribution() -> None:
    table = Table(lambda _, seen: probabilities(end=0.1, a=0.6, b=0.3))
    drawn = [tuple(one.ids) for one in run_sample(table, 2000)]
    assert drawn.count((A,)) / 2000 == pytest.approx(0.6, abs=0.05)
    assert drawn.count((B,)) / 2000 == pytest.approx(0.3, abs=0.05)
    assert [tuple(one.ids) for one in run_sample(_only(table, 0), 2000)] == drawn


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"top_k": 1}, {(A,)}),
        ({"top_k": 2}, {(A,), (B,)}),
        ({"top_p": 0.5}, {(A,)}),
        ({"top_p": 0.61}, {(A,), (B,)}),
        ({"temperature": 0.01}, {(A,)}),
    ],
)
def test_sampling_can_be_narrowed(settings: dict[str, float], expected: set[tuple[int, ...]]) -> None:
    table = Table(lambda _, seen: probabilities(end=0.1, a=0.6, b=0.3))
    found = run_sample(table, 200, **settings)
    assert {tuple(one.ids) for one in found} == expected
    assert found[0].token_log_probabilities[0] == pytest.approx(math.log(0.6 if found[0].ids == [A] else 0.3))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_meaningless_sampling_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        run_sample(random_table(), 1, **settings)
