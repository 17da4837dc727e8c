"""Figures of a set by hand, and the page: whole, self-contained, and safe whatever the corpus holds."""

import re
from typing import Any

import numpy as np
import pytest

from translator.corpus.figures import figures, histogram
from translator.corpus.page import duration, page, short_paths
from translator.corpus.pairs import Pairs
from translator.corpus.store import store_parts


def made(*texts: tuple[str, str]) -> Pairs:
    rows = [(number, source, target) for number, (source, target) in enumerate(texts, start=1)]
    return store_parts({"page": texts}, "/home/me/corpora/web/pairs.tsv", lambda: iter([("", iter(rows))]))[0]


EVIL = "<script>alert(1)</script> & \u202eabc \"'"


def found(**changes: Any) -> dict[str, Any]:
    """What a survey gives, of three pairs."""
    train = figures(made((EVIL, "ಕನ್ನಡ"), ("two words", "x"), ("a", "ಅ")), (("en",), ("kn",)))
    side = {"kind": "bpe", "vocabulary": 9, "per_epoch": 20, "per_word": 1.5, "unknown": 0.0, "bytes": 0.01,
            "lengths": histogram(np.array([0, 3, 1]))}  # fmt: skip
    example = {"place": "/home/me/corpora/web/pairs.tsv, line 1", "source": EVIL, "target": "ಕನ್ನಡ"}
    result = {"set": "train", "key": "max_digits", "reason": "over 50% digits", "count": 1, "examples": [example]}
    place = {"set": "train", "name": EVIL, "read": 5, "kept": 3, "held_out": 0, "skipped": {"target is empty": 1},
             "examples": {"target is empty": EVIL}, "dropped": {"over 50% digits": 1}}  # fmt: skip
    return {
        "name": EVIL,
        "directions": ["en>kn"],
        "sample": None,
        "rows": [{"set": "train", "reason": "source equal to target", "count": 2, "example": EVIL}],
        "notes": [EVIL],
        "warnings": [EVIL],
        "places": [place],
        "filters": [result],
        "preset": "none",
        "off": [{**result, "value": True, "of": 3}],
        "sets": {"train": train},
        "tokens": {"source": side, "target": side, "pairs": 3},
        "training": None,
        **changes,
    }


def test_text_of_the_corpus_never_becomes_markup() -> None:
    html = page(found())
    assert "<script" not in html
    assert "\u202e" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 5
    assert "U+202E" in html


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    html = page(found())
    assert not re.search(r"https?://|\bsrc=|<link|@import|url\(", html)
    assert "prefers-color-scheme: dark" in html


def test_tags_are_closed() -> None:
    html = re.sub(r"<(meta|line|br|!)[^>]*>", "", page(found()))
    opened: list[str] = []
    for slash, name in re.findall(r"<(/?)(\w+)[^>]*>", html):
        if slash:
            assert opened.pop() == name
        else:
            opened.append(name)
    assert opened == []


def test_time_and_sample_are_told() -> None:
    timing = {"device": "cpu.", "seconds_per_step": 0.5, "target_tokens_per_second": 900.0, "measured_steps": 8,
              "steps_per_epoch": 120, "seconds_per_epoch": 60.0, "total_steps": 7200, "seconds": 3600.0}  # fmt: skip
    html = page(found(training=timing, sample=5, off=[], filters=[], rows=[]))
    for text in ("60 s", "60 min", "7,200 steps", "first 5 rows", "Nothing was left out.", "None."):
        assert text in html


def test_figures_of_both_sides() -> None:
    train = figures(made(("Hi Hi", "ಕನ್ನಡ x"), ("1, 2", "ಅ")), (("en",), ("kn",)))
    source, target = train["source"], train["target"]
    assert (train["pairs"], source["characters"], source["words"]) == (2, 9, 4)
    assert source["scripts"] == {"Latin": 1.0}
    assert target["scripts"] == {"Kannada": pytest.approx(6 / 7), "Latin": pytest.approx(1 / 7)}
    assert source["frequent"][:2] == [["H", 2], ["i", 2]]
    assert [one["characters"] for one in train["longest"]] == [7, 4]


def test_histogram_counts_everything_once() -> None:
    random = np.random.default_rng(1)
    lengths = np.concatenate([random.integers(1, 90, 990), random.integers(500, 900, 5)])
    one = histogram(np.bincount(lengths))
    assert sum(one["counts"]) == len(lengths)
    assert len(one["counts"]) == len(one["edges"])
    assert (one["median"], one["longest"]) == (int(np.median(lengths)), int(lengths.max()))
    assert one["counts"][-1] == (lengths >= one["edges"][-1]).sum()
    assert histogram(np.zeros(5, dtype=np.int64))["counts"] == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.25 s"), (40.0, "40 s"), (600.0, "10 min"), (7200.0, "2.0 h"), (260000.0, "3.0 days")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_paths_are_short_and_sentences_stay() -> None:
    assert short_paths("/a/b/c/train.en and /a/b/d/x.tsv, line 3: he/she") == "c/train.en and d/x.tsv, line 3: he/she"
