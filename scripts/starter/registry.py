"""The list of sentence patterns; the pattern modules add to it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from scripts.starter.grammar import Sentence

Draw = Callable[[Random], Sentence | None]


@dataclass(frozen=True)
class Pattern:
    """A function that draws a random sentence, and how many sentences the corpus takes from it."""

    name: str
    quota: int
    draw: Draw


PATTERNS: list[Pattern] = []


def pattern(quota: int) -> Callable[[Draw], Draw]:
    """Register a function as a sentence pattern. It may return None where a draw makes no sense."""

    def register(draw: Draw) -> Draw:
        PATTERNS.append(Pattern(draw.__name__, quota, draw))
        return draw

    return register
