"""`evaluate`: loss and metrics of a model on pairs of files or named sets, or metrics of a given translation."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translator.commands.tables import table
from translator.commands.using import DECODE_OPTIONS, find_model, given, load_model, two_files
from translator.config import Config, load_stored_config
from translator.errors import TranslatorError

if TYPE_CHECKING:
    from datasets import Dataset

    from translator.evaluate import Evaluation

# metrics in the order they are shown in, with their titles and decimals
COLUMNS = {
    "loss": ("loss", 3),
    "perplexity": ("perplexity", 2),
    "accuracy": ("accuracy", 3),
    "bleu": ("BLEU", 2),
    "chrf": ("chrF", 2),
    "ter": ("TER", 2),
    "cer": ("CER", 4),
    "wer": ("WER", 4),
}


@dataclass(frozen=True)
class NamedSet:
    """Pairs to score, the number of rows of their files that held none, and what is asked of the model."""

    dataset: "Dataset"
    num_left_out: int = 0
    target_language: str | None = None
    tag: str | None = None


@dataclass(frozen=True)
class Result:
    """The numbers of one set, how they were computed, and what must be said about them."""

    num_lines: int
    metrics: dict[str, float]
    signatures: dict[str, str]
    settings: str
    notes: list[str]


def evaluate(args: argparse.Namespace) -> int:
    """Print the metrics of each set."""
    results = _model_on_sets(args) if args.hypotheses is None else _given_hypotheses(args)
    if args.json:
        content = {name: _as_json(result) for name, result in results.items()}
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _print(results)
    return 0


def _given_hypotheses(args: argparse.Namespace) -> dict[str, Result]:
    if len(args.words) != 1 or args.sets or args.model:
        raise TranslatorError("With --hypotheses FILE, give one file of references and no model or set.")
    hypotheses, references = two_files([str(args.hypotheses), args.words[0]])
    from translator.metrics import bleu_tokenizer, corpus_metrics, metric_notes, metric_settings

    tokenize = bleu_tokenizer(args.target_language or "")
    result = _result(
        hypotheses,
        references,
        tokenize,
        corpus_metrics(hypotheses, references, tokenize),
        metric_settings(tokenize, len(references)),
        metric_notes(hypotheses, references, tokenize),
    )
    return {args.hypotheses.name: result}


def _model_on_sets(args: argparse.Namespace) -> dict[str, Result]:
    if args.target_language:
        raise TranslatorError("--target-language goes with --hypotheses; a model knows its own.")
    folder = find_model(args.model, args.home)
    config = load_stored_config(folder)
    if args.words:
        if args.sets:
            raise TranslatorError("Give either two files or --set, not both.")
        from datasets import Dataset

        sources, references = two_files(args.words)
        pairs = Dataset.from_dict({"source": sources, "target": references})
        sets = {Path(args.words[0]).name: NamedSet(pairs, 0, *config.corpus.choices.choose(args.to, args.tag))}
    elif args.to or args.tag:
        raise TranslatorError("--to and --tag go with two files; the sets of a configuration know theirs.")
    else:
        sets = _named_sets(config, args.sets or [])
    from translator.evaluate import evaluate_set
    from translator.metrics import bleu_tokenizer

    translator = load_model(args, folder)
    results = {}
    for name, one in sets.items():
        tokenize = bleu_tokenizer(one.target_language or "")
        print(f"Translating {name}: {len(one.dataset):,} lines ...", file=sys.stderr)
        evaluation = evaluate_set(
            translator,
            one.dataset,
            label_smoothing=config.optim.label_smoothing,
            options=given(args, *DECODE_OPTIONS),  # type: ignore[arg-type]
            num_left_out=one.num_left_out,
            target_language=one.target_language,
            tag=one.tag,
        )
        if args.output is not None:
            _write(args.output, name, evaluation)
        results[name] = _result(
            evaluation.hypotheses,
            list(one.dataset["target"]),
            tokenize,
            evaluation.metrics,
            evaluation.settings,
            evaluation.notes,
        )
    return results


def _named_sets(config: Config, asked: Sequence[str]) -> dict[str, NamedSet]:
    """Validation and test sets of a stored configuration by name: all test sets when none is asked for.

    A name is `test/NAME`, `NAME`, or `test` for all test sets; `valid` likewise.
    """
    from translator import corpus as corpora

    settings = config.corpus
    if settings.split is not None:
        corpus = corpora.prepare(settings)  # the sets are part of the training files
        groups: dict[str, Mapping[str, Any]] = {"valid": corpus.valid, "test": corpus.test}
    else:
        groups = {"valid": settings.valid or {}, "test": settings.test or {}}
    places = {
        (kind if name == kind else f"{kind}/{name}"): place
        for kind, group in groups.items()
        for name, place in group.items()
    }
    if not places:
        raise TranslatorError(
            "The configuration of this model has neither test nor validation sets: give two files, SOURCE REFERENCE."
        )
    chosen: dict[str, NamedSet] = {}
    for word in asked or (["test"] if groups["test"] else ["valid"]):
        names = [name for name in places if word in (name, *name.split("/", 1))]
        if not names:
            raise TranslatorError(f"There is no set named {word} in the configuration; it has {', '.join(places)}.")
        for name in names:
            if settings.split is not None:
                chosen[name] = NamedSet(places[name], corpus.num_left_out(name), *settings.asked_of(None))
            else:  # read alone: the training files are not needed
                result = corpora.read_pairs(
                    places[name],
                    source_language=settings.source_language,
                    target_language=settings.target_language,
                    key=f"corpus.{name.replace('/', '.')}",
                    markup=settings.markup,
                )
                left_out = sum(result.skipped.values())
                chosen[name] = NamedSet(result.dataset, left_out, *settings.asked_of(places[name]))
    if not asked and not groups["test"]:
        print("The configuration has no test set; the validation sets are used.", file=sys.stderr)
    return chosen


def _result(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str,
    metrics: Mapping[str, float],
    settings: str,
    notes: list[str],
) -> Result:
    """BLEU, chrF and TER are replaced by sacrebleu's own, which come with signatures."""
    from translator.metrics import sacrebleu_metrics

    signed = sacrebleu_metrics(hypotheses, references, tokenize)
    return Result(
        num_lines=len(references),
        metrics={**metrics, **{name: score.value for name, score in signed.items()}},
        signatures={name: score.signature for name, score in signed.items()},
        settings=settings,
        notes=notes,
    )


def _write(folder: Path, name: str, evaluation: "Evaluation") -> None:
    from translator.files import write_or_tell

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name.replace('/', '.')}.txt"
    write_or_tell(file, "".join(f"{line}\n" for line in evaluation.hypotheses))
    print(f"Translations written to {file}.", file=sys.stderr)


def _as_json(result: Result) -> dict[str, object]:
    return {
        "num_lines": result.num_lines,
        **result.metrics,
        "signatures": result.signatures,
        "settings": result.settings,
        "notes": result.notes,
    }


def _print(results: Mapping[str, Result]) -> None:
    shown = [name for name in COLUMNS if any(name in result.metrics for result in results.values())]
    rows = [
        [set_name, f"{result.num_lines:,}", *(_cell(result, name) for name in shown)]
        for set_name, result in results.items()
    ]
    print(table(["set", "lines", *(COLUMNS[name][0] for name in shown)], rows))
    print()
    for name in shown:
        sets_of: dict[str, list[str]] = {}
        for set_name, result in results.items():
            if signature := result.signatures.get(name):
                sets_of.setdefault(signature, []).append(set_name)
        for signature, sets in sets_of.items():
            of = f" of {', '.join(sets)}" if len(sets_of) > 1 else ""
            print(f"{COLUMNS[name][0]}{of}: {signature}")
    print("CER, WER: edits per reference character or word, the whole set at once; they can exceed 1.")
    for set_name, result in results.items():
        for note in result.notes:
            print(f"{set_name}: {note}")


def _cell(result: Result, name: str) -> str:
    value = result.metrics.get(name)
    return "-" if value is None else f"{value:.{COLUMNS[name][1]}f}"
