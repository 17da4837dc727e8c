"""Italian verbs: six persons in the simple tenses, participles, gerunds, imperatives and clitic pronouns."""

from scripts.starter.italian import adjective

ESSERE_VERBS = frozenset(
    (  # noqa: SIM905
        "andare venire arrivare partire uscire entrare tornare restare rimanere nascere crescere morire "
        "cadere essere salire scendere diventare piacere costare succedere sembrare stare finire_intr"
    ).split()
)
ISC = frozenset(["capire", "trasferire", "finire", "pulire", "preferire", "spedire", "costruire"])
PARTICIPLES = {
    "essere": "stato",
    "stare": "stato",
    "aprire": "aperto",
    "bere": "bevuto",
    "chiedere": "chiesto",
    "chiudere": "chiuso",
    "correggere": "corretto",
    "conoscere": "conosciuto",
    "correre": "corso",
    "crescere": "cresciuto",
    "decidere": "deciso",
    "dire": "detto",
    "dipingere": "dipinto",
    "fare": "fatto",
    "leggere": "letto",
    "mettere": "messo",
    "morire": "morto",
    "nascere": "nato",
    "nascondere": "nascosto",
    "offrire": "offerto",
    "perdere": "perso",
    "piacere": "piaciuto",
    "promettere": "promesso",
    "prendere": "preso",
    "raccogliere": "raccolto",
    "rimanere": "rimasto",
    "risolvere": "risolto",
    "rispondere": "risposto",
    "rompere": "rotto",
    "scegliere": "scelto",
    "scendere": "sceso",
    "scrivere": "scritto",
    "smettere": "smesso",
    "spegnere": "spento",
    "accendere": "acceso",
    "tradurre": "tradotto",
    "vedere": "visto",
    "venire": "venuto",
    "vivere": "vissuto",
    "sorridere": "sorriso",
    "ridere": "riso",
    "piangere": "pianto",
    "spendere": "speso",
    "sedere": "seduto",
    "vincere": "vinto",
}
PRESENT = {
    "essere": "sono sei è siamo siete sono",
    "avere": "ho hai ha abbiamo avete hanno",
    "andare": "vado vai va andiamo andate vanno",
    "venire": "vengo vieni viene veniamo venite vengono",
    "fare": "faccio fai fa facciamo fate fanno",
    "dire": "dico dici dice diciamo dite dicono",
    "dare": "do dai dà diamo date danno",
    "stare": "sto stai sta stiamo state stanno",
    "bere": "bevo bevi beve beviamo bevete bevono",
    "sapere": "so sai sa sappiamo sapete sanno",
    "potere": "posso puoi può possiamo potete possono",
    "volere": "voglio vuoi vuole vogliamo volete vogliono",
    "dovere": "devo devi deve dobbiamo dovete devono",
    "uscire": "esco esci esce usciamo uscite escono",
    "rimanere": "rimango rimani rimane rimaniamo rimanete rimangono",
    "salire": "salgo sali sale saliamo salite salgono",
    "tradurre": "traduco traduci traduce traduciamo traducete traducono",
    "scegliere": "scelgo scegli sceglie scegliamo scegliete scelgono",
    "raccogliere": "raccolgo raccogli raccoglie raccogliamo raccogliete raccolgono",
    "spegnere": "spengo spegni spegne spegniamo spegnete spengono",
    "piacere": "piaccio piaci piace piacciamo piacete piacciono",
    "sedere": "siedo siedi siede sediamo sedete siedono",
    "morire": "muoio muori muore moriamo morite muoiono",
}
FUTURE_STEMS = {
    "essere": "sar",
    "avere": "avr",
    "andare": "andr",
    "venire": "verr",
    "fare": "far",
    "dare": "dar",
    "stare": "star",
    "bere": "berr",
    "sapere": "sapr",
    "potere": "potr",
    "volere": "vorr",
    "dovere": "dovr",
    "rimanere": "rimarr",
    "vedere": "vedr",
    "vivere": "vivr",
    "sedere": "sieder",
    "tradurre": "tradurr",
}
IMPERFECT_STEMS = {"fare": "face", "dire": "dice", "bere": "beve", "tradurre": "traduce"}
IMPERATIVES = {
    "andare": "vai",
    "fare": "fai",
    "dare": "dai",
    "dire": "di'",
    "stare": "stai",
    "essere": "sii",
    "avere": "abbi",
}
REFLEXIVE = ("mi", "ti", "si", "ci", "vi", "si")


def present(infinitive: str) -> list[str]:
    """Present indicative, first person singular to third person plural."""
    if infinitive in PRESENT:
        return PRESENT[infinitive].split()
    stem, ending = infinitive[:-3], infinitive[-3:]
    if ending == "are":
        soft = stem[:-1] if stem.endswith("i") else stem  # mangi, studi: one i
        soft = soft + "h" if soft.endswith(("c", "g")) and soft == stem else soft  # cerchi, spieghi
        return [stem + "o", soft + "i", stem + "a", soft + "iamo", stem + "ate", stem + "ano"]
    if ending == "ere":
        return [stem + suffix for suffix in ("o", "i", "e", "iamo", "ete", "ono")]
    infix = "isc" if infinitive in ISC else ""
    return [
        *(stem + infix + suffix for suffix in ("o", "i", "e")),
        stem + "iamo",
        stem + "ite",
        stem + infix + "ono",
    ]


def future_stem(infinitive: str) -> str:
    """The stem of future and conditional: mangiare -> manger-, cercare -> cercher-, finire -> finir-."""
    if infinitive in FUTURE_STEMS:
        return FUTURE_STEMS[infinitive]
    stem = infinitive[:-3]
    if not infinitive.endswith("are"):
        return infinitive[:-1]
    if stem.endswith(("ci", "gi")):
        return stem[:-1] + "er"
    return stem + ("her" if stem.endswith(("c", "g")) else "er")


def future(infinitive: str) -> list[str]:
    """Simple future in six persons."""
    return [future_stem(infinitive) + suffix for suffix in ("ò", "ai", "à", "emo", "ete", "anno")]


def conditional(infinitive: str) -> list[str]:
    """Present conditional in six persons."""
    return [future_stem(infinitive) + suffix for suffix in ("ei", "esti", "ebbe", "emmo", "este", "ebbero")]


def imperfect(infinitive: str) -> list[str]:
    """Imperfect indicative in six persons."""
    if infinitive == "essere":
        return ["ero", "eri", "era", "eravamo", "eravate", "erano"]
    stem = IMPERFECT_STEMS.get(infinitive, infinitive[:-2])
    return [stem + suffix for suffix in ("vo", "vi", "va", "vamo", "vate", "vano")]


def gerund(infinitive: str) -> str:
    """The gerund: parlando, leggendo, dormendo, facendo."""
    if infinitive in IMPERFECT_STEMS:
        return IMPERFECT_STEMS[infinitive] + "ndo"
    return infinitive[:-3] + ("ando" if infinitive.endswith("are") else "endo")


def participle(infinitive: str, gender: str = "m", plural: bool = False) -> str:
    """The past participle in agreement."""
    regular = infinitive[:-3] + {"are": "ato", "ere": "uto", "ire": "ito"}.get(infinitive[-3:], "")
    return adjective(PARTICIPLES.get(infinitive, regular), gender, plural)


def imperative(infinitive: str) -> str:
    """The affirmative imperative for "tu"; with "not" Italian uses the infinitive."""
    if infinitive in IMPERATIVES:
        return IMPERATIVES[infinitive]
    return present(infinitive)[2 if infinitive.endswith("are") else 1]


def imperative_with(infinitive: str, clitic: str) -> str:
    """The imperative for "tu" with a clitic attached: aprilo, dammi, fallo, dille."""
    form = imperative(infinitive)
    if infinitive in ("dare", "fare", "dire", "stare", "andare"):
        doubled = clitic if clitic.startswith("gli") else clitic[0] + clitic
        return infinitive[:2] + doubled
    return form + clitic


def infinitive_with(infinitive: str, clitic: str) -> str:
    """The infinitive with a clitic attached: aprirlo, tradurla."""
    return (infinitive[:-2] if infinitive.endswith("rre") else infinitive[:-1]) + clitic


def object_clitic(gender: str, plural: bool) -> str:
    """The direct object pronoun of the third person."""
    return {("m", False): "lo", ("f", False): "la", ("m", True): "li", ("f", True): "le"}[gender, plural]


def before_verb(clitic: str, verb: str) -> str:
    """A clitic in front of a finite verb; lo and la lose their vowel before forms of avere, ci before è and era."""
    if clitic.endswith(("lo", "la")) and verb.startswith(("h", "ab", "av")):
        return f"{clitic[:-1]}'{verb}"
    if clitic == "ci" and verb.startswith(("è", "era")):
        return f"c'{verb}"
    return f"{clitic} {verb}"
