"""The configuration of a run.

`data` and `fields` hold the settings, `checks` what cannot stand together. A file goes through `reading`
(YAML with line numbers), `keys` (unknown ones) and `loading` (overrides, paths, validation) into a frozen
`Config`, with `explain` for the errors. `resuming` stores, compares and completes it.
"""

from typing import Any

from translator.config.checks import StopRule, stop_rule, unused_settings, validation_sets
from translator.config.data import CorpusConfig, Files, Split, TokenizerConfig
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
from translator.config.loading import load_config
from translator.config.resuming import Change, diff_for_resume, dump_config, flat_settings, resolve

__all__ = [
    "BatchConfig",
    "Change",
    "Config",
    "CorpusConfig",
    "DecodeConfig",
    "DeviceConfig",
    "Files",
    "Filters",
    "ModelConfig",
    "OptimConfig",
    "Split",
    "StopRule",
    "TokenizerConfig",
    "TrainConfig",
    "diff_for_resume",
    "dump_config",
    "flat_settings",
    "json_schema",
    "load_config",
    "resolve",
    "stop_rule",
    "unused_settings",
    "validation_sets",
]


def json_schema() -> dict[str, Any]:
    """JSON schema of a config file, from which editors complete and check the YAML."""
    schema = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "translator config"}
