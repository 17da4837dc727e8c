"""Lines before they are translated: taken as they come, and cut into sentences where that is asked for."""

import re
from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, Full, Queue
from threading import Event, Thread

GRACE_SECONDS = 0.02  # a pipe delivers its next line within this time; a person does not notice it

# An end mark with the brackets and quotes that close after it. Where words are spaced, white space must
# follow and something that can begin a sentence: no lower-case letter. Chinese and Japanese marks need
# neither.
_SENTENCE_END = re.compile(
    r"(?P<mark>[.!?\u2026\u061f\u0964\u0965]+)[\"'\u2019\u201d\u00bb\u203a)\]]*(?P<spaces>\s+)(?=\S)"
    r"|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]*(?P<maybe>\s*)(?=\S)"
)
# A dot after these, or after a single letter (J. Smith), ends no sentence.
_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "cf", "nr", "vol", "fig", "approx", "bzw", "ca"}
    | {"evtl", "ggf", "inkl", "vgl", "sig", "dott", "avv", "pag", "art", "sra", "dra", "ud", "mme", "mlle"}
)


def split_sentences(line: str) -> list[tuple[str, str]]:
    """The sentences of a line, each with the white space after it; joined they are the line.

    A rule of thumb for scripts with . ! ? ... and the marks of Arabic, Devanagari, Chinese and Japanese.
    """
    parts: list[tuple[str, str]] = []
    start = 0
    for match in _SENTENCE_END.finditer(line):
        spaces = "maybe" if match["mark"] is None else "spaces"
        if match["mark"] is not None and not _ends_sentence(line, start, match):
            continue
        parts.append((line[start : match.start(spaces)], match[spaces]))
        start = match.end()
    rest = line[start:]
    text = rest.rstrip()
    return [*parts, (text, rest[len(text) :])] if rest else parts


def _ends_sentence(line: str, start: int, match: re.Match[str]) -> bool:
    if line[match.end()].islower():
        return False
    words = line[start : match.start()].split()
    word = words[-1].lstrip("(\"'\u201c\u00ab\u201e") if words else ""
    if match["mark"] != ".":
        return bool(word)
    return word.isdigit() or (len(word) > 1 and word.lower() not in _ABBREVIATIONS)


def read_available(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Groups of the lines that are there now, at most `most`: one line when a person types, many from a pipe.

    A thread reads ahead; an error in `lines` comes after the lines before it.
    """
    if isinstance(lines, Sequence):
        yield from (list(lines[start : start + most]) for start in range(0, len(lines), most))
        return
    queue: Queue[str | BaseException | None] = Queue(maxsize=most)
    abandoned = Event()

    def put(item: str | BaseException | None) -> None:
        while not abandoned.is_set():
            try:
                queue.put(item, timeout=0.2)
            except Full:
                continue
            return

    def read() -> None:
        try:
            for line in lines:
                put(line)
                if abandoned.is_set():
                    return
        except BaseException as error:  # whatever it is belongs to the reader of the groups
            put(error)
        else:
            put(None)

    Thread(target=read, daemon=True, name="read ahead").start()
    try:
        while True:
            group: list[str] = []
            item = queue.get()
            while isinstance(item, str):
                group.append(item)
                if len(group) == most:
                    break
                try:
                    item = queue.get(timeout=GRACE_SECONDS)
                except Empty:
                    break
            if group:
                yield group
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
    finally:
        abandoned.set()
