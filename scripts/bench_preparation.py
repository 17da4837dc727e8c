"""Pairs a second of read + clean + tokenise: this program, `datasets` alone, and OpusFilter, one after the other.

    python -m scripts.bench_preparation large.src large.tgt --cores 2 --rounds 3
    python -m scripts.bench_preparation large.src large.tgt --opusfilter /path/to/venv/bin/opusfilter

The work: lines of two files; pairs of 1 to 1000 characters, a character ratio of at most 6, at least half of the
letters Latin, no character over 10 times in a row, no exact copies; then token ids of both sides with one tokenizer,
which is trained before and not timed. OpusFilter reads and cleans only, since it makes no token ids: its figure is an
upper bound.
Each round runs all of them with empty caches, so that a change of the machine's speed meets all; the medians count.
Make the files with `python -m scripts.make_large_corpus 1000000 large --noise 0.05`.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from translator.processes import usable_cores
from translator.tokenizer import Tokenizer

LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
REPEATED = re.compile(r"(\S)\1{10}")
FILTERS = {"max_characters": 1000, "max_character_ratio": 6.0, "min_script": 0.5, "max_repeated_characters": 10}


def ours(source: Path, target: Path, tokenizer: Tokenizer, cores: int) -> int:
    """`translator.corpus.prepare` and `encode_corpus`, as a run calls them."""
    from translator.config import Config
    from translator.corpus import prepare
    from translator.encode import encode_corpus
    from translator.files import cache_folder

    files = {"source": source, "target": target}
    filters = {**FILTERS, "drop_duplicates": True}
    settings = {"source_language": "en", "target_language": "it", "train": files, "filters": filters}
    corpus = prepare(Config.model_validate({"name": "bench", "corpus": settings}).corpus)
    cache = cache_folder() / "tokens"
    return encode_corpus(corpus.train, tokenizer, tokenizer, cache=cache, num_workers=cores).num_pairs


def with_datasets(source: Path, target: Path, tokenizer: Tokenizer, cores: int) -> int:
    """The same with `datasets` alone: its text reader, `filter` and `map`."""
    import datasets

    sides = [
        datasets.load_dataset("text", data_files=str(path), split="train").rename_column("text", name)
        for name, path in (("source", source), ("target", target))
    ]
    pairs = datasets.concatenate_datasets(sides, axis=1)
    seen: set[int] = set()  # copies: `datasets` has no step for them
    pairs = pairs.filter(_passes, num_proc=cores)
    pairs = pairs.filter(lambda row: _new(seen, row))

    def encode(rows: dict[str, list[str]]) -> dict[str, Any]:
        return {f"{side}_ids": tokenizer.encode_batch(rows[side]) for side in ("source", "target")}

    return len(pairs.map(encode, batched=True, batch_size=4096, num_proc=cores, remove_columns=["source", "target"]))


def _passes(row: dict[str, str]) -> bool:
    for text, other in ((row["source"], row["target"]), (row["target"], row["source"])):
        if not 0 < len(text) <= 1000 or (len(text) > 10 and len(text) > 6 * len(other)) or REPEATED.search(text):
            return False
        num_letters = sum(map(str.isalpha, text))
        if len(LATIN.findall(text)) < 0.5 * num_letters:
            return False
    return True


def _new(seen: set[int], row: dict[str, str]) -> bool:
    key = hash((row["source"], row["target"]))
    if key in seen:
        return False
    seen.add(key)
    return True


def with_opusfilter(command: str, source: Path, target: Path, cores: int, folder: Path) -> int:
    """OpusFilter's filters of the same names; pairs that are left."""
    filters = [
        {"LengthFilter": {"unit": "char", "min_length": 1, "max_length": 1000}},
        {"LengthRatioFilter": {"unit": "char", "threshold": 6}},
        {"CharacterScoreFilter": {"scripts": ["Latin", "Latin"], "thresholds": [0.5, 0.5]}},
        {"RepetitionFilter": {"threshold": 10, "min_length": 1, "max_length": 1}},
    ]
    names = {"inputs": [str(source), str(target)], "outputs": ["kept.src", "kept.tgt"]}
    steps = [
        {"type": "remove_duplicates", "parameters": {**names, "outputs": ["once.src", "once.tgt"]}},
        {"type": "filter", "parameters": {**names, "inputs": ["once.src", "once.tgt"], "filters": filters}},
    ]
    config = {"common": {"output_directory": str(folder), "default_n_jobs": cores}, "steps": steps}
    (folder / "config.yaml").write_text(json.dumps(config))
    subprocess.run([command, str(folder / "config.yaml")], check=True, capture_output=True)
    with (folder / "kept.src").open("rb") as file:
        return sum(1 for _ in file)


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    started = time.monotonic()
    num_kept = work()
    return time.monotonic() - started, num_kept


def _in_own_process(name: str, args: argparse.Namespace, tokenizer: Path) -> tuple[float, int]:
    """Time one of ours and datasets in a process with empty caches."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "TRANSLATOR_CACHE": cache,
            "HF_HOME": cache,
            "HF_DATASETS_CACHE": f"{cache}/datasets",
        }
        words = ["--one", name, "--tokenizer", str(tokenizer), "--cores", str(args.cores)]
        command = [sys.executable, "-m", "scripts.bench_preparation", str(args.source), str(args.target), *words]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    seconds, kept = json.loads(done.stdout.splitlines()[-1])
    return seconds, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--cores", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--opusfilter", metavar="COMMAND", help="its command, from an environment of its own")
    parser.add_argument("--one", choices=["ours", "datasets"], help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cores])  # for all that it starts, too
        work = ours if args.one == "ours" else with_datasets
        tokenizer = Tokenizer.load(args.tokenizer)
        print(json.dumps(_timed(lambda: work(args.source, args.target, tokenizer, args.cores))))
        return
    with args.source.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line, _ in zip(file, range(100_000), strict=False)]
    with args.source.open("rb") as file:
        num_pairs = sum(1 for _ in file)
    results: dict[str, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Tokenizer.train(lines, vocab_size=8000).save(folder / "tokenizer.json")
        for _ in range(args.rounds):
            for one in ("ours", "datasets"):
                results.setdefault(one, []).append(_in_own_process(one, args, folder / "tokenizer.json"))
            if args.opusfilter:
                with tempfile.TemporaryDirectory() as out:
                    results.setdefault("opusfilter", []).append(
                        _timed(
                            lambda out=out: with_opusfilter(
                                args.opusfilter, args.source, args.target, args.cores, Path(out)
                            )
                        )
                    )
    print(f"{num_pairs:,} pairs, {args.cores} cores, {args.rounds} rounds")
    for one, timed in results.items():
        seconds = statistics.median(seconds for seconds, _ in timed)
        speed = num_pairs / seconds
        print(
            f"{one:10}  {seconds:8.1f} s  {speed:10,.0f} pairs/s  {speed / args.cores:10,.0f} a core  "
            f"{timed[0][1]:,} kept"
        )


if __name__ == "__main__":
    main()
