"""What several unit tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from translator.translate import Translator

SMALL_CONFIG = """\
corpus:
  source_language: en
  target_language: no
  train: {source: a.en, target: a.no}
"""


@pytest.fixture
def write_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes my.yaml (by default a small one) into the current folder, which is a temporary one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes = SMALL_CONFIG) -> Path:
        path = Path("my.yaml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture(scope="session")
def lines() -> list[str]:
    """The text that `make_translator` knows the characters of."""
    words = ["the dog sleeps", "a cat eats", "we read a book", "it rains", "is it late", "ships and rivers"]
    return [f"{words[i % 6]} {i}." for i in range(30)]


@pytest.fixture(scope="session")
def make_translator(lines: list[str]) -> "Callable[..., Translator]":
    """Makes an untrained translator; keyword arguments are the model's.

    Its translations are noise, but the same noise each time: of `lines`, all different, some end by themselves and
    some at the length limit.
    """
    import torch

    from translator.config import DecodeConfig
    from translator.model import Transformer
    from translator.tokenizer import Tokenizer
    from translator.translate import Translator

    tokenizer = Tokenizer.train(lines, kind="character", vocab_size=64)
    sizes = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_encoder_layers": 1, "num_decoder_layers": 1}

    def make(longest_source: int | None = None, **model: Any) -> Translator:
        torch.manual_seed(4)
        settings = {**sizes, "share_embeddings": "none", **model}
        transformer = Transformer(tokenizer.vocab_size, tokenizer.vocab_size, **settings)
        with torch.no_grad():
            for name, parameter in transformer.named_parameters():
                if "layers" in name and name.endswith("weight") and parameter.dim() == 2:
                    parameter.mul_(3)
        decode = DecodeConfig(max_length_ratio=1.0, max_length_extra=5)
        return Translator(transformer, tokenizer, tokenizer, decode=decode, longest_source=longest_source)

    return make


@pytest.fixture(scope="session")
def translator(make_translator: "Callable[..., Translator]") -> "Translator":
    """An untrained translator, which no test may change."""
    return make_translator()
