"""`train`, `resume` and `config`: from words on the command line to a training run."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from translator.commands import loading
from translator.commands.runs import refuse_unknown_run
from translator.config import dump_config, json_schema, load_config, load_stored_config, unused_settings
from translator.errors import TranslatorError

OVERRIDE = re.compile(r"[A-Za-z_][\w.]*=")


def split_words(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Sort the words of `train` and `config` into the configuration file, if any, and the overrides."""
    overrides = [word for word in words if OVERRIDE.match(word) and not Path(word).is_file()]
    files = [word for word in words if word not in overrides]
    if len(files) > 1:
        raise TranslatorError(
            f"One configuration file was expected, not {len(files)}: {', '.join(files)}. "
            "A setting is written key=value, without spaces round the sign."
        )
    return (Path(files[0]) if files else None), overrides


def train(args: argparse.Namespace) -> int:
    """Train from a configuration file, or on the starter corpus when none is named."""
    config = load_config(*split_words(args.words))
    with loading():
        from translator import build  # torch: only once the configuration is known to be good

    return build.train(config, home=args.home, restart=args.restart, accept_new_corpus=args.accept_new_corpus)


def resume(args: argparse.Namespace) -> int:
    """Go on with a run from its stored configuration."""
    file, overrides = split_words(args.words)
    if file is not None:
        raise TranslatorError(
            f"`resume` uses the stored configuration of the run; {file} cannot be given too. "
            "Give the settings that change as key=value, or use `train` with the file."
        )
    weights = args.home / "weights" / args.name
    if not (weights / "config.yaml").is_file():
        refuse_unknown_run(args.home, args.name)
    load_stored_config(weights, overrides)  # told before torch is loaded
    with loading():
        from translator import build

    return build.resume(args.name, overrides, home=args.home, accept_new_corpus=args.accept_new_corpus)


def config(args: argparse.Namespace) -> int:
    """Print the resolved configuration, or the schema that every configuration follows."""
    if args.schema:
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    resolved = load_config(*split_words(args.words))
    for warning in unused_settings(resolved):
        print(f"Warning: {warning}", file=sys.stderr)
    print(dump_config(resolved), end="")
    return 0
