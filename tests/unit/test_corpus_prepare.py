"""All sets of a run together: overlap, splits, filters, and a report that leaves nothing unsaid."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from translator.config import Filters, TrainingCorpus
from translator.corpus import Corpus, prepare
from translator.errors import CorpusError

Texts = list[tuple[str, str]]

TRAIN: Texts = [
    ("I like tea.", "Ich mag Tee."),
    ("I like tea.", "Ich mag Tee."),
    ("I like tea.", "Ich mag Tee."),
    ("Thanks.", "Danke."),
    ("Thanks.", "Vielen Dank."),
    ("The train is late.", "Der Zug ist spät."),
    ("The door is open.", "Die Tür ist offen."),
    ("the door is open.", "Die Tür ist offen."),
    ("Rain is falling.", "Es regnet."),
    ("Copy line", "Copy line"),
]
VALID: Texts = [
    ("The train is late.", "Der Zug ist spät."),
    ("Rain is falling.", "Regen fällt."),
    ("Snow is falling.", "Es schneit."),
]


@dataclass
class Split:
    valid: int = 0
    test: int = 0


@dataclass
class Settings:
    """The fields of the config that are read here."""

    train: Any
    valid: Any = None
    test: Any = None
    split: Any = None
    filters: Filters = field(default_factory=Filters)
    source_language: str = "en"
    target_language: str = "de"
    markup: str = "keep"

    def filters_of(self, corpus: Any) -> Filters:
        own = getattr(corpus, "filters", None)
        return self.filters if own is None else self.filters.model_copy(update=own.own)


Write = Callable[[str, Texts], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, texts: Texts) -> Path:
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in texts), encoding="utf-8")
        return path

    return make


def numbered(num: int) -> Texts:
    return [(f"Line number {i}.", f"Zeile Nummer {i}.") for i in range(num)]


def rows_of(corpus: Corpus) -> set[tuple[str, str, int, str]]:
    return {(row.set, row.reason, row.count, row.example) for row in corpus.report.rows}


def test_duplicates_and_overlap_are_reported_and_kept(write: Write) -> None:
    corpus = prepare(Settings(write("train", TRAIN), write("valid", VALID)))
    assert rows_of(corpus) == {
        ("train", "usable pairs", 10, ""),
        ("train", "exact copies of an earlier pair", 2, "line 2: I like tea.; line 3: I like tea."),
        ("train", "sources with several targets", 1, "line 4: Thanks."),
        ("train", "source equal to target", 1, "line 10: Copy line"),
        ("valid", "usable pairs", 3, ""),
        ("valid", "pairs also in train", 1, "line 1: The train is late."),
        ("valid", "sources also in train", 2, "line 1: The train is late.; line 2: Rain is falling."),
    }
    assert corpus.report.warnings == [
        "2 of 3 sources of valid are also in train (1 with the same target), so its scores are too good; "
        "corpus.filters.drop_overlap=source takes them out of train"
    ]
    assert (len(corpus.train), len(corpus.valid["valid"]), corpus.test) == (10, 3, {})


@pytest.mark.parametrize(
    ("filters", "dropped", "num_left", "num_warnings"),
    [
        (Filters(drop_duplicates=True), {"dropped: exact copies": 2}, 8, 1),
        (Filters(drop_overlap="pair"), {"dropped: pair also in a held-out set": 1}, 9, 1),
        (Filters(drop_overlap="source"), {"dropped: source also in a held-out set": 2}, 8, 0),
        (Filters(max_characters=16), {"dropped: over 16 characters": 3}, 7, 1),
        (
            Filters(max_characters=17, drop_duplicates=True, drop_overlap="source"),
            {
                "dropped: over 17 characters": 3,
                "dropped: exact copies": 2,
                "dropped: source also in a held-out set": 1,
            },
            4,
            0,
        ),
    ],
)
def test_pairs_are_dropped_when_asked_and_counted_once(
    write: Write, filters: Filters, dropped: dict[str, int], num_left: int, num_warnings: int
) -> None:
    corpus = prepare(Settings(write("train", TRAIN), write("valid", VALID), filters=filters))
    assert {row.reason: row.count for row in corpus.report.rows if "dropped" in row.reason} == dropped
    assert len(corpus.train) == corpus.report.count("train", "pairs left to train on") == num_left
    assert len(corpus.report.warnings) == num_warnings
    assert len(corpus.valid["valid"]) == 3


@pytest.mark.parametrize("kind", ["valid", "test"])
def test_overlap_is_dropped_with_sets_of_either_kind(write: Write, kind: str) -> None:
    sets: dict[str, Any] = {kind: write(kind, VALID)}
    corpus = prepare(Settings(write("train", TRAIN), **sets, filters=Filters(drop_overlap="source")))
    assert corpus.report.count("train", "dropped: source also in a held-out set") == 2
    assert corpus.report.count(kind, "sources also in train") == 2
    assert not {"The train is late.", "Rain is falling."} & set(corpus.train["source"])


def test_named_sets_keep_their_order_and_are_compared_with_each_other(write: Write) -> None:
    first, second = write("b", VALID[:1]), write("a", VALID)
    corpus = prepare(Settings(write("train", TRAIN[:3]), {"news": first, "chat": second}, {"news": second}))
    assert (list(corpus.valid), list(corpus.test)) == (["news", "chat"], ["news"])
    assert corpus.report.count("valid/chat", "pairs also in valid/news") == 1
    assert corpus.report.count("test/news", "sources also in valid/chat") == 3
    assert corpus.locate("valid/chat", 2).endswith("a.tsv, line 3")


def test_long_lines_are_dropped_from_train_only(write: Write) -> None:
    long = [*numbered(6), ("word " * 6002, "Wort"), *numbered(13)[6:]]
    corpus = prepare(Settings(write("train", long), write("valid", long[6:7])))
    assert ("train", "dropped: over 5,000 characters", 1) in {row[:3] for row in rows_of(corpus)}
    assert (len(corpus.train), len(corpus.valid["valid"])) == (13, 1)
    assert corpus.locate("train", 6).endswith("line 8")


def test_skipped_rows_are_reported_with_their_lines(write: Write) -> None:
    corpus = prepare(
        Settings(write("train", [("a", "A"), ("b", ""), ("", "C")]), write("valid", [("", ""), ("d", "D")]))
    )
    assert {
        ("train", "skipped: target is empty", 1, "line 2"),
        ("train", "skipped: source is empty", 1, "line 3"),
        ("valid", "skipped: both sides are empty", 1, "line 1"),
    } <= rows_of(corpus)
    assert (corpus.num_left_out("train"), corpus.num_left_out("valid"), corpus.num_left_out("test")) == (2, 1, 0)


def test_several_places_make_one_training_set(write: Write) -> None:
    parts = [write("one", TRAIN[:4]), {"path": write("two", TRAIN[4:])}]
    corpus = prepare(Settings(parts))
    whole = prepare(Settings(write("whole", TRAIN)))
    assert corpus.train["target"][:] == whole.train["target"][:]
    assert corpus.fingerprint == whole.fingerprint
    assert corpus.locate("train", 5).endswith("two.tsv, line 2")
    with pytest.raises(CorpusError, match=r"corpus\.train\[1\]\.path: there is no file absent\.tsv"):
        prepare(Settings([parts[0], "absent.tsv"]))


def test_pinned_split_is_exact_and_never_tears_copies_apart(write: Write) -> None:
    texts = [*numbered(40), *TRAIN, *(("LINE  NUMBER 3.", f"Variante {i}") for i in range(3))]
    corpus = prepare(Settings(write("train", texts), split=Split(valid=8, test=5)))
    sizes = (len(corpus.train), len(corpus.valid["valid"]), len(corpus.test["test"]))
    assert sizes == (40, 8, 5)
    assert corpus.report.count("valid", "held out of train") == 8
    assert not [row for row in corpus.report.rows if "also in" in row.reason]
    assert not corpus.report.warnings
    again = prepare(Settings(write("copy", texts), split=Split(valid=8, test=5)))
    assert again.fingerprint == corpus.fingerprint
    assert again.valid["valid"][:] == corpus.valid["valid"][:]


def test_a_split_of_test_alone_stands_beside_given_validation_pairs(write: Write) -> None:
    corpus = prepare(Settings(write("train", numbered(9)), write("valid", VALID), split=Split(test=2)))
    assert (len(corpus.train), len(corpus.valid["valid"]), len(corpus.test["test"])) == (7, 3, 2)


def test_fingerprint_is_of_train_and_validation(write: Write) -> None:
    train, valid = write("train", TRAIN), write("valid", VALID)
    fingerprint = prepare(Settings(train, valid)).fingerprint
    assert prepare(Settings(train, valid, valid)).fingerprint == fingerprint
    assert prepare(Settings(train, {"named": valid})).fingerprint == fingerprint
    assert prepare(Settings(train)).fingerprint != fingerprint
    assert prepare(Settings(valid, train)).fingerprint != fingerprint


def test_nothing_left_to_train_on_is_refused(write: Write) -> None:
    with pytest.raises(CorpusError, match=r"no pairs to train on: dropped: over 2 characters \(10\); loosen"):
        prepare(Settings(write("train", TRAIN), filters=Filters(max_characters=2)))


def test_each_corpus_keeps_its_part_of_the_pairs_that_are_left(write: Write) -> None:
    corpora = [write("a", TRAIN), write("b", numbered(4)), write("c", [*numbered(5), ("Thanks.", "Danke.")])]
    corpus = prepare(Settings(corpora, write("valid", VALID), filters=Filters(drop_duplicates=True)))
    assert corpus.sizes == (8, 4, 1)
    assert sum(corpus.sizes) == len(corpus.train)
    assert prepare(Settings(write("train", TRAIN))).sizes == (10,)


def test_a_corpus_may_have_several_files(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, texts in (("a", numbered(3)), ("b", [*numbered(1), ("Snow.", "Schnee.")])):
        write(name, texts).rename(folder / f"{name}.tsv")
    corpus = prepare(Settings([folder, write("last", TRAIN[:3])], filters=Filters(drop_duplicates=True)))
    assert corpus.sizes == (4, 1)
    assert [(place.name, place.read, place.kept) for place in corpus.report.places] == [
        (str(folder), 5, 4),
        (str(tmp_path / "last.tsv"), 3, 1),
    ]
    assert [corpus.locate("train", row) for row in (3, 4)] == [
        f"{folder}: b.tsv, line 2",
        f"{tmp_path / 'last.tsv'}, line 1",
    ]
    assert [place["pairs"] for place in corpus.contents()["train"]] == [3, 1, 1]


def test_each_corpus_is_filtered_by_its_own_filters(write: Write) -> None:
    texts = [("I like tea.", "Ich mag Tee."), ("I like tea.", "Ich mag Tee."), ("Snow.", "Schnee.")]
    corpora = [
        TrainingCorpus(path=write("a", texts)),
        TrainingCorpus(path=write("b", [("Rain.", "Regen."), *texts]), filters=Filters(max_characters=8)),
        TrainingCorpus(path=write("c", numbered(2)), filters=Filters.model_validate({"preset": "basic"})),
    ]
    corpus = prepare(Settings(corpora))
    assert corpus.sizes == (3, 2, 2)
    assert corpus.train["source"][3:5] == ["Rain.", "Snow."]
    assert [place.dropped for place in corpus.report.places] == [{}, {"over 8 characters": 2}, {}]
    assert [place.kept for place in corpus.report.places] == [3, 2, 2]
    (found,) = corpus.report.filters
    assert (found.key, found.count, len(found.examples)) == ("max_characters", 2, 2)


def test_a_corpus_is_read_in_its_own_languages(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("it,en,de\nciao,hello,hallo\n", encoding="utf-8")
    corpora = [TrainingCorpus(path=table), TrainingCorpus(path=table, source_language="de", target_language="it")]
    assert list(prepare(Settings(corpora)).train) == [
        {"source": "hello", "target": "hallo"},
        {"source": "hallo", "target": "ciao"},
    ]


def test_overlap_is_seen_from_both_sides_of_a_corpus_that_is_learned_in_reverse(write: Write) -> None:
    train = write("train", [("Good day.", "Guten Tag."), ("Snow.", "Schnee."), ("Rain.", "Regen.")])
    valid = {"de-en": TrainingCorpus(path=write("valid", [("Guten Tag.", "Good day."), ("Schnee.", "Snows.")]))}
    for directions, found in ((["en>de"], 0), (["en>de", "de>en"], 2), (["de>en"], 2)):
        corpus = TrainingCorpus(path=train, directions=directions)
        settings = Settings([corpus], valid, filters=Filters(drop_overlap="source"))
        report = prepare(settings).report
        assert report.count("valid/de-en", "sources also in train") == found
        assert report.count("train", "dropped: source also in a held-out set") == found


def test_options_without_effect_are_warnings_of_the_report(write: Write) -> None:
    train = TrainingCorpus(path=write("train", TRAIN), sheet=0)
    corpus = prepare(Settings([train], {"path": write("valid", [("New.", "Neu.")]), "states": ["final"]}))
    assert [warning.partition(": ")[0] for warning in corpus.report.warnings] == [
        "corpus.train[0].sheet has no effect",
        "corpus.valid.states has no effect",
    ]


def test_pairs_count_in_reverse_only_in_the_corpora_that_are_learned_so(write: Write) -> None:
    texts: Texts = [("Good day.", "Guten Tag."), ("Snow.", "Schnee.")]
    train = [
        TrainingCorpus(path=write("a", texts[:1]), directions=["en>de"]),
        TrainingCorpus(path=write("b", texts[1:]), directions=["en>de", "de>en"]),
    ]
    valid = {"de-en": TrainingCorpus(path=write("valid", [(target, source) for source, target in texts]))}
    report = prepare(Settings(train, valid, filters=Filters(drop_overlap="pair"))).report
    assert report.count("valid/de-en", "pairs also in train") == 1
    assert [place.dropped for place in report.places[:2]] == [{}, {"pair also in a held-out set": 1}]
