"""Write a large parallel corpus of made-up words, to measure memory and speed with.

    python -m scripts.make_large_corpus 20000000 large          # large.src and large.tgt, about 4 GB
    python -m scripts.make_large_corpus 2000000 large --words 15 --noise 0.05
    python -m scripts.make_large_corpus 3600000 large --tmx     # large.tmx, about 1 GB

Words follow Zipf's law, so a tokenizer finds in them what it finds in a language; word k of the target stands for
word k of the source, in reverse order, so a model can learn it. `--noise` is the share of pairs with a fault that
the filters know: copies, equal sides, other scripts, mojibake, numbers that differ. Lines are written as they are
made, in little memory, and the same arguments give the same files.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in ("a", "e", "i", "o", "u", "ai", "ou")]
NUM_WORDS = 60_000
PAIRS_AT_ONCE = 20_000


def words(seed: int) -> list[str]:
    """Made-up words, the frequent ones short."""
    random = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < NUM_WORDS:
        num_syllables = 1 + (len(found) > 50) + (len(found) > 2_000) + (len(found) > 30_000)
        found["".join(random.choice(SYLLABLES, num_syllables))] = None
    return list(found)


def spoil(source: str, target: str, kind: int) -> tuple[str, str]:
    """A pair with one of the faults of crawled text."""
    return [
        (source, source),
        (source, "бу" * (len(target) // 2)),
        (source, target.replace("a", "Ã©")),
        (f"{source} 1984", f"{target} 2001"),
        (source, target[:3]),
    ][kind]


def pairs(num_pairs: int, *, num_words: int, noise: float, seed: int) -> Iterator[tuple[str, str]]:
    """The pairs, one after the other; sentences have `num_words` words on average."""
    sides = [np.array(words(seed + side)) for side in range(2)]
    chances = 1 / np.arange(3, NUM_WORDS + 3)
    bounds = np.cumsum(chances / chances.sum())
    random = np.random.default_rng(seed)
    before = ("", "")
    for start in range(0, num_pairs, PAIRS_AT_ONCE):
        size = min(PAIRS_AT_ONCE, num_pairs - start)
        lengths = np.maximum(random.poisson(num_words - 1, size) + 1, 1)
        ranks = np.minimum(np.searchsorted(bounds, random.random(lengths.sum())), NUM_WORDS - 1)
        texts = [side[ranks].tolist() for side in sides]
        faults = random.random(size) < noise
        kinds = random.integers(0, 6, size)
        end = 0
        for row in range(size):
            first, end = end, end + int(lengths[row])
            pair = " ".join(texts[0][first:end]), " ".join(texts[1][first:end][::-1])
            if faults[row]:
                pair = before if kinds[row] == 5 and before[0] else spoil(*pair, int(kinds[row]) % 5)
            before = pair
            yield f"{pair[0]}.", f"{pair[1]}."


def write(num_pairs: int, prefix: Path, *, num_words: int, noise: float, seed: int) -> None:
    """Write PREFIX.src and PREFIX.tgt, line by line."""
    with Path(f"{prefix}.src").open("w") as src, Path(f"{prefix}.tgt").open("w") as tgt:
        for source, target in pairs(num_pairs, num_words=num_words, noise=noise, seed=seed):
            src.write(f"{source}\n")
            tgt.write(f"{target}\n")


def write_tmx(num_pairs: int, prefix: Path, *, num_words: int, noise: float, seed: int) -> None:
    """Write PREFIX.tmx, a translation memory from en to it, unit by unit."""
    with Path(f"{prefix}.tmx").open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n')
        file.write('<header creationtool="make_large_corpus" creationtoolversion="1" datatype="plaintext" ')
        file.write('segtype="sentence" adminlang="en" srclang="en" o-tmf="none"/>\n<body>\n')
        for number, sides in enumerate(pairs(num_pairs, num_words=num_words, noise=noise, seed=seed), start=1):
            variants = [
                f'  <tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>\n'
                for language, text in zip(("en", "it"), sides, strict=True)
            ]
            file.write(f'<tu tuid="{number}">\n{"".join(variants)}</tu>\n')
        file.write("</body>\n</tmx>\n")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--words", type=int, default=15)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tmx", action="store_true", help="write one PREFIX.tmx (en, it)")
    args = parser.parse_args(arguments)
    chosen = write_tmx if args.tmx else write
    chosen(args.pairs, args.prefix, num_words=args.words, noise=args.noise, seed=args.seed)


if __name__ == "__main__":
    main()
