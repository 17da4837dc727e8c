"""Named sets of a stored configuration, as `evaluate` finds them."""

from pathlib import Path

import pytest

from translator.commands.evaluating import _named_sets
from translator.config import load_config
from translator.errors import TranslatorError

CONFIG = """
corpus:
  source_language: en
  target_language: it
  train: train.tsv
  valid: {news: news.tsv, talks: talks.tsv}
"""


def test_sets_carry_the_number_of_rows_without_a_pair(tmp_path: Path) -> None:
    """What the corpus skips in a validation set must be said beside its scores."""
    for name, lines in {"train": "a\tA\n", "news": "b\tB\nc\t\n\tD\ne\tE\n", "talks": "f\tF\n"}.items():
        (tmp_path / f"{name}.tsv").write_text(lines)
    (tmp_path / "train.tsv").unlink()  # measuring needs no training files
    (tmp_path / "config.yaml").write_text(CONFIG)
    config = load_config(tmp_path / "config.yaml")
    found = {name: (len(one.dataset), one.num_left_out) for name, one in _named_sets(config, []).items()}
    assert found == {"valid/news": (2, 2), "valid/talks": (1, 0)}
    assert list(_named_sets(config, ["talks"])) == ["valid/talks"]
    with pytest.raises(TranslatorError, match="it has valid/news, valid/talks"):
        _named_sets(config, ["test"])
