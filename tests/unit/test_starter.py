"""The starter corpus: what ships is what the generator writes, and its Italian grammar is right."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scripts import make_starter_corpus as maker
from scripts.starter import english, italian, lexicon
from scripts.starter import italian_verbs as verbs
from scripts.starter.grammar import HE, SHE, THEY, Clause, I, Sentence, both, noun_phrase, overlap
from scripts.starter.grammar import name as named
from scripts.starter.lexicon import noun, verb, verb_of

FOLDER = Path(__file__).parents[2] / "translator/starter"
SETS = ("train", "valid", "valid-hand", "test", "test-hand")


def shipped(name: str) -> list[tuple[str, str]]:
    text = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8")
    assert text.endswith("\n")
    pairs = [line.split("\t") for line in text[:-1].split("\n")]
    assert all(len(pair) == 2 and all(side and side == side.strip() for side in pair) for pair in pairs)
    return [(source, target) for source, target in pairs]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[tuple[str, str]]]:
    return {name: shipped(name) for name in SETS}


@pytest.fixture(scope="module")
def generated() -> tuple[list[Sentence], list[Sentence]]:
    return maker.generate(source for source, _ in maker.hand_written())


def test_generator_writes_the_shipped_files(generated: tuple[list[Sentence], list[Sentence]]) -> None:
    for name, pairs in maker.share_out(maker.hand_written(), *generated).items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        assert (FOLDER / name).read_bytes() == text.encode(), f"{name}: run scripts/make_starter_corpus.py"


def test_sizes(corpus: dict[str, list[tuple[str, str]]]) -> None:
    sizes = {name: len(pairs) for name, pairs in corpus.items()}
    assert {name: sizes[name] for name in SETS[1:]} == {"valid": 400, "valid-hand": 60, "test": 400, "test-hand": 60}
    assert 8_000 <= sum(sizes.values()) <= 15_000
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 1_000_000
    assert len(maker.hand_written()) >= 400


def test_no_source_comes_twice_even_without_case_and_punctuation(corpus: dict[str, list[tuple[str, str]]]) -> None:
    counts = Counter(maker.normalised(source) for pairs in corpus.values() for source, _ in pairs)
    assert counts.most_common(1)[0][1] == 1


def test_hand_written_pairs_are_all_shipped(corpus: dict[str, list[tuple[str, str]]]) -> None:
    everything = {pair for pairs in corpus.values() for pair in pairs}
    assert everything.issuperset(maker.hand_written())


def test_word_forms(corpus: dict[str, list[tuple[str, str]]]) -> None:
    for side, at_least in ((0, 1000), (1, 2500)):
        counts = Counter(form for pair in corpus["train"] for form in maker.forms(pair[side]))
        assert len(counts) >= at_least
        held = {form for name in ("valid", "test") for pair in corpus[name] for form in maker.forms(pair[side])}
        assert not {form for form in held if counts[form] < maker.MIN_FORM_COUNT}


def test_training_shows_nothing_that_is_held_out(generated: tuple[list[Sentence], list[Sentence]]) -> None:
    training, unseen = generated
    assert not any(sentence.pattern in maker.HELD_OUT_PATTERNS for sentence in training)
    shown = {combo for sentence in training for combo in sentence.combos}
    assert all(sentence.pattern in maker.HELD_OUT_PATTERNS or sentence.combos - shown for sentence in unseen)
    assert {sentence.pattern for sentence in unseen} >= maker.HELD_OUT_PATTERNS


def test_punctuation_agrees(corpus: dict[str, list[tuple[str, str]]]) -> None:
    for name in ("train", "valid", "test"):
        for source, target in corpus[name]:
            assert source[0] == source[0].upper(), source
            assert target[0] == target[0].upper(), target
            assert not re.search(r"\s[,.?!]|  |(?<! po)' |’|\b(a|di|da|in|su) (il|lo|la|i|gli|le|l')\b", target), target
            assert source[-1] == target[-1], source


@pytest.mark.parametrize(
    ("word", "gender", "singular", "plural", "indefinite", "partitive"),
    [
        ("libro", "m", "il", "i", "un", "del"),
        ("studente", "m", "lo", "gli", "uno", "dello"),
        ("zaino", "m", "lo", "gli", "uno", "dello"),
        ("psicologo", "m", "lo", "gli", "uno", "dello"),
        ("gnomo", "m", "lo", "gli", "uno", "dello"),
        ("yogurt", "m", "lo", "gli", "uno", "dello"),
        ("amico", "m", "l'", "gli", "un", "dell'"),
        ("hotel", "m", "l'", "gli", "un", "dell'"),
        ("sale", "m", "il", "i", "un", "del"),
        ("casa", "f", "la", "le", "una", "della"),
        ("scuola", "f", "la", "le", "una", "della"),
        ("arancia", "f", "l'", "le", "un'", "dell'"),
    ],
)
def test_articles(word: str, gender: str, singular: str, plural: str, indefinite: str, partitive: str) -> None:
    assert italian.definite(word, gender, False) == singular
    assert italian.definite(word, gender, True) == plural
    assert italian.indefinite(word, gender) == indefinite
    assert italian.partitive(word, gender, False) == partitive


@pytest.mark.parametrize(
    ("preposition", "phrase", "joined"),
    [
        ("di", "il libro", "del libro"),
        ("a", "lo zoo", "allo zoo"),
        ("su", "l'albero", "sull'albero"),
        ("in", "i campi", "nei campi"),
        ("da", "gli zii", "dagli zii"),
        ("a", "le tre", "alle tre"),
        ("a", "l'una", "all'una"),
        ("per", "il libro", "per il libro"),
        ("con", "l'amico", "con l'amico"),
        ("di", "mia madre", "di mia madre"),
        ("a", "Anna", "ad Anna"),
        ("a", "Marco", "a Marco"),
        ("di", "una chiave", "di una chiave"),
    ],
)
def test_prepositions(preposition: str, phrase: str, joined: str) -> None:
    assert italian.prefixed(preposition, phrase) == joined


@pytest.mark.parametrize(
    ("english_noun", "plural"),
    [
        ("apple", "mele"), ("boy", "ragazzi"), ("friend", "amici"), ("cook", "cuochi"), ("lake", "laghi"),
        ("egg", "uova"), ("hand", "mani"), ("arm", "braccia"), ("city", "città"), ("film", "film"), ("radio", "radio"),
        ("motorbike", "moto"), ("beach", "spiagge"), ("shirt", "camicie"), ("cow", "mucche"), ("uncle", "zii"),
        ("son", "figli"), ("problem", "problemi"), ("journalist", "giornalisti"), ("colleague", "colleghi"),
        ("church", "chiese"), ("key", "chiavi"), ("man", "uomini"), ("wife", "mogli"), ("watch", "orologi"),
        ("doctor", "medici"), ("psychologist", "psicologi"), ("garage", "garage"), ("bus", "autobus"),
        ("camera", "macchine fotografiche"), ("journey", "viaggi"), ("orange", "arance"), ("mushroom", "funghi"),
    ],
)  # fmt: skip
def test_plurals(english_noun: str, plural: str) -> None:
    assert noun(english_noun).it_plural == plural


@pytest.mark.parametrize(
    ("determiner", "thing", "plural", "adjective", "en", "it"),
    [
        ("a", "house", False, "beautiful", "a beautiful house", "una bella casa"),
        ("the", "tree", True, "big", "the big trees", "i grandi alberi"),
        ("some", "flower", True, "beautiful", "some beautiful flowers", "dei bei fiori"),
        ("a", "friend", False, "good", "a good friend", "un buon amico"),
        ("that", "umbrella", False, None, "that umbrella", "quell'ombrello"),
        ("that", "rucksack", True, None, "those rucksacks", "quegli zaini"),
        ("that", "book", True, None, "those books", "quei libri"),
        ("this", "egg", True, None, "these eggs", "queste uova"),
        ("my", "mother", False, None, "my mother", "mia madre"),
        ("my", "brother", True, None, "my brothers", "i miei fratelli"),
        ("their", "father", False, None, "their father", "il loro padre"),
        ("his", "car", False, None, "his car", "la sua macchina"),
        ("another", "idea", False, None, "another idea", "un'altra idea"),
        ("a", "dress", False, "red", "a red dress", "un vestito rosso"),
        ("the", "rose", True, "white", "the white roses", "le rose bianche"),
        ("all", "student", True, None, "all the students", "tutti gli studenti"),
        ("many", "question", True, None, "many questions", "molte domande"),
    ],
)
def test_noun_phrases(determiner: str, thing: str, plural: bool, adjective: str | None, en: str, it: str) -> None:
    described = next((one for one in lexicon.adjectives() if one.en == adjective), None)
    phrase = noun_phrase(noun(thing), determiner, plural, described)
    assert (phrase.en, phrase.it) == (en, it)


@pytest.mark.parametrize(
    ("lemma", "noun_", "plural", "form"),
    [
        ("bello", "libro", False, "bel"), ("bello", "specchio", False, "bello"), ("bello", "albero", False, "bell'"),
        ("bello", "occhi", True, "begli"), ("bello", "fiori", True, "bei"), ("buono", "studente", False, "buono"),
        ("buono", "amico", False, "buon"), ("quello", "zio", False, "quello"), ("quello", "alberi", True, "quegli"),
    ],
)  # fmt: skip
def test_adjectives_before_their_noun(lemma: str, noun_: str, plural: bool, form: str) -> None:
    assert italian.before_noun(lemma, "m", plural, noun_) == form


@pytest.mark.parametrize(
    ("infinitive", "present", "future", "conditional", "imperfect", "gerund", "participle", "imperative"),
    [
        ("mangiare", "mangi", "mangerai", "mangeresti", "mangiavi", "mangiando", "mangiato", "mangia"),
        ("cercare", "cerchi", "cercherai", "cercheresti", "cercavi", "cercando", "cercato", "cerca"),
        ("studiare", "studi", "studierai", "studieresti", "studiavi", "studiando", "studiato", "studia"),
        ("finire", "finisci", "finirai", "finiresti", "finivi", "finendo", "finito", "finisci"),
        ("aprire", "apri", "aprirai", "apriresti", "aprivi", "aprendo", "aperto", "apri"),
        ("leggere", "leggi", "leggerai", "leggeresti", "leggevi", "leggendo", "letto", "leggi"),
        ("bere", "bevi", "berrai", "berresti", "bevevi", "bevendo", "bevuto", "bevi"),
        ("tradurre", "traduci", "tradurrai", "tradurresti", "traducevi", "traducendo", "tradotto", "traduci"),
        ("scegliere", "scegli", "sceglierai", "sceglieresti", "sceglievi", "scegliendo", "scelto", "scegli"),
        ("rimanere", "rimani", "rimarrai", "rimarresti", "rimanevi", "rimanendo", "rimasto", "rimani"),
        ("fare", "fai", "farai", "faresti", "facevi", "facendo", "fatto", "fai"),
        ("andare", "vai", "andrai", "andresti", "andavi", "andando", "andato", "vai"),
        ("pagare", "paghi", "pagherai", "pagheresti", "pagavi", "pagando", "pagato", "paga"),
        ("vedere", "vedi", "vedrai", "vedresti", "vedevi", "vedendo", "visto", "vedi"),
    ],
)
def test_second_person_singular(
    infinitive: str, present: str, future: str, conditional: str, imperfect: str, gerund: str, participle: str,
    imperative: str,
) -> None:  # fmt: skip
    made = [tense(infinitive)[1] for tense in (verbs.present, verbs.future, verbs.conditional, verbs.imperfect)]
    assert made == [present, future, conditional, imperfect]
    assert verbs.gerund(infinitive) == gerund
    assert verbs.participle(infinitive) == participle
    assert verbs.imperative(infinitive) == imperative


@pytest.mark.parametrize(
    ("made", "right"),
    [
        (verbs.before_verb("lo", "ho"), "l'ho"), (verbs.before_verb("le", "ho"), "le ho"),
        (verbs.before_verb("la", "aiuto"), "la aiuto"), (verbs.before_verb("ci", "è"), "c'è"),
        (verbs.before_verb("ci", "erano"), "c'erano"), (verbs.before_verb("ci", "sono"), "ci sono"),
        (verbs.imperative_with("dare", "mi"), "dammi"), (verbs.imperative_with("dare", "gli"), "dagli"),
        (verbs.imperative_with("portare", "ci"), "portaci"), (verbs.infinitive_with("aprire", "lo"), "aprirlo"),
        (verbs.infinitive_with("tradurre", "la"), "tradurla"), (verbs.participle("leggere", "f", True), "lette"),
        (verbs.object_clitic("f", True), "le"), (verbs.object_clitic("m", True), "li"),
        (italian.number(21), "ventuno"), (italian.number(28), "ventotto"), (italian.number(33), "trentatré"),
        (italian.counted(21), "ventun"), (italian.number(180), "centottanta"), (italian.counted(2), "due"),
        (italian.counted_time(20, "anni"), "vent'anni"), (italian.counted_time(21, "anni"), "ventun anni"),
        (italian.counted_time(10, "anni"), "dieci anni"), (italian.counted_time(20, "mesi"), "venti mesi"),
        (italian.clock(7, 30), "le sette e mezza"), (italian.clock(12, 45), "l'una meno un quarto"),
        (italian.clock(1, 10), "l'una e dieci"), (english.clock(12, 45), "a quarter to one"),
        (english.clock(7, 30), "half past seven"), (english.number(142), "one hundred and forty-two"),
        (english.article("umbrella"), "an"), (english.ing("write"), "writing"), (english.ing("wrap"), "wrapping"),
        (english.third_person("watch"), "watches"), (english.third_person("try on"), "tries on"),
    ],
)  # fmt: skip
def test_small_forms(made: str, right: str) -> None:
    assert made == right


def test_the_same_person_is_not_named_twice() -> None:
    anna, marco = named("Anna"), named("Marco")
    assert overlap(anna, both(marco, anna))
    assert not overlap(anna, marco)
    assert not overlap(anna, noun_phrase(noun("mother"), "my"))


GO = verb_of("go, went, gone = andare")


@pytest.mark.parametrize(
    ("clause", "en", "it"),
    [
        (Clause(SHE, GO, "past", "home", "a casa"), "she went home", "lei è andata a casa"),
        (Clause(THEY, GO, "past", "home", "a casa", negative=True), "they didn't go home", "non sono andati a casa"),
        (Clause(I, verb("eat"), "progressive", "it"), "I am eating it", "sto mangiando"),
        (Clause(HE, verb("see"), "past", "her", "", clitic="la", clitic_agreement=("f", False)),
         "he saw her", "lui l'ha vista"),
        (Clause(HE, verb("read"), "future", "a book", "un libro", question=True),
         "will he read a book", "lui leggerà un libro"),
        (Clause(SHE, verb("read"), "perfect", "the book", "il libro", negative=True, adverb="yet"),
         "she hasn't read the book yet", "lei non ha ancora letto il libro"),
        (Clause(I, verb("drink"), "present", "wine", "vino", adverb="never"),
         "I never drink wine", "non bevo mai vino"),
        (Clause(HE, verb("want"), "past", "a beer", "una birra"), "he wanted a beer", "lui voleva una birra"),
        (Clause(THEY, verb("buy"), "would like to", "a car", "una macchina"),
         "they would like to buy a car", "vorrebbero comprare una macchina"),
        (Clause(SHE, verb("need"), "present", "a key", "di una chiave"),
         "she needs a key", "lei ha bisogno di una chiave"),
    ],
)  # fmt: skip
def test_clauses(clause: Clause, en: str, it: str) -> None:
    assert (clause.en, clause.it) == (en, it)
