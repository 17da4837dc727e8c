"""The configuration of a run.

`data`, `directions`, `filters` and `fields` hold the settings, `checks` what cannot stand together. A file goes through
`reading` (YAML with line numbers), `keys` (unknown ones) and `loading` (overrides, paths, validation) into a frozen
`Config`, with `explain` for the errors. `resuming` stores, compares and completes it.
"""

from typing import Any

from translator.config.base import seconds_of
from translator.config.checks import StopRule, stop_rule, unused_settings, validation_sets
from translator.config.data import CorpusConfig, Files, Mix, Split, TokenizerConfig, TrainingCorpus
from translator.config.directions import Choices, Direction
from translator.config.fields import (
    BatchConfig,
    Config,
    DecodeConfig,
    DeviceConfig,
    ModelConfig,
    OptimConfig,
    TrainConfig,
)
from translator.config.filters import Filters
from translator.config.loading import load_config, load_stored_config
from translator.config.reading import seal
from translator.config.resuming import Change, diff_for_resume, dump_config, flat_settings, resolve

__all__ = [
    "BatchConfig",
    "Change",
    "Choices",
    "Config",
    "CorpusConfig",
    "DecodeConfig",
    "DeviceConfig",
    "Direction",
    "Files",
    "Filters",
    "Mix",
    "ModelConfig",
    "OptimConfig",
    "Split",
    "StopRule",
    "TokenizerConfig",
    "TrainConfig",
    "TrainingCorpus",
    "diff_for_resume",
    "dump_config",
    "flat_settings",
    "json_schema",
    "load_config",
    "load_stored_config",
    "resolve",
    "seal",
    "seconds_of",
    "stop_rule",
    "unused_settings",
    "validation_sets",
]


def json_schema() -> dict[str, Any]:
    """JSON schema of a config file, from which editors complete and check the YAML."""
    schema = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "translator config"}
