"""Greedy search, beam search and sampling over a step callback; nothing here knows a model.

A search asks `step(tokens_R, parents_R)` for the logits of the next token of every row. `tokens_R` is the
last token of each row; `parents_R` (on the CPU in a beam search) says which row of the previous call each row
continues, and None says that the rows are those of the previous call in the same order (as they are in the
first call, where every token is `bos_id`). Rows that have ended are left out of later calls.

Every search is bounded: a row of `max_lengths[i]` tokens may only end. Such a hypothesis has `finished=False`
unless it would have ended there by itself. Log-probabilities come from the softmax over the whole vocabulary
in float32, the end of the sentence included, so that they equal the teacher-forced score of the same tokens.
`blocked_ids` are never produced (but keep their share of the softmax); `eos_id` is always allowed, so a row
always has a choice. Of equal candidates the one with the lowest id wins.

Shape letters: B sentences, R rows of one step, V vocabulary, W beam width, K candidates of a row.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Hypothesis:
    """One output: the ids without bos and eos, and what the model thinks of them."""

    ids: list[int]
    log_probability: float
    """Sum over the tokens and the end of the sentence, in nats."""
    score: float
    """`log_probability` divided by `length_factor`: what the beam ranks by."""
    finished: bool
    """False when the length limit, not the model, ended it."""
    token_log_probabilities: list[float]
    """One for each id and a last one for the end of the sentence."""


def length_factor(num_tokens: int, length_penalty: float) -> float:
    """((5 + n) / 6) ** alpha of Wu et al. 2016, section 7; n counts tokens and the end of the sentence."""
    return float(((5.0 + num_tokens) / 6.0) ** length_penalty)


def greedy(
    step: Step,
    num_rows: int,
    *,
    bos_id: int,
    eos_id: int,
    max_lengths: Sequence[int],
    blocked_ids: Sequence[int] = (),
    length_penalty: float = 0.0,
    device: torch.device | str = "cpu",
) -> list[Hypothesis]:
    """The most probable token at each position, for sentences of at most `max_lengths` tokens each.

    `length_penalty` changes the reported `score` only. Raises ValueError for limits that do not fit.
    """
    return _generate(
        step, num_rows, lambda values_RV: values_RV.argmax(dim=1), bos_id, eos_id, max_lengths, blocked_ids,
        length_penalty, device,
    )  # fmt: skip


def sample(
    step: Step,
    num_rows: int,
    *,
    bos_id: int,
    eos_id: int,
    max_lengths: Sequence[int],
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    blocked_ids: Sequence[int] = (),
    device: torch.device | str = "cpu",
) -> list[Hypothesis]:
    """Draw each token at random from the model's distribution.

    `temperature` sharpens (below 1) or flattens it; `top_k` keeps the k most probable tokens; `top_p` keeps
    the fewest tokens that together reach that probability (nucleus sampling, Holtzman et al. 2020, section
    3.1). The reported log-probabilities are those of the unchanged distribution. `generator` must live on
    `device`.

    Raises:
        ValueError: a temperature, top_k or top_p that means nothing, or limits that do not fit.
    """
    if temperature <= 0:
        raise ValueError(f"temperature {temperature} must be above 0")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k {top_k} must be at least 1")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p} must be above 0 and at most 1")

    def draw(values_RV: Tensor) -> Tensor:
        softmax_RV = (values_RV / temperature).softmax(dim=1)
        probability_RV, ids_RV = softmax_RV.sort(dim=1, descending=True, stable=True)
        mass_before_RV = probability_RV.cumsum(dim=1) - probability_RV
        kept_RV = mass_before_RV < top_p  # the most probable token always stays: nothing lies before it
        if top_k is not None:
            kept_RV[:, top_k:] = False
        choice_R1 = torch.multinomial(probability_RV * kept_RV, 1, generator=generator)
        return ids_RV.gather(1, choice_R1).squeeze(1)

    return _generate(step, num_rows, draw, bos_id, eos_id, max_lengths, blocked_ids, 0.0, device)


def _generate(
    step: Step,
    num_rows: int,
    choose: Callable[[Tensor], Tensor],
    bos_id: int,
    eos_id: int,
    max_lengths: Sequence[int],
    blocked_ids: Sequence[int],
    length_penalty: float,
    device: torch.device | str,
) -> list[Hypothesis]:
    """One token for each row at a time, until every row has ended; `choose` picks by the log-probabilities."""
    _check_limits(num_rows, max_lengths, eos_id, blocked_ids)
    if num_rows == 0:
        return []
    longest = max(max_lengths)
    # Row i of these matrices belongs to sentence i for good; `sentence_R` says where the rows of a step write.
    # What an ended row writes while it is carried along lies beyond its length.
    ids_BT = torch.full((num_rows, longest + 1), eos_id, device=device)
    log_probability_BT = torch.zeros((num_rows, longest + 1), device=device)
    lengths_B = torch.zeros(num_rows, dtype=torch.long, device=device)
    finished_B = torch.zeros(num_rows, dtype=torch.bool, device=device)
    sentence_R = torch.arange(num_rows, device=device)
    limit_R = torch.tensor(list(max_lengths), device=device)
    open_R = torch.ones(num_rows, dtype=torch.bool, device=device)
    tokens_R = torch.full((num_rows,), bos_id, device=device)
    blocked = torch.tensor(list(blocked_ids), dtype=torch.long, device=device)
    look_every = _steps_between_looks(open_R.device)
    parents_R: Tensor | None = None
    for position in range(longest + 1):
        values_RV = step(tokens_R, parents_R).float().log_softmax(dim=1).index_fill_(1, blocked, -math.inf)
        choice_R = choose(values_RV)
        tokens_R = choice_R.masked_fill(limit_R <= position, eos_id)
        ids_BT[sentence_R, position] = tokens_R
        log_probability_BT[sentence_R, position] = values_RV.gather(1, tokens_R[:, None]).squeeze(1)
        ended_R = open_R & (tokens_R == eos_id)
        lengths_B[sentence_R] = torch.where(ended_R, position, lengths_B[sentence_R])
        finished_B[sentence_R] |= ended_R & (choice_R == eos_id)
        open_R = open_R & ~ended_R
        parents_R = None
        if (position + 1) % look_every:
            continue
        kept_R = open_R.nonzero().squeeze(1)  # waits for the device
        if len(kept_R) == 0:
            break
        # Leaving rows out copies the caches of all others, so a few ended rows are carried along meanwhile.
        if len(kept_R) <= len(open_R) - max(1, len(open_R) // 8):
            parents_R = kept_R
            sentence_R, limit_R, tokens_R = sentence_R[parents_R], limit_R[parents_R], tokens_R[parents_R]
            open_R = open_R[parents_R]
    rows = zip(
        ids_BT.tolist(), log_probability_BT.tolist(), lengths_B.tolist(), finished_B.tolist(), strict=True
    )  # fmt: skip
    return [
        _hypothesis(ids[:length], values[: length + 1], finished, length_penalty)
        for ids, values, length, finished in rows
    ]


def _steps_between_looks(device: torch.device) -> int:
    """A look at which rows have ended waits for all that a GPU has been asked to do; on a CPU it costs nothing."""
    return 1 if device.type == "cpu" else 4


def _hypothesis(ids: list[int], values: list[float], finished: bool, length_penalty: float) -> Hypothesis:
    total = math.fsum(values)
    return Hypothesis(ids, total, total / length_factor(len(values), length_penalty), finished, values)


def _check_limits(num_rows: int, max_lengths: Sequence[int], eos_id: int, blocked_ids: Sequence[int]) -> None:
    if len(max_lengths) != num_rows:
        raise ValueError(f"{num_rows} rows need as many length limits, not {len(max_lengths)}")
    if any(limit < 0 for limit in max_lengths):
        raise ValueError("a length limit cannot be negative")
    if eos_id in blocked_ids:
        raise ValueError("the end of the sentence cannot be blocked: decoding would never end")


@dataclass
class _Sentence:
    """What one sentence of a beam search has found so far."""

    limit: int
    hypotheses: list[Hypothesis] = field(default_factory=list)

    def ranked(self) -> list[Hypothesis]:
        """Best first; one that the limit cut never comes before one that ended by itself; then the earlier
        one.
        """
        return sorted(self.hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))

    def bar(self, num_best: int) -> float:
        """The score that an open row must beat to matter."""
        scores = sorted((h.score for h in self.hypotheses if h.finished), reverse=True)
        return scores[num_best - 1] if len(scores) >= num_best else -math.inf


def beam_search(
    step: Step,
    num_rows: int,
    *,
    bos_id: int,
    eos_id: int,
    max_lengths: Sequence[int],
    beam_size: int,
    length_penalty: float = 0.6,
    num_best: int = 1,
    blocked_ids: Sequence[int] = (),
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """The `num_best` best hypotheses that a beam of `beam_size` finds for each sentence, best first.

    A sentence has `beam_size` places. Of all continuations of its open rows the most probable ones take the
    free places; one that ends keeps its place to the end, so a beam of one is greedy search whatever the
    length penalty. A sentence is done when it has no open row left, or when none can beat its `num_best`
    finished hypotheses: more tokens only lower a sum, and no length within the limit has a larger
    `length_factor` than the one allowed for. Fewer hypotheses than `num_best` come back only where the limits
    leave no more.

    Raises:
        ValueError: a beam below one or above the vocabulary, `num_best` above the beam, or limits that do not
        fit.
    """
    _check_limits(num_rows, max_lengths, eos_id, blocked_ids)
    if beam_size < 1:
        raise ValueError(f"beam size {beam_size} must be at least 1")
    if not 1 <= num_best <= beam_size:
        raise ValueError(f"{num_best} best hypotheses need a beam of at least that size, and at least one")
    if num_rows == 0:
        return []
    beam = _Beam([_Sentence(limit) for limit in max_lengths], eos_id, beam_size, length_penalty, num_best)
    blocked = torch.tensor(list(blocked_ids), dtype=torch.long, device=device)
    tokens_R = torch.full((num_rows,), bos_id, device=device)
    parents_R: Tensor | None = None
    for position in range(max(max_lengths) + 1):
        values_RV = step(tokens_R, parents_R).float().log_softmax(dim=1).index_fill_(1, blocked, -math.inf)
        if beam_size > values_RV.shape[1]:
            raise ValueError(f"beam size {beam_size} is above the vocabulary of {values_RV.shape[1]} tokens")
        best_RK, ids_RK = _top(values_RV, beam_size)
        tokens, parents_R = beam.advance(position, best_RK, ids_RK, values_RV[:, eos_id].cpu())
        if len(tokens) == 0:
            break
        tokens_R = tokens.to(device)
    return [sentence.ranked()[:num_best] for sentence in beam.sentences]


def _top(values_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Like `topk`, on the CPU, but equal values come in the order of their ids, and the lowest ids are kept."""
    if k < values_RV.shape[1]:
        values_RK, ids_RK = (found.cpu() for found in values_RV.topk(k + 1, dim=1))
        if not (values_RK[:, k - 1] == values_RK[:, k]).any():  # else a tie across the border: topk may keep either
            ids_RK, order_RK = ids_RK[:, :k].sort(dim=1)
            values_RK, again_RK = values_RK[:, :k].gather(1, order_RK).sort(dim=1, descending=True, stable=True)
            return values_RK, ids_RK.gather(1, again_RK)
    values_RV, order_RV = values_RV.sort(dim=1, descending=True, stable=True)
    return values_RV[:, :k].cpu(), order_RV[:, :k].cpu()


class _Beam:
    """The bookkeeping of a beam search, on the CPU: which rows are open, and the way back from each.

    A step has one row for each open hypothesis, those of a sentence side by side, the most probable first.
    """

    def __init__(
        self, sentences: list[_Sentence], eos_id: int, size: int, length_penalty: float, num_best: int
    ) -> None:
        self.sentences = sentences
        self._eos_id = eos_id
        self._size = size
        self._length_penalty = length_penalty
        self._num_best = num_best
        self._owner_R = torch.arange(len(sentences))
        self._sums_R = torch.zeros(len(sentences), dtype=torch.float64)
        self._limits_B = torch.tensor([sentence.limit for sentence in sentences])
        self._free_B = torch.full((len(sentences),), size)
        self._bar_B = torch.full((len(sentences),), -math.inf, dtype=torch.float64)
        # Of each step and row: the token, the row before, the log-probability.
        self._history: list[tuple[list[int], list[int], list[float]]] = []

    def advance(self, position: int, best_RK: Tensor, ids_RK: Tensor, eos_R: Tensor) -> tuple[Tensor, Tensor]:
        """Take the step's candidates; return the tokens and parent rows of the rows that stay open."""
        row_C, token_C, value_C = self._select(best_RK, ids_RK)
        at_limit_C = self._limits_B[self._owner_R[row_C]] <= position
        ends_C = token_C == self._eos_id
        self._close(row_C[ends_C], value_C[ends_C], finished=True)
        cut_R = self._limits_B[self._owner_R] <= position
        cut_R[row_C[ends_C]] = False
        cut = cut_R.nonzero().squeeze(1)
        self._close(cut, eos_R[cut].double(), finished=False)

        open_C = ~ends_C & ~at_limit_C
        row_C, token_C, value_C = row_C[open_C], token_C[open_C], value_C[open_C]
        owner_C, sums_C = self._owner_R[row_C], self._sums_R[row_C] + value_C
        # The next token makes position + 2 with the end of the sentence; the factor grows or falls with the
        # length.
        nearest = torch.full_like(sums_C, length_factor(position + 2, self._length_penalty))
        farthest = ((6.0 + self._limits_B[owner_C]) / 6.0).double().pow(self._length_penalty)
        can_win_C = sums_C / torch.maximum(nearest, farthest) > self._bar_B[owner_C]
        kept_B = torch.zeros(len(self.sentences), dtype=torch.bool)
        kept_B[owner_C[can_win_C]] = True
        keep_C = kept_B[owner_C]
        self._owner_R, self._sums_R = owner_C[keep_C], sums_C[keep_C]
        self._history.append((token_C[keep_C].tolist(), row_C[keep_C].tolist(), value_C[keep_C].tolist()))
        return token_C[keep_C], row_C[keep_C]

    def _select(self, best_RK: Tensor, ids_RK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each sentence, as many as it has free places: row, token,
        log-probability.
        """
        num_rows, k = best_RK.shape
        candidate_RK = self._sums_R[:, None] + best_RK.double()
        # Stable sorts, by value and then by sentence, leave each sentence's candidates side by side, best
        # first.
        by_value = candidate_RK.flatten().argsort(descending=True, stable=True)
        owner = self._owner_R.repeat_interleave(k)[by_value]
        owner, by_owner = owner.sort(stable=True)
        order = by_value[by_owner]
        counts_B = torch.bincount(owner, minlength=len(self.sentences))
        starts_B = counts_B.cumsum(0) - counts_B
        rank = torch.arange(num_rows * k) - starts_B[owner]
        impossible = best_RK.flatten()[order] == -math.inf
        order = order[(rank < self._free_B[owner]) & ~impossible]
        return order // k, ids_RK.flatten()[order], best_RK.flatten()[order].double()

    def _close(self, rows: Tensor, values: Tensor, *, finished: bool) -> None:
        """Turn rows that end here into hypotheses of their sentences."""
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            owner = int(self._owner_R[row])
            sentence = self.sentences[owner]
            ids, log_probabilities = self._trace(row)
            sentence.hypotheses.append(_hypothesis(ids, [*log_probabilities, value], finished, self._length_penalty))
            self._free_B[owner] -= 1
            self._bar_B[owner] = sentence.bar(self._num_best)

    def _trace(self, row: int) -> tuple[list[int], list[float]]:
        ids: list[int] = []
        values: list[float] = []
        for tokens, parents, log_probabilities in reversed(self._history):
            ids.append(tokens[row])
            values.append(log_probabilities[row])
            row = parents[row]
        return ids[::-1], values[::-1]
