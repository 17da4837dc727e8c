"""Write docs/configuration.md and configs/schema.json from the settings themselves.

Run it after a change of translator/config: `python -m scripts.make_config_docs`. A test holds both current.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from translator.config import Config, Files, TrainingCorpus, json_schema
from translator.config.explain import allowed_values
from translator.config.keys import section_of
from translator.files import write_atomic

ROOT = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Configuration

<!-- Made by scripts/make_config_docs.py from translator/config: change the settings there, not this page. -->

One YAML file describes a run. Six lines are enough; all else has defaults that work:

```yaml
corpus:
  source_language: en
  target_language: it
  train: {source: train.en, target: train.it}
  valid: {source: valid.en, target: valid.it}
tokenizer: {vocab_size: 4000}
```

```sh
translator config my.yaml        # check the file and print it with all its defaults
translator train my.yaml         # train; the run is called `my`
```

The files in [`configs/`](../configs) are complete examples. Editors with a YAML language server complete keys
and show these descriptions when a file begins with
`# yaml-language-server: $schema=PATH/configs/schema.json`.

## Rules

- **YAML 1.2.** `no` is a language (Norwegian) and not false, `1e-3` is a number, only `true` and `false` are
  booleans. A key given twice, a tag (`!!python/...`), a tab as indentation, or bytes that are not UTF-8 are
  errors.
- **Strict.** Every unknown key and every value that is not allowed is an error. All are reported at once, one
  a line, with file and line:
  `my.yaml:12: optim.learning_rte: unknown key; did you mean optim.learning_rate?`
- **Overrides.** Each setting can be given on the command line in the same words, `section.key=value`, and
  wins over the file: `translator train my.yaml train.steps=2000 model.d_model=128`. Values are YAML:
  `optim.clip_norm=null`, `'optim.betas=[0.9, 0.999]'`, `'corpus.split={valid: 500}'` for a whole section.
  An override that says where pairs lie takes the place of what the file says: `corpus.train.path=pairs.tsv`
  replaces a hub data set, and `corpus.valid.news.path=news.tsv` adds a validation set called `news`.
- **Paths** in the file are relative to the file, paths in overrides to the current folder; `~` is your home.
- **No effect.** A setting that you wrote but that changes nothing in this run draws a warning. In a place of pairs, a
  key that goes with another kind of place (`sheet` beside `source` and `target`) is an error.

## On resume

A run stores its settings, with every `auto` replaced by what was chosen. Resuming it with other settings
(`translator resume NAME key=value`) depends on the class of the setting, given in the tables:

| class | what a change means |
| --- | --- |
| free | It is taken. Nothing that was trained depends on it. |
| announced | It is taken, and the old and the new value are said: training goes on differently from there. |
| refused | The run cannot go on with it; start another run, or `translator train --restart`. |

The pairs themselves have a fingerprint: files may move (announced), but other content is refused unless
`--accept-new-corpus` is given: the run then goes on with the next epoch.
"""

ENDING = """\
### Places of pairs

`corpus.train` takes one place or a list of them; `corpus.valid` and `corpus.test` take one place, or several
with names of your choice. A path alone means `{path: ...}`. Formats, archives, folders and inline codes:
[corpora.md](corpora.md).

```yaml
corpus:
  train:
    - {source: a.en.gz, target: a.it.gz}                  # one sentence a line
    - pairs.tsv                                           # also .csv, .jsonl, .tmx, .xliff, .po, .xlsx ...
    - my-folder                                           # with en.txt and it.txt, or train.en and train.it
    - {hub: Helsinki-NLP/opus_books, subset: en-it}       # from the hub, or already in its cache
  valid:
    news: {path: news.jsonl}                              # the first set decides which weights are best
    talks: {path: talks.csv, source_column: English, target_column: Italian}
```
"""

IN_TRAIN = """\
`weight`, `directions` and `filters` are settings of `corpus.train` alone; [several corpora](several-corpora.md) shows
them at work.
"""


def page() -> str:
    """The text of docs/configuration.md."""
    simple = {key: info for key, info in Config.model_fields.items() if section_of(info) is None}
    parts = [INTRODUCTION, "## At the top\n", _table(simple)]
    for key, info in Config.model_fields.items():
        if section := section_of(info):
            parts += _section(section, key)
        if key == "corpus":
            parts += [ENDING, _table(TrainingCorpus.model_fields), IN_TRAIN]
    return "\n".join(parts)


def _section(section: type[BaseModel], name: str) -> list[str]:
    title = "#" * (name.count(".") + 2)
    about = " ".join((section.__doc__ or "").split())
    leaves, inner = {}, []
    for key, info in section.model_fields.items():
        model = section_of(info)
        if model is None or issubclass(model, Files):
            leaves[key] = info
        else:
            inner += _section(model, f"{name}.{key}")
    return [f"{title} {name}\n", f"{about}\n", _table(leaves), *inner]


def _table(fields: dict[str, FieldInfo]) -> str:
    rows = ["| key | allowed | default | on resume | what it is |", "| --- | --- | --- | --- | --- |"]
    for key, info in fields.items():
        extra: Any = info.json_schema_extra
        allowed = "a place of pairs, see below" if _is_place(info) else allowed_values(info)
        cells = [f"`{key}`", allowed, _default(info), extra["on_resume"], info.description or ""]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _is_place(info: FieldInfo) -> bool:
    model = section_of(info)
    return model is not None and issubclass(model, Files)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "must be given"
    if isinstance(info.default, str):
        return f"`{info.default}`"
    return f"`{json.dumps(info.default)}`"


def schema() -> str:
    """The text of configs/schema.json."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    write_atomic(ROOT / "docs" / "configuration.md", page())
    write_atomic(ROOT / "configs" / "schema.json", schema())


if __name__ == "__main__":
    main()
