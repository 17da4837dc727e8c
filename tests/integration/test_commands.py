"""Whole commands as a user types them: a small corpus is trained, resumed, used and measured."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from itertools import product
from pathlib import Path

import pytest

from translator import cli

COMMAND = [sys.executable, "-m", "translator"]

NOUNS = {"the dog": "il cane", "the cat": "il gatto", "a boy": "un ragazzo", "a man": "un uomo", "Anna": "Anna"}
VERBS = {"sees": "vede", "loves": "ama", "finds": "trova"}
SENTENCES = [
    (f"{a} {v} {b}.", f"{NOUNS[a]} {VERBS[v]} {NOUNS[b]}.") for a, v, b in product(NOUNS, VERBS, NOUNS) if a != b
]
SETS = {"train": SENTENCES[6:], "valid": SENTENCES[:3], "test": SENTENCES[3:6]}
CONFIG = """
corpus:
  source_language: en
  target_language: it
  train: {source: train.en, target: train.it}
  valid: {source: valid.en, target: valid.it}
  test: {source: test.en, target: test.it}
tokenizer: {kind: word}
model: {d_model: 32, num_heads: 2, d_ff: 64, num_encoder_layers: 1, num_decoder_layers: 1, dropout: 0.0}
batch: {tokens: 256}
optim: {learning_rate: 1e-2, warmup_steps: 10, average: none, label_smoothing: 0.0}
train: {steps: 120, validate_every: 60}
device: {kind: cpu, precision: float32, threads: 1}
"""

Run = Callable[..., "Output"]


class Output:
    """What a command in this process printed, and its exit status."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a small corpus and the configuration small.yaml."""
    folder = tmp_path_factory.mktemp("commands")
    for name, pairs in SETS.items():
        for side, ending in enumerate(("en", "it")):
            (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    (folder / "small.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(corpus: Path) -> Path:
    """The same folder after `translator train small.yaml`; tests that change it work on a copy."""
    done = subprocess.run([*COMMAND, "train", "small.yaml"], cwd=corpus, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    (corpus / "train.out").write_text(done.stderr, encoding="utf-8")
    return corpus


@pytest.fixture
def run(trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, in the folder of the trained model, with the given standard input."""

    def command(*words: str, stdin: bytes = b"", folder: Path = trained) -> Output:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        before = signal.getsignal(signal.SIGTERM)
        try:
            status = cli.main(list(words))
        finally:
            signal.signal(signal.SIGTERM, before)
        return Output(status, *capsys.readouterr())

    return command


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained folder that a test may change."""
    return shutil.copytree(trained, tmp_path / "copy")


def files(folder: Path) -> dict[str, tuple[int, str]]:
    """Time and content of every file; locks are no part of a run."""
    return {
        str(file.relative_to(folder)): (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".lock"
    }


# --- train and resume


def test_a_short_run_saves_and_says_where(trained: Path) -> None:
    said = (trained / "train.out").read_text(encoding="utf-8")
    assert str(Path("weights") / "small") in said
    assert "cpu" in said
    state = json.loads((trained / "runs" / "small" / "state.json").read_text())
    assert (state["state"], state["step"]) == ("finished", 120)
    newest = (trained / "weights" / "small" / "checkpoints" / "newest").read_text().strip()
    assert newest == "step-00000120"


@pytest.mark.parametrize(
    "words", [["train", "small.yaml"], ["resume", "small"], ["resume", "small", "train.steps=120"]]
)
def test_a_finished_run_is_told_and_left_alone(run: Run, copy: Path, words: list[str]) -> None:
    before = files(copy)
    output = run(*words, folder=copy)
    assert output.status == 0
    assert all(part in output.err for part in ("step 120 of 120", "train.steps"))
    assert files(copy) == before


def test_resume_goes_on_to_the_new_limit(run: Run, copy: Path) -> None:
    output = run("resume", "small", "train.steps=130", folder=copy)
    assert output.status == 0
    assert "from step 120" in output.err
    assert json.loads((copy / "runs" / "small" / "state.json").read_text())["step"] == 130


def test_restart_keeps_the_old_run_aside(run: Run, copy: Path) -> None:
    weights = (copy / "weights" / "small" / "model.safetensors").read_bytes()
    assert run("train", "small.yaml", "--restart", "train.steps=1", folder=copy).status == 0
    assert json.loads((copy / "runs" / "small" / "state.json").read_text())["step"] == 1
    kept = [file.read_bytes() for file in (copy / "weights").glob("*/model.safetensors")]
    assert len(kept) == 2
    assert weights in kept


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_saves_and_goes_on(run: Run, corpus: Path, tmp_path: Path, signum: int, status: int) -> None:
    folder = shutil.copytree(corpus, tmp_path / "stopped", ignore=shutil.ignore_patterns("runs", "weights"))
    words = ["train", "small.yaml", "train.steps=100000", "train.log_every=1", "train.validate_first=false"]
    process = subprocess.Popen(
        [*COMMAND, *words, "train.validate_every=100000"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("step "):
            process.send_signal(signum)
            break
    lines += process.stderr.readlines()
    assert process.wait() == status, lines
    state = json.loads((folder / "runs" / "small" / "state.json").read_text())
    assert 0 < state["step"] < 100_000
    assert state["state"] == "interrupted"
    again = run("train", "small.yaml", f"train.steps={state['step'] + 2}", "train.validate_every=100000", folder=folder)
    assert again.status == 0, again.err
    assert f"from step {state['step']:,}" in again.err


# --- translate


def test_one_line_out_for_each_line_in_whatever_the_batches(run: Run) -> None:
    lines = [source for source, _ in SENTENCES] + ["", "  ", SENTENCES[0][0]]
    stdin = "".join(f"{line}\n" for line in lines).encode()
    plain = run("translate", "--model", "small", stdin=stdin)
    assert plain.status == 0
    translations = plain.out.split("\n")
    assert translations.pop() == ""
    assert len(translations) == len(lines)
    assert translations[-3:-1] == ["", ""]
    assert translations[-1] == translations[0]
    for options in (["--batch-tokens", "1"], ["--read-ahead", "1"], ["--read-ahead", "7", "--batch-tokens", "64"]):
        assert run("translate", "--model", "small", *options, stdin=stdin).out == plain.out
    assert run("translate", "--model", "weights/small", *lines).out == plain.out
    windows = run("translate", "--model", "small", stdin=b"\xef\xbb\xbf" + stdin.replace(b"\n", b"\r\n").strip(b"\r\n"))
    assert windows.out == plain.out


def test_the_model_has_learned_its_sentences(run: Run) -> None:
    sources, targets = zip(*SETS["train"], strict=True)
    translations = run("translate", *sources).out.split("\n")[:-1]
    assert sum(map(str.__eq__, translations, targets)) >= 0.9 * len(targets)


def test_without_a_model_the_newest_is_taken_and_named(run: Run, copy: Path) -> None:
    shutil.copytree(copy / "weights" / "small", copy / "weights" / "newer")
    os.utime(copy / "weights" / "newer" / "model.safetensors", (2e9, 2e9))
    output = run("translate", "the dog sees Anna.", folder=copy)
    assert f"Using {Path('weights') / 'newer'}" in output.err
    assert output.out == run("translate", "--model", "newer", "the dog sees Anna.", folder=copy).out


def test_a_weights_folder_is_complete_in_itself(run: Run, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "weights" / "small", tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints"))
    output = run("translate", "--model", "./model", "the dog sees Anna.", folder=tmp_path)
    assert output.status == 0
    assert output.out == run("translate", "--model", "small", "the dog sees Anna.").out


def test_json_holds_what_a_program_needs_and_score_agrees(run: Run) -> None:
    source = SENTENCES[0][0]
    output = run("translate", "--model", "small", "--json", "--beam-size", "3", "--num-best", "2", source, "")
    first, second = map(json.loads, output.out.splitlines())
    assert (first["line"], first["source"], second["line"], second["text"]) == (1, source, 2, "")
    assert first["alternatives"][0]["text"] == first["text"]
    assert len(first["alternatives"]) == 2
    assert first["finished"]
    table = f"{source}\t{first['text']}\n"
    (scored,) = map(json.loads, run("score", "--model", "small", "--json", stdin=table.encode()).out.splitlines())
    assert scored["log_probability"] == pytest.approx(first["log_probability"], abs=1e-4)
    assert float(run("score", "--model", "small", stdin=table.encode()).out) == pytest.approx(
        scored["log_probability"], abs=1e-4
    )
    plain = run("translate", "--model", "small", "--beam-size", "3", "--num-best", "2", source).out.splitlines()
    assert [line.split("\t")[::2] for line in plain] == [["1", one["text"]] for one in first["alternatives"]]


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["translate", "--model", "absent", "Hi."], b"", "small"),
        (["translate", "--model", "small", "--beam-size", "0", "Hi."], b"", "beam_size"),
        (["translate", "--model", "small", "--device", "cuda", "Hi."], b"", "cuda"),
        (["translate", "--model", "small"], b"Anna.\nAnn\xe9.\n", "line 2, byte 4 is 0xE9"),
        (["score", "--model", "small"], b"Anna.\tAnna.\nAnna.\n", "Line 2 of standard input holds 0 tabs"),
        (["score", "--model", "small", "train.en", "test.it"], b"", "54"),
        (["evaluate", "--model", "small", "train.en", "test.it"], b"", "54"),
        (["evaluate", "--model", "small", "test.en"], b"", "Two files were expected"),
        (["evaluate", "--model", "small", "--set", "tset"], b"", "it has valid, test"),
        (["evaluate", "--hypotheses", "absent.txt", "test.it"], b"", "absent.txt"),
        (["evaluate", "--hypotheses", "test.it"], b"", "one file of references"),
        (["resume", "small", "model.d_model=64"], b"", "model.d_model"),
        (["resume", "small", "train.stps=64"], b"", "did you mean train.steps?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_a_sentence(run: Run, words: list[str], stdin: bytes, message: str) -> None:
    if message == "cuda" and __import__("torch").cuda.is_available():
        words = [word.replace("cuda", "tpu") for word in words]
    output = run(*words, stdin=stdin)
    assert output.status == 2
    assert message in output.err
    assert len(output.err) < 500


def test_an_aborted_translation_tells_how_far_it_came(run: Run) -> None:
    output = run("translate", "--model", "small", "--read-ahead", "1", stdin=b"the dog sees Anna.\n\n\xff\n")
    assert output.status == 2
    assert output.out == run("translate", "--model", "small", "the dog sees Anna.", "").out
    assert "Stopped: 2 lines have been translated and written." in output.err


def test_a_reader_that_leaves_is_no_error(trained: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "translate", "--model", "small", *["Anna sees the dog."] * 2000],
        cwd=trained,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().endswith(b".\n")
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 141)


# --- evaluate, runs, inspect


def test_evaluation_is_that_of_the_translated_file(run: Run, tmp_path: Path) -> None:
    named = json.loads(run("evaluate", "--model", "small", "--json", "--output", str(tmp_path)).out)
    assert list(named) == ["test"]
    files_ = json.loads(run("evaluate", "--model", "small", "--json", "test.en", "test.it").out)
    assert files_["test.en"] == named["test"]
    (tmp_path / "sources.out").write_text(
        run("translate", "--model", "small", *(source for source, _ in SETS["test"])).out, encoding="utf-8"
    )
    assert (tmp_path / "test.txt").read_bytes() == (tmp_path / "sources.out").read_bytes()
    given = json.loads(run("evaluate", "--hypotheses", str(tmp_path / "test.txt"), "test.it", "--json").out)
    metrics = ("bleu", "chrf", "ter", "cer", "wer")
    assert [given["test.txt"][name] for name in metrics] == [named["test"][name] for name in metrics]
    assert given["test.txt"]["signatures"] == named["test"]["signatures"]
    assert "tok:13a" in named["test"]["signatures"]["bleu"]


def test_sets_are_chosen_by_name_and_shown_in_a_table(run: Run) -> None:
    output = run("evaluate", "--model", "small", "--set", "valid", "--set", "test")
    header, *rows = output.out.split("\n\n")[0].splitlines()
    assert header.split() == ["set", "lines", "loss", "perplexity", "accuracy", "BLEU", "chrF", "TER", "CER", "WER"]
    assert [row.split()[:2] for row in rows] == [["valid", "3"], ["test", "3"]]


def test_hypotheses_keep_their_order_and_their_scale(run: Run, tmp_path: Path) -> None:
    """References passed in a wrong shape, or matched by anything but their line, give other numbers."""
    hypotheses = ["il cane vede un gatto nero.", "Anna ama il mare.", "un uomo trova la casa rossa."]
    references = ["il cane vede il gatto nero.", "Anna ama il mare blu.", "un uomo trova la casa rossa."]
    scores = []
    for order in ((0, 1, 2), (2, 0, 1)):
        for name, lines in (("hyp", hypotheses), ("ref", references)):
            (tmp_path / name).write_text("".join(f"{lines[i]}\n" for i in order), encoding="utf-8")
        scores.append(
            json.loads(run("evaluate", "--hypotheses", str(tmp_path / "hyp"), str(tmp_path / "ref"), "--json").out)
        )
    assert scores[0] == scores[1]
    assert scores[0]["hyp"]["bleu"] == pytest.approx(68.16, abs=0.01)  # sacrebleu 2.6 on these files


def test_runs_tells_what_was_reached(run: Run) -> None:
    (row,) = json.loads(run("runs", "--json").out)
    assert (row["name"], row["state"], row["step"], row["metric"]) == ("small", "finished", 120, "valid/bleu")


def test_inspect_serves_the_runs_until_ctrl_c(trained: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "inspect", "--port", "0"],
        cwd=trained,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    assert process.stdout is not None
    (address,) = [word for word in process.stdout.readline().split() if word.startswith("http://")]
    with urllib.request.urlopen(f"{address}data/runs") as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
