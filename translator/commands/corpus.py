"""`corpus`: what is in a corpus, as a page, as text and as JSON."""

import argparse
import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from translator.commands.tables import table
from translator.commands.training import split_words
from translator.config import load_config, unused_settings
from translator.errors import TranslatorError

SIDES = ("source", "target")
MOST_BINS, BAR_WIDTH, MOST_CHARACTERS = 8, 20, 15


def corpus(args: argparse.Namespace) -> int:
    """Write the page and print the text, or JSON."""
    if args.sample is not None and args.sample < 1:
        raise TranslatorError(f"--sample {args.sample}: at least one row must be read.")
    config = load_config(*split_words(args.words))
    for warning in unused_settings(config):
        print(f"Warning: {warning}", file=sys.stderr)
    from translator.corpus.page import page
    from translator.files import write_or_tell
    from translator.survey import survey

    assert config.name is not None
    found = survey(config, home=args.home, sample=args.sample, timing=not args.no_timing)
    run = args.home / "runs" / config.name
    folder: Path = args.output or (run if run.is_dir() else args.home / "corpus-report")
    folder.mkdir(parents=True, exist_ok=True)
    write_or_tell(folder / "corpus.html", page(found))
    if args.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print("\n".join(map(_visible, text(found))))
    print(f"The same with pictures: {folder / 'corpus.html'}", file=sys.stderr)
    return 0


def text(found: dict[str, Any]) -> Iterator[str]:
    """The lines of the report for a terminal."""
    from translator.corpus.page import short_paths

    if found["sample"]:
        yield f"A sample: the first {found['sample']:,} rows of each place.\n"
    yield from _places(found["places"])
    yield from _no_pair(found["places"])
    yield from _filters(found)
    others = [
        row for row in found["rows"] if not row["reason"].startswith(("skipped", "dropped", "usable", "pairs left"))
    ]
    if others:
        yield "\nFound"
        yield table(
            ["set", "what", "pairs", "for example"],
            [[row["set"], row["reason"], f"{row['count']:,}", short_paths(row["example"])] for row in others],
        )
    yield from _sides(found)
    yield from _lengths(found)
    yield from _characters(found["sets"]["train"])
    yield from _longest(found["sets"]["train"]["longest"])
    yield from _training(found)
    said = [f"{kind}: {sentence}" for kind in ("note", "warning") for sentence in found[f"{kind}s"]]
    if said:
        yield "\n" + "\n".join(said)


def _places(places: list[dict[str, Any]]) -> Iterator[str]:
    from translator.corpus.page import short_paths

    yield "Pairs"
    rows = []
    for place in places:
        skipped, dropped = sum(place["skipped"].values()), sum(place["dropped"].values())
        numbers = (place["read"], skipped, place["held_out"], dropped, place["kept"])
        rows.append([place["set"], short_paths(place["name"]), *(f"{number:,}" for number in numbers)])
    yield table(["set", "place", "read", "no pair", "held out", "dropped", "kept"], rows)


def _no_pair(places: list[dict[str, Any]]) -> Iterator[str]:
    from translator.corpus.page import short_paths

    rows = [
        [place["set"], short_paths(place["name"]), why, f"{count:,}", place["examples"][why]]
        for place in places
        for why, count in place["skipped"].items()
    ]
    if rows:
        yield "\nRows that hold no pair"
        yield table(["set", "place", "why", "rows", "for example"], rows)


def _filters(found: dict[str, Any]) -> Iterator[str]:
    if found["filters"]:
        yield f"\nLeft out (corpus.filters, preset {found['preset']})"
        yield table(
            ["filter", "why", "pairs", "for example"],
            [[one["key"], one["reason"], f"{one['count']:,}", _example(one)] for one in found["filters"]],
        )
    if found["off"]:
        yield f"\nWould be left out if these filters were on, of {found['off'][0]['of']:,} pairs"
        yield table(
            ["filter", "why", "pairs", "for example"],
            [[f"{one['key']}={json.dumps(one['value'])}", one["reason"], f"{one['count']:,}", _example(one)]
             for one in found["off"]],
        )  # fmt: skip


def _example(one: dict[str, Any]) -> str:
    first = one["examples"][0]
    return f"{first['place'].rpartition(', ')[2]}: {_pair(first, 30)}"


def _pair(shown: Mapping[str, str], width: int) -> str:
    sides = (shown[side] for side in SIDES)
    return " | ".join(text if len(text) <= width else f"{text[: width - 1]}…" for text in sides)


def _sides(found: dict[str, Any]) -> Iterator[str]:
    from translator.corpus.page import languages_of

    train, tokens = found["sets"]["train"], found["tokens"]
    yield "\nTraining pairs"
    facts = []
    for side in SIDES:
        figures, own = train[side], tokens[side]
        scripts = ", ".join(f"{name} {share:.1%}" for name, share in list(figures["scripts"].items())[:3])
        facts.append(
            [
                f"{side} ({languages_of(figures)})",
                f"{figures['characters']:,}",
                f"{figures['distinct_characters']:,}",
                f"{figures['words']:,}",
                f"{own['per_epoch']:,}",
                f"{own['lengths']['median']} / {own['lengths']['p99']} / {own['lengths']['longest']}",
                f"{own['per_word']:.2f}",
                f"{own['unknown']:.2%}",
                f"{own['bytes']:.2%}",
                scripts,
            ]
        )
    names = ["characters", "different", "words", "tokens an epoch", "tokens: median / 99 % / longest",
             "tokens a word", "unknown", "bytes", "scripts"]  # fmt: skip
    yield table(
        ["", *(row[0] for row in facts)], [[name, *(row[i] for row in facts)] for i, name in enumerate(names, 1)]
    )


def _lengths(found: dict[str, Any]) -> Iterator[str]:
    for unit, sides in (("tokens", found["tokens"]), ("characters", found["sets"]["train"])):
        yield f"\nLengths of the training pairs in {unit}"
        columns = [column for side in SIDES for column in zip(*_bins(sides[side]["lengths"]), strict=True)]
        header = [title for side in SIDES for title in (side, "pairs", "")]
        yield table(header, list(zip_longest(*columns, fillvalue="")))


def _bins(lengths: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A histogram in a few rows: lengths, pairs, a bar."""
    from translator.corpus.page import span

    *counts, rest = lengths["counts"]
    edges = lengths["edges"]
    step = -(-len(counts) // MOST_BINS)
    bins = [
        (span(edges[i], edges[min(i + step, len(counts))] - 1), sum(counts[i : i + step]))
        for i in range(0, len(counts), step)
    ]
    most = max(count for _, count in bins)
    for name, count in (*bins, (f"over {edges[-1] - 1}", rest)):
        yield name, f"{count:,}", "#" * round(BAR_WIDTH * count / most)


def _characters(train: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for side in SIDES:
        for kind, counted in (("most frequent", train[side]["frequent"]), ("rarest", train[side]["rare"])):
            rows.append([side, kind, _listed([(_character(c), count) for c, count in counted])])
        if strange := list(train[side]["strange"].items()):
            rows.append([side, "control, invisible", _listed(strange)])
    yield "\nCharacters of the training pairs, and how often"
    yield table(["side", "which", "characters"], rows)


def _listed(counted: Sequence[tuple[str, int]]) -> str:
    shown = "  ".join(f"{name} {count:,}" for name, count in counted[:MOST_CHARACTERS])
    return shown if len(counted) <= MOST_CHARACTERS else f"{shown}  …"


def _character(character: str) -> str:
    """A character by itself: a mark on a circle, a joiner by its code."""
    kind = unicodedata.category(character)
    if kind == "Cf":
        return f"U+{ord(character):04X}"
    return f"◌{character}" if kind.startswith("M") else character


def _visible(text: str) -> str:
    """Lines without characters that could turn the terminal's direction or command it: their codes instead."""
    from translator.corpus.characters import strange

    table = strange()
    return "".join(f"<U+{ord(c):04X}>" if table[ord(c)] and c != "\n" else c for c in text)


def _longest(longest: list[dict[str, Any]]) -> Iterator[str]:
    from translator.corpus.page import short_paths

    yield "\nThe longest pairs"
    rows = [[f"{one['characters']:,}", short_paths(one["place"]), _pair(one, 40)] for one in longest]
    yield table(["characters", "where", "source | target"], rows)


def _training(found: dict[str, Any]) -> Iterator[str]:
    if (timing := found["training"]) is None:
        return
    from translator.corpus.page import duration

    yield f"\nTraining on {timing['device']}"
    yield f"{timing['seconds_per_step']:.2g} s a step, measured in {timing['measured_steps']} steps"
    yield f"{timing['steps_per_epoch']:,} steps an epoch, about {duration(timing['seconds_per_epoch'])}"
    if timing["seconds"] is not None:
        yield f"{timing['total_steps']:,} steps as configured, about {duration(timing['seconds'])}"
