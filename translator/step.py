"""The gradients of one step: forward, loss and backward of its micro-batches, in parts where memory is short.

They are a pure function of (weights, seed, step, batches) and of what running out of memory has taught, which the
state of the run holds: micro-batches above a limit are done in parts, and pairs that do not fit even alone are left
out. The gradient of the parts is that of the undivided batch (dropout differs: each part has a seed of its own).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import nn

from translator.batches import Batch
from translator.loss import token_loss
from translator.optim import FlatParameters
from translator.training_state import State, Sums, step_seed


@dataclass(frozen=True)
class Part:
    """A micro-batch, or the rows of it that are done at a time, and the seed of its dropout."""

    batch: Batch
    seed: int


def divide(batch: Batch, state: State, pad_id: int) -> list[Batch]:
    """The micro-batch without pairs that do not fit, halved until each part is within the limit or a single pair."""
    if state.left_out:
        keep = [row for row, pair in enumerate(batch.index_B.tolist()) if pair not in state.left_out]
        if not keep:
            return []
        if len(keep) < len(batch.index_B):
            batch = batch.rows(keep, pad_id)
    num_rows = len(batch.index_B)
    if state.most_cells is None or num_rows == 1 or batch.num_cells <= state.most_cells:
        return [batch]
    middle = (num_rows + 1) // 2
    halves = batch.rows(range(middle), pad_id), batch.rows(range(middle, num_rows), pad_id)
    return [part for half in halves for part in divide(half, state, pad_id)]


class Step:
    """Makes the gradients of a step, in the flat buffer of the parameters."""

    def __init__(
        self,
        model: nn.Module,
        parameters: FlatParameters,
        *,
        seed: int,
        label_smoothing: float,
        pad_id: int,
        say: Callable[[str], None],
        locate: Callable[[int], str],
    ) -> None:
        """`say` is told in words when memory ran out; `locate` says where in the corpus a pair stands, by number."""
        self.model, self.parameters = model, parameters
        self.seed, self.label_smoothing, self.pad_id = seed, label_smoothing, pad_id
        self.device = parameters.master.device
        self._say, self.locate = say, locate

    @property
    def precision(self) -> str:
        """Number format of the layers, as in the configuration."""
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    def gradients(self, batches: Sequence[Batch], state: State) -> Sums:
        """Gradients of the mean loss over the real target tokens, times the loss scale; returns the sums of the step.

        Where memory runs out (`torch.OutOfMemoryError`), what it teaches goes to `state` and the step begins anew.
        """
        while True:
            sums = Sums.zeros(self.device)
            too_large = self._try(self.parts(batches, state), sums, state.loss_scale)
            if too_large is None:
                return sums
            self._learn(too_large, state)
            self.parameters.clear_gradients()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def parts(self, batches: Sequence[Batch], state: State) -> list[Part]:
        """All parts of the step in their order. An undivided micro-batch has the seed that it has without a limit."""
        return [
            Part(part, step_seed(self.seed, state.step, micro_batch, number))
            for micro_batch, batch in enumerate(batches)
            for number, part in enumerate(divide(batch, state, self.pad_id))
        ]

    def _try(self, parts: Sequence[Part], sums: Sums, loss_scale: float) -> Batch | None:
        """Do all parts; returns the one that did not fit into memory, if any.

        A function of its own, so that nothing of a failed attempt is held when the next one begins.
        """
        num_tokens = sum(part.batch.num_tgt_tokens for part in parts)
        for part in parts:
            with suppress(torch.OutOfMemoryError):
                self.backward(part, sums, loss_scale / num_tokens)
                continue
            return part.batch
        return None

    def backward(self, part: Part, sums: Sums, scale: float) -> None:
        """Add the gradients of one part, times `scale`, and count its loss in `sums`."""
        torch.manual_seed(part.seed)
        batch = part.batch.to(self.device)
        logits_BTV = self.model(batch.src_BS, batch.needed_src_mask, batch.tgt_in_BT)
        loss = token_loss(logits_BTV, batch.labels_BT, label_smoothing=self.label_smoothing, pad_id=self.pad_id)
        (loss.sum * scale).backward()  # type: ignore[no-untyped-call]
        self.parameters.collect()
        sums.values += torch.stack([loss.sum, loss.nll_sum, loss.num_correct]).detach().to(sums.values)
        sums.tokens += batch.num_tgt_tokens
        sums.real_cells += batch.num_src_tokens + batch.num_tgt_tokens
        sums.cells += batch.src_BS.numel() + batch.labels_BT.numel()

    def _learn(self, batch: Batch, state: State) -> None:
        """Note that a part did not fit: a smaller limit, or a pair that is left out from here on."""
        rows, width = len(batch.index_B), batch.num_cells // len(batch.index_B)
        if rows > 1:
            state.most_cells = (rows + 1) // 2 * width
            self._say(
                f"Memory ran out in a batch of {rows} rows of {width:,} tokens; from here on batches of more than "
                f"{state.most_cells:,} tokens are done in parts."
            )
        else:
            pair = int(batch.index_B[0])
            state.left_out.append(pair)
            self._say(
                f"Memory ran out with a single pair of {width:,} tokens ({self.locate(pair)}); it is left out from "
                f"here on (pairs left out so far: {len(state.left_out)})."
            )
