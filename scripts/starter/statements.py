"""Sentence patterns of a verb with its object: statements, questions, modal verbs, two verbs."""

from random import Random

from scripts.starter import italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import action, object_text, verb_object, with_time
from scripts.starter.grammar import (
    MODALS,
    WE,
    YOU,
    Clause,
    I,
    Sentence,
    sentence,
    subject,
)
from scripts.starter.lexicon import verb, verb_of
from scripts.starter.registry import pattern

STATEMENT_TENSES = (
    "present",
    "progressive",
    "past",
    "past",
    "past",
    "past",
    "future",
    "future",
    "future",
    "used_to",
    "conditional",
    "was_doing",
)


@pattern(1440)
def statement(rng: Random) -> Sentence | None:
    """She bought a red dress yesterday."""
    tense = rng.choice(STATEMENT_TENSES)
    who = subject(rng)
    drawn = action(rng, tense, who)
    if not drawn:
        return None
    chosen, thing = drawn
    adverb = ""
    if tense == "present" and not chosen.state and rng.random() < 0.4:
        adverb = rng.choice(("always", "often", "never"))
    clause = Clause(who, chosen, tense, thing.en, object_text(chosen, thing), adverb=adverb)
    en, it = clause.en, clause.it
    lasting = chosen.en in ("build", "rent") or (thing.noun is not None and "building" in thing.noun.classes)
    if not chosen.state and not adverb and not lasting:
        en, it = with_time(rng, tense, en, it, 1.0 if tense == "present" else 0.4)
    return sentence(en, it, f"statement/{tense}", thing.combos)


@pattern(370)
def negative_statement(rng: Random) -> Sentence | None:
    """He didn't close the door."""
    tense = rng.choice(("present", "progressive", "past", "past", "future", "conditional"))
    who = subject(rng)
    drawn = action(rng, tense, who, negative=True)
    if not drawn:
        return None
    chosen, thing = drawn
    if thing.en.startswith(("another ", "a ", "an ")) and not chosen.state:
        return None
    clause = Clause(who, chosen, tense, thing.en, object_text(chosen, thing), negative=True)
    return sentence(clause.en, clause.it, f"negative/{tense}", thing.combos)


@pattern(290)
def perfect(rng: Random) -> Sentence | None:
    """We have already seen the film. They haven't paid for the tickets yet."""
    who = subject(rng)
    drawn = action(rng, "perfect", who)
    if not drawn:
        return None
    chosen, thing = drawn
    adverb = rng.choice(("already", "never", "just", "yet"))
    if chosen.en in ("lose", "forget", "break") and adverb == "yet":
        return None
    if adverb == "never" and chosen.en == "find":
        return None
    if adverb == "never" and thing.en.startswith(("the ", "some ", "another ", "my ", "your ")):
        return None
    if adverb == "yet" and thing.en.startswith(("a ", "an ", "some ", "another ")):
        return None
    clause = Clause(who, chosen, "perfect", thing.en, thing.it, negative=adverb == "yet", adverb=adverb)
    return sentence(clause.en, clause.it, f"perfect/{adverb}", thing.combos)


@pattern(400)
def yes_no_question(rng: Random) -> Sentence | None:
    """Did you see the match? Will she sell the house?"""
    tense = rng.choice(("present", "progressive", "past", "past", "future", "conditional"))
    who = subject(rng)
    if who in (I, WE):
        return None
    drawn = action(rng, tense, who)
    if not drawn:
        return None
    chosen, thing = drawn
    clause = Clause(who, chosen, tense, thing.en, object_text(chosen, thing), question=True)
    en, it = clause.en, clause.it
    if tense == "present" and not chosen.state:
        en, it = with_time(rng, tense, en, it, 1.0)
    return sentence(en, it, f"question/{tense}", thing.combos, mark="?")


@pattern(320)
def modal(rng: Random) -> Sentence | None:
    """You should call your mother. They can't open the gate."""
    tense = rng.choice(tuple(name for name in MODALS if name != "could"))
    who = subject(rng)
    negative = rng.random() < 0.25
    drawn = action(rng, "past", who, negative)
    if not drawn or drawn[0].state:
        return None
    chosen, thing = drawn
    if chosen.en in ("lose", "break", "forget") or (negative and thing.en.startswith(("a ", "an ", "another "))):
        return None
    if tense == "have to" and negative:
        return None  # "don't have to" and "mustn't" differ in English, not in Italian
    clause = Clause(who, chosen, tense, thing.en, thing.it, negative=negative)
    return sentence(clause.en, clause.it, f"modal/{tense}{'/negative' if negative else ''}", thing.combos)


@pattern(90)
def polite_question(rng: Random) -> Sentence | None:
    """Could you open the window, please? Can I use the phone?"""
    who = rng.choice((YOU, YOU, I, WE))
    tense = "could" if who is YOU else "can"
    chosen = rng.choice(
        [
            verb(name)
            for name in (
                "open",
                "close",
                "repair",
                "clean",
                "bring",
                "take",
                "turn on",
                "turn off",
                "use",
                "buy",
                "read",
                "explain",
                "translate",
                "wash",
                "park",
                "see",
            )
        ]
    )
    thing = verb_object(rng, chosen, who, plain=True)
    if not thing or thing.en.startswith(("some", "many", "too", "a lot", "another")):
        return None
    if who is YOU and (chosen.en == "use" or (thing.noun and "transport" in thing.noun.classes)):
        return None
    if thing.en.startswith(("a ", "an ")) and chosen.en not in ("bring", "buy", "take", "open", "see"):
        return None
    clause = Clause(who, chosen, tense, thing.en, thing.it, question=True)
    please_en, please_it = (", please", ", per favore") if who is YOU and rng.random() < 0.6 else ("", "")
    return sentence(clause.en + please_en, clause.it + please_it, "polite", thing.combos, mark="?")


CHAINS = (
    ("decide = decidere", "di", ("past",)),
    ("try = cercare", "di", ("past", "future", "progressive")),
    ("forget, forgot, forgotten = dimenticare", "di", ("past",)),
    ("hope = sperare", "di", ("present",)),
    ("begin, began, begun = cominciare", "a", ("past", "future")),
    ("promise = promettere", "di", ("past",)),
    ("manage = riuscire", "a", ("past",)),
    ("offer = offrire", None, ()),
)


@pattern(260)
def two_verbs(rng: Random) -> Sentence | None:
    """We decided to sell the car."""
    spec, preposition, tenses = rng.choice(CHAINS)
    if not tenses or preposition is None:
        return None
    first, tense, who = verb_of(spec), rng.choice(tenses), subject(rng)
    drawn = action(rng, "past", who)
    if (
        not drawn
        or drawn[0].state
        or drawn[0].en in ("lose", "break", "forget", "see", "receive", "meet", "wear", "drive")
    ):
        return None
    second, thing = drawn
    if second.en == "find" and first.en not in ("try", "hope", "manage"):
        return None
    if first.it == "dimenticare" and second.en in ("build", "study", "teach", "draw", "taste", "rent"):
        return None
    if first.it in ("cominciare", "riuscire") and thing.en.startswith(("another", "some", "many", "too", "a ")):
        return None
    if first.it == "riuscire" and second.en == "wait for":
        return None
    if first.it == "cominciare" and second.en in (
        "find",
        "finish",
        "sell",
        "open",
        "close",
        "buy",
        "turn on",
        "turn off",
        "take",
        "send",
        "choose",
        "order",
        "greet",
        "call",
        "invite",
    ):
        return None
    negative = rng.random() < 0.12 and first.it in ("riuscire",)
    auxiliary_group = Clause(who, first, tense, f"to {second.en} {thing.en}", negative=negative)
    it = auxiliary_group.it
    if first.it == "riuscire":
        participle = conjugation.participle("riuscire", who.gender, who.plural)
        it = italian.join(who.it, "non" if negative else "", conjugation.present("essere")[who.slot], participle)
    it = f"{it} {italian.prefixed(preposition, second.it)} {thing.it}"
    return sentence(auxiliary_group.en, it, f"two_verbs/{first.en}", thing.combos)
