"""Noun phrases, subjects and clauses in both languages at once."""

from dataclasses import dataclass, field
from random import Random

from scripts.starter import english, italian
from scripts.starter import italian_verbs as conjugation
from scripts.starter.lexicon import Adjective, Noun, Verb, named

Combos = frozenset[str]


@dataclass(frozen=True)
class Sentence:
    """A sentence pair with the name of its pattern and the word combinations that it holds."""

    en: str
    it: str
    pattern: str
    combos: Combos = frozenset()


def sentence(en: str, it: str, pattern: str, combos: Combos = frozenset(), mark: str = ".") -> Sentence:
    """A finished sentence: a capital letter in front, a mark at the end."""
    return Sentence(en[0].upper() + en[1:] + mark, it[0].upper() + it[1:] + mark, pattern, combos)


@dataclass(frozen=True)
class Phrase:
    """A noun phrase in both languages with what agreement needs. `it` is empty for a dropped pronoun."""

    en: str
    it: str
    gender: str
    plural: bool
    combos: Combos = frozenset()
    person: int = 2
    owner: str = "their"
    noun: Noun | None = field(default=None, compare=False)

    @property
    def slot(self) -> int:
        """The index into the six persons of a conjugation."""
        return self.person


I = Phrase("I", "", "m", False, person=0, owner="my")  # noqa: E741
YOU = Phrase("you", "", "m", False, person=1, owner="your")
HE = Phrase("he", "lui", "m", False, person=2, owner="his")
SHE = Phrase("she", "lei", "f", False, person=2, owner="her")
WE = Phrase("we", "", "m", True, person=3, owner="our")
THEY = Phrase("they", "", "m", True, person=5, owner="their")
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
OBJECT_PRONOUNS = {
    "me": "mi",
    "you": "ti",
    "him": "lo",
    "her": "la",
    "us": "ci",
    "them": "li",
}
DATIVES = {"me": "mi", "you": "ti", "him": "gli", "her": "le", "us": "ci", "them": "gli"}
OWNERS = ("my", "your", "his", "her", "our", "their")
MEN = ("Marco", "Luca", "Paolo", "Giovanni", "Pietro", "Davide", "Tom", "Stefano")
WOMEN = ("Anna", "Maria", "Giulia", "Laura", "Sara", "Elena", "Chiara", "Francesca")


def combo(*words: str) -> str:
    """The name of a combination of words."""
    return "+".join(words)


def noun_phrase(
    noun: Noun, determiner: str, plural: bool = False, adjective: Adjective | None = None, count: int = 0
) -> Phrase:
    """A noun phrase. `determiner`: the, a, some, bare, this, that, many, number, all, another, or a possessive."""
    gender = noun.plural_gender if plural else noun.gender
    it_noun = noun.it_plural if plural else noun.it
    en_words = [noun.en_plural if plural else noun.en]
    it_words = [it_noun]
    if adjective:
        en_words.insert(0, adjective.en)
        if adjective.before:
            form = italian.before_noun(adjective.it, gender, plural, it_noun, adjective.it_plural)
            it_words.insert(0, form)
        else:
            it_words.append(italian.adjective(adjective.it, gender, plural, adjective.it_plural))
    en_det, it_det = _determiner(determiner, en_words[0], it_words[0], gender, plural, count, noun, bool(adjective))
    combos = frozenset({combo(adjective.en, noun.en)}) if adjective else frozenset()
    return Phrase(
        " ".join(filter(None, [en_det, *en_words])),
        italian.join(it_det, *it_words),
        gender,
        plural,
        combos,
        person=5 if plural else 2,
        owner="their" if plural else ("his" if gender == "m" else "her"),
        noun=noun,
    )


def _determiner(
    kind: str, en_next: str, it_next: str, gender: str, plural: bool, count: int, noun: Noun, described: bool
) -> tuple[str, str]:
    if kind == "bare":
        return "", ""
    if kind == "the":
        return "the", italian.definite(it_next, gender, plural)
    if kind == "a":
        return english.article(en_next), italian.indefinite(it_next, gender)
    if kind == "some":
        return "some", italian.partitive(it_next, gender, plural)
    if kind == "this":
        form = italian.adjective("questo", gender, plural)
        return ("these" if plural else "this"), form
    if kind == "that":
        return ("those" if plural else "that"), italian.before_noun("quello", gender, plural, it_next)
    if kind == "many":
        return ("many" if plural else "a lot of"), italian.adjective("molto", gender, plural)
    if kind == "too many":
        return ("too many" if plural else "too much"), italian.adjective("troppo", gender, plural)
    if kind == "another":
        return "another", ("un altro" if gender == "m" else "un'altra")
    if kind == "all":
        return "all the", italian.adjective("tutto", gender, plural) + " " + italian.definite(it_next, gender, plural)
    if kind == "number":
        return english.number(count), italian.counted(count)
    possessive = italian.possessive(kind, gender, plural)
    if "family" in noun.classes and not plural and not described and kind != "their":
        return kind, possessive
    return kind, italian.join(italian.definite(possessive, gender, plural), possessive)


def name(person: str) -> Phrase:
    """A first name as a noun phrase."""
    woman = person in WOMEN
    return Phrase(person, person, "f" if woman else "m", False, owner="her" if woman else "his")


def both(first: Phrase, second: Phrase) -> Phrase:
    """Two people as one plural subject."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    return Phrase(
        f"{first.en} and {second.en}",
        f"{first.it} {'ed' if second.it[0] == 'E' else 'e'} {second.it}",
        gender,
        True,
        person=5,
    )


def overlap(first: Phrase, second: Phrase) -> bool:
    """Whether the same person is named in both."""
    return not set(first.en.split(" and ")).isdisjoint(second.en.split(" and "))


def someone(rng: Random) -> Phrase:
    """A person who is not a pronoun: a name, two names, a relative, a job or a friend."""
    kind = rng.choices(("name", "two", "family", "job", "friends"), (5, 1.2, 5, 3, 1.5))[0]
    if kind == "name":
        return name(rng.choice(MEN + WOMEN))
    if kind == "two":
        return both(name(rng.choice(WOMEN[3:])), name(rng.choice(MEN + WOMEN[:3])))
    if kind == "family":
        return relative(rng)
    if kind == "job":
        return noun_phrase(rng.choice(named("man", "woman", "child")), "the", plural=rng.random() < 0.25)
    return noun_phrase(rng.choice(named("friend")), rng.choice(("my", "our", "your")), plural=rng.random() < 0.6)


def relative(rng: Random) -> Phrase:
    """My mother, her brothers, ..."""
    noun = rng.choice(named("family"))
    several = noun.en in ("brother", "sister", "uncle", "aunt", "cousin", "son", "daughter")
    owner = rng.choices(("my", "your", "his", "her", "our"), (5, 2, 1.5, 1.5, 1))[0]
    if noun.en in ("husband", "wife") and owner in ("our", "her" if noun.en == "wife" else "his"):
        owner = "my"
    return noun_phrase(noun, owner, plural=several and rng.random() < 0.25)


def subject(rng: Random) -> Phrase:
    """A subject: a pronoun more often than not."""
    if rng.random() < 0.55:
        return rng.choices(PRONOUNS, (3, 2, 2, 2, 2, 2))[0]
    return someone(rng)


# --- clauses ---------------------------------------------------------------------------------------------

TENSES = ("present", "progressive", "past", "perfect", "future", "conditional", "used_to", "was_doing")
NEGATED = {
    "am": "am not",
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "has": "hasn't",
    "have": "haven't",
    "will": "won't",
    "would": "wouldn't",
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "can": "can't",
    "must": "mustn't",
    "should": "shouldn't",
    "could": "couldn't",
}
# English modal: the Italian verb and its tense.
MODALS = {
    "can": ("potere", "present"),
    "must": ("dovere", "present"),
    "should": ("dovere", "conditional"),
    "could": ("potere", "conditional"),
    "would like to": ("volere", "conditional"),
    "want to": ("volere", "present"),
    "have to": ("dovere", "present"),
}
ADVERBS = {
    "always": "sempre",
    "often": "spesso",
    "never": "mai",
    "already": "già",
    "yet": "ancora",
    "just": "appena",
}


@dataclass(frozen=True)
class Clause:
    """What a verb says about a subject; `en_rest` and `it_rest` hold the object and what follows."""

    subject: Phrase
    verb: Verb
    tense: str
    en_rest: str = ""
    it_rest: str = ""
    negative: bool = False
    question: bool = False
    adverb: str = ""
    clitic: str = ""  # Italian, in front of the finite verb
    clitic_agreement: tuple[str, bool] | None = None
    drop_subject: bool = False  # the Italian subject is known from the clause before

    @property
    def en(self) -> str:
        """The English clause without capital letter and full stop."""
        subject, slot = self.subject.en, self.subject.slot
        aux, main = _english_verb(self.verb, slot, self.tense)
        if (self.negative or self.question) and not aux:
            aux = {"past": "did", "used_to": "did"}.get(self.tense, "does" if slot == 2 else "do")
            main = "use to " + self.verb.en if self.tense == "used_to" else self.verb.en
            if self.tense.startswith(("want", "have")):
                main = f"{self.tense} {self.verb.en}"
        if self.negative:
            aux = NEGATED[aux]
        words = [aux, subject] if self.question else [subject, aux]
        middle, last = ("", "yet") if self.adverb == "yet" else (self.adverb, "")
        return " ".join(filter(None, [*words, middle, main, self.en_rest, last]))

    @property
    def it(self) -> str:
        """The Italian clause."""
        who = "" if self.drop_subject else self.subject.it
        finite, rest = _italian_verb(self)
        adverb = ADVERBS.get(self.adverb, "")
        group = conjugation.before_verb(self.clitic, finite) if self.clitic else finite
        negative = "non" if self.negative or self.adverb == "never" else ""
        return italian.join(who, negative, group, adverb, rest, self.verb.tail, self.it_rest)


def _english_verb(verb: Verb, slot: int, tense: str) -> tuple[str, str]:
    if tense == "present":
        return "", english.third_person(verb.en) if slot == 2 else verb.en
    if tense == "past":
        return "", verb.en_past
    if tense == "used_to":
        return "", f"used to {verb.en}"
    if tense in ("want to", "have to"):
        first = tense.split()[0]
        return "", f"{english.third_person(first) if slot == 2 else first} to {verb.en}"
    if tense == "would like to":
        return "would", f"like to {verb.en}"
    if tense in ("progressive", "was_doing"):
        return (english.BE if tense == "progressive" else english.WAS)[slot], english.ing(verb.en)
    if tense == "perfect":
        return "has" if slot == 2 else "have", verb.en_participle
    return {"future": "will", "conditional": "would"}.get(tense, tense), verb.en


def _italian_verb(clause: Clause) -> tuple[str, str]:
    infinitive, slot, tense = clause.verb.it, clause.subject.slot, clause.tense
    if tense in MODALS:
        modal, mood = MODALS[tense]
        forms_of = conjugation.conditional if mood == "conditional" else conjugation.present
        return forms_of(modal)[slot], infinitive
    if tense == "past" and clause.verb.state and infinitive != "capire":
        tense = "used_to"
    if tense in ("past", "perfect"):
        if infinitive in conjugation.ESSERE_VERBS:
            agreement = (clause.subject.gender, clause.subject.plural)
            auxiliary = "essere"
        else:
            agreement = clause.clitic_agreement or ("m", False)
            auxiliary = "avere"
        return conjugation.present(auxiliary)[slot], conjugation.participle(infinitive, *agreement)
    if tense in ("progressive", "was_doing"):
        stare = conjugation.present("stare") if tense == "progressive" else conjugation.imperfect("stare")
        return stare[slot], conjugation.gerund(infinitive)
    forms = {
        "present": conjugation.present,
        "future": conjugation.future,
        "conditional": conjugation.conditional,
        "used_to": conjugation.imperfect,
    }
    return forms[tense](infinitive)[slot], ""
