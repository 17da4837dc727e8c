"""Folders of Parquet and Arrow files that somebody made to mislead: refused, or read without leaving the folder."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from translator.corpus import read_pairs
from translator.errors import CorpusError

datasets.disable_progress_bars()
CANARY = ("canary", "canarino")


def read(place: Any) -> list[tuple[str, str]]:
    result = read_pairs(place, source_language="en", target_language="it")
    return [(row["source"], row["target"]) for row in result.dataset]


def write_parquet(file: Path, source: Any = ("yes",), target: Any = ("sì",)) -> None:
    pq.write_table(pa.table({"en": source, "it": target}), file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder; beside it lies one that it must not reach."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_parquet(elsewhere / "c.parquet", [CANARY[0]], [CANARY[1]])
    (elsewhere / "c.tsv").write_text("\t".join(CANARY) + "\n")
    datasets.Dataset.from_dict({"en": [CANARY[0]], "it": [CANARY[1]]}).save_to_disk(str(elsewhere / "saved"))
    inside = tmp_path / "folder"
    inside.mkdir()
    return inside


@pytest.mark.parametrize(
    "files", ["../elsewhere/c.parquet", "{}/c.parquet", "../elsewhere/*", "https://example.com/c.parquet"]
)
def test_what_a_readme_names_is_not_read(folder: Path, files: str) -> None:
    listed = files.format(folder.parent / "elsewhere")
    (folder / "README.md").write_text(f'---\nconfigs:\n- config_name: default\n  data_files: "{listed}"\n---\n')
    with pytest.raises(CorpusError, match=r"holds no files of a known format .*a README.md .* names is not read"):
        read(folder)
    write_parquet(folder / "train.parquet")
    assert read(folder) == [("yes", "sì")]


def test_what_a_state_file_names_is_not_read(folder: Path) -> None:
    listed = [{"filename": "../elsewhere/saved/data-00000-of-00001.arrow"}]
    shutil.copy(folder.parent / "elsewhere" / "saved" / "dataset_info.json", folder)
    (folder / "state.json").write_text(json.dumps({"_data_files": listed, "_fingerprint": "0" * 16}))
    with pytest.raises(CorpusError, match=r"holds no files of a known format .*'state.json'"):
        read(folder)


def test_splits_that_a_list_names_stay_in_the_folder(folder: Path) -> None:
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["../elsewhere/saved"]}))
    with pytest.raises(CorpusError, match="has no split"):
        read({"path": folder, "split": "../elsewhere/saved"})


@pytest.mark.parametrize("name", ["c.parquet", "c.tsv"])
def test_links_out_of_the_folder_are_not_followed(folder: Path, name: str) -> None:
    link = folder / name.replace("c", "train")
    link.symlink_to(folder.parent / "elsewhere" / name)
    with pytest.raises(CorpusError, match="is a link that leaves its folder"):
        read(folder)
    link.unlink()
    link.symlink_to(folder / "real")
    shutil.copy(folder.parent / "elsewhere" / name, folder / "real")
    assert read(folder) == [CANARY]  # a link within it is as good as a file


class Bomb:
    """Makes the file `boom` where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.folder / "boom",)


@pytest.mark.parametrize("name", ["train.pkl", "train.parquet", "data-00000-of-00001.arrow", "train.tsv", "train.tar"])
def test_nothing_in_a_folder_runs(folder: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps(Bomb(folder)))
    (folder / "folder.py").write_text(f"open({str(folder / 'boom')!r}, 'w')\n")
    with pytest.raises(CorpusError):
        read(folder)
    assert not (folder / "boom").exists()


def test_the_content_counts_and_not_what_a_folder_says_of_it(folder: Path) -> None:
    for word in ("one", "two"):
        datasets.Dataset.from_dict({"en": [word], "it": ["x"]}).save_to_disk(str(folder))
        state = json.loads((folder / "state.json").read_text())
        (folder / "state.json").write_text(json.dumps({**state, "_fingerprint": "0" * 16}))
        assert read(folder) == [(word, "x")]


def test_a_value_that_many_rows_repeat_is_no_bomb(folder: Path) -> None:
    longest = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), ["y" * (1 << 21)])
    pq.write_table(pa.table({"en": longest, "it": ["x"] * 10_000}), folder / "train.parquet")  # 20 GB as text
    assert (folder / "train.parquet").stat().st_size < 3_000_000
    with pytest.raises(CorpusError, match="a cell of en holds 2,097,152 bytes"):
        read(folder)


def test_an_arrow_file_that_lies_about_its_offsets_is_refused(folder: Path) -> None:
    offsets = pa.py_buffer(b"\0\0\0\0\xff\xff\xff\x0f\5\0\0\0")  # the first string ends at byte 268,435,455
    liar = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"short")])
    batch = pa.RecordBatch.from_arrays([liar, pa.array(["x", "x"])], ["en", "it"])
    with pa.ipc.new_stream(str(folder / "train.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(CorpusError, match="is damaged or no data file"):
        read(folder)


def test_missing_shards_other_columns_and_other_types_are_told(folder: Path) -> None:
    write_parquet(folder / "train-00000-of-00002.parquet")
    with pytest.raises(CorpusError, match="has 1 of the 2 files train-"):
        read(folder)
    pq.write_table(pa.table({"en": ["no"], "de": ["nein"]}), folder / "train-00001-of-00002.parquet")
    with pytest.raises(CorpusError, match=r"00001-of-00002.parquet has no columns en and it, only 'en', 'de'"):
        read(folder)
    write_parquet(folder / "train-00001-of-00002.parquet", [1], ["x"])
    with pytest.raises(CorpusError, match="the column en holds int64, not text"):
        read(folder)
