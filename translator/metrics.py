"""Corpus metrics of translations: BLEU, chrF, character and word error rate, and sacrebleu's own with
signatures.

Scales: `bleu`, `chrf` and `ter` run from 0 to 100; `cer` and `wer` are ratios (edits per reference character
or word), so they can exceed 1. All compare detokenised text with the untouched reference lines, one reference
a line. A metric without a meaning (an error rate when the references are empty) is left out: no NaN, no
infinity. Both sides are taken in Unicode NFC, in which the model writes: `e` with a combining accent is the letter
with the accent.

BLEU, CER and WER are counted by torchmetrics, CER with a quicker edit distance. chrF is sacrebleu's in both
uses: torchmetrics needs 40 times as long (20 s for 1,000 lines) and averages in another order. torchmetrics
and sacrebleu are imported where they are used, because together they take a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from unicodedata import normalize

_WITHOUT_SPACES = {"th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "ja", "jpn"}
_CHINESE = {"zh", "zho", "cmn", "yue", "wuu", "lzh"}


@dataclass(frozen=True)
class SignedScore:
    """A number of sacrebleu and the signature that says how it was computed."""

    value: float
    signature: str


def bleu_tokenizer(target_language: str) -> str:
    """The tokenisation that BLEU needs: its own for Chinese, characters where words are not spaced."""
    language = target_language.replace("_", "-").split("-")[0].lower()
    if language in _CHINESE:
        return "zh"
    return "char" if language in _WITHOUT_SPACES else "13a"


def metric_settings(tokenize: str = "13a", num_lines: int | None = None, num_left_out: int = 0) -> str:
    """The settings of `corpus_metrics` in one line, to be written beside its numbers, with the lines they are of."""
    whole = f" of {num_lines + num_left_out:,}" if num_lines is not None and num_left_out else ""
    lines = "" if num_lines is None else f"{num_lines:,}{whole} lines; "
    return (
        f"{lines}bleu: 0-100, torchmetrics {version('torchmetrics')}, tok {tokenize}, mixed case, smooth exp; "
        f"chrf: 0-100, chrF2 of sacrebleu {version('sacrebleu')}, 6 characters, 0 words; "
        "cer, wer: edits per reference character or word, the whole set at once; both sides in Unicode NFC"
    )


def corpus_metrics(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> dict[str, float]:
    """`bleu`, `chrf`, `cer` and `wer` of a set of lines with one reference each.

    BLEU (Papineni et al. 2002) equals sacrebleu's default: exponential smoothing where an n-gram order has no
    match. Where no reference has four words it means nothing; `bleu_effective_order` (of the orders that
    occur) comes with it then.

    Raises:
        ValueError: unequal numbers of lines, or references nested in lists.
    """
    hypotheses, references = _checked(hypotheses, references)
    if not any(reference.strip() for reference in references):
        return {"cer": 0.0, "wer": 0.0} if references and not any(h.strip() for h in hypotheses) else {}
    from sacrebleu.metrics.chrf import CHRF
    from torchmetrics.text import WordErrorRate

    metrics = _bleu(hypotheses, references, tokenize)
    metrics["chrf"] = CHRF().corpus_score(hypotheses, [references]).score
    for name, error_rate in (("cer", _character_error_rate()), ("wer", WordErrorRate())):
        error_rate.update(hypotheses, references)
        metrics[name] = error_rate.compute().item()
    return metrics


def _bleu(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> dict[str, float]:
    from sacrebleu.metrics.bleu import BLEU
    from torchmetrics.text import SacreBLEUScore

    counts: Any = SacreBLEUScore(tokenize=tokenize)  # type: ignore[arg-type]  # the library checks the name
    counts.update(list(hypotheses), [[reference] for reference in references])
    matches, totals = counts.numerator.long().tolist(), counts.denominator.long().tolist()
    if all(matches):
        return {"bleu": 100.0 * counts.compute().item()}
    # torchmetrics gives 0 where an n-gram order has no match, sacrebleu smooths: its formula on the same
    # counts.
    lengths = int(counts.preds_len), int(counts.target_len)
    scores = {"bleu": BLEU.compute_bleu(matches, totals, *lengths, smooth_method="exp").score}
    if not has_four_grams(references, tokenize):
        scores["bleu_effective_order"] = BLEU.compute_bleu(
            matches, totals, *lengths, smooth_method="exp", effective_order=True
        ).score
    return scores


def has_four_grams(references: Sequence[str], tokenize: str = "13a") -> bool:
    """Whether any reference has the four words without which BLEU is 0 whatever the translation."""
    from torchmetrics.functional.text.sacre_bleu import _SacreBLEUTokenizer

    tokenizer = _SacreBLEUTokenizer(tokenize)  # type: ignore[arg-type]
    return any(len(tokenizer(reference)) >= 4 for reference in references if reference)


def _character_error_rate() -> Any:
    from torchmetrics.text import CharErrorRate

    class QuickCharErrorRate(CharErrorRate):
        """torchmetrics' metric with `edit_distance`, 30 times as fast as its nested loops in Python."""

        def update(self, preds: list[str], target: list[str]) -> None:  # type: ignore[override]
            self.errors += sum(map(edit_distance, preds, target))
            self.total += sum(map(len, target))

    return QuickCharErrorRate()


def edit_distance(first: str, second: str) -> int:
    """Levenshtein distance of two strings in characters.

    A column of the table is one integer of differences, one bit a row (Myers 1999, section 3, in the form of
    Hyyro 2001 for the whole distance), so that each character of `second` costs a handful of operations.
    """
    if not first:
        return len(second)
    matches: dict[str, int] = {}
    for row, character in enumerate(first):
        matches[character] = matches.get(character, 0) | 1 << row
    every, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    plus, minus, distance = every, 0, len(first)  # vertical differences of +1 and of -1
    for character in second:
        equal = matches.get(character, 0)
        diagonal = (((equal & plus) + plus) ^ plus) | equal | minus
        rises = minus | (every & ~(diagonal | plus))
        falls = plus & diagonal
        distance += bool(rises & last) - bool(falls & last)
        rises, falls = rises << 1 | 1, falls << 1
        plus = every & (falls | ~((equal | minus) | rises))
        minus = every & rises & (equal | minus)
    return distance


def metric_notes(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> list[str]:
    """What a reader of the numbers of `corpus_metrics` must know about this set, one sentence each."""
    hypotheses, references = _checked(hypotheses, references)
    empty = sum(not reference.strip() for reference in references)
    if empty == len(references):
        return ["No reference holds any text: BLEU, chrF, CER and WER are undefined."]
    notes = []
    if empty:
        notes.append(f"{empty} of {len(references)} references are empty; text for them counts as errors.")
    if not has_four_grams(references, tokenize):
        scores = _bleu(hypotheses, references, tokenize)
        notes.append(
            f"BLEU is {scores['bleu']:.2f} because no reference has four words, whatever the translation; "
            f"effective-order BLEU is {scores['bleu_effective_order']:.2f}; look at chrF and CER instead."
        )
    blank = sum(not hypothesis.strip() for hypothesis in hypotheses)
    if blank:
        notes.append(f"{blank} of {len(hypotheses)} translations are empty.")
    return notes


def sacrebleu_metrics(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> dict[str, SignedScore]:
    """`bleu`, `chrf` and `ter` by sacrebleu itself, each with its signature, for numbers that are published.

    TER marks off characters where BLEU does (Chinese, and languages without spaces). Empty when no reference
    holds text.

    Raises:
        ValueError: unequal numbers of lines, or references nested in lists.
    """
    hypotheses, references = _checked(hypotheses, references)
    if not any(reference.strip() for reference in references):
        return {}
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    by_character = tokenize in ("zh", "char")
    metrics: dict[str, Any] = {
        "bleu": BLEU(tokenize=tokenize),
        "chrf": CHRF(),
        "ter": TER(normalized=by_character, asian_support=by_character),
    }
    scores = {}
    for name, metric in metrics.items():
        value = metric.corpus_score(hypotheses, [references]).score
        scores[name] = SignedScore(value, str(metric.get_signature()))
    return scores


def _checked(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both as lists of lines in NFC.

    Wrong nesting gives wrong numbers without an error in every library, so it is refused here.
    """
    for name, lines in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise ValueError(f"{name} must be a list with one string for each line")
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses cannot be compared with {len(references)} references")
    return [normalize("NFC", line) for line in hypotheses], [normalize("NFC", line) for line in references]
