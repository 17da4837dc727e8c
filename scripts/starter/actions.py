"""Which verb goes with which object, determiner, tense and time."""

from dataclasses import replace
from random import Random

from scripts.starter import italian
from scripts.starter.grammar import (
    YOU,
    Phrase,
    combo,
    noun_phrase,
)
from scripts.starter.lexicon import Adjective, Noun, Verb, adjectives_for, named, verbs

HABITS = frozenset(
    "eat drink cook wash buy read write watch listen_to play study teach clean take drive water use iron wear "
    "prepare call help meet greet visit feed sing".replace("_", " ").split()
) | {"listen to", "wait for"}
POSSESSED = frozenset(
    {"lose", "find", "look for", "forget", "wash", "clean", "repair", "iron", "sell", "park", "drive", "use", "finish"}
)
OPINIONS = frozenset(
    {"good", "useful", "strange", "interesting", "boring", "funny", "dangerous", "light", "slow", "fast"}
)
OWNED_SEVERAL = frozenset({"clothes", "pair", "tableware", "reading", "abstract", "fruit", "vegetable"})
EVERYDAY_READING = frozenset({"newspaper", "magazine", "book", "letter", "email", "message", "article"})
DEFINITE = frozenset({"water", "know", "remember", "greet", "turn on", "turn off", "correct", "understand"})
# Verbs that take a mass without an article in both languages: "I don't eat meat", but "preferisco la carne".
BARE = frozenset({"eat", "drink", "buy", "sell", "order", "cook", "want", "need", "use"})
WOMENS_CLOTHES = frozenset({"dress", "skirt", "earring", "necklace"})
SHOWN = frozenset(
    {
        "read",
        "buy",
        "open",
        "close",
        "watch",
        "choose",
        "wear",
        "use",
        "understand",
        "solve",
        "correct",
        "prefer",
        "try on",
        "sing",
        "translate",
        "clean",
    }
)
COUNTED = frozenset(
    {
        "buy",
        "eat",
        "see",
        "write",
        "send",
        "receive",
        "order",
        "pick",
        "have",
        "sell",
        "break",
        "read",
        "correct",
        "draw",
    }
)
WHEN = {
    "past": (
        ("yesterday", "ieri"),
        ("last night", "ieri sera"),
        ("last week", "la settimana scorsa"),
        ("this morning", "stamattina"),
        ("two days ago", "due giorni fa"),
        ("on Monday", "lunedì"),
        ("on Saturday", "sabato"),
        ("a week ago", "una settimana fa"),
        ("last month", "il mese scorso"),
        ("yesterday evening", "ieri sera"),
        ("on Friday", "venerdì"),
        ("an hour ago", "un'ora fa"),
        ("on Wednesday", "mercoledì"),
    ),
    "present": (
        ("every day", "ogni giorno"),
        ("every morning", "ogni mattina"),
        ("in the evening", "la sera"),
        ("on Sundays", "la domenica"),
        ("every week", "ogni settimana"),
        ("every Saturday", "ogni sabato"),
        ("in the morning", "la mattina"),
        ("in the afternoon", "il pomeriggio"),
    ),
    "progressive": (("now", "adesso"), ("at the moment", "in questo momento")),
    "future": (
        ("tomorrow", "domani"),
        ("next week", "la settimana prossima"),
        ("tonight", "stasera"),
        ("tomorrow morning", "domani mattina"),
        ("on Tuesday", "martedì"),
        ("on Thursday", "giovedì"),
        ("in two days", "fra due giorni"),
        ("next month", "il mese prossimo"),
        ("on Sunday", "domenica"),
        ("this afternoon", "questo pomeriggio"),
        ("after dinner", "dopo cena"),
    ),
}
WHEN["used_to"] = (("every day", "ogni giorno"), ("every summer", "ogni estate"), ("every Sunday", "ogni domenica"))


def verb_object(
    rng: Random, chosen: Verb, who: Phrase, tense: str = "past", negative: bool = False, plain: bool = False
) -> Phrase | None:
    """An object that goes with the verb and its subject, with a fitting determiner and sometimes an adjective."""
    noun = rng.choice(named(*chosen.objects))
    if not _goes_with(noun, chosen, who, tense):
        return None
    if noun.en_plural:
        determiner, several = _counted_determiner(rng, noun, chosen, who, negative)
    else:
        determiner, several = _mass_determiner(rng, noun, chosen, tense, negative), False
    combos = frozenset({combo(chosen.it, noun.it)})
    if determiner == "no article":  # English "prepare lunch, study art", Italian "preparare il pranzo, studiare arte"
        phrase = noun_phrase(noun, "bare" if "subject" in noun.classes else "the")
        return Phrase(noun.en, phrase.it, phrase.gender, False, combos)
    adjective = None if plain else _adjective(rng, noun, chosen, determiner)
    phrase = noun_phrase(noun, determiner, several, adjective, count=rng.choice((2, 2, 3, 3, 4, 5, 6)))
    return replace(phrase, combos=phrase.combos | combos)


def _goes_with(noun: Noun, chosen: Verb, who: Phrase, tense: str) -> bool:
    """Whether the noun is natural for this subject and this tense."""
    if chosen.en in ("wear", "iron", "wash", "lose", "find") and not who.plural and who is not YOU:
        others = WOMENS_CLOTHES if who.gender == "m" else {"tie"}
        if noun.en in others:
            return False
    if who.noun and "child" in who.noun.classes and chosen.en in ("drive", "park", "rent", "build"):
        return False
    if tense not in ("present", "used_to"):
        return True
    if chosen.en == "buy":  # what one does every day
        return bool(noun.classes & {"food", "drink", "reading"})
    if chosen.en == "take":
        return "transport" in noun.classes
    return chosen.en not in ("read", "write") or noun.en in EVERYDAY_READING


def _mass_determiner(rng: Random, noun: Noun, chosen: Verb, tense: str, negative: bool) -> str:
    """A determiner for what is not counted."""
    if "subject" in noun.classes or ("meal" in noun.classes and chosen.en == "prepare"):
        return "no article"
    kinds = ["the", "the"]
    if noun.classes & {"food", "drink", "seasoning"}:
        if negative or tense in ("present", "used_to"):
            kinds += ["bare"] if chosen.en in BARE else []
        else:
            kinds += ["some", "some"]
        if not negative and chosen.en in ("eat", "drink", "buy", "order"):
            kinds += ["too many", "many"]
    return rng.choice(kinds)


def _counted_determiner(rng: Random, noun: Noun, chosen: Verb, who: Phrase, negative: bool) -> tuple[str, bool]:
    """A determiner for what is counted, and whether there are several of it."""
    classes = noun.classes
    if "instrument" in classes and chosen.en in ("play", "teach", "study"):
        return "the", False
    if classes & {"man", "woman", "child"}:
        return "the", rng.random() < 0.25
    if "friend" in classes:
        return who.owner, rng.random() < 0.5
    if chosen.en in ("build", "rent", "drive", "park") or (chosen.en, noun.en) == ("look for", "flat"):
        return rng.choice(("a", "the") if chosen.en in ("build", "rent", "look for") else ("the", "this")), False
    several = rng.random() < (0.9 if "vegetable" in classes else 0.25)
    if "pair" in classes and chosen.en not in ("lose", "find", "look for"):
        several = True
    if noun.en == "flower" and chosen.en in ("send", "buy", "receive"):
        several = True
    if chosen.en == "have":
        if negative:
            return "a", False
        return rng.choice(("number", "many", "some") if several else ("a", "a", "another")), several
    if chosen.en in POSSESSED and not classes & {"food", "drink"}:
        if rng.random() < 0.3:
            return "the", several
        if not who.plural and not classes & OWNED_SEVERAL and noun.en not in ("key", "pen", "pencil", "candle", "gift"):
            several = False  # one person has one kitchen, one wallet
        return who.owner, several or (who.plural and bool(classes & {"wearable", "portable"}))
    kinds = ["the"] * 3
    if several and not negative and chosen.en in COUNTED:
        kinds += ["some", "number"]
        if chosen.en in ("buy", "read", "write", "receive", "see", "send"):
            kinds += ["many", "too many"]
    elif not several and chosen.en not in DEFINITE:
        kinds += ["a"] * 3 + ["another"]
    if chosen.en in SHOWN:
        kinds += ["this", "that"]
    determiner = rng.choice(kinds)
    return "the" if determiner == "number" and "pair" in classes else determiner, several


def _adjective(rng: Random, noun: Noun, chosen: Verb, determiner: str) -> Adjective | None:
    """Sometimes an adjective that fits the noun, the verb and the determiner."""
    options = adjectives_for(noun)
    if chosen.en == "build" or not options or determiner not in ("a", "the", "some") or rng.random() > 0.3:
        return None
    adjective = rng.choice(options)
    if adjective.en == "dirty" and chosen.en not in ("see", "find", "wash", "clean"):
        return None
    if adjective.en in ("broken", "empty", "full", "famous") and chosen.en not in ("see", "find", "repair"):
        return None
    return None if adjective.en in OPINIONS and determiner != "a" else adjective


def object_text(chosen: Verb, thing: Phrase) -> str:
    """The Italian object with the preposition that the verb governs: "di una chiave"."""
    return italian.prefixed(chosen.preposition, thing.it) if chosen.preposition else thing.it


def with_time(rng: Random, tense: str, en: str, it: str, chance: float = 0.5) -> tuple[str, str]:
    """Add a time that goes with the tense, mostly at the end."""
    if tense not in WHEN or rng.random() > chance:
        return en, it
    when_en, when_it = rng.choice(WHEN[tense])
    if tense in ("past", "future") and rng.random() < 0.25:
        return f"{when_en} {en}", f"{when_it} {it}"
    return f"{en} {when_en}", f"{it} {when_it}"


ACCIDENTS = frozenset({"lose", "break", "forget"})


def action(rng: Random, tense: str, who: Phrase, negative: bool = False) -> tuple[Verb, Phrase] | None:
    """A verb that can stand in this tense and an object for it."""
    chosen = rng.choice(verbs())
    if tense in ("future", "conditional") and chosen.en in ACCIDENTS and not negative:
        return None
    if chosen.state and tense in ("progressive", "was_doing", "perfect", "conditional", "used_to", "future"):
        return None
    if chosen.en == "prefer" and negative:
        return None
    if chosen.en in ("wear", "know") and tense in ("progressive", "was_doing"):
        return None
    if tense in ("present", "used_to") and not chosen.state and chosen.en not in HABITS:
        return None
    if tense in ("progressive", "was_doing") and chosen.en in (
        "lose",
        "find",
        "forget",
        "break",
        "see",
        "meet",
        "receive",
    ):
        return None
    thing = verb_object(rng, chosen, who, tense, negative)
    if thing and thing.en.startswith("another ") and tense in ("present", "used_to"):
        return None
    return (chosen, thing) if thing else None
