"""Contestants in training: our own step, and the same sizes in other libraries, on the same batches.

Peers are trained by the loop that their users write: forward, label-smoothed cross entropy, backward, clipping, fused
AdamW, under autocast where the precision is not float32. Ours is `Trainer.train_step`, wired by `build` as for a run.
"""

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from scripts.benchmarks.corpus import load_data
from scripts.benchmarks.flop import Work, padded_work, real_work
from scripts.benchmarks.machine import forget_memory
from scripts.benchmarks.peers import PEERS
from scripts.benchmarks.settings import Setting
from scripts.benchmarks.toolkits import TOOLKITS
from translator import feed
from translator.batches import Batch, BatchStream
from translator.budget import sizes_of
from translator.build import make_trainer
from translator.config import resolve
from translator.device import Device, apply, choose_device, wait_for
from translator.files import Folders
from translator.log import RunLog


def make(spec: dict[str, Any]) -> "OurTraining | PeerTraining":
    """The contestant `name` ("ours", or a key of `peers.PEERS` or `toolkits.TOOLKITS`) of a spec.

    Other keys: folder (of the configuration and the corpus), kind, precision, threads, setting, attention (of
    transformers), keep_freed_memory (whether the allocator is set as `translator` sets it), and pad_to (the least
    length of rows; 0: as long as the longest of the batch).
    """
    device = choose_device(spec["kind"], spec["precision"], spec["threads"])
    if spec["keep_freed_memory"]:
        apply(device)
    else:
        torch.set_num_threads(device.threads)
    if spec["name"] == "ours":
        return OurTraining(Path(spec["folder"]), device)
    setting = Setting(**spec["setting"])
    _, data = load_data(Path(spec["folder"]))
    torch.manual_seed(1)
    model, loss = (PEERS | TOOLKITS)[spec["name"]](
        setting, data.src_tokenizer.vocab_size, spec.get("attention", "sdpa")
    )
    tokenizer = data.src_tokenizer
    ids = {"pad_id": tokenizer.pad_id, "bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id}
    stream = BatchStream(data.train, budget=setting.batch_tokens, seed=1, **ids)
    forget_memory(spec["kind"])
    return PeerTraining(model, loss, stream, device, pad_to=spec["pad_to"])


def padded(batch: Batch, length: int) -> Batch:
    """The same pairs in rows of at least `length` cells."""

    def wider(tensor: Tensor) -> Tensor:
        return functional.pad(tensor, (0, max(0, length - tensor.shape[1])))

    return replace(
        batch,
        src_BS=wider(batch.src_BS),
        src_mask_BS=wider(batch.src_mask_BS),
        tgt_in_BT=wider(batch.tgt_in_BT),
        labels_BT=wider(batch.labels_BT),
    )


class OurTraining:
    """The trainer of a run, one `train_step` after the other."""

    def __init__(self, folder: Path, device: Device) -> None:
        config, data = load_data(folder)
        choices = {"kind": device.torch_device.type, "precision": device.precision, "threads": device.threads}
        choices["compile"] = config.device.compile is True
        config = resolve(config, **{f"device.{key}": value for key, value in choices.items()})
        sizes = (data.src_tokenizer.vocab_size, data.tgt_tokenizer.vocab_size)
        self._sizes = sizes_of(config, device, *sizes, validates=False)
        folders = Folders(folder, "bench")
        folders.weights.mkdir(parents=True, exist_ok=True)
        log = RunLog(folders.runs)
        with contextlib.redirect_stderr(io.StringIO()):
            self._memory_before = forget_memory(device.torch_device.type)
            self.trainer = make_trainer(config, folders, device, data, log, {})
            self.trainer.model.train()
            longest = self.trainer.stream.longest_batch()
            self.trainer.preflight(longest)
        self._predicted = self._predict(longest)

    def _predict(self, batch: Batch) -> int:
        """Bytes of model, optimizer and a step on this batch by the formula of `translator.memory`."""
        (rows, src_length), tgt_length = batch.src_BS.shape, batch.labels_BT.shape[1]
        return self._sizes.lasting_bytes() + self._sizes.batch_bytes(rows, src_length, tgt_length)

    def block(self, steps: int) -> dict[str, float]:
        """Seconds, the part of them spent waiting for batches, what was worked through, and the memory held before
        there was a model, and that formula's for it and the largest batch so far.
        """
        trainer, waiting, useful, computed = self.trainer, 0.0, Work(), Work()
        started = time.perf_counter()
        with contextlib.closing(feed.steps(trainer.stream, trainer.settings.accumulate, trainer.device)) as batches_of:
            for _ in range(steps):
                before = time.perf_counter()
                place = trainer.stream.state()
                batches = next(batches_of)
                waiting += time.perf_counter() - before
                trainer.state.step += 1
                trainer.train_step(batches, place)
                useful = sum(map(real_work, batches), useful)
                computed = sum(map(padded_work, batches), computed)
                self._predicted = max(self._predicted, *map(self._predict, batches))
        wait_for(trainer.device)
        seconds = time.perf_counter() - started
        memory = {"memory_before": self._memory_before, "memory_predicted": float(self._predicted)}
        return _measured(seconds, steps, useful, computed, waiting) | memory


class PeerTraining:
    """A plain loop around a model of another library."""

    def __init__(
        self, model: nn.Module, loss: Callable[[Batch], Tensor], stream: BatchStream, device: Device, pad_to: int = 0
    ) -> None:
        self._model, self._loss = model.to(device.torch_device).train(), loss
        self._stream, self._device, self._pad_to = stream, device, pad_to
        self._optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self._scaler = torch.amp.GradScaler(device.torch_device.type, enabled=device.precision == "float16")
        self._step(padded(stream.longest_batch(), pad_to))

    def _step(self, batch: Batch) -> None:
        device = self._device
        with torch.autocast(device.torch_device.type, device.dtype, enabled=device.dtype != torch.float32):
            loss = self._loss(batch.to(device.torch_device))
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._scaler.unscale_(self._optimizer)
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._optimizer.zero_grad()

    def block(self, steps: int) -> dict[str, float]:
        """As `OurTraining.block`."""
        waiting, useful, computed = 0.0, Work(), Work()
        started = time.perf_counter()
        for _ in range(steps):
            before = time.perf_counter()
            batch = padded(next(self._stream), self._pad_to)
            waiting += time.perf_counter() - before
            self._step(batch)
            useful, computed = useful + real_work(batch), computed + padded_work(batch)
        wait_for(self._device.torch_device)
        return _measured(time.perf_counter() - started, steps, useful, computed, waiting)


def _measured(seconds: float, steps: int, useful: Work, computed: Work, waiting: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "steps": steps,
        "tokens": useful.tgt,
        "waiting": waiting,
        "padding": 1 - (useful.src + useful.tgt) / (computed.src + computed.tgt),
        **{f"useful_{name}": value for name, value in vars(useful).items()},
        **{f"computed_{name}": value for name, value in vars(computed).items()},
    }
