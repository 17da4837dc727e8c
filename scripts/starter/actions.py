"""Sentence patterns about doing things: verbs with objects, going places, reflexive verbs, two verbs."""

from random import Random

from scripts.starter import italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.grammar import (
    HE,
    MODALS,
    SHE,
    THEY,
    WE,
    Clause,
    I,
    Phrase,
    Sentence,
    YOU,
    combo,
    noun_phrase,
    sentence,
    subject,
)
from scripts.starter.lexicon import Verb, adjectives_for, named, verb, verb_of, verbs
from scripts.starter.registry import pattern

HABITS = frozenset(
    "eat drink cook wash buy read write watch listen_to play study teach clean take drive water use iron wear "
    "prepare call help meet greet visit feed sing".replace("_", " ").split()
) | {"listen to", "wait for"}
POSSESSED = frozenset(
    {"lose", "find", "look for", "forget", "wash", "clean", "repair", "iron", "sell", "park", "drive", "use", "finish"}
)
SHOWN = frozenset({"read", "buy", "open", "close", "watch", "choose", "wear", "use", "understand", "solve", "correct",
                   "prefer", "try on", "sing", "translate", "clean"})  # fmt: skip
COUNTED = frozenset({"buy", "eat", "see", "write", "send", "receive", "order", "pick", "have", "sell", "break", "read",
                     "correct", "draw"})  # fmt: skip
WHEN = {
    "past": (("yesterday", "ieri"), ("last night", "ieri sera"), ("last week", "la settimana scorsa"),
             ("this morning", "stamattina"), ("two days ago", "due giorni fa"), ("on Monday", "lunedì"),
             ("on Saturday", "sabato"), ("a week ago", "una settimana fa"), ("last month", "il mese scorso"),
             ("yesterday evening", "ieri sera"), ("on Friday", "venerdì"), ("an hour ago", "un'ora fa"),
             ("on Wednesday", "mercoledì")),
    "present": (("every day", "ogni giorno"), ("every morning", "ogni mattina"), ("in the evening", "la sera"),
                ("on Sundays", "la domenica"), ("every week", "ogni settimana"), ("every Saturday", "ogni sabato"),
                ("in the morning", "la mattina"), ("in the afternoon", "il pomeriggio")),
    "progressive": (("now", "adesso"), ("at the moment", "in questo momento")),
    "future": (("tomorrow", "domani"), ("next week", "la settimana prossima"), ("tonight", "stasera"),
               ("tomorrow morning", "domani mattina"), ("on Tuesday", "martedì"), ("on Thursday", "giovedì"),
               ("in two days", "fra due giorni"), ("next month", "il mese prossimo"), ("on Sunday", "domenica"),
               ("this afternoon", "questo pomeriggio"), ("after dinner", "dopo cena")),
}  # fmt: skip
WHEN["used_to"] = (("every day", "ogni giorno"), ("every summer", "ogni estate"), ("every Sunday", "ogni domenica"))


def verb_object(
    rng: Random, chosen: Verb, subject_: Phrase, tense: str = "past", negative: bool = False, plain: bool = False
) -> Phrase | None:
    """An object that goes with the verb, with a fitting determiner and sometimes an adjective."""
    noun = rng.choice(named(*chosen.objects))
    if chosen.en == "buy" and tense in ("present", "used_to") and not noun.classes & {"food", "drink", "reading"}:
        return None
    if noun.en == "orange juice" and rng.random() < 0.5:
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
        several = rng.random() < (0.9 if "pair" in classes or "vegetable" in classes else 0.25)
        kinds = ["the"] * 3 + (["some", "the", "number"] if several else ["a"] * 3 + ["another"])
        if several and chosen.en not in COUNTED:
            kinds = ["the"]
        if several and negative:
            kinds = ["the"]
        if chosen.en in ("water", "know", "remember", "greet", "turn on", "turn off", "correct", "understand"):
            kinds = ["the"]
        if chosen.en in SHOWN:
            kinds += ["this", "that"]
        if chosen.en in POSSESSED:
            kinds = ["the", "own", "own"]
        if several and chosen.en in ("buy", "read", "write", "receive", "see", "send"):
            kinds += ["many", "too many"]
        if chosen.en == "need":
            kinds = ["a", "a", "the", "this"] if not several else ["the", "number"]
        determiner = rng.choice(kinds)
        if determiner == "own":
            determiner = subject_.owner
        if determiner == "number" and "pair" in classes:
            determiner = "the"
    options = adjectives_for(noun)
    adjective = None
    if not plain and options and determiner in ("a", "the", "some", "another") and rng.random() < 0.3:
        adjective = rng.choice(options)
        if adjective.en in ("broken", "empty", "full", "famous") and chosen.en not in ("see", "find", "repair"):
            adjective = None
        elif adjective.en == "good" and determiner == "the":
            adjective = None
    if determiner == "bare_the":
        phrase = noun_phrase(noun, "bare" if "subject" in classes else "the")  # studiare storia, preparare la cena
        return Phrase(noun.en, phrase.it, phrase.gender, False, combos=frozenset({combo(chosen.it, noun.it)}))
    if determiner == "another" and adjective:
        adjective = None
    phrase = noun_phrase(noun, determiner, several, adjective, count=rng.choice((2, 2, 3, 3, 4, 5, 6)))
    return Phrase(phrase.en, phrase.it, phrase.gender, phrase.plural, phrase.combos | {combo(chosen.it, noun.it)},
                  person=phrase.person, noun=noun)  # fmt: skip


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


def action(rng: Random, tense: str, who: Phrase, negative: bool = False) -> tuple[Verb, Phrase] | None:
    """A verb that can stand in this tense and an object for it."""
    chosen = rng.choice(verbs())
    if chosen.state and tense in ("progressive", "was_doing", "perfect", "conditional", "used_to", "future"):
        return None
    if chosen.en in ("wear", "know") and tense in ("progressive", "was_doing"):
        return None
    if tense in ("present", "used_to") and not chosen.state and chosen.en not in HABITS:
        return None
    if tense in ("progressive", "was_doing") and chosen.en in ("lose", "find", "forget", "break", "see", "meet", "receive"):
        return None
    thing = verb_object(rng, chosen, who, tense, negative)
    return (chosen, thing) if thing else None


STATEMENT_TENSES = ("present", "progressive", "past", "past", "past", "past", "future", "future", "future",
                    "used_to", "conditional", "was_doing")


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
    if not chosen.state and not adverb:
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
    if thing.en.startswith(("another ", "a ")) and not chosen.state:
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
    if adverb == "never" and thing.en.startswith(("the ", "some ", "another ", "my ", "your ")):
        return None
    if adverb == "yet":
        clause = Clause(who, chosen, "perfect", thing.en, thing.it, negative=True)
        if thing.en.startswith(("a ", "an ", "some ", "another ")):
            return None
        it = clause.it.replace(
            conjugation.participle(chosen.it), "ancora " + conjugation.participle(chosen.it), 1
        )
        return sentence(clause.en + " yet", it, "perfect/yet", thing.combos)
    clause = Clause(who, chosen, "perfect", thing.en, thing.it, adverb=adverb)
    return sentence(clause.en, clause.it, f"perfect/{adverb}", thing.combos)


@pattern(400)
def yes_no_question(rng: Random) -> Sentence | None:
    """Did you see the match? Will she sell the house?"""
    tense = rng.choice(("present", "progressive", "past", "past", "future", "conditional"))
    who = subject(rng)
    if who is I:
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
    chosen = rng.choice([verb(name) for name in ("open", "close", "repair", "clean", "bring", "take", "turn on", "turn off",
                                                 "use", "buy", "read", "explain", "translate", "wash", "park", "see")])
    thing = verb_object(rng, chosen, who, plain=True)
    if not thing or thing.en.startswith(("some", "many", "too", "a lot")):
        return None
    clause = Clause(who, chosen, tense, thing.en, thing.it, question=True)
    please_en, please_it = (", please", ", per favore") if who is YOU and rng.random() < 0.6 else ("", "")
    return sentence(clause.en + please_en, clause.it + please_it, "polite", thing.combos, mark="?")


# --- going and staying -------------------------------------------------------------------------------------

GOING = (
    ("go, went, gone = andare", "to"), ("return = tornare", "to"), ("arrive = arrivare", "at"),
    ("come, came, come = venire", "to"), ("stay = restare", "at"), ("run, ran, run = correre", "to"),
)  # fmt: skip
# English place without preposition, Italian with it; the English prepositions for going and for being there.
PLACES = (
    ("home", "a casa", "", "at"), ("school", "a scuola", "to", "at"), ("work", "al lavoro", "to", "at"),
    ("the station", "alla stazione", "to", "at"), ("the airport", "all'aeroporto", "to", "at"),
    ("the hospital", "all'ospedale", "to", "at"), ("the market", "al mercato", "to", "at"),
    ("the supermarket", "al supermercato", "to", "at"), ("the restaurant", "al ristorante", "to", "at"),
    ("the hotel", "in albergo", "to", "at"), ("the library", "in biblioteca", "to", "at"),
    ("the office", "in ufficio", "to", "at"), ("the beach", "in spiaggia", "to", "at"),
    ("the swimming pool", "in piscina", "to", "at"), ("the gym", "in palestra", "to", "at"),
    ("the cinema", "al cinema", "to", "at"), ("the theatre", "a teatro", "to", "at"),
    ("the park", "al parco", "to", "at"), ("the zoo", "allo zoo", "to", "at"), ("the stadium", "allo stadio", "to", "at"),
    ("the museum", "al museo", "to", "at"), ("the post office", "all'ufficio postale", "to", "at"),
    ("the bank", "in banca", "to", "at"), ("the pharmacy", "in farmacia", "to", "at"), ("church", "in chiesa", "to", "at"),
    ("Rome", "a Roma", "to", "in"), ("Milan", "a Milano", "to", "in"), ("Venice", "a Venezia", "to", "in"),
    ("Florence", "a Firenze", "to", "in"), ("Naples", "a Napoli", "to", "in"), ("Turin", "a Torino", "to", "in"),
    ("London", "a Londra", "to", "in"), ("Paris", "a Parigi", "to", "in"), ("Berlin", "a Berlino", "to", "in"),
    ("Italy", "in Italia", "to", "in"), ("France", "in Francia", "to", "in"), ("Germany", "in Germania", "to", "in"),
    ("Spain", "in Spagna", "to", "in"), ("England", "in Inghilterra", "to", "in"), ("Greece", "in Grecia", "to", "in"),
    ("the United States", "negli Stati Uniti", "to", "in"), ("Sicily", "in Sicilia", "to", "in"),
    ("Sardinia", "in Sardegna", "to", "in"), ("the mountains", "in montagna", "to", "in"),
    ("the countryside", "in campagna", "to", "in"), ("the city centre", "in centro", "to", "in"),
    ("the sea", "al mare", "to", "at"), ("the kitchen", "in cucina", "to", "in"),
)  # fmt: skip
CLOSE = ("home", "the kitchen", "the airport", "the United States", "Sicily", "Sardinia")
COMPANY = (("with my friends", "con i miei amici"), ("by train", "in treno"), ("by car", "in macchina"),
           ("by bus", "in autobus"), ("by plane", "in aereo"), ("on foot", "a piedi"), ("alone", "da solo"),
           ("with the children", "con i bambini"), ("by bicycle", "in bicicletta"))  # fmt: skip


def place(rng: Random, word: str) -> tuple[str, str, str]:
    """A place to go "to" or to be "at": both texts and its name."""
    en, it, to, at = rng.choice(PLACES)
    preposition = to if word == "to" else at
    return f"{preposition} {en}".strip() if not (word == "at" and not to and False) else en, it, en


@pattern(430)
def going(rng: Random) -> Sentence | None:
    """Anna went to the market this morning."""
    spec, word = rng.choice(GOING[:2] + GOING)
    mover = verb_of(spec)
    if mover.it == "correre":
        return None  # its auxiliary depends on the goal
    tense = rng.choice(("present", "past", "past", "past", "future", "future", "used_to", "conditional"))
    if mover.it in ("arrivare", "venire") and tense in ("used_to", "conditional", "present"):
        return None
    who = subject(rng)
    en_place, it_place, key = place(rng, word)
    if mover.it == "arrivare" and key == "home":
        en_place = "home"
    if tense == "present" and (key[0].isupper() or key in ("the airport", "the hospital", "the United States", "the kitchen")):
        return None
    negative = rng.random() < 0.15 and tense != "used_to"
    clause = Clause(who, mover, tense, en_place, it_place, negative=negative)
    en, it = clause.en, clause.it
    chance = 1.0 if tense == "present" and not negative else 0.45
    if mover.it == "andare" and tense in ("past", "future") and rng.random() < 0.25:
        with_en, with_it = rng.choice(COMPANY)
        if with_en == "alone":
            with_it = f"da {italian.adjective('solo', who.gender, who.plural)}"
        if with_en.startswith("by ") and key in CLOSE:
            return None
        if with_en.startswith("by plane") and key[0].islower() or with_en in ("on foot", "by bicycle") and key[0].isupper():
            return None
        en, it, chance = f"{en} {with_en}", f"{it} {with_it}", 0.0
    en, it = with_time(rng, tense, en, it, chance)
    return sentence(en, it, f"going/{tense}", frozenset({combo(mover.it, key)}))


@pattern(90)
def going_question(rng: Random) -> Sentence | None:
    """Did they return home by train?"""
    spec, word = rng.choice(GOING[:4])
    mover, who = verb_of(spec), subject(rng)
    tense = rng.choice(("past", "future"))
    en_place, it_place, key = place(rng, word)
    if mover.it == "arrivare" and key == "home":
        en_place = "home"
    clause = Clause(who, mover, tense, en_place, it_place, question=True)
    en, it = with_time(rng, tense, clause.en, clause.it, 0.0)
    return sentence(en, it, f"going_question/{tense}", frozenset({combo(mover.it, key)}), mark="?")


SHORT = (
    ("sleep, slept, slept = dormire", (("well", "bene"), ("for eight hours", "otto ore"), ("in the tent", "nella tenda"),
                                       ("on the sofa", "sul divano"), ("on the train", "in treno"))),
    ("work = lavorare", (("a lot", "molto"), ("from home", "da casa"), ("in a bank", "in banca"), ("in a hospital", "in ospedale"),
                         ("with my brother", "con mio fratello"), ("in the garden", "in giardino"))),
    ("live = abitare", (("in Rome", "a Roma"), ("in the countryside", "in campagna"), ("near the station", "vicino alla stazione"),
                        ("in a small village", "in un piccolo paese"), ("by the sea", "vicino al mare"), ("abroad", "all'estero"),
                        ("in an old house", "in una vecchia casa"), ("with two friends", "con due amici"))),
    ("swim, swam, swum = nuotare", (("in the lake", "nel lago"), ("in the sea", "nel mare"), ("in the river", "nel fiume"))),
    ("travel, travelled, travelled = viaggiare", (("by train", "in treno"), ("alone", "da soli"), ("a lot", "molto"), ("with two friends", "con due amici"))),
    ("dance = ballare", (("very well", "molto bene"), ("in the street", "per strada"), ("all night", "tutta la notte"))),
    ("cry, cried, cried = piangere", (("a lot", "molto"), ("all night", "tutta la notte"), ("during the film", "durante il film"))),
    ("laugh = ridere", (("a lot", "molto"), ("during the film", "durante il film"), ("loudly", "forte"))),
    ("wait = aspettare", (("for an hour", "un'ora"), ("in front of the bank", "davanti alla banca"), ("outside", "fuori"), ("in the car", "in macchina"))),
    ("smile = sorridere", (("at the children", "ai bambini"), ("at my sister", "a mia sorella"), ("always", "sempre"))),
    ("speak, spoke, spoken = parlare", (("Italian", "italiano"), ("French", "francese"), ("German", "tedesco"), ("Spanish", "spagnolo"),
                                        ("too fast", "troppo in fretta"), ("with the teacher", "con l'insegnante"), ("about the journey", "del viaggio"))),
    ("walk = camminare", (("slowly", "lentamente"), ("in the park", "nel parco"), ("along the river", "lungo il fiume"), ("along the beach", "lungo la spiaggia"))),
    ("play = giocare", (("football", "a calcio"), ("tennis", "a tennis"), ("cards", "a carte"), ("chess", "a scacchi"), ("in the garden", "in giardino"))),
)  # fmt: skip


@pattern(340)
def intransitive(rng: Random) -> Sentence | None:
    """The children are playing in the garden."""
    spec, rests = rng.choice(SHORT)
    chosen = verb_of(spec)
    en_rest, it_rest = rng.choice(rests)
    if en_rest in ("alone", "always"):
        return None
    tense = rng.choice(("present", "progressive", "past", "past", "future", "used_to", "was_doing", "conditional"))
    if chosen.it == "abitare" and tense in ("progressive", "was_doing", "past"):
        return None
    who = subject(rng)
    form = rng.choices(("statement", "negative", "question"), (6, 1.5, 2))[0]
    if tense == "used_to" and form != "statement" or form == "question" and who is I:
        return None
    clause = Clause(who, chosen, tense, en_rest, it_rest, negative=form == "negative", question=form == "question")
    return sentence(
        clause.en, clause.it, f"intransitive/{tense}/{form}", frozenset({combo(chosen.it, en_rest)}),
        mark="?" if form == "question" else ".",
    )  # fmt: skip


REFLEXIVE = (
    ("wake up, woke up, woken up = svegliare", (("at seven", "alle sette"), ("early", "presto"), ("late", "tardi"), ("at six", "alle sei"))),
    ("get up, got up, got up = alzare", (("at eight", "alle otto"), ("early", "presto"), ("late", "tardi"), ("at half past six", "alle sei e mezza"))),
    ("get dressed, got dressed, got dressed = vestire", (("quickly", "in fretta"), ("slowly", "lentamente"))),
    ("get bored, got bored, got bored = annoiare", (("at school", "a scuola"), ("at the concert", "al concerto"), ("during the lesson", "durante la lezione"))),
    ("get angry, got angry, got angry = arrabbiare", (("with the waiter", "con il cameriere"), ("with the neighbours", "con i vicini"))),
    ("fall asleep, fell asleep, fallen asleep = addormentare", (("on the sofa", "sul divano"), ("early", "presto"), ("in front of the television", "davanti alla televisione"), ("on the train", "in treno"))),
    ("sit down, sat down, sat down = sedere", (("on the chair", "sulla sedia"), ("near the window", "vicino alla finestra"), ("on the carpet", "sul tappeto"))),
    ("have fun, had fun, had fun = divertire", (("at the party", "alla festa"), ("at the beach", "in spiaggia"), ("at the zoo", "allo zoo"))),
    ("rest = riposare", (("after lunch", "dopo pranzo"), ("in the afternoon", "il pomeriggio"), ("under a tree", "sotto un albero"))),
    ("stop = fermare", (("in front of the church", "davanti alla chiesa"), ("at the traffic lights", "al semaforo"))),
    ("complain = lamentare", (("about the noise", "del rumore"), ("about the food", "del cibo"), ("about the weather", "del tempo"))),
    ("move = trasferire", (("to Milan", "a Milano"), ("to Spain", "in Spagna"), ("to the countryside", "in campagna"))),
)  # fmt: skip


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
        verb_form = f"{conjugation.present('essere')[who.slot]} {conjugation.participle(chosen.it, who.gender, who.plural)}"
    else:
        forms = {"present": conjugation.present, "future": conjugation.future, "used_to": conjugation.imperfect}
        verb_form = forms[tense](chosen.it)[who.slot]
    it = italian.join(who.it, "non" if negative else "", clitic, verb_form, it_rest)
    return sentence(clause.en, it, f"reflexive/{tense}", frozenset({combo(chosen.it, en_rest)}))


CHAINS = (
    ("decide = decidere", "di", ("past",)), ("try = cercare", "di", ("past", "future", "progressive")),
    ("forget, forgot, forgotten = dimenticare", "di", ("past",)), ("hope = sperare", "di", ("present",)),
    ("begin, began, begun = cominciare", "a", ("past", "future")), ("promise = promettere", "di", ("past",)),
    ("manage = riuscire", "a", ("past",)), ("offer = offrire", None, ()),
)  # fmt: skip


@pattern(260)
def two_verbs(rng: Random) -> Sentence | None:
    """We decided to sell the car."""
    spec, preposition, tenses = rng.choice(CHAINS)
    if not tenses or preposition is None:
        return None
    first, tense, who = verb_of(spec), rng.choice(tenses), subject(rng)
    drawn = action(rng, "past", who)
    if not drawn or drawn[0].state or drawn[0].en in ("lose", "break", "forget", "see", "receive", "meet", "wear"):
        return None
    second, thing = drawn
    if first.it in ("cominciare", "riuscire") and thing.en.startswith(("another", "some", "many", "too", "a ")):
        return None
    if first.it == "cominciare" and second.en in ("find", "open", "close", "buy", "turn on", "turn off", "take", "send",
                                                   "choose", "order", "greet", "call", "invite"):
        return None
    negative = rng.random() < 0.12 and first.it in ("riuscire",)
    auxiliary_group = Clause(who, first, tense, f"to {second.en} {thing.en}", negative=negative)
    it = auxiliary_group.it
    if first.it == "riuscire":
        participle = conjugation.participle("riuscire", who.gender, who.plural)
        it = italian.join(who.it, "non" if negative else "", conjugation.present("essere")[who.slot], participle)
    it = f"{it} {preposition} {second.it} {thing.it}"
    return sentence(auxiliary_group.en, it, f"two_verbs/{first.en}", thing.combos)


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
    en = Clause(who, chosen, "perfect", f"{en_rest} for {_count(years)[0]} {unit[0]}").en
    it = Clause(who, chosen, "present", it_rest=f"{it_rest} da {_count(years)[1]} {unit[1]}").it
    return sentence(en, it, "since", frozenset({combo(chosen.it, en_rest)}))


def _count(value: int) -> tuple[str, str]:
    from scripts.starter import english

    return english.number(value), italian.counted(value)


UNUSED = (HE, SHE, THEY)
