"""The sizes that are measured, and the configuration that trains each of them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from translator.config import Config, load_config

CONFIG = "bench.yaml"


@dataclass(frozen=True)
class Setting:
    """Sizes of a model and of its steps; all three embeddings are one."""

    d_model: int
    d_ff: int
    num_heads: int
    num_layers: int  # of the encoder, and of the decoder
    vocab_size: int
    batch_tokens: int  # cells of the longer side of a batch
    dropout: float = 0.1

    @property
    def model(self) -> dict[str, float]:
        """Keyword arguments of `translator.model.Transformer`."""
        return {
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "d_ff": self.d_ff,
            "num_encoder_layers": self.num_layers,
            "num_decoder_layers": self.num_layers,
            "dropout": self.dropout,
        }

    def to_json(self) -> dict[str, float]:
        """The fields by name."""
        return asdict(self)


SETTINGS = {
    # 4,500 cells hold about 4,100 real target tokens at the lengths of Multi30k
    "reference": Setting(256, 1024, 8, 3, 8000, 4500),
    "transformer-base": Setting(512, 2048, 8, 6, 8000, 4500),
    "small": Setting(192, 768, 4, 2, 4000, 1100),
    "tiny": Setting(32, 64, 2, 1, 400, 300),
}


def write_config(
    folder: Path,
    setting: Setting,
    files: tuple[Path, Path],
    *,
    threads: int,
    precision: str = "auto",
    kind: str = "auto",
    tokenizer: str = "bpe",
) -> Path:
    """`bench.yaml` in `folder`: trains `setting` on a pair of text files, without validation."""
    values = {
        "name": "bench",
        "corpus": {
            "source_language": "en",
            "target_language": "de",
            "train": {"source": str(files[0]), "target": str(files[1])},
            "filters": {"max_tokens": setting.batch_tokens - 1, "max_characters": 1_000_000},
        },
        "tokenizer": {"kind": tokenizer, "vocab_size": setting.vocab_size},
        "model": setting.model,
        "batch": {"tokens": setting.batch_tokens},
        "train": {"steps": 1_000_000, "stop_on": None, "validate_first": False},
        "device": {"kind": kind, "precision": precision, "threads": threads},
    }
    path = folder / CONFIG
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")  # JSON is YAML too
    return path


def read_config(folder: Path, *overrides: str) -> Config:
    """What `write_config` wrote."""
    return load_config(folder / CONFIG, overrides)
