"""The files that belong to translator.config: presets, documentation, schema; and how light its import is."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import make_config_docs
from translator.config import diff_for_resume, flat_settings, json_schema, load_config, unused_settings
from translator.config.keys import known_keys

ROOT = Path(__file__).resolve().parents[2]
PRESETS = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_each_preset_loads_without_a_warning(path: Path) -> None:
    config = load_config(path)
    assert config.name == path.stem
    assert unused_settings(config) == []
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_the_commands_in_the_comments_of_a_preset_load(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    comments = re.sub(r"\\\n#", "", path.read_text())
    commands = re.findall(r"^#   translator train ([^\n(]*)", comments, flags=re.MULTILINE)
    assert commands
    for words in (command.split() for command in commands):
        if words:
            assert words[0] == f"configs/{path.name}"
            load_config(Path(words[0]), words[1:])


def test_all_presets_are_here() -> None:
    names = (
        "char-en-kn multi30k-en-de opus-books-en-it scalar-norm several-corpora starter-en-it transformer-base"
        " tutorial-en-it"
    )
    assert [path.stem for path in PRESETS] == names.split()


def test_scalar_norm_differs_from_the_tutorial_in_its_gain_only() -> None:
    changes = diff_for_resume(
        *(load_config(ROOT / "configs" / f"{name}.yaml") for name in ("tutorial-en-it", "scalar-norm"))
    )
    assert {change.key for change in changes} == {"name", "model.norm_gain"}


def test_the_starter_config_is_shipped_in_the_package() -> None:
    shipped = ROOT / "translator" / "starter" / "config.yaml"
    assert shipped.read_bytes() == (ROOT / "configs" / "starter-en-it.yaml").read_bytes()
    assert load_config(None).name == "starter-en-it"


def test_docs_and_schema_are_up_to_date() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == make_config_docs.page()
    assert (ROOT / "configs" / "schema.json").read_text(encoding="utf-8") == make_config_docs.schema()


def test_every_setting_is_described_for_people_and_editors() -> None:
    definitions = json_schema()["$defs"]
    page = make_config_docs.page()
    for full in known_keys():
        assert f"| `{full.rpartition('.')[2]}` |" in page
    for definition in definitions.values():
        for key, entry in definition["properties"].items():
            assert entry["description"], key
            assert entry["on_resume"] in ("free", "announced", "refused"), key
    assert definitions["OptimConfig"]["properties"]["learning_rate"]["exclusiveMinimum"] == 0
    assert definitions["ModelConfig"]["properties"]["norm"]["enum"] == ["pre", "post"]
    assert json.dumps(definitions["CorpusConfig"]["properties"]["train"]).count("TrainingCorpus") == 2


def test_the_import_is_light() -> None:
    heavy = {"torch", "numpy", "datasets", "pyarrow", "tokenizers"}
    code = "import sys, translator.config; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    assert heavy.isdisjoint(done.stdout.split())


BASE_SIZE = {
    "model.d_model": 512,
    "model.d_ff": 2048,
    "model.num_heads": 8,
    "model.num_encoder_layers": 6,
    "model.num_decoder_layers": 6,
}
TUTORIAL = BASE_SIZE | {
    "tokenizer.kind": "word",
    "tokenizer.shared": False,
    "model.share_embeddings": "none",  # the output projection is a table of its own as well
    "model.initialisation": "xavier",
    "model.norm": "pre",
}
DEFINING: dict[str, dict[str, Any]] = {
    "char-en-kn": {
        "tokenizer.kind": "character",
        "tokenizer.shared": False,
        "model.norm": "post",
        "model.scale_embeddings": False,
    },
    "tutorial-en-it": TUTORIAL | {"model.norm_gain": "feature"},
    "scalar-norm": TUTORIAL | {"model.norm_gain": "scalar"},
    "transformer-base": BASE_SIZE
    | {
        "tokenizer.shared": True,
        "model.share_embeddings": "all",
        "model.norm": "post",
        "optim.schedule": "vaswani",
        "optim.label_smoothing": 0.1,
    },
}


@pytest.mark.parametrize("name", DEFINING)
def test_a_preset_is_the_model_whose_name_it_bears(name: str) -> None:
    settings = flat_settings(load_config(ROOT / "configs" / f"{name}.yaml"))
    assert {key: settings[key][0] for key in DEFINING[name]} == DEFINING[name]
