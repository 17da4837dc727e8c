"""Questions with a question word."""

from random import Random

from scripts.starter import italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import action
from scripts.starter.grammar import (
    PRONOUNS,
    WE,
    Clause,
    I,
    Phrase,
    Sentence,
    combo,
    noun_phrase,
    sentence,
    subject,
)
from scripts.starter.lexicon import named, verb, verb_of
from scripts.starter.pronouns import PEOPLE_VERBS
from scripts.starter.registry import pattern


@pattern(400)
def wh_question(rng: Random) -> Sentence | None:
    """What did Anna buy? Who opened the door? Where did you find the key? How many apples did they eat?"""
    kind = rng.choice(("who", "where", "when", "why", "how many", "which", "whom", "what"))
    who = subject(rng)
    tense = rng.choice(("past", "past", "future"))
    if kind == "who":
        asker = Phrase("who", "chi", "m", False)
        drawn = action(rng, tense, asker)
        if not drawn or drawn[0].state:
            return None
        chosen, thing = drawn
        if thing.en.startswith(("his ", "their ", "another", "too")) or "some" in thing.en:
            return None
        clause = Clause(asker, chosen, tense, thing.en, thing.it)
        return sentence(clause.en, clause.it, f"wh/who/{tense}", thing.combos, "?")
    if who in (I, WE):
        return None
    # Italian puts the subject of such a question after the verb: "Che cosa ha comprato Anna?"
    # Where that would be heavy or ambiguous, only pronouns are asked about, and they are dropped.
    alone = who in PRONOUNS
    if kind == "what":
        chosen = verb(
            rng.choice(
                (
                    "eat",
                    "drink",
                    "cook",
                    "buy",
                    "read",
                    "write",
                    "watch",
                    "study",
                    "see",
                    "draw",
                    "bring",
                    "find",
                    "lose",
                    "forget",
                    "sell",
                    "choose",
                    "order",
                    "prepare",
                    "repair",
                    "hide",
                )
            )
        )
        front_en, front_it, combos = "what", "che cosa", frozenset({combo("what", chosen.it, who.en)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    elif kind == "whom":
        chosen = rng.choice(PEOPLE_VERBS[:6])
        if chosen.en == "wait for" or not alone:
            return None
        front_en, front_it, combos = "who", "chi", frozenset({combo("whom", chosen.it, who.en)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    elif kind == "when" and not alone:
        spec = rng.choice(("arrive = arrivare", "leave, left, left = partire", "return = tornare", "call = telefonare"))
        chosen = verb_of(spec)
        front_en, front_it, combos = "when", "quando", frozenset({combo("when", chosen.it, who.en)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    elif kind in ("where", "when", "why"):
        if kind == "where" and not alone:
            return None
        drawn = action(rng, tense, who)
        if not drawn or drawn[0].state or drawn[1].en.startswith(("some ", "many", "too", "a lot", "another")):
            return None
        chosen, thing = drawn
        if kind == "why" and chosen.en in ("receive", "find", "finish"):
            return None
        if kind == "where" and chosen.en not in (
            "buy",
            "find",
            "lose",
            "see",
            "meet",
            "hide",
            "park",
            "eat",
            "forget",
            "photograph",
            "write",
        ):
            return None
        front_en, front_it = kind, {"where": "dove", "when": "quando", "why": "perché"}[kind]
        combos = thing.combos
        clause = Clause(who, chosen, tense, thing.en, thing.it, question=True, drop_subject=True)
    else:
        chosen = verb(
            rng.choice(
                (
                    "eat",
                    "buy",
                    "read",
                    "write",
                    "see",
                    "send",
                    "receive",
                    "choose",
                    "open",
                    "sell",
                    "wear",
                    "order",
                    "translate",
                    "visit",
                )
            )
        )
        noun = rng.choice(named(*chosen.objects))
        if not noun.en_plural:
            return None
        several = kind == "how many"
        if several and chosen.en in ("choose", "open", "wear"):
            return None
        if not several and "pair" in noun.classes:
            several = True
        agreed_it = noun.it_plural if several else noun.it
        gender = noun.plural_gender if several else noun.gender
        if kind == "how many":
            front_en, front_it = (
                f"how many {noun.en_plural}",
                f"{italian.adjective('quanto', gender, True)} {agreed_it}",
            )
        else:
            front_en = f"which {noun.en_plural if several else noun.en}"
            front_it = f"{'quali' if several else 'quale'} {agreed_it}"
        combos = frozenset({combo(chosen.it, noun.it)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    if kind == "why":
        it = f"{front_it} {Clause(who, clause.verb, tense, clause.en_rest, clause.it_rest).it}"
    else:
        it = italian.join(front_it, clause.it, "" if alone else who.it)
    return sentence(f"{front_en} {clause.en}", it, f"wh/{kind}/{tense}", combos, "?")


@pattern(50)
def price_question(rng: Random) -> Sentence | None:
    """How much does this jacket cost?"""
    noun = rng.choice(named("clothes", "tableware", "reading", "furniture", "vehicle", "dish", "thing"))
    if noun.en in ("letter", "message", "email", "poem", "article", "key", "passport", "photograph", "fairy tale"):
        return None
    plural = rng.random() < (0.9 if "pair" in noun.classes else 0.3)
    thing = noun_phrase(noun, rng.choice(("this", "that", "the")), plural)
    costare = conjugation.present("costare")[thing.slot]
    return sentence(
        f"how much {'do' if plural else 'does'} {thing.en} cost",
        f"quanto {costare} {thing.it}",
        "price_question",
        frozenset({combo("cost", noun.en)}),
        "?",
    )
