"""`startup`: how long commands take beside the imports that they cannot do without, each in a new process."""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scripts.benchmarks import ENVIRONMENT
from scripts.benchmarks.contest import ROOT
from scripts.benchmarks.corpus import draw_lengths, load_data, write_corpus
from scripts.benchmarks.settings import SETTINGS, write_config
from translator.config import dump_config
from translator.device import Device
from translator.errors import TranslatorError
from translator.files import write_atomic
from translator.model import Transformer
from translator.weights import save_tokenizers, save_weights

COMMAND = [sys.executable, "-m", "translator"]
NUM_PAIRS = 3_000
FIRST_STEP = "step 1/"  # how the log begins the line of the first step


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--rounds", type=int, default=7, help="starts of each command (default: 7)")
    parser.add_argument("--setting", choices=SETTINGS, default="reference", help="size of the larger weights")


def python(code: str) -> list[str]:
    """The command that runs a line of Python."""
    return [sys.executable, "-c", code]


def make_weights(folder: Path, name: str) -> Path:
    """A weights folder of this setting with random weights: nothing has been learned, all has to be loaded.

    A translation has at most two tokens for each of the source, as of trained weights, which end by themselves.
    """
    setting = SETTINGS[name]
    (home := folder / f"weights-of-{name}").mkdir()
    files = write_corpus(home, draw_lengths(NUM_PAIRS), 3000)
    write_config(home, setting, files, threads=torch.get_num_threads())
    config, data = load_data(home, "decode.max_length_ratio=2", "decode.max_length_extra=0")
    size = data.src_tokenizer.vocab_size
    torch.manual_seed(1)
    model = Transformer(size, size, **config.model.model_dump())
    save_tokenizers(home, data.src_tokenizer, data.tgt_tokenizer)
    save_weights(
        home,
        dict(model.named_parameters()),
        step=1,
        src_tokenizer=data.src_tokenizer,
        tgt_tokenizer=data.tgt_tokenizer,
        longest_source=data.longest_source,
    )
    write_atomic(home / "config.yaml", dump_config(config))
    return home


def time_commands(
    commands: Mapping[str, Sequence[str]], rounds: int, folder: Path, threads: int, until: str | None = None
) -> dict[str, list[float]]:
    """Seconds of each command, by turns, after a start that warms the file cache.

    `until` ends a command (and its time) at the first line of standard error that begins with it, where it appears.
    """
    environment = ENVIRONMENT | {
        "PYTHONPATH": str(ROOT),
        "TRANSLATOR_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": str(threads),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            seconds = _time(command, folder, environment, until)
            if number:
                times[name].append(seconds)
    return times


def _time(command: Sequence[str], folder: Path, environment: Mapping[str, str], until: str | None) -> float:
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    reached, lines = None, []
    for line in process.stderr:
        lines.append(line)
        if until is not None and reached is None and line.startswith(until):
            reached = time.perf_counter()
            process.kill()
    status = process.wait()
    ended = time.perf_counter()
    if status != 0 and reached is None:
        raise TranslatorError(f"{' '.join(command)} failed: {(lines or ['without a word'])[-1].strip()}")
    return (reached or ended) - started


def _show(title: str, reference: str, times: Mapping[str, Sequence[float]], result: dict[str, Any]) -> None:
    print(f"\n{title}")
    for name, values in times.items():
        ratios = [value / other for value, other in zip(values, times[reference], strict=True)]
        seconds, ratio = statistics.median(values), statistics.median(ratios)
        print(f"  {name:52} {seconds:7.3f} s   {ratio:5.2f} ({min(ratios):.2f}-{max(ratios):.2f}) of the first")
        result[name] = {"seconds": seconds, "ratio": ratio, "range": [min(ratios), max(ratios)], "reference": reference}


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    result: dict[str, Any] = {}
    reference = "import torch, tokenizers"
    commands = {reference: python(reference)}
    for name in dict.fromkeys(["tiny", args.setting]):
        weights = make_weights(folder, name)
        commands[f"translate, weights of the size {name}"] = [
            *COMMAND, "translate", "--model", str(weights), "A dog runs.",
        ]  # fmt: skip
    _show("Translating a sentence", reference, time_commands(commands, args.rounds, folder, device.threads), result)

    reference = "import torch"
    commands = {reference: python(reference), "--version": [*COMMAND, "--version"], "--help": [*COMMAND, "--help"]}
    _show(
        "Commands that answer at once", reference, time_commands(commands, args.rounds, folder, device.threads), result
    )

    reference = "import torch, datasets"
    files = write_corpus(folder, draw_lengths(29_000), SETTINGS[args.setting].vocab_size)
    file = write_config(folder, SETTINGS[args.setting], files, kind=device.torch_device.type, threads=device.threads)
    train = [*COMMAND, "train", str(file), "--restart", "train.log_every=1"]
    commands = {reference: python(reference), "train, second start, to its first step": train}
    times = time_commands(commands, args.rounds, folder, device.threads, until=FIRST_STEP)
    title = "Training again on a known corpus, until its first step is done (validation before the first step aside)"
    _show(title, reference, times, result)
    return result
