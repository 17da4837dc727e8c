"""The large made-up corpus: the same pairs as lines and as a translation memory."""

from pathlib import Path

import pytest

from scripts.make_large_corpus import main
from translator.corpus import read_pairs


def test_a_translation_memory_holds_the_pairs_of_the_text_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSLATOR_CACHE", str(tmp_path / "cache"))
    prefix = tmp_path / "large"
    for form in ([], ["--tmx"]):
        main(["300", str(prefix), "--words", "4", "--noise", "0.3", *form])
    sides = [Path(f"{prefix}.{ending}").read_text().splitlines() for ending in ("src", "tgt")]
    result = read_pairs(f"{prefix}.tmx", source_language="en", target_language="it")
    assert [list(result.dataset[side]) for side in ("source", "target")] == sides
    assert (len(sides[0]), len(set(sides[0])) > 250, result.skipped) == (300, True, {})
