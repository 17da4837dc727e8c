"""What stands before a source: a token for the language to write, and one for the domain.

One model translates in many directions when each source begins with the language that is asked for (Johnson et al.
2017, section 3); a domain tag works the same way (Kobus et al. 2017). The encoder then reads

    [<2it>] [<domain:news>] source <eos>

The tokens are entries of the source vocabulary that no text can spell. A vocabulary without language tokens belongs to
a model of one target language, and nothing stands before its sources.
"""

from collections.abc import Iterable

from translator.errors import ConfigError
from translator.tokenizer import Tokenizer


def language_token(language: str) -> str:
    """`it` -> `<2it>`."""
    return f"<2{language}>"


def domain_token(tag: str) -> str:
    """`news` -> `<domain:news>`."""
    return f"<domain:{tag}>"


def control_tokens(languages: Iterable[str], tags: Iterable[str]) -> list[str]:
    """The entries of a source vocabulary for these target languages (none for a single one) and domain tags."""
    languages = list(languages)
    choices = languages if len(languages) > 1 else []
    return [*map(language_token, choices), *map(domain_token, tags)]


def require(tokenizer: Tokenizer, tokens: Iterable[str]) -> None:
    """Raise ConfigError where a vocabulary that was made before lacks one of `tokens`."""
    missing = [token for token in tokens if token not in tokenizer.control_ids]
    if missing:
        known = ", ".join(tokenizer.control_ids) or "none at all"
        raise ConfigError(
            f"The vocabulary of train.init_from has no {' and no '.join(missing)} to put before a source, "
            f"only {known}; new languages and tags need a run without init_from."
        )


def prefix_ids(tokenizer: Tokenizer, language: str, tag: str | None) -> tuple[int, ...]:
    """Token ids before a source that is to be translated into `language`.

    Raises:
        ConfigError: the vocabulary, made for an earlier run, has no token for the language or the tag.
    """
    known = tokenizer.control_ids
    tokens = [language_token(language)] if any(token.startswith("<2") for token in known) else []
    tokens += [] if tag is None else [domain_token(tag)]
    require(tokenizer, tokens)
    return tuple(known[token] for token in tokens)
