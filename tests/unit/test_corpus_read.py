"""Every way to say where pairs lie, and what is said when nothing usable is there."""

import csv
import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from translator.corpus import ReadResult, read_pairs
from translator.corpus.pairs import join
from translator.errors import CorpusError

TEXTS = [("Good morning.", "Guten Morgen."), ("null", "NA"), ('A "5"', 'Ein "5", ja'), ("Café?", "Café?")]


def read_en_de(files: Any, **options: Any) -> ReadResult:
    return read_pairs(files, source_language="en", target_language="de", **options)


def write_text(folder: Path, texts: list[tuple[str, str]] = TEXTS, end: str = "\n") -> dict[str, Path]:
    for number, name in enumerate(("source", "target")):
        (folder / name).write_bytes("".join(pair[number] + end for pair in texts).encode())
    return {"source": folder / "source", "target": folder / "target"}


def write_gzip(folder: Path) -> dict[str, Path]:
    plain = write_text(folder)
    for path in plain.values():
        path.write_bytes(gzip.compress(path.read_bytes()))
    return plain


def write_tsv(folder: Path) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in TEXTS), encoding="utf-8")
    return path


def write_csv(folder: Path) -> dict[str, Path]:
    with (folder / "pairs.CSV").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("German", "English"), *((target, source) for source, target in TEXTS)])
    return {"path": folder / "pairs.CSV"}


def write_jsonl(folder: Path) -> str:
    path = folder / "pairs.json.gz"
    rows = [json.dumps({"translation": {"en": source, "de": target}}) for source, target in TEXTS]
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    return str(path)


def write_other_ending(folder: Path) -> dict[str, Any]:
    return {"path": write_tsv(folder).rename(folder / "pairs.txt"), "format": "tsv", "subset": None}


WRITERS = [write_text, write_gzip, write_tsv, write_csv, write_jsonl, write_other_ending]


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_gives_the_same_pairs_and_fingerprint(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    result = read_en_de(write(tmp_path))
    assert [(row["source"], row["target"]) for row in result.dataset] == TEXTS
    assert result.dataset.column_names == ["source", "target"]
    assert (result.num_rows, result.skipped, result.notes) == (4, {}, [])
    plain = read_en_de(write_text(tmp_path, end="\r\n"))
    assert result.pairs.fingerprint == plain.pairs.fingerprint


def test_other_content_or_order_has_another_fingerprint(tmp_path: Path) -> None:
    variants = (TEXTS, TEXTS[::-1], TEXTS[:3], [*TEXTS[:3], ("Café!", "Café?")])
    found = {read_en_de(write_text(tmp_path, list(texts))).pairs.fingerprint for texts in variants}
    assert len(found) == len(variants)


def test_an_empty_line_loses_one_pair_only(tmp_path: Path) -> None:
    texts = [(f"number {i}", f"Nummer {i}" if i != 5 else "") for i in range(1, 11)]
    result = read_en_de(write_text(tmp_path, texts))
    assert (len(result.dataset), result.num_rows) == (9, 10)
    assert result.skipped == {"target is empty": 1}
    assert result.examples == {"target is empty": "line 5"}
    assert result.dataset["source"][4:] == [f"number {i}" for i in range(6, 11)]
    assert result.pairs.locate(4).endswith("line 6")


def test_a_column_that_begins_with_nulls(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    targets = [None, None, None, "B0", "B1", "B2"]
    path.write_text("".join(json.dumps({"src": "s", "tgt": target}) + "\n" for target in targets))
    result = read_en_de(path)
    assert result.dataset["target"][:] == ["B0", "B1", "B2"]
    assert result.examples == {"target is missing": "lines 1, 2, 3"}


def test_line_breaks_in_cells_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text('en,de\n"two\nlines",zwei\n')
    result = read_en_de(path)
    assert result.dataset["source"][:] == ["two lines"]
    assert result.notes == [f"{path}: 1 pairs had a line break inside; it became a space"]


@pytest.mark.parametrize(("texts", "reason"), [([], "no rows at all"), ([("", "")] * 3, r"both sides are empty \(3\)")])
def test_nothing_usable_is_said_with_the_file(tmp_path: Path, texts: list[tuple[str, str]], reason: str) -> None:
    files = write_text(tmp_path, texts)
    for _ in range(2):  # the second time from the cache
        with pytest.raises(CorpusError, match=rf"no usable pairs in .*source and .*target: {reason}"):
            read_en_de(files)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"path": "absent.tsv"}, "corpus.train.path: there is no file absent.tsv"),
        ({"source": "absent.en", "target": "absent.de"}, "corpus.train.source: there is no file absent.en"),
        ({"source": ".", "target": "."}, "corpus.train.source: . is a folder, and a file is needed"),
        ({"path": __file__}, "corpus.train.path: the ending of .* names no format; known are .tsv, .csv"),
        ({"path": __file__, "format": "text"}, "format text means two files"),
        ({"path": None}, "corpus.train says no place"),
        ({"starter": "train"}, r"the starter corpus \(train\) is English and Italian"),
    ],
)
def test_places_that_cannot_be_used(files: dict[str, str], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_en_de(files, key="corpus.train")


class Canary:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("name", ["pairs.pt", "pairs.tsv", "pairs.csv", "pairs.jsonl", "folder/train.pkl"])
def test_a_pickle_is_refused_and_never_run(tmp_path: Path, name: str, protocol: int) -> None:
    path, marker = tmp_path / name, tmp_path / "marker"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps({"model": Canary(marker), "ids": [0, 255]}, protocol=protocol))
    with pytest.raises(CorpusError, match=r"pairs|folder"):
        read_en_de(path if path.parent == tmp_path else path.parent)
    with pytest.raises(CorpusError, match=r"pairs|folder"):
        read_en_de({"source": path, "target": write_text(tmp_path)["target"]})
    assert not marker.exists()


@pytest.mark.parametrize(("languages", "expected"), [(("en", "it"), "Yes."), (("it", "en"), "Sì.")])
def test_the_starter_corpus_is_read_in_both_directions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, languages: tuple[str, str], expected: str
) -> None:
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "valid-hand.tsv").write_text("Yes.\tSì.\n", encoding="utf-8")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    source, target = languages
    result = read_pairs({"starter": "valid-hand"}, source_language=source, target_language=target)
    assert result.dataset["source"][:] == [expected]
    with pytest.raises(CorpusError, match="there is no part 'nix'"):
        read_pairs({"starter": "nix"}, source_language=source, target_language=target)


def test_reading_does_not_depend_on_the_locale(tmp_path: Path) -> None:
    code = (
        "import sys; from translator.corpus import read_pairs; "
        "result = read_pairs(sys.argv[1], source_language='en', target_language='de'); "
        "print(result.pairs.fingerprint)"
    )
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "TRANSLATOR_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, str(write_tsv(tmp_path))]
    printed = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == read_en_de(tmp_path / "pairs.tsv").pairs.fingerprint


def write_zip(folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(folder / "pairs.zip", "w") as file:
        file.writestr("../data/en.txt", "".join(f"{source}\n" for source, _ in TEXTS))
        file.writestr("../data/de.txt", "".join(f"{target}\n" for _, target in TEXTS))
        file.writestr("README", "no pairs here")
    return {"path": folder / "pairs.zip"}


def write_folder(folder: Path) -> Path:
    for number, language in enumerate(("en", "de")):
        (folder / "my").mkdir(exist_ok=True)
        text = "".join(pair[number] + "\n" for pair in TEXTS)
        (folder / "my" / f"train.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return folder / "my"


def write_sheet(folder: Path) -> Path:
    with xlsxwriter.Workbook(folder / "pairs.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for row, pair in enumerate(TEXTS):
            sheet.write_row(row, 0, pair)
    return folder / "pairs.xlsx"


IDLE: list[tuple[Callable[[Path], Any], dict[str, Any], list[str]]] = [
    (write_tsv, {"source_column": 0, "target_column": 1, "header": False}, []),
    (write_tsv, {"sheet": 0, "states": ["final"], "fuzzy": True}, ["sheet", "states", "fuzzy"]),
    (write_tsv, {"members": "*", "split": "test"}, ["members", "split"]),
    (write_tsv, {"split": "train", "fuzzy": False, "sheet": None}, []),
    (write_jsonl, {"header": True}, ["header"]),
    (write_sheet, {"sheet": 0, "header": False, "source_column": 0, "target_column": 1}, []),
    (write_folder, {"split": "train", "members": "train.*"}, []),
    (write_folder, {"split": "test", "members": "train.*"}, ["split"]),
    (write_folder, {"header": False}, ["header"]),
    (write_zip, {"header": False, "split": "train"}, []),  # what is inside is not known before it is read
    (write_zip, {"split": "test", "members": "*.txt"}, ["split"]),
]


@pytest.mark.parametrize(("write", "options", "idle"), IDLE)
def test_options_that_nothing_asks_for_are_said(
    tmp_path: Path, write: Callable[[Path], Any], options: dict[str, Any], idle: list[str]
) -> None:
    place = write(tmp_path)
    place = {**(place if isinstance(place, dict) else {"path": place}), **options}
    for _ in range(2):  # the second time from the cache
        result = read_en_de(place, key="corpus.train[0]")
        keys = [sentence.partition(" has no effect: ")[0] for sentence in result.unused]
        assert sorted(keys) == sorted(f"corpus.train[0].{option}" for option in idle)


@pytest.mark.parametrize("write", [write_zip, write_folder, write_sheet])
def test_what_people_have_needs_one_line(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    result = read_en_de(write(tmp_path))
    assert [(row["source"], row["target"]) for row in result.dataset] == TEXTS
    again = read_en_de(write(tmp_path))  # from the cache
    assert [again.pairs.locate(i) for i in range(4)] == [result.pairs.locate(i) for i in range(4)]


def test_files_in_an_archive_are_named_and_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("one.tsv", "a\tA\n\tB\n")
        file.writestr("two/x.csv", "en,de\nc,C\n,D\n")
        file.writestr("two/y.dat", "e\tE\n")
    result = read_en_de(path)
    assert [result.pairs.locate(i) for i in range(2)] == [f"{path}: one.tsv, line 1", f"{path}: two/x.csv, line 2"]
    assert result.examples == {"source is empty": "one.tsv, line 2; two/x.csv, line 3"}
    assert read_en_de({"path": path, "members": "two/*.csv"}).dataset["source"][:] == ["c"]
    assert read_en_de({"path": path, "members": "*.dat", "format": "tsv"}).dataset["source"][:] == ["e"]
    with pytest.raises(
        CorpusError, match=r"a\.zip holds no files of a known format .* fit members: \*\.po; there: 'one"
    ):
        read_en_de({"path": path, "members": "*.po"})
    joined = join([result.pairs, read_en_de(write_tsv(tmp_path)).pairs])
    assert joined.locate(1) == f"{path}: two/x.csv, line 2"
    assert joined.locate(2).endswith("pairs.tsv, line 1")


def test_documents_in_folders_and_archives_are_known_by_their_root(tmp_path: Path) -> None:
    memory = '<tmx><header/><body><tu><tuv xml:lang="{}"><seg>a</seg></tuv><tuv xml:lang="de"><seg>A</seg></tuv></tu>'
    files = {
        "memory.xml": memory.format("en") + "</body></tmx>",
        "a.docx.sdlxliff": '<?xml version="1.0"?><!-- n --><xliff version="1.2"><file source-language="en" '
        'target-language="de"><body><trans-unit><source>b</source><target>B</target></trans-unit></body></file></xliff>',
        "memory.tmx.bak": memory.format("en") + "</body></tmx>",
        "README.md": "<p>Write <code><tmx version='1.4'></code></p>",
        "notes.txt": "c\tC\n",
        "damaged.gz": "\x1f\x8b",
    }
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
            (tmp_path / "folder" / name).write_text(text, encoding="latin-1")
    os.mkfifo(tmp_path / "folder" / "pipe")
    for place in (tmp_path / "a.zip", tmp_path / "folder"):
        assert [row["source"] for row in read_en_de(place).dataset] == ["b", "a"]


def test_a_folder_without_pairs_says_what_it_looked_for(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("a\n")
    with pytest.raises(
        CorpusError, match=r"no two text files for en and de \(such as en\.txt and de\.txt.*there: 'en\.txt'"
    ):
        read_en_de(tmp_path)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("keep", ("_Save <b>%s</b>", "<b>%s</b> _speichern")),
        ("number", ("⸀Save ⸁⸂⸃", "⸁⸂⸃ ⸀speichern")),
        ("remove", ("Save", "speichern")),
    ],
)
def test_inline_codes_as_the_corpus_or_the_place_wants_them(
    tmp_path: Path, markup: str, expected: tuple[str, str]
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("_Save <b>%s</b>\t<b>%s</b> _speichern\n")
    for result in (read_en_de(path, markup=markup), read_en_de({"path": path, "markup": markup}, markup="keep")):
        assert result.dataset[0] == dict(zip(("source", "target"), expected, strict=True))


@pytest.mark.parametrize(
    ("name", "content", "library"),
    [
        ("a.tmx", "<tmx><tu/></tmx>", "lxml"),
        ("a.po", 'msgid "a"\nmsgstr "b"\n', "polib"),
        ("a.xlsx", "", "python_calamine"),
    ],
)
def test_an_absent_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, library: str
) -> None:
    (tmp_path / name).write_text(content)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(CorpusError, match=r'of the extra formats: .*"\.\[formats\]"'):
        read_en_de(tmp_path / name)


def test_a_quick_look_reads_no_file_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is it taken for the whole table, or for a look at what the file held before."""
    path = tmp_path / "pairs.tsv"
    with monkeypatch.context() as patched:
        patched.setattr("translator.corpus.read.LOOK_BYTES", 4)
        patched.setattr("translator.corpus.read.sha256_file", lambda path: pytest.fail("read to its end"))
        path.write_text("".join(f"line {i}\tZeile {i}\n" for i in range(9)), encoding="utf-8")
        assert len(read_en_de(path, most_rows=4).pairs) == 4
        path.write_text("".join(f"line {i}\tzeile {i}\n" for i in range(9)), encoding="utf-8")
        os.utime(path, (1, 1))
        assert read_en_de(path, most_rows=4).dataset["target"][:2] == ["zeile 0", "zeile 1"]
    assert len(read_en_de(path).pairs) == 9
