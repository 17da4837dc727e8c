"""Sentence patterns about what people like: "piacere" with its reversed subject."""

from random import Random

from scripts.starter import italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.grammar import (
    Clause,
    Phrase,
    Sentence,
    combo,
    noun_phrase,
    sentence,
    someone,
)
from scripts.starter.lexicon import Verb, named
from scripts.starter.registry import pattern

ACTIVITIES = (
    ("reading", "leggere"),
    ("dancing", "ballare"),
    ("swimming", "nuotare"),
    ("cooking", "cucinare"),
    ("travelling", "viaggiare"),
    ("singing", "cantare"),
    ("sleeping", "dormire"),
    ("playing football", "giocare a calcio"),
    ("playing chess", "giocare a scacchi"),
    ("walking in the park", "camminare nel parco"),
    ("watching films", "guardare i film"),
    ("getting up early", "alzarsi presto"),
    ("working in the garden", "lavorare in giardino"),
    ("speaking Italian", "parlare italiano"),
    ("drawing", "disegnare"),
)
LIKED = (
    "food",
    "drink",
    "animal",
    "watching",
    "song",
    "book",
    "city",
    "house",
    "car",
    "dress",
    "nature",
    "subject",
    "restaurant",
    "museum",
    "instrument",
    "novel",
    "garden",
    "story",
    "village",
    "flower",
)
LIKERS = (("I", "mi", 0), ("you", "ti", 1), ("he", "gli", 2), ("she", "le", 2), ("we", "ci", 3), ("they", "gli", 5))


@pattern(340)
def liking(rng: Random) -> Sentence | None:
    """I like strawberries. Maria doesn't like this dress. Did you like the film?"""
    if rng.random() < 0.7:
        en_who, clitic, slot = rng.choice(LIKERS)
        it_front, mark_front = "", clitic
    else:
        who = someone(rng)
        en_who, slot, it_front, mark_front = who.en, who.slot, italian.prefixed("a", who.it), ""
    form = rng.choices(("statement", "negative", "question"), (5, 2, 2))[0]
    if form == "question" and en_who in ("I", "we"):
        return None
    tense = rng.choices(("present", "past", "conditional"), (6, 2, 0))[0]
    if rng.random() < 0.25:
        tense = "present"
        thing = Phrase(*rng.choice(ACTIVITIES), "m", False)
        if "alzarsi" in thing.it:
            thing = Phrase(
                thing.en,
                {"mi": "alzarmi presto", "ti": "alzarti presto", "ci": "alzarci presto"}.get(mark_front, thing.it),
                "m",
                False,
            )
        key = thing.en
    else:
        noun = rng.choice(named(*LIKED))
        mass = not noun.en_plural
        if tense == "past":
            if not noun.classes & {"watching", "reading", "listening", "food", "drink", "place", "venue"}:
                return None
            thing = noun_phrase(noun, "the")
        elif (mass and "nature" not in noun.classes) or (
            noun.classes & {"fruit", "vegetable", "citrus"} or ("animal" in noun.classes and rng.random() < 0.8)
        ):
            phrase = noun_phrase(noun, "the", not mass)
            thing = Phrase(phrase.en.removeprefix("the "), phrase.it, phrase.gender, not mass)
        elif "nature" in noun.classes:
            phrase = noun_phrase(noun, "the")
            bare = noun.en in ("snow", "rain", "summer", "winter", "spring", "autumn")
            thing = Phrase(noun.en if bare else phrase.en, phrase.it, phrase.gender, False)
        else:
            thing = noun_phrase(noun, rng.choice(("this", "that", "your" if slot != 1 else "my")), rng.random() < 0.3)
        key = noun.en
    negative = "non" if form == "negative" else ""
    third = 5 if thing.plural else 2
    if tense == "present":
        piacere = conjugation.present("piacere")[third]
    else:
        piacere = (
            f"{conjugation.present('essere')[third]} {conjugation.participle('piacere', thing.gender, thing.plural)}"
        )
    it = italian.join(it_front, negative, mark_front, piacere, thing.it)
    like = Verb("like", "liked", "liked", "piacere")
    en = Clause(
        Phrase(en_who, "", "m", slot in (3, 5), person=slot),
        like,
        tense,
        thing.en,
        negative=form == "negative",
        question=form == "question",
    ).en
    return sentence(
        en,
        it,
        f"liking/{tense}/{form}/{'name' if it_front else 'clitic'}",
        frozenset({combo("piacere", key)}),
        "?" if form == "question" else ".",
    )
