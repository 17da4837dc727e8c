"""Token ids of words, each encoded once.

Text is cut at every space before subwords are looked for, so the ids of a text are those of its words. A corpus has few
different ones: looking them up takes an eighth of the time that encoding them again does (docs/benchmarks.md).
"""

import tokenizers

MOST_WORDS = 250_000  # that are remembered, in some 80 MB


class NotAlone(ValueError):  # noqa: N818
    """A word that is not encoded by itself as it is in its text."""


class WordIds(dict[str, list[int]]):
    """The ids of each word, encoded when it is met for the first time."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> list[int]:
        if word != word.strip():  # white space of all kinds is trimmed at the ends of a text, and there alone
            raise NotAlone(word)
        if len(self) >= MOST_WORDS:
            self.clear()
        ids: list[int] = self._tokenizer.encode_batch_fast([word])[0].ids  # without offsets: in half the time
        self[word] = ids
        return ids
