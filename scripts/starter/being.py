"""Sentence patterns about being: descriptions, there is, comparisons, numbers, times, dates, weather, the body."""

from random import Random

from scripts.starter import english, italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.grammar import (
    MEN,
    NEGATED,
    WOMEN,
    Clause,
    I,
    Phrase,
    Sentence,
    YOU,
    combo,
    name,
    noun_phrase,
    sentence,
    someone,
    subject,
)
from scripts.starter.lexicon import Adjective, Noun, adjectives, adjectives_for, named, noun, nouns, verb_of
from scripts.starter.registry import pattern

OWNERS = ("my", "your", "his", "her", "our", "their")


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
    plural = bool(thing.en_plural) and rng.random() < (0.8 if "pair" in thing.classes else 0.3)
    determiner = rng.choice(("the", "the", "this", "that", rng.choice(OWNERS)))
    owned = thing.classes & {"clothes", "device", "furniture", "vehicle", "pet", "portable", "room", "thing"}
    if determiner in OWNERS and not owned:
        determiner = "the"
    phrase = noun_phrase(thing, determiner, plural)
    tense = rng.choices(("present", "past", "future"), (6, 2.5, 0.5))[0]
    be, essere = to_be(phrase.slot, tense)
    form = rng.choices(("statement", "negative", "question"), (6, 2, 2))[0]
    degree_en, degree_it = rng.choices((("", ""), ("very", "molto"), ("too", "troppo"), ("so", "così")), (4, 3, 2, 1))[0]
    if adjective.comparative == "-" or form == "question":
        degree_en = degree_it = ""
    if tense == "future" and (form == "question" or degree_en in ("so", "too")):
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
    ("tired", "stanco"), ("happy", "felice"), ("sad", "triste"), ("ill", "malato"), ("busy", "occupato"),
    ("worried", "preoccupato"), ("ready", "pronto"), ("late", "in ritardo"), ("nervous", "nervoso"),
    ("kind", "gentile"), ("angry", "arrabbiato"), ("tall", "alto"), ("young", "giovane"), ("intelligent", "intelligente"),
    ("lazy", "pigro"), ("shy", "timido"), ("rich", "ricco"), ("poor", "povero"), ("married", "sposato"),
    ("surprised", "sorpreso"), ("curious", "curioso"), ("strong", "forte"), ("at home", "a casa"),
    ("in the kitchen", "in cucina"), ("at school", "a scuola"), ("in the garden", "in giardino"),
    ("at work", "al lavoro"), ("outside", "fuori"), ("in the car", "in macchina"), ("generous", "generoso"),
    ("polite", "educato"), ("honest", "onesto"), ("sure", "sicuro"), ("satisfied", "soddisfatto"),
    ("at the station", "alla stazione"), ("in Rome", "a Roma"), ("bored", "annoiato"), ("free", "libero"),
)  # fmt: skip


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
    graded = " " not in it_state and en_state not in ("outside", "ready", "married", "free")
    degree_en, degree_it = rng.choice((("", ""), ("very", "molto"), ("too", "troppo"))) if graded else ("", "")
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


SPOTS = (
    ("on the table", "sul tavolo", ("portable", "dish", "fruit", "reading_thing")),
    ("on the shelf", "sullo scaffale", ("book", "portable")), ("in the drawer", "nel cassetto", ("key", "pen", "pencil", "knife", "fork", "spoon", "sock", "envelope", "notebook", "torch", "ring")),
    ("in the fridge", "nel frigorifero", ("food", "milk", "beer", "wine", "orange juice")),
    ("in the bag", "nella borsa", ("key", "wallet", "umbrella", "notebook", "camera", "book", "passport", "ticket")),
    ("in the wardrobe", "nell'armadio", ("clothes",)), ("on the chair", "sulla sedia", ("clothes", "towel", "cat", "pillow", "bag")),
    ("in the garden", "in giardino", ("pet", "tree", "rose", "child", "table", "bird", "butterfly")),
    ("in the kitchen", "in cucina", ("device", "table", "chair", "child", "woman", "mouse")),
    ("in the square", "in piazza", ("church", "market", "restaurant", "tourist", "tree", "museum", "bank", "child", "concert")),
    ("near the station", "vicino alla stazione", ("restaurant", "hotel", "bank", "pharmacy", "park", "bookshop", "bakery", "bridge")),
    ("in the street", "per strada", ("car", "bicycle", "dog", "tourist", "van")),
    ("under the bed", "sotto il letto", ("shoe", "cat", "suitcase", "ball", "box", "toy", "sock")),
    ("in front of the house", "davanti alla casa", ("tree", "car", "van", "man", "woman", "garden", "bicycle")),
    ("in the living room", "in soggiorno", ("sofa", "armchair", "television", "carpet", "bookcase", "piano", "lamp", "candle")),
    ("in the box", "nella scatola", ("toy", "photograph", "letter", "candle", "biscuit", "glass")),
    ("behind the door", "dietro la porta", ("umbrella", "coat", "box", "man", "dog", "cat")),
    ("in this village", "in questo paese", ("church", "castle", "bank", "pharmacy", "restaurant", "library", "bridge", "hotel")),
)  # fmt: skip


@pattern(320)
def there_is(rng: Random) -> Sentence | None:
    """There are two bottles on the table. Is there a bank near the station?"""
    spot_en, spot_it, names = rng.choice(SPOTS)
    choices = [name for name in names if name != "reading_thing"]
    thing = rng.choice(named(*(choice.replace(" ", "_") for choice in choices)))
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
    if thing.it == "spinaci":
        plural = True
    slot = 5 if plural else 2
    en_slot = 5 if phrase.plural else 2
    be, _ = to_be(en_slot, tense)
    essere = to_be(slot, tense)[1]
    it = italian.join("non" if form == "negative" else "", conjugation.before_verb("ci", essere), phrase.it, spot_it)
    if form == "question":
        first, *rest = be.split()
        en = " ".join([first, "there", *rest, phrase.en, spot_en])
    else:
        en = f"there {negated(be) if form == 'negative' else be} {phrase.en} {spot_en}"
    return sentence(en, it, f"there_is/{tense}/{form}", frozenset({combo(spot_en, thing.en)}), "?" if form == "question" else ".")


@pattern(260)
def where_is(rng: Random) -> Sentence | None:
    """Your keys are in the drawer."""
    spot_en, spot_it, names = rng.choice(SPOTS)
    thing = rng.choice(named(*(choice.replace(" ", "_") for choice in names if choice != "reading_thing")))
    if not thing.classes & {"portable", "clothes", "thing", "pet", "device", "vehicle", "food", "drink", "book", "child", "furniture"}:
        return None
    owned = not thing.classes & {"child", "food", "drink"}
    determiner = rng.choice(("the", "the", *OWNERS)) if owned else "the"
    plural = bool(thing.en_plural) and rng.random() < 0.35
    phrase = noun_phrase(thing, determiner, plural)
    tense = rng.choices(("present", "past"), (6, 2))[0]
    be, essere = to_be(phrase.slot if thing.it != "spinaci" else 2, tense)
    essere = to_be(5, tense)[1] if thing.it == "spinaci" else essere
    form = rng.choices(("statement", "negative", "question"), (6, 2, 2))[0]
    it = italian.join(phrase.it, "non" if form == "negative" else "", essere, spot_it)
    en = f"{be} {phrase.en} {spot_en}" if form == "question" else f"{phrase.en} {negated(be) if form == 'negative' else be} {spot_en}"
    return sentence(en, it, f"where_is/{tense}/{form}", frozenset({combo(spot_en, thing.en)}), "?" if form == "question" else ".")


def more(adjective: Adjective) -> str:
    """The English comparative."""
    return adjective.comparative or f"more {adjective.en}"


def most(adjective: Adjective) -> str:
    """The English superlative."""
    if not adjective.comparative:
        return f"most {adjective.en}"
    return {"better": "best"}.get(adjective.comparative, adjective.comparative[:-1] + "st")


PEOPLE_ADJECTIVES = (
    Adjective("tall", "taller", "alto", None, False), Adjective("young", "younger", "giovane", None, False),
    Adjective("old", "older", "vecchio", "vecchi", False), Adjective("kind", "kinder", "gentile", None, False),
    Adjective("intelligent", "", "intelligente", None, False), Adjective("patient", "", "paziente", None, False),
    Adjective("rich", "richer", "ricco", None, False), Adjective("shy", "shyer", "timido", None, False),
    Adjective("lazy", "lazier", "pigro", None, False), Adjective("strong", "stronger", "forte", None, False),
    Adjective("generous", "", "generoso", None, False), Adjective("curious", "", "curioso", None, False),
)  # fmt: skip


@pattern(200)
def comparing_people(rng: Random) -> Sentence | None:
    """Anna is taller than her brother. Marco isn't as rich as Luca."""
    first, second = someone(rng), someone(rng)
    if first.en == second.en or first.plural != second.plural:
        return None
    adjective = rng.choice(PEOPLE_ADJECTIVES)
    be, essere = to_be(first.slot, rng.choice(("present", "present", "past")))
    agreed = italian.adjective(adjective.it, first.gender, first.plural, adjective.it_plural)
    combos = frozenset({combo(adjective.en, first.en)})
    kind = rng.choice(("more", "more", "less", "as"))
    if kind == "as":
        return sentence(f"{first.en} {be} as {adjective.en} as {second.en}",
                        f"{first.it} {essere} {agreed} come {second.it}", "compare/as", combos)  # fmt: skip
    if kind == "less":
        if adjective.comparative:
            return None
        return sentence(f"{first.en} {be} less {adjective.en} than {second.en}",
                        f"{first.it} {essere} meno {agreed} {italian.prefixed('di', second.it)}", "compare/less", combos)  # fmt: skip
    return sentence(f"{first.en} {be} {more(adjective)} than {second.en}",
                    f"{first.it} {essere} più {agreed} {italian.prefixed('di', second.it)}", "compare/more", combos)  # fmt: skip


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
    form = adjective.it
    agreed = italian.adjective(form, first.gender, plural, adjective.it_plural)
    better = {"good": {"m": "migliore", "f": "migliore"}}.get(adjective.en)
    degree = f"più {agreed}" if not better else ("migliori" if plural else "migliore")
    return sentence(f"{first.en} {be} {more(adjective)} than {second.en}",
                    f"{first.it} {essere} {degree} {italian.prefixed('di', second.it)}",
                    "compare/things", frozenset({combo(adjective.en, thing.en)}))  # fmt: skip


AREAS = (("in the city", "della città"), ("in the village", "del paese"), ("in Italy", "d'Italia"), ("in the world", "del mondo"))


@pattern(90)
def superlative(rng: Random) -> Sentence | None:
    """This is the oldest church in the city."""
    thing, adjective = described(rng)
    if adjective.comparative == "-" or not thing.classes & {"building", "venue", "place"} or adjective.en in ("full", "empty", "good"):
        return None
    area_en, area_it = rng.choice(AREAS)
    if thing.en in ("city", "island", "mountain", "lake", "river", "valley", "beach", "village") and area_en in ("in the city", "in the village"):
        return None
    article = italian.definite(thing.it, thing.gender, False)
    agreed = italian.adjective(adjective.it, thing.gender, False)
    be_en, be_it = rng.choice((("this is", "questa è" if thing.gender == "f" else "questo è"), ("it was", "era")))
    return sentence(f"{be_en} the {most(adjective)} {thing.en} {area_en}",
                    f"{be_it} {italian.join(article, thing.it)} più {agreed} {area_it}",
                    f"superlative/{be_en}", frozenset({combo(adjective.en, thing.en)}))  # fmt: skip


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
    form = italian.possessive({"mine": "my", "yours": "your", "hers": "her", "ours": "our"}.get(pronoun, pronoun), phrase.gender, plural)
    if rng.random() < 0.3:
        return sentence(f"{phrase.en} {negated(be)} {pronoun}", f"{phrase.it} non {essere} {form}", "belonging/negative", combos)
    return sentence(f"{phrase.en} {be} {pronoun}", f"{phrase.it} {essere} {form}", "belonging/pronoun", combos)


@pattern(130)
def age_and_price(rng: Random) -> Sentence | None:
    """My daughter is eleven years old. The lamp costs thirty euros."""
    if rng.random() < 0.45:
        who = subject(rng)
        if who.plural and rng.random() < 0.7:
            return None
        years = rng.randint(4, 90)
        be = english.BE[who.slot]
        it = italian.join(who.it, conjugation.present("avere")[who.slot], italian.counted(years), "anni")
        return sentence(f"{who.en} {be} {english.number(years)} years old", it, "age", frozenset({combo("age", str(years))}))
    thing = rng.choice(named("clothes", "tableware", "book", "ticket", "umbrella", "lamp", "chair", "phone", "dish", "bicycle"))
    small = thing.classes & {"dish", "tableware"}
    price = rng.randint(2, 12) if small else rng.choice((*range(9, 60, 3), 70, 80, 90, 100, 120, 150, 200, 250))
    plural = rng.random() < (0.9 if "pair" in thing.classes else 0.2)
    phrase = noun_phrase(thing, rng.choice(("the", "this")), plural)
    costs = "cost" if plural else "costs"
    it = f"{phrase.it} {conjugation.present('costare')[phrase.slot]} {italian.counted(price)} euro"
    return sentence(f"{phrase.en} {costs} {english.number(price)} euros", it, "price", frozenset({combo("price", thing.en, str(price))}))


EVENTS = (
    ("the train leaves", "il treno parte"), ("the film begins", "il film comincia"), ("the shop closes", "il negozio chiude"),
    ("the museum opens", "il museo apre"), ("the lesson ends", "la lezione finisce"), ("the bus arrives", "l'autobus arriva"),
    ("the plane leaves", "l'aereo parte"), ("the concert begins", "il concerto comincia"), ("dinner is", "la cena è"),
    ("we eat lunch", "pranziamo"), ("I get up", "mi alzo"), ("the bank closes", "la banca chiude"), ("she comes home", "lei torna a casa"),
    ("the meeting is", "la riunione è"),
)  # fmt: skip


@pattern(170)
def clock_time(rng: Random) -> Sentence | None:
    """The train leaves at half past seven. It's a quarter to one."""
    hour, minute = rng.randint(1, 12), rng.choice((0, 0, 15, 30, 30, 45, 5, 10, 20))
    en_time, it_time = english.clock(hour, minute), italian.clock(hour, minute)
    if rng.random() < 0.2:
        be = "è" if it_time.startswith("l'") else "sono"
        return sentence(f"it's {en_time}", f"{be} {it_time}", "clock/now")
    en, it = rng.choice(EVENTS)
    return sentence(f"{en} at {en_time}", f"{it} {italian.prefixed('a', it_time)}", "clock/event", frozenset({combo(en, en_time)}))


MONTHS = (
    ("January", "gennaio"), ("February", "febbraio"), ("March", "marzo"), ("April", "aprile"), ("May", "maggio"),
    ("June", "giugno"), ("July", "luglio"), ("August", "agosto"), ("September", "settembre"), ("October", "ottobre"),
    ("November", "novembre"), ("December", "dicembre"),
)  # fmt: skip
DAYS = (
    ("Monday", "lunedì"), ("Tuesday", "martedì"), ("Wednesday", "mercoledì"), ("Thursday", "giovedì"),
    ("Friday", "venerdì"), ("Saturday", "sabato"), ("Sunday", "domenica"),
)  # fmt: skip


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
        return sentence(f"{owner} birthday is on {day} {month_en}", f"il {word} compleanno è {on}", "date/birthday", combos)
    if kind == 1:
        who = rng.choice(MEN + WOMEN)
        return sentence(f"{who} was born on {day} {month_en}", f"{who} è {conjugation.participle('nascere', name(who).gender)} {on}", "date/born", combos)
    if kind == 2:
        return sentence(f"today is {day} {month_en}", f"oggi è {on}", "date/today", combos)
    if kind == 3:
        en, it = rng.choice((("the exam is", "l'esame è"), ("the concert is", "il concerto è"), ("the party is", "la festa è"), ("the wedding is", "il matrimonio è")))
        return sentence(f"{en} on {day} {month_en}", f"{it} {on}", "date/event", combos)
    (day_en, day_it) = rng.choice(DAYS)
    en, it = rng.choice((("the exam is", "l'esame è"), ("the party is", "la festa è"), ("we leave", "partiamo"), ("the wedding is", "il matrimonio è"), ("the shop is closed", "il negozio è chiuso")))
    when = rng.choice((("", ""), (" morning", " mattina"), (" evening", " sera")))
    return sentence(f"{en} on {day_en}{when[0]}", f"{it} {day_it}{when[1]}", "date/day", frozenset({combo(en, day_en)}))


WEATHER = (
    ("it's raining", "piove"), ("it's snowing", "nevica"), ("it's cold", "fa freddo"), ("it's hot", "fa caldo"),
    ("it's sunny", "c'è il sole"), ("it's windy", "c'è vento"), ("the weather is nice", "fa bel tempo"), ("it's foggy", "c'è la nebbia"),
    ("it's cloudy", "è nuvoloso"), ("the weather is bad", "fa brutto tempo"),
)  # fmt: skip
PLACES_OUT = (("in Rome", "a Roma"), ("in Milan", "a Milano"), ("in the mountains", "in montagna"), ("outside", "fuori"),
              ("here", "qui"), ("in London", "a Londra"), ("today", "oggi"), ("in Sicily", "in Sicilia"), ("in Berlin", "a Berlino"))  # fmt: skip


@pattern(50)
def weather(rng: Random) -> Sentence | None:
    """It's raining in Milan."""
    en, it = rng.choice(WEATHER)
    place_en, place_it = rng.choice(PLACES_OUT)
    return sentence(f"{en} {place_en}", f"{it} {place_it}", "weather", frozenset({combo(en, place_en)}))


NEEDS = (("hungry", "fame"), ("thirsty", "sete"), ("sleepy", "sonno"), ("cold", "freddo"), ("hot", "caldo"), ("right", "ragione"),
         ("wrong", "torto"), ("in a hurry", "fretta"), ("afraid", "paura"))  # fmt: skip


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
    en = f"{be} {who.en} {en_state}" if form == "question" else f"{who.en} {NEGATED[be] if form == 'negative' else be} {en_state}"
    return sentence(en, it, f"hunger/{tense}/{form}", frozenset({combo("be", who.en, en_state)}), "?" if form == "question" else ".")


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
    tail = " ieri" if tense == "past" else ""
    return sentence(f"{owner} {phrase.en.removeprefix('the ')} {en_verb}", f"{clitic} {fare} male {phrase.it}{tail}", f"pain/{tense}", frozenset({combo(owner, part.en)}))


UNUSED = (Clause, YOU, adjectives, noun, verb_of)
