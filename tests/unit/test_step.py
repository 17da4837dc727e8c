"""Gradients of a step, and what happens where memory runs out: parts with the same gradient, pairs left out."""

import numpy as np
import pytest
import torch
from torch import Tensor

from translator.batches import Batch, collate
from translator.model import Transformer
from translator.optim import FlatParameters
from translator.step import Step, divide
from translator.training_state import State

VOCAB = 30
LENGTHS = ((3, 9), (5, 2), (8, 8), (2, 4), (7, 6))


def batch_of(lengths: tuple[tuple[int, int], ...] = LENGTHS, first: int = 0) -> Batch:
    random = np.random.default_rng(first)
    pairs = [(random.integers(4, VOCAB, src), random.integers(4, VOCAB, tgt)) for src, tgt in lengths]
    return collate(pairs, range(first, first + len(pairs)))


class Memory:
    """A model whose forward fails above a number of rows, as a GPU's does, or for a row with a certain token."""

    def __init__(self, dropout: float = 0.0, dtype: torch.dtype = torch.float32) -> None:
        torch.manual_seed(0)
        self.model = Transformer(
            VOCAB, VOCAB, d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=1, dropout=dropout
        ).to(dtype)
        self.parameters = FlatParameters(self.model)
        self.said: list[str] = []
        self.step = Step(
            self.model,
            self.parameters,
            seed=1,
            label_smoothing=0.1,
            pad_id=0,
            say=self.said.append,
            locate="train.tsv, line {}".format,
        )
        self.most_rows, self.bad_width = 100, 0
        self.num_failed = 0
        self.model.decoder.register_forward_hook(self._limit)

    def _limit(self, module: object, args: object, output: Tensor) -> None:
        if output.shape[0] > self.most_rows or output.shape[1] == self.bad_width:
            self.num_failed += 1
            raise torch.OutOfMemoryError("injected")

    def gradients(self, batches: list[Batch], state: State) -> Tensor:
        self.sums = self.step.gradients(batches, state)
        gradient = self.parameters.grad.clone()
        self.parameters.clear_gradients()
        return gradient


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-3)])
@pytest.mark.parametrize("most_rows", [1, 2, 3, 4])
def test_a_step_that_runs_out_of_memory_has_the_same_gradient_in_parts(
    most_rows: int, dtype: torch.dtype, tolerance: float
) -> None:
    batches = [batch_of(), batch_of(LENGTHS[:2], first=5)]
    memory, state = Memory(dtype=dtype), State(step=3)
    whole = memory.gradients(batches, state)
    sums = memory.sums
    memory.most_rows = most_rows
    parts = memory.gradients(batches, state)
    torch.testing.assert_close(parts, whole, atol=tolerance, rtol=0)
    assert memory.sums.tokens == sums.tokens
    torch.testing.assert_close(memory.sums.values, sums.values, atol=1e-2, rtol=1e-3)
    assert memory.sums.cells < sums.cells  # what is padding in all rows of a part is cut off
    assert "from here on batches of more than" in memory.said[0]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-3)])
@pytest.mark.parametrize("is_padded", [True, False])
def test_a_batch_without_source_padding_is_done_without_a_mask(
    dtype: torch.dtype, tolerance: float, is_padded: bool
) -> None:
    memory = Memory(dtype=dtype)
    batch = batch_of(((6, 9), (6, 2), (5 if is_padded else 6, 8)))
    masks: list[Tensor | None] = []
    memory.model.register_forward_pre_hook(lambda module, args: masks.append(args[1]))
    gradient = memory.gradients([batch], State(step=1))
    assert (masks[0] is None) == (not is_padded)
    if masks[0] is None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Batch, "needed_src_mask", batch.src_mask_BS)
            expected = memory.gradients([batch], State(step=1))
        assert masks[1] is batch.src_mask_BS
        torch.testing.assert_close(gradient, expected, rtol=0, atol=tolerance)


def test_what_was_learnt_holds_for_the_steps_after_it() -> None:
    memory, state = Memory(dropout=0.1), State(step=3)
    memory.most_rows = 3
    first = memory.gradients([batch_of()], state)
    assert (memory.num_failed, state.most_cells) == (1, 3 * 10)
    assert torch.equal(memory.gradients([batch_of()], state), first)
    assert (memory.num_failed, len(memory.said)) == (1, 1)
    resumed = Memory(dropout=0.1)  # has room, but goes on with the stored limit
    assert torch.equal(resumed.gradients([batch_of()], State(step=3, most_cells=30)), first)
    assert not torch.equal(resumed.gradients([batch_of()], State(step=3)), first)  # dropout is another one


def test_parts_have_seeds_of_their_own_and_an_undivided_batch_its_old_one() -> None:
    memory = Memory()
    whole = memory.step.parts([batch_of(), batch_of()], State(step=3))
    parts = memory.step.parts([batch_of(), batch_of()], State(step=3, most_cells=20))
    assert whole[0].seed == parts[0].seed
    assert len({part.seed for part in parts}) == len(parts) == 6
    assert [len(part.batch.index_B) for part in parts] == [2, 1, 2, 2, 1, 2]


def test_a_pair_that_does_not_fit_alone_is_left_out_named_and_counted() -> None:
    memory, state = Memory(), State(step=3)
    memory.bad_width = 10  # the first pair, as long as the batch
    gradient = memory.gradients([batch_of()], state)
    assert state.left_out == [0]
    assert "(train.tsv, line 0); it is left out from here on (pairs left out so far: 1)" in memory.said[-1]
    others = batch_of().rows([1, 2, 3, 4], pad_id=0)
    torch.testing.assert_close(gradient, Memory().gradients([others], State(step=3)), atol=1e-6, rtol=1e-5)
    failed = memory.num_failed
    memory.gradients([batch_of()], state)
    assert memory.num_failed == failed  # it is not tried again


def test_a_step_without_any_pair_has_no_gradient() -> None:
    memory = Memory()
    assert memory.gradients([batch_of(LENGTHS[:1])], State(left_out=[0])).abs().max() == 0
    assert memory.sums.tokens == 0


def test_a_failed_attempt_leaves_nothing_behind() -> None:
    memory, state = Memory(dtype=torch.bfloat16), State(step=3)
    expected = Memory(dtype=torch.bfloat16).gradients([batch_of(first=9), batch_of()], State(step=3, most_cells=30))
    calls = []

    def fail_once(module: object, args: object, output: Tensor) -> None:
        calls.append(output.shape[0])
        if len(calls) == 2:  # after the gradient of the first micro-batch was collected
            raise torch.OutOfMemoryError("injected")

    memory.model.decoder.register_forward_hook(fail_once)
    assert torch.equal(memory.gradients([batch_of(first=9), batch_of()], state), expected)
    assert state.most_cells == 30


def test_dividing_keeps_every_pair_once() -> None:
    parts = divide(batch_of(), State(most_cells=25), pad_id=0)
    assert [part.index_B.tolist() for part in parts] == [[0, 1], [2], [3, 4]]
    assert [tuple(part.labels_BT.shape) for part in parts] == [(2, 10), (1, 9), (2, 7)]
    assert sum(part.num_tgt_tokens for part in parts) == batch_of().num_tgt_tokens
    assert sum(part.num_src_tokens for part in parts) == batch_of().num_src_tokens
    assert divide(batch_of(), State(), pad_id=0)[0].labels_BT.shape == (5, 10)
