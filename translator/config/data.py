"""The sections corpus and tokenizer: where the pairs lie, which are used, how they become tokens."""

from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, Strict, StringConstraints

from translator.config.base import MOST_ENTRIES, WORD_PATTERN, Bool, Count, Int, Number, Problem, Section, Text, setting
from translator.config.directions import DIRECTION_PATTERN, Choices, Direction
from translator.config.filters import Filters
from translator.errors import ConfigError

Format = Literal["text", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "mo", "sheet", "parquet", "arrow"]
Markup = Literal["keep", "number", "remove"]


class Files(Section):
    """Where one set of sentence pairs lies: `source` and `target`, `path`, `hub` or `starter`."""

    source: Path | None = setting(
        None, "Text file with one source sentence a line; also packed: .gz, .bz2, .xz, .zst.", "announced"
    )
    target: Path | None = setting(None, "Text file with the translation of each line of source.", "announced")
    path: Path | None = setting(
        None,
        "A file of pairs (.tsv, .csv, .jsonl, .tmx, .xliff, .po, .mo, .xlsx, .xls, .ods, .parquet; also packed), an"
        " archive of such files (.zip, .tar.gz), or a folder of them.",
        "announced",
    )
    hub: Text | None = setting(None, "Data set of the Hugging Face hub, such as Helsinki-NLP/opus_books.", "announced")
    subset: Text | None = setting(None, "Subset of the hub data set, such as en-it.", "announced")
    split: Text = setting(
        "train", "Split of the hub data set, or words in the names of a folder's or an archive's files.", "announced"
    )
    revision: Text | None = setting(None, "Git revision of the hub data set, to pin its content.", "announced")
    starter: Literal["train", "valid", "valid-hand", "test", "test-hand"] | None = setting(
        None, "Part of the English-Italian starter corpus inside the package.", "announced"
    )
    source_column: Text | Int | None = setting(
        None,
        "Column of the source in a table: name, or number from 0. By default found by name.",
        "announced",
    )
    target_column: Text | Int | None = setting(
        None,
        "Column of the target in a table: name, or number from 0. By default found by name.",
        "announced",
    )
    header: Bool | None = setting(
        None, "Whether a .tsv or .csv begins with column names. By default found out.", "announced"
    )
    format: Format | None = setting(
        None, "Format of the file, or of the files inside. By default from its content and name.", "announced"
    )
    sheet: Text | Int | None = setting(
        None, "Sheet of a spreadsheet: name, or number from 0. By default the first.", "announced"
    )
    members: Text | None = setting(
        None, "Which files of an archive or a folder are read: a pattern such as */news.*.en-it.tmx.", "announced"
    )
    states: list[Text] | None = setting(
        None,
        "States of XLIFF targets that are taken, such as final and signed-off. By default all but new,"
        " needs-translation and initial.",
        "announced",
    )
    fuzzy: Bool = setting(False, "Take fuzzy entries of .po files too.", "announced")
    obsolete: Bool = setting(False, "Take obsolete entries of .po files too.", "announced")
    streaming: Bool = setting(False, "Read a hub data set over the network without keeping its files.", "announced")
    markup: Markup | None = setting(
        None, "What becomes of inline codes in this place. By default corpus.markup.", "announced"
    )
    source_language: Text | None = setting(
        None, "Language of its sources, where it is not corpus.source_language.", "refused", pattern=WORD_PATTERN
    )
    target_language: Text | None = setting(
        None, "Language of its targets, where it is not corpus.target_language.", "refused", pattern=WORD_PATTERN
    )
    tag: Text | None = setting(
        None,
        "Domain tag: the model reads a token for it before each source, and `translate --tag` asks for it.",
        "refused",
        pattern=WORD_PATTERN,
    )

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        given = [key for key in ("source", "path", "hub", "starter") if getattr(self, key) is not None]
        if (self.source is None) != (self.target is None):
            there, absent = ("target", "source") if self.source is None else ("source", "target")
            found.append(((there,), f"{absent} is missing beside it; both files are needed"))
        elif not given:
            found.append((("",), "says no place; give source and target, path, hub or starter"))
        elif len(given) > 1:
            found.append(((given[1],), f"cannot stand beside {given[0]}; give one place of the pairs"))
        found += [
            ((key,), f"goes with {' or '.join(forms)} and has no effect beside {given[0]}; remove it")
            for key, forms in GOES_WITH.items()
            if given and not set(forms) & set(given) and getattr(self, key) != Files.model_fields[key].default
        ]
        return found


FORMS = {"source": "source", "target": "source", "path": "path", "hub": "hub", "subset": "hub",
         "revision": "hub", "streaming": "hub", "starter": "starter"}  # fmt: skip
"""Keys of Files that say where the pairs lie -> which of the four forms they belong to."""


GOES_WITH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("subset", "revision", "streaming"), ("hub",)),
    **dict.fromkeys(("split", "source_column", "target_column"), ("path", "hub")),
    **dict.fromkeys(("header", "format", "sheet", "members", "states", "fuzzy", "obsolete"), ("path",)),
}
"""Keys of Files that say how pairs are found in a place -> the forms whose readers ask for them."""


KINDS = frozenset({"source_language", "target_language", "tag", "weight", "directions", "filters"})
"""Keys of a corpus that say what it is: they stay when another place is given for it."""


def is_files(value: object) -> bool:
    """Whether a value says where one set of pairs lies, rather than naming several sets."""
    return isinstance(value, str | Path | Files) or (
        isinstance(value, dict) and any(key in TrainingCorpus.model_fields for key in value)
    )


def _as_files(value: Any) -> Any:
    return {"path": value} if isinstance(value, str | Path) else value


def as_list(value: Any) -> Any:
    """corpus.train as written -> a list of corpora or of their mappings."""
    return [_as_files(entry) for entry in (value if isinstance(value, list | tuple) else [value])]


def as_sets(name: str, value: Any) -> Any:
    """corpus.valid or corpus.test as written -> {set name: Files or its mapping}."""
    if is_files(value):
        value = {name: value}
    return {k: _as_files(v) for k, v in value.items()} if isinstance(value, dict) else value


SetName = Annotated[str, Field(pattern=WORD_PATTERN)]
Sets = dict[SetName, Files] | None
_AnySets = Files | str | dict[SetName, Files | str] | None

# One place may be written where several are possible, and a path instead of {path: ...}.
Valid = Annotated[Sets, BeforeValidator(lambda value: as_sets("valid", value), json_schema_input_type=_AnySets)]
Test = Annotated[Sets, BeforeValidator(lambda value: as_sets("test", value), json_schema_input_type=_AnySets)]


class Split(Section):
    """A pinned split: the pairs whose normalised source has the smallest hashes leave the training set."""

    valid: Int = setting(1000, "Pairs taken from train for validation.", "refused", ge=0)
    test: Int = setting(0, "Pairs taken from train for the test.", "refused", ge=0)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class TrainingCorpus(Files):
    """One corpus to learn from: where its pairs lie, how often they are drawn, and in which directions."""

    weight: Number = setting(
        1.0,
        "How often each of its pairs is drawn in an epoch: 2 is twice, 0.25 every fourth time.",
        "announced",
        gt=0,
        le=10_000,
    )
    directions: Annotated[
        list[Annotated[Text, StringConstraints(pattern=DIRECTION_PATTERN)]] | None,
        BeforeValidator(_listed, json_schema_input_type=str | list[str] | None),
    ] = setting(
        None,
        "Ways in which it is learned, such as [en>it, it>en]; by default from its source to its target language.",
        "refused",
        min_length=1,
    )
    filters: Filters | None = setting(
        None, "Filters of its own; what it does not give is as in corpus.filters.", "refused"
    )


_AnyCorpora = TrainingCorpus | str | list[TrainingCorpus | str]
Train = Annotated[list[TrainingCorpus], BeforeValidator(as_list, json_schema_input_type=_AnyCorpora)]


class Mix(Section):
    """How the corpora of a list are mixed, where their weights are not given one by one."""

    temperature: Number = setting(
        1.0,
        "Each corpus is drawn in proportion to (its pairs) ^ (1 / temperature); an epoch stays as long as it is at 1."
        " 1: each pair once; 5 is usual for languages of very different size.",
        "announced",
        ge=1,
        le=1000,
    )


class CorpusConfig(Section):
    """The sentence pairs and their languages."""

    source_language: Text = setting(..., "Language to translate from, such as en.", "refused", pattern=WORD_PATTERN)
    target_language: Text = setting(..., "Language to translate into, such as it.", "refused", pattern=WORD_PATTERN)
    markup: Markup = setting(
        "keep",
        "Inline codes (tags, placeholders, entities, accelerators): kept, numbered on both sides (`translate` then"
        " restores them), or removed.",
        "refused",
    )
    train: Train = setting(..., "The training pairs: one corpus or a list of corpora.", "announced", min_length=1)
    mix: Mix = setting(Mix(), "How several corpora are mixed.", "announced")
    valid: Valid = setting(
        None,
        "Validation pairs: one place, or several by name. The first set decides which weights are best.",
        "announced",
    )
    test: Test = setting(None, "Test pairs for `evaluate`: one place, or several by name.", "announced")
    split: Split | None = setting(
        None, "Take validation and test pairs from train, when they have no files.", "refused"
    )
    filters: Filters = setting(Filters(), "Which training pairs are left out.", "refused")
    licence: Text | None = setting(None, "Licence of the pairs, for the model card.", "free")
    description: Text | None = setting(None, "What the pairs are, for the model card.", "free")

    def languages(self, place: Files) -> Direction:
        """Languages of the two sides of a place."""
        return Direction(place.source_language or self.source_language, place.target_language or self.target_language)

    def directions(self, corpus: TrainingCorpus) -> list[Direction]:
        """The directions that a training corpus is learned in."""
        return [Direction.parse(text) for text in corpus.directions or ()] or [self.languages(corpus)]

    def asked_of(self, place: Files | None) -> tuple[str, str | None]:
        """Target language and tag that a held-out set asks of the model; None: of a set that was split from train.

        Raises:
            ConfigError: the model has no such language or tag, or several and the place does not choose.
        """
        place = place or self.train[0]  # a split is of corpora of one kind
        return self.choices.choose(self.languages(place).target, place.tag, who="a model of corpus.train")

    def filters_of(self, corpus: TrainingCorpus) -> Filters:
        """The filters of a training corpus: its own where it gives some, else the common ones."""
        return self.filters if corpus.filters is None else self.filters.model_copy(update=corpus.filters.own)

    @property
    def all_directions(self) -> list[Direction]:
        """Every direction that is learned, in the order of the corpora."""
        return list(dict.fromkeys(way for corpus in self.train for way in self.directions(corpus)))

    @property
    def choices(self) -> Choices:
        """What a model of this corpus can be asked for."""
        return Choices.of((way.target, corpus.tag) for corpus in self.train for way in self.directions(corpus))

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if self.split is not None:
            found += [
                (
                    (f"split.{key}", key),
                    f"takes pairs from train, but corpus.{key} is given too; set one to 0 or null",
                )
                for key, sets, count in (
                    ("valid", self.valid, self.split.valid),
                    ("test", self.test, self.split.test),
                )
                if sets is not None and count > 0
            ]
        return found + self._problems_of_several_corpora()

    def _problems_of_several_corpora(self) -> list[Problem]:
        found: list[Problem] = []
        for number, corpus in enumerate(self.train):
            sides = self.languages(corpus)
            wrong = [str(way) for way in self.directions(corpus) if way not in (sides, sides.reverse)]
            if wrong:
                said = f"{', '.join(wrong)} is no direction of a corpus of {sides.source} and {sides.target}"
                found.append(((f"train.{number}.directions",), f"{said}; allowed: {sides}, {sides.reverse}"))
        if self.mix.temperature != 1 and any(corpus.weight != 1 for corpus in self.train):
            found.append((("mix.temperature", "train"), "stands beside weights of corpus.train; give one of the two"))
        kinds = {(self.languages(corpus), way, corpus.tag) for corpus in self.train for way in self.directions(corpus)}
        if self.split is not None and (len(kinds) > 1 or any(sides != way for sides, way, _ in kinds)):
            said = "cannot take sets from corpora of several directions or tags; give corpus.valid a set for each"
            found.append((("split",), said))
        for kind, sets in (("valid", self.valid), ("test", self.test)):
            for name, place in (sets or {}).items():
                try:
                    self.asked_of(place)
                except ConfigError as error:
                    found.append(((f"{kind}.{name}",), str(error).removesuffix(".")))
        return found


class TokenizerConfig(Section):
    """How text becomes tokens. The tokenizer is trained inside the run, on the training pairs only."""

    kind: Literal["bpe", "unigram", "word", "character"] = setting(
        "bpe", "Subwords (bpe, unigram), whole words, or single characters.", "refused"
    )
    vocab_size: Annotated[int, Strict(), Ge(5), Le(MOST_ENTRIES)] | Literal["auto"] = setting(
        "auto", "Most entries of a vocabulary; auto: from the number of pairs.", "refused"
    )
    shared: Bool = setting(True, "One vocabulary for both languages, or one for each.", "refused")
    min_frequency: Count = setting(1, "Rarer words, characters or merges get no entry.", "refused")
    split_digits: Bool = setting(False, "Make each digit a token of its own.", "refused")
    lowercase: Bool = setting(False, "Lower the case of all text; translations are then in lower case.", "refused")
    dropout: Number = setting(
        0.0,
        "BPE dropout: chance to skip a merge while training, so that words are cut in several ways.",
        "refused",
        ge=0,
        lt=1,
    )
    dropout_samples: Count = setting(8, "Ways of cutting stored for each sentence; each epoch takes one.", "refused")

    def problems(self) -> list[Problem]:
        if self.dropout > 0 and self.kind != "bpe":
            return [(("dropout", "kind"), f"works with kind bpe only, not {self.kind}; set it to 0")]
        return []
