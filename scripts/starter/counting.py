"""Sentence patterns with numbers, prices, clock times and dates; weather, hunger and pain."""

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
    name,
    noun_phrase,
    sentence,
    subject,
)
from scripts.starter.lexicon import named
from scripts.starter.registry import pattern


def ages(who: Phrase) -> tuple[int, int]:
    """From which age to which such a person is."""
    if who.noun is None or who.noun.en in ("son", "daughter", "brother", "sister", "cousin"):
        return 4, 90 if who.noun is None else 50
    if who.noun.en in ("child", "boy", "girl", "classmate"):
        return 4, 15
    return (60, 95) if who.noun.en.startswith("grand") else (25, 65)


@pattern(130)
def age_and_price(rng: Random) -> Sentence | None:
    """My daughter is eleven years old. The lamp costs thirty euros."""
    if rng.random() < 0.45:
        who = subject(rng)
        if who.plural and rng.random() < 0.7:
            return None
        years = rng.randint(*ages(who))
        be = english.BE[who.slot]
        it = italian.join(who.it, conjugation.present("avere")[who.slot], italian.counted_time(years, "anni"))
        return sentence(
            f"{who.en} {be} {english.number(years)} years old", it, "age", frozenset({combo("age", str(years))})
        )
    thing = rng.choice(
        named("clothes", "tableware", "book", "ticket", "umbrella", "lamp", "chair", "phone", "dish", "bicycle")
    )
    small = thing.classes & {"dish", "tableware"}
    price = rng.randint(2, 12) if small else rng.choice((*range(9, 60, 3), 70, 80, 90, 100, 120, 150, 200, 250))
    plural = rng.random() < (0.9 if "pair" in thing.classes else 0.2)
    phrase = noun_phrase(thing, rng.choice(("the", "this")), plural)
    costs = "cost" if plural else "costs"
    it = f"{phrase.it} {conjugation.present('costare')[phrase.slot]} {italian.counted(price)} euro"
    return sentence(
        f"{phrase.en} {costs} {english.number(price)} euros",
        it,
        "price",
        frozenset({combo("price", thing.en, str(price))}),
    )


EVENTS = (
    ("the train leaves", "il treno parte"),
    ("the film begins", "il film comincia"),
    ("the shop closes", "il negozio chiude"),
    ("the museum opens", "il museo apre"),
    ("the lesson ends", "la lezione finisce"),
    ("the bus arrives", "l'autobus arriva"),
    ("the plane leaves", "l'aereo parte"),
    ("the concert begins", "il concerto comincia"),
    ("dinner is", "la cena è"),
    ("we eat lunch", "pranziamo"),
    ("I get up", "mi alzo"),
    ("the bank closes", "la banca chiude"),
    ("she comes home", "lei torna a casa"),
    ("the meeting is", "la riunione è"),
)
USUAL_HOURS = {  # on the twelve-hour clock; the other events may come at any hour
    "we eat lunch": (12, 1, 2),
    "dinner is": (7, 8, 9),
    "I get up": (5, 6, 7, 8, 9),
    "the museum opens": (8, 9, 10),
}


@pattern(170)
def clock_time(rng: Random) -> Sentence | None:
    """The train leaves at half past seven. It's a quarter to one."""
    hour, minute = rng.randint(1, 12), rng.choice((0, 0, 15, 30, 30, 45, 5, 10, 20))
    en_time, it_time = english.clock(hour, minute), italian.clock(hour, minute)
    if rng.random() < 0.2:
        be = "è" if it_time.startswith("l'") else "sono"
        return sentence(f"it's {en_time}", f"{be} {it_time}", "clock/now")
    en, it = rng.choice(EVENTS)
    if hour not in USUAL_HOURS.get(en, range(1, 13)):
        return None
    return sentence(
        f"{en} at {en_time}", f"{it} {italian.prefixed('a', it_time)}", "clock/event", frozenset({combo(en, en_time)})
    )


MONTHS = (
    ("January", "gennaio"),
    ("February", "febbraio"),
    ("March", "marzo"),
    ("April", "aprile"),
    ("May", "maggio"),
    ("June", "giugno"),
    ("July", "luglio"),
    ("August", "agosto"),
    ("September", "settembre"),
    ("October", "ottobre"),
    ("November", "novembre"),
    ("December", "dicembre"),
)
DAYS = (
    ("Monday", "lunedì"),
    ("Tuesday", "martedì"),
    ("Wednesday", "mercoledì"),
    ("Thursday", "giovedì"),
    ("Friday", "venerdì"),
    ("Saturday", "sabato"),
    ("Sunday", "domenica"),
)


@pattern(130)
def date(rng: Random) -> Sentence | None:
    """My birthday is on 3 May. The exam is on Friday."""
    (month_en, month_it), day = rng.choice(MONTHS), rng.randint(1, 28)
    it_day = "primo" if day == 1 else str(day)
    article = "l'" if day in (8, 11) else "il"
    on = italian.join(article, f"{it_day} {month_it}")
    combos = frozenset({combo(str(day), month_en)})
    kind = rng.randint(0, 5)
    if kind == 0:
        owner = rng.choice(OWNERS)
        word = italian.possessive(owner, "m", False)
        return sentence(
            f"{owner} birthday is on {day} {month_en}", f"il {word} compleanno è {on}", "date/birthday", combos
        )
    if kind == 1:
        who = rng.choice(MEN + WOMEN)
        return sentence(
            f"{who} was born on {day} {month_en}",
            f"{who} è {conjugation.participle('nascere', name(who).gender)} {on}",
            "date/born",
            combos,
        )
    if kind == 2:
        return sentence(f"today is {day} {month_en}", f"oggi è {on}", "date/today", combos)
    if kind == 3:
        en, it = rng.choice(
            (
                ("the exam is", "l'esame è"),
                ("the concert is", "il concerto è"),
                ("the party is", "la festa è"),
                ("the wedding is", "il matrimonio è"),
            )
        )
        return sentence(f"{en} on {day} {month_en}", f"{it} {on}", "date/event", combos)
    (day_en, day_it) = rng.choice(DAYS)
    en, it = rng.choice(
        (
            ("the exam is", "l'esame è"),
            ("the party is", "la festa è"),
            ("we leave", "partiamo"),
            ("the wedding is", "il matrimonio è"),
            ("the shop is closed", "il negozio è chiuso"),
        )
    )
    when = rng.choice((("", ""), (" morning", " mattina"), (" evening", " sera")))
    return sentence(f"{en} on {day_en}{when[0]}", f"{it} {day_it}{when[1]}", "date/day", frozenset({combo(en, day_en)}))


WEATHER = (
    ("it's raining", "piove"),
    ("it's snowing", "nevica"),
    ("it's cold", "fa freddo"),
    ("it's hot", "fa caldo"),
    ("it's sunny", "c'è il sole"),
    ("it's windy", "c'è vento"),
    ("the weather is nice", "fa bel tempo"),
    ("it's foggy", "c'è la nebbia"),
    ("it's cloudy", "è nuvoloso"),
    ("the weather is bad", "fa brutto tempo"),
)
PLACES_OUT = (
    ("in Rome", "a Roma"),
    ("in Milan", "a Milano"),
    ("in the mountains", "in montagna"),
    ("outside", "fuori"),
    ("here", "qui"),
    ("in London", "a Londra"),
    ("today", "oggi"),
    ("in Sicily", "in Sicilia"),
    ("in Berlin", "a Berlino"),
)


@pattern(50)
def weather(rng: Random) -> Sentence | None:
    """It's raining in Milan."""
    en, it = rng.choice(WEATHER)
    place_en, place_it = rng.choice(PLACES_OUT)
    return sentence(f"{en} {place_en}", f"{it} {place_it}", "weather", frozenset({combo(en, place_en)}))


NEEDS = (
    ("hungry", "fame"),
    ("thirsty", "sete"),
    ("sleepy", "sonno"),
    ("cold", "freddo"),
    ("hot", "caldo"),
    ("right", "ragione"),
    ("wrong", "torto"),
    ("in a hurry", "fretta"),
    ("afraid", "paura"),
)


@pattern(130)
def having_hunger(rng: Random) -> Sentence | None:
    """I'm very hungry. Were the children thirsty?"""
    who = subject(rng)
    en_state, it_state = rng.choice(NEEDS)
    tense = rng.choices(("present", "past"), (3, 1))[0]
    be = (english.BE if tense == "present" else english.WAS)[who.slot]
    avere = (conjugation.present if tense == "present" else conjugation.imperfect)("avere")[who.slot]
    form = rng.choices(("statement", "negative", "question"), (5, 2, 2))[0]
    if form == "question" and who is I:
        return None
    it = italian.join(who.it, "non" if form == "negative" else "", avere, it_state)
    en = (
        f"{be} {who.en} {en_state}"
        if form == "question"
        else f"{who.en} {NEGATED[be] if form == 'negative' else be} {en_state}"
    )
    return sentence(
        en, it, f"hunger/{tense}/{form}", frozenset({combo("be", who.en, en_state)}), "?" if form == "question" else "."
    )


PAIN_OWNERS = (("my", "mi"), ("your", "ti"), ("his", "gli"), ("her", "le"))


@pattern(60)
def pain(rng: Random) -> Sentence | None:
    """My head hurts. Her feet hurt."""
    part = rng.choice(named("body"))
    paired = part.en in ("foot", "eye", "knee", "hand", "leg", "ear", "tooth", "shoulder", "arm")
    plural = paired and rng.random() < 0.6
    owner, clitic = rng.choice(PAIN_OWNERS)
    phrase = noun_phrase(part, "the", plural)
    tense = rng.choice(("present", "present", "past"))
    en_verb = {"present": "hurt" if plural else "hurts", "past": "hurt yesterday"}[tense]
    fare = (conjugation.present if tense == "present" else conjugation.imperfect)("fare")[phrase.slot]
    front = "ieri " if tense == "past" else ""
    return sentence(
        f"{owner} {phrase.en.removeprefix('the ')} {en_verb}",
        f"{front}{clitic} {fare} male {phrase.it}",
        f"pain/{tense}",
        frozenset({combo(owner, part.en)}),
    )
