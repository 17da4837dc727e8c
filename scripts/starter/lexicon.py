"""The word lists, read from nouns.txt, verbs.txt and adjectives.txt."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.starter import english, italian

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `en_plural` is empty if it is not counted."""

    en: str
    en_plural: str
    it: str
    it_plural: str
    gender: str
    plural_gender: str
    classes: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """A verb in both languages. `tail` is what follows the Italian verb ("bisogno"), `preposition` what
    governs the Italian object. `state` verbs have no progressive and their past is the imperfect."""

    en: str
    en_past: str
    en_participle: str
    it: str
    objects: tuple[str, ...] = ()
    state: bool = False
    tail: str = ""
    preposition: str = ""


@dataclass(frozen=True)
class Adjective:
    """An adjective in both languages; `comparative` is empty for "more ...", "-" if it is not compared."""

    en: str
    comparative: str
    it: str
    it_plural: str | None
    before: bool
    nouns: tuple[str, ...] = ()


def _lines(name: str) -> list[str]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _noun(line: str, classes: frozenset[str]) -> Noun:
    left, right = line.split(" = ")
    en, _, en_plural = left.partition(", ")
    it, _, it_plural = right.partition(", ")
    it, gender = it.rsplit(" ", 1)
    plural_gender = gender
    if it_plural.endswith((" m", " f")):
        it_plural, plural_gender = it_plural.rsplit(" ", 1)
    elif it in ("uovo", "ginocchio", "dito", "braccio"):
        plural_gender = "f"  # le uova, le ginocchia, le dita, le braccia
    counted = en_plural != "-"
    return Noun(
        en,
        (en_plural or english.plural(en)) if counted else "",
        it,
        (it_plural or italian.plural_of(it, gender)) if counted else "",
        gender,
        plural_gender,
        classes,
    )


@cache
def nouns() -> tuple[Noun, ...]:
    """All nouns, in the order of the file."""
    found: list[Noun] = []
    classes: frozenset[str] = frozenset()
    for line in _lines("nouns.txt"):
        if line.startswith("["):
            classes = frozenset(line.strip("[]").split())
        else:
            found.append(_noun(line, classes))
    return tuple(found)


@cache
def named(*names: str) -> tuple[Noun, ...]:
    """The nouns in these classes or with these English names ("_" for a space), each once.

    Raises:
        KeyError: a name is neither a class nor a noun.
    """
    chosen: dict[Noun, None] = {}
    for name in names:
        matching = [noun for noun in nouns() if name in noun.classes or noun.en == name.replace("_", " ")]
        if not matching:
            raise KeyError(name)
        chosen.update(dict.fromkeys(matching))
    return tuple(chosen)


def noun(en: str) -> Noun:
    """The first noun with this English name."""
    return next(noun for noun in nouns() if noun.en == en)


def verb_of(spec: str, **options: object) -> Verb:
    """A verb from "base[, past, participle] = infinitive"."""
    left, it = (part.strip() for part in spec.split(" = "))
    base, *irregular = left.split(", ")
    past, en_participle = irregular or [english.past(base)] * 2
    tail, preposition = ("bisogno", "di") if it == "avere bisogno" else ("", "")
    return Verb(base, past, en_participle, it.split()[0], tail=tail, preposition=preposition, **options)  # type: ignore[arg-type]


@cache
def verbs() -> tuple[Verb, ...]:
    """All verbs with objects, in the order of the file."""
    found = []
    for line in _lines("verbs.txt"):
        spec, objects = line.split(" | ")
        state = spec.endswith(" !")
        found.append(verb_of(spec.removesuffix(" !"), objects=tuple(objects.split()), state=state))
    return tuple(found)


def verb(en: str, it: str | None = None) -> Verb:
    """The verb with this English base (and this infinitive, where English has two)."""
    return next(verb for verb in verbs() if verb.en == en and it in (None, verb.it))


@cache
def adjectives() -> tuple[Adjective, ...]:
    """All adjectives, in the order of the file."""
    found = []
    for line in _lines("adjectives.txt"):
        spec, described = line.split(" | ")
        left, right = spec.split(" = ")
        en, _, comparative = left.partition(", ")
        before = described.startswith("< ")
        it, _, it_plural = right.partition(", ")
        if it_plural == "-":
            comparative, it_plural = "-", ""
        found.append(
            Adjective(en, comparative, it, it_plural or None, before, tuple(described.removeprefix("< ").split()))
        )
    return tuple(found)


# What nothing and nobody is too much of. "Too big", but not "too beautiful".
NEVER_TOO = frozenset(
    {"beautiful", "new", "good", "cheap", "fresh", "ripe", "interesting", "funny", "comfortable", "clean", "delicious"}
    | {"useful", "happy", "kind", "intelligent", "satisfied", "surprised", "sure", "ill", "worried", "bored"}
)


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that can describe `noun`."""
    return tuple(adjective for adjective in adjectives() if noun in named(*adjective.nouns))


def _sections(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    section = ""
    for line in _lines(name):
        if line.startswith("["):
            section = line.strip("[]")
        else:
            found.setdefault(section, []).append(line)
    return found


Doing = tuple[str, tuple[tuple[str, str], ...]]


def doings(section: str) -> tuple[Doing, ...]:
    """Verbs without an object, each as its description for `verb_of` and the pairs of phrases it may go on with."""
    found = []
    for line in _sections("doings.txt")[section]:
        spec, rests = line.split(" | ")
        pairs = (rest.split(" = ") for rest in rests.split("; "))
        found.append((spec, tuple((en, it) for en, it in pairs)))
    return tuple(found)


def places() -> tuple[tuple[str, str, str, str], ...]:
    """Places: English, Italian with its preposition, the English prepositions for going there and being there."""
    rows = (line.split("|") for line in _lines("places.txt"))
    return tuple((en.strip(), it.strip(), to.strip(), at.strip()) for en, it, to, at in rows)


def spots() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Where things can be: English, Italian, and the classes or nouns that can be there."""
    found = []
    for line in _lines("spots.txt"):
        spot, names = line.split(" | ")
        en, it = spot.split(" = ")
        found.append((en, it, tuple(names.split())))
    return tuple(found)
