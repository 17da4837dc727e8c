"""Pictures for TensorBoard."""

import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

LATIN_FONT = "DejaVu Sans"  # comes with matplotlib


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
    text: dict[str, Any] = {"fontsize": 8, "fontfamily": fonts_for("".join((*source_tokens, *target_tokens)))}
    axes.set_xticks(range(len(source_tokens)), _plain(source_tokens), rotation=60, ha="right", **text)
    axes.set_yticks(range(len(target_tokens)), _plain(target_tokens), **text)
    axes.set_title(title, fontsize=9)
    return figure


def image_of(figure: "Figure") -> "NDArray[np.uint8]":
    """The picture as an array (height, width, 3), 0 to 255. Characters that no installed font has are boxes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.tight_layout()
        canvas.draw()  # type: ignore[no-untyped-call]
    image: NDArray[np.uint8] = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    return image[:, :, :3].copy()


def fonts_for(text: str) -> list[str]:
    """Font families that together show `text`, as far as the fonts installed here can: one for each script."""
    families = [LATIN_FONT]
    missing = {character for character in text if not character.isspace()} - _characters_of(LATIN_FONT)
    for family in sorted(_font_files()):
        if not missing:
            break
        if found := missing & _characters_of(family):
            families.append(family)
            missing -= found
    return families


@cache
def _font_files() -> dict[str, str]:
    """Family -> file of the upright fonts installed; "Last Resort" fonts, which draw a box for everything, left out."""
    from matplotlib.font_manager import fontManager

    upright = [font for font in fontManager.ttflist if font.weight == 400 and font.style == "normal"]
    return {font.name: font.fname for font in upright if not font.name.startswith("Last Resort")}


@cache
def _characters_of(family: str) -> set[str]:
    from matplotlib.ft2font import FT2Font

    return {chr(code) for code in FT2Font(_font_files()[family]).get_charmap()}


def _plain(tokens: Sequence[str]) -> list[str]:
    return [token.replace("$", r"\$") for token in tokens]  # matplotlib takes $ for mathematics
