"""How good a model is on a set of pairs: teacher-forced loss, and metrics of real translations.

The translations come from the code that `translate` runs, and are compared with the whole, untouched
reference lines, so the numbers are those of translating the file and scoring the output. Every pair counts, one
with an empty line too; what a caller left out before is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from translator.batches import EncodedPairs, sequential_batches
from translator.decode import inference, max_positions
from translator.encode import encode_corpus
from translator.loss import perplexity, token_loss
from translator.markup import mask_pair
from translator.metrics import bleu_tokenizer, corpus_metrics, metric_notes, metric_settings
from translator.mixing import Part, mix
from translator.model import Transformer
from translator.tokenizer import Tokenizer
from translator.translate import DecodeOptions, Translation, Translator

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True)
class Evaluation:
    """The result for one set."""

    metrics: dict[str, float]
    """`loss`, `perplexity`, `accuracy`, `bleu`, `chrf`, `cer`, `wer`; one that is undefined for the set is
    absent.
    """
    settings: str
    """How the metrics of translations were computed, in one line."""
    translations: list[Translation]
    """One for each pair, in order."""
    notes: list[str]
    """What a reader of the numbers must know, one sentence each."""

    @property
    def hypotheses(self) -> list[str]:
        """The translations' text, one line for each pair, in order."""
        return [translation.text for translation in self.translations]

    @property
    def num_capped(self) -> int:
        """Translations that the length limit ended."""
        return sum(not translation.finished for translation in self.translations)


def teacher_forced(
    model: Transformer, encoded: EncodedPairs, *, label_smoothing: float = 0.0, batch_tokens: int = 4096
) -> dict[str, float]:
    """`loss` (nats per target token), `perplexity` and `accuracy` (0 to 1), each token after the right ones.

    The loss has the label smoothing that is asked for; the perplexity never has any. Empty for no pairs. The
    result does not depend on `batch_tokens` beyond rounding. Lines longer than the learned positions of the model
    count up to there.
    """
    sums = torch.zeros(4, dtype=torch.float64)
    device = next(model.parameters()).device
    most = max_positions(model)  # None cuts nothing
    with inference(model):
        for batch in sequential_batches(encoded, batch_tokens):
            there = batch.to(device)
            src_BS, src_mask_BS = there.src_BS[:, :most], there.src_mask_BS[:, :most]
            logits_BTV = model(src_BS, src_mask_BS, there.tgt_in_BT[:, :most])
            labels_BT = there.labels_BT[:, :most]
            loss = token_loss(logits_BTV, labels_BT, label_smoothing=label_smoothing, pad_id=Tokenizer.pad_id)
            sums += torch.stack([value.float() for value in loss]).cpu()
    loss_sum, nll_sum, num_tokens, num_correct = sums.tolist()
    if num_tokens == 0:
        return {}
    return {
        "loss": loss_sum / num_tokens,
        "perplexity": perplexity(nll_sum / num_tokens),
        "accuracy": num_correct / num_tokens,
    }


def _num_beyond(model: Transformer, encoded: EncodedPairs) -> int:
    """Pairs of which a side is longer than the learned positions of the model."""
    most = max_positions(model)
    if most is None:
        return 0
    src_len, tgt_len = encoded.lengths(0)
    return int(((src_len > most) | (tgt_len > most)).sum())


def _numbered(dataset: "Dataset") -> "Dataset":
    """The pairs with numbered placeholders; those that have them already stay as they are."""
    pairs = [mask_pair(*pair) for pair in zip(dataset["source"], dataset["target"], strict=True)]
    return type(dataset).from_dict({side: [pair[i] for pair in pairs] for i, side in enumerate(("source", "target"))})


def evaluate_set(
    translator: Translator,
    dataset: "Dataset",
    encoded: EncodedPairs | None = None,
    *,
    label_smoothing: float = 0.0,
    batch_tokens: int = 4096,
    options: DecodeOptions | None = None,
    num_left_out: int = 0,
    target_language: str | None = None,
    tag: str | None = None,
) -> Evaluation:
    """Loss and metrics of translations of the columns `source` and `target` of a data set.

    `encoded` holds its token ids, with what stands before each source, where the caller has them. `target_language`
    and `tag` are needed where the model has several. `options` replace settings of the translator's
    `decode`; `batch_tokens` is for the loss. `num_left_out` rows of the set held no pair and are not in `dataset`
    (`Corpus.num_left_out`): settings and notes say that the numbers are of a part.

    Raises:
        ConfigError: an option has an impossible value, or a choice is unknown or missing.
    """
    prefix = translator.prefix(target_language, tag)
    sources, references = list(dataset["source"]), list(dataset["target"])
    if encoded is None:
        texts = _numbered(dataset) if translator.number_markup else dataset
        encoded = mix([Part(encode_corpus(texts, translator.src_tokenizer, translator.tgt_tokenizer), prefix)])
    notes: list[str] = []
    if num_left_out:
        notes.append(
            f"Partial: {len(sources):,} of {len(sources) + num_left_out:,} lines are scored; {num_left_out:,} hold no "
            "text on a side."
        )
    if encoded.num_pairs != len(sources):
        notes.append(f"Loss, perplexity and accuracy are those of {encoded.num_pairs} of {len(sources)} pairs.")
    if beyond := _num_beyond(translator.model, encoded):
        notes.append(f"Loss, perplexity and accuracy count {beyond} long pairs up to model.max_positions only.")
    translations = translator.translate(
        sources, target_language=target_language, tag=tag, warn=notes.append, **(options or {})
    )
    metrics = teacher_forced(translator.model, encoded, label_smoothing=label_smoothing, batch_tokens=batch_tokens)
    tokenize = bleu_tokenizer(target_language or translator.target_language)
    hypotheses: Sequence[str] = [translation.text for translation in translations]
    metrics |= corpus_metrics(hypotheses, references, tokenize)
    notes += metric_notes(hypotheses, references, tokenize)
    settings = metric_settings(tokenize, len(sources), num_left_out)
    return Evaluation(metrics, settings, translations, notes)
