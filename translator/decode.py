"""Token ids through a model, in batches by length: search for the best targets, score given ones.

In float32 whatever the training precision, and each sentence on its own as far as its result is concerned.

Shape letters: B sentences, R rows of a search step, S source length, T target length, D width, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from translator.batches import collate
from translator.beam import beam_search
from translator.config import DecodeConfig
from translator.kv_cache import KVCache
from translator.model import Transformer
from translator.search import Hypothesis, Step, greedy
from translator.tokenizer import Tokenizer

Ids = Sequence[int]

MAX_LOGITS = 2**25
"""Most logits of one step (128 MiB): a large vocabulary takes fewer rows, whatever the budget of tokens says."""
_SOURCE_TO_TARGET = 4  # a batch of short lines with a high limit counts as one of a quarter of that limit


def max_positions(model: Transformer) -> int | None:
    """Most tokens of a sequence, the special one counted; None where positions are computed, not learned."""
    return None if model.tgt_positions is None else model.tgt_positions.num_embeddings


@contextmanager
def inference(model: Transformer) -> Iterator[None]:
    """No dropout and no gradients; afterwards the model is in the mode that it was in."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def search_ids(
    model: Transformer,
    sources: Sequence[Ids],
    settings: DecodeConfig,
    num_best: int = 1,
    blocked_ids: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """The `num_best` best hypotheses of each source, greedy for a beam of one; ids without special tokens.

    Tokens in `blocked_ids` are never written, as pad, bos and unk are not.
    """
    limits = [int(settings.max_length_ratio * len(source)) + settings.max_length_extra for source in sources]
    if (most := max_positions(model)) is not None:
        limits = [min(limit, most - 1) for limit in limits]
    # What a row takes: its source, and its translation, which seldom grows to the limit.
    sizes = [max(len(source), limit // _SOURCE_TO_TARGET) for source, limit in zip(sources, limits, strict=True)]
    most_rows = max(1, MAX_LOGITS // (model.tgt_embedding.num_embeddings * settings.beam_size))
    found: dict[int, list[Hypothesis]] = {}
    with inference(model):
        for rows in _batches_by_length(sizes, settings.batch_tokens // settings.beam_size, most_rows):
            hypotheses = _search_batch(
                model, [sources[row] for row in rows], [limits[row] for row in rows], settings, num_best, blocked_ids
            )
            found.update(zip(rows, hypotheses, strict=True))
    return [found[row] for row in range(len(sources))]


def _search_batch(
    model: Transformer,
    sources: list[Ids],
    limits: list[int],
    settings: DecodeConfig,
    num_best: int,
    blocked_ids: Sequence[int],
) -> list[list[Hypothesis]]:
    device = next(model.parameters()).device
    batch = collate([(_array(source), _array(())) for source in sources], range(len(sources))).to(device)
    common: dict[str, Any] = {
        "bos_id": Tokenizer.bos_id,
        "eos_id": Tokenizer.eos_id,
        "max_lengths": limits,
        # The end of the sentence is always allowed, so an unknown token is never the only choice.
        "blocked_ids": (Tokenizer.pad_id, Tokenizer.bos_id, Tokenizer.unk_id, *blocked_ids),
        "length_penalty": settings.length_penalty,
        "device": device,
    }
    step = _decoder_step(model, model.encode(batch.src_BS, batch.src_mask_BS), batch.src_mask_BS)
    if settings.beam_size == 1:
        return [[hypothesis] for hypothesis in greedy(step, len(sources), **common)]
    return beam_search(step, len(sources), beam_size=settings.beam_size, num_best=num_best, **common)


def _decoder_step(model: Transformer, memory_BSD: Tensor, src_mask_BS: Tensor) -> Step:
    cache = KVCache(model.num_decoder_layers)

    def step(tokens_R: Tensor, parents_R: Tensor | None) -> Tensor:
        if parents_R is not None:
            cache.select(parents_R)
        hidden_R1D = model.decode(tokens_R[:, None], memory_BSD, src_mask_BS, cache)
        return model.project(hidden_R1D[:, 0])

    return step


def score_ids(
    model: Transformer, sources: Sequence[Ids], targets: Sequence[Ids], batch_tokens: int
) -> list[list[float]]:
    """Log-probability of each target token, and of the end of the sentence, given what is before
    (teacher-forced).
    """
    device = next(model.parameters()).device
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    scores: dict[int, list[float]] = {}
    with inference(model):
        for rows in _batches_by_length(lengths, batch_tokens):
            pairs = [(_array(sources[row]), _array(targets[row])) for row in rows]
            batch = collate(pairs, rows).to(device)
            logits_BTV = model(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT).float()
            chosen_BT = logits_BTV.gather(2, batch.labels_BT[:, :, None]).squeeze(2)
            values_BT = (chosen_BT - logits_BTV.logsumexp(dim=2)).tolist()
            scores.update((row, values[: len(targets[row]) + 1]) for row, values in zip(rows, values_BT, strict=True))
    return [scores[row] for row in range(len(sources))]


def _batches_by_length(lengths: Sequence[int], budget: int, most_rows: int | None = None) -> Iterator[list[int]]:
    """Rows of similar length whose padded size, end mark included, fits the budget; a longer row comes alone."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row], reverse=True):
        if rows and ((len(rows) + 1) * (lengths[rows[0]] + 1) > budget or len(rows) == most_rows):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _array(ids: Ids) -> "np.ndarray[Any, np.dtype[np.int64]]":
    return np.array(ids, dtype=np.int64)
