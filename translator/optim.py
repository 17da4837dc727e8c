"""Learning-rate schedules, the optimizer over flat buffers, and weight averaging.

Schedules are pure functions of the step, so a resumed run needs no scheduler state. `step` counts optimizer updates
and begins with 1.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

Schedule = Literal["inverse_sqrt", "vaswani", "cosine", "linear", "constant"]
AverageKind = Literal["none", "ema", "last"]

# Elements: 64 bytes in 16 bits, 128 in float32. Buffers of torch begin on a 64-byte boundary, so each parameter in them
# does, too, in every process: kernels take the same path after a resume.
ALIGNMENT = 32


def learning_rate(
    step: int,
    *,
    schedule: Schedule,
    peak: float,
    warmup_steps: int,
    total_steps: int | None = None,
    minimum: float = 0.0,
    d_model: int = 512,
) -> float:
    """The learning rate of one update.

    All schedules rise linearly to `peak` over `warmup_steps`; then `inverse_sqrt` falls with 1/sqrt(step), `cosine`
    (Loshchilov and Hutter 2017, section 3, one cycle) and `linear` reach `minimum` at `total_steps`, `constant` stays.
    `vaswani` is the formula of Vaswani et al. 2017, section 5.3, times `peak` (1.0 in the paper). While `total_steps`
    is not known yet (a run limited by minutes measures its speed first) nothing falls.
    """
    if schedule == "vaswani":
        return peak / math.sqrt(d_model) * min(1.0 / math.sqrt(step), step / math.pow(max(warmup_steps, 1), 1.5))
    if step < warmup_steps:
        return peak * step / warmup_steps
    if schedule == "constant":
        return peak
    if schedule == "inverse_sqrt":
        return max(minimum, peak * math.sqrt(max(warmup_steps, 1) / step))
    if total_steps is None:
        return peak
    progress = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
    fall = 0.5 * (1.0 + math.cos(math.pi * progress)) if schedule == "cosine" else 1.0 - progress
    return minimum + (peak - minimum) * fall


class FlatParameters:
    """A model's trainable parameters as one buffer of float32 masters and one of float32 gradients.

    In float32 the parameters are views into `master`, and their gradients views into `grad`: nothing is copied. In
    bfloat16 or float16 the model keeps its own flat buffers; `collect` adds its gradients to `grad` after each
    backward, and `publish` rounds the masters into the model after an update. Matrices come first (they may be
    decayed), then gains, biases and other vectors.
    """

    def __init__(self, model: nn.Module) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        named.sort(key=lambda item: item[1].dim() < 2)  # stable: matrices first
        self._slices: dict[str, tuple[int, torch.Size]] = {}
        self.num_matrix_elements = 0
        size = 0
        for name, parameter in named:
            self._slices[name] = (size, parameter.shape)
            size += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
            if parameter.dim() >= 2:
                self.num_matrix_elements = size
        first = named[0][1]
        self.master = torch.zeros(size, dtype=torch.float32, device=first.device)
        self.grad = torch.zeros_like(self.master)
        full = first.dtype == torch.float32
        self._low = None if full else (self.master.to(first.dtype), self.grad.to(first.dtype))
        weights, grads = self._low or (self.master, self.grad)
        weight_views, grad_views = self.named(weights), self.named(grads)
        master_views = self.named(self.master)
        for name, parameter in named:
            master_views[name].copy_(parameter.detach())
            weight_views[name].copy_(parameter.detach())
            parameter.data = weight_views[name]
            parameter.grad = grad_views[name]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat buffer by parameter name, in the parameters' shapes."""
        return {name: flat[start : start + shape.numel()].view(shape) for name, (start, shape) in self._slices.items()}

    def fill(self, flat: Tensor, tensors: Mapping[str, Tensor]) -> None:
        """Copy tensors by parameter name into a flat buffer. Raises KeyError for an absent name."""
        for name, view in self.named(flat).items():
            view.copy_(tensors[name])

    def collect(self) -> None:
        """After a backward: add low-precision gradients to the float32 ones (nothing to do in float32)."""
        if self._low is not None:
            self.grad.add_(self._low[1])
            self._low[1].zero_()

    def clear_gradients(self) -> None:
        """Forget what was collected, and what a backward that broke off has left."""
        self.grad.zero_()
        if self._low is not None:
            self._low[1].zero_()

    def publish(self) -> None:
        """After an update: give the model the new masters, rounded to its precision (nothing to do in float32)."""
        if self._low is not None:
            self._low[0].copy_(self.master)


class Optimizer:
    """AdamW (Loshchilov and Hutter 2019) over flat buffers, with clipping and the finite check done on the device.

    `step` divides the gradients by `divisor`, clips their norm, and updates; where the norm is not finite, neither
    weights nor moments move. Nothing is read back to the host.
    """

    def __init__(
        self,
        parameters: FlatParameters,
        *,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.0,
        clip_norm: float | None = 1.0,
    ) -> None:
        self.parameters = parameters
        self.clip_norm = clip_norm
        split = parameters.num_matrix_elements
        groups = []
        for start, stop, decay in ((0, split, weight_decay), (split, None, 0.0)):
            part = parameters.master[start:stop]
            part.grad = parameters.grad[start:stop]
            groups.append({"params": [part], "weight_decay": decay})
        self._adam = torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=eps, fused=True)

    def step(self, learning_rate: float, *, divisor: float) -> tuple[Tensor, Tensor]:
        """One update from the gradients in `parameters.grad`, which are then zeroed.

        `divisor` undoes a loss scale. Returns the gradient norm before clipping and a flag (1.0 where the update was
        left out because the norm is not finite), both on the device.
        """
        norm = torch.linalg.vector_norm(self.parameters.grad) / divisor
        skipped = (~torch.isfinite(norm)).float()
        scale = torch.full_like(norm, divisor)
        if self.clip_norm is not None:
            scale = scale * (norm / self.clip_norm).clamp(min=1.0).nan_to_num(1.0, 1.0)
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        # The hooks that torch's own GradScaler uses: the fused kernel divides by one and obeys the other.
        self._adam.grad_scale = scale  # type: ignore[attr-defined]
        self._adam.found_inf = skipped  # type: ignore[attr-defined]
        self._adam.step()
        self.parameters.grad.zero_()
        self.parameters.publish()
        return norm, skipped

    def state(self) -> dict[str, Tensor]:
        """Both moments by parameter name (`exp_avg.NAME`, `exp_avg_sq.NAME`) and the number of updates taken."""
        tensors: dict[str, Tensor] = {}
        for moment in ("exp_avg", "exp_avg_sq"):
            flat = self._moment(moment)
            tensors |= {f"{moment}.{name}": view for name, view in self.parameters.named(flat).items()}
        tensors["updates"] = torch.stack([s["step"].reshape(()) for s in self._states()]).max().reshape(1)
        return tensors

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave. Raises KeyError for an absent name."""
        for moment in ("exp_avg", "exp_avg_sq"):
            flat = torch.zeros_like(self.parameters.master)
            self.parameters.fill(flat, {n: tensors[f"{moment}.{n}"] for n in self.parameters.named(flat)})
            position = 0
            for state in self._states():
                count = state[moment].numel()
                state[moment].copy_(flat[position : position + count])
                position += count
        for state in self._states():
            state["step"].fill_(float(tensors["updates"].item()))

    def _states(self) -> Iterable[dict[str, Tensor]]:
        for group in self._adam.param_groups:
            part = group["params"][0]
            if part not in self._adam.state:
                self._adam.state[part] = {
                    "step": torch.zeros((), dtype=torch.float32, device=part.device),
                    "exp_avg": torch.zeros_like(part),
                    "exp_avg_sq": torch.zeros_like(part),
                }
            yield self._adam.state[part]

    def _moment(self, name: str) -> Tensor:
        return torch.cat([state[name] for state in self._states()])


class WeightAverage:
    """The weights that are validated and kept: the newest, their exponential moving average, or a mean of snapshots.

    `ema` follows every update with decay min(`decay`, (1 + step) / (10 + step)), so that short runs are not held back
    by their first weights. `last` is the mean of the masters at the last `num_last` validations (checkpoint averaging,
    Vaswani et al. 2017, section 6.1).
    """

    def __init__(self, kind: AverageKind, master: Tensor, *, decay: float = 0.999, num_last: int = 5) -> None:
        self.kind = kind
        self.decay = decay
        self._master = master
        self._ema = master.clone() if kind == "ema" else None
        self._snapshots: deque[Tensor] = deque(maxlen=num_last)
        self.num_buffers = {"none": 0, "ema": 1, "last": num_last}[kind]  # at most, each as large as the weights

    def after_step(self, step: int) -> None:
        """Follow an update."""
        if self._ema is not None:
            self._ema.lerp_(self._master, 1.0 - min(self.decay, (1 + step) / (10 + step)))

    def before_validation(self) -> None:
        """Take a snapshot for a mean of the last ones."""
        if self.kind == "last":
            self._snapshots.append(self._master.clone())

    def weights(self) -> Tensor:
        """The averaged weights as a flat float32 buffer (not to be written to)."""
        if self._ema is not None:
            return self._ema
        if self._snapshots:
            return torch.stack(list(self._snapshots)).mean(dim=0)
        return self._master

    def state(self) -> dict[str, Tensor]:
        """The buffers that must survive a resume, by name."""
        if self._ema is not None:
            return {"ema": self._ema}
        return {f"snapshot.{i}": snapshot for i, snapshot in enumerate(self._snapshots)}

    def load_state(self, buffers: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave. A run that changes the kind of average on resume starts a new one."""
        if self._ema is not None and "ema" in buffers:
            self._ema.copy_(buffers["ema"])
        elif self.kind == "last":
            names = sorted((n for n in buffers if n.startswith("snapshot.")), key=lambda n: int(n.split(".")[1]))
            self._snapshots.extend(buffers[n].clone() for n in names)
        elif self._ema is not None:
            self._ema.copy_(self._master)
