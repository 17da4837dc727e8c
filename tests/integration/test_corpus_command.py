"""The command `corpus`: page, text and JSON of a small corpus with known faults."""

import json
from pathlib import Path

import pytest

from tests.small_run import PAIRS, command, snapshot, write_corpus, write_pairs

FAULTY = [
    *PAIRS[:30],
    PAIRS[0],
    ("the dog", ""),
    ("Room 12.", "Stanza 13."),
    ("<b>a boy</b>", "un ragazzo"),
    ("itâ€™s a man.", "un uomo."),
    ("a boy sees a boy.", "\u202eun ragazzo."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_corpus(tmp_path_factory.mktemp("corpus"))
    write_pairs(folder, "train", FAULTY)
    return folder


def test_page_text_and_json_say_the_same(folder: Path) -> None:
    # vaswani: a schedule that has no step 0
    words = ["corpus", "small.yaml", "corpus.filters.preset=web", "train.steps=40", "optim.schedule=vaswani"]
    words += ["--output", "out"]
    output = command(folder, *words, "--json")
    assert output.status == 0, output.err
    found = json.loads(output.out)
    (train,) = [place for place in found["places"] if place["set"] == "train"]
    assert (train["read"], train["skipped"], train["kept"]) == (36, {"target is empty": 1}, found["tokens"]["pairs"])
    left_out = {one["key"]: one["count"] for one in found["filters"]}
    assert left_out["drop_mojibake"] == left_out["drop_invisible"] == 1
    assert left_out["min_shared_numbers"] == left_out["match_placeholders"] == left_out["drop_duplicates"] == 1
    assert sum(train["dropped"].values()) == sum(left_out.values()) == 35 - train["kept"]
    (example,) = [one for one in found["filters"] if one["key"] == "min_shared_numbers"]
    assert example["examples"][0]["source"] == "Room 12."
    assert example["examples"][0]["place"].endswith("line 33")
    timing = found["training"]
    assert timing["seconds"] == pytest.approx(40 * timing["seconds_per_step"])
    html = (folder / "out" / "corpus.html").read_text(encoding="utf-8")
    text = command(folder, *words, "--no-timing").out
    for page in (html, text):
        assert "Room 12." in page
        assert "min_shared_numbers" in page
    assert not (folder / "runs").exists()
    assert not (folder / "weights").exists()


def test_a_sample_reads_the_first_rows(folder: Path) -> None:
    output = command(folder, "corpus", "small.yaml", "--sample", "20", "--no-timing", "--json")
    found = json.loads(output.out)
    assert [place["read"] for place in found["places"]] == [20, 11]
    assert (folder / "corpus-report" / "corpus.html").is_file()
    assert found["off"] == []


def test_a_sample_of_nothing_is_refused(folder: Path) -> None:
    before = snapshot(folder)
    output = command(folder, "corpus", "small.yaml", "--sample", "0")
    assert (output.status, output.message) == (2, "--sample 0: at least one row must be read.")
    assert snapshot(folder) == before
