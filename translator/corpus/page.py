"""The report of a corpus as one self-contained HTML page: no scripts, no other files, light or dark as one likes.

All text of the corpus is escaped and isolated, so that no sentence can become markup or turn the direction of the page.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape as escape_markup
from importlib import resources
from typing import Any

from translator.corpus import characters

SIDES = ("source", "target")
_JOINERS = "\u200c\u200d"
COLOURS = {"source": "var(--one)", "target": "var(--two)"}


def page(found: Mapping[str, Any]) -> str:
    """The page of what `translator.survey.survey` found."""
    style = (resources.files("translator") / "corpus" / "page.css").read_text(encoding="utf-8")
    ways = ", ".join(found["directions"]).replace(">", " → ")
    title = f"{found['name']}: {ways}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{_about(found)}</p>',
        _cards(found),
        *(f'<p class="warning">{escape(text)}</p>' for text in found["warnings"]),
        *(f'<p class="soft">{escape(text)}</p>' for text in found["notes"]),
        "<h2>Where the pairs come from</h2>",
        _places(found["places"]),
        "<h2>What the filters leave out</h2>",
        _filters(found),
        "<h2>Copies and overlap</h2>",
        _overlap(found["rows"]),
        "<h2>Lengths of the training pairs</h2>",
        _lengths(found),
        "<h2>Tokens</h2>",
        _tokens(found),
        "<h2>Scripts and characters</h2>",
        f'<div class="two">{"".join(_characters(found["sets"]["train"][side], side) for side in SIDES)}</div>',
        "<h2>The longest pairs</h2>",
        _examples(found["sets"]["train"]["longest"], "characters"),
        *_training(found["training"]),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>\n'
        f"<body><main>\n{chr(10).join(body)}\n</main></body></html>\n"
    )


def duration(seconds: float) -> str:
    """A time in the units that suit it: "40 s", "12 min", "3.5 h"."""
    for size, name in ((86400 * 2, "days"), (3600 * 1.5, "h"), (90, "min")):
        if seconds >= size:
            value = seconds / {"days": 86400, "h": 3600, "min": 60}[name]
            return f"{value:.1f} {name}" if value < 10 else f"{value:.0f} {name}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _about(found: Mapping[str, Any]) -> str:
    if found["sample"]:
        return f"A sample: all counts are of the first {found['sample']:,} rows of each place."
    return "What is in the corpus, what the filters leave out, and what training on it takes."


def _cards(found: Mapping[str, Any]) -> str:
    train = [place for place in found["places"] if place["set"] == "train"]
    read, kept = (sum(place[key] for place in train) for key in ("read", "kept"))
    tokens = sum(found["tokens"][side]["per_epoch"] for side in SIDES)
    cards = [
        (f"{read:,}", "rows read for training"),
        (f"{kept:,}", "pairs to train on"),
        (f"{1 - kept / max(read, 1):.1%}", "left out"),
        (_short(tokens), "tokens an epoch, both sides"),
    ]
    if timing := found["training"]:
        cards.append((duration(timing["seconds_per_epoch"]), "an epoch on this machine"))
        if timing["seconds"] is not None:
            cards.append((duration(timing["seconds"]), f"for {timing['total_steps']:,} steps, as configured"))
    inner = "".join(f'<div class="card"><b>{escape(value)}</b>{escape(label)}</div>' for value, label in cards)
    return f'<div class="cards">{inner}</div>'


def _short(number: int) -> str:
    for size, name in ((10**9, " G"), (10**6, " M"), (10**4, " k")):
        if number >= size:
            return f"{number / (1000 if size == 10**4 else size):.3g}{name}"
    return f"{number:,}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; `numeric` columns stand right."""

    def cell(i: int, content: str, tag: str) -> str:
        return f'<{tag} class="n">{content}</{tag}>' if i in numeric else f"<{tag}>{content}</{tag}>"

    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(cell(i, content, tag) for i, content in enumerate(cells))}</tr>"

    return f"<table>{row(header, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"


def _places(places: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for place in places:
        skipped, dropped = sum(place["skipped"].values()), sum(place["dropped"].values())
        parts = [(place["kept"], "--kept"), (place["held_out"], "--one"), (dropped, "--bad"), (skipped, "--grey")]
        reasons = [(f"{why} ({place['examples'][why]})", count) for why, count in place["skipped"].items()]
        why = [f"{escape(reason)}: {count:,}" for reason, count in (*reasons, *place["dropped"].items())]
        more = f"<details><summary>why</summary>{'<br>'.join(why)}</details>" if why else ""
        numbers = (place["read"], skipped, place["held_out"], dropped, place["kept"])
        rows.append([escape(place["set"]), f"<bdi>{escape(short_paths(place['name']))}</bdi>{more}",
                     *(f"{number:,}" for number in numbers), _bar(parts, place["read"])])  # fmt: skip
    keys = "".join(
        f'<span class="key" style="background:var({colour})"></span>{name}'
        for name, colour in (("kept", "--kept"), ("held out", "--one"), ("dropped", "--bad"), ("no pair", "--grey"))
    )
    return _table(["set", "place", "read", "no pair", "held out", "dropped", "kept", ""], rows, range(2, 7)) + (
        f'<p class="soft">{keys}</p>'
    )


_FOLDERS = re.compile(r"(?<!\S)/(?:[^/\s]+/)*(?=[^/\s]+/[^/\s]+)")


def short_paths(text: str) -> str:
    """Absolute paths with their last folder alone."""
    return _FOLDERS.sub("", text)


def _bar(parts: Iterable[tuple[float, str]], total: float) -> str:
    inner = "".join(
        f'<i style="width:{100 * part / total:.3f}%;background:var({colour})"></i>'
        for part, colour in parts
        if part and total
    )
    return f'<div class="bar">{inner}</div>'


def _filters(found: Mapping[str, Any]) -> str:
    total = sum(place["read"] for place in found["places"] if place["set"] == "train")

    def rows(results: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        return [
            [
                f"<code>{escape(one['key'])}</code>"
                + (f" <small>{escape(_value(one['value']))}</small>" if "value" in one else ""),
                f"{escape(one['reason'])}<details><summary>examples</summary>{_examples(one['examples'])}</details>",
                f"{one['count']:,}",
                f"{one['count'] / (one.get('of') or total):.2%}",
            ]
            for one in results
        ]

    parts = [
        f"<p>Preset <code>{escape(found['preset'])}</code>. A pair counts for the first filter that leaves it out.</p>"
    ]
    header = ["filter", "why", "pairs", "share"]
    parts.append(_table(header, rows(found["filters"]), (2, 3)) if found["filters"] else "<p>Nothing was left out.</p>")
    if found["off"]:
        parts.append(
            '<h3>Filters that are off</h3><p class="soft">What each would leave out of '
            f"{found['off'][0]['of']:,} pairs that are kept, with the values of the preset web.</p>"
        )
        parts.append(_table(header, rows(sorted(found["off"], key=lambda one: -one["count"])), (2, 3)))
    return "".join(parts)


def _value(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _examples(examples: Iterable[Mapping[str, Any]], extra: str | None = None) -> str:
    header = ["source", "target", "where", *([extra] if extra else [])]
    rows = [
        [_text(one["source"]), _text(one["target"]), f"<small>{escape(short_paths(one['place']))}</small>",
         *([f"{one[extra]:,}"] if extra else [])]
        for one in examples
    ]  # fmt: skip
    return _table(header, rows, (3,) if extra else ())


def escape(text: str) -> str:
    """Text as HTML, without characters that could turn the direction of the page or hide something."""
    return escape_markup("".join("\ufffd" if characters.strange()[ord(c)] else c for c in text))


def _text(text: str) -> str:
    """A sentence of the corpus, in its own direction, with what cannot be seen made visible."""
    pieces = []
    for character in text:
        if characters.strange()[ord(character)] or (character in _JOINERS and len(text) == 1):
            pieces.append(f"<mark>U+{ord(character):04X}</mark>")
        else:
            pieces.append(escape(character))
    return f"<bdi>{''.join(pieces)}</bdi>"


def _overlap(rows: Iterable[Mapping[str, Any]]) -> str:
    begins = ("skipped", "dropped", "usable", "pairs left")
    cells = [
        [
            escape(row["set"]),
            escape(row["reason"]),
            f"{row['count']:,}",
            f"<bdi>{escape(short_paths(row['example']))}</bdi>",
        ]
        for row in rows
        if not row["reason"].startswith(begins)
    ]
    return _table(["set", "what", "pairs", "for example"], cells, (2,)) if cells else "<p>None.</p>"


def _lengths(found: Mapping[str, Any]) -> str:
    train, charts = found["sets"]["train"], []
    for unit, lengths in (
        ("tokens", {side: found["tokens"][side]["lengths"] for side in SIDES}),
        ("characters", {side: train[side]["lengths"] for side in SIDES}),
    ):
        for side in SIDES:
            one = lengths[side]
            charts.append(
                f"<div><h3>{side.capitalize()} ({escape(languages_of(train[side]))}), {unit}</h3>"
                f"{_histogram(one, COLOURS[side], unit)}<small>mean {one['mean']:g}, median {one['median']}, "
                f"99 % up to {one['p99']}, longest {one['longest']:,}</small></div>"
            )
    return f'<div class="two">{"".join(charts)}</div>'


def _histogram(one: Mapping[str, Any], colour: str, unit: str) -> str:
    counts, edges = one["counts"], one["edges"]
    if not counts:
        return "<p>None.</p>"
    width, height, base = 440.0, 150.0, 128.0
    step, most = (width - 10) / len(counts), max(counts)
    bars, labels = [], []
    for i, count in enumerate(counts):
        last = i == len(counts) - 1
        tall = (base - 18) * count / most
        label = f"over {edges[-1] - 1}" if last else span(edges[i], edges[i + 1] - 1)
        bars.append(
            f'<rect x="{5 + i * step:.1f}" y="{base - tall:.1f}" width="{step - 2:.1f}" height="{tall:.1f}" rx="1.5" '
            f'fill="{"var(--grey)" if last else colour}"><title>{label} {unit}: {count:,} pairs</title></rect>'
        )
        if i % 4 == 0 and i < len(counts) - 2:  # room for "more" at the end
            labels.append(f'<text x="{5 + i * step:.1f}" y="{base + 15:.1f}">{edges[i]}</text>')
    labels.append(f'<text x="{width - 4:.1f}" y="{base + 15:.1f}" text-anchor="end">more</text>')
    labels.append(f'<text x="5" y="11">{most:,} pairs</text>')
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="lengths in {unit}">{"".join(bars)}'
        f'<line x1="5" y1="{base}" x2="{width - 5:g}" y2="{base}" stroke="var(--line)"/>{"".join(labels)}</svg>'
    )


def languages_of(figures: Mapping[str, Any]) -> str:
    """The languages of one side of a set, as text."""
    return ", ".join(figures["languages"])


def span(first: int, last: int) -> str:
    """Lengths from one to another, in words."""
    return str(first) if first == last else f"{first} to {last}"


def _tokens(found: Mapping[str, Any]) -> str:
    rows = []
    for side in SIDES:
        one, figures = found["tokens"][side], found["sets"]["train"][side]
        rows.append([side, f"{one['kind']}, {one['vocabulary']:,} entries", f"{one['per_epoch']:,}",
                     f"{figures['words']:,}",
                     f"{one['per_word']:.2f}", f"{one['unknown']:.3%}", f"{one['bytes']:.3%}"])  # fmt: skip
    header = ["side", "vocabulary", "tokens an epoch", "words", "tokens a word", "unknown", "spelt in bytes"]
    return _table(header, rows, range(2, 7))


def _characters(figures: Mapping[str, Any], side: str) -> str:
    scripts = list(figures["scripts"].items())
    palette = ("--one", "--two", "--kept", "--bad", "--grey")
    parts = [(share, palette[min(i, 4)]) for i, (_, share) in enumerate(scripts)]
    names = "".join(
        f'<span class="key" style="background:var({palette[i]})"></span>{escape(name)} {share:.2%}'
        for i, (name, share) in enumerate(scripts[:5])
    )
    strange = ", ".join(f"{escape(code)} ({count:,})" for code, count in figures["strange"].items())
    expected = ", ".join(figures["scripts_expected"]) or "not known"
    return (
        f"<div><h3>{side.capitalize()} ({escape(languages_of(figures))}): "
        f"{figures['distinct_characters']:,} different characters</h3>"
        f"{_bar(parts, 1)}<p class='soft' style='margin-left:-12px'>{names}</p>"
        f"<p><small>Scripts that go with {escape(languages_of(figures))}: {escape(expected)}</small></p>"
        f"<p><small>Most frequent</small></p>{_chips(figures['frequent'])}"
        f"<details><summary>rarest</summary>{_chips(figures['rare'])}</details>"
        + (f"<p><small>Control and invisible: {strange}</small></p>" if strange else "")
        + "</div>"
    )


def _chips(counted: Iterable[Sequence[Any]]) -> str:
    chips = (
        f'<span title="U+{ord(c):04X} {escape(unicodedata.name(c, ""))}">{_text(c)}'
        f"<small>{_short(count)}</small></span>"
        for c, count in counted
    )
    return f'<div class="chars">{"".join(chips)}</div>'


def _training(timing: Mapping[str, Any] | None) -> list[str]:
    if timing is None:
        return []
    total = "" if timing["seconds"] is None else (
        f" {timing['total_steps']:,} steps, as configured, take about {duration(timing['seconds'])}."
    )  # fmt: skip
    return [
        "<h2>Training</h2>",
        f"<p>On {escape(timing['device'])} A step of the configured model takes {timing['seconds_per_step']:.3g} s "
        f"({timing['target_tokens_per_second']:,.0f} target tokens a second, measured in "
        f"{timing['measured_steps']} steps). An epoch has {timing['steps_per_epoch']:,} steps "
        f"and takes about {duration(timing['seconds_per_epoch'])}.{total} "
        "Validation comes on top.</p>",
    ]
