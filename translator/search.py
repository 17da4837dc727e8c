"""Greedy search and sampling over a step callback, and what `translator.beam` has in common with them.

A search asks `step(tokens_R, parents_R)` for the logits of the next token of every row. `tokens_R` is the
last token of each row; `parents_R` says which row of the previous call each row continues, and None says that
the rows are those of the previous call in the same order (as they are in the first call, where every token is
`bos_id`). It is on the CPU wherever rows are left out or added; on a GPU it names, for each row there is, a row of
the same sentence. Rows that have ended are left out of later calls, on a GPU up to three calls later.

Every search is bounded: a row of `max_lengths[i]` tokens may only end. Such a hypothesis has `finished=False`
unless it would have ended there by itself. Log-probabilities come from the softmax over the whole vocabulary
in float32, the end of the sentence included, so that they equal the teacher-forced score of the same tokens.
`blocked_ids` are never produced (but keep their share of the softmax); `eos_id` is always allowed, so a row
always has a choice. Of equal candidates the one with the lowest id wins.

Shape letters: B sentences, R rows of one step, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    check_limits(num_rows, max_lengths, eos_id, blocked_ids)
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
    look_every = steps_between_looks(open_R.device)
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
            parents_R = kept_R.cpu()
            sentence_R, limit_R, tokens_R = sentence_R[kept_R], limit_R[kept_R], tokens_R[kept_R]
            open_R = open_R[kept_R]
    rows = zip(
        ids_BT.tolist(), log_probability_BT.tolist(), lengths_B.tolist(), finished_B.tolist(), strict=True
    )  # fmt: skip
    return [
        make_hypothesis(ids[:length], values[: length + 1], finished, length_penalty)
        for ids, values, length, finished in rows
    ]


def steps_between_looks(device: torch.device) -> int:
    """A look at which rows have ended waits for all that a GPU has been asked to do; on a CPU it costs nothing.

    `device` is where what is looked at is kept.
    """
    return 1 if device.type == "cpu" else 4


def make_hypothesis(ids: list[int], values: list[float], finished: bool, length_penalty: float) -> Hypothesis:
    """From its tokens, and the log-probabilities of each and of the end of the sentence."""
    total = math.fsum(values)
    return Hypothesis(ids, total, total / length_factor(len(values), length_penalty), finished, values)


def check_limits(num_rows: int, max_lengths: Sequence[int], eos_id: int, blocked_ids: Sequence[int]) -> None:
    """Raise ValueError where a search could not begin, or never end."""
    if len(max_lengths) != num_rows:
        raise ValueError(f"{num_rows} rows need as many length limits, not {len(max_lengths)}")
    if any(limit < 0 for limit in max_lengths):
        raise ValueError("a length limit cannot be negative")
    if eos_id in blocked_ids:
        raise ValueError("the end of the sentence cannot be blocked: decoding would never end")
