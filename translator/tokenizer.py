"""Text to token ids and back: train, save, load, encode, decode.

Every kind normalises first: lower case if asked, Unicode NFC, each run of blanks, tabs and line separators
folded to one space, ends trimmed. Subwords and words mark the start of a word with U+2581 in place of the space,
and each punctuation mark stands alone, so that spaces can be restored exactly; a U+2581 in the text itself
becomes `_`. `decode(encode(text))` is the normalised text wherever nothing is unknown.

- bpe (Sennrich et al. 2016, section 3.2) and unigram (Kudo 2018, section 3): with a token for each of the 256
  bytes, so that nothing is ever unknown. The rarest characters are left to the bytes.
- word: what stands between spaces and punctuation marks, and each mark.
- character: each code point is a token, the space too.

The four special tokens, and those that say language and domain (`prefix`), are entries of the vocabulary but are
never recognised inside text: what looks like one, or like a byte token, is cut at its brackets as any other text.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import models, normalizers, pre_tokenizers, trainers

from translator.errors import CheckpointError, ConfigError
from translator.files import write_or_tell
from translator.tokenizer_form import (
    BYTE_TOKENS,
    MARKER,
    SPECIAL_TOKENS,
    UNK_ID,
    assemble,
    check_form,
    kind_of,
    make_model,
    normalizer,
    pre_tokenizer,
)
from translator.word_ids import WordIds, packed

CONTROL_TOKEN = re.compile(r"<(2|domain:)[A-Za-z0-9][A-Za-z0-9_-]*>")
"""Form of the tokens that stand before a source; no entry that is learned from text holds a bracket and more."""

KINDS = ("bpe", "unigram", "word", "character")

# Characters outside the most frequent 99.99 % of the text are spelt in bytes (the idea of SentencePiece's
# character coverage): each would take an entry and hardly ever be seen in training.
_CHARACTER_COVERAGE = 0.9999
# At most this share of the learned pieces may be single characters, so that there is room to merge them.
_ALPHABET_SHARE = 0.75
LEARNED_BY = f"1, tokenizers {tokenizers.__version__}"
"""What decides a vocabulary beside text and settings: raise the number when learning changes."""

# Subwords hardly change beyond this many pairs; a larger corpus is sampled evenly to save time.
MAX_TRAINING_PAIRS = 1_000_000
_LINE_BREAKS = re.compile("[\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")
_BATCH_LINES = 1000
_MAX_FILE_BYTES = 128 << 20  # a vocabulary of a million entries takes a quarter of it


class TokenizerSettings(Protocol):
    """What training needs to know; `config.tokenizer` has these fields."""

    @property
    def kind(self) -> str: ...
    @property
    def vocab_size(self) -> int | str: ...
    @property
    def shared(self) -> bool: ...
    @property
    def min_frequency(self) -> int: ...
    @property
    def split_digits(self) -> bool: ...
    @property
    def lowercase(self) -> bool: ...


class PairTable(Protocol):
    """The part of `datasets.Dataset` that is used here: columns `source` and `target`, read in pieces, or some rows."""

    def __len__(self) -> int: ...
    def iter(self, batch_size: int) -> Iterator[Any]: ...
    def select(self, indices: Iterable[int]) -> Self: ...


class Tokenizer:
    """A trained tokenizer. Token ids are without special tokens on the way in and out."""

    pad_id, bos_id, eos_id, unk_id = range(4)

    def __init__(
        self,
        inner: tokenizers.Tokenizer,
        *,
        asked_vocab_size: int | None = None,
        num_rare_characters: int | None = None,
    ) -> None:
        # Should a caller add special tokens to the inner tokenizer, they must not be found in text either.
        inner.encode_special_tokens = True
        self._inner = inner
        # Known after training only; the second is that of `train`.
        self.asked_vocab_size, self.num_rare_characters = asked_vocab_size, num_rare_characters
        description = json.loads(inner.to_str())
        canonical = json.dumps(description, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        self.fingerprint: str = hashlib.sha256(canonical.encode()).hexdigest()
        self.kind: str = kind_of(description)
        self.vocab_size: int = inner.get_vocab_size()
        named = ((token, i) for token, i in inner.get_vocab().items() if CONTROL_TOKEN.fullmatch(token))
        self.control_ids: dict[str, int] = dict(sorted(named, key=lambda entry: entry[1]))
        self._words = WordIds(inner)
        self._left_out = {self.pad_id, self.bos_id, self.eos_id, *self.control_ids.values()}

    @staticmethod
    def train(
        lines: Iterable[str],
        *,
        kind: str = "bpe",
        vocab_size: int = 8000,
        min_frequency: int = 1,
        split_digits: bool = False,
        lowercase: bool = False,
        control_tokens: Sequence[str] = (),
    ) -> "Tokenizer":
        """Learn a vocabulary of at most `vocab_size` entries, special, control and byte tokens included.

        `control_tokens` (of the form CONTROL_TOKEN) get the entries after the special ones.
        `lines` is read twice (a one-shot iterator is kept in memory for that). The same lines give the same
        tokenizer.
        `num_rare_characters` of the result counts the distinct characters of `lines` that got no entry: they are
        spelt in bytes, or unknown for the kind `character`; None for `word`.

        Raises:
            ConfigError: the size leaves no room for the tokens that must be there, or the kind is unknown.
        """
        if kind not in KINDS:
            raise ConfigError(f"tokenizer.kind is {kind!r}; choose one of {', '.join(KINDS)}")
        assert all(map(CONTROL_TOKEN.fullmatch, control_tokens))
        spelt_in_bytes = kind in ("bpe", "unigram")
        fixed = [*SPECIAL_TOKENS, *control_tokens, *(BYTE_TOKENS if spelt_in_bytes else ())]
        base = len(fixed)
        room = vocab_size - base
        if room < 16:
            raise ConfigError(
                f"tokenizer.vocab_size is {vocab_size}, but the kind {kind} needs {base} entries for special"
                f"{' and byte' if spelt_in_bytes else ''} tokens and at least 16 to learn: "
                f"ask for {base + 16} or more"
            )
        if iter(lines) is lines:
            lines = list(lines)
        normal = normalizer(lowercase=lowercase, marked=kind != "character")
        cutter = pre_tokenizer(split_digits=split_digits)
        num_rare = None
        if kind == "word":
            model: Any = _learn(kind, _normalised(lines, normal), cutter, room, min_frequency, fixed)
        else:
            counts = _count_characters(_normalised(lines, normal))
            if kind == "character":
                kept = [c for c in _by_frequency(counts) if counts[c] >= min_frequency][:room]
                num_rare = len(counts) - len(kept)
                # Subwords without a merge: each character by itself, an unknown one as one unknown token.
                model = make_model(kind, [*fixed, *kept])
            else:
                rare = _rare_characters(counts, room)
                num_rare = len(rare)
                # A blank in place of a rare character keeps pieces from growing across it.
                text = (line.translate(rare) for line in _normalised(lines, normal))
                model = _learn(kind, text, cutter, room, min_frequency, fixed)
        inner = assemble(kind, model, lowercase=lowercase, split_digits=split_digits)
        return Tokenizer(inner, asked_vocab_size=vocab_size, num_rare_characters=num_rare)

    @staticmethod
    def load(path: Path) -> "Tokenizer":
        """Read a file written by `save`.

        Raises:
            CheckpointError: the file is missing, damaged, or not made by this program.
        """
        try:
            with path.open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
            if len(content) > _MAX_FILE_BYTES:
                raise ValueError(f"it is larger than {_MAX_FILE_BYTES >> 20} MB")
            return Tokenizer._from_json(content.decode("utf-8"))
        except OSError as error:
            raise CheckpointError(f"{path}: the tokenizer cannot be read ({error.strerror})") from error
        except Exception as error:  # the library raises bare Exception for a malformed file
            raise CheckpointError(
                f"{path}: this is not a whole tokenizer file of this program ({error}); "
                "copy it again from the weights folder it belongs to"
            ) from error

    @staticmethod
    def _from_json(text: str) -> "Tokenizer":
        inner = tokenizers.Tokenizer.from_str(text)
        check_form(json.loads(inner.to_str()))
        return Tokenizer(inner)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer._from_json, (self._inner.to_str(),)

    def save(self, path: Path) -> None:
        """Write the tokenizer to `path` in the JSON form of the `tokenizers` library."""
        write_or_tell(path, self._inner.to_str(pretty=True) + "\n")

    def description(self) -> dict[str, Any]:
        """The content of the tokenizer file."""
        description: dict[str, Any] = json.loads(self._inner.to_str())
        return description

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, without special tokens."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, without special tokens."""
        ids, offsets = self.encode_flat(texts)
        all_ids = ids.tolist()
        return [all_ids[start:end] for start, end in pairwise(offsets.tolist())]

    def encode_flat(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Token ids of all texts in one array, without special tokens, and where each text begins (and the last ends).

        Those of words are looked up (`word_ids`); texts that are not cut into words are encoded by all cores.
        """
        texts = [_well_formed(text) for text in texts]
        found = [None if self.kind == "character" else self._words.of(text) for text in texts]
        whole = [text for text, ids in zip(texts, found, strict=True) if ids is None]
        encoded = (packed(encoding.ids) for encoding in self._inner.encode_batch_fast(whole))
        parts = [next(encoded) if ids is None else ids for ids in found]
        ids = np.frombuffer(b"".join(parts), np.uint32)
        return ids, np.cumsum([0, *map(len, parts)], dtype=np.int64) // ids.itemsize

    def encode_words(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """For each text its token ids, and for each token the number of its word (pre-token)."""
        # The fast variant of the library does not keep the word numbers.
        encodings = self._inner.encode_batch([_well_formed(text) for text in texts])
        return [(encoding.ids, [word or 0 for word in encoding.word_ids]) for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """One line of text. Control tokens, pad, bos and eos are left out; an unknown token is shown as `<unk>`."""
        tokens = self.tokens([i for i in ids if i not in self._left_out])
        if self.kind == "word":  # the unknown word has swallowed the marker before it
            tokens = [MARKER + token if token == SPECIAL_TOKENS[self.unk_id] else token for token in tokens]
        text: str = self._inner.decoder.decode(tokens) if tokens else ""
        # Byte tokens can spell a line break, which training text never holds; one line must stay one line.
        return _LINE_BREAKS.sub(" ", text)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary entry of each id, special tokens included."""
        tokens = []
        for i in ids:
            token = self._inner.id_to_token(int(i))
            if token is None:
                raise ValueError(f"token id {i} is outside the vocabulary of {self.vocab_size}")
            tokens.append(token)
        return tokens

    def normalise(self, text: str) -> str:
        """`text` as the tokenizer sees it, before it is cut: what `decode(encode(text))` gives back."""
        return next(_normalised([text], self._inner.normalizer))

    def unknown_rate(self, lines: Iterable[str]) -> float:
        """Share of the tokens of `lines` that are unknown, 0 to 1 (0 for no tokens)."""
        num_tokens = num_unknown = 0
        for batch in _batched(lines):
            for ids in self.encode_batch(batch):
                num_tokens += len(ids)
                num_unknown += ids.count(self.unk_id)
        return num_unknown / max(num_tokens, 1)


def auto_vocab_size(num_pairs: int, kind: str) -> int:
    """Vocabulary size for a corpus of `num_pairs` pairs.

    Little data want few entries, each seen often enough to be learned (Gowda and May 2020). The size grows
    with the square root of the corpus, about as the number of word forms does (Heaps' law); 8,000 at 29,000
    pairs is a rule of thumb for short sentences, not a measured optimum. For characters it is a ceiling, which
    most alphabets stay far under.
    """
    if kind == "character":
        return 4000
    scale, low, high = (16000, 2000, 64000) if kind == "word" else (8000, 1000, 32000)
    size = scale * (num_pairs / 29000) ** 0.5
    return int(min(max(round(size / 8) * 8, low), high))


def train_tokenizers(
    pairs: PairTable, settings: TokenizerSettings, control_tokens: Sequence[str] = ()
) -> tuple[Tokenizer, Tokenizer]:
    """Source and target tokenizer for the training pairs; one and the same object when shared.

    The source's vocabulary gets the `control_tokens`.
    """
    if isinstance(settings.vocab_size, int):
        vocab_size = settings.vocab_size
    else:
        vocab_size = auto_vocab_size(len(pairs), settings.kind)
    if len(pairs) > MAX_TRAINING_PAIRS:
        pairs = pairs.select(range(0, len(pairs), -(-len(pairs) // MAX_TRAINING_PAIRS)))

    def train(*columns: str, control_tokens: Sequence[str] = ()) -> Tokenizer:
        return Tokenizer.train(
            _ColumnLines(pairs, columns),
            kind=settings.kind,
            vocab_size=vocab_size,
            min_frequency=settings.min_frequency,
            split_digits=settings.split_digits,
            lowercase=settings.lowercase,
            control_tokens=control_tokens,
        )

    if settings.shared:
        both = train("source", "target", control_tokens=control_tokens)
        return both, both
    return train("source", control_tokens=control_tokens), train("target")


class _ColumnLines:
    """The texts of some columns, read in pieces and as often as needed."""

    def __init__(self, pairs: PairTable, columns: tuple[str, ...]) -> None:
        self._pairs, self._columns = pairs, columns

    def __iter__(self) -> Iterator[str]:
        for batch in self._pairs.iter(_BATCH_LINES):
            for column in self._columns:
                yield from batch[column]


def _train_raw(
    model: Any, trainer: Any, lines: Iterable[str], pre_tokenizer: pre_tokenizers.PreTokenizer
) -> dict[str, Any]:
    """Train a bare model on normalised lines and return its description."""
    raw = tokenizers.Tokenizer(model)
    raw.pre_tokenizer = pre_tokenizer
    raw.train_from_iterator(lines, trainer)
    description: dict[str, Any] = json.loads(raw.to_str())["model"]
    return description


def _learn(
    kind: str,
    lines: Iterable[str],
    pre_tokenizer: pre_tokenizers.PreTokenizer,
    room: int,
    min_frequency: int,
    fixed: Sequence[str],
) -> Any:
    """A model of words or subwords: the `fixed` entries, then at most `room` that normalised lines teach."""
    if kind == "unigram":
        unknown = SPECIAL_TOKENS[UNK_ID]
        trainer: Any = trainers.UnigramTrainer(
            vocab_size=room + 1, show_progress=False, special_tokens=[unknown], unk_token=unknown
        )
        raw = _train_raw(models.Unigram(), trainer, lines, pre_tokenizer)
        pieces = _settle([(piece, score) for piece, score in raw["vocab"] if piece != unknown])
        # Special, control and byte tokens hold brackets, which are cut from what is between them: no text matches.
        lowest = min((score for _, score in pieces), default=0.0) - 10
        return make_model(kind, [*((token, lowest) for token in fixed), *pieces])
    model, make_trainer = (
        (models.WordLevel(), trainers.WordLevelTrainer) if kind == "word" else (models.BPE(), trainers.BpeTrainer)
    )
    trainer = make_trainer(vocab_size=room, min_frequency=min_frequency, show_progress=False)
    raw = _train_raw(model, trainer, lines, pre_tokenizer)
    learned = sorted(raw["vocab"], key=raw["vocab"].__getitem__)
    return make_model(kind, [*fixed, *learned], [(left, right) for left, right in raw.get("merges", [])])


def _settle(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The same pieces and scores for the same text, whatever order the library's hash tables had.

    That order decides the order of the sums, so scores differ in the 15th digit: four decimals are kept, beyond what
    a score means. It decides, too, which of the characters that lost their own score gets which step of a ladder that
    begins at the lowest score and rises by 0.0001: the steps are dealt out anew, by code point.
    """
    characters = sorted((score, piece) for piece, score in pieces if len(piece) == 1)
    num_steps = 1
    while num_steps < len(characters) and characters[num_steps][0] - characters[num_steps - 1][0] < 1.5e-4:
        num_steps += 1
    ladder = characters[:num_steps]
    dealt = zip(sorted(piece for _, piece in ladder), (score for score, _ in ladder), strict=True)
    settled = {**dict(pieces), **dict(dealt)}
    rounded = [(piece, round(score, 4)) for piece, score in settled.items()]
    return sorted(rounded, key=lambda item: (-item[1], item[0]))


def _count_characters(lines: Iterable[str]) -> Counter[str]:
    return sum((Counter("".join(batch)) for batch in _batched(lines)), Counter())


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda character: (-counts[character], character))


def _rare_characters(counts: Counter[str], room: int) -> dict[int, str]:
    """Translation table (code point to blank) of the characters that get no entry of their own."""
    ordered = [character for character in _by_frequency(counts) if character != " "]
    total, seen, kept = counts.total() - counts[" "], 0, 0
    limit = max(int(room * _ALPHABET_SHARE), 1) - 1  # one entry is the marker's
    while kept < min(limit, len(ordered)) and seen <= _CHARACTER_COVERAGE * total:
        seen += counts[ordered[kept]]
        kept += 1
    return {ord(character): " " for character in ordered[kept:]}


def _normalised(lines: Iterable[str], normalizer: normalizers.Normalizer) -> Iterator[str]:
    for line in lines:
        yield normalizer.normalize_str(_well_formed(line))


def _well_formed(text: str) -> str:
    """`text` with lone surrogates, which JSON escapes can spell and UTF-8 cannot, replaced by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _batched(lines: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(lines)
    while batch := list(islice(rest, _BATCH_LINES)):
        yield batch
