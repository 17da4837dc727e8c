"""From which language into which: the directions of a corpus, and what a model can be asked for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from translator.errors import ConfigError

DIRECTION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*>[A-Za-z0-9][A-Za-z0-9_-]*$"


class Direction(NamedTuple):
    """From one language into another; written `en>it`."""

    source: str
    target: str

    @staticmethod
    def parse(text: str) -> "Direction":
        """Read `en>it`."""
        source, _, target = text.partition(">")
        return Direction(source, target)

    @property
    def reverse(self) -> "Direction":
        return Direction(self.target, self.source)

    def __str__(self) -> str:
        return f"{self.source}>{self.target}"


@dataclass(frozen=True)
class Choices:
    """Target languages that a model writes, each with the domain tags it was trained with (None: without one)."""

    tags: Mapping[str, tuple[str | None, ...]]

    @staticmethod
    def of(pairs: Iterable[tuple[str, str | None]]) -> "Choices":
        """From (target language, tag) of everything that is trained on; the order stays."""
        tags: dict[str, dict[str | None, None]] = {}
        for language, tag in pairs:
            tags.setdefault(language, {})[tag] = None
        return Choices({language: tuple(known) for language, known in tags.items()})

    @property
    def languages(self) -> list[str]:
        return list(self.tags)

    @property
    def known_tags(self) -> list[str]:
        """Every tag, of whichever language."""
        return list(dict.fromkeys(tag for known in self.tags.values() for tag in known if tag is not None))

    @property
    def example(self) -> str:
        """Words for the command line that choose the first of everything; empty where there is nothing to choose."""
        language = self.languages[0]
        to = f" --to {language}" if len(self.tags) > 1 else ""
        return (
            to
            if None in self.tags[language] or len(self.tags[language]) == 1
            else f"{to} --tag {self.tags[language][0]}"
        )

    def choose(
        self, language: str | None = None, tag: str | None = None, *, who: str = "This model"
    ) -> tuple[str, str | None]:
        """Target language and tag for what a user gave; what only one answer is possible to need not be given.

        `who` begins the sentence of an error.

        Raises:
            ConfigError: a choice is unknown, or there are several and none was made; the sentence lists them.
        """
        languages = ", ".join(self.tags)
        if language is None:
            if len(self.tags) > 1:
                raise ConfigError(f"{who} translates into {languages}: choose one (--to, target_language).")
            language = next(iter(self.tags))
        if language not in self.tags:
            raise ConfigError(f"{who} does not translate into {language}, only into {languages}.")
        if tag is not None:
            if tag not in self.known_tags:
                known = f"only {', '.join(self.known_tags)}" if self.known_tags else "none"
                raise ConfigError(f"{who} knows no domain tag {tag}, {known}.")
            return language, tag
        if None in self.tags[language]:
            return language, None
        if len(self.tags[language]) > 1:
            known = ", ".join(str(one) for one in self.tags[language])
            raise ConfigError(f"{who} writes {language} in the domains {known}: choose one (--tag, tag).")
        return language, self.tags[language][0]
