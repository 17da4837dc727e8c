"""Italian nouns, articles, adjectives, contractions, numbers and clock times."""

import re

VOWELS = "aeiouàèéìòùh"  # h is silent: "l'hotel"
_HEAVY = re.compile(r"^(z|x|y|gn|ps|pn|s[bcdfghlmnpqrtvz])", re.IGNORECASE)
_CONTRACTED = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}
_CONTRACTED_ARTICLE = {"il": "l", "lo": "llo", "la": "lla", "l'": "ll'", "i": "i", "gli": "gli", "le": "lle"}


def onset(word: str) -> str:
    """How `word` begins, for the choice of an article: "vowel", "heavy" (z, gn, s and consonant ...) or "plain"."""
    if word[0].lower() in VOWELS:
        return "vowel"
    return "heavy" if _HEAVY.match(word) else "plain"


def definite(word: str, gender: str, plural: bool) -> str:
    """The definite article in front of `word`."""
    start = onset(word)
    if plural:
        return "le" if gender == "f" else ("i" if start == "plain" else "gli")
    if start == "vowel":
        return "l'"
    return "la" if gender == "f" else ("lo" if start == "heavy" else "il")


def indefinite(word: str, gender: str) -> str:
    """The indefinite article in front of `word`."""
    if gender == "f":
        return "un'" if onset(word) == "vowel" else "una"
    return "uno" if onset(word) == "heavy" else "un"


def contract(preposition: str, article: str) -> str:
    """Preposition and definite article in one word where Italian joins them: "di" + "lo" = "dello"."""
    if preposition not in _CONTRACTED:
        return f"{preposition} {article}"
    return _CONTRACTED[preposition] + _CONTRACTED_ARTICLE[article]


def partitive(word: str, gender: str, plural: bool) -> str:
    """The partitive article ("some") in front of `word`."""
    return contract("di", definite(word, gender, plural))


def join(*words: str) -> str:
    """Words with spaces between them, but none after an apostrophe."""
    return " ".join(word for word in words if word).replace("' ", "'")


def prefixed(preposition: str, phrase: str) -> str:
    """A preposition before a noun phrase, contracted with the definite article if the phrase begins with one."""
    first, apostrophe, rest = phrase.partition("'")
    if apostrophe and first.lower() == "l":
        return contract(preposition, "l'") + rest if preposition in _CONTRACTED else f"{preposition} {phrase}"
    article, _, rest = phrase.partition(" ")
    if rest and article in _CONTRACTED_ARTICLE and preposition in _CONTRACTED:
        return f"{contract(preposition, article)} {rest}"
    if preposition == "a" and phrase[0] in "aA":
        preposition = "ad"  # "ad Anna", "ad aspettare"
    return f"{preposition} {phrase}"


def plural_of(noun: str, gender: str) -> str:
    """The regular plural; the lexicon lists the exceptions."""
    if noun[-1] in "àèéìòù" or noun[-1] not in "aeio":
        return noun
    if noun.endswith(("io", "ìo")):
        return noun[:-1]
    if noun.endswith(("co", "go")):
        return noun[:-1] + "hi"
    if noun.endswith(("ca", "ga")):
        return noun[:-1] + ("he" if gender == "f" else "hi")
    if noun.endswith("a"):
        return noun[:-1] + ("e" if gender == "f" else "i")
    return noun[:-1] + "i"


INVARIABLE = frozenset({"rosa", "blu", "viola"})


def adjective(lemma: str, gender: str, plural: bool, masculine_plural: str | None = None) -> str:
    """The form of an adjective that agrees with gender and number."""
    if lemma in INVARIABLE:
        return lemma
    if lemma.endswith("e"):
        return lemma[:-1] + "i" if plural else lemma
    if gender == "m":
        return (masculine_plural or plural_of(lemma, "m")) if plural else lemma
    feminine = lemma[:-1] + "a"
    return plural_of(feminine, "f") if plural else feminine


def before_noun(lemma: str, gender: str, plural: bool, noun: str, masculine_plural: str | None = None) -> str:
    """The form of an adjective in front of `noun`: "bello" and "quello" follow the article, "buono" follows "uno"."""
    if lemma in ("bello", "quello"):
        article = definite(noun, gender, plural)
        if lemma == "bello" and gender == "f" and not plural:
            article = "la"  # "una bella isola" is the commoner spelling
        return (lemma[:2] if lemma == "bello" else "que") + {
            "il": "l",
            "lo": "llo",
            "la": "lla",
            "l'": "ll'",
            "i": "i",
            "gli": "gli",
            "le": "lle",
        }[article]
    if lemma == "buono" and gender == "m" and not plural:
        return "buono" if onset(noun) == "heavy" else "buon"
    return adjective(lemma, gender, plural, masculine_plural)


POSSESSIVES = {"my": "mio", "your": "tuo", "his": "suo", "her": "suo", "our": "nostro", "their": "loro"}


def possessive(owner: str, gender: str, plural: bool) -> str:
    """The possessive adjective for the English `owner` ("my", "your", ...)."""
    stem = POSSESSIVES[owner]
    if stem == "loro":
        return stem
    if gender == "m" and plural:
        return {"mio": "miei", "tuo": "tuoi", "suo": "suoi"}.get(stem, "nostri")
    return adjective(stem, gender, plural)


_UNITS = (  # noqa: SIM905
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
    "sedici diciassette diciotto diciannove"
).split()
_TENS = ["", "", "venti", "trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta"]


def number(value: int) -> str:
    """A number from 0 to 9999 in words, as it stands when counting."""
    if value < 20:
        return _UNITS[value]
    if value < 100:
        tens, unit = _TENS[value // 10], value % 10
        if unit in (1, 8):
            tens = tens[:-1]  # ventuno, ventotto
        return tens + ("" if unit == 0 else "tré" if unit == 3 else _UNITS[unit])
    if value < 1000:
        hundreds, rest = divmod(value, 100)
        words = ("" if hundreds == 1 else _UNITS[hundreds]) + "cento"
        if rest == 8 or rest // 10 == 8:
            words = words[:-1]  # centotto, centottanta
        return words + ("" if rest == 0 else number(rest))
    thousands, rest = divmod(value, 1000)
    return ("mille" if thousands == 1 else number(thousands) + "mila") + ("" if rest == 0 else number(rest))


def counted(value: int) -> str:
    """A number in front of a plural noun: "ventun libri", but "due libri"."""
    words = number(value)
    return words[:-1] if value > 1 and words.endswith("uno") else words


def counted_time(value: int, unit: str) -> str:
    """A number of years, months or weeks; the tens are elided before "anni": "vent'anni", "trent'anni"."""
    words = counted(value)
    return f"{words[:-1]}'{unit}" if unit == "anni" and value % 10 == 0 and value > 10 else f"{words} {unit}"


def clock(hour: int, minute: int) -> str:
    """A clock time with its article on the twelve-hour clock: "le sette e mezza", "l'una"."""
    names = {0: "", 15: " e un quarto", 30: " e mezza", 45: " meno un quarto"}
    shown = hour % 12 + 1 if minute == 45 else hour
    words = "l'una" if shown == 1 else f"le {number(shown)}"
    if minute in names:
        return words + names[minute]
    return f"{words} e {number(minute)}"
