"""A run that begins with the weights of another one: what comes from there, and what must agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from torch import Tensor

from translator.config import Config
from translator.errors import ConfigError
from translator.files import sha256_file
from translator.tokenizer import Tokenizer
from translator.weights import WEIGHTS, find_folder, load_weights

OWN = {
    "tokenizer": {"dropout", "dropout_samples"},
    "model": {"dropout", "attention_dropout", "feedforward_dropout", "initialisation"},
}
"""Settings that the new run may have otherwise; all others of these sections decide the shape of the weights, or
what they mean.
"""


@dataclass(frozen=True)
class Initial:
    """Weights to begin with, and `origin`: name, step and SHA-256, which are kept with the run."""

    weights: Mapping[str, Tensor]
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer
    config: Config
    origin: dict[str, str | int]


def load_initial(name_or_path: str, home: Path) -> Initial:
    """Read the weights that `train.init_from` names.

    Raises:
        CheckpointError: there are none of that name, or they are damaged.
    """
    folder = find_folder(name_or_path, home)
    loaded = load_weights(folder)
    origin: dict[str, str | int] = {
        "name": loaded.config.name or folder.name,
        "step": loaded.step,
        "sha256": sha256_file(folder / WEIGHTS),
    }
    return Initial(loaded.model.state_dict(), loaded.src_tokenizer, loaded.tgt_tokenizer, loaded.config, origin)


def inherit(config: Config, other: Config) -> Config:
    """`config` with the tokenizer and the model of `other`, and its own `OWN` settings.

    Raises:
        ConfigError: settings were given that differ; all are named.
    """
    values = config.model_dump(exclude_unset=True)
    differing = []
    for section, own in OWN.items():
        written, theirs = values.get(section, {}), getattr(other, section).model_dump()
        differing += [
            f"{section}.{key}: {theirs[key]} there, {value} here"
            for key, value in written.items()
            if key not in own and value != theirs[key]
        ]
        values[section] = {**theirs, **{key: value for key, value in written.items() if key in own}}
    if differing:
        raise ConfigError(
            f"The weights of train.init_from ({config.train.init_from}) are of another model than is asked "
            f"({'; '.join(differing)}). Leave these settings out to take them from there."
        )
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        said = "; ".join(one["msg"] for one in error.errors())
        raise ConfigError(f"The model of train.init_from ({config.train.init_from}) does not suit: {said}.") from None
