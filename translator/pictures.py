"""Pictures for TensorBoard."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def attention_picture(
    weights_TS: Tensor, source_tokens: Sequence[str], target_tokens: Sequence[str], title: str = ""
) -> "Figure":
    """Cross-attention of one sentence as a heat map: target tokens down, source tokens across, 0 white to 1 dark.

    Its size follows the sentence, never the model. Raises ValueError when tokens and weights do not match.
    """
    if weights_TS.shape != (len(target_tokens), len(source_tokens)):
        raise ValueError(f"weights {tuple(weights_TS.shape)} for {len(target_tokens)} x {len(source_tokens)} tokens")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.5 + 0.3 * len(source_tokens), 1.2 + 0.25 * len(target_tokens)), dpi=80)
    axes = figure.add_subplot()
    axes.imshow(weights_TS.float().cpu().numpy(), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_xticks(range(len(source_tokens)), _plain(source_tokens), rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(target_tokens)), _plain(target_tokens), fontsize=8)
    axes.set_title(title, fontsize=9)
    figure.tight_layout()
    return figure


def _plain(tokens: Sequence[str]) -> list[str]:
    return [token.replace("$", r"\$") for token in tokens]  # matplotlib takes $ for mathematics
