"""Which verb goes with which object, determiner, tense and time."""

from random import Random

from scripts.starter import italian
from scripts.starter.grammar import (
    YOU,
    Phrase,
    combo,
    noun_phrase,
)
from scripts.starter.lexicon import Verb, adjectives_for, named, verbs

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
EVERYDAY_READING = frozenset({"newspaper", "magazine", "book", "letter", "email", "message", "article"})
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
    rng: Random, chosen: Verb, subject_: Phrase, tense: str = "past", negative: bool = False, plain: bool = False
) -> Phrase | None:
    """An object that goes with the verb, with a fitting determiner and sometimes an adjective."""
    noun = rng.choice(named(*chosen.objects))
    if chosen.en in ("wear", "try on"):
        alone = not subject_.plural and subject_ is not YOU
        if alone and (
            (noun.en in WOMENS_CLOTHES and subject_.gender == "m") or (noun.en == "tie" and subject_.gender == "f")
        ):
            return None
    if chosen.en == "buy" and tense in ("present", "used_to") and not noun.classes & {"food", "drink", "reading"}:
        return None
    if tense in ("present", "used_to") and (
        (chosen.en in ("read", "write") and noun.en not in EVERYDAY_READING)
        or (chosen.en == "take" and "transport" not in noun.classes)
    ):
        return None
    classes, several = noun.classes, False
    if not noun.en_plural:
        kinds = ["the"] * 2
        if classes & {"food", "drink", "seasoning", "mass"}:
            kinds += ["bare"] if tense in ("present", "used_to") or negative else ["some"] * 2
            if not negative and chosen.en in ("eat", "drink", "buy", "order"):
                kinds += ["too many", "many"]
        elif "meal" in classes:
            kinds = ["the" if chosen.en != "prepare" else "bare_the"]
        if classes & {"subject"}:
            kinds = ["bare_the"]
        determiner = rng.choice(kinds)
    elif "instrument" in classes and chosen.en in ("play", "teach", "study"):
        determiner = "the"
    elif classes & {"man", "woman", "child"}:
        determiner, several = "the", rng.random() < 0.25
    elif classes & {"friend"}:
        determiner, several = subject_.owner, rng.random() < 0.5
    elif "family" in classes:
        determiner = subject_.owner
    else:
        several = rng.random() < (0.9 if "vegetable" in classes else 0.25)
        if "pair" in classes and chosen.en not in ("lose", "find", "look for"):
            several = True
        if noun.en == "flower" and chosen.en in ("send", "buy", "receive"):
            several = True
        kinds = ["the"] * 3 + (["some", "the", "number"] if several else ["a"] * 3 + ["another"])
        if several and chosen.en not in COUNTED:
            kinds = ["the"]
        if several and negative:
            kinds = ["the"]
        if chosen.en in ("water", "know", "remember", "greet", "turn on", "turn off", "correct", "understand"):
            kinds = ["the"]
        if chosen.en in SHOWN:
            kinds += ["this", "that"]
        if chosen.en in POSSESSED and not classes & {"food", "drink"} and noun.en != "bus":
            kinds = ["the", "own", "own"]
        if several and chosen.en in ("buy", "read", "write", "receive", "see", "send"):
            kinds += ["many", "too many"]
        if chosen.en in ("build", "drive", "park", "rent"):
            kinds, several = ["a", "the"] if chosen.en in ("build", "rent") else ["the", "this"], False
        if chosen.en == "have":
            kinds = ["number", "many", "some"] if several else ["a", "a", "another"]
            several = several and not negative
            kinds = ["a"] if negative else kinds
        if chosen.en == "need":
            kinds = ["a", "a", "the", "this"] if not several else ["the", "number"]
        determiner = rng.choice(kinds)
        if determiner == "own":
            determiner = subject_.owner
            several = several or (subject_.plural and bool(classes & {"wearable", "portable"}))
        if determiner == "number" and "pair" in classes:
            determiner = "the"
    options = adjectives_for(noun)
    adjective = None
    if not plain and options and determiner in ("a", "the", "some", "another") and rng.random() < 0.3:
        adjective = rng.choice(options)
        if (adjective.en in ("broken", "empty", "full", "famous") and chosen.en not in ("see", "find", "repair")) or (
            adjective.en in OPINIONS and determiner != "a"
        ):
            adjective = None
    if determiner == "bare_the":
        phrase = noun_phrase(noun, "bare" if "subject" in classes else "the")  # studiare storia, preparare la cena
        return Phrase(noun.en, phrase.it, phrase.gender, False, combos=frozenset({combo(chosen.it, noun.it)}))
    if determiner == "another" and adjective:
        adjective = None
    phrase = noun_phrase(noun, determiner, several, adjective, count=rng.choice((2, 2, 3, 3, 4, 5, 6)))
    return Phrase(
        phrase.en,
        phrase.it,
        phrase.gender,
        phrase.plural,
        phrase.combos | {combo(chosen.it, noun.it)},
        person=phrase.person,
        noun=noun,
    )


def object_text(chosen: Verb, thing: Phrase) -> str:
    """The Italian object with the preposition that the verb governs: "di una chiave"."""
    return italian.prefixed(chosen.preposition, thing.it) if chosen.preposition else thing.it


def with_time(rng: Random, tense: str, en: str, it: str, chance: float = 0.5) -> tuple[str, str]:
    """Add a time that goes with the tense, mostly at the end."""
    if tense not in WHEN or rng.random() > chance:
        return en, it
    when_en, when_it = rng.choice(WHEN[tense])
    if tense in ("past", "future") and rng.random() < 0.25 and not en.startswith("not "):
        return f"{when_en} {en}", f"{when_it} {it}"
    return f"{en} {when_en}", f"{it} {when_it}"


ACCIDENTS = frozenset({"lose", "break", "forget"})


def action(rng: Random, tense: str, who: Phrase, negative: bool = False) -> tuple[Verb, Phrase] | None:
    """A verb that can stand in this tense and an object for it."""
    chosen = rng.choice(verbs())
    if tense == "future" and chosen.en in ACCIDENTS and not negative:
        return None
    if chosen.state and tense in ("progressive", "was_doing", "perfect", "conditional", "used_to", "future"):
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
    return (chosen, thing) if thing else None
