"""The attention picture."""

import numpy as np
import pytest
import torch

from translator.pictures import attention_picture, fonts_for, image_of


def test_tokens_label_the_axes_in_order() -> None:
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    axes = attention_picture(weights, ["a", "$b", "<eos>"], ["c", "<eos>"], title="t").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", r"\$b", "<eos>"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["c", "<eos>"]
    assert np.array_equal(np.asarray(axes.images[0].get_array()), weights.numpy())


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="for 1 x 2 tokens"):
        attention_picture(torch.ones(2, 1), ["a", "b"], ["c"])


def test_a_script_without_a_font_gives_boxes_and_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    tokens = ["\U00012000", "<eos>"]  # cuneiform
    image = image_of(attention_picture(torch.full((2, 2), 0.5), tokens, tokens))
    assert image.ndim == 3
    assert image.shape[2] == 3
    assert image.min() < 100  # something is drawn
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]


def test_latin_needs_one_font() -> None:
    assert fonts_for("Perché no?") == ["DejaVu Sans"]
