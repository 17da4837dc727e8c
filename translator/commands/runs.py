"""`runs` and `inspect`: looking at what has been trained."""

import argparse
import json
import os
import platform
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from translator.commands.tables import table
from translator.errors import TranslatorError
from translator.files import check_inside


@dataclass(frozen=True)
class Run:
    """A run as its `state.json` tells it; `state` is running, finished, stopped, interrupted or unknown."""

    name: str
    state: str
    step: int | None
    total_steps: int | None
    metric: str | None
    value: float | None
    best_step: int | None
    seconds: float | None


def list_runs(home: Path) -> list[Run]:
    """All runs under `home`, by name."""
    folder = home / "runs"
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [read_run(home, name) for name in names if not name.startswith(".")]


def read_run(home: Path, name: str) -> Run:
    """The state of one run; fields that were not written (yet) are None."""
    folder = home / "runs" / name
    try:
        check_inside(folder / "state.json", folder, TranslatorError)
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        best = state.get("best") or {}
        run = Run(
            name=name,
            state="interrupted" if state["state"] == "running" and _is_gone(state) else state["state"],
            step=state.get("step"),
            total_steps=state.get("total_steps"),
            metric=best.get("metric"),
            value=best.get("value"),
            best_step=best.get("step"),
            seconds=state.get("seconds"),
        )
        _check(run)
    except (TranslatorError, OSError, ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Run(name, "unknown", None, None, None, None, None, None)
    return run


def _check(run: Run) -> None:
    """Raise TypeError where a value is none that a run writes, or a float cannot hold it."""
    if type(run.state) is not str or not isinstance(run.metric, str | None):
        raise TypeError
    for number in (run.step, run.total_steps, run.value, run.best_step, run.seconds):
        if number is not None and (type(number) not in (int, float) or abs(number) >= 1e300):
            raise TypeError


def _is_gone(state: Mapping[str, Any]) -> bool:
    """Whether the process of a run has ended without a word, as by SIGKILL or a power cut; of another host: unknown."""
    pid = state.get("pid")
    if pid is None or state.get("host", platform.node()) != platform.node():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's process
        return False
    return False


def refuse_unknown_run(home: Path, name: str) -> NoReturn:
    """Raise the error for a name that is no run, with those that are."""
    known = ", ".join(run.name for run in list_runs(home))
    raise TranslatorError(
        f"There is no run named {name} under {home.resolve()}. "
        + (f"Runs there: {known}." if known else "None has been trained there yet (see `translator train --help`).")
    )


def runs(args: argparse.Namespace) -> int:
    """Print the table of runs, or the settings in which the named ones differ."""
    if len(args.words) == 1:
        raise TranslatorError(f"Name a second run to compare {args.words[0]} with, or none for the table of all runs.")
    if args.words:
        return _compare(args.home, args.words, as_json=args.json)
    found = list_runs(args.home)
    if args.json:
        print(json.dumps([asdict(run) for run in found], indent=2, ensure_ascii=False))
    elif not found:
        print(f"No runs under {args.home.resolve()} yet. `translator train` makes the first.", file=sys.stderr)
    else:
        print(table(["run", "state", "step", "best", "at step", "minutes"], [_row(run) for run in found]))
    return 0


def _row(run: Run) -> list[str]:
    best = "" if run.metric is None or run.value is None else f"{run.metric} {run.value:.4g}"
    minutes = "" if run.seconds is None else f"{run.seconds / 60:.1f}"
    step = "" if run.step is None else str(run.step) + (f" of {run.total_steps}" if run.total_steps else "")
    best_step = "" if run.best_step is None else str(run.best_step)
    return [run.name, run.state, step, best, best_step, minutes]


def _compare(home: Path, names: Sequence[str], *, as_json: bool) -> int:
    settings = [_stored_settings(home, name) for name in names]
    keys = list(dict.fromkeys(key for one in settings for key in one))  # in the order of the configuration
    differing = {key: [one.get(key) for one in settings] for key in keys}
    differing = {
        key: values for key, values in differing.items() if key != "name" and any(v != values[0] for v in values)
    }
    if as_json:
        content = {key: dict(zip(names, values, strict=True)) for key, values in differing.items()}
        print(json.dumps(content, indent=2, ensure_ascii=False))
        return 0
    rows = [_row(read_run(home, name)) for name in names]
    header = ["", *names]
    facts = [
        [title, *(row[column] for row in rows)] for column, title in enumerate(["", "state", "step", "best"]) if column
    ]
    changed = [[key, *map(_show, values)] for key, values in differing.items()]
    print(table(header, facts + changed))
    if not changed:
        print("All settings are the same.")
    return 0


def _show(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _stored_settings(home: Path, name: str) -> dict[str, Any]:
    """The stored configuration of a run as dotted keys."""
    from translator.config import flat_settings, load_stored_config

    for folder in (home / "runs" / name, home / "weights" / name):
        if (folder / "config.yaml").is_file():
            settings = flat_settings(load_stored_config(folder)).items()
            return {key: str(value) if isinstance(value, Path) else value for key, (value, _) in settings}
    refuse_unknown_run(home, name)


def inspect(args: argparse.Namespace) -> int:
    """Serve TensorBoard on the runs until Ctrl-C."""
    folder: Path = args.home / "runs"
    if not list_runs(args.home):
        raise TranslatorError(f"No runs under {args.home.resolve()} yet. `translator train` makes the first.")
    from tensorboard import default, program
    from tensorboard.util import tb_logging

    tb_logging.get_logger().setLevel("ERROR")
    server = program.TensorBoard(default.get_plugins())
    arguments = ["tensorboard", "--logdir", str(folder), "--host", args.host, "--reload_interval", "5"]
    arguments.append("--load_fast=false")  # the other loader is a second process that can outlive this one
    if args.port is not None:
        arguments += ["--port", str(args.port)]
    server.configure(arguments)
    try:
        address = server.launch()
    except program.TensorBoardServerException as error:
        raise TranslatorError(f"TensorBoard could not start: {error.msg} Choose another port with --port.") from None
    print(f"TensorBoard shows {folder.resolve()} at {address} (Ctrl-C ends it).", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return 0  # the way to end it, not an interruption
    return 0
