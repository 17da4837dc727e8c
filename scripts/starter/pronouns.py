"""Sentence patterns with object pronouns, orders, giving, liking."""

from random import Random

from scripts.starter import italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import with_time
from scripts.starter.being import to_be
from scripts.starter.grammar import (
    DATIVES,
    MEN,
    OBJECT_PRONOUNS,
    PRONOUNS,
    WE,
    WOMEN,
    Clause,
    I,
    Phrase,
    Sentence,
    combo,
    name,
    noun_phrase,
    overlap,
    relative,
    sentence,
    subject,
)
from scripts.starter.lexicon import Verb, adjectives_for, named, verb, verb_of
from scripts.starter.registry import pattern

PRONOUN_OF_SLOT = {0: "me", 1: "you", 3: "us"}


def clitic_clause(
    who: Phrase,
    chosen: Verb,
    tense: str,
    pronoun: str,
    clitic: str,
    *,
    agreement: tuple[str, bool] | None = None,
    negative: bool = False,
    question: bool = False,
    drop: bool = False,
    adverb: str = "",
) -> Clause:
    """A clause whose object is a pronoun."""
    return Clause(who, chosen, tense, pronoun, "", negative, question, adverb, clitic, agreement, drop)


PEOPLE_VERBS = (
    *(verb(name) for name in ("meet", "call", "help", "invite", "wait for", "greet")),
    verb_of("see, saw, seen = vedere"),
    verb_of("look for = cercare"),
    verb_of("thank = ringraziare"),
    verb_of("understand, understood, understood = capire"),
    verb_of("listen to = ascoltare"),
    verb_of("accompany, accompanied, accompanied = accompagnare"),
)


@pattern(340)
def person_pronoun(rng: Random) -> Sentence | None:
    """I saw her yesterday. Did you call them?"""
    who, chosen = subject(rng), rng.choice(PEOPLE_VERBS)
    pronoun = rng.choice(("me", "you", "him", "her", "us", "them", "him", "her"))
    if pronoun == PRONOUN_OF_SLOT.get(who.slot) or (who.slot in (0, 3) and pronoun in ("me", "us")):
        return None
    tense = rng.choice(("past", "past", "past", "future", "present", "conditional"))
    clitic = OBJECT_PRONOUNS[pronoun]
    agreement = {"her": ("f", False), "us": ("m", True), "them": ("m", True)}.get(pronoun)
    form = rng.choices(("statement", "negative", "question"), (5, 2, 1.5))[0]
    if form == "question" and who is I:
        return None
    adverb = rng.choice(("always", "often", "never")) if tense == "present" and form == "statement" else ""
    if tense == "present" and form != "statement":
        return None
    clause = clitic_clause(
        who,
        chosen,
        tense,
        pronoun,
        clitic,
        agreement=agreement,
        negative=form == "negative",
        question=form == "question",
        adverb=adverb,
    )
    en, it = clause.en, clause.it
    if not adverb:
        en, it = with_time(rng, tense, en, it, 0.4) if form == "statement" else (en, it)
    combos = frozenset({combo(chosen.it, pronoun, clause.subject.en)})
    return sentence(en, it, f"person_pronoun/{tense}/{form}", combos, "?" if form == "question" else ".")


# What one may want to do with a thing that is like this; the last ones are reasons against it.
REASONS_TO = {
    "wash": ("dirty",),
    "clean": ("dirty",),
    "iron": ("clean",),
    "repair": ("broken", "old"),
    "sell": ("old", "big", "small", "expensive"),
    "buy": ("beautiful", "cheap", "comfortable", "modern", "fresh", "elegant", "expensive"),
    "read": ("interesting", "important", "famous", "funny", "long"),
    "write": ("important",),
    "eat": ("fresh", "ripe", "sweet", "delicious"),
    "drink": ("fresh", "cold"),
    "see": ("interesting", "funny", "famous"),
    "use": ("new", "modern", "useful", "clean", "broken"),
    "choose": ("beautiful", "comfortable", "elegant", "cheap", "expensive"),
    "take": ("clean", "new", "useful", "heavy"),
    "finish": ("easy", "important", "interesting", "difficult"),
    "send": ("important",),
    "open": ("important",),
}
AGAINST = {
    ("buy", "expensive"),
    ("choose", "expensive"),
    ("take", "heavy"),
    ("finish", "difficult"),
    ("use", "broken"),
    ("read", "long"),
}
THING_VERBS = (
    "lose",
    "find",
    "buy",
    "sell",
    "forget",
    "wash",
    "clean",
    "repair",
    "read",
    "write",
    "eat",
    "drink",
    "see",
    "hide",
    "break",
    "bring",
    "take",
    "open",
    "close",
    "use",
    "choose",
    "send",
    "iron",
    "finish",
)


@pattern(320)
def thing_pronoun(rng: Random) -> Sentence | None:
    """Where are the keys? I have lost them."""
    chosen = verb(rng.choice(THING_VERBS))
    who = subject(rng)
    noun = rng.choice(named(*chosen.objects))
    if noun.classes & {"person", "building", "meal"}:
        return None
    plural = bool(noun.en_plural) and rng.random() < (0.9 if "pair" in noun.classes else 0.4)
    thing = noun_phrase(noun, "the", plural)
    pronoun, clitic = ("them" if plural else "it"), conjugation.object_clitic(thing.gender, plural)
    tense = rng.choice(("past", "past", "past", "future"))
    combos = frozenset({combo(chosen.it, noun.it)})
    form = rng.choice(("where", "topic", "bought"))
    agreement = (thing.gender, plural)
    clause = clitic_clause(who, chosen, tense, pronoun, clitic, agreement=agreement)
    if form == "where":
        if who.noun and "family" not in who.noun.classes:
            return None
        if (
            chosen.en in ("read", "write", "see", "iron", "open", "close", "wash", "clean", "choose")
            or tense == "future"
        ):
            return None
        be, where = ("are", "dove sono") if plural else ("is", "dov'è")
        return sentence(
            f"where {be} {thing.en}? {capital(clause.en)}",
            f"{where} {thing.it}? {capital(clause.it)}",
            "thing_pronoun/where",
            combos,
        )
    if form == "topic":
        question = rng.random() < 0.3
        if question and who in (I, WE):
            return None
        asked = clitic_clause(
            who,
            chosen,
            tense,
            pronoun,
            clitic,
            agreement=agreement,
            question=question,
            negative=not question and rng.random() < 0.3,
        )
        en, it = asked.en, asked.it
        return sentence(
            f"{thing.en}? {capital(en)}",
            f"{thing.it}? {capital(it)}",
            f"thing_pronoun/topic/{tense}/{question}",
            combos,
            "?" if question else ".",
        )
    first = verb(rng.choice(("buy", "find", "take", "receive")))
    if noun not in named(*first.objects) or first == chosen or chosen.en in ("buy", "find", "take", "bring", "write"):
        return None
    opening = Clause(who, first, "past", thing.en, thing.it)
    then = clitic_clause(who, chosen, "past", pronoun, clitic, agreement=agreement, drop=True)
    return sentence(
        f"{opening.en} and {then.verb.en_past} {pronoun}", f"{opening.it} e {then.it}", "thing_pronoun/and", combos
    )


def capital(text: str) -> str:
    """`text` with a capital first letter."""
    return text[0].upper() + text[1:]


@pattern(120)
def reason_to(rng: Random) -> Sentence | None:
    """The shirt is dirty and I must wash it. The coat is expensive and she can't buy it."""
    chosen, who = verb(rng.choice(tuple(REASONS_TO))), subject(rng)
    noun = rng.choice(named(*chosen.objects))
    plural = bool(noun.en_plural) and ("pair" in noun.classes or rng.random() < 0.35)
    thing = noun_phrase(noun, "the", plural)
    pronoun, clitic = ("them" if plural else "it"), conjugation.object_clitic(thing.gender, plural)
    be, essere = to_be(thing.slot, "present")
    modal = rng.choice(("must", "want to", "can't", "should"))
    finite = {
        "must": conjugation.present("dovere"),
        "want to": conjugation.present("volere"),
        "can't": conjugation.present("potere"),
        "should": conjugation.conditional("dovere"),
    }[modal][who.slot]
    options = [adjective for adjective in adjectives_for(noun) if adjective.en in REASONS_TO[chosen.en]]
    if not options or who not in PRONOUNS:
        return None
    adjective = rng.choice(options)
    if ((chosen.en, adjective.en) in AGAINST) != (modal == "can't"):
        return None
    agreed = italian.adjective(adjective.it, thing.gender, plural, adjective.it_plural)
    want = (
        Clause(who, chosen, "want to", pronoun).en if modal == "want to" else f"{who.en} {modal} {chosen.en} {pronoun}"
    )
    it = italian.join(
        thing.it,
        essere,
        agreed,
        "e",
        who.it,
        "non" if modal == "can't" else "",
        finite,
        conjugation.infinitive_with(chosen.it, clitic),
    )
    return sentence(
        f"{thing.en} {be} {adjective.en} and {want}",
        it,
        f"reason_to/{modal}",
        frozenset({combo(chosen.it, noun.it)}) | {combo(adjective.en, noun.en)},
    )


GIVING = (
    (
        verb_of("give, gave, given = dare"),
        ("book", "key", "gift", "flower", "ticket", "bottle", "apple", "newspaper", "umbrella", "pen"),
    ),
    (
        verb_of("bring, brought, brought = portare"),
        ("coffee", "newspaper", "flower", "gift", "book", "cake", "glass", "chair", "blanket"),
    ),
    (
        verb_of("show, showed, shown = mostrare"),
        ("photograph", "letter", "garden", "house", "passport", "map", "message"),
    ),
    (verb_of("send, sent, sent = mandare"), ("letter", "email", "photograph", "gift", "message", "flower")),
    (verb_of("write, wrote, written = scrivere"), ("letter", "message", "email", "poem")),
    (verb_of("lend, lent, lent = prestare"), ("car", "bicycle", "umbrella", "book", "pen", "dictionary", "coat")),
    (verb_of("explain = spiegare"), ("problem", "exercise", "lesson", "word")),
    (verb_of("tell, told, told = raccontare"), ("story", "fairy_tale", "secret")),
)


def given(rng: Random, names: tuple[str, ...]) -> Phrase:
    """Something to give, show or send."""
    noun = rng.choice(named(*names))
    plural = bool(noun.en_plural) and rng.random() < 0.3
    kinds = ("the", "some", "number") if plural else (("the", "a") if noun.en_plural else ("the",))
    return noun_phrase(noun, rng.choice(kinds), plural, count=rng.choice((2, 3)))


@pattern(320)
def giving(rng: Random) -> Sentence | None:
    """She gave him a book. We sent some flowers to our grandmother."""
    chosen, names = rng.choice(GIVING)
    who, thing = subject(rng), given(rng, names)
    tense = rng.choice(("past", "past", "past", "future", "conditional", "progressive"))
    form = rng.choices(("statement", "negative", "question"), (5, 1, 1.5))[0]
    if (form == "question" and who in (I, WE)) or (form == "negative" and thing.en.split()[0] in ("a", "an", "some")):
        return None
    noun = thing.noun
    assert noun is not None
    if rng.random() < 0.55:
        pronoun = rng.choice(tuple(DATIVES))
        if pronoun == PRONOUN_OF_SLOT.get(who.slot) or (who.slot in (0, 3) and pronoun in ("me", "us")):
            return None
        en_rest = f"{thing.en} to {pronoun}" if chosen.en == "explain" else f"{pronoun} {thing.en}"
        clause = Clause(
            who, chosen, tense, en_rest, thing.it, form == "negative", form == "question", clitic=DATIVES[pronoun]
        )
    else:
        to = relative(rng) if rng.random() < 0.6 else name(rng.choice(MEN + WOMEN))
        if overlap(who, to):
            return None
        en_rest = f"{thing.en} to {to.en}"
        clause = Clause(
            who,
            chosen,
            tense,
            en_rest,
            f"{thing.it} {italian.prefixed('a', to.it)}",
            form == "negative",
            form == "question",
        )
    kind = "pronoun" if clause.clitic else "person"
    return sentence(
        clause.en,
        clause.it,
        f"giving/{kind}/{tense}/{form}",
        frozenset({combo(chosen.it, noun.it, "to")}),
        "?" if form == "question" else ".",
    )
