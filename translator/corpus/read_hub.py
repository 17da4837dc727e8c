"""Rows of data sets of the Hugging Face hub, through the `datasets` library.

What its authors wrote into a data set decides which files are read, so that is looked at before anything is: no file
of this machine, and none from another place in the network.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import datasets

from translator.corpus.read_tables import NAMING_ROWS, Row, TableOptions, pick_columns
from translator.errors import CorpusError

HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")

NO_ANSWER = {"ConnectionError", "TransportError", "TimeoutError", "LocalEntryNotFoundError"}
"""Classes of errors, with all that inherit from them, that mean that the hub gave no answer."""


def load_hub(hub: str, *, subset: str | None, split: str, revision: str | None) -> datasets.Dataset:
    """A split of a hub data set, downloaded once; a cached copy is used without a network.

    Raises:
        CorpusError: it does not exist, cannot be reached, or has no such subset or split.
    """
    place = _place(hub, subset)
    _check_id(hub, place)
    try:
        builder = _builder(hub, subset, revision, place)
        builder.download_and_prepare()
        found = builder.as_dataset(split=split)
    except CorpusError:
        raise
    # The library raises a dozen unrelated classes here; each means that the user cannot have the data.
    except Exception as error:
        raise CorpusError(f"{place} cannot be loaded: {_reason(error)}") from error
    return _one_split(found, place)


def hub_commit(hub: str, revision: str | None) -> str:
    """The commit that a revision of a hub data set means now (by default its newest): what decides its content.

    Raises:
        CorpusError: it does not exist, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi

    place = _place(hub, None)
    _check_id(hub, place)
    try:
        return str(HfApi().dataset_info(hub, revision=revision).sha)
    except Exception as error:  # as above
        raise CorpusError(f"{place} cannot be streamed: {_reason(error)}") from error


def stream_hub(hub: str, options: TableOptions, *, subset: str | None, split: str, commit: str) -> Iterator[Row]:
    """Rows of a split of a hub data set as they come over the network; no copy of the files stays on this machine.

    Raises:
        CorpusError: it cannot be read, or has no two columns that can be source and target.
    """
    place = _place(hub, subset)
    _check_id(hub, place)
    try:
        rows = iter(_builder(hub, subset, commit, place).as_streaming_dataset(split=split))
        head = list(islice(rows, NAMING_ROWS))
        pick = pick_columns(place, head, options)
        for number, row in enumerate(chain(head, rows), start=1):
            yield number, *pick(row)
    except CorpusError:
        raise
    except Exception as error:  # as above
        raise CorpusError(f"{place} cannot be streamed: {_reason(error)}") from error


def _place(hub: str, subset: str | None) -> str:
    return f"hub data set {hub}" + (f" ({subset})" if subset else "")


def _check_id(hub: str, place: str) -> None:
    if not HUB_ID.fullmatch(hub) or ".." in hub or Path(hub).exists():
        raise CorpusError(f"{place}: a hub id is written OWNER/NAME; for files of this machine give path, not hub")


def _builder(hub: str, subset: str | None, revision: str | None, place: str) -> Any:
    """What knows the files of a data set, of which none is read yet.

    Files that a data set lists must be its own: "/etc/hosts" in its README.md would else be read.
    """
    builder = datasets.load_dataset_builder(hub, subset, revision=revision)
    listed = getattr(builder.config, "data_files", None)
    groups = listed.values() if isinstance(listed, dict) else [listed or []]
    for file in (str(file) for group in groups for file in ([group] if isinstance(group, str) else group)):
        if not file.startswith("hf://datasets/"):
            raise CorpusError(f"{place} names a file outside the hub, {file}, which is not read; use another data set")
    return builder


def _reason(error: Exception) -> str:
    """What is wrong and what to do."""
    if _is_about_the_network(error):
        return (
            f"the hub cannot be reached ({_sentence(error)}); connect to the network, or load it once where there is "
            "one, copy the cache of datasets (HF_HOME) here and set HF_HUB_OFFLINE=1, or give local files"
        )
    return f"{_sentence(error)}; check the id, subset, split and revision"


def _is_about_the_network(error: Exception) -> bool:
    """Whether an error, or one that led to it, means that there was no answer.

    Known by the names of classes: which HTTP library raises them changes with the version of the hub's client.
    """
    cause: BaseException | None = error
    while cause is not None:
        if any(one.__name__ in NO_ANSWER for one in type(cause).__mro__):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _one_split(found: object, place: str) -> datasets.Dataset:
    if isinstance(found, datasets.Dataset):
        return found
    raise CorpusError(f"{place} gave {type(found).__name__} and not one table; name one split")


def _sentence(error: Exception) -> str:
    """The cause that tells most, on one line: `datasets` hides a reader's own error behind a general one."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    chosen = cause if isinstance(error, datasets.exceptions.DatasetGenerationError) else error
    lines = str(chosen).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(chosen).__name__


def rows_of_dataset(dataset: datasets.Dataset, place: str, options: TableOptions) -> Iterator[Row]:
    """Rows of a data set in the columns that `pick_columns` finds; the row number counts from 1.

    Raises:
        CorpusError: the data set has no two columns that can be source and target.
    """
    example: dict[str, object] = {
        name: dict.fromkeys(_languages(feature)) if name == "translation" else None
        for name, feature in dataset.features.items()
    }
    pick = pick_columns(place, [example], options)
    number = 0
    for table in dataset.with_format("arrow").iter(batch_size=1000):
        for row in table.to_pylist():
            number += 1
            yield number, *pick(row)


def _languages(feature: object) -> list[str]:
    """The languages of a column of translations (a `Translation` or a plain struct)."""
    languages = feature.languages if isinstance(feature, datasets.Translation) else feature
    return list(languages) if isinstance(languages, (list, dict)) else []
