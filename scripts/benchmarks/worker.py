"""The process of one contestant: `python -m scripts.benchmarks.worker SPEC`, started by `contest`.

SPEC is JSON: `task` (train, decode) and `name` (see `training` and `decoding`), and what those read. Each line of
standard input, a JSON object of arguments, is one block of work; each line of standard output is its measurement.

What loads torch is imported late: threads of ours wait as those of `translator` do, peers keep the default.
"""

import json
import sys
from typing import Any, Protocol

from translator.threads import spin_briefly


class Contestant(Protocol):
    """Something that works in blocks and says how long each took."""

    def block(self, **work: int) -> dict[str, float]: ...


def make(spec: dict[str, Any]) -> Contestant:
    """The contestant of a SPEC."""
    from scripts.benchmarks import decoding, training

    task: Contestant = {"train": training.make, "decode": decoding.make}[spec["task"]](spec)
    return task


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not come between
    spec = json.loads(sys.argv[1])
    if spec["name"] == "ours":
        spin_briefly()
    contestant = make(spec)
    from scripts.benchmarks.machine import most_memory

    print(json.dumps({"ready": 1}), file=answers, flush=True)
    for line in sys.stdin:
        answer = contestant.block(**json.loads(line))
        answer["memory"] = most_memory(spec["kind"])
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
