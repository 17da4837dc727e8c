"""Data sets of the hub (from its cache, without a network) and local folders in the same layouts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pyarrow as pa
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from translator.corpus import read, read_pairs
from translator.errors import CorpusError

FEATURES = datasets.Features(
    {"id": datasets.Value("string"), "translation": datasets.Translation(languages=("en", "it"))}
)


def table() -> datasets.Dataset:
    texts = [{"en": "Yes.", "it": "Sì."}, {"en": "No.", "it": None}, {"en": "NA", "it": "null"}]
    return datasets.Dataset.from_dict({"id": ["0", "1", "2"], "translation": texts}, features=FEATURES)


def read_it_en(files: Any) -> list[tuple[str, str]]:
    result = read_pairs(files, source_language="it", target_language="en")
    return [(row["source"], row["target"]) for row in result.dataset]


EXPECTED = [("Sì.", "Yes."), ("null", "NA")]


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of `datasets` as it is after Someone/tiny_pairs was loaded once with a network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path))
    folder = tmp_path / "Someone___tiny_pairs" / "en-it" / "0.0.0" / "0123456789abcdef"
    folder.mkdir(parents=True)
    data = table().data.table
    with pa.ipc.new_stream(str(folder / "tiny_pairs-train.arrow"), data.schema) as writer:
        writer.write_table(data)
    datasets.DatasetInfo(
        features=FEATURES,
        dataset_name="tiny_pairs",
        config_name="en-it",
        version="0.0.0",
        splits=[{"name": "train", "num_examples": len(data), "dataset_name": "tiny_pairs"}],
    ).write_to_directory(str(folder))
    return tmp_path


def test_a_cached_copy_works_without_a_network(hub_cache: Path) -> None:
    assert read_it_en({"hub": "Someone/tiny_pairs", "subset": "en-it"}) == EXPECTED


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"hub": "Helsinki-NLP/opus_books", "subset": "en-it"},
            r"^hub data set Helsinki-NLP/opus_books \(en-it\) cannot be loaded: the hub cannot be reached "
            r"\(Couldn't reach .*\); connect to the network.*HF_HUB_OFFLINE=1",
        ),
        ({"hub": "Someone/tiny_pairs", "subset": "de-it"}, "cannot be loaded: .*de-it.*; check the id"),
        (
            {"hub": "Someone/tiny_pairs", "subset": "en-it", "split": "nix"},
            'Unknown split "nix".*; check the id',
        ),
    ],
)
def test_what_cannot_be_loaded_ends_in_one_sentence(hub_cache: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        read_it_en(files)
    assert "\n" not in str(caught.value)


class TransportError(Exception):
    """The base of "connection refused" and the like in the HTTP library of the hub's client."""


class ConnectError(TransportError):
    pass


@pytest.mark.parametrize(
    ("error", "cause", "is_network"),
    [
        (LocalEntryNotFoundError("An error happened while trying to locate the file.\nCheck it."), None, True),
        (ConnectError("[Errno 111] Connection refused"), None, True),
        (ValueError("no such revision"), ConnectError("refused"), True),
        (datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' doesn't exist on the Hub"), ValueError(), False),
    ],
)
def test_no_answer_of_the_hub_is_told_from_a_wrong_name(
    error: Exception, cause: Exception | None, is_network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_dataset_builder(*args: object, **kwargs: object) -> None:
        raise error from cause

    monkeypatch.setattr(datasets, "load_dataset_builder", load_dataset_builder)
    advice = r"the hub cannot be reached \(.*connect to the network" if is_network else r"doesn't exist.*check the id"
    with pytest.raises(CorpusError, match=advice) as caught:
        read_it_en({"hub": "Someone/tiny_pairs"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("file", ["/etc/hosts", "file:///etc/hosts", "https://example.com/pairs.jsonl"])
def test_a_data_set_that_names_files_elsewhere_is_not_read(
    file: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = SimpleNamespace(config=SimpleNamespace(data_files={"train": ["hf://datasets/a/b@1/x.jsonl", file]}))
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *args, **kwargs: builder)
    monkeypatch.setattr(read, "hub_commit", lambda hub, revision: "1")
    with pytest.raises(CorpusError, match=f"names a file outside the hub, {file}"):
        read_it_en({"hub": "Someone/tiny_pairs", "streaming": streaming})


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("hub", ["../elsewhere", "/etc", "https://example.com/a", "a/b/c", "here"])
def test_a_hub_id_is_no_place_on_this_machine(
    hub: str, streaming: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    with pytest.raises(CorpusError, match="a hub id is written OWNER/NAME"):
        read_it_en({"hub": hub, "streaming": streaming})


def test_a_folder_of_save_to_disk(tmp_path: Path) -> None:
    table().save_to_disk(str(tmp_path / "one"))
    assert read_it_en(tmp_path / "one") == EXPECTED
    datasets.DatasetDict({"dev": table()}).save_to_disk(str(tmp_path / "several"))
    assert read_it_en({"path": tmp_path / "several", "split": "dev"}) == EXPECTED
    with pytest.raises(CorpusError, match=r"has no split 'train' among its files \('dev/data-00000-of-00001.arrow'\)"):
        read_it_en(tmp_path / "several")


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    table().to_parquet(str(tmp_path / "data" / "train-00000-of-00001.parquet"))
    assert read_it_en({"path": tmp_path}) == EXPECTED
    with pytest.raises(CorpusError, match="has no split 'test' among"):
        read_it_en({"path": tmp_path, "split": "test"})


def test_tables_in_a_folder_keep_their_words(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train-1.csv").write_text("it,en\nnull,NA\n")
    (tmp_path / "data" / "train-2.tsv").write_text("007\t1e5\n")
    (tmp_path / "dev.jsonl").write_text('{"translation": {"en": "a", "it": "A"}}\n')
    (tmp_path / "README.md").write_text("# Training pairs\n")
    assert read_it_en(tmp_path) == [("null", "NA"), ("007", "1e5")]
    assert read_it_en({"path": tmp_path, "split": "validation"}) == [("A", "a")]


def test_files_that_name_no_split_are_for_training(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("sì\tyes\n", encoding="utf-8")
    (tmp_path / "test.tsv").write_text("no\tno\n")
    assert read_it_en(tmp_path) == [("sì", "yes")]


def test_columns_that_are_no_pair_are_listed(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": ["a"], "label": [1]}).save_to_disk(str(tmp_path / "saved"))
    with pytest.raises(CorpusError, match="has no columns it and en, only 'text', 'label'"):
        read_it_en(tmp_path / "saved")


def test_a_streamed_data_set_is_pinned_to_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def load_dataset_builder(*args: object, **options: Any) -> SimpleNamespace:
        def as_streaming_dataset(split: str) -> datasets.IterableDataset:
            asked.append({"args": args, **options, "split": split})
            return table().to_iterable_dataset()

        listed = {"train": ["hf://datasets/Someone/tiny_pairs@1/x.jsonl"]}
        return SimpleNamespace(config=SimpleNamespace(data_files=listed), as_streaming_dataset=as_streaming_dataset)

    monkeypatch.setattr(datasets, "load_dataset_builder", load_dataset_builder)
    monkeypatch.setattr(read, "hub_commit", lambda hub, revision: f"commit of {revision}")
    files = {"hub": "Someone/tiny_pairs", "subset": "en-it", "revision": "v1", "streaming": True}
    assert read_it_en(files) == read_it_en(files) == EXPECTED  # the second time from our own cache
    assert asked == [{"args": ("Someone/tiny_pairs", "en-it"), "split": "train", "revision": "commit of v1"}]


def test_a_stream_that_breaks_ends_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ConnectError("[Errno 111] Connection refused")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", refuse)
    with pytest.raises(CorpusError, match=r"Someone/tiny_pairs cannot be streamed: the hub cannot be reached"):
        read_it_en({"hub": "Someone/tiny_pairs", "streaming": True})
