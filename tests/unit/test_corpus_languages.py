"""Codes of languages in any spelling."""

import pytest

from translator.corpus.languages import best, likeness, likeness_of_name


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        ("en", "EN", 0), ("pt_BR", "pt-br", 0), ("de", "de_DE.UTF-8", 1), ("en", "EN-US", 1), ("pt-BR", "pt", 2),
        ("en-US", "en-GB", None), ("en", "eng", None), ("en", "", None),
    ],
)  # fmt: skip
def test_likeness(wanted: str, found: str, expected: int | None) -> None:
    assert likeness(wanted, found) == expected


def test_the_best_is_the_exact_then_the_preferred_then_the_first() -> None:
    assert best("en", ["fr", "en-GB", "en-US"]) == 1
    assert best("en", ["fr", "en-GB", "en-US"], "EN-us") == 2
    assert best("en", ["en-GB", "en"], "en-GB") == 1
    assert best("it", ["en"]) is None


@pytest.mark.parametrize(
    ("wanted", "name", "expected"),
    [
        ("en", " EN_us ", 1), ("zh", "zh-Hans-CN", 1), ("pt-BR", "pt", 2), ("es", "es-419", 1), ("my_own", "My-Own", 0),
        ("en", "en-url", None), ("en", "en-test", None), ("en", "en.text", None), ("en", "En. A", None),
    ],
)  # fmt: skip
def test_likeness_of_names(wanted: str, name: str, expected: int | None) -> None:
    assert likeness_of_name(wanted, name) == expected
