"""Validation inside a training run: every named set is scored and translated as a user would, and shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from translator.batches import EncodedPairs
from translator.evaluate import Evaluation, evaluate_set
from translator.log import RunLog
from translator.pictures import attention_picture, image_of
from translator.translate import Translator

if TYPE_CHECKING:
    from datasets import Dataset

NUM_PICTURES = 2
MAX_PICTURE_TOKENS = 60  # a picture of a longer sentence cannot be read


@dataclass(frozen=True)
class ValidationSet:
    """One named set: its text, its token ids, how many rows of the file held no pair, and what is asked for."""

    dataset: "Dataset"
    encoded: EncodedPairs
    num_left_out: int = 0
    target_language: str | None = None
    tag: str | None = None


class Validator:
    """Called with weights and a step; returns metrics by TensorBoard tag and logs hypotheses, samples, a picture.

    The first set's tags are `valid/METRIC`, those of others `valid/SET/METRIC`. The weights are copied into a model of
    its own in float32, so that the scores are those of `translate` and `evaluate` with the published weights.
    """

    def __init__(
        self,
        translator: Translator,
        sets: Mapping[str, ValidationSet],
        log: RunLog,
        *,
        label_smoothing: float,
        batch_tokens: int,
        num_samples: int,
    ) -> None:
        self.translator, self.sets, self.log = translator, sets, log
        self.label_smoothing, self.batch_tokens = label_smoothing, batch_tokens
        self.num_samples = num_samples
        self._said: set[str] = set()

    def __call__(self, weights: Mapping[str, Tensor], step: int) -> dict[str, float]:
        model = self.translator.model
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        metrics: dict[str, float] = {}
        for number, (name, part) in enumerate(self.sets.items()):
            result = evaluate_set(
                self.translator,
                part.dataset,
                part.encoded,
                num_left_out=part.num_left_out,
                label_smoothing=self.label_smoothing,
                batch_tokens=self.batch_tokens,
                target_language=part.target_language,
                tag=part.tag,
            )
            group = "valid" if number == 0 else f"valid/{name}"
            metrics |= {f"{group}/{metric}": value for metric, value in result.metrics.items()}
            self._show(name, group, step, part, result, with_picture=number == 0)
        return metrics

    def _show(
        self, name: str, group: str, step: int, part: ValidationSet, result: Evaluation, *, with_picture: bool
    ) -> None:
        text = "".join(f"{line}\n" for line in result.hypotheses)
        self.log.save_text(f"hypotheses/{name}.step-{step:08d}.txt", text)
        notes = result.notes if step else ()  # what an untrained model writes deserves none, and each is said once
        for note in (f"metrics are computed so: {result.settings}", *notes):
            kind = name + re.sub(r"\d+", "", note.partition(":")[0])  # the same at every validation but for numbers
            if kind not in self._said:
                self._said.add(kind)
                self.log.line(f"{name}: {note}")
                self.log.text(step, f"{group}/notes", note)
        shown = part.dataset[: self.num_samples]
        samples = list(zip(shown["source"], shown["target"], result.hypotheses, strict=False))
        if samples:
            rows = [("source", "reference", "hypothesis"), ("---", "---", "---"), *samples]
            table = "\n".join(f"| {_cell(s)} | {_cell(t)} | {_cell(h)} |" for s, t, h in rows)
            self.log.text(step, f"{group}/samples", table)
        if with_picture and samples:
            self._draw(step, part)

    def _draw(self, step: int, part: ValidationSet) -> None:
        """Cross-attention of the last layer, heads averaged, from the first short pairs to their references."""
        src_tokenizer, tgt_tokenizer = self.translator.src_tokenizer, self.translator.tgt_tokenizer
        device = next(self.translator.model.parameters()).device
        prefix = self.translator.prefix(part.target_language, part.tag)
        number = 0
        for row in part.dataset.select(range(min(20, len(part.dataset)))):
            source = [*prefix, *src_tokenizer.encode(row["source"])]
            target = tgt_tokenizer.encode(row["target"])
            if not (1 < len(source) <= MAX_PICTURE_TOKENS and 1 < len(target) <= MAX_PICTURE_TOKENS):
                continue
            number += 1
            src_BS = torch.tensor([[*source, src_tokenizer.eos_id]], device=device)
            tgt_BT = torch.tensor([[tgt_tokenizer.bos_id, *target]], device=device)
            with torch.no_grad():
                weights = self.translator.model.attention(
                    src_BS, torch.ones_like(src_BS, dtype=torch.bool), tgt_BT, average_heads=True
                )
            figure = attention_picture(
                weights.cross[-1][0],
                [*src_tokenizer.tokens(source), "<eos>"],
                [*tgt_tokenizer.tokens(target), "<eos>"],
                title=f"cross-attention, last layer, mean of heads, step {step}",
            )
            self.log.picture(step, f"valid/attention/{number}", image_of(figure))
            if number == NUM_PICTURES:
                return


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
