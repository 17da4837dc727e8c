"""Errors a user can cause.

Each message says what is wrong, where (file, line, key) and what to do about it. The command line prints the
message alone, without a traceback, and exits with status 2.
"""


class TranslatorError(Exception):
    """Base of every error that the user, not the programmer, can mend."""


class ConfigError(TranslatorError):
    """The configuration, or an override of it, cannot be used."""


class CorpusError(TranslatorError):
    """The sentence pairs cannot be read or used."""


def missing_extra(what: str, library: str, extra: str) -> CorpusError:
    """The error for an optional library that is not installed."""
    return CorpusError(f'{what} need {library}, of the extra {extra}: .venv/bin/pip install -e ".[{extra}]"')


class CheckpointError(TranslatorError):
    """Weights, a tokenizer or training state cannot be loaded or do not belong together."""


class FormatError(CheckpointError):
    """A whole checkpoint of another version of this program: nothing is wrong with it, and nothing may replace it."""
