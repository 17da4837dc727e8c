"""Named sets of a stored configuration, as `evaluate` finds them."""

from pathlib import Path

import pytest

from translator.commands.evaluating import Result, _named_sets, _print
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


def test_each_signature_is_printed_with_the_sets_it_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    def result(**signatures: str) -> Result:
        return Result(1, dict.fromkeys(signatures, 9.0), signatures, "", [])

    _print(
        {
            "test/empty": result(),
            "test/it": result(bleu="tok:13a", chrf="nc:6"),
            "test/de": result(bleu="tok:13a", chrf="nc:6"),
            "test/zh": result(bleu="tok:zh", chrf="nc:6"),
        }
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "tok:" in line or "nc:" in line] == [
        "BLEU of test/it, test/de: tok:13a",
        "BLEU of test/zh: tok:zh",
        "chrF: nc:6",
    ]
