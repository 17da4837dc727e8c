"""Sentence patterns about being: descriptions, there is, comparisons, belongings."""

from random import Random

from scripts.starter import english, italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.grammar import (
    MEN,
    NEGATED,
    OWNERS,
    WOMEN,
    I,
    Phrase,
    Sentence,
    combo,
    noun_phrase,
    overlap,
    sentence,
    someone,
    subject,
)
from scripts.starter.lexicon import NEVER_TOO, Adjective, Noun, adjectives_for, named, nouns, spots
from scripts.starter.registry import pattern


def to_be(slot: int, tense: str) -> tuple[str, str]:
    """The forms of "be" and "essere": present, past (imperfect) or future."""
    if tense == "present":
        return english.BE[slot], conjugation.present("essere")[slot]
    if tense == "past":
        return english.WAS[slot], conjugation.imperfect("essere")[slot]
    return "will be", conjugation.future("essere")[slot]


def negated(be: str) -> str:
    """The negative of a form of "be"."""
    return "won't be" if be == "will be" else NEGATED[be]


def described(rng: Random) -> tuple[Noun, Adjective]:
    """A noun and an adjective that fits it."""
    while True:
        found = rng.choice(nouns())
        if options := adjectives_for(found):
            return found, rng.choice(options)


@pattern(430)
def description(rng: Random) -> Sentence | None:
    """Those shoes are very comfortable. Is the soup hot?"""
    thing, adjective = described(rng)
    plural = bool(thing.en_plural) and ("pair" in thing.classes or rng.random() < 0.3)
    determiner = rng.choice(("the", "the", "this", "that", rng.choice(OWNERS)))
    owned = thing.classes & {"clothes", "device", "furniture", "vehicle", "pet", "portable", "room", "thing"}
    if determiner in OWNERS and not owned:
        determiner = "the"
    phrase = noun_phrase(thing, determiner, plural)
    tense = rng.choices(("present", "past", "future"), (6, 2.5, 0.5))[0]
    be, essere = to_be(phrase.slot, tense)
    form = rng.choices(("statement", "negative", "question"), (6, 2, 2))[0]
    degree_en, degree_it = rng.choices((("", ""), ("very", "molto"), ("too", "troppo"), ("so", "così")), (4, 3, 2, 1))[
        0
    ]
    if degree_en == "too" and adjective.en in NEVER_TOO:
        return None
    if adjective.comparative == "-" or adjective.en in ("full", "empty") or form == "question":
        degree_en = degree_it = ""
    if tense == "future" and (form == "question" or degree_en in ("so", "too") or adjective.comparative == "-"):
        return None
    agreed = italian.adjective(adjective.it, phrase.gender, plural, adjective.it_plural)
    it = italian.join(phrase.it, "non" if form == "negative" else "", essere, degree_it, agreed)
    if form == "question":
        en = f"{be} {phrase.en} {adjective.en}"
    else:
        en = " ".join(filter(None, [phrase.en, negated(be) if form == "negative" else be, degree_en, adjective.en]))
    combos = frozenset({combo(adjective.en, thing.en)})
    return sentence(en, it, f"description/{tense}/{form}", combos, "?" if form == "question" else ".")


STATES = (
    ("tired", "stanco"),
    ("happy", "felice"),
    ("sad", "triste"),
    ("ill", "malato"),
    ("busy", "occupato"),
    ("worried", "preoccupato"),
    ("ready", "pronto"),
    ("late", "in ritardo"),
    ("nervous", "nervoso"),
    ("kind", "gentile"),
    ("angry", "arrabbiato"),
    ("tall", "alto"),
    ("young", "giovane"),
    ("intelligent", "intelligente"),
    ("lazy", "pigro"),
    ("shy", "timido"),
    ("rich", "ricco"),
    ("poor", "povero"),
    ("married", "sposato"),
    ("surprised", "sorpreso"),
    ("curious", "curioso"),
    ("strong", "forte"),
    ("at home", "a casa"),
    ("in the kitchen", "in cucina"),
    ("at school", "a scuola"),
    ("in the garden", "in giardino"),
    ("at work", "al lavoro"),
    ("outside", "fuori"),
    ("in the car", "in macchina"),
    ("generous", "generoso"),
    ("polite", "educato"),
    ("honest", "onesto"),
    ("sure", "sicuro"),
    ("satisfied", "soddisfatto"),
    ("at the station", "alla stazione"),
    ("in Rome", "a Roma"),
    ("bored", "annoiato"),
    ("free", "libero"),
)


FUTURE_STATES = frozenset(
    {"tired", "happy", "sad", "busy", "ready", "late", "angry", "surprised", "satisfied", "free", "bored"}
)


def agree(word: str, who: Phrase) -> str:
    """A describing word in agreement; phrases with a preposition stay as they are."""
    return word if " " in word or word in ("fuori",) else italian.adjective(word, who.gender, who.plural)


@pattern(400)
def feeling(rng: Random) -> Sentence | None:
    """My parents were very worried yesterday. Are you ready?"""
    who = subject(rng)
    en_state, it_state = rng.choice(STATES)
    tense = rng.choices(("present", "past", "future"), (6, 3, 0.7))[0]
    be, essere = to_be(who.slot, tense)
    form = rng.choices(("statement", "negative", "question"), (6, 2, 2))[0]
    if form == "question" and who is I:
        return None
    if en_state == "married" and who.noun and who.noun.en in ("child", "boy", "girl", "husband", "wife"):
        return None
    if tense == "future" and " " not in it_state and en_state not in FUTURE_STATES:
        return None
    graded = " " not in it_state and en_state not in ("outside", "ready", "married", "free")
    degree_en, degree_it = rng.choice((("", ""), ("very", "molto"), ("too", "troppo"))) if graded else ("", "")
    if degree_en == "too" and en_state in NEVER_TOO:
        return None
    if form != "statement":
        degree_en = degree_it = ""
    it = italian.join(who.it, "non" if form == "negative" else "", essere, degree_it, agree(it_state, who))
    if form == "question":
        first, *rest = be.split()
        en = " ".join(filter(None, [first, who.en, *rest, degree_en, en_state]))
    else:
        en = " ".join(filter(None, [who.en, negated(be) if form == "negative" else be, degree_en, en_state]))
    combos = frozenset({combo("be", who.noun.en if who.noun else who.en, en_state)})
    return sentence(en, it, f"feeling/{tense}/{form}", combos, "?" if form == "question" else ".")


SPOTS = spots()


@pattern(320)
def there_is(rng: Random) -> Sentence | None:
    """There are two bottles on the table. Is there a bank near the station?"""
    spot_en, spot_it, names = rng.choice(SPOTS)
    thing = rng.choice(named(*names))
    form = rng.choices(("statement", "negative", "question"), (6, 1.5, 2))[0]
    tense = rng.choices(("present", "past", "future"), (6, 2, 1))[0]
    if not thing.en_plural:
        if form == "statement":
            phrase = noun_phrase(thing, rng.choice(("some", "many")))
        else:
            bare = noun_phrase(thing, "bare")
            some = noun_phrase(thing, "some")
            phrase = Phrase(f"any {bare.en}", some.it if form == "question" else bare.it, bare.gender, False)
        plural = False
    else:
        plural = rng.random() < 0.5
        if form == "statement":
            kind = rng.choice(("some", "number", "many")) if plural else rng.choice(("a", "a", "another"))
            phrase = noun_phrase(thing, kind, plural, count=rng.choice((2, 3, 4, 5, 6, 10)))
        elif plural:
            bare, some = noun_phrase(thing, "bare", True), noun_phrase(thing, "some", True)
            phrase = Phrase(f"any {bare.en}", some.it if form == "question" else bare.it, bare.gender, True)
        elif form == "question":
            phrase = noun_phrase(thing, "a")
        else:
            return None
    be, essere = to_be(5 if plural else 2, tense)
    it = italian.join("non" if form == "negative" else "", conjugation.before_verb("ci", essere), phrase.it, spot_it)
    if form == "question":
        first, *rest = be.split()
        en = " ".join([first, "there", *rest, phrase.en, spot_en])
    else:
        en = f"there {negated(be) if form == 'negative' else be} {phrase.en} {spot_en}"
    return sentence(
        en, it, f"there_is/{tense}/{form}", frozenset({combo(spot_en, thing.en)}), "?" if form == "question" else "."
    )


@pattern(260)
def where_is(rng: Random) -> Sentence | None:
    """Your keys are in the drawer."""
    spot_en, spot_it, names = rng.choice(SPOTS)
    thing = rng.choice(named(*names))
    if not thing.classes & {
        "portable",
        "clothes",
        "thing",
        "pet",
        "device",
        "vehicle",
        "food",
        "drink",
        "book",
        "child",
        "furniture",
    }:
        return None
    owned = not thing.classes & {"child", "food", "drink"}
    determiner = rng.choice(("the", "the", *OWNERS)) if owned else "the"
    plural = bool(thing.en_plural) and rng.random() < 0.35
    phrase = noun_phrase(thing, determiner, plural)
    tense = rng.choices(("present", "past"), (6, 2))[0]
    be, essere = to_be(phrase.slot, tense)
    form = rng.choices(("statement", "negative", "question"), (6, 2, 2))[0]
    it = italian.join(phrase.it, "non" if form == "negative" else "", essere, spot_it)
    en = (
        f"{be} {phrase.en} {spot_en}"
        if form == "question"
        else f"{phrase.en} {negated(be) if form == 'negative' else be} {spot_en}"
    )
    return sentence(
        en, it, f"where_is/{tense}/{form}", frozenset({combo(spot_en, thing.en)}), "?" if form == "question" else "."
    )


def more(adjective: Adjective) -> str:
    """The English comparative."""
    return adjective.comparative or f"more {adjective.en}"


def most(adjective: Adjective) -> str:
    """The English superlative."""
    if not adjective.comparative:
        return f"most {adjective.en}"
    return {"better": "best"}.get(adjective.comparative, adjective.comparative[:-1] + "st")


PEOPLE_ADJECTIVES = (
    Adjective("tall", "taller", "alto", None, False),
    Adjective("young", "younger", "giovane", None, False),
    Adjective("old", "older", "vecchio", "vecchi", False),
    Adjective("kind", "kinder", "gentile", None, False),
    Adjective("intelligent", "", "intelligente", None, False),
    Adjective("patient", "", "paziente", None, False),
    Adjective("rich", "richer", "ricco", None, False),
    Adjective("shy", "shyer", "timido", None, False),
    Adjective("lazy", "lazier", "pigro", None, False),
    Adjective("strong", "stronger", "forte", None, False),
    Adjective("generous", "", "generoso", None, False),
    Adjective("curious", "", "curioso", None, False),
)


@pattern(200)
def comparing_people(rng: Random) -> Sentence | None:
    """Anna is taller than her brother. Marco isn't as rich as Luca."""
    first, second = someone(rng), someone(rng)
    if overlap(first, second) or first.plural != second.plural:
        return None
    adjective = rng.choice(PEOPLE_ADJECTIVES)
    be, essere = to_be(first.slot, rng.choice(("present", "present", "past")))
    agreed = italian.adjective(adjective.it, first.gender, first.plural, adjective.it_plural)
    combos = frozenset({combo(adjective.en, first.en)})
    kind = rng.choice(("more", "more", "less", "as"))
    if kind == "as":
        return sentence(
            f"{first.en} {be} as {adjective.en} as {second.en}",
            f"{first.it} {essere} {agreed} come {second.it}",
            "compare/as",
            combos,
        )
    if kind == "less":
        if adjective.comparative:
            return None
        return sentence(
            f"{first.en} {be} less {adjective.en} than {second.en}",
            f"{first.it} {essere} meno {agreed} {italian.prefixed('di', second.it)}",
            "compare/less",
            combos,
        )
    return sentence(
        f"{first.en} {be} {more(adjective)} than {second.en}",
        f"{first.it} {essere} più {agreed} {italian.prefixed('di', second.it)}",
        "compare/more",
        combos,
    )


@pattern(170)
def comparing_things(rng: Random) -> Sentence | None:
    """This hotel is cheaper than that restaurant."""
    thing, adjective = described(rng)
    others = [other for other in nouns() if other.classes == thing.classes and adjective in adjectives_for(other)]
    other = rng.choice(others)
    if adjective.comparative == "-" or adjective.en in ("full", "empty", "ripe") or other == thing:
        return None
    plural = bool(thing.en_plural and other.en_plural) and rng.random() < 0.3
    first_kind, second_kind = rng.choice((("the", "the"), ("this", "that"), ("this", "the")))
    first, second = noun_phrase(thing, first_kind, plural), noun_phrase(other, second_kind, plural)
    be, essere = to_be(first.slot, "present")
    agreed = italian.adjective(adjective.it, first.gender, plural, adjective.it_plural)
    degree = f"più {agreed}"
    if adjective.en == "good":
        degree = "migliori" if plural else "migliore"
    return sentence(
        f"{first.en} {be} {more(adjective)} than {second.en}",
        f"{first.it} {essere} {degree} {italian.prefixed('di', second.it)}",
        "compare/things",
        frozenset({combo(adjective.en, thing.en)}),
    )


SUPERLATIVES = frozenset(
    {
        "big",
        "small",
        "beautiful",
        "old",
        "famous",
        "expensive",
        "elegant",
        "modern",
        "quiet",
        "tall",
        "high",
        "long",
        "cheap",
    }
)
AREAS = (
    ("in the city", "della città"),
    ("in the village", "del paese"),
    ("in Italy", "d'Italia"),
    ("in the world", "del mondo"),
)


@pattern(90)
def superlative(rng: Random) -> Sentence | None:
    """This is the oldest church in the city."""
    thing, adjective = described(rng)
    if not thing.classes & {"building", "venue", "place"} or thing.en in ("house", "flat", "villa"):
        return None
    if adjective.en not in SUPERLATIVES:
        return None
    area_en, area_it = rng.choice(AREAS)
    if thing.en in ("city", "island", "mountain", "lake", "river", "valley", "beach", "village") and area_en in (
        "in the city",
        "in the village",
    ):
        return None
    article = italian.definite(thing.it, thing.gender, False)
    agreed = italian.adjective(adjective.it, thing.gender, False)
    be_en, be_it = rng.choice((("this is", "questa è" if thing.gender == "f" else "questo è"), ("it was", "era")))
    return sentence(
        f"{be_en} the {most(adjective)} {thing.en} {area_en}",
        f"{be_it} {italian.join(article, thing.it)} più {agreed} {area_it}",
        f"superlative/{be_en}",
        frozenset({combo(adjective.en, thing.en)}),
    )


@pattern(130)
def belonging(rng: Random) -> Sentence | None:
    """This umbrella is mine. Whose are these gloves?"""
    thing = rng.choice(named("portable", "clothes", "vehicle", "pet", "book"))
    plural = bool(thing.en_plural) and rng.random() < (0.9 if "pair" in thing.classes else 0.3)
    phrase = noun_phrase(thing, rng.choice(("this", "that")), plural)
    be, essere = to_be(phrase.slot, "present")
    combos = frozenset({combo("own", thing.en)})
    kind = rng.choice(("whose", "pronoun", "pronoun", "name"))
    if kind == "whose":
        return sentence(f"whose {be} {phrase.en}", f"di chi {essere} {phrase.it}", "belonging/whose", combos, "?")
    if kind == "name":
        owner = rng.choice(MEN + WOMEN)
        return sentence(f"{phrase.en} {be} {owner}'s", f"{phrase.it} {essere} di {owner}", "belonging/name", combos)
    pronoun = rng.choice(("mine", "yours", "his", "hers", "ours"))
    form = italian.possessive(
        {"mine": "my", "yours": "your", "hers": "her", "ours": "our"}.get(pronoun, pronoun), phrase.gender, plural
    )
    if rng.random() < 0.3:
        return sentence(
            f"{phrase.en} {negated(be)} {pronoun}", f"{phrase.it} non {essere} {form}", "belonging/negative", combos
        )
    return sentence(f"{phrase.en} {be} {pronoun}", f"{phrase.it} {essere} {form}", "belonging/pronoun", combos)
