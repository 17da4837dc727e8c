"""`scripts/bench`: what can be typed.

What loads torch is imported late, after the threads of this process have been told to wait as those of `translator` do.
"""

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path

from translator.errors import TranslatorError
from translator.files import write_atomic
from translator.threads import spin_briefly

MEASUREMENTS = {
    "train": "the training step beside the machine's peak, its own matrix products and other libraries",
    "decode": "greedy and beam search beside `generate` of transformers, and cost against length",
    "startup": "commands beside the imports that they cannot do without",
    "data": "reading, tokenising and planning beside the speed of training",
    "scaling": "speed and memory against every size",
    "experiments": "choices of the training step, each beside what it replaced or what was left out",
    "numerics": "the loss curve of 16 bits beside that of three seeds in float32",
    "guard": "a quick check that training and decoding have not become slow (for continuous integration)",
}


def make_parser() -> argparse.ArgumentParser:
    """One command for each measurement, with the options that all share."""
    from translator.device import DTYPES

    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--device", choices=["auto", "cpu", "cuda", "mps"], default="auto")
    shared.add_argument("--precision", choices=["auto", *DTYPES], default="auto")
    shared.add_argument("--threads", type=int, help="threads on a CPU (default: every usable core)")
    shared.add_argument("--json", type=Path, metavar="FILE", help="also write every figure to this file")
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure this machine and this program.")
    commands = parser.add_subparsers(dest="measurement", required=True)
    for name, purpose in MEASUREMENTS.items():
        command = commands.add_parser(name, help=purpose, description=purpose, parents=[shared])
        importlib.import_module(f"scripts.benchmarks.{name}").add_options(command)
    return parser


def main(words: list[str] | None = None) -> int:
    spin_briefly()
    from scripts.benchmarks.machine import describe_machine, peak_rates
    from translator.device import apply, choose_device

    args = make_parser().parse_args(words)
    try:
        device = choose_device(args.device, args.precision, args.threads or "auto")
        machine = describe_machine(device)
        print("\n".join(machine.lines()))
        apply(device)
        peaks = peak_rates(device)
        for name, rate in peaks.items():
            print(f"Peak of this machine, torch.mm, {name}: {rate / 1e9:,.1f} GFLOP/s")
        with tempfile.TemporaryDirectory(prefix="translator-bench-") as folder:
            measure = importlib.import_module(f"scripts.benchmarks.{args.measurement}").run
            result = measure(args, device, Path(folder))
    except TranslatorError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json is not None:
        head = {"measurement": args.measurement, "machine": machine.to_json(), "peak_flop_per_second": peaks}
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(args.json, json.dumps({**head, **result}, indent=1) + "\n")
    return int(result.get("status", 0))


if __name__ == "__main__":
    sys.exit(main())
