"""The model card: a short README.md beside the weights."""

import platform
from collections.abc import Mapping
from importlib.metadata import version

from translator import __version__
from translator.config import Config
from translator.metrics import bleu_tokenizer, metric_settings


def model_card(
    config: Config,
    *,
    step: int,
    metrics: Mapping[str, float],
    num_pairs: int,
    num_parameters: int,
    vocab_sizes: tuple[int, int],
) -> str:
    """Markdown that tells a stranger what these weights are, how good they are and how to use them."""
    corpus, model = config.corpus, config.model
    computed = metric_settings(bleu_tokenizer(corpus.target_language))
    rows = "\n".join(f"| {tag} | {value:.4g} |" for tag, value in metrics.items())
    layers = f"{model.num_encoder_layers} + {model.num_decoder_layers}"
    vocabularies = f"{vocab_sizes[0]:,} source and {vocab_sizes[1]:,} target entries"
    if config.tokenizer.shared:
        vocabularies = f"{vocab_sizes[0]:,} entries for both languages"
    return f"""# {config.name}

Translates from {corpus.source_language} to {corpus.target_language}. Made with translator {__version__}.

    translator translate --model {config.name} "A sentence."

| | |
| --- | --- |
| corpus | {corpus.description or "not described"} |
| licence of the corpus | {corpus.licence or "not given"} |
| training pairs | {num_pairs:,} |
| tokenizer | {config.tokenizer.kind}, {vocabularies} |
| model | {layers} layers, width {model.d_model}, {num_parameters:,} parameters |
| step | {step:,} |
| versions | torch {version("torch")}, tokenizers {version("tokenizers")}, Python {platform.python_version()} |

Validation at that step ({computed}):

| metric | value |
| --- | --- |
{rows}
"""
