"""Text in, translations out: one line for each line.

    line -> (sentences) -> token ids -> batches by length -> search over the model -> ids -> text

Shape letters: B sentences, R rows of a search step, S source length, T target length, D width, V vocabulary.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

import torch
from pydantic import ValidationError

from translator.config import Choices, DecodeConfig
from translator.decode import max_positions, score_ids, search_ids
from translator.device import choose_device
from translator.errors import ConfigError, TranslatorError
from translator.lines import read_available, split_sentences
from translator.markup import mask, mask_pair, unmask
from translator.model import Transformer
from translator.prefix import prefix_ids
from translator.search import Hypothesis
from translator.tokenizer import Tokenizer
from translator.weights import find_folder, load_weights

MIN_TOKENS_FOR_RATIO = 10  # shorter lines may well be a third as long in another language

logger = logging.getLogger("translator")


class DecodeOptions(TypedDict, total=False):
    """Fields of `config.DecodeConfig` that a call sets differently."""

    beam_size: int
    length_penalty: float
    max_length_ratio: float
    max_length_extra: int
    max_source_tokens: int
    batch_tokens: int
    split_sentences: bool


@dataclass(frozen=True)
class Alternative:
    """One translation of a line."""

    text: str
    score: float
    """Log-probability divided by the length penalty's factor; what n-best lists are ordered by."""
    log_probability: float
    """Sum over all tokens and the end of the sentence, in nats."""
    tokens: list[str]
    finished: bool
    """False when the length limit, not the model, ended it."""


@dataclass(frozen=True)
class Translation:
    """The best translation of a line, and all that were asked for, the best one first."""

    source: str
    text: str
    score: float
    log_probability: float
    tokens: list[str]
    finished: bool
    alternatives: list[Alternative]


@dataclass(frozen=True)
class Score:
    """The teacher-forced probability of a given translation."""

    log_probability: float
    """Sum over all tokens and the end of the sentence, in nats."""
    num_tokens: int
    """The end of the sentence counted."""
    tokens: list[str]
    token_log_probabilities: list[float]
    """One for each of `tokens`, and the last for the end of the sentence."""


class Translator:
    """A model with its tokenizers and decoding settings.

    `longest_source` is the number of tokens of the longest source that the model was trained on. `choices` are the
    target languages and domain tags that can be asked for; by default `target_language` is the only one. With
    `number_markup`, the model knows inline codes as numbered placeholders (`translator.markup`): those of a line are
    numbered before it is translated and restored afterwards.
    """

    def __init__(
        self,
        model: Transformer,
        src_tokenizer: Tokenizer,
        tgt_tokenizer: Tokenizer,
        *,
        decode: DecodeConfig | None = None,
        longest_source: int | None = None,
        target_language: str = "",
        choices: Choices | None = None,
        number_markup: bool = False,
    ) -> None:
        self.model = model
        self.src_tokenizer, self.tgt_tokenizer = src_tokenizer, tgt_tokenizer
        self.decode = DecodeConfig() if decode is None else decode
        self.longest_source = longest_source
        self.target_language = target_language
        self.choices = Choices.of([(target_language, None)]) if choices is None else choices
        self.number_markup = number_markup

    @staticmethod
    def load(name_or_path: str | Path, *, device: str = "auto", home: Path | None = None) -> "Translator":
        """Load a weights folder by path, or by name from `weights/` in `home`.

        `home` is by default $TRANSLATOR_HOME or the current folder.

        Raises:
            CheckpointError: something is missing, damaged, unsafe, or does not belong together.
            ConfigError: the stored configuration cannot be read, or the device is not there.
        """
        loaded = load_weights(find_folder(name_or_path, home))
        choices = loaded.config.corpus.choices
        return Translator(
            loaded.model.to(choose_device(device).torch_device).eval(),
            loaded.src_tokenizer,
            loaded.tgt_tokenizer,
            decode=loaded.config.decode,
            longest_source=loaded.longest_source,
            target_language=choices.languages[0] if len(choices.languages) == 1 else "",
            choices=choices,
            number_markup=loaded.config.corpus.markup == "number",
        )

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def prefix(self, target_language: str | None = None, tag: str | None = None) -> tuple[int, ...]:
        """Token ids before each source: none for a model of one direction without tags.

        Raises:
            ConfigError: a choice is unknown, or there are several and none was made.
        """
        return prefix_ids(self.src_tokenizer, *self.choices.choose(target_language, tag))

    # ------------------------------------------------------------------ translating

    def translate(
        self,
        lines: Sequence[str],
        *,
        target_language: str | None = None,
        tag: str | None = None,
        num_best: int = 1,
        warn: Callable[[str], None] = logger.warning,
        **options: Unpack[DecodeOptions],
    ) -> list[Translation]:
        """Translate each line, a blank one into a blank one; `options` replace settings of `decode`.

        `target_language` and `tag` (the domain) are needed where the model has several.

        `warn` is told in a sentence each about lines that were cut, ended by the length limit, are longer
        than any that the model was trained on, hold nothing that the vocabulary knows, or came out much shorter
        than their source or with fewer sentences.

        Raises:
            ConfigError: an option has an impossible value, or a choice is unknown or missing.
        """
        if isinstance(lines, str):
            raise TypeError("translate takes a list of lines, not one string")
        window = _Window(self, self._settings(num_best, options), num_best, self.prefix(target_language, tag), warn)
        translations = window.translate(lines)
        window.summarise()
        return translations

    def translate_stream(
        self,
        lines: Iterable[str],
        *,
        target_language: str | None = None,
        tag: str | None = None,
        num_best: int = 1,
        read_ahead: int = 256,
        warn: Callable[[str], None] = logger.warning,
        **options: Unpack[DecodeOptions],
    ) -> Iterator[Translation]:
        """Like `translate`, for lines that come one by one: translates those that are there, in order.

        At most `read_ahead` lines are translated together, fewer when no more have come. Only speed depends
        on that: the translations are the same. At most twice `read_ahead` lines are in memory.

        Raises:
            ConfigError: an option has an impossible value, or a choice is unknown or missing.
        """
        if read_ahead < 1:
            raise ConfigError(f"read_ahead is {read_ahead}; at least 1 line must be read.")
        window = _Window(self, self._settings(num_best, options), num_best, self.prefix(target_language, tag), warn)
        return self._stream(window, read_available(lines, read_ahead))

    @staticmethod
    def _stream(window: "_Window", groups: Iterator[list[str]]) -> Iterator[Translation]:
        for group in groups:
            yield from window.translate(group)
        window.summarise()

    def _settings(self, num_best: int, options: DecodeOptions) -> DecodeConfig:
        try:
            settings = DecodeConfig.model_validate({**self.decode.model_dump(), **options})
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}, not {one['input']!r}"
                for one in error.errors()
            )
            raise ConfigError(f"Decoding cannot work with {problems}.") from None
        if settings.beam_size > self.tgt_tokenizer.vocab_size:
            raise ConfigError(
                f"beam_size: {settings.beam_size} is above the target vocabulary of "
                f"{self.tgt_tokenizer.vocab_size} entries; choose a smaller beam."
            )
        if not 1 <= num_best <= settings.beam_size:
            raise ConfigError(
                f"num_best: {num_best} translations of a line need a beam_size of at least that many "
                f"(it is {settings.beam_size}), and at least 1 must be asked for."
            )
        return settings

    # ------------------------------------------------------------------ scoring

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        target_language: str | None = None,
        tag: str | None = None,
    ) -> list[Score]:
        """The log-probability of each target, given its source, token by token (teacher-forced, float32).

        Raises:
            ConfigError: a choice is unknown or missing.
            TranslatorError: unequal numbers of lines, or a line beyond the model's learned positions.
        """
        if len(sources) != len(targets):
            raise TranslatorError(
                f"{len(sources)} source lines cannot be scored with {len(targets)} target lines; give as many of each."
            )
        prefix = self.prefix(target_language, tag)
        pairs = [(_clean(source), _clean(target)) for source, target in zip(sources, targets, strict=True)]
        if self.number_markup:
            pairs = [mask_pair(source, target) for source, target in pairs]
        src_ids = [[*prefix, *ids] for ids in self.src_tokenizer.encode_batch([source for source, _ in pairs])]
        tgt_ids = self.tgt_tokenizer.encode_batch([target for _, target in pairs])
        if (most := max_positions(self.model)) is not None:
            for number, ids in enumerate(zip(src_ids, tgt_ids, strict=True), start=1):
                if (length := max(map(len, ids))) >= most:
                    raise TranslatorError(
                        f"Line {number} has {length} tokens, but the learned positions of this model end at "
                        f"{most - 1} (model.max_positions less one); shorten the line."
                    )
        values = score_ids(self.model, src_ids, tgt_ids, self.decode.batch_tokens)
        return [
            Score(math.fsum(one), len(one), self.tgt_tokenizer.tokens(ids), one)
            for one, ids in zip(values, tgt_ids, strict=True)
        ]


def _clean(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


class _Window:
    """Translates groups of lines with the same settings, and keeps what must be said about them."""

    def __init__(
        self,
        translator: Translator,
        settings: DecodeConfig,
        num_best: int,
        prefix: tuple[int, ...],
        warn: Callable[[str], None],
    ) -> None:
        self._translator, self._settings, self._num_best, self._warn = translator, settings, num_best, warn
        self._prefix = prefix
        self._num_lines = 0
        self._cut_short: list[int] = []  # line numbers
        self._much_shorter: list[int] = []
        self._fewer_sentences: list[int] = []
        self._all_unknown: list[int] = []
        self._said_longest = False

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """Translate the next lines."""
        translator = self._translator
        sources = [_clean(line) for line in lines]
        masked = [mask(source) if translator.number_markup else (source, ()) for source in sources]
        layouts = [self._sentences(text) for text, _ in masked]
        texts = [text for layout in layouts for text, _ in layout]
        ids = translator.src_tokenizer.encode_batch(texts)
        numbers = [self._num_lines + i for i, layout in enumerate(layouts, start=1) for _ in layout]
        ids = [self._cut(number, one) for number, one in zip(numbers, ids, strict=True)]
        self._num_lines += len(sources)
        full = [row for row, one in enumerate(ids) if one]
        inputs = [[*self._prefix, *ids[row]] for row in full]
        blocked = list(translator.tgt_tokenizer.control_ids.values())
        found = search_ids(translator.model, inputs, self._settings, self._num_best, blocked)
        hypotheses = dict(zip(full, found, strict=True))
        sentences: list[list[Alternative]] = []
        for row, number in enumerate(numbers):
            sentences.append([self._alternative(hypothesis) for hypothesis in hypotheses.get(row, [])] or [_EMPTY])
            best = sentences[-1][0]
            if not best.finished:
                self._cut_short.append(number)
            elif len(ids[row]) >= MIN_TOKENS_FOR_RATIO and 3 * len(best.tokens) < len(ids[row]):
                self._much_shorter.append(number)
            if self._lost_sentences(texts[row], ids[row], best):
                self._fewer_sentences.append(number)
            if set(ids[row]) == {translator.src_tokenizer.unk_id}:
                self._all_unknown.append(number)
        translations, start = [], 0
        for source, layout, (_, codes) in zip(sources, layouts, masked, strict=True):
            gaps = [gap for _, gap in layout]
            translation = _join(source, sentences[start : start + len(layout)], gaps)
            translations.append(_restored(translation, codes) if translator.number_markup else translation)
            start += len(layout)
        return translations

    def _sentences(self, source: str) -> list[tuple[str, str]]:
        """The parts that are translated on their own, each with the white space after it."""
        if not source.strip():
            return []
        return split_sentences(source) if self._settings.split_sentences else [(source, "")]

    def _cut(self, number: int, ids: list[int]) -> list[int]:
        limit, key = self._settings.max_source_tokens, "decode.max_source_tokens"
        most = max_positions(self._translator.model)
        if most is not None and most - 1 - len(self._prefix) < limit:
            limit, key = most - 1 - len(self._prefix), f"model.max_positions less {1 + len(self._prefix)}"
        if len(ids) > limit:
            self._warn(
                f"Line {number} has {len(ids)} tokens, more than the limit of {limit} ({key}); "
                "the rest of it is not translated."
            )
            return ids[:limit]
        longest = self._translator.longest_source
        if longest is not None and len(ids) > longest and not self._said_longest:
            self._said_longest = True
            self._warn(
                f"Line {number} has {len(ids)} tokens, more than any line this model was trained on ({longest}); "
                "parts of such lines may be lost. The option split_sentences translates sentence by sentence."
            )
        return ids

    def _lost_sentences(self, text: str, ids: list[int], best: Alternative) -> bool:
        """Whether a line, long for this model, holds several sentences and its translation fewer."""
        longest = self._translator.longest_source
        if self._settings.split_sentences or longest is None or 2 * len(ids) <= longest:
            return False
        num_sentences = len(split_sentences(text))
        return num_sentences > 1 and len(split_sentences(best.text)) < num_sentences

    def _alternative(self, hypothesis: Hypothesis) -> Alternative:
        tokenizer = self._translator.tgt_tokenizer
        return Alternative(
            tokenizer.decode(hypothesis.ids),
            hypothesis.score,
            hypothesis.log_probability,
            tokenizer.tokens(hypothesis.ids),
            hypothesis.finished,
        )

    def summarise(self) -> None:
        """Say what concerns the whole input."""
        for numbers, what in (
            (self._cut_short, "ended by the length limit (decode.max_length_ratio and max_length_extra)"),
            (
                self._fewer_sentences,
                "of lines with several sentences, of which fewer came out; --split-sentences translates each by itself",
            ),
            (self._all_unknown, "of text that is wholly unknown to the vocabulary, so they mean nothing"),
            (self._much_shorter, "less than a third as long as their source; parts may be lost"),
        ):
            if numbers:
                lines = list(map(str, sorted(set(numbers))))
                shown = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(lines[:5])}"
                more = " and others" if len(lines) > 5 else ""
                self._warn(f"{len(lines)} of {self._num_lines} translations were {what}: {shown}{more}.")


def _restored(translation: Translation, codes: Sequence[str]) -> Translation:
    """With the inline codes of the source in the place of their numbers; tokens stay as the model wrote them."""
    alternatives = [replace(one, text=unmask(one.text, codes)) for one in translation.alternatives]
    return replace(translation, text=unmask(translation.text, codes), alternatives=alternatives)


_EMPTY = Alternative("", 0.0, 0.0, [], True)


def _join(source: str, sentences: list[list[Alternative]], gaps: list[str]) -> Translation:
    """One translation from those of the sentences of a line, and the white space that lay between them.

    The n-th alternative joins the n-th of each sentence, or its last where it has fewer.
    """
    alternatives = []
    for n in range(max(map(len, sentences), default=1)):
        parts = [sentence[min(n, len(sentence) - 1)] for sentence in sentences]
        alternatives.append(
            Alternative(
                "".join(part.text + gap for part, gap in zip(parts, gaps, strict=True)),
                math.fsum(part.score for part in parts),
                math.fsum(part.log_probability for part in parts),
                [token for part in parts for token in part.tokens],
                all(part.finished for part in parts),
            )
        )
    best = alternatives[0]
    return Translation(source, best.text, best.score, best.log_probability, best.tokens, best.finished, alternatives)
