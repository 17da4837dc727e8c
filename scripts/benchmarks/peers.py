"""Models of the same sizes in other libraries. Each maker returns a model and what computes its loss of a batch."""

import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scripts.benchmarks.settings import Setting
from translator.batches import Batch
from translator.errors import TranslatorError
from translator.model import sinusoids
from translator.tokenizer import Tokenizer

LABEL_SMOOTHING = 0.1
Loss = Callable[[Batch], Tensor]
PAD, BOS, EOS = Tokenizer.pad_id, Tokenizer.bos_id, Tokenizer.eos_id


def need(library: str) -> None:
    """Raise TranslatorError where an optional library is not installed."""
    if importlib.util.find_spec(library) is None:
        raise TranslatorError(
            f'{library} is not installed; comparisons need the extra "bench": .venv/bin/pip install -e ".[bench]".'
        )


def smoothed(logits_BTV: Tensor, labels_BT: Tensor) -> Tensor:
    """Mean label-smoothed cross entropy of the real tokens, by torch's own function."""
    return F.cross_entropy(
        logits_BTV.flatten(0, 1), labels_BT.flatten(), ignore_index=PAD, label_smoothing=LABEL_SMOOTHING
    )


class PlainTransformer(nn.Module):
    """`torch.nn.Transformer` with one embedding for all, as its tutorial uses it."""

    def __init__(self, setting: Setting, vocab_size: int) -> None:
        super().__init__()
        d_model = setting.d_model
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        self.dropout = nn.Dropout(setting.dropout)
        with warnings.catch_warnings():  # that its fast path of inference does not take norms that come first
            warnings.simplefilter("ignore")
            self.layers = nn.Transformer(
                d_model, setting.num_heads, setting.num_layers, setting.num_layers, setting.d_ff, setting.dropout,
                batch_first=True, norm_first=True,
            )  # fmt: skip
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.register_buffer("positions", sinusoids(0, 1024, d_model, self.embedding.weight.detach()))

    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor) -> Tensor:
        """Logits (B, T, V)."""
        length = tgt_BT.shape[1]
        causal_TT = torch.ones(length, length, dtype=torch.bool, device=tgt_BT.device).triu(1)
        hidden_BTD = self.layers(
            self._embed(src_BS), self._embed(tgt_BT), tgt_mask=causal_TT, tgt_is_causal=True,
            src_key_padding_mask=~src_mask_BS, memory_key_padding_mask=~src_mask_BS,
        )  # fmt: skip
        return F.linear(hidden_BTD, self.embedding.weight)

    def _embed(self, ids_BT: Tensor) -> Tensor:
        positions: Any = self.positions
        x_BTD: Tensor = self.embedding(ids_BT) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = self.dropout(x_BTD + positions[: ids_BT.shape[1]])
        return embedded


def plain(setting: Setting, vocab_size: int, attention: str = "sdpa") -> tuple[nn.Module, Loss]:
    """torch.nn.Transformer, normalised before the sub-layers like ours."""
    del attention
    model = PlainTransformer(setting, vocab_size)
    return model, lambda batch: smoothed(model(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT), batch.labels_BT)


def marian(setting: Setting, vocab_size: int, attention: str = "sdpa") -> Any:
    """`MarianMTModel` of Hugging Face transformers, with `attention` "sdpa" or "eager"."""
    need("transformers")
    import transformers

    transformers.utils.logging.set_verbosity_error()
    config = transformers.MarianConfig(
        vocab_size=vocab_size, d_model=setting.d_model, max_position_embeddings=1024,
        encoder_layers=setting.num_layers, decoder_layers=setting.num_layers,
        encoder_attention_heads=setting.num_heads, decoder_attention_heads=setting.num_heads,
        encoder_ffn_dim=setting.d_ff, decoder_ffn_dim=setting.d_ff, dropout=setting.dropout,
        activation_function="relu", scale_embedding=True, share_encoder_decoder_embeddings=True,
        pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None,
        attn_implementation=attention,
    )  # fmt: skip
    return transformers.MarianMTModel(config)


def hugging_face(setting: Setting, vocab_size: int, attention: str = "sdpa") -> tuple[nn.Module, Loss]:
    """transformers in a plain loop; the loss is outside the model, so that labels are smoothed as the Trainer does."""
    model = marian(setting, vocab_size, attention)

    def loss(batch: Batch) -> Tensor:
        output = model(
            input_ids=batch.src_BS, attention_mask=batch.src_mask_BS.long(), decoder_input_ids=batch.tgt_in_BT,
            use_cache=False,
        )  # fmt: skip
        return smoothed(output.logits, batch.labels_BT)

    return model, loss


PEERS = {"torch.nn.Transformer": plain, "transformers": hugging_face}
ATTENTIONS = {"transformers": ["sdpa", "eager"]}
