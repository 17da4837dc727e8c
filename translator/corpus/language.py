"""In which language a sentence is written: asked of py3langid (the extra `langid`), loaded at the first use."""

from functools import cache
from typing import Any

from translator.corpus import characters
from translator.corpus.languages import fold
from translator.corpus.sides import Mask, Side, Sides
from translator.errors import CorpusError, missing_extra

LEAST_LETTERS = 20
"""Shorter sentences are not asked about: names and greetings look like many languages."""


def wrong_language(sides: Sides, languages: tuple[str, str], least: float) -> Mask:
    """A side of at least `LEAST_LETTERS` letters is of its language with a probability below `least`."""
    masks = [
        _other(side, language, least) for side, language in zip((sides.source, sides.target), languages, strict=True)
    ]
    return masks[0] | masks[1]


def check_languages(languages: tuple[str, str]) -> None:
    """Refuse languages that cannot be told.

    Raises:
        CorpusError: the extra is not installed, or it does not know a language.
    """
    known = set(_identifier().labels)
    for language in languages:
        if _code(language) not in known:
            raise CorpusError(
                f"corpus.filters.min_language: py3langid does not know {language}; it knows {' '.join(sorted(known))}. "
                "Set min_language to null; min_script needs no such knowledge"
            )


def _other(side: Side, language: str, least: float) -> Mask:
    identifier, code = _identifier(), _code(language)
    return side.where(
        side.count(characters.letters()) >= LEAST_LETTERS, lambda text: dict(identifier.rank(text))[code] < least
    )


def _code(language: str) -> str:
    return fold(language).split("-")[0]


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise missing_extra("filters with corpus.filters.min_language", "py3langid", "langid") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
