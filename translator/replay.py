"""Do a step again that was left out, and find where the first number that is not finite comes from."""

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translator import bad_steps, checkpoint
from translator.bad_steps import BadStep
from translator.config import load_stored_config
from translator.device import DTYPES, Device, apply, choose_device
from translator.errors import CheckpointError, ConfigError, TranslatorError
from translator.files import check_inside
from translator.optim import FlatParameters
from translator.step import Step
from translator.tokenizer import Tokenizer
from translator.training_state import Sums
from translator.weights import WEIGHTS, check_tensors, load_tokenizers, make_model

MOST_LISTED = 5  # modules, parameters


def replay(
    run: Path, weights: Path, step: int | None, *, given: Path | None, device_kind: str, precision: str | None
) -> Iterator[str]:
    """Do a bad step of the run in `run` and `weights` (the last one where `step` is None) again; yields what is found.

    The weights are those in the folder `given`, by default the nearest checkpoint before the step. `precision` is by
    default that of the step.

    Raises:
        TranslatorError: there is no such step, or its file, the weights or the tokenizers cannot be used.
    """
    bad = bad_steps.read(_file_of(run, step))
    precision = bad.precision if precision is None else precision
    if precision not in DTYPES:
        raise ConfigError(f"--precision: {precision} is not allowed; allowed: {', '.join(DTYPES)}.")
    config = load_stored_config(weights)
    device = choose_device(device_kind, precision, config.device.threads)
    apply(device, deterministic=config.device.deterministic)
    src_tokenizer, tgt_tokenizer = load_tokenizers(weights)
    if (bad.pad_id, bad.bos_id, bad.eos_id) != (src_tokenizer.pad_id, src_tokenizer.bos_id, src_tokenizer.eos_id):
        raise CheckpointError(f"Step {bad.step} of {run.name} was done with other tokenizers than those in {weights}.")
    num_pairs = sum(map(len, bad.parts))
    yield (
        f"Step {bad.step:,} of {run.name}: {num_pairs} pairs in {len(bad.parts)} parts; learning rate "
        f"{bad.learning_rate:.3g}, loss scale {bad.loss_scale:g}, precision {bad.precision}."
    )
    folder, where = _weights_for(bad, weights, given)
    file = folder / WEIGHTS
    check_inside(file, folder, CheckpointError)
    tensors = checkpoint.load_tensors(file)
    model = make_model(file, config, src_tokenizer, tgt_tokenizer)
    check_tensors(file, tensors, model.state_dict())
    model.load_state_dict(tensors)
    yield f"Weights: {folder} ({where}), on {device.torch_device.type} in {device.precision}."
    wrong = [name for name, tensor in model.named_parameters() if not checkpoint.all_finite(tensor)]
    if wrong:
        yield f"Weights that are not finite: {_listed(wrong)}."
    if ids := list(_ids_out_of_range(bad, src_tokenizer, tgt_tokenizer)):
        yield from ids
        yield "The step cannot be done with ids that no embedding has."
    else:
        yield "Token ids: all are in the vocabularies."
        yield from _watch(bad, model, device)
    yield "Pairs:"
    for pair in (pair for part in bad.parts for pair in part):
        yield f"  {pair.place}"
        yield f"    source: {_text(src_tokenizer, pair.source)}"
        yield f"    target: {_text(tgt_tokenizer, pair.target)}"


def _file_of(run: Path, step: int | None) -> Path:
    files = bad_steps.files(run)
    if not files:
        raise TranslatorError(f"Run {run.name} has no bad steps to replay (nothing in {run / bad_steps.FOLDER}).")
    by_step = {int(file.stem[5:]): file for file in files}
    if step is None:
        return files[-1]
    if step not in by_step:
        known = ", ".join(map(str, by_step))
        raise TranslatorError(f"Run {run.name} kept no step {step}; the bad steps that it kept: {known}.")
    return by_step[step]


def _weights_for(bad: BadStep, weights: Path, given: Path | None) -> tuple[Path, str]:
    """The folder whose model.safetensors is used, and how near it is to the step."""
    if given is not None:
        return given, "as asked"
    steps = {int(folder.name[5:]): folder for folder in checkpoint.list_checkpoints(weights / "checkpoints")}
    before = [step for step in steps if step < bad.step]
    if before:
        return steps[max(before)], f"the weights {bad.step - max(before)} steps before the end of the step"
    if steps:
        return steps[min(steps)], f"{min(steps) - bad.step} steps after it; there is none from before"
    return weights, "the published ones: there is no checkpoint"


def _ids_out_of_range(bad: BadStep, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer) -> Iterator[str]:
    for pair in (pair for part in bad.parts for pair in part):
        for side, ids, size in (
            ("source", pair.source, src_tokenizer.vocab_size),
            ("target", pair.target, tgt_tokenizer.vocab_size),
        ):
            if wrong := [number for number in ids if number >= size]:
                yield f"Token ids beyond the {side} vocabulary of {size:,}: {wrong[:MOST_LISTED]} in {pair.place}."


class _Watcher:
    """Looks at the output of every module, and at its gradient, in the order in which they are made."""

    def __init__(self, model: nn.Module) -> None:
        self.first: dict[str, str] = {}  # output or gradient -> the first that is not finite
        self.largest: dict[str, dict[str, float]] = {"output": {}, "gradient": {}}
        for name, module in model.named_modules():
            module.register_forward_hook(self._hook(name or "logits"))

    def _hook(self, name: str) -> Any:
        def look(module: nn.Module, args: Any, output: Any) -> None:
            del module, args
            if isinstance(output, Tensor):
                self._note("output", name, output)
                if output.requires_grad:
                    note = partial(self._note, "gradient", name)
                    output.register_hook(note)  # type: ignore[no-untyped-call]

        return look

    def _note(self, kind: str, name: str, tensor: Tensor) -> None:
        values = tensor.detach()
        if not checkpoint.all_finite(values):
            self.first.setdefault(kind, name)
        largest = values.abs().nan_to_num(math.inf).max().item() if values.numel() else 0.0
        self.largest[kind][name] = max(largest, self.largest[kind].get(name, 0.0))


def _watch(bad: BadStep, model: nn.Module, device: Device) -> Iterator[str]:
    """Forward and backward of all parts; where they stop being finite, and the largest numbers on the way."""
    model = model.to(device.torch_device, device.dtype).train()
    parameters = FlatParameters(model)
    watcher = _Watcher(model)
    step = Step(
        model,
        parameters,
        seed=0,
        label_smoothing=bad.label_smoothing,
        pad_id=bad.pad_id,
        say=lambda text: None,
        locate=str,
    )
    sums, parts = Sums.zeros(device.torch_device), bad.batches()
    num_tokens = sum(part.batch.num_tgt_tokens for part in parts)
    try:
        for part in parts:
            step.backward(part, sums, bad.loss_scale / num_tokens)
    except ValueError as error:  # more tokens than the model has positions
        raise CheckpointError(f"Step {bad.step} cannot be done with this model: {error}.") from error
    loss = sums.values[0].item() / num_tokens
    gradients = parameters.named(parameters.grad)
    wrong = [name for name, gradient in gradients.items() if not checkpoint.all_finite(gradient)]
    norm = torch.linalg.vector_norm(parameters.grad).item() / bad.loss_scale
    yield f"Loss {loss:.5g}, gradient norm {norm:.5g}."
    for kind in ("output", "gradient"):
        if kind in watcher.first:
            yield f"The first {kind} that is not finite: {watcher.first[kind]}."
    if wrong:
        yield f"Parameters whose gradient is not finite: {_listed(wrong)}."
    if not watcher.first and not wrong and math.isfinite(norm):
        yield "Every output and every gradient is finite: with these weights the step is a good one."
    for kind, largest in watcher.largest.items():
        top = sorted(largest.items(), key=lambda item: -item[1])[:MOST_LISTED]
        yield f"Largest {kind}s: {', '.join(f'{name} {value:.3g}' for name, value in top)}."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more


def _text(tokenizer: Tokenizer, ids: list[int]) -> str:
    return tokenizer.decode([number for number in ids if number < tokenizer.vocab_size])
