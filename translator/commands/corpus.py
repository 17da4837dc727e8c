"""`corpus`: what is in a corpus, as a page, as text and as JSON."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from translator.commands.tables import table
from translator.commands.training import split_words
from translator.config import load_config, unused_settings
from translator.errors import TranslatorError


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
        print("\n".join(text(found)))
    print(f"The same with pictures: {folder / 'corpus.html'}", file=sys.stderr)
    return 0


def text(found: dict[str, Any]) -> Iterator[str]:
    """The lines of the report for a terminal."""
    from translator.corpus.page import short_paths

    if found["sample"]:
        yield f"A sample: the first {found['sample']:,} rows of each place.\n"
    yield from _places(found["places"])
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
    yield from _training(found)
    for kind in ("note", "warning"):
        yield from (f"{kind}: {sentence}" for sentence in found[f"{kind}s"])


def _places(places: list[dict[str, Any]]) -> Iterator[str]:
    from translator.corpus.page import short_paths

    yield "Pairs"
    rows = []
    for place in places:
        skipped, dropped = sum(place["skipped"].values()), sum(place["dropped"].values())
        numbers = (place["read"], skipped, place["held_out"], dropped, place["kept"])
        rows.append([place["set"], short_paths(place["name"]), *(f"{number:,}" for number in numbers)])
    yield table(["set", "place", "read", "no pair", "held out", "dropped", "kept"], rows)


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


def _example(one: dict[str, Any], width: int = 30) -> str:
    first = one["examples"][0]
    sides = (text if len(text) <= width else f"{text[: width - 1]}…" for text in (first["source"], first["target"]))
    return f"{first['place'].rpartition(', ')[2]}: {' | '.join(sides)}"


def _sides(found: dict[str, Any]) -> Iterator[str]:
    train, tokens = found["sets"]["train"], found["tokens"]
    yield "\nTraining pairs"
    facts = []
    for side in ("source", "target"):
        figures, own = train[side], tokens[side]
        scripts = ", ".join(f"{name} {share:.1%}" for name, share in list(figures["scripts"].items())[:3])
        facts.append(
            [
                f"{side} ({figures['language']})",
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


def _training(found: dict[str, Any]) -> Iterator[str]:
    if (timing := found["training"]) is None:
        return
    from translator.corpus.page import duration

    yield f"\nTraining on {timing['device']}"
    yield f"{timing['seconds_per_step']:.2g} s a step, measured in {timing['measured_steps']} steps"
    yield f"{timing['steps_per_epoch']:,} steps an epoch, about {duration(timing['seconds_per_epoch'])}"
    if timing["seconds"] is not None:
        yield f"{timing['total_steps']:,} steps as configured, about {duration(timing['seconds'])}"
