"""The command line: words and options, exit statuses, and what a user reads when something is wrong."""

import argparse
import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import translator
from translator import cli
from translator.commands import runs, training, using
from translator.config import DecodeConfig
from translator.errors import CorpusError, TranslatorError
from translator.metrics import bleu_tokenizer


def fail(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def command(args: argparse.Namespace) -> int:
        raise error

    return command


# --- options


@pytest.mark.parametrize("command", [[], *([name] for name in cli.COMMANDS)], ids=lambda words: " ".join(words))
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main([*command, "--help"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.count(" ".join(["translator", *command])) >= 3  # usage and two examples


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert (exit_.value.code, capsys.readouterr().out) == (0, f"translator {translator.__version__}\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "--restat"], "unknown option --restat; did you mean --restart?"),
        (
            ["train", "--rest"],
            "did you mean --restart?",
        ),  # abbreviations would change meaning with a new option
        (["train", "a.yaml", "--train.steps=5"], "a setting is written without dashes: train.steps=5"),
        (["evaluate", "--beam_size=4"], "unknown option --beam_size; did you mean --beam-size?"),
        (["translate", "--beam-size", "two", "Hi"], "--beam-size"),
        (["translat", "Hi"], "invalid choice: 'translat'"),
        (["resume"], "NAME"),
        (["inspect", "surplus"], "unexpected argument: surplus"),
        ([], "COMMAND"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_refused_at_once(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(argv)
    captured = capsys.readouterr()
    assert exit_.value.code == 2
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("train --home /h my.yaml train.steps=5", ["my.yaml", "train.steps=5"]),
        ("train my.yaml --restart train.steps=5 --home /h seed=2", ["my.yaml", "train.steps=5", "seed=2"]),
        ("translate one --json two", ["one", "two"]),
        ("translate --json -- -5 --degrees", ["-5", "--degrees"]),
    ],
)
def test_words_may_stand_before_and_after_options(argv: str, words: list[str]) -> None:
    assert cli.parse_arguments(argv.split()).words == words


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_every_setting_of_decode_is_an_option(command: str) -> None:
    assert set(using.DECODE_OPTIONS) == set(DecodeConfig.model_fields)
    values = {"length_penalty": 0.5, "max_length_ratio": 1.5}
    words = [f"--{key.replace('_', '-')}={values.get(key, 7)}" for key in using.DECODE_OPTIONS[:-1]]
    args = cli.parse_arguments([command, *words, "--split-sentences"])
    expected = {**dict.fromkeys(using.DECODE_OPTIONS, 7), **values, "split_sentences": True}
    assert using.given(args, *using.DECODE_OPTIONS) == expected


def test_help_of_target_language_agrees_with_bleu(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["evaluate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    own, by_characters = re.findall(r"its own way for (.*?), by characters for ([a-z, ]*[a-z])", text)[0]
    assert [bleu_tokenizer(code) for code in own.split(", ")] == ["zh"]
    assert {bleu_tokenizer(code) for code in by_characters.split(", ")} == {"char"}


def test_home_is_the_option_then_the_variable_then_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.parse_arguments(["runs"]).home == Path()
    monkeypatch.setenv("TRANSLATOR_HOME", "/there")
    assert cli.parse_arguments(["runs"]).home == Path("/there")
    assert cli.parse_arguments(["runs", "--home", "/here"]).home == Path("/here")


# --- exit statuses


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (CorpusError("a.en has 10 lines, a.it has 11."), 2, "a.en has 10 lines, a.it has 11.\n"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "Permission denied: /x/y. Check who"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/y"),
            2,
            "No space left on device: /x/y. Free some",
        ),
        (OSError(errno.EIO, "Input/output error"), 2, "Input/output error.\n"),
        (KeyboardInterrupt(), 130, "Stopped by Ctrl-C.\n"),
    ],
    ids=["corpus", "permission", "disk full", "other", "ctrl-c"],
)
def test_an_error_becomes_one_message_and_a_status(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(runs, "runs", fail(error))
    assert cli.main(["runs"]) == status
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "runs", fail(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["runs"])


def test_sigterm_ends_with_143_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned = []

    def command(args: argparse.Namespace) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            cleaned.append(True)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(runs, "runs", command)
    try:
        with pytest.raises(SystemExit) as exit_:
            cli.main(["runs"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (exit_.value.code, cleaned) == (143, [True])


# --- train, resume, config


@pytest.mark.parametrize(
    ("words", "file", "overrides"),
    [
        ([], None, []),
        (["train.steps=5"], None, ["train.steps=5"]),
        (
            ["seed=2", "dir/my.yaml", "corpus.train={path: a=b.tsv}"],
            "dir/my.yaml",
            "seed=2|corpus.train={path: a=b.tsv}",
        ),
        (["./a=b.yaml"], "./a=b.yaml", []),
    ],
)
def test_words_are_a_file_and_overrides(words: list[str], file: str | None, overrides: str | list[str]) -> None:
    expected = overrides.split("|") if isinstance(overrides, str) else overrides
    assert training.split_words(words) == (file and Path(file), expected)


def test_two_files_are_refused() -> None:
    with pytest.raises(TranslatorError, match=r"not 2: my.yaml, train.steps\. A setting is written key=value"):
        training.split_words(["my.yaml", "train.steps"])


# --- runs


CORPUS = "corpus: {source_language: en, target_language: it, train: /pairs.tsv}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three runs: one finished, one of which only the stored configuration is left whole, one just begun."""
    states: dict[str, object] = {
        "first": {
            "state": "finished",
            "step": 400,
            "total_steps": 500,
            "best": {"metric": "valid/bleu", "value": 71.256, "step": 300},
            "seconds": 90,
        },
        "new": {"state": "running", "step": 0, "best": None, "seconds": 0.0},
    }
    for name, state in states.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "state.json").write_text(json.dumps(state))
    (tmp_path / "runs" / "second").mkdir()
    (tmp_path / "runs" / "second" / "state.json").write_text('{"state"')
    (tmp_path / "runs" / "README.md").write_text("not a run")
    (tmp_path / "runs" / "first" / "config.yaml").write_text(CORPUS + "name: first\nmodel: {d_model: 64}\n")
    (tmp_path / "weights" / "second").mkdir(parents=True)
    (tmp_path / "weights" / "second" / "config.yaml").write_text(
        CORPUS.replace("it", "no") + "name: second\nmodel: {d_model: 32}\n"
    )
    return tmp_path


def test_runs_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "--home", str(home)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["run", "state", "step", "best", "at", "step", "minutes"],
        ["first", "finished", "400", "of", "500", "valid/bleu", "71.26", "300", "1.5"],
        ["new", "running", "0", "0.0"],
        ["second", "unknown"],
    ]


def test_runs_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "--json", "--home", str(home)]) == 0
    first, new, second = json.loads(capsys.readouterr().out)
    assert first == {
        "name": "first",
        "state": "finished",
        "step": 400,
        "total_steps": 500,
        "metric": "valid/bleu",
        "value": 71.256,
        "best_step": 300,
        "seconds": 90,
    }
    assert (new["state"], new["value"], second["state"]) == ("running", None, "unknown")


@pytest.mark.parametrize(("alive", "state"), [(True, "running"), (False, "interrupted")])
def test_a_run_whose_process_is_gone_was_interrupted(tmp_path: Path, alive: bool, state: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "state.json").write_text(json.dumps({"state": "running", "pid": process.pid}))
    if not alive:
        process.kill()
        process.wait()
    assert runs.read_run(tmp_path, "a").state == state
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "content",
    [
        {"state": "running", "pid": "x"},
        {"state": "running", "pid": 10**30},
        {"state": None},
        {"state": ["finished"]},
        {"state": "finished", "step": "x"},
        {"state": "finished", "seconds": "x"},
        {"state": "finished", "seconds": 10**400},
        {"state": "finished", "best": {"metric": "valid/bleu", "value": "x"}},
        {"state": "finished", "best": {"metric": 1, "value": 2}},
        {"state": "finished", "best": "x"},
        [],
        None,
    ],
)
def test_a_run_of_a_strange_state_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object
) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "state.json").write_text("[" * 100_000 if content is None else json.dumps(content))
    assert cli.main(["runs", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["a", "unknown"]


def test_a_state_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    os.mkfifo(tmp_path / "runs" / "a" / "state.json")
    assert runs.read_run(tmp_path, "a").state == "unknown"


def test_a_stored_configuration_behind_a_link_is_not_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "runs" / "first" / "config.yaml").rename(home / "away.yaml")
    (home / "runs" / "first" / "config.yaml").symlink_to(home / "away.yaml")
    assert cli.main(["runs", "first", "second", "--home", str(home)]) == 2
    assert "config.yaml is a link that leaves its folder" in capsys.readouterr().err


def test_runs_are_compared_by_the_settings_that_differ(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "first", "second", "--json", "--home", str(home)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "corpus.target_language": {"first": "it", "second": "no"},
        "model.d_model": {"first": 64, "second": 32},
    }
    assert cli.main(["runs", "first", "second", "--home", str(home)]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["model.d_model", "64", "32"] in table
    assert ["state", "finished", "unknown"] in table
    assert not any(row[0] in ("name", "seed", "model.norm") for row in table)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["runs", "first", "third"], "no run named third"),
        (["runs", "first"], "Name a second run to compare first with"),
        (["resume", "third"], "Runs there: first, new, second."),
        (["resume", "second", "my.yaml"], "`resume` uses the stored configuration"),
    ],
)
def test_wrong_names_are_told(home: Path, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*argv, "--home", str(home)]) == 2
    assert message in capsys.readouterr().err


def test_no_runs_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "--home", str(tmp_path)]) == 0
    assert cli.main(["inspect", "--home", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("`translator train` makes the first.") == 2
