"""The form that every tokenizer of this program has: how text is normalised, cut, and put together again.

A tokenizer file is a program of a kind: it can hold regular expressions that never end, replacements that double the
text forty times over, and ids beyond every model. So a file is taken only if, besides its vocabulary, it holds what
this program writes.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
MARKER = "\u2581"
UNK_ID = 3

_BLANKS = r"[ \t\n\x0b\x0c\r\x1c-\x1f\x{85}\x{2028}\x{2029}]+"


def make_model(kind: str, vocabulary: Sequence[Any], merges: Sequence[tuple[str, str]] = ()) -> Any:
    """The model of a kind; `vocabulary` lists the tokens in the order of their ids, for unigram with their scores."""
    unknown = SPECIAL_TOKENS[UNK_ID]
    if kind == "unigram":
        return models.Unigram(list(vocabulary), unk_id=UNK_ID, byte_fallback=True)
    ids = {token: i for i, token in enumerate(vocabulary)}
    if kind == "word":
        return models.WordLevel(ids, unk_token=unknown)
    return models.BPE(ids, list(merges), unk_token=unknown, byte_fallback=kind == "bpe")


def assemble(kind: str, model: Any, *, lowercase: bool, split_digits: bool) -> tokenizers.Tokenizer:
    """A tokenizer of the library around a model."""
    inner = tokenizers.Tokenizer(model)
    inner.normalizer = normalizer(lowercase=lowercase, marked=kind != "character")
    if kind != "character":
        inner.pre_tokenizer = pre_tokenizer(split_digits=split_digits)
    inner.decoder = _decoder(kind)
    return inner


def normalizer(*, lowercase: bool, marked: bool) -> normalizers.Normalizer:
    """Lower case if asked, NFC, blanks folded, ends trimmed; `marked` keeps the word marker out of the text."""
    steps = [
        *([normalizers.Lowercase()] if lowercase else []),
        normalizers.NFC(),
        normalizers.Replace(Regex(_BLANKS), " "),
        normalizers.Strip(),
        *([normalizers.Replace(MARKER, "_")] if marked else []),
    ]
    return normalizers.Sequence(steps)


def pre_tokenizer(*, split_digits: bool) -> pre_tokenizers.PreTokenizer:
    """Words with their marker, punctuation marks alone, and each digit too if asked."""
    steps = [
        pre_tokenizers.Metaspace(replacement=MARKER, prepend_scheme="always"),
        pre_tokenizers.Punctuation("isolated"),
        *([pre_tokenizers.Digits(individual_digits=True)] if split_digits else []),
    ]
    return pre_tokenizers.Sequence(steps)


def _decoder(kind: str) -> decoders.Decoder:
    if kind == "character":
        return decoders.Fuse()
    return decoders.Sequence(
        [decoders.Replace(MARKER, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def kind_of(description: dict[str, Any]) -> str:
    """The kind of a tokenizer, by the description that the library gives."""
    model = description["model"]
    kind = {"BPE": "bpe", "Unigram": "unigram", "WordLevel": "word"}[model["type"]]
    return "character" if kind == "bpe" and not model["byte_fallback"] else kind


def check_form(description: dict[str, Any]) -> None:
    """Refuse a tokenizer that holds, besides its vocabulary, anything that this program does not write.

    Raises:
        ValueError: says what is strange.
    """
    if description["model"].get("type") not in ("BPE", "Unigram", "WordLevel"):
        raise ValueError(f"its kind is {description['model'].get('type')!r}")
    kind = kind_of(description)
    vocabulary = description["model"]["vocab"]
    if kind == "unigram":
        tokens = [token for token, _ in vocabulary]
        if len(set(tokens)) < len(tokens) or not all(math.isfinite(score) for _, score in vocabulary):
            raise ValueError("its pieces are not all different, with a number each")
        smallest: list[Any] = [(token, 0.0) for token in SPECIAL_TOKENS]
    else:
        tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[token] for token in tokens] != list(range(len(tokens))):
            raise ValueError("its ids do not count from 0 without gaps")
        smallest = list(SPECIAL_TOKENS)
    if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
        raise ValueError(f"its first entries are {tokens[: len(SPECIAL_TOKENS)]}, not {SPECIAL_TOKENS}")
    if kind in ("bpe", "unigram") and not set(BYTE_TOKENS) <= set(tokens):
        raise ValueError("it has not a token for each byte")
    forms = []
    for lowercase in (False, True):
        for split_digits in (False, True):
            inner = assemble(kind, make_model(kind, smallest), lowercase=lowercase, split_digits=split_digits)
            forms.append(_without_vocabulary(json.loads(inner.to_str())))
    own = _without_vocabulary(description)
    if own not in forms:
        closest = min(forms, key=lambda form: sum(own.get(key) != value for key, value in form.items()))
        parts = [key for key in own if own[key] != closest.get(key)]
        raise ValueError(f"its {' and '.join(parts)} is not one that this program writes")


def _without_vocabulary(description: dict[str, Any]) -> dict[str, Any]:
    model = {key: value for key, value in description["model"].items() if key not in ("vocab", "merges")}
    return {**description, "model": model}
