"""Sentence patterns with object pronouns, orders, liking, wh-questions, relative and subordinate clauses."""

from random import Random

from scripts.starter import english, italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import WHEN, action, object_text, verb_object, with_time
from scripts.starter.being import STATES, agree, to_be
from scripts.starter.grammar import (
    DATIVES,
    MEN,
    OBJECT_PRONOUNS,
    WOMEN,
    YOU,
    Clause,
    I,
    Phrase,
    Sentence,
    combo,
    name,
    noun_phrase,
    relative,
    sentence,
    someone,
    subject,
)
from scripts.starter.lexicon import Verb, adjectives_for, named, verb, verb_of, verbs
from scripts.starter.registry import pattern

PRONOUN_OF_SLOT = {0: "me", 1: "you", 3: "us"}


def clitic_clause(who: Phrase, chosen: Verb, tense: str, pronoun: str, clitic: str, *, agreement: tuple[str, bool] | None = None,
                  negative: bool = False, question: bool = False, drop: bool = False, adverb: str = "") -> Clause:  # fmt: skip
    """A clause whose object is a pronoun."""
    return Clause(who, chosen, tense, pronoun, "", negative, question, adverb, clitic, agreement, drop)


PEOPLE_VERBS = tuple(verb(name) for name in ("meet", "call", "help", "invite", "wait for", "greet")) + (
    verb_of("see, saw, seen = vedere"), verb_of("look for = cercare"), verb_of("thank = ringraziare"), verb_of("visit = visitare"),
    verb_of("understand, understood, understood = capire"), verb_of("listen to = ascoltare"), verb_of("accompany, accompanied, accompanied = accompagnare"),
)  # fmt: skip


@pattern(340)
def person_pronoun(rng: Random) -> Sentence | None:
    """I saw her yesterday. Did you call them?"""
    who, chosen = subject(rng), rng.choice(PEOPLE_VERBS)
    if chosen.it == "visitare":
        return None
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
    clause = clitic_clause(who, chosen, tense, pronoun, clitic, agreement=agreement, negative=form == "negative",
                           question=form == "question", adverb=adverb)  # fmt: skip
    en, it = clause.en, clause.it
    if not adverb:
        en, it = with_time(rng, tense, en, it, 0.4) if form == "statement" else (en, it)
    combos = frozenset({combo(chosen.it, pronoun, clause.subject.en)})
    return sentence(en, it, f"person_pronoun/{tense}/{form}", combos, "?" if form == "question" else ".")


THING_VERBS = ("lose", "find", "buy", "sell", "forget", "wash", "clean", "repair", "read", "write", "eat", "drink", "see", "hide",
               "break", "bring", "take", "open", "close", "use", "choose", "send", "iron", "finish")  # fmt: skip


@pattern(370)
def thing_pronoun(rng: Random) -> Sentence | None:
    """Where are the keys? I have lost them."""
    chosen = verb(rng.choice(THING_VERBS))
    who = subject(rng)
    noun = rng.choice(named(*chosen.objects))
    if noun.classes & {"person", "building", "meal"} or noun.it == "spinaci":
        return None
    plural = bool(noun.en_plural) and rng.random() < (0.9 if "pair" in noun.classes else 0.4)
    thing = noun_phrase(noun, "the", plural)
    pronoun, clitic = ("them" if plural else "it"), conjugation.object_clitic(thing.gender, plural)
    tense = rng.choice(("past", "past", "past", "future"))
    combos = frozenset({combo(chosen.it, noun.it)})
    form = rng.choice(("where", "topic", "bought", "modal"))
    agreement = (thing.gender, plural)
    if form == "modal":
        if chosen.en in ("lose", "forget", "break", "see"):
            return None
        be, essere = to_be(thing.slot, "present")
        modal = rng.choice(("must", "want to", "can't", "should"))
        finite = {"must": conjugation.present("dovere"), "want to": conjugation.present("volere"),
                  "can't": conjugation.present("potere"), "should": conjugation.conditional("dovere")}[modal][who.slot]  # fmt: skip
        options = adjectives_for(noun)
        if not options:
            return None
        adjective = rng.choice(options)
        if adjective.comparative == "-" or who.en not in ("I", "you", "he", "she", "we", "they"):
            return None
        agreed = italian.adjective(adjective.it, thing.gender, plural, adjective.it_plural)
        want = Clause(who, chosen, "want to", pronoun).en if modal == "want to" else f"{who.en} {modal} {chosen.en} {pronoun}"
        link_en, link_it = ("but", "ma") if modal == "can't" else ("and", "e")
        it = italian.join(thing.it, essere, agreed, link_it, who.it, "non" if modal == "can't" else "", finite, conjugation.infinitive_with(chosen.it, clitic))
        return sentence(f"{thing.en} {be} {adjective.en} {link_en} {want}", it, f"thing_pronoun/modal/{modal}", combos | {combo(adjective.en, noun.en)})
    clause = clitic_clause(who, chosen, tense, pronoun, clitic, agreement=agreement)
    if form == "where":
        if chosen.en in ("read", "write", "see", "iron", "open", "close", "wash", "clean", "choose") or tense == "future":
            return None
        be, where = ("are", "dove sono") if plural else ("is", "dov'è")
        return sentence(f"where {be} {thing.en}? {capital(clause.en)}", f"{where} {thing.it}? {capital(clause.it)}", "thing_pronoun/where", combos)
    if form == "topic":
        question = rng.random() < 0.3
        if question and who is I:
            return None
        asked = clitic_clause(who, chosen, tense, pronoun, clitic, agreement=agreement, question=question, negative=not question and rng.random() < 0.3)
        en, it = asked.en, asked.it
        if not question:
            en, it = with_time(rng, tense, en, it, 0.0)
        return sentence(f"{thing.en}? {capital(en)}", f"{thing.it}? {capital(it)}", f"thing_pronoun/topic/{tense}/{question}", combos, "?" if question else ".")
    first = verb(rng.choice(("buy", "find", "take", "receive")))
    if noun not in named(*first.objects) or first == chosen or chosen.en in ("buy", "find", "take", "bring"):
        return None
    opening = Clause(who, first, "past", thing.en, thing.it)
    then = clitic_clause(who, chosen, "past", pronoun, clitic, agreement=agreement, drop=True)
    return sentence(f"{opening.en} and {then.verb.en_past} {pronoun}", f"{opening.it} e {then.it}", "thing_pronoun/and", combos)


def capital(text: str) -> str:
    """`text` with a capital first letter."""
    return text[0].upper() + text[1:]


GIVING = (
    (verb_of("give, gave, given = dare"), ("book", "key", "gift", "flower", "ticket", "bottle", "apple", "newspaper", "umbrella", "pen")),
    (verb_of("bring, brought, brought = portare"), ("coffee", "newspaper", "flower", "gift", "book", "cake", "glass", "chair", "blanket")),
    (verb_of("show, showed, shown = mostrare"), ("photograph", "letter", "garden", "house", "passport", "map", "message")),
    (verb_of("send, sent, sent = mandare"), ("letter", "email", "photograph", "gift", "message", "flower")),
    (verb_of("write, wrote, written = scrivere"), ("letter", "message", "email", "poem")),
    (verb_of("lend, lent, lent = prestare"), ("car", "bicycle", "umbrella", "book", "pen", "dictionary", "coat")),
    (verb_of("explain = spiegare"), ("problem", "exercise", "lesson", "word")),
    (verb_of("tell, told, told = raccontare"), ("story", "fairy_tale", "secret")),
)  # fmt: skip


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
    if form == "question" and who is I or form == "negative" and thing.en.split()[0] in ("a", "an", "some"):
        return None
    noun = thing.noun
    assert noun is not None
    if rng.random() < 0.55:
        pronoun = rng.choice(tuple(DATIVES))
        if pronoun == PRONOUN_OF_SLOT.get(who.slot) or (who.slot in (0, 3) and pronoun in ("me", "us")):
            return None
        en_rest = f"{thing.en} to {pronoun}" if chosen.en == "explain" else f"{pronoun} {thing.en}"
        clause = Clause(who, chosen, tense, en_rest, thing.it, form == "negative", form == "question", clitic=DATIVES[pronoun])
    else:
        to = relative(rng) if rng.random() < 0.6 else name(rng.choice(MEN + WOMEN))
        if to.en == who.en:
            return None
        en_rest = f"{thing.en} to {to.en}"
        clause = Clause(who, chosen, tense, en_rest, f"{thing.it} {italian.prefixed('a', to.it)}", form == "negative", form == "question")
    kind = "pronoun" if clause.clitic else "person"
    return sentence(clause.en, clause.it, f"giving/{kind}/{tense}/{form}", frozenset({combo(chosen.it, noun.it, "to")}), "?" if form == "question" else ".")


@pattern(150)
def order(rng: Random) -> Sentence | None:
    """Open the window! Don't forget your umbrella!"""
    chosen = rng.choice([entry for entry in verbs() if not entry.state and entry.en not in ("lose", "find", "see", "receive", "meet", "build", "break")])
    thing = verb_object(rng, chosen, YOU, plain=True)
    if not thing or thing.en.startswith(("another", "many", "too", "a lot")):
        return None
    if rng.random() < 0.35 or chosen.en in ("forget",):
        if thing.en.startswith(("a ", "an ", "some ")):
            return None
        return sentence(f"don't {chosen.en} {thing.en}", f"non {chosen.it} {thing.it}", "order/negative", thing.combos, "!")
    return sentence(f"{chosen.en} {thing.en}", f"{conjugation.imperative(chosen.it)} {thing.it}", "order", thing.combos, "!")


@pattern(80)
def order_for_someone(rng: Random) -> Sentence | None:
    """Give me the key! Bring us a coffee, please."""
    chosen, names = rng.choice(GIVING)
    thing = given(rng, names)
    pronoun = rng.choice(("me", "us", "him", "her"))
    noun = thing.noun
    assert noun is not None
    en = f"{chosen.en} {thing.en} to {pronoun}" if chosen.en == "explain" else f"{chosen.en} {pronoun} {thing.en}"
    it = f"{conjugation.imperative_with(chosen.it, DATIVES[pronoun])} {thing.it}"
    if rng.random() < 0.4:
        return sentence(f"{en}, please", f"{it}, per favore", "order_for/please", frozenset({combo(chosen.it, noun.it, "to")}))
    return sentence(en, it, "order_for", frozenset({combo(chosen.it, noun.it, "to")}), "!")


@pattern(60)
def suggestion(rng: Random) -> Sentence | None:
    """Let's order a pizza!"""
    chosen = verb(rng.choice(("eat", "drink", "cook", "prepare", "buy", "sell", "open", "read", "watch", "listen to", "clean", "rent", "visit",
                              "call", "help", "invite", "take", "order", "repair", "wash", "sing")))  # fmt: skip
    who = next(person for person in (Phrase("we", "", "m", True, person=3, owner="our"),))
    thing = verb_object(rng, chosen, who, plain=True)
    if not thing or thing.en.startswith(("many", "too", "a lot", "this", "that")):
        return None
    return sentence(f"let's {chosen.en} {thing.en}", f"{conjugation.present(chosen.it)[3]} {thing.it}", "suggestion", thing.combos, "!")


ACTIVITIES = (
    ("reading", "leggere"), ("dancing", "ballare"), ("swimming", "nuotare"), ("cooking", "cucinare"), ("travelling", "viaggiare"),
    ("singing", "cantare"), ("sleeping", "dormire"), ("playing football", "giocare a calcio"), ("playing chess", "giocare a scacchi"),
    ("walking in the park", "camminare nel parco"), ("watching films", "guardare i film"), ("getting up early", "alzarsi presto"),
    ("working in the garden", "lavorare in giardino"), ("speaking Italian", "parlare italiano"), ("drawing", "disegnare"),
)  # fmt: skip
LIKED = ("food", "drink", "animal", "watching", "song", "book", "city", "house", "car", "dress", "nature", "subject", "restaurant", "museum",
         "instrument", "novel", "garden", "story", "village", "flower")  # fmt: skip
LIKERS = (("I", "mi", 0), ("you", "ti", 1), ("he", "gli", 2), ("she", "le", 2), ("we", "ci", 3), ("they", "gli", 5))


@pattern(340)
def liking(rng: Random) -> Sentence | None:
    """I like strawberries. Maria doesn't like this dress. Did you like the film?"""
    if rng.random() < 0.7:
        en_who, clitic, slot = rng.choice(LIKERS)
        it_front, mark_front = "", clitic
    else:
        who = someone(rng)
        en_who, slot, it_front, mark_front = who.en, who.slot, italian.prefixed("a", who.it), ""
    form = rng.choices(("statement", "negative", "question"), (5, 2, 2))[0]
    if form == "question" and en_who == "I":
        return None
    tense = rng.choices(("present", "past", "conditional"), (6, 2, 0))[0]
    if rng.random() < 0.25:
        tense = "present"
        thing = Phrase(*rng.choice(ACTIVITIES), "m", False)
        if "alzarsi" in thing.it:
            thing = Phrase(thing.en, {"mi": "alzarmi presto", "ti": "alzarti presto", "ci": "alzarci presto"}.get(mark_front, thing.it), "m", False)
        key = thing.en
    else:
        noun = rng.choice(named(*LIKED))
        mass = not noun.en_plural
        if tense == "past":
            if not noun.classes & {"watching", "reading", "listening", "food", "drink", "place", "venue"}:
                return None
            thing = noun_phrase(noun, "the")
        elif mass and "nature" not in noun.classes or noun.classes & {"fruit", "vegetable", "animal"} and rng.random() < 0.8:
            phrase = noun_phrase(noun, "the", not mass)
            thing = Phrase(phrase.en.removeprefix("the "), phrase.it, phrase.gender, not mass)
        elif "nature" in noun.classes:
            phrase = noun_phrase(noun, "the")
            bare = noun.en in ("snow", "rain", "summer", "winter", "spring", "autumn")
            thing = Phrase(noun.en if bare else phrase.en, phrase.it, phrase.gender, False)
        else:
            thing = noun_phrase(noun, rng.choice(("this", "that", "the")), rng.random() < 0.3)
        key = noun.en
        if noun.it == "spinaci":
            return None
    negative = "non" if form == "negative" else ""
    third = 5 if thing.plural else 2
    if tense == "present":
        piacere = conjugation.present("piacere")[third]
    else:
        piacere = f"{conjugation.present('essere')[third]} {conjugation.participle('piacere', thing.gender, thing.plural)}"
    it = italian.join(it_front, negative, mark_front, piacere, thing.it)
    like = Verb("like", "liked", "liked", "piacere")
    en = Clause(Phrase(en_who, "", "m", slot in (3, 5), person=slot), like, tense, thing.en, negative=form == "negative", question=form == "question").en
    return sentence(en, it, f"liking/{tense}/{form}/{'name' if it_front else 'clitic'}", frozenset({combo("piacere", key)}), "?" if form == "question" else ".")


# --- questions with a question word ------------------------------------------------------------------------


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
        if thing.en.startswith(("his ", "their ")) or "some" in thing.en:
            return None
        clause = Clause(asker, chosen, tense, thing.en, thing.it)
        return sentence(clause.en, clause.it, f"wh/who/{tense}", thing.combos, "?")
    if who is I:
        return None
    # Italian puts the subject of such a question after the verb: "Che cosa ha comprato Anna?"
    if kind == "what":
        chosen = verb(rng.choice(("eat", "drink", "cook", "buy", "read", "write", "watch", "study", "see", "draw", "bring", "find", "lose", "forget",
                                  "sell", "choose", "order", "prepare", "repair", "hide")))  # fmt: skip
        front_en, front_it, combos = "what", "che cosa", frozenset({combo("what", chosen.it, who.en)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    elif kind == "whom":
        chosen = rng.choice(PEOPLE_VERBS[:6])
        if chosen.en == "wait for":
            return None
        front_en, front_it, combos = "who", "chi", frozenset({combo("whom", chosen.it, who.en)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    elif kind in ("where", "when", "why"):
        drawn = action(rng, tense, who)
        if not drawn or drawn[0].state or drawn[1].en.startswith(("some ", "many", "too", "a lot", "another")):
            return None
        chosen, thing = drawn
        if kind == "where" and chosen.en not in ("buy", "find", "lose", "see", "meet", "hide", "park", "eat", "forget", "photograph", "write"):
            return None
        front_en, front_it = kind, {"where": "dove", "when": "quando", "why": "perché"}[kind]
        combos = thing.combos
        clause = Clause(who, chosen, tense, thing.en, thing.it, question=True, drop_subject=True)
    else:
        chosen = verb(rng.choice(("eat", "buy", "read", "write", "see", "send", "receive", "choose", "open", "sell", "wear", "order", "translate", "visit")))
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
            front_en, front_it = f"how many {noun.en_plural}", f"{italian.adjective('quanto', gender, True)} {agreed_it}"
        else:
            front_en = f"which {noun.en_plural if several else noun.en}"
            front_it = f"{'quali' if several else 'quale'} {agreed_it}"
        combos = frozenset({combo(chosen.it, noun.it)})
        clause = Clause(who, chosen, tense, question=True, drop_subject=True)
    if kind == "why":
        it = f"{front_it} {Clause(who, clause.verb, tense, clause.en_rest, clause.it_rest).it}"
    else:
        it = italian.join(front_it, clause.it, who.it)
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
    return sentence(f"how much {'do' if plural else 'does'} {thing.en} cost", f"quanto {costare} {thing.it}", "price_question", frozenset({combo("cost", noun.en)}), "?")


# --- relative and subordinate clauses ----------------------------------------------------------------------


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
    if adjective.en in ("broken", "full", "empty", "good") or (chosen.en in ("break", "eat", "drink") and tense == "past" and adjective.en in ("clean", "dirty")):
        return None
    plural = bool(noun.en_plural) and rng.random() < 0.3
    thing = noun_phrase(noun, "the", plural)
    clause = Clause(who, chosen, tense)
    be, essere = to_be(thing.slot, "past" if tense == "past" and rng.random() < 0.4 else "present")
    agreed = italian.adjective(adjective.it, thing.gender, plural, adjective.it_plural)
    degree_en, degree_it = rng.choice((("", ""), ("very ", "molto "))) if adjective.comparative != "-" else ("", "")
    combos = frozenset({combo(chosen.it, noun.it), combo(adjective.en, noun.en)})
    head, _, particle = clause.en.partition("\0")
    return sentence(f"{thing.en} that {head}{particle} {be} {degree_en}{adjective.en}",
                    f"{thing.it} che {clause.it} {essere} {degree_it}{agreed}", f"relative_object/{tense}", combos)  # fmt: skip


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
    relation = noun_phrase(rng.choice([noun for noun in named("family", "friend") if noun.gender == head.gender]), rng.choice(("my", "your")))
    if head.noun and "child" in head.noun.classes:
        return None
    if rng.random() < 0.6:
        return sentence(f"{head.en} who {clause.en} is {relation.en}", f"{head.it} che {clause.it} è {relation.it}", f"relative_subject/is/{tense}", thing.combos)
    speaker = rng.choice((I, YOU, I))
    know = Clause(speaker, verb("know", "conoscere"), "present", f"{head.en} who {clause.en}", f"{head.it} che {clause.it}", question=speaker is YOU)
    return sentence(know.en, know.it, f"relative_subject/know/{tense}", thing.combos, "?" if speaker is YOU else ".")


REASONS = tuple(state for state in STATES if state[0] in ("tired", "ill", "busy", "worried", "late", "angry", "nervous"))
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
        if not drawn or drawn[0].state or drawn[1].en.startswith(("a ", "an ", "some ", "another ", "many", "too", "a lot")):
            return None
        clause = Clause(who, drawn[0], "past", drawn[1].en, drawn[1].it, negative=True)
        combos, kind = drawn[1].combos, "didn't"
    else:
        spec, en_rest, it_rest = rng.choice((
            ("stay = restare", "at home", "a casa"), ("go, went, gone = andare", "to bed", "a letto"), ("go, went, gone = andare", "home", "a casa"),
            ("return = tornare", "home", "a casa"), ("stay = restare", "in bed", "a letto"), ("go, went, gone = andare", "to the doctor", "dal medico"),
        ))  # fmt: skip
        motion_tense = "past" if tense == "past" else ("progressive" if spec.startswith(("go", "return")) else "present")
        clause = Clause(who, verb_of(spec), motion_tense, en_rest, it_rest)
        en_state, it_state = rng.choice(REST_REASONS)
        combos, kind = frozenset({combo(it_rest, en_state)}), "stay"
    it = italian.join(clause.it, "perché", essere, agree(it_state, who))
    return sentence(f"{clause.en} because {pronoun} {be} {en_state}", it, f"because/{kind}/{tense}", combos)


@pattern(240)
def when_clause(rng: Random) -> Sentence | None:
    """When Anna arrived, we were eating the cake."""
    arriving = someone(rng)
    who = subject(rng)
    if arriving.en == who.en or who.en in ("he", "she", "they"):
        return None
    kind = rng.choice(("was_doing", "future"))
    drawn = action(rng, kind, who)
    if not drawn or drawn[0].state:
        return None
    chosen, thing = drawn
    spec = rng.choice(("arrive = arrivare", "come, came, come = tornare", "call = telefonare"))
    en_rest = "home" if "tornare" in spec else ""
    it_rest = "a casa" if "tornare" in spec else ""
    first_it = Clause(arriving, verb_of(spec), "future" if kind == "future" else "past", en_rest, it_rest).it
    first_en = Clause(arriving, verb_of(spec), "present" if kind == "future" else "past", en_rest).en
    main = Clause(who, chosen, kind, thing.en, thing.it)
    if rng.random() < 0.5:
        return sentence(f"when {first_en}, {main.en}", f"quando {first_it}, {main.it}", f"when/first/{kind}", thing.combos)
    return sentence(f"{main.en} when {first_en}", f"{main.it} quando {first_it}", f"when/last/{kind}", thing.combos)


CONDITIONS = (
    ("it rains", "pioverà"), ("it snows", "nevicherà"), ("you have time", "avrai tempo"), ("we are lucky", "saremo fortunati"),
    ("the weather is nice", "farà bel tempo"), ("the shop is open", "il negozio sarà aperto"), ("I have enough money", "avrò abbastanza soldi"),
    ("you want", "vorrai"), ("there is time", "ci sarà tempo"),
)  # fmt: skip


@pattern(190)
def if_clause(rng: Random) -> Sentence | None:
    """If it rains, we will stay at home."""
    en_if, it_if = rng.choice(CONDITIONS)
    who = subject(rng)
    drawn = action(rng, "future", who)
    if not drawn or drawn[0].state or drawn[0].en in ("lose", "forget", "break", "see", "find", "receive", "meet"):
        return None
    main = Clause(who, drawn[0], "future", drawn[1].en, drawn[1].it, negative=rng.random() < 0.15 and not drawn[1].en.startswith(("a ", "an ", "some ", "another ")))
    if rng.random() < 0.6:
        return sentence(f"if {en_if}, {main.en}", f"se {it_if}, {main.it}", "if/first", drawn[1].combos)
    return sentence(f"{main.en} if {en_if}", f"{main.it} se {it_if}", "if/last", drawn[1].combos)


KNOWING = (("I know that", "so che"), ("he says that", "lui dice che"), ("she told me that", "lei mi ha detto che"), ("I'm sure that", "sono sicuro che"),
           ("you know that", "sai che"), ("they say that", "dicono che"), ("we know that", "sappiamo che"))  # fmt: skip


@pattern(190)
def that_clause(rng: Random) -> Sentence | None:
    """I know that they sold the house."""
    en_front, it_front = rng.choice(KNOWING)
    who = someone(rng) if rng.random() < 0.6 else rng.choice((I, YOU))
    if who is I and en_front.startswith("I") or who is YOU and en_front.startswith("you"):
        return None
    tense = rng.choice(("past", "past", "future", "progressive"))
    if en_front.startswith("she told") and tense != "past":
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
    if other.en == who.en:
        return None
    tense = rng.choice(("past", "past", "future", "progressive"))
    thing = verb_object(rng, chosen, who, tense)
    if not thing or thing.en.startswith(("too", "many", "this", "that", "these", "those")):
        return None
    clause = Clause(who, chosen, tense, f"{thing.en} for {other.en}", f"{thing.it} per {other.it}")
    return sentence(clause.en, clause.it, f"for_someone/{tense}", thing.combos)


UNUSED = (english, WHEN, object_text)
