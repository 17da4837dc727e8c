"""The translation toolkits Eole, JoeyNMT and Sockeye as peers, where they are installed.

They are in no extra, since each pins old versions of other libraries; `pip install --no-deps` and what an import asks
for is enough for a measurement.
"""

import importlib.util
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scripts.benchmarks.peers import BOS, EOS, LABEL_SMOOTHING, PAD, Loss, smoothed
from scripts.benchmarks.settings import Setting
from translator.batches import Batch


def eole(setting: Setting, vocab_size: int, attention: str = "") -> tuple[nn.Module, Loss]:
    """Eole's Transformer with fixed positions; the projection, which it keeps apart, by the same table."""
    del attention
    from eole.config.models import TransformerModelConfig
    from eole.models.model import EncoderDecoderModel

    config = TransformerModelConfig(
        hidden_size=setting.d_model, layers=setting.num_layers, heads=setting.num_heads, transformer_ff=setting.d_ff,
        embeddings={"word_vec_size": setting.d_model, "position_encoding_type": "SinusoidalInterleaved"},
        share_embeddings=True, share_decoder_embeddings=True,
    )  # fmt: skip
    words = {str(number): number for number in range(vocab_size)}
    vocabs = {"src": words, "tgt": words, "specials": {"pad_token": str(PAD)}}
    running = SimpleNamespace(
        dropout=[setting.dropout], attention_dropout=[0.0], self_attn_backend="pytorch",
        param_init_method="xavier_uniform",
    )  # fmt: skip
    model = EncoderDecoderModel.build_blocks(config, vocabs, running)
    model.init_weights(running)
    table = model.src_emb.embeddings.weight
    nn.init.normal_(table, std=setting.d_model**-0.5)

    def loss(batch: Batch) -> Tensor:
        begin_B1 = torch.full_like(batch.labels_BT[:, :1], BOS)
        output = model(batch.src_BS, torch.cat([begin_B1, batch.labels_BT], dim=1), batch.src_mask_BS.sum(dim=1))
        return smoothed(F.linear(output.dec_out, table), batch.labels_BT)

    return model, loss


def joeynmt(setting: Setting, vocab_size: int, attention: str = "") -> tuple[nn.Module, Loss]:
    """JoeyNMT's Transformer, batch and loss."""
    del attention
    from joeynmt.batch import Batch as JoeyBatch
    from joeynmt.loss import XentLoss
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    special = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None, lang_tags=[],
        unk_id=0, pad_id=1, bos_id=2, eos_id=3,
    )  # fmt: skip
    vocabulary = Vocabulary([str(number) for number in range(vocab_size - 4)], special)
    stack = {
        "type": "transformer",
        "num_layers": setting.num_layers,
        "num_heads": setting.num_heads,
        "hidden_size": setting.d_model,
        "ff_size": setting.d_ff,
        "dropout": setting.dropout,
        "layer_norm": "pre",
        "embeddings": {"embedding_dim": setting.d_model, "scale": True, "dropout": setting.dropout},
    }
    config = {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack}
    model = build_model(config, vocabulary, vocabulary)
    # Its numbers of special tokens are fixed and others than ours; masks and loss are given ours.
    model._loss_function = XentLoss(pad_index=PAD, smoothing=LABEL_SMOOTHING)

    def loss(batch: Batch) -> Tensor:
        begin_B1 = torch.full_like(batch.labels_BT[:, :1], BOS)
        joey = JoeyBatch(
            src=batch.src_BS, src_length=batch.src_mask_BS.sum(dim=1), src_prompt_mask=None,
            trg=torch.cat([begin_B1, batch.labels_BT], dim=1), trg_prompt_mask=None, indices=batch.index_B,
            device=batch.src_BS.device, pad_index=PAD, eos_index=EOS,
        )  # fmt: skip
        joey.sort_by_src_length()
        mean: Tensor = model(return_type="loss", **vars(joey))[0] / joey.ntokens
        return mean

    return model, loss


def sockeye(setting: Setting, vocab_size: int, attention: str = "") -> tuple[nn.Module, Loss]:
    """Sockeye's Transformer, with its defaults for normalisation."""
    del attention
    from sockeye import constants, data_io, encoder
    from sockeye.model import ModelConfig, SockeyeModel, initialize_parameters
    from sockeye.transformer import TransformerConfig

    stack = TransformerConfig(
        model_size=setting.d_model, attention_heads=setting.num_heads, feed_forward_num_hidden=setting.d_ff,
        act_type="relu", num_layers=setting.num_layers, dropout_attention=0.0, dropout_act=0.0,
        dropout_prepost=setting.dropout, positional_embedding_type="fixed", preprocess_sequence="n",
        postprocess_sequence="dr", max_seq_len_source=1024, max_seq_len_target=1024,
        depth_key_value=setting.d_model,
    )  # fmt: skip
    embedding = encoder.EmbeddingConfig(vocab_size, setting.d_model, setting.dropout)
    data = data_io.DataConfig(None, 1024, 1024, 1, 1)
    model = SockeyeModel(
        ModelConfig(data, vocab_size, vocab_size, embedding, embedding, stack, stack)  # all embeddings tied
    )
    model.apply(initialize_parameters)

    def loss(batch: Batch) -> Tensor:
        length_B = batch.src_mask_BS.sum(dim=1).int()
        length_B2 = torch.stack([length_B, torch.zeros_like(length_B)], dim=1)  # the second: of a prepended part
        output = model(batch.src_BS.int()[..., None], length_B2, batch.tgt_in_BT.int()[..., None], None)
        return smoothed(output[constants.LOGITS_NAME], batch.labels_BT)

    return model, loss


TOOLKITS = {
    name: maker
    for name, maker in {"eole": eole, "joeynmt": joeynmt, "sockeye": sockeye}.items()
    if importlib.util.find_spec(name)
}
