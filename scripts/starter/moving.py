"""Sentence patterns about going, staying and other doings without an object; reflexive verbs."""

from random import Random

from scripts.starter import english, italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import with_time
from scripts.starter.grammar import MODALS, WE, Clause, I, Sentence, combo, sentence, subject
from scripts.starter.lexicon import doings, places, verb_of
from scripts.starter.registry import pattern

GOING = (
    ("go, went, gone = andare", "to"),
    ("return = tornare", "to"),
    ("arrive = arrivare", "at"),
    ("come, came, come = venire", "to"),
    ("stay = rimanere", "at"),
    ("run, ran, run = correre", "to"),
)
PLACES = places()
PASSING = (
    "the post office",
    "the pharmacy",
    "the bank",
    "the market",
    "the supermarket",
    "the station",
    "the gym",
    "the airport",
    "church",
    "the stadium",
    "the zoo",
    "the museum",
    "the cinema",
    "the theatre",
)
CLOSE = ("home", "the kitchen", "the airport", "the United States", "Sicily", "Sardinia")
COMPANY = (
    ("with my friends", "con i miei amici"),
    ("by train", "in treno"),
    ("by car", "in macchina"),
    ("by bus", "in autobus"),
    ("by plane", "in aereo"),
    ("on foot", "a piedi"),
    ("alone", "da solo"),
    ("with the children", "con i bambini"),
    ("by bicycle", "in bicicletta"),
)


def place(rng: Random, word: str) -> tuple[str, str, str]:
    """A place to go "to" or to be "at": both texts and its name."""
    en, it, to, at = rng.choice(PLACES)
    preposition = to if word == "to" else at
    return f"{preposition} {en}".strip(), it, en


@pattern(430)
def going(rng: Random) -> Sentence | None:
    """Anna went to the market this morning."""
    spec, word = rng.choice(GOING[:2] + GOING)
    mover = verb_of(spec)
    if mover.it == "correre":
        return None  # its auxiliary depends on the goal
    tense = rng.choice(("present", "past", "past", "past", "future", "future", "used_to", "conditional"))
    if (mover.it in ("tornare", "rimanere") and tense == "used_to") or (
        mover.it in ("arrivare", "venire") and tense in ("used_to", "conditional", "present")
    ):
        return None
    who = subject(rng)
    en_place, it_place, key = place(rng, word)
    if mover.it == "tornare" and tense == "present" and key != "home":
        return None
    if mover.it == "arrivare" and key == "home":
        en_place = "home"
    if tense == "present" and (
        key[0].isupper()
        or key
        in (
            "the airport",
            "the hospital",
            "the United States",
            "the kitchen",
            "the seaside",
            "the countryside",
            "the mountains",
        )
    ):
        return None
    if mover.it == "rimanere" and key in PASSING:
        return None
    negative = rng.random() < 0.15 and tense != "used_to"
    clause = Clause(who, mover, tense, en_place, it_place, negative=negative)
    en, it = clause.en, clause.it
    chance = 1.0 if tense in ("present", "used_to") and not negative else 0.45
    if mover.it == "andare" and tense in ("past", "future") and rng.random() < 0.25:
        with_en, with_it = rng.choice(COMPANY)
        if with_en == "alone":
            with_it = f"da {italian.adjective('solo', who.gender, who.plural)}"
        if with_en.startswith("by ") and key in CLOSE:
            return None
        if (with_en.startswith("by plane") and key[0].islower()) or (
            with_en in ("on foot", "by bicycle") and key[0].isupper()
        ):
            return None
        en, it, chance = f"{en} {with_en}", f"{it} {with_it}", 0.0
    if tense == "used_to" and key[0].isupper():
        en, it, chance = f"{en} every summer", f"{it} ogni estate", 0.0
    en, it = with_time(rng, tense, en, it, 0.0 if negative else chance)
    return sentence(en, it, f"going/{tense}", frozenset({combo(mover.it, key)}))


@pattern(90)
def going_question(rng: Random) -> Sentence | None:
    """Did they return home by train?"""
    spec, word = rng.choice(GOING[:4])
    mover, who = verb_of(spec), subject(rng)
    if who in (I, WE):
        return None
    tense = rng.choice(("past", "future"))
    en_place, it_place, key = place(rng, word)
    if mover.it == "arrivare" and key == "home":
        en_place = "home"
    clause = Clause(who, mover, tense, en_place, it_place, question=True)
    en, it = with_time(rng, tense, clause.en, clause.it, 0.0)
    return sentence(en, it, f"going_question/{tense}", frozenset({combo(mover.it, key)}), mark="?")


SHORT = doings("plain")


@pattern(340)
def intransitive(rng: Random) -> Sentence | None:
    """The children are playing in the garden."""
    spec, rests = rng.choice(SHORT)
    chosen = verb_of(spec)
    en_rest, it_rest = rng.choice(rests)
    tense = rng.choice(("present", "progressive", "past", "past", "future", "used_to", "was_doing", "conditional"))
    if chosen.it == "abitare" and tense in ("progressive", "was_doing", "past"):
        return None
    if en_rest.startswith(("for ", "all ")) and tense in ("progressive", "was_doing", "present"):
        return None  # "she is sleeping for eight hours" says something else, and Italian does not say it
    who = subject(rng)
    form = rng.choices(("statement", "negative", "question"), (6, 1.5, 2))[0]
    if (tense == "used_to" and form != "statement") or (form == "question" and who in (I, WE)):
        return None
    clause = Clause(who, chosen, tense, en_rest, it_rest, negative=form == "negative", question=form == "question")
    return sentence(
        clause.en,
        clause.it,
        f"intransitive/{tense}/{form}",
        frozenset({combo(chosen.it, en_rest)}),
        mark="?" if form == "question" else ".",
    )


REFLEXIVE = doings("reflexive")


@pattern(320)
def reflexive(rng: Random) -> Sentence | None:
    """My sister woke up late."""
    spec, rests = rng.choice(REFLEXIVE)
    chosen = verb_of(spec)
    en_rest, it_rest = rng.choice(rests)
    who = subject(rng)
    tense = rng.choice(("present", "past", "past", "past", "future", "used_to", "modal"))
    if chosen.it in ("trasferire", "arrabbiare", "fermare") and tense in ("present", "used_to"):
        return None
    negative = rng.random() < 0.15 and tense in ("past", "future")
    clitic = conjugation.REFLEXIVE[who.slot]
    if tense == "modal":
        if chosen.it not in ("svegliare", "alzare", "riposare", "divertire", "fermare", "sedere", "trasferire"):
            return None
        name = rng.choice(("must", "want to", "can", "should", "would like to"))
        clause = Clause(who, chosen, name, en_rest)
        finite, mood = MODALS[name]
        form = (conjugation.present if mood == "present" else conjugation.conditional)(finite)[who.slot]
        it = italian.join(who.it, form, conjugation.infinitive_with(chosen.it, clitic), it_rest)
        return sentence(clause.en, it, "reflexive/modal", frozenset({combo(chosen.it, en_rest)}))
    clause = Clause(who, chosen, tense, en_rest, negative=negative)
    if tense == "past":
        verb_form = (
            f"{conjugation.present('essere')[who.slot]} {conjugation.participle(chosen.it, who.gender, who.plural)}"
        )
    else:
        forms = {"present": conjugation.present, "future": conjugation.future, "used_to": conjugation.imperfect}
        verb_form = forms[tense](chosen.it)[who.slot]
    it = italian.join(who.it, "non" if negative else "", clitic, verb_form, it_rest)
    return sentence(clause.en, it, f"reflexive/{tense}", frozenset({combo(chosen.it, en_rest)}))


@pattern(90)
def since(rng: Random) -> Sentence | None:
    """They have lived in Rome for three years."""
    who = subject(rng)
    years = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 20))
    spec, rests = rng.choice([entry for entry in SHORT if entry[0].split(" = ")[1] in ("lavorare", "abitare")])
    chosen = verb_of(spec)
    en_rest, it_rest = rng.choice(rests)
    if en_rest in ("a lot",):
        return None
    unit = rng.choice((("years", "anni"), ("months", "mesi"), ("weeks", "settimane")))
    en = Clause(who, chosen, "perfect", f"{en_rest} for {english.number(years)} {unit[0]}").en
    it = Clause(who, chosen, "present", it_rest=f"{it_rest} da {italian.counted_time(years, unit[1])}").it
    return sentence(en, it, "since", frozenset({combo(chosen.it, en_rest)}))
