"""The attention picture."""

import numpy as np
import pytest
import torch

from translator.pictures import attention_picture


def test_tokens_label_the_axes_in_order() -> None:
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    axes = attention_picture(weights, ["a", "$b", "<eos>"], ["c", "<eos>"], title="t").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", r"\$b", "<eos>"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["c", "<eos>"]
    assert np.array_equal(np.asarray(axes.images[0].get_array()), weights.numpy())


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="for 1 x 2 tokens"):
        attention_picture(torch.ones(2, 1), ["a", "b"], ["c"])
