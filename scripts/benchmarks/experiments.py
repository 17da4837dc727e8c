"""`experiments`: choices of the training step, each beside what it replaced or what was left out.

Every experiment is a pair of functions that do the same work; they run by turns, and the median of each and their
ratio are printed beside the gain that was expected. Shape letters as in `translator.model`.
"""

import argparse
import queue
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import Tensor

from translator.device import Device
from translator.dropout import Dropout
from translator.loss import token_loss
from translator.model import Transformer
from translator.optim import FlatParameters, Optimizer

Work = Callable[[], object]
D_MODEL, HEADS, D_FF, LAYERS, VOCAB = 256, 8, 1024, 3, 8000  # the reference setting
TOKENS, LENGTH = 4096, 16
RATE = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--rounds", type=int, default=9, help="turns of each side (default: 9)")
    parser.add_argument("--only", metavar="WORD", help="experiments with this word in their name")


def forward_backward(function: Callable[..., Tensor], *inputs: Tensor) -> Work:
    """Call with gradients, then differentiate the sum."""

    def work() -> None:
        for tensor in inputs:
            tensor.grad = None
        function(*inputs).sum().backward()  # type: ignore[no-untyped-call]

    return work


def attention(length: int) -> tuple[Work, Work]:
    """scaled_dot_product_attention against products and a softmax of our own."""
    shape = (TOKENS // length, HEADS, length, D_MODEL // HEADS)
    query, key, value = (torch.randn(shape, requires_grad=True) for _ in range(3))
    mask = torch.ones(shape[0], 1, 1, length, dtype=torch.bool)
    mask[..., -1] = False

    def eager(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = (query @ key.transpose(-2, -1) * shape[-1] ** -0.5).masked_fill(~mask, float("-inf"))
        mixed: Tensor = scores.softmax(-1) @ value
        return mixed

    def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, mask)

    return forward_backward(fused, query, key, value), forward_backward(eager, query, key, value)


def joined_projections() -> tuple[Work, Work]:
    """Query, key and value by one product of three times the width, against three products."""
    x = torch.randn(TOKENS, D_MODEL, requires_grad=True)
    parts = [torch.randn(D_MODEL, D_MODEL, requires_grad=True) for _ in range(3)]
    whole = torch.randn(3 * D_MODEL, D_MODEL, requires_grad=True)

    def three(x: Tensor, *weights: Tensor) -> Tensor:
        return torch.stack([F.linear(x, weight) for weight in weights])

    return forward_backward(F.linear, x, whole), forward_backward(three, x, *parts)


def dropout_masks() -> tuple[Work, Work]:
    """Our masks against torch's."""
    x = torch.randn(TOKENS, D_MODEL, requires_grad=True)
    return forward_backward(Dropout(RATE), x), forward_backward(lambda x: F.dropout(x, RATE), x)


def loss_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(TOKENS, VOCAB, requires_grad=True), torch.randint(1, VOCAB, (TOKENS,))


def loss() -> tuple[Work, Work]:
    """Our loss, with its counts, against cross_entropy alone."""
    logits, labels = loss_inputs()

    def ours(logits: Tensor) -> Tensor:
        return token_loss(logits, labels, label_smoothing=0.1, pad_id=0).sum

    def theirs(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels, label_smoothing=0.1, ignore_index=0, reduction="sum")

    return forward_backward(ours, logits), forward_backward(theirs, logits)


def chunked_loss() -> tuple[Work, Work]:
    """Projection and loss in pieces of 512 rows that are computed again in the backward pass, against all at once."""
    hidden = torch.randn(TOKENS, D_MODEL, requires_grad=True)
    table = torch.randn(VOCAB, D_MODEL, requires_grad=True)
    labels = torch.randint(1, VOCAB, (TOKENS,))

    def part(hidden: Tensor, labels: Tensor, table: Tensor) -> Tensor:
        return token_loss(F.linear(hidden, table), labels, label_smoothing=0.1, pad_id=0).sum

    def pieces(hidden: Tensor, table: Tensor) -> Tensor:
        rows = zip(torch.split(hidden, 512), torch.split(labels, 512), strict=True)
        checkpoint = torch.utils.checkpoint.checkpoint
        return torch.stack([checkpoint(part, h, one, table, use_reentrant=False) for h, one in rows]).sum()

    return forward_backward(pieces, hidden, table), forward_backward(lambda h, t: part(h, labels, t), hidden, table)


def make_model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        VOCAB,
        VOCAB,
        d_model=D_MODEL,
        num_heads=HEADS,
        d_ff=D_FF,
        num_encoder_layers=LAYERS,
        num_decoder_layers=LAYERS,
        dropout=RATE,
    )


def optimizer() -> tuple[Work, Work]:
    """AdamW and clipping over flat buffers against torch's default over one tensor a parameter."""
    flat = FlatParameters(make_model())
    ours = Optimizer(flat)
    plain = make_model()
    theirs = torch.optim.AdamW(plain.parameters(), lr=1e-4)
    for parameter in plain.parameters():
        parameter.grad = torch.randn_like(parameter)

    def step_of_ours() -> None:
        flat.grad.normal_()
        ours.step(1e-4, divisor=1.0)

    def step_of_theirs() -> None:
        for parameter in plain.parameters():
            assert parameter.grad is not None
            parameter.grad.normal_()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        theirs.step()

    return step_of_ours, step_of_theirs


def make_batch(num_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    ids = torch.randint(3, VOCAB, (num_rows, LENGTH))
    return ids, torch.ones_like(ids, dtype=torch.bool), ids


def model_step(model: Transformer, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    logits = model(*batch)
    token_loss(logits, batch[2], label_smoothing=0.1, pad_id=0).sum.backward()  # type: ignore[no-untyped-call]


def two_workers() -> tuple[Work, Work]:
    """Half of the batch on each of two threads of one core, against the whole on one thread that uses two cores."""
    whole, halves = make_batch(TOKENS // LENGTH), [make_batch(TOKENS // LENGTH // 2) for _ in range(2)]
    model, copies = make_model(), [make_model(), make_model()]
    buffers = [FlatParameters(copy) for copy in copies]
    todo: list[queue.SimpleQueue[int]] = [queue.SimpleQueue(), queue.SimpleQueue()]
    done: queue.SimpleQueue[int] = queue.SimpleQueue()

    def worker(number: int) -> None:
        torch.set_num_threads(1)  # of this thread
        while True:
            todo[number].get()
            model_step(copies[number], halves[number])
            done.put(number)

    threads = torch.get_num_threads()
    for number in range(2):
        threading.Thread(target=worker, args=(number,), daemon=True).start()

    def by_two() -> None:
        for one in todo:
            one.put(0)
        for _ in todo:
            done.get()
        buffers[0].grad.add_(buffers[1].grad)

    def by_one() -> None:
        torch.set_num_threads(threads)
        model_step(model, whole)

    return by_two, by_one


def compiled() -> tuple[Work, Work]:
    """torch.compile of the whole model at one fixed shape, against none; the time to compile is printed."""
    batch, model, plain = make_batch(TOKENS // LENGTH), make_model(), make_model()
    model.compile(dynamic=False)
    started = time.perf_counter()
    model_step(model, batch)
    print(f"  compiling one shape took {time.perf_counter() - started:.0f} s")
    return lambda: model_step(model, batch), lambda: model_step(plain, batch)


EXPERIMENTS: dict[str, tuple[str, Callable[[], tuple[Work, Work]]]] = {
    "attention: fused or eager, length 16": ("fused loses where scores are small: 0.8", lambda: attention(16)),
    "attention: fused or eager, length 64": ("even", lambda: attention(64)),
    "attention: fused or eager, length 256": ("fused wins by the memory it saves: 1.5", lambda: attention(256)),
    "query, key, value: one product or three": ("wider products run nearer the peak: 1.2", joined_projections),
    "dropout: four masks a draw, or torch's": ("a quarter of the draws: 4", dropout_masks),
    "loss: gradient in place, or cross_entropy": ("fewer passes over the logits: 1.5", loss),
    "loss: pieces of 512 rows, or all at once": ("saves memory, costs the projection twice: 0.8", chunked_loss),
    "optimizer: flat or by parameter": ("one kernel instead of hundreds: 2", optimizer),
    "workers: two of one thread, or one of two": ("the serial parts are a fifth: 1.2", two_workers),
    "compiled at one shape, or not": ("fused element-wise kernels: 1.2", compiled),
}


def turns(first: Work, second: Work, rounds: int) -> Iterator[tuple[float, float]]:
    """Seconds of each side, round by round, after one that does not count."""
    for number in range(rounds + 1):
        seconds = {}
        for work in (first, second) if number % 2 else (second, first):
            started = time.perf_counter()
            work()
            seconds[work] = time.perf_counter() - started
        if number:
            yield seconds[first], seconds[second]


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure and print each experiment on the CPU."""
    found: dict[str, Any] = {}
    for name, (prediction, make) in EXPERIMENTS.items():
        if args.only and args.only not in name:
            continue
        torch.manual_seed(0)
        try:
            pairs = list(turns(*make(), args.rounds))
        except RuntimeError as error:  # no compiler on this machine
            print(f"{name}: left out ({str(error).splitlines()[0]})")
            continue
        one, other = (statistics.median(side) for side in zip(*pairs, strict=True))
        gain = statistics.median(b / a for a, b in pairs)
        found[name] = {"seconds": [one, other], "times_as_fast": gain, "prediction": prediction}
        print(f"{name}: {one * 1e3:.1f} ms, {other * 1e3:.1f} ms; {gain:.2f} times as fast (expected: {prediction})")
    return found
