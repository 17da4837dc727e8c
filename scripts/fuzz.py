"""Coverage-guided fuzzing of everything that reads what a user was given.

    python -m scripts.fuzz                     10,000 cases of each target, from seed 1
    python -m scripts.fuzz --cases 100000 --seed 7 config jsonl

A case changes bytes of an input that reached new lines of the program before (at first: of a good file), and is kept
when it reaches new ones itself. A reader may take it or refuse it with one of our errors; anything else, a case of over
ten seconds, or memory that grows by over 500 MB, is a fault: the input is written to fuzz-TARGET-NUMBER and the status
is 1. The same seed gives the same cases.
"""

import argparse
import gzip
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from translator.errors import TranslatorError

if TYPE_CHECKING:
    from translator.translate import Translator

PACKAGE = str(Path(__file__).resolve().parents[1] / "translator")
MOST_SECONDS, MOST_MEGABYTES, MOST_BYTES, MOST_MESSAGE = 10, 500, 20_000, 50_000
PIECES = (
    *(bytes([byte]) for byte in b'\0\xff\n\r\t"\\,;{}[]:%#'),
    *(b"- ", b"&a ", b"*a", b"!!x ", b"1e999", b"-1", b"9" * 5000, b"null", b"NaN", b"\\ud83d", b"[" * 3000),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b'{"translation":'),
    *(b"<", b"/>", b"&#0;", b"&x;", b'<!ENTITY x "y">', b"<seg>", b"<x/>", b'xml:lang="it"', b"msgid ", b"msgstr[1] "),
    *(piece.encode() for piece in ("\u2028", "\u0301", "\u2581<eos><0x0A>")),
)
FORMS = ("tsv", "csv", "jsonl", "tmx", "xliff", "po", "mo", "sheet", "parquet", "arrow")
TEXT = 'The dog sleeps.\tIl cane dorme.\nA "cat" eats.\tUn gatto mangia.\nSì\tyes\n'.encode()
DOCUMENTS = {
    "tmx": """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>The <bpt i="1">&lt;b></bpt>dog<ept i="1">&lt;/b></ept>.</seg></tuv>
<tuv xml:lang="it-IT"><seg>Il cane &amp; <ph x="1"/>.</seg></tuv></tu></body></tmx>
""",
    "xliff": """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="it" original="a" datatype="x"><body>
<trans-unit id="1"><source>A <x id="1"/>dog.</source><target state="final">Un <g id="2">cane</g>.</target></trans-unit>
<trans-unit id="2"><source>Two</source><seg-source><mrk mtype="seg" mid="1">Two</mrk></seg-source>
<target><mrk mtype="seg" mid="1">Due</mrk></target></trans-unit></body></file></xliff>
""",
    "po": """msgid ""
msgstr ""
"Language: it\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#, c-format
msgid "%d dog"
msgid_plural "%d dogs"
msgstr[0] "%d cane"
msgstr[1] "%d cani"

#, fuzzy
msgctxt "menu"
msgid "_File"
msgstr "_Archivio"
""",
}


@cache
def _workplace() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def _file(data: bytes, name: str) -> Path:
    path = _workplace() / name
    path.write_bytes(data)
    return path


@cache
def _translator() -> "Translator":
    """A model that knows nothing; its translations are noise."""
    from translator.model import Transformer
    from translator.tokenizer import Tokenizer
    from translator.translate import Translator

    tokenizer = Tokenizer.train(TEXT.decode().splitlines(), kind="bpe", vocab_size=280)
    sizes: dict[str, Any] = {"d_model": 8, "num_heads": 1, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}
    model = Transformer(tokenizer.vocab_size, tokenizer.vocab_size, **sizes).eval()
    return Translator(model, tokenizer, tokenizer, longest_source=20)


def read_config(data: bytes) -> None:
    from translator.config import load_config

    load_config(_file(data, "fuzz.yaml"))


def _read_corpus(data: bytes, form: str) -> None:
    from translator.corpus.read import READERS, _with_markup
    from translator.corpus.read_tables import ReadOptions
    from translator.corpus.store import Tally, _usable_batches

    rows = READERS[form](_file(data, f"fuzz.{form}"), ReadOptions(("en", "it")))
    for sources, targets, _ in _usable_batches(_with_markup(rows, "number"), Tally()):
        assert all("\n" not in text and text.strip() for text in (*sources, *targets))


def read_text(data: bytes) -> None:
    from translator.corpus.read_text import read_aligned

    half = len(data) // 2
    for _, source, target in read_aligned(_file(data[:half], "fuzz.en"), _file(data[half:], "fuzz.it")):
        assert "\n" not in source + target


def read_tokenizer(data: bytes) -> None:
    from translator.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(_file(data, "tokenizer.json"))
    tokenizer.decode(tokenizer.encode("A dog, 10 cats and \u2581."))


def read_weights(data: bytes) -> None:
    from translator.checkpoint import load_tensors
    from translator.weights import _read_metadata

    load_tensors(_file(data, "model.safetensors"))
    _read_metadata(_file(data, "model.safetensors"))


def read_checkpoint(data: bytes) -> None:
    from translator.checkpoint import load_checkpoint

    folder = _workplace() / "step-00000001"
    folder.mkdir(exist_ok=True)
    first, _, second = data.partition(b"\n---\n")
    for name, content in (("checksums.json", first), ("state.json", second), ("model.safetensors", second)):
        (folder / name).write_bytes(content)
    load_checkpoint(folder)


def translate(data: bytes) -> None:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    limits: Any = {"max_source_tokens": 30, "max_length_ratio": 0.1, "max_length_extra": 3}
    found = list(_translator().translate_stream(lines, warn=lambda text: None, **limits))
    assert len(found) == len(lines)
    assert not any("\n" in one.text for one in found)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "config": read_config,
    "text": read_text,
    **{form: partial(_read_corpus, form=form) for form in FORMS},
    "tokenizer": read_tokenizer,
    "weights": read_weights,
    "checkpoint": read_checkpoint,
    "translate": translate,
}


@cache
def seeds(target: str) -> list[bytes]:
    """Good inputs to begin with."""
    rows = [line.split("\t") for line in TEXT.decode().splitlines()]
    if target == "config":
        from translator.config.loading import STARTER

        return [STARTER.read_bytes()]
    if target == "jsonl":
        nested = [{"id": 1, "translation": {"en": en, "it": it}} for en, it in rows]
        flat = [{"en": en, "it": it} for en, it in rows]
        return ["".join(json.dumps(row) + "\n" for row in form).encode() for form in (nested, flat)]
    if target in ("parquet", "arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        table, path = pa.table({"en": [row[0] for row in rows], "it": [row[1] for row in rows]}), _workplace() / "seed"
        if target == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_stream(str(path), table.schema) as writer:
                writer.write_table(table)
        return [path.read_bytes()]
    if target in DOCUMENTS:
        return [DOCUMENTS[target].encode()]
    if target == "mo":
        import polib

        return [polib.pofile(DOCUMENTS["po"]).to_binary()]
    if target == "sheet":
        import xlsxwriter

        with xlsxwriter.Workbook(_workplace() / "seed.xlsx") as workbook:
            sheet = workbook.add_worksheet()
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
        return [(_workplace() / "seed.xlsx").read_bytes()]
    if target == "tokenizer":
        path = _workplace() / "seed.json"
        _translator().src_tokenizer.save(path)
        return [path.read_bytes()]
    if target == "weights":
        from translator.weights import save_weights

        tokenizer = _translator().src_tokenizer
        weights = {name: one for name, one in _translator().model.state_dict().items() if "norm" in name}
        sides: dict[str, Any] = {"src_tokenizer": tokenizer, "tgt_tokenizer": tokenizer}
        save_weights(_workplace(), weights, step=1, longest_source=9, **sides)
        return [(_workplace() / "model.safetensors").read_bytes()]
    if target == "checkpoint":
        return [b'{"state.json": {"sha256": "0", "bytes": 9}}\n---\n{"format_version": 1, "step": 5}\n']
    table = TEXT.replace(b"\t", b",") if target == "csv" else TEXT
    return [table, b"en,it\n" + table if target == "csv" else b"en\tit\n" + table, gzip.compress(table, mtime=0)]


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Change a few places: bits, pieces that mean something, parts left out, doubled, or taken from another input."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((1, 2, 8, 64, 1000)))
        how = rng.randrange(5)
        if how == 0 and start < len(content):
            content[start] ^= 1 << rng.randrange(8)
        elif how == 1:
            content[start:start] = rng.choice(PIECES)
        elif how == 2:
            del content[start:end]
        elif how == 3:
            content[start:start] = content[start:end] * rng.choice((1, 2, 50))
        else:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            content[start:end] = other[cut : cut + 200]
    return bytes(content[:MOST_BYTES])


@contextmanager
def watch(reached: set[tuple[CodeType, int]]) -> Iterator[None]:
    """Collect the lines of this program that run."""

    def lines(frame: FrameType, event: str, _: object) -> Any:
        reached.add((frame.f_code, frame.f_lineno))
        return lines

    def calls(frame: FrameType, event: str, _: object) -> Any:
        return lines if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(None)


def check(target: str, data: bytes) -> None:
    """Run one case. Raises what a user must never see: anything but one of our errors, told in few words."""
    try:
        TARGETS[target](data)
    except TranslatorError as error:
        if len(str(error)) > MOST_MESSAGE:
            raise ValueError(f"a message of {len(str(error)):,} characters") from error


def _start_peak() -> float:
    """Forget the peak of memory so far where the system can (Linux); megabytes in use now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """Most megabytes in use since `_start_peak`."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fuzz(target: str, *, cases: int, seed: int) -> tuple[int, int, float]:
    """Run the cases; returns the number of faults, of inputs that reached new lines, and the longest case's seconds."""
    rng = random.Random(f"{target}/{seed}")
    kept, seen, faults, longest = list(seeds(target)), set[tuple[CodeType, int]](), 0, 0.0
    for data in kept:
        check(target, data)
    for number in range(cases):
        data = mutate(rng.choice(kept), kept, rng)
        reached: set[tuple[CodeType, int]] = set()
        started = time.process_time()
        fault = ""
        before = _start_peak()
        try:
            with watch(reached):
                check(target, data)
        except Exception as error:
            fault = f"{type(error).__name__}: {str(error)[:200]}"
        seconds = time.process_time() - started
        longest = max(longest, seconds)
        if seconds > MOST_SECONDS:
            fault = fault or f"{seconds:.0f} seconds"
        if (grown := _peak() - before) > MOST_MEGABYTES:
            fault = fault or f"{grown:.0f} MB more memory"
        if fault:
            faults += 1
            Path(f"fuzz-{target}-{number}").write_bytes(data)
            print(f"{target} case {number}: {fault} (input kept as fuzz-{target}-{number})", flush=True)
        if reached - seen:
            seen |= reached
            kept.append(data)
    return faults, len(kept), longest


def main() -> int:
    """Fuzz the targets that are named, or all of them."""
    parser = argparse.ArgumentParser(description="Coverage-guided fuzzing of the readers and of translate.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total = 0
    for target in args.targets or TARGETS:
        faults, kept, longest = fuzz(target, cases=args.cases, seed=args.seed)
        print(f"{target}: {args.cases:,} cases, {kept} kept, {faults} faults, longest {longest:.2f} s", flush=True)
        total += faults
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
