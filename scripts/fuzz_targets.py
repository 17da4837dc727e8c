"""What is fuzzed: everything that reads what a user was given, and good inputs of each to begin with."""

import gzip
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from translator.config import Config
    from translator.run_data import RunData
    from translator.trainer import Trainer

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


SETTINGS = """
name: run
corpus: {source_language: en, target_language: it, train: run.tsv, valid: run.tsv}
tokenizer: {vocab_size: 280}
model: {d_model: 2, num_heads: 1, d_ff: 2, num_encoder_layers: 1, num_decoder_layers: 1}
batch: {tokens: 256}
optim: {average: none}
train: {steps: 1}
decode: {max_source_tokens: 30, max_length_ratio: 0.1, max_length_extra: 3}
device: {kind: cpu, precision: float32, threads: 1}
"""
BETWEEN = b"\n---\n"
CHECKPOINT = ("checksums.json", "state.json", "model.safetensors", "optimizer.safetensors")
"""Files of a checkpoint as a case holds them, with `BETWEEN` between them; an empty one is as the run wrote it."""


@cache
def _trained() -> Path:
    """A folder with the run `run` of one step, whose translations are noise."""
    from translator import build
    from translator.config import load_config

    home = _workplace()
    os.environ.setdefault("TRANSLATOR_CACHE", str(home / "cache"))
    _file(TEXT, "run.tsv")
    with redirect_stderr(io.StringIO()):
        build.train(load_config(_file(SETTINGS.encode(), "run.yaml")), home=home)
    return home


def _checkpoint(name: str) -> bytes:
    return (_trained() / "weights" / "run" / "checkpoints" / "step-00000001" / name).read_bytes()


@cache
def _resumable() -> "tuple[Config, RunData, Trainer]":
    """What `resume` gives a checkpoint to."""
    from translator.build import make_trainer
    from translator.config import load_stored_config
    from translator.device import choose_device
    from translator.files import Folders
    from translator.log import RunLog
    from translator.run_data import prepare_data

    folders, log = Folders(_trained(), "run"), RunLog(_trained() / "runs" / "again", quiet=True)
    log.open()
    config = load_stored_config(folders.weights)
    data = prepare_data(config, folders, log, None)
    device = choose_device(config.device.kind, config.device.precision, config.device.threads)
    return config, data, make_trainer(config, folders, device, data, log, {})


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
    """As `resume` does, up to the next step. The checksums are the true ones where the case holds none."""
    from translator.checkpoint import load_checkpoint
    from translator.files import sha256_file
    from translator.resuming import already_done, as_stored, check_identity, check_stored, stream_position

    config, known, trainer = _resumable()
    folder = _workplace() / "step-00000001"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    parts = dict(zip(CHECKPOINT, data.split(BETWEEN), strict=False))
    for name in CHECKPOINT[1:]:
        (folder / name).write_bytes(parts.get(name) or _checkpoint(name))
    sums = {one.name: {"sha256": sha256_file(one), "bytes": one.stat().st_size} for one in folder.iterdir()}
    (folder / CHECKPOINT[0]).write_bytes(parts[CHECKPOINT[0]] or json.dumps(sums).encode())
    loaded = load_checkpoint(folder)
    with as_stored(loaded):
        check_stored(loaded.state)
        stream_position(loaded.state, config)
        tokenizers = known.src_tokenizer, known.tgt_tokenizer
        check_identity(loaded, known.fingerprint, known.contents, tokenizers, accept_new_corpus=True)
        trainer.load(loaded)
    already_done(config, trainer.state)


def read_bad_step(data: bytes) -> None:
    from translator import bad_steps

    bad_steps.read(_file(data, "step-00000001.json")).batches()


def read_state(data: bytes) -> None:
    """As `runs` and `runs --json` do."""
    from translator.commands import runs
    from translator.commands.tables import table

    (_workplace() / "states" / "runs" / "run").mkdir(parents=True, exist_ok=True)
    _file(data, "states/runs/run/state.json")
    run = runs.read_run(_workplace() / "states", "run")
    table(["run"] * 6, [runs._row(run)])
    json.dumps(asdict(run))


def translate(data: bytes) -> None:
    """`translator translate` with the case on standard input."""
    from translator import cli

    out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = cli.main(["translate", "--home", str(_trained()), "--model", "run", "--device", "cpu"])
    finally:
        sys.stdin = stdin
    num_lines = len(data.removesuffix(b"\n").split(b"\n")) if data else 0
    assert (status, out.getvalue().count("\n")) == (0, num_lines) or (status == 2 and err.getvalue()), err.getvalue()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "config": read_config,
    "text": read_text,
    **{form: partial(_read_corpus, form=form) for form in FORMS},
    "tokenizer": read_tokenizer,
    "weights": read_weights,
    "checkpoint": read_checkpoint,
    "bad-step": read_bad_step,
    "state": read_state,
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
    if target in ("tokenizer", "weights"):
        name = "tokenizer.json" if target == "tokenizer" else "model.safetensors"
        return [(_trained() / "weights" / "run" / name).read_bytes()]
    if target == "checkpoint":
        content = [_checkpoint(name) for name in CHECKPOINT]
        alone = [[part if at == place else b"" for at, part in enumerate(content)] for place in range(len(content))]
        return [BETWEEN.join(parts) for parts in alone]
    if target == "bad-step":
        from translator.bad_steps import BadStep, Pair, write

        numbers: dict[str, Any] = {"step": 57, "epoch": 0, "batch": 3, "bos_id": 1, "eos_id": 2, "pad_id": 0}
        numbers |= {"learning_rate": 1e-3, "loss_scale": 1.0, "label_smoothing": 0.1, "seeds": [7, 8]}
        parts = [[Pair("run.tsv, line 1", 0, [5, 6, 7], [8])], [Pair("run.tsv, line 2", 1, [5], [])]]
        return [write(_workplace() / "bad", BadStep(precision="float32", parts=parts, **numbers)).read_bytes()]
    if target == "state":
        return [(_trained() / "runs" / "run" / "state.json").read_bytes()]
    table = TEXT.replace(b"\t", b",") if target == "csv" else TEXT
    tables = [table, b"en,it\n" + table if target == "csv" else b"en\tit\n" + table, gzip.compress(table, mtime=0)]
    return [2 * one for one in tables] if target == "text" else tables
