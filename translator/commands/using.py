"""`translate` and `score`: what a trained model is for.

Standard output holds results and nothing else; everything said about them goes to standard error.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from translator.commands import loading
from translator.errors import TranslatorError

# options of `translate` and `evaluate` that replace settings of `decode`
DECODE_OPTIONS = (
    "beam_size",
    "length_penalty",
    "max_length_ratio",
    "max_length_extra",
    "max_source_tokens",
    "batch_tokens",
    "split_sentences",
)

if TYPE_CHECKING:
    from translator.translate import Translation, Translator

WEIGHTS = "model.safetensors"


def find_model(name: str | None, home: Path) -> Path:
    """The folder of a model: by path, by name under weights/, or the one that was written last."""
    if name is not None:
        from translator.weights import find_folder

        return find_folder(name, home)
    folder = home / "weights"
    files = list(folder.glob(f"*/{WEIGHTS}"))
    if not files:
        raise TranslatorError(
            f"No weights under {folder.resolve()} yet: `translator train` makes some, "
            "and --model PATH uses a folder from elsewhere."
        )
    newest = max(files, key=lambda file: file.stat().st_mtime_ns).parent
    print(f"Using {newest} (the newest; --model chooses another).", file=sys.stderr)
    return newest


def load_model(args: argparse.Namespace, folder: Path | None = None) -> "Translator":
    """The model in a folder, by default that of the options."""
    with loading():
        folder = find_model(args.model, args.home) if folder is None else folder
        from translator.device import settle
        from translator.translate import Translator

    settle()
    return Translator.load(folder, device=args.device)


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options that were typed; for the others the stored configuration holds."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


# ---------------------------------------------------------------------- translate


def translate(args: argparse.Namespace) -> int:
    """Translate the given sentences or standard input, a line for each line, as soon as it is there."""
    lines = _argument_lines(args.words) if args.words else stdin_lines()
    translator = load_model(args)
    if not args.words and sys.stdin.isatty():
        print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
    options = given(args, "num_best", "read_ahead", *DECODE_OPTIONS)
    translations = translator.translate_stream(lines, target_language=args.to, tag=args.tag, **options)
    num_written = 0
    try:
        for translation in translations:
            print(_output(translation, num_written + 1, args), flush=True)
            num_written += 1
    except BrokenPipeError:
        raise
    except BaseException:
        print(f"Stopped: {num_written} lines have been translated and written.", file=sys.stderr)
        raise
    return 0


def _argument_lines(words: Sequence[str]) -> list[str]:
    for word in words:
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            raise TranslatorError(f"The sentence {word!r} is not UTF-8.") from None
    return [line.removesuffix("\r") for word in words for line in word.split("\n")]


def stdin_lines() -> Iterator[str]:
    """The lines of standard input, which end with LF or CR LF only, as they come."""
    # A reader of its own: the thread that waits in sys.stdin's would bring the interpreter down when Ctrl-C ends it.
    try:
        stream: BinaryIO = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    except OSError:  # not a file, as in a test
        stream = sys.stdin.buffer
    for number, raw in enumerate(stream, start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")  # the mark that some editors put before UTF-8
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TranslatorError(
                f"Standard input is not UTF-8: line {number}, byte {error.start + 1} is "
                f"0x{raw[error.start]:02X}. Convert it first, for example with iconv -t UTF-8."
            ) from None
        yield text.removesuffix("\n").removesuffix("\r")


def _output(translation: "Translation", number: int, args: argparse.Namespace) -> str:
    if args.json:
        content = {"line": number, **asdict(translation)}
        if args.num_best is None:
            del content["alternatives"]
        return json.dumps(content, ensure_ascii=False)
    if args.num_best is None:
        return translation.text
    return "\n".join(f"{number}\t{one.score:.4f}\t{one.text}" for one in translation.alternatives)


# ---------------------------------------------------------------------- score


def score(args: argparse.Namespace) -> int:
    """Print the log-probability of each given translation."""
    sources, targets = two_files(args.words) if args.words else _table_on_stdin()
    scores = load_model(args).score(sources, targets, target_language=args.to, tag=args.tag)
    for number, one in enumerate(scores, start=1):
        text = json.dumps({"line": number, **asdict(one)}, ensure_ascii=False)
        print(text if args.json else f"{one.log_probability:.5f}")
    return 0


def two_files(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines of two files that must be as long as each other; no line is left out."""
    if len(words) != 2:
        raise TranslatorError(f"Two files were expected, line by line the same sentences, not {len(words)}.")
    from translator.corpus.read_text import read_aligned

    pairs = list(read_aligned(Path(words[0]), Path(words[1])))
    return [source for _, source, _ in pairs], [target for _, _, target in pairs]


def _table_on_stdin() -> tuple[list[str], list[str]]:
    pairs = []
    for number, line in enumerate(stdin_lines(), start=1):
        source, *rest = line.split("\t")
        if len(rest) != 1:
            raise TranslatorError(
                f"Line {number} of standard input holds {len(rest)} tabs, not one between source and target."
            )
        pairs.append((source, rest[0]))
    return [source for source, _ in pairs], [target for _, target in pairs]
