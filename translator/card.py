"""The model card: a short README.md beside the weights."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

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
    origin: Mapping[str, Any] | None = None,
) -> str:
    """Markdown that tells a stranger what these weights are, how good they are and how to use them.

    `origin` names the weights that the run began with, and their step, where they are another run's.
    """
    corpus, model, choices = config.corpus, config.model, config.corpus.choices
    computed = metric_settings(bleu_tokenizer(choices.languages[0]))
    directions = "; ".join(f"from {way.source} to {way.target}" for way in corpus.all_directions)
    domains = f" Domains: {', '.join(choices.known_tags)}." if choices.known_tags else ""
    begun = "" if origin is None else f"\n| begun with | the weights of {origin['name']}, step {origin['step']:,} |"
    rows = "\n".join(f"| {tag} | {value:.4g} |" for tag, value in metrics.items())
    layers = f"{model.num_encoder_layers} + {model.num_decoder_layers}"
    vocabularies = f"{vocab_sizes[0]:,} source and {vocab_sizes[1]:,} target entries"
    if config.tokenizer.shared:
        vocabularies = (
            f"{vocab_sizes[0]:,} entries for {'both' if len(corpus.all_directions) == 1 else 'all'} languages"
        )
    return f"""# {config.name}

Translates {directions}.{domains} Made with translator {__version__}.

    translator translate --model {config.name}{choices.example} "A sentence."

| | |
| --- | --- |
| corpus | {corpus.description or "not described"} |
| licence of the corpus | {corpus.licence or "not given"} |
| training pairs | {num_pairs:,} |{begun}
| tokenizer | {config.tokenizer.kind}, {vocabularies} |
| model | {layers} layers, width {model.d_model}, {num_parameters:,} parameters |
| step | {step:,} |
| versions | torch {version("torch")}, tokenizers {version("tokenizers")}, Python {platform.python_version()} |

Validation at that step ({computed}):

| metric | value |
| --- | --- |
{rows}
"""
