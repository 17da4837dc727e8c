"""The command `corpus`: page, text and JSON of a small corpus with known faults."""

import json
import re
from pathlib import Path

import pytest

from tests.small_run import CONFIG, PAIRS, command, snapshot, write_corpus, write_pairs

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


def section(text: str, title: str) -> list[list[str]]:
    """The rows of a table of the report without its header, cell by cell."""
    _, found, rest = f"\n\n{text}".partition(f"\n\n{title}\n")
    assert found, f"no section {title}"
    return [re.split(r" {2,}", line) for line in rest.split("\n\n")[0].splitlines()[1:]]


def test_the_text_has_every_section_of_the_page(folder: Path) -> None:
    words = ["corpus", "small.yaml", "--no-timing", "--output", "out"]
    text = command(folder, *words).out
    found = json.loads(command(folder, *words, "--json").out)
    train, tokens = found["sets"]["train"], found["tokens"]
    assert section(text, "Rows that hold no pair") == [
        ["train", f"{folder.name}/train.en and {folder.name}/train.it", "target is empty", "1", "line 32"]
    ]
    for unit, sides in (("tokens", tokens), ("characters", train)):
        rows = section(text, f"Lengths of the training pairs in {unit}")
        assert 5 <= len(rows) <= 10
        bins = re.findall(r"(over \d+|\d+ to \d+|\d+) +(\d+)(?: +(#+))?", "\n".join("  ".join(row) for row in rows))
        last = [f"over {sides[side]['lengths']['edges'][-1] - 1}" for side in ("source", "target")]
        assert {name for name, _, _ in bins if "over" in name} == set(last)
        assert sum(int(count) for _, count, _ in bins) == 2 * tokens["pairs"] == 70
        assert max(len(bar) for _, _, bar in bins) == 20
    characters = {
        (side, which): shown for side, which, *shown in section(text, "Characters of the training pairs, and how often")
    }
    for side in ("source", "target"):
        (most, count), *_ = train[side]["frequent"]
        assert characters[side, "most frequent"][0] == f"{most} {count}"
        assert characters[side, "most frequent"][-1] == characters[side, "rarest"][-1] == "…"
        (rarest, count), *_ = train[side]["rare"]
        assert characters[side, "rarest"][0] == f"{rarest} {count}".replace("\u202e", "U+202E")
    assert characters["target", "control, invisible"] == ["U+202E 1"]
    longest = section(text, "The longest pairs")
    assert [int(row[0]) for row in longest] == [one["characters"] for one in train["longest"]]
    assert longest[0][2] == f"{train['longest'][0]['source']} | {train['longest'][0]['target']}"


def test_no_text_of_the_corpus_commands_the_terminal(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_pairs(
        tmp_path,
        "train",
        [*PAIRS[:20], ("\x1b]0;a new title\x07 \u202ea boy sees a boy, and a man.", "un\u200d ragazzo.")],
    )
    text = command(tmp_path, "corpus", "small.yaml", "corpus.filters.preset=web", "--no-timing").out
    text += command(tmp_path, "corpus", "small.yaml", "--no-timing").out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "<U+001B>]0;a new title<U+0007> <U+202E>a boy" in text


def test_each_set_is_measured_in_its_own_languages(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "kn.tsv").write_text("the dog\tನಾಯಿ\nthe cat\tಬೆಕ್ಕು\na man\tಮನುಷ್ಯ\n", encoding="utf-8")
    several = """
  train:
    - {source: train.en, target: train.it}
    - {source: train.it, target: train.en, source_language: it, target_language: en}
    - {path: kn.tsv, target_language: kn}
  valid:
    en-it: {source: valid.en, target: valid.it}
    it-en: {source: valid.it, target: valid.en, source_language: it, target_language: en}
  test: {path: kn.tsv, target_language: kn}
"""
    (tmp_path / "small.yaml").write_text(
        re.sub(r"  train: .*\n  valid: .*\n", several.removeprefix("\n"), CONFIG), encoding="utf-8"
    )
    output = command(tmp_path, "corpus", "small.yaml", "--no-timing", "--json")
    assert output.status == 0, output.err
    found = json.loads(output.out)
    sets = {
        name: [(one[side]["languages"], one[side]["scripts_expected"]) for side in ("source", "target")]
        for name, one in found["sets"].items()
    }
    en, it, kn = (["en"], ["Latin"]), (["it"], ["Latin"]), (["kn"], ["Kannada"])
    assert sets == {
        "train": [(["en", "it"], ["Latin"]), (["it", "en", "kn"], ["Latin", "Kannada"])],
        "valid/en-it": [en, it],
        "valid/it-en": [it, en],
        "test": [en, kn],
    }
    html = (tmp_path / "corpus-report" / "corpus.html").read_text(encoding="utf-8")
    assert "<h1>small: en → it, it → en, en → kn</h1>" in html
    assert "Target (it, en, kn)" in html
    text = command(tmp_path, "corpus", "small.yaml", "--no-timing").out
    assert "source (en, it)" in text
