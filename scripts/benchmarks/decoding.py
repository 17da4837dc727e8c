"""Contestants in decoding: our search and `generate` of transformers, each made to write the same number of tokens."""

import time
from typing import Any

import torch
from torch import Tensor

from scripts.benchmarks.corpus import draw_lengths
from scripts.benchmarks.peers import BOS, EOS, PAD, marian
from scripts.benchmarks.settings import Setting
from translator.config import DecodeConfig
from translator.decode import search_ids
from translator.device import apply, choose_device, wait_for
from translator.model import Transformer
from translator.tokenizer import Tokenizer

IMPOSSIBLE = 1e4  # taken from the logit of the end of the sentence: no model ends of itself


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


class OurDecoding:
    """`decode.search_ids`, as `translate` and `evaluate` use it, on random weights."""

    def __init__(self, setting: Setting, device: torch.device) -> None:
        torch.manual_seed(1)
        self._vocab_size, self._device = setting.vocab_size, device
        self.model = Transformer(setting.vocab_size, setting.vocab_size, **setting.model).to(device).eval()  # type: ignore[arg-type]
        project = self.model.project

        def endless(hidden: Tensor) -> Tensor:
            logits = project(hidden)
            logits[..., Tokenizer.eos_id] -= IMPOSSIBLE
            return logits

        self.model.project = endless  # type: ignore[method-assign]

    def block(self, sentences: int, beam: int, length: int) -> dict[str, float]:
        """Translate one batch; every hypothesis has `length` tokens."""
        inputs = sources(sentences, self._vocab_size)
        settings = DecodeConfig(
            beam_size=beam, max_length_ratio=1e-9, max_length_extra=length, batch_tokens=10**9
        )  # fmt: skip
        started = time.perf_counter()
        found = search_ids(self.model, inputs, settings)
        wait_for(self._device)
        seconds = time.perf_counter() - started
        assert all(len(best[0].ids) == length for best in found)
        return {"seconds": seconds, "tokens": sentences * length, "sentences": sentences}


class TheirDecoding:
    """`MarianMTModel.generate` with its cache."""

    def __init__(self, setting: Setting, device: torch.device) -> None:
        torch.manual_seed(1)
        self._vocab_size, self._device = setting.vocab_size, device
        self._model = marian(setting, setting.vocab_size).to(device).eval()

    def block(self, sentences: int, beam: int, length: int) -> dict[str, float]:
        """As `OurDecoding.block`: as many forward passes, the last for the end of the sentence."""
        inputs = [[*ids, EOS] for ids in sources(sentences, self._vocab_size)]
        src_BS = torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, inputs)), True, PAD).to(self._device)
        started = time.perf_counter()
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=src_BS, attention_mask=(src_BS != PAD).long(), num_beams=beam, do_sample=False,
                min_new_tokens=length + 1, max_new_tokens=length + 1,
            )  # fmt: skip
        wait_for(self._device)
        seconds = time.perf_counter() - started
        assert out.shape == (sentences, length + 2), out.shape
        return {"seconds": seconds, "tokens": sentences * length, "sentences": sentences}


def without_cache(model: Transformer, src_BS: Tensor, src_mask_BS: Tensor, length: int) -> Tensor:
    """The plainest greedy search: all tokens go through the decoder again for each new one."""
    tokens_BT = torch.full((src_BS.shape[0], 1), BOS, device=src_BS.device)
    with torch.inference_mode():
        memory_BSD = model.encode(src_BS, src_mask_BS)
        for _ in range(length):
            logits_BV = model.project(model.decode(tokens_BT, memory_BSD, src_mask_BS)[:, -1])
            tokens_BT = torch.cat([tokens_BT, logits_BV.argmax(dim=1, keepdim=True)], dim=1)
    return tokens_BT
