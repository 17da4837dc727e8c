"""Write the English-Italian starter corpus that the package ships: python scripts/make_starter_corpus.py"""

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.starter import being, clauses, counting, liking, moving, orders, pronouns, questions, statements  # noqa: E402, F401
from scripts.starter.grammar import Sentence  # noqa: E402
from scripts.starter.registry import PATTERNS  # noqa: E402

Pair = tuple[str, str]
SEED = 2026
NUM_VALID = NUM_TEST = 400
NUM_HAND_VALID = NUM_HAND_TEST = 60
MIN_FORM_COUNT = 3  # a word form of a validation or test sentence occurs at least so often in training
HELD_OUT_SHARE = 6  # percent of the word combinations that training never shows
# Patterns that recombine what training shows elsewhere, and that training never shows themselves.
HELD_OUT_PATTERNS = frozenset(
    {
        "relative_object/future",
        "relative_subject/know/progressive",
        "when/last/future",
        "perfect/never",
        "question/conditional",
        "person_pronoun/future/question",
        "giving/pronoun/progressive/statement",
        "there_is/future/question",
        "negative/progressive",
        "wh/why/future",
        "superlative/it was",
        "modal/should/negative",
        "reflexive/used_to",
        "intransitive/was_doing/question",
        "reason_to/should",
        "description/past/question",
    }
)


def normalised(text: str) -> str:
    """Lower case without punctuation: sentences that are equal so are the same sentence."""
    return " ".join(re.findall(r"\w+", text.lower()))


def forms(text: str) -> list[str]:
    """The word forms of a sentence, lower case; an apostrophe ends a form: l', sull'."""
    return re.findall(r"[^\W\d_]+'?", text.lower())


_CONTRACTIONS = (
    ("I am", "I'm"),
    ("You are", "You're"),
    ("We are", "We're"),
    ("They are", "They're"),
    ("He is", "He's"),
    ("She is", "She's"),
    *((f"{who} will", f"{who}'ll") for who in ("I", "You", "He", "She", "We", "They")),
)


def spoken(source: str) -> str:
    """Every third sentence that begins with a pronoun and its auxiliary in its short form: "I'm", "they'll"."""
    if int(hashlib.sha256(source.encode()).hexdigest(), 16) % 3:
        return source
    for full, short in _CONTRACTIONS:
        if source.startswith(full + " "):
            return short + source.removeprefix(full)
    return source


def held_out(combo: str) -> bool:
    """Whether a word combination is kept away from training: a fixed share, chosen by hash."""
    return int(hashlib.sha256(combo.encode()).hexdigest(), 16) % 100 < HELD_OUT_SHARE


def is_new(candidate: Sentence) -> bool:
    """Whether a sentence holds a pattern or a combination that training must not show."""
    return candidate.pattern in HELD_OUT_PATTERNS or any(map(held_out, candidate.combos))


def generate(taken: Iterable[str]) -> tuple[list[Sentence], list[Sentence]]:
    """Training sentences, and candidates for validation and test, each source once.

    Raises:
        ValueError: one source was given two translations.
    """
    hand_keys = frozenset(map(normalised, taken))
    seen: dict[str, str] = dict.fromkeys(hand_keys, "")
    training: list[Sentence] = []
    unseen: list[Sentence] = []
    for pattern in PATTERNS:
        rng = Random(f"{SEED}/{pattern.name}")
        found = num_new = 0
        for _ in range(pattern.quota * 40):
            if found == pattern.quota and num_new >= pattern.quota // 4:
                break
            candidate = pattern.draw(rng)
            if candidate is None:
                continue
            key = normalised(candidate.en)
            candidate = replace(candidate, en=spoken(candidate.en))
            if normalised(candidate.en) in hand_keys:
                continue
            new = is_new(candidate)
            if not new and found == pattern.quota:
                continue
            if key in seen:
                if seen[key] not in ("", candidate.it):
                    raise ValueError(f"two translations of {key!r}: {seen[key]!r}, {candidate.it!r}")
                continue
            seen[key] = candidate.it
            if new:
                unseen.append(candidate)
                num_new += 1
            else:
                training.append(candidate)
                found += 1
        if found < pattern.quota:
            print(f"{pattern.name}: {found} of {pattern.quota}", file=sys.stderr)
    return training, unseen


def known_forms(training: Sequence[Pair]) -> tuple[frozenset[str], frozenset[str]]:
    """The English and the Italian word forms that training shows often enough."""
    known = []
    for side in (0, 1):
        counts = Counter(form for pair in training for form in forms(pair[side]))
        known.append(frozenset(form for form, count in counts.items() if count >= MIN_FORM_COUNT))
    return known[0], known[1]


def choose(candidates: Sequence[Sentence], training: Sequence[Pair], count: int) -> list[Sentence]:
    """`count` candidates made of known word forms; every third is in a held-out pattern, where there are enough."""
    known_en, known_it = known_forms(training)
    usable = [one for one in candidates if known_en.issuperset(forms(one.en)) and known_it.issuperset(forms(one.it))]
    Random(SEED).shuffle(usable)
    patterns = [one for one in usable if one.pattern in HELD_OUT_PATTERNS]
    words = [one for one in usable if one.pattern not in HELD_OUT_PATTERNS]
    per_pattern: Counter[str] = Counter()
    limited = []
    for one in patterns:
        per_pattern[one.pattern] += 1
        if per_pattern[one.pattern] <= count // 24:
            limited.append(one)
    chosen = limited[: count // 3]
    chosen += words[: count - len(chosen)]
    if len(chosen) < count:
        raise ValueError(f"only {len(chosen)} of {count} sentences for validation and test")
    Random(SEED).shuffle(chosen)
    return chosen


def hand_written() -> list[Pair]:
    """The pairs that a person wrote."""
    text = (ROOT / "scripts/starter/hand_written.tsv").read_text(encoding="utf-8")
    pairs = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return [(source, target) for source, target in pairs]


def share_out(written: list[Pair], training: list[Sentence], unseen: list[Sentence]) -> dict[str, list[Pair]]:
    """All files of the corpus by name, from the hand-written pairs and the generated sentences."""
    by_hash = sorted(written, key=lambda pair: hashlib.sha256(pair[0].encode()).hexdigest())
    hand_valid = by_hash[:NUM_HAND_VALID]
    hand_test = by_hash[NUM_HAND_VALID : NUM_HAND_VALID + NUM_HAND_TEST]
    hand_train = by_hash[NUM_HAND_VALID + NUM_HAND_TEST :]
    generated = [(one.en, one.it) for one in training]
    evaluation = [(one.en, one.it) for one in choose(unseen, generated, NUM_VALID + NUM_TEST)]
    train = generated + hand_train
    Random(SEED).shuffle(train)
    return {
        "train.tsv": train,
        "valid.tsv": evaluation[:NUM_VALID],
        "valid-hand.tsv": hand_valid,
        "test.tsv": evaluation[NUM_VALID:],
        "test-hand.tsv": hand_test,
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "translator/starter", help="where the files go")
    folder = parser.parse_args().folder
    written = hand_written()
    for name, pairs in share_out(written, *generate(source for source, _ in written)).items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(pairs)} pairs, {len(text.encode())} bytes")


if __name__ == "__main__":
    main()
