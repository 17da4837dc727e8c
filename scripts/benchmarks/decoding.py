"""Contestants in decoding: our search and `generate` of transformers, both made to write as many tokens of each row."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from scripts.benchmarks.corpus import draw_lengths
from scripts.benchmarks.flop import Work
from scripts.benchmarks.peers import BOS, EOS, PAD, marian
from scripts.benchmarks.settings import Setting
from translator.config import DecodeConfig
from translator.decode import search_ids
from translator.device import apply, choose_device, wait_for
from translator.model import Transformer
from translator.tokenizer import Tokenizer

IMPOSSIBLE = 1e4  # taken from the logit of the end of the sentence: no model ends of itself
AS_SOURCE = 0  # in place of a length: each translation has as many tokens as its source


def make(spec: dict[str, Any]) -> "OurDecoding | TheirDecoding":
    """The contestant `name` ("ours", "transformers") of a spec.

    Other keys: kind, threads, setting, keep_freed_memory.
    """
    device = choose_device(spec["kind"], "float32", spec["threads"])
    if spec["keep_freed_memory"]:
        apply(device)
    else:
        torch.set_num_threads(device.threads)
    contestant = OurDecoding if spec["name"] == "ours" else TheirDecoding
    return contestant(Setting(**spec["setting"]), device.torch_device)


def sources(num_sentences: int, vocab_size: int) -> list[list[int]]:
    """Random sentences with the lengths of Multi30k, without special tokens; always the same."""
    random = torch.Generator().manual_seed(1)
    lengths = draw_lengths(num_sentences)[:, 0].tolist()
    return [torch.randint(4, vocab_size, (length,), generator=random).tolist() for length in lengths]


def lengths_of(inputs: Sequence[Sequence[int]], length: int) -> list[int]:
    """Tokens of each translation, the end of the sentence not counted."""
    return [len(ids) if length == AS_SOURCE else length for ids in inputs]


def search_work(inputs: Sequence[Sequence[int]], lengths: Sequence[int], beam: int) -> Work:
    """What a search with a cache cannot do without: each source once, each token of each hypothesis once."""
    work = Work()
    for ids, length in zip(inputs, lengths, strict=True):
        src, steps = len(ids) + 1, length + 1
        seen = steps * (steps + 1) // 2
        work += Work(src, beam * steps, src * src, beam * seen, beam * steps * src)
    return work


class OurDecoding:
    """`decode.search_ids`, as `translate` and `evaluate` use it, on random weights."""

    def __init__(self, setting: Setting, device: torch.device) -> None:
        torch.manual_seed(1)
        self._setting, self._device = setting, device
        self.model = Transformer(setting.vocab_size, setting.vocab_size, **setting.model).to(device).eval()  # type: ignore[arg-type]
        project = self.model.project

        def endless(hidden: Tensor) -> Tensor:
            logits = project(hidden)
            logits[..., Tokenizer.eos_id] -= IMPOSSIBLE
            return logits

        self.model.project = endless  # type: ignore[method-assign]

    def block(self, sentences: int, beam: int, length: int) -> dict[str, float]:
        """Translate one batch; every hypothesis of a row has as many tokens as `lengths_of` says."""
        inputs = sources(sentences, self._setting.vocab_size)
        lengths = lengths_of(inputs, length)
        settings = DecodeConfig(
            beam_size=beam, max_length_ratio=1.0 if length == AS_SOURCE else 1e-9, max_length_extra=length,
            batch_tokens=10**9,
        )  # fmt: skip
        started = time.perf_counter()
        found = search_ids(self.model, inputs, settings)
        wait_for(self._device)
        seconds = time.perf_counter() - started
        assert [len(best[0].ids) for best in found] == lengths
        return _measured(seconds, self._setting, inputs, lengths, beam)


class TheirDecoding:
    """`MarianMTModel.generate` with its cache."""

    def __init__(self, setting: Setting, device: torch.device) -> None:
        torch.manual_seed(1)
        self._setting, self._device = setting, device
        self._model = marian(setting, setting.vocab_size).to(device).eval()

    def block(self, sentences: int, beam: int, length: int) -> dict[str, float]:
        """As `OurDecoding.block`: as many forward passes, the last for the end of the sentence."""
        inputs = sources(sentences, self._setting.vocab_size)
        lengths = lengths_of(inputs, length)
        rows = [torch.tensor([*ids, EOS]) for ids in inputs]
        src_BS = torch.nn.utils.rnn.pad_sequence(rows, True, PAD).to(self._device)
        end_R = torch.tensor(lengths, device=self._device).repeat_interleave(beam) + 1  # of `out`, which has BOS first

        def end_in_time(ids_RT: Tensor, scores_RV: Tensor) -> Tensor:
            """Let each row end at its length, and not before."""
            ends_R = end_R <= ids_RT.shape[1]
            of_end_R = scores_RV[:, EOS].clone()
            scores_RV[ends_R] = float("-inf")
            scores_RV[:, EOS] = of_end_R.masked_fill(~ends_R, float("-inf"))
            return scores_RV

        started = time.perf_counter()
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=src_BS, attention_mask=(src_BS != PAD).long(), num_beams=beam, do_sample=False,
                logits_processor=[end_in_time], max_new_tokens=max(lengths) + 1,
            )  # fmt: skip
        wait_for(self._device)
        seconds = time.perf_counter() - started
        written = (out == EOS).int().argmax(dim=1) - 1
        assert written.tolist() == lengths, written
        return _measured(seconds, self._setting, inputs, lengths, beam)


def _measured(
    seconds: float, setting: Setting, inputs: Sequence[Sequence[int]], lengths: Sequence[int], beam: int
) -> dict[str, float]:
    return {
        "seconds": seconds,
        "tokens": sum(lengths),
        "sentences": len(lengths),
        "flop": search_work(inputs, lengths, beam).forward(setting),
    }


def without_cache(model: Transformer, src_BS: Tensor, src_mask_BS: Tensor, length: int) -> Tensor:
    """The plainest greedy search: all tokens go through the decoder again for each new one."""
    tokens_BT = torch.full((src_BS.shape[0], 1), BOS, device=src_BS.device)
    with torch.inference_mode():
        memory_BSD = model.encode(src_BS, src_mask_BS)
        for _ in range(length):
            logits_BV = model.project(model.decode(tokens_BT, memory_BSD, src_mask_BS)[:, -1])
            tokens_BT = torch.cat([tokens_BT, logits_BV.argmax(dim=1, keepdim=True)], dim=1)
    return tokens_BT
