"""Rows of `datasets` data sets: hub ids, and local folders in the layout of the hub or of `save_to_disk`."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import datasets

from translator.corpus.read_tables import NAMING_ROWS, Row, TableOptions, pick_columns
from translator.errors import CorpusError

NO_ANSWER = {"ConnectionError", "TransportError", "TimeoutError", "LocalEntryNotFoundError"}
"""Classes of errors, with all that inherit from them, that mean that the hub gave no answer."""


def load_hub(hub: str, *, subset: str | None, split: str, revision: str | None) -> datasets.Dataset:
    """A split of a hub data set, downloaded once; a cached copy is used without a network.

    Raises:
        CorpusError: it does not exist, cannot be reached, or has no such subset or split.
    """
    place = _place(hub, subset)
    try:
        found = datasets.load_dataset(hub, subset, split=split, revision=revision)
    # The library raises a dozen unrelated classes here; each means that the user cannot have the data.
    except Exception as error:
        raise CorpusError(f"{place} cannot be loaded: {_reason(error)}") from error
    return _one_split(found, place)


def _place(hub: str, subset: str | None) -> str:
    return f"hub data set {hub}" + (f" ({subset})" if subset else "")


def hub_commit(hub: str, revision: str | None) -> str:
    """The commit that a revision of a hub data set means now (by default its newest): what decides its content.

    Raises:
        CorpusError: it does not exist, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi

    try:
        return str(HfApi().dataset_info(hub, revision=revision).sha)
    except Exception as error:  # as above
        raise CorpusError(f"{_place(hub, None)} cannot be streamed: {_reason(error)}") from error


def stream_hub(hub: str, options: TableOptions, *, subset: str | None, split: str, commit: str) -> Iterator[Row]:
    """Rows of a split of a hub data set as they come over the network; no copy of the files stays on this machine.

    Raises:
        CorpusError: it cannot be read, or has no two columns that can be source and target.
    """
    place = _place(hub, subset)
    try:
        found = datasets.load_dataset(hub, subset, split=split, revision=commit, streaming=True)
        rows = iter(found)
        head = list(islice(rows, NAMING_ROWS))
        pick = pick_columns(place, head, options)
        for number, row in enumerate(chain(head, rows), start=1):
            yield number, *pick(row)
    except CorpusError:
        raise
    except Exception as error:  # as above
        raise CorpusError(f"{place} cannot be streamed: {_reason(error)}") from error


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


def load_folder(folder: Path, *, split: str) -> datasets.Dataset:
    """A split of a local folder: what `save_to_disk` wrote, or data files in the layout of a hub data set.

    Raises:
        CorpusError: there is no such split, or the files cannot be read.
    """
    try:
        if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():
            saved = datasets.load_from_disk(str(folder))
            if not isinstance(saved, datasets.DatasetDict):
                return saved
            if split in saved:
                return saved[split]
            raise CorpusError(f"{folder} has no split {split!r}, only {', '.join(saved)}")
        found = datasets.load_dataset(str(folder), split=split)
    except CorpusError:
        raise
    except Exception as error:  # as above: any class, one meaning
        raise CorpusError(f"{folder} cannot be loaded as a data set: {_sentence(error)}") from error
    return _one_split(found, str(folder))


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
