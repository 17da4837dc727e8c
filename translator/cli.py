"""The command line: what can be typed, and what becomes of errors and signals.

Only light modules are imported here, so that `--help`, `--version` and a wrong option answer at once. The
work of each command is in `translator.commands`, which imports heavy libraries inside the functions that
need them.

Exit status: 0 done; 1 a fault in this program; 2 something the user can mend, told in one message on standard error;
75 the job's time (train.stop_after) is over and the run can go on; 129 the terminal was closed (SIGHUP); 130 stopped by
Ctrl-C (SIGINT); 141 the reader of standard output has gone; 143 stopped by SIGTERM.
"""

import argparse
import difflib
import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from translator import __version__, streams
from translator.errors import TranslatorError
from translator.threads import spin_briefly

# the module under translator.commands that holds the function of each command
COMMANDS = {
    "train": "training",
    "resume": "training",
    "config": "training",
    "corpus": "corpus",
    "translate": "using",
    "evaluate": "evaluating",
    "score": "using",
    "check": "checking",
    "inspect": "runs",
    "runs": "runs",
    "replay": "replaying",
}

_OVERRIDES_HELP = "settings in the words of the configuration, such as train.steps=2000 model.d_model=256"
_MODEL_HELP = "name of a folder under weights/, or path of such a folder (default: the newest)"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks, and lists commands without the line that would stand above them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(self._format_action, action._get_subactions()))
        return super()._format_action(action)


class _Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviated options and keeps the line breaks of its texts."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **kwargs)

    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]


_Add = Callable[..., _Parser]
"""Makes the parser of a command from its name, summary, examples and the parsers whose options it shares."""


def build_parser() -> _Parser:
    """The parser of the whole command; each subparser sets `command` (a function's name in `commands`)."""
    parser = _Parser(
        prog="translator",
        description="Train a neural machine translation model of your own, and translate with it.",
        epilog="Begin with:  translator train        (an English-Italian corpus comes with the program)\n"
        '      then:  translator translate "Where is the station?"',
    )
    parser.add_argument("--version", action="version", version=f"translator {__version__}")
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)

    home = _Parser(add_help=False)
    home.add_argument(
        "--home",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("TRANSLATOR_HOME") or "."),
        help="folder that holds runs/ and weights/ (default: $TRANSLATOR_HOME, else the current folder)",
    )

    def add(name: str, summary: str, examples: str, *parents: _Parser) -> _Parser:
        return subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
            parents=[*parents, home],
        )

    _add_training_commands(add)
    decoding = _decoding_options()
    _add_using_commands(add, decoding)
    _add_looking_commands(add)
    return parser


def _add_training_commands(add: _Add) -> None:
    train = add(
        "train",
        "train a model, or go on with the unfinished run of that name",
        """
translator train                                   the English-Italian starter corpus
translator train configs/multi30k-en-de.yaml
translator train my.yaml train.minutes=30 model.d_model=128
translator train my.yaml --restart                 begin anew; the old run is kept aside""",
    )
    train.add_argument("words", nargs="*", metavar="CONFIG | key=value", help=f"a YAML file; {_OVERRIDES_HELP}")
    train.add_argument(
        "--restart", action="store_true", help="keep the run of that name aside and begin from the start"
    )
    resume = add(
        "resume",
        "go on with a run, from its newest checkpoint and its stored configuration",
        """
translator resume starter-en-it
translator resume starter-en-it train.steps=20000""",
    )
    resume.add_argument("name", metavar="NAME", help="name of the run (`translator runs` lists them)")
    resume.add_argument("words", nargs="*", metavar="key=value", help=_OVERRIDES_HELP)
    for command in (train, resume):
        command.add_argument(
            "--accept-new-corpus",
            action="store_true",
            help="go on although the sentence pairs have changed since the checkpoint (the tokenizer stays)",
        )


def _decoding_options() -> _Parser:
    options = _Parser(add_help=False)
    options.add_argument("--model", metavar="NAME|PATH", help=_MODEL_HELP)
    options.add_argument("--device", metavar="KIND", default="auto", help="auto, cpu, cuda or mps")
    options.add_argument("--json", action="store_true", help="one JSON object a line, with scores")
    options.add_argument(
        "--to",
        metavar="CODE",
        help="language to translate into, where the model knows several (their codes are listed)",
    )
    options.add_argument("--tag", metavar="TAG", help="domain of the text, where the model knows several")
    options.add_argument("--batch-tokens", type=int, metavar="N", help="tokens of padded text in one batch")
    return options


def _add_search_options(parser: _Parser) -> None:
    parser.add_argument("--beam-size", type=int, metavar="N", help="1 is greedy search (default: decode.beam_size)")
    parser.add_argument("--length-penalty", type=float, metavar="X", help="alpha of Wu et al. 2016, section 7")
    parser.add_argument(
        "--max-length-ratio", type=float, metavar="X", help="longest translation, in tokens for each source token"
    )
    parser.add_argument("--max-length-extra", type=int, metavar="N", help="tokens added to that longest length")
    parser.add_argument(
        "--max-source-tokens", type=int, metavar="N", help="longest source; longer lines are reported and cut"
    )
    parser.add_argument(
        "--split-sentences",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="translate a line of several sentences one by one, and join them",
    )


def _add_using_commands(add: _Add, decoding: _Parser) -> None:
    translate = add(
        "translate",
        "translate sentences, or lines of standard input: one line out for each line in",
        """
translator translate "Where is the station?"
translator translate --model starter-en-it --beam-size 5 < input.txt > output.txt
translator translate --json --num-best 3 --beam-size 5 "Good morning." """,
        decoding,
    )
    translate.add_argument("words", nargs="*", metavar="SENTENCE", help="text to translate (default: standard input)")
    _add_search_options(translate)
    translate.add_argument(
        "--num-best",
        type=int,
        metavar="N",
        help="print the N best translations of each line, as LINE NUMBER<tab>SCORE<tab>TEXT",
    )
    translate.add_argument(
        "--read-ahead",
        type=int,
        metavar="N",
        help="at most N lines are read before the first of them is written",
    )

    evaluate = add(
        "evaluate",
        "measure a model, or translations that exist, against references",
        """
translator evaluate                                the test sets of the newest model's configuration
translator evaluate --model my-run test.en test.it
translator evaluate --model my-run --set valid --json
translator evaluate --hypotheses output.txt test.it     no model needed""",
        decoding,
    )
    evaluate.add_argument(
        "words",
        nargs="*",
        metavar="SOURCE REFERENCE",
        help="two line-aligned files (default: the named sets)",
    )
    evaluate.add_argument(
        "--set",
        action="append",
        dest="sets",
        metavar="NAME",
        help="a validation or test set of the stored configuration; may be repeated (default: all test sets)",
    )
    evaluate.add_argument(
        "--hypotheses", type=Path, metavar="FILE", help="score this translation instead of making one"
    )
    evaluate.add_argument(
        "--target-language",
        metavar="CODE",
        help="with --hypotheses: how BLEU cuts words, its own way for zh, by characters for ja, th, lo, km, my, bo",
    )
    evaluate.add_argument("--output", type=Path, metavar="DIR", help="write the translations to DIR/SET.txt")
    _add_search_options(evaluate)

    score = add(
        "score",
        "print the log-probability that the model gives to translations that exist",
        """
translator score --model my-run source.txt target.txt
printf 'Hello.\\tCiao.\\n' | translator score --json""",
        decoding,
    )
    score.add_argument(
        "words",
        nargs="*",
        metavar="SOURCE TARGET",
        help="two line-aligned files (default: SOURCE<tab>TARGET lines on standard input)",
    )


def _add_looking_commands(add: _Add) -> None:
    inspect = add(
        "inspect",
        "start TensorBoard on the runs and print its address; Ctrl-C ends it",
        """
translator inspect
translator inspect --port 6007""",
    )
    inspect.add_argument("--port", type=int, metavar="N", help="port (default: 6006, or the next that is free)")
    inspect.add_argument("--host", default="localhost", metavar="NAME", help="address to listen on")

    check = add(
        "check",
        "verify a weights folder: every file, every checksum, every checkpoint",
        """
translator check starter-en-it
translator check --json weights/starter-en-it""",
    )
    check.add_argument("name", nargs="?", metavar="NAME|PATH", help=_MODEL_HELP)
    check.add_argument("--json", action="store_true", help="one JSON object a line")

    runs = add(
        "runs",
        "list the runs, or the settings in which some of them differ",
        """
translator runs
translator runs first-try second-try
translator runs --json""",
    )
    runs.add_argument("words", nargs="*", metavar="NAME", help="two or more runs to compare")
    runs.add_argument("--json", action="store_true", help="print JSON")

    corpus = add(
        "corpus",
        "say what is in a corpus, what the filters leave out, and how long training would take",
        """
translator corpus my.yaml                          a page (HTML) and the same as text
translator corpus my.yaml corpus.filters.preset=web --sample 20000
translator corpus my.yaml --no-timing --json > corpus.json""",
    )
    corpus.add_argument("words", nargs="*", metavar="CONFIG | key=value", help=f"a YAML file; {_OVERRIDES_HELP}")
    corpus.add_argument("--sample", type=int, metavar="N", help="a quick look: read the first N rows of each place")
    corpus.add_argument("--json", action="store_true", help="print JSON in place of the text")
    corpus.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of the page, corpus.html (default: runs/NAME if that run exists, else corpus-report)",
    )
    corpus.add_argument("--no-timing", action="store_true", help="do not measure steps of the model")

    replay = add(
        "replay",
        "do a step again that was left out, and say where its loss or gradient stops being finite",
        """
translator replay my-run                           the last of its bad steps
translator replay my-run 57
translator replay my-run 57 --precision float32""",
    )
    replay.add_argument("name", metavar="NAME", help="name of the run (`translator runs` lists them)")
    replay.add_argument("step", nargs="?", type=int, metavar="STEP", help="number of the step (default: the last one)")
    replay.add_argument(
        "--weights",
        type=Path,
        metavar="PATH",
        help="a checkpoint or weights folder (default: the nearest checkpoint before the step)",
    )
    replay.add_argument("--device", metavar="KIND", default="auto", help="auto, cpu, cuda or mps")
    replay.add_argument(
        "--precision", metavar="FORMAT", help="float32, bfloat16 or float16 (default: that of the step)"
    )

    config = add(
        "config",
        "check a configuration and print it with all its defaults",
        """
translator config my.yaml
translator config my.yaml train.steps=2000
translator config                                  the starter corpus
translator config --schema > schema.json           for editors that complete YAML""",
    )
    config.add_argument("words", nargs="*", metavar="CONFIG | key=value", help=f"a YAML file; {_OVERRIDES_HELP}")
    config.add_argument("--schema", action="store_true", help="print the JSON schema of the configuration")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse; positional words may stand before and after options. A wrong option exits with status 2."""
    parser = build_parser()
    args, extra = parser.parse_known_args(argv)
    (subparser,) = [
        action.choices[args.command] for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    for word in extra:
        if word.startswith("-") and len(word) > 1:
            _refuse_option(subparser, word)
        if not hasattr(args, "words"):
            subparser.error(f"unexpected argument: {word}")
        args.words.append(word)
    return args


def _refuse_option(subparser: _Parser, word: str) -> NoReturn:
    name = word.split("=", 1)[0]
    close = difflib.get_close_matches(name, subparser.option_names(), n=1)
    if "=" in word and not close:
        subparser.error(f"unknown option {name}; a setting is written without dashes: {word.lstrip('-')}")
    subparser.error(f"unknown option {name}" + (f"; did you mean {close[0]}?" if close else ""))


def _terminate(signum: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signum)


def _describe_os_error(error: OSError) -> str:
    """One sentence for an error of the operating system, with the file and what to do."""
    where = f": {error.filename}" if error.filename else ""
    advice = {
        errno.ENOSPC: " Free some space there or choose another folder with --home, then run this again.",
        errno.EDQUOT: " Free some of your quota or choose another folder with --home, then run this again.",
        errno.EACCES: " Check who may read or write there, or choose another folder with --home.",
        errno.EROFS: " Choose a folder that can be written to with --home.",
    }.get(error.errno or 0, "")
    return f"{error.strerror or error}{where}.{advice}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (module text above)."""
    with streams.prepared():
        return _run(sys.argv[1:] if argv is None else argv)


def _run(argv: Sequence[str]) -> int:
    spin_briefly()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        args = parse_arguments(argv)
        module = importlib.import_module(f"translator.commands.{COMMANDS[args.command]}")
        status: int = getattr(module, args.command)(args)
        print(end="", flush=True)  # what cannot be written is an error now, not when Python ends
        return status
    except TranslatorError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # `translator ... | head`: the reader has what it wanted
        streams.let_go(sys.stdout)
        return 128 + 13
    except OSError as error:
        if error.errno is None:  # a library's own error: the traceback is what helps
            raise
        streams.let_go(sys.stdout)
        print(_describe_os_error(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped by Ctrl-C.", file=sys.stderr)
        return 130
