"""Beam search over a step callback (see `translator.search`); nothing here knows a model.

A sentence has as many places as the beam is wide, each for an open row or for a hypothesis that has ended. The books
are kept on a CUDA device, which goes ahead: only now and then is it waited for, to see which sentences are done. For
other devices they are kept on the CPU (MPS has no float64).

Shape letters: B sentences, W places of a sentence, C = B x W places of all, R rows of one step (the places that may
still be open), K candidates of a row, X = W x K candidates of a sentence, V vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from translator.search import Hypothesis, Step, check_limits, length_factor, make_hypothesis, steps_between_looks


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

    Of all continuations of a sentence's open rows the most probable ones take the free places; one that ends keeps its
    place to the end, so a beam of one is greedy search whatever the length penalty. A sentence is done when it has no
    open row left, or when none can beat its `num_best` finished hypotheses: more tokens only lower a sum, and no length
    within the limit has a larger `length_factor` than the one allowed for. Fewer hypotheses than `num_best` come back
    only where the limits leave no more.

    Raises:
        ValueError: a beam below one or above the vocabulary, `num_best` above the beam, or limits that do not fit.
    """
    check_limits(num_rows, max_lengths, eos_id, blocked_ids)
    if beam_size < 1:
        raise ValueError(f"beam size {beam_size} must be at least 1")
    if not 1 <= num_best <= beam_size:
        raise ValueError(f"{num_best} best hypotheses need a beam of at least that size, and at least one")
    if num_rows == 0:
        return []
    device = torch.device(device)
    beam = _Beam(max_lengths, eos_id, beam_size, length_penalty, num_best, device)
    look_every = steps_between_looks(beam.device)
    blocked = torch.tensor(list(blocked_ids), dtype=torch.long, device=device)
    tokens_R = torch.full((num_rows,), bos_id, device=device)
    parents_R: Tensor | None = None
    for position in range(max(max_lengths) + 1):
        values_RV = step(tokens_R, parents_R).float().log_softmax(dim=1).index_fill_(1, blocked, -math.inf)
        if beam_size > values_RV.shape[1]:
            raise ValueError(f"beam size {beam_size} is above the vocabulary of {values_RV.shape[1]} tokens")
        beam.advance(position, *top(values_RV, beam_size), values_RV[:, eos_id])
        tokens_R, parents_R = beam.next_rows(look=position % look_every == 0)  # the first look makes rows of all places
        if len(tokens_R) == 0:
            break
        tokens_R = tokens_R.to(device)
    return beam.hypotheses()


def top(values_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Like `topk`, but equal values come in the order of their ids, and the lowest ids are kept."""
    if values_RV.device.type != "cuda":
        values_RK, ids_RK = (found.cpu() for found in values_RV.topk(min(k + 1, values_RV.shape[1]), dim=1))
        # in a tie across the border topk may keep either
        if k < values_RV.shape[1] and not (values_RK[:, k - 1] == values_RK[:, k]).any():
            ids_RK, order_RK = ids_RK[:, :k].sort(dim=1)
            values_RK, again_RK = values_RK[:, :k].gather(1, order_RK).sort(dim=1, descending=True, stable=True)
            return values_RK, ids_RK.gather(1, again_RK)
        values_RV = values_RV.cpu()
    # Whole numbers that are ordered as pairs of a value and an id: the bits of a float are, but for negative ones
    # the other way round.
    bits_RV = values_RV.view(torch.int32)
    pairs_RV = (bits_RV >> 31).bitwise_and_(2**31 - 1).bitwise_xor_(bits_RV).long()
    last_id = values_RV.shape[1] - 1
    from_last_V = torch.arange(last_id, -1, -1, device=values_RV.device)
    pairs_RV.bitwise_left_shift_(32).bitwise_or_(from_last_V)
    ids_RK = last_id - (pairs_RV.topk(k, dim=1).values & (2**32 - 1))
    return values_RV.gather(1, ids_RK), ids_RK


class _Beam:
    """The places of all sentences, and the way back from each.

    The open rows of a sentence stand side by side from its first place on, the most probable first; the sum of a place
    without one is -inf.
    """

    def __init__(
        self,
        limits: Sequence[int],
        eos_id: int,
        size: int,
        length_penalty: float,
        num_best: int,
        device: torch.device,
    ) -> None:
        self._eos_id, self._size = eos_id, size
        self._length_penalty, self._num_best = length_penalty, num_best
        self.device = device if device.type == "cuda" else torch.device("cpu")  # of the books
        grid = (len(limits), size)
        self._limits_B1 = torch.tensor(list(limits), device=self.device)[:, None]
        self._farthest_B1 = ((6.0 + self._limits_B1.double()) / 6.0).pow(length_penalty)
        self._slots_W = torch.arange(size, device=self.device)
        self._sums_BW = torch.full(grid, -math.inf, dtype=torch.float64, device=self.device)
        self._sums_BW[:, 0] = 0.0
        self._cells_R = torch.arange(len(limits), device=self.device) * size
        # Of each step: the tokens, the places that their rows went on from, the log-probabilities.
        self._history: list[tuple[Tensor, Tensor, Tensor]] = []
        # Of ended hypotheses in the order of their ends, and in a last column what has not ended: the step, the place
        # before, the last log-probability, whether the model ended it, and its score if so.
        ended = (len(limits), size + 1)
        self._num_ended_B1 = torch.zeros((len(limits), 1), dtype=torch.long, device=self.device)
        self._end_position = torch.zeros(ended, dtype=torch.long, device=self.device)
        self._end_slot = torch.zeros(ended, dtype=torch.long, device=self.device)
        self._end_value = torch.zeros(ended, dtype=torch.float64, device=self.device)
        self._end_finished = torch.zeros(ended, dtype=torch.bool, device=self.device)
        self._end_score = torch.full(ended, -math.inf, dtype=torch.float64, device=self.device)

    def advance(self, position: int, best_RK: Tensor, ids_RK: Tensor, eos_R: Tensor) -> None:
        """Take the candidates of a step: some end, some go on, and a row at its limit ends whatever it is."""
        num_candidates = best_RK.shape[1]
        values_BX = self._grid(best_RK.to(self.device).double(), -math.inf)
        sums_BX = values_BX + self._sums_BW.repeat_interleave(num_candidates, dim=1)
        sums_BX, order_BX = sums_BX.sort(dim=1, descending=True, stable=True)
        sums_BW, order_BW = sums_BX[:, : self._size], order_BX[:, : self._size]
        slot_BW = order_BW // num_candidates
        token_BW = self._grid(ids_RK.to(self.device), self._eos_id).gather(1, order_BW)
        value_BW = values_BX.gather(1, order_BW)
        taken_BW = (self._slots_W < self._size - self._num_ended_B1) & (sums_BW > -math.inf)

        ends_BW = taken_BW & (token_BW == self._eos_id)
        scores_BW = sums_BW / length_factor(position + 1, self._length_penalty)
        self._end(ends_BW, position, slot_BW, value_BW, scores_BW)
        at_limit_B1 = self._limits_B1 <= position
        ended_by_slot_BW = torch.zeros_like(slot_BW).scatter_add_(1, slot_BW, ends_BW.long()) > 0
        cut_BW = (self._sums_BW > -math.inf) & at_limit_B1 & ~ended_by_slot_BW
        eos_BW = self._grid(eos_R.to(self.device).double()[:, None], -math.inf)
        slots_BW = self._slots_W.expand_as(slot_BW)
        self._end(cut_BW, position, slots_BW, eos_BW)

        open_BW = taken_BW & ~ends_BW & ~at_limit_B1
        # The next token makes position + 2 with the end of the sentence; the factor grows or falls with the length.
        nearest = length_factor(position + 2, self._length_penalty)
        bar_B1 = self._end_score[:, :-1].topk(self._num_best, dim=1).values[:, -1:]  # what an open row must beat
        can_win_BW = open_BW & (sums_BW / self._farthest_B1.clamp(min=nearest) > bar_B1)
        open_BW = open_BW & can_win_BW.any(dim=1, keepdim=True)
        first_BW = (~open_BW).int().argsort(dim=1, stable=True)
        open_BW = open_BW.gather(1, first_BW)
        self._sums_BW = sums_BW.gather(1, first_BW).masked_fill(~open_BW, -math.inf)
        slot_BW = slot_BW.masked_fill(~taken_BW, 0)  # the first place has a row as long as any has
        self._history.append((token_BW.gather(1, first_BW), slot_BW.gather(1, first_BW), value_BW.gather(1, first_BW)))

    def next_rows(self, *, look: bool) -> tuple[Tensor, Tensor]:
        """The tokens of the next step's rows, and which rows they go on from.

        A look leaves out rows that are not needed any more; without one they stand for the same places as before.
        """
        before_R = self._cells_R
        if look:
            is_needed_BW = self._slots_W < self._size - self._num_ended_B1
            is_needed_BW &= self._sums_BW[:, :1] > -math.inf
            self._cells_R = is_needed_BW.flatten().nonzero().squeeze(1)  # waits for the device
        tokens_BW, slots_BW, _ = self._history[-1]
        row_C = torch.zeros(tokens_BW.numel(), dtype=torch.long, device=self.device)
        row_C[before_R] = torch.arange(len(before_R), device=self.device)
        parent_R = self._cells_R // self._size * self._size + slots_BW.flatten()[self._cells_R]
        parents_R = row_C[parent_R]
        return tokens_BW.flatten()[self._cells_R], parents_R.cpu() if look else parents_R

    def _grid(self, x_RK: Tensor, absent: float) -> Tensor:
        """What rows have (R, K), by sentences (B, W x K)."""
        cells_CK = x_RK.new_full((self._sums_BW.numel(), x_RK.shape[1]), absent, device=self.device)
        return cells_CK.index_copy_(0, self._cells_R, x_RK).view(len(self._sums_BW), -1)

    def _end(
        self, ends_BW: Tensor, position: int, slot_BW: Tensor, value_BW: Tensor, scores_BW: Tensor | None = None
    ) -> None:
        """Put those of these hypotheses that end behind those of their sentences that have ended.

        One that the limit cuts has no score that others must beat.
        """
        rank_BW = self._num_ended_B1 + ends_BW.cumsum(dim=1) - 1
        column_BW = rank_BW.masked_fill(~ends_BW, self._size)
        self._end_position.scatter_(1, column_BW, position)
        self._end_slot.scatter_(1, column_BW, slot_BW)
        self._end_value.scatter_(1, column_BW, value_BW)
        self._end_finished.scatter_(1, column_BW, scores_BW is not None)
        if scores_BW is not None:
            self._end_score.scatter_(1, column_BW, scores_BW)
        self._num_ended_B1 = self._num_ended_B1 + ends_BW.sum(dim=1, keepdim=True)

    def hypotheses(self) -> list[list[Hypothesis]]:
        """Those of each sentence that are asked for, best first.

        One that the limit cut never comes before one that ended by itself; of equal ones the earlier comes first.
        """
        history = [[x.tolist() for x in step] for step in self._history]
        ends = [x.tolist() for x in (self._end_position, self._end_slot, self._end_value, self._end_finished)]
        found = []
        for sentence, num_ended in enumerate(self._num_ended_B1.flatten().tolist()):
            of_sentence = []
            for position, slot, value, finished in list(zip(*(x[sentence] for x in ends), strict=True))[:num_ended]:
                ids, values = [], [value]
                for tokens, slots, log_probabilities in reversed(history[:position]):
                    ids.append(tokens[sentence][slot])
                    values.append(log_probabilities[sentence][slot])
                    slot = slots[sentence][slot]
                of_sentence.append(make_hypothesis(ids[::-1], values[::-1], finished, self._length_penalty))
            of_sentence.sort(key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
            found.append(of_sentence[: self._num_best])
        return found
