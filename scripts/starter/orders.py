"""Orders, and suggestions with "let's"."""

from random import Random

from scripts.starter import italian_verbs as conjugation
from scripts.starter.actions import verb_object
from scripts.starter.grammar import DATIVES, WE, YOU, Sentence, combo, sentence
from scripts.starter.lexicon import verb, verbs
from scripts.starter.pronouns import GIVING, given
from scripts.starter.registry import pattern


@pattern(150)
def order(rng: Random) -> Sentence | None:
    """Open the window! Don't forget your umbrella!"""
    chosen = rng.choice(
        [
            entry
            for entry in verbs()
            if not entry.state and entry.en not in ("lose", "find", "see", "receive", "meet", "build", "break")
        ]
    )
    thing = verb_object(rng, chosen, YOU, plain=True)
    if not thing or thing.en.startswith(("another", "many", "too", "a lot")):
        return None
    if rng.random() < 0.35 or chosen.en in ("forget",):
        if thing.en.startswith(("a ", "an ", "some ")):
            return None
        return sentence(
            f"don't {chosen.en} {thing.en}", f"non {chosen.it} {thing.it}", "order/negative", thing.combos, "!"
        )
    return sentence(
        f"{chosen.en} {thing.en}", f"{conjugation.imperative(chosen.it)} {thing.it}", "order", thing.combos, "!"
    )


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
        return sentence(
            f"{en}, please", f"{it}, per favore", "order_for/please", frozenset({combo(chosen.it, noun.it, "to")})
        )
    return sentence(en, it, "order_for", frozenset({combo(chosen.it, noun.it, "to")}), "!")


@pattern(60)
def suggestion(rng: Random) -> Sentence | None:
    """Let's order a pizza!"""
    chosen = verb(
        rng.choice(
            (
                "eat",
                "drink",
                "cook",
                "prepare",
                "buy",
                "sell",
                "open",
                "read",
                "watch",
                "listen to",
                "clean",
                "rent",
                "visit",
                "call",
                "help",
                "invite",
                "take",
                "order",
                "repair",
                "wash",
                "sing",
            )
        )
    )
    thing = verb_object(rng, chosen, WE, plain=True)
    if not thing or thing.en.startswith(("many", "too", "a lot", "this", "that")):
        return None
    return sentence(
        f"let's {chosen.en} {thing.en}",
        f"{conjugation.present(chosen.it)[3]} {thing.it}",
        "suggestion",
        thing.combos,
        "!",
    )
