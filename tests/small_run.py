"""A corpus and a run that are small enough for tests of whole commands, run in this process."""

import contextlib
import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import product
from pathlib import Path

from translator import cli

NOUNS = {"the dog": "il cane", "the cat": "il gatto", "a boy": "un ragazzo", "a man": "un uomo", "Anna": "Anna"}
VERBS = {"sees": "vede", "loves": "ama", "finds": "trova"}
PAIRS = [(f"{a} {v} {b}.", f"{NOUNS[a]} {VERBS[v]} {NOUNS[b]}.") for a, v, b in product(NOUNS, VERBS, NOUNS) if a != b]
LONG_PAIR = (" ".join(["the dog sees"] * 20) + ".", " ".join(["il cane vede"] * 20) + ".")
VALID = [*PAIRS[:40:5], LONG_PAIR, *PAIRS[40::12]]  # 11 pairs, one of them beyond every limit of the configuration

CONFIG = """
corpus:
  source_language: en
  target_language: it
  train: {source: train.en, target: train.it}
  valid: {source: valid.en, target: valid.it}
  filters: {max_tokens: 20}
  description: Ten words in every order
  licence: CC0-1.0
tokenizer: {kind: word, shared: false}
model:
  {d_model: 16, num_heads: 2, d_ff: 32, num_encoder_layers: 1, num_decoder_layers: 1, share_embeddings: target}
batch: {tokens: 128}
optim: {learning_rate: 3e-2, schedule: inverse_sqrt, warmup_steps: 20, label_smoothing: 0.0}
train: {validate_every: 20, log_every: 1, validate_first: false}
decode: {max_source_tokens: 30}
device: {kind: cpu, precision: float32, threads: 1}
"""


@dataclass(frozen=True)
class Output:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The last line on standard error: why a command did nothing."""
        return self.err.splitlines()[-1]


def command(folder: Path, *words: str) -> Output:
    """Run `translator` with these words in this process, with `folder` as the current one."""
    out, err = StringIO(), StringIO()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(words)
    finally:
        signal.signal(signal.SIGTERM, before)
    return Output(status, out.getvalue(), err.getvalue())


def train(folder: Path, *words: str) -> Output:
    """`translator train small.yaml` with these words; it must end well."""
    output = command(folder, "train", "small.yaml", *words)
    assert output.status == 0, output.err
    return output


def write_pairs(folder: Path, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """NAME.en and NAME.it, line by line."""
    for side, ending in enumerate(("en", "it")):
        (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")


def write_corpus(folder: Path, config: str = CONFIG) -> Path:
    """The files of the corpus and small.yaml; returns the folder."""
    write_pairs(folder, "train", PAIRS)
    write_pairs(folder, "valid", VALID)
    (folder / "small.yaml").write_text(config, encoding="utf-8")
    return folder


def snapshot(folder: Path, *names: str) -> dict[str, tuple[int, bytes]]:
    """Time and content of every file of these runs (of all, if none is named); locks are no part of a run."""
    roots = [folder / kind / name for kind in ("runs", "weights") for name in names or [""]]
    files = [file for root in roots for file in root.rglob("*") if file.is_file() and file.suffix != ".lock"]
    return {str(file.relative_to(folder)): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def records(folder: Path, name: str = "small") -> list[dict[str, float]]:
    """The lines of metrics.jsonl without times and speeds."""
    lines = (folder / "runs" / name / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if "second" not in key} for line in lines]


def curve(folder: Path, tag: str, name: str = "small") -> dict[int, float]:
    """The points of one metric by step; a step that stands twice is a fault."""
    points = [(int(record["step"]), record[tag]) for record in records(folder, name) if tag in record]
    assert len(dict(points)) == len(points)
    return dict(points)


def state(folder: Path, name: str = "small") -> Mapping[str, object]:
    """The content of state.json."""
    content: Mapping[str, object] = json.loads((folder / "runs" / name / "state.json").read_text(encoding="utf-8"))
    return content
