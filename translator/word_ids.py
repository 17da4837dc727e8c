"""Token ids of words, each encoded once.

Text is cut at every space before subwords are looked for, so the ids of a text are those of its words. A corpus has few
different ones: looking them up takes a small part of the time that encoding them again does (docs/benchmarks.md).
Ids are kept as bytes (uint32): joining those of a text is one copy, and the garbage collector does not look at them.
"""

import numpy as np
import tokenizers

MOST_WORDS = 250_000  # that are remembered, in some 80 MB
LONGEST_WORD = 40  # characters; longer ones are addresses, or sentences of a script that sets no spaces


class WordIds:
    """The ids of each word, encoded when it is met for the first time."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._known = _Known(tokenizer)

    def of(self, text: str) -> bytes | None:
        """The ids of a text, four bytes each; None where it must be encoded as a whole."""
        try:
            return b"".join(map(self._known.__getitem__, filter(None, text.split(" "))))
        except _NotAlone:
            return None


class _NotAlone(Exception):  # noqa: N818
    """A word that is not remembered, or is not encoded by itself as it is in its text."""


class _Known(dict[str, bytes]):
    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> bytes:
        # White space of all kinds is trimmed at the ends of a text, and there alone.
        if len(word) > LONGEST_WORD or word != word.strip():
            raise _NotAlone
        if len(self) >= MOST_WORDS:
            self.clear()
        encoded = self._tokenizer.encode_batch_fast([word])[0]  # without offsets: in half the time
        self[word] = ids = packed(encoded.ids)
        return ids


def packed(ids: list[int]) -> bytes:
    """Ids as bytes, four each."""
    return np.array(ids, dtype=np.uint32).tobytes()
