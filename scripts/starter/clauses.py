"""Sentence patterns with relative clauses and subordinate clauses."""

from random import Random

from scripts.starter import italian
from scripts.starter.actions import action, verb_object
from scripts.starter.being import STATES, agree, to_be
from scripts.starter.grammar import (
    WE,
    YOU,
    Clause,
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
from scripts.starter.lexicon import adjectives_for, named, verb, verb_of
from scripts.starter.registry import pattern


@pattern(240)
def relative_object(rng: Random) -> Sentence | None:
    """The book that I bought is interesting."""
    who, tense = subject(rng), rng.choice(("past", "past", "past", "future", "progressive"))
    drawn = action(rng, tense, who)
    if not drawn or drawn[0].state:
        return None
    noun = drawn[1].noun
    if noun is None or noun.classes & {"person", "family"}:
        return None
    chosen, options = drawn[0], adjectives_for(noun)
    if not options:
        return None
    adjective = rng.choice(options)
    if adjective.en in ("broken", "full", "empty", "good") or (
        chosen.en in ("break", "eat", "drink") and tense == "past" and adjective.en in ("clean", "dirty")
    ):
        return None
    plural = bool(noun.en_plural) and (rng.random() < 0.3 or "pair" in noun.classes)
    thing = noun_phrase(noun, "the", plural)
    clause = Clause(who, chosen, tense)
    be, essere = to_be(thing.slot, "past" if tense == "past" and rng.random() < 0.4 else "present")
    agreed = italian.adjective(adjective.it, thing.gender, plural, adjective.it_plural)
    degree_en, degree_it = rng.choice((("", ""), ("very ", "molto "))) if adjective.comparative != "-" else ("", "")
    combos = frozenset({combo(chosen.it, noun.it), combo(adjective.en, noun.en)})
    return sentence(
        f"{thing.en} that {clause.en} {be} {degree_en}{adjective.en}",
        f"{thing.it} che {clause.it} {essere} {degree_it}{agreed}",
        f"relative_object/{tense}",
        combos,
    )


RELATIONS = ("family", "neighbour", "colleague", "boss", "classmate")


@pattern(150)
def relative_subject(rng: Random) -> Sentence | None:
    """The man who repaired the car is my uncle. I know the girl who lives here."""
    head = noun_phrase(rng.choice(named("man", "woman", "child")), "the")
    tense = rng.choice(("past", "past", "progressive"))
    drawn = action(rng, tense, head)
    if not drawn or drawn[0].state:
        return None
    chosen, thing = drawn
    if thing.en.startswith(("another", "his ", "her ", "too")) or (thing.noun and "person" in thing.noun.classes):
        return None
    clause = Clause(Phrase("", "", head.gender, False), chosen, tense, thing.en, thing.it)
    classes = ("brother", "sister", "cousin", "classmate") if head.en in ("the boy", "the girl") else RELATIONS
    relation = noun_phrase(
        rng.choice([noun for noun in named(*classes) if noun.gender == head.gender]),
        rng.choice(("my", "your")),
    )
    if head.noun and "child" in head.noun.classes:
        return None
    if rng.random() < 0.6:
        return sentence(
            f"{head.en} who {clause.en} is {relation.en}",
            f"{head.it} che {clause.it} è {relation.it}",
            f"relative_subject/is/{tense}",
            thing.combos,
        )
    speaker = rng.choice((I, YOU, I))
    know = Clause(
        speaker,
        verb("know", "conoscere"),
        "present",
        f"{head.en} who {clause.en}",
        f"{head.it} che {clause.it}",
        question=speaker is YOU,
    )
    return sentence(know.en, know.it, f"relative_subject/know/{tense}", thing.combos, "?" if speaker is YOU else ".")


REASONS = tuple(
    state for state in STATES if state[0] in ("tired", "ill", "busy", "worried", "late", "angry", "nervous")
)
REST_REASONS = tuple(state for state in STATES if state[0] in ("tired", "ill", "sad", "bored"))


@pattern(290)
def because(rng: Random) -> Sentence | None:
    """She stayed at home because she was tired."""
    who = subject(rng)
    tense = rng.choice(("present", "past", "past"))
    en_state, it_state = rng.choice(REASONS)
    be, essere = to_be(who.slot, tense)
    pronoun = {0: "I", 1: "you", 3: "we", 5: "they"}.get(who.slot, "she" if who.gender == "f" else "he")
    if tense == "past" and rng.random() < 0.55:
        drawn = action(rng, "past", who)
        if (
            not drawn
            or drawn[0].state
            or drawn[0].en in ("lose", "forget", "break", "receive", "see", "meet", "find")
            or drawn[1].en.startswith(("a ", "an ", "some ", "another ", "many", "too", "a lot"))
        ):
            return None
        clause = Clause(who, drawn[0], "past", drawn[1].en, drawn[1].it, negative=True)
        combos, kind = drawn[1].combos, "didn't"
    else:
        spec, en_rest, it_rest = rng.choice(
            (
                ("stay = rimanere", "at home", "a casa"),
                ("go, went, gone = andare", "to bed", "a letto"),
                ("go, went, gone = andare", "home", "a casa"),
                ("return = tornare", "home", "a casa"),
                ("stay = rimanere", "in bed", "a letto"),
                ("go, went, gone = andare", "to the doctor", "dal medico"),
            )
        )
        motion_tense = (
            "past" if tense == "past" else ("progressive" if spec.startswith(("go", "return")) else "present")
        )
        clause = Clause(who, verb_of(spec), motion_tense, en_rest, it_rest)
        en_state, it_state = ("ill", "malato") if "doctor" in en_rest else rng.choice(REST_REASONS)
        combos, kind = frozenset({combo(it_rest, en_state)}), "stay"
    it = italian.join(clause.it, "perché", essere, agree(it_state, who))
    return sentence(f"{clause.en} because {pronoun} {be} {en_state}", it, f"because/{kind}/{tense}", combos)


@pattern(240)
def when_clause(rng: Random) -> Sentence | None:
    """When Anna arrived, we were eating the cake."""
    arriving = someone(rng)
    who = subject(rng)
    if overlap(arriving, who) or who.en in ("he", "she", "they"):
        return None
    kind = rng.choice(("was_doing", "future"))
    drawn = action(rng, kind, who)
    if not drawn or drawn[0].state or drawn[0].en in ("build", "rent", "sell"):
        return None
    chosen, thing = drawn
    spec = rng.choice(("arrive = arrivare", "come, came, come = tornare", "call = telefonare"))
    en_rest = "home" if "tornare" in spec else ""
    it_rest = "a casa" if "tornare" in spec else ""
    first_it = Clause(arriving, verb_of(spec), "future" if kind == "future" else "past", en_rest, it_rest).it
    first_en = Clause(arriving, verb_of(spec), "present" if kind == "future" else "past", en_rest).en
    main = Clause(who, chosen, kind, thing.en, thing.it)
    if rng.random() < 0.5:
        return sentence(
            f"when {first_en}, {main.en}", f"quando {first_it}, {main.it}", f"when/first/{kind}", thing.combos
        )
    return sentence(f"{main.en} when {first_en}", f"{main.it} quando {first_it}", f"when/last/{kind}", thing.combos)


# The condition, and the verbs that fit it (none: any).
CONDITIONS = (
    (
        "it rains",
        "pioverà",
        ("read", "cook", "clean", "watch", "stay", "study", "prepare", "listen to", "iron", "take", "play", "finish"),
    ),
    (
        "it snows",
        "nevicherà",
        ("read", "cook", "watch", "study", "wear", "prepare", "photograph", "play", "take", "draw"),
    ),
    (
        "the weather is nice",
        "farà bel tempo",
        ("wash", "visit", "paint", "photograph", "water", "pick", "draw", "repair"),
    ),
    ("the shop is open", "il negozio sarà aperto", ("buy", "choose", "try on")),
    ("you want", "vuoi", ()),
    ("there is time", "ci sarà tempo", ()),
    ("it's possible", "sarà possibile", ()),
    ("it's necessary", "sarà necessario", ("call", "help", "repair", "sell", "translate", "explain", "correct", "buy")),
)


@pattern(190)
def if_clause(rng: Random) -> Sentence | None:
    """If it rains, we will stay at home."""
    en_if, it_if, fitting = rng.choice(CONDITIONS)
    who = subject(rng)
    drawn = action(rng, "future", who)
    if not drawn or drawn[0].state or drawn[0].en in ("lose", "forget", "break", "see", "find", "receive", "meet"):
        return None
    if (fitting and drawn[0].en not in fitting) or (en_if == "you want" and who not in (I, WE)):
        return None
    main = Clause(who, drawn[0], "future", drawn[1].en, drawn[1].it)
    if rng.random() < 0.6:
        return sentence(f"if {en_if}, {main.en}", f"se {it_if}, {main.it}", "if/first", drawn[1].combos)
    return sentence(f"{main.en} if {en_if}", f"{main.it} se {it_if}", "if/last", drawn[1].combos)


KNOWING = (
    ("I know that", "so che"),
    ("he says that", "lui dice che"),
    ("she told me that", "lei mi ha detto che"),
    ("I'm sure that", "sono sicuro che"),
    ("you know that", "sai che"),
    ("they say that", "dicono che"),
    ("we know that", "sappiamo che"),
)


@pattern(190)
def that_clause(rng: Random) -> Sentence | None:
    """I know that they sold the house."""
    en_front, it_front = rng.choice(KNOWING)
    who = someone(rng) if rng.random() < 0.6 else rng.choice((I, YOU))
    if (who is I and en_front.startswith(("I", "we"))) or (who is YOU and en_front.startswith("you")):
        return None
    tense = rng.choice(("past", "past", "future", "progressive"))
    if en_front.startswith("she told") and (tense != "past" or who in (I, YOU)):
        return None
    drawn = action(rng, tense, who)
    if not drawn or drawn[0].state:
        return None
    clause = Clause(who, drawn[0], tense, drawn[1].en, drawn[1].it)
    return sentence(f"{en_front} {clause.en}", f"{it_front} {clause.it}", f"that/{en_front}/{tense}", drawn[1].combos)


@pattern(110)
def for_someone(rng: Random) -> Sentence | None:
    """I bought a gift for my mother. He came with his friends."""
    chosen = verb(rng.choice(("buy", "cook", "prepare", "choose", "write", "translate", "sing", "iron", "draw")))
    who, other = subject(rng), someone(rng)
    if overlap(who, other):
        return None
    tense = rng.choice(("past", "past", "future", "progressive"))
    thing = verb_object(rng, chosen, who, tense)
    if not thing or thing.en.startswith(("too", "many", "this", "that", "these", "those")):
        return None
    clause = Clause(who, chosen, tense, f"{thing.en} for {other.en}", f"{thing.it} per {other.it}")
    return sentence(clause.en, clause.it, f"for_someone/{tense}", thing.combos)
