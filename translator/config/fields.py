"""Every setting of a run: its name, type, limits, default, and what a change of it means on resume.

One model for each section of the YAML file. Nothing here reads files; `loading` does. The table of
docs/configuration.md and the JSON schema for editors are made from these models.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from translator.config.checks import problems_between_sections

Resume = Literal["free", "announced", "refused"]
"""What a changed setting means when a run is resumed: taken silently, taken and said, or not taken."""

Problem = tuple[tuple[str, ...], str]
"""Dotted keys that do not fit together (the first is the one to report), and a sentence about them."""

NAME_PATTERN = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"
WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"


# Strict: text is no number, a number no text, and 1 is not true.
Int = Annotated[int, Strict()]
Count = Annotated[int, Strict(), Ge(1)]
Number = Annotated[float, Strict()]
Text = Annotated[str, Strict()]
Bool = Annotated[bool, Strict()]


def setting(default: Any, description: str, on_resume: Resume, **limits: Any) -> Any:
    """A field with a sentence for the docs and its class on resume."""
    return Field(default, description=description, json_schema_extra={"on_resume": on_resume}, **limits)


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys, settings that contradict each other are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def problems(self) -> list[Problem]:
        """Settings of this section that contradict each other; keys relative to the section."""
        return []

    @model_validator(mode="after")
    def _refuse_problems(self) -> Self:
        if problems := self.problems():
            text = "\n".join(f"{keys[0]}: {sentence}" for keys, sentence in problems)
            raise PydanticCustomError("problems", "{text}", {"text": text, "problems": problems})
        return self


class Files(Section):
    """Where one set of sentence pairs lies. Give one of: source and target, path, hub, or starter."""

    source: Path | None = setting(None, "Text file with one source sentence a line (.gz too).", "announced")
    target: Path | None = setting(
        None, "Text file with the translation of each line of source (.gz too).", "announced"
    )
    path: Path | None = setting(
        None,
        "One table of pairs (.tsv, .csv, .json, .jsonl, each .gz too), or a local folder in datasets layout.",
        "announced",
    )
    hub: Text | None = setting(
        None, "Data set of the Hugging Face hub, such as Helsinki-NLP/opus_books.", "announced"
    )
    subset: Text | None = setting(None, "Subset of the hub data set, such as en-it.", "announced")
    split: Text = setting("train", "Split of the hub data set or of the local folder.", "announced")
    revision: Text | None = setting(
        None, "Git revision of the hub data set, to pin its content.", "announced"
    )
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
    format: Literal["text", "tsv", "csv", "jsonl"] | None = setting(
        None, "Format of the files. By default from the ending of the name.", "announced"
    )

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        given = [key for key in ("source", "path", "hub", "starter") if getattr(self, key) is not None]
        if (self.source is None) != (self.target is None):
            there, absent = ("target", "source") if self.source is None else ("source", "target")
            found.append(((there,), f"{absent} is missing beside it; both files are needed"))
        elif not given:
            found.append(((), "says no place; give source and target, path, hub or starter"))
        elif len(given) > 1:
            found.append(((given[1],), f"cannot stand beside {given[0]}; give one place of the pairs"))
        found += [
            ((key,), "is a setting of hub data sets; give hub or remove it")
            for key in ("subset", "revision")
            if getattr(self, key) is not None and self.hub is None and given
        ]
        return found


FORMS = {"source": "source", "target": "source", "path": "path", "hub": "hub", "subset": "hub",
         "revision": "hub", "starter": "starter"}  # fmt: skip
"""Keys of Files that say where the pairs lie -> which of the four forms they belong to."""


def is_files(value: object) -> bool:
    """Whether a value says where one set of pairs lies, rather than naming several sets."""
    return isinstance(value, str | Path | Files) or (
        isinstance(value, dict) and any(key in Files.model_fields for key in value)
    )


def _as_files(value: Any) -> Any:
    return {"path": value} if isinstance(value, str | Path) else value


def as_list(value: Any) -> Any:
    """corpus.train as written -> a list of Files or of their mappings."""
    return [_as_files(entry) for entry in (value if isinstance(value, list | tuple) else [value])]


def as_sets(name: str, value: Any) -> Any:
    """corpus.valid or corpus.test as written -> {set name: Files or its mapping}."""
    if is_files(value):
        value = {name: value}
    return {k: _as_files(v) for k, v in value.items()} if isinstance(value, dict) else value


SetName = Annotated[str, Field(pattern=WORD_PATTERN)]


class Split(Section):
    """A pinned split: the pairs whose normalised source has the smallest hashes leave the training set."""

    valid: Int = setting(1000, "Pairs taken from train for validation.", "refused", ge=0)
    test: Int = setting(0, "Pairs taken from train for the test.", "refused", ge=0)


class Filters(Section):
    """Which training pairs are left out. Each dropped pair is counted and reported with its reason."""

    max_tokens: Count = setting(200, "Most tokens of either side; longer pairs are left out.", "refused")
    max_ratio: Number | None = setting(
        None, "Most tokens of one side for each token of the other; null: no limit.", "refused", ge=1
    )
    max_characters: Count = setting(
        5000, "Most characters of either side; longer pairs are left out before tokenisation.", "refused"
    )
    drop_duplicates: Bool = setting(
        False, "Leave out repeated pairs. They are counted and reported in any case.", "refused"
    )
    drop_overlap: Literal["none", "pair", "source"] = setting(
        "none",
        "Leave out training pairs that validation or test also has: the same pair, or the same source."
        " They are counted and reported in any case.",
        "refused",
    )


class CorpusConfig(Section):
    """The sentence pairs and their languages."""

    source_language: Text = setting(
        ..., "Language to translate from, such as en.", "refused", pattern=WORD_PATTERN
    )
    target_language: Text = setting(
        ..., "Language to translate into, such as it.", "refused", pattern=WORD_PATTERN
    )
    train: Annotated[list[Files], BeforeValidator(as_list)] = setting(
        ..., "The training pairs: one place or a list of places.", "announced", min_length=1
    )
    valid: Annotated[dict[SetName, Files] | None, BeforeValidator(lambda value: as_sets("valid", value))] = (
        setting(
            None,
            "Validation pairs: one place, or several by name. The first set decides which weights are best.",
            "announced",
        )
    )
    test: Annotated[dict[SetName, Files] | None, BeforeValidator(lambda value: as_sets("test", value))] = (
        setting(None, "Test pairs for `evaluate`: one place, or several by name.", "announced")
    )
    split: Split | None = setting(
        None, "Take validation and test pairs from train, when they have no files.", "refused"
    )
    filters: Filters = setting(Filters(), "Which training pairs are left out.", "refused")
    licence: Text | None = setting(None, "Licence of the pairs, for the model card.", "free")
    description: Text | None = setting(None, "What the pairs are, for the model card.", "free")

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if self.split is not None:
            found += [
                (("split", key), f"takes the place of {key} files; remove corpus.split or corpus.{key}")
                for key, sets, count in (
                    ("valid", self.valid, self.split.valid),
                    ("test", self.test, self.split.test),
                )
                if sets is not None and count > 0
            ]
        return found


class TokenizerConfig(Section):
    """How text becomes tokens. The tokenizer is trained inside the run, on the training pairs only."""

    kind: Literal["bpe", "unigram", "word", "character"] = setting(
        "bpe", "Subwords (bpe, unigram), whole words, or single characters.", "refused"
    )
    vocab_size: Annotated[int, Strict(), Ge(5)] | Literal["auto"] = setting(
        "auto", "Most entries of a vocabulary; auto: from the number of pairs.", "refused"
    )
    shared: Bool = setting(True, "One vocabulary for both languages, or one for each.", "refused")
    min_frequency: Count = setting(1, "Rarer words, characters or merges get no entry.", "refused")
    split_digits: Bool = setting(False, "Make each digit a token of its own.", "refused")
    lowercase: Bool = setting(
        False, "Lower the case of all text; translations are then in lower case.", "refused"
    )
    dropout: Number = setting(
        0.0,
        "BPE dropout: chance to skip a merge while training, so that words are cut in several ways.",
        "refused",
        ge=0,
        lt=1,
    )
    dropout_samples: Count = setting(
        8, "Ways of cutting stored for each sentence; each epoch takes one.", "refused"
    )

    def problems(self) -> list[Problem]:
        if self.dropout > 0 and self.kind != "bpe":
            return [(("dropout", "kind"), f"works with kind bpe only, not {self.kind}; set it to 0")]
        return []


class ModelConfig(Section):
    """The Transformer: these are the keyword arguments of `translator.model.Transformer`."""

    d_model: Count = setting(256, "Width of the embeddings and of every layer.", "refused")
    num_heads: Count = setting(8, "Attention heads; they divide d_model.", "refused")
    d_ff: Count = setting(1024, "Inner width of the feed-forward layers.", "refused")
    num_encoder_layers: Count = setting(3, "Layers of the encoder.", "refused")
    num_decoder_layers: Count = setting(3, "Layers of the decoder.", "refused")
    dropout: Number = setting(
        0.1, "Dropout of embeddings and of each sub-layer's output.", "announced", ge=0, lt=1
    )
    attention_dropout: Number = setting(0.0, "Dropout of attention weights.", "announced", ge=0, lt=1)
    feedforward_dropout: Number = setting(
        0.0, "Dropout inside the feed-forward layers.", "announced", ge=0, lt=1
    )
    norm: Literal["pre", "post"] = setting(
        "pre", "Normalise before each sub-layer, or after each sum (Vaswani et al. 2017).", "refused"
    )
    norm_kind: Literal["layer", "rms"] = setting("layer", "LayerNorm or RMSNorm.", "refused")
    norm_gain: Literal["feature", "scalar"] = setting(
        "feature", "A gain for each feature, or a single one for each normalisation.", "refused"
    )
    positions: Literal["sinusoidal", "learned", "rotary"] = setting(
        "sinusoidal", "How the model knows the order of tokens.", "refused"
    )
    max_positions: Count = setting(1024, "Longest text in tokens that learned positions can take.", "refused")
    activation: Literal["relu", "gelu", "swiglu"] = setting(
        "relu", "Activation of the feed-forward layers.", "refused"
    )
    share_embeddings: Literal["none", "target", "all"] = setting(
        "all",
        "none: three separate tables; target: target embedding and output projection are one;"
        " all: source embedding too, over a shared vocabulary.",
        "refused",
    )
    scale_embeddings: Bool = setting(True, "Multiply embeddings by the square root of d_model.", "refused")
    initialisation: Literal["xavier", "normal"] = setting(
        "xavier", "Distribution of the first weights.", "refused"
    )

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if self.d_model % self.num_heads:
            found.append(
                (("num_heads", "d_model"), f"{self.num_heads} does not divide d_model: {self.d_model}")
            )
        elif self.positions == "rotary" and self.d_model // self.num_heads % 2:
            width = self.d_model // self.num_heads
            found.append(
                (
                    ("positions", "d_model"),
                    f"rotary needs heads of even width; d_model / num_heads is {width}",
                )
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            found.append((("positions", "d_model"), f"sinusoidal needs an even d_model, not {self.d_model}"))
        return found


class BatchConfig(Section):
    """How many pairs make a step."""

    tokens: Int = setting(
        4096,
        "Most tokens of one batch: rows x (longest source or target), padding counted.",
        "announced",
        ge=2,
    )
    accumulate: Count = setting(1, "Batches whose gradients make one step.", "announced")


class OptimConfig(Section):
    """Adam, its learning rate over time, and the averaging of weights."""

    learning_rate: Number = setting(
        1e-3, "Peak learning rate; under schedule vaswani a factor of its formula.", "announced", gt=0
    )
    schedule: Literal["inverse_sqrt", "vaswani", "cosine", "linear", "constant"] = setting(
        "inverse_sqrt", "Shape of the learning rate after warm-up.", "announced"
    )
    warmup_steps: Int = setting(1000, "Steps over which the learning rate rises from 0.", "announced", ge=0)
    min_learning_rate: Number = setting(0.0, "The learning rate does not fall below this.", "announced", ge=0)
    betas: tuple[Number, Number] = setting(
        (0.9, 0.98), "Adam's two decay rates, each from 0 to below 1.", "announced"
    )
    eps: Number = setting(1e-9, "Adam's epsilon.", "announced", gt=0)
    weight_decay: Number = setting(
        0.0, "Decoupled weight decay (AdamW) of matrices; 0: plain Adam.", "announced", ge=0
    )
    label_smoothing: Number = setting(
        0.1, "Share of each target spread over the vocabulary.", "announced", ge=0, lt=1
    )
    clip_norm: Number | None = setting(
        1.0, "Largest gradient norm; larger ones are scaled down; null: no limit.", "announced", gt=0
    )
    average: Literal["none", "ema", "last"] = setting(
        "ema",
        "Weights used for validation and translation: the plain ones, an exponential moving average,"
        " or the mean of the last checkpoints.",
        "announced",
    )
    average_decay: Number = setting(
        0.999, "Decay of the moving average for each step.", "announced", gt=0, lt=1
    )
    average_last: Count = setting(5, "Checkpoints in the mean when average is last.", "announced")

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if not all(0 <= beta < 1 for beta in self.betas):
            found.append((("betas",), f"{list(self.betas)}: each must be at least 0 and below 1"))
        if self.min_learning_rate > self.learning_rate and self.schedule != "vaswani":
            found.append((("min_learning_rate", "learning_rate"), "is above optim.learning_rate"))
        return found


class TrainConfig(Section):
    """How long to train, and what to do at which step. A step is one update of the weights."""

    steps: Count | None = setting(None, "Stop after this many steps.", "announced")
    epochs: Number | None = setting(
        None, "Stop after this many passes over the training pairs.", "announced", gt=0
    )
    minutes: Number | None = setting(
        None, "Stop after this many minutes of training; the schedule is fitted to them.", "announced", gt=0
    )
    validate_every: Count | Literal["auto"] = setting(500, "Steps between validations.", "announced")
    save_every: Count = setting(500, "Steps between checkpoints.", "free")
    keep: Count = setting(3, "Newest checkpoints that are kept, besides the best.", "free")
    log_every: Count = setting(50, "Steps between lines of the log and points of the curves.", "free")
    stop_on: Text | None = setting(
        "valid/bleu",
        "Metric that says which weights are best: valid/METRIC for the first validation set, or SET/METRIC."
        " METRIC: loss, perplexity, accuracy, bleu, chrf, cer, wer.",
        "announced",
    )
    stop_direction: Literal["min", "max"] | None = setting(
        None, "Whether a low or a high stop_on is good; known for the metrics above.", "announced"
    )
    patience: Count | None = setting(
        None, "Stop after this many validations without improvement; null: never.", "announced"
    )
    max_bad_steps: Count = setting(
        10, "Stop after this many steps in a row with a loss or gradient that is not finite.", "announced"
    )
    samples: Int = setting(5, "Sample translations logged at each validation.", "free", ge=0)
    validate_first: Bool = setting(True, "Validate once before the first step.", "free")


class DeviceConfig(Section):
    """Where and how to compute. auto is decided once, stored with the run, and kept on resume."""

    kind: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", "Processor; auto: CUDA, then MPS, then CPU.", "announced"
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "Number format of the layers; auto: the fastest that the processor has.", "announced"
    )
    threads: Count | Literal["auto"] = setting("auto", "Threads on a CPU.", "announced")
    compile: Bool | Literal["auto"] = setting("auto", "Compile the model with torch.compile.", "announced")
    deterministic: Bool = setting(
        False, "Only operations that give the same bits each time; slower on a GPU.", "announced"
    )


class DecodeConfig(Section):
    """How translations are made. `translate` and `evaluate` have options of the same names."""

    beam_size: Count = setting(1, "Hypotheses kept by beam search; 1: greedy.", "free")
    length_penalty: Number = setting(
        0.6, "Exponent of the length penalty of beam search (Wu et al. 2016); 0: none.", "free", ge=0
    )
    max_length_ratio: Number = setting(
        2.0, "Longest translation, in tokens for each source token.", "free", gt=0
    )
    max_length_extra: Int = setting(20, "Tokens added to that longest length.", "free", ge=0)
    max_source_tokens: Count = setting(
        1024, "Longest source in tokens; longer lines are reported and cut.", "free"
    )
    batch_tokens: Count = setting(4096, "Most source tokens of one batch, padding counted.", "free")
    split_sentences: Bool = setting(False, "Translate the sentences of a line one by one.", "free")


class Config(Section):
    """A whole run. Only corpus must be given; all other sections have defaults that work."""

    name: Text | None = setting(
        None,
        "Folder name under runs/ and weights/: letters, digits, dot, _ and -; by default the file's name.",
        "refused",
        pattern=NAME_PATTERN,
        max_length=100,
    )
    seed: Int = setting(1, "Where all randomness starts from.", "refused", ge=0, lt=2**32)
    corpus: CorpusConfig = setting(..., "The sentence pairs and their languages.", "refused")
    tokenizer: TokenizerConfig = setting(TokenizerConfig(), "How text becomes tokens.", "refused")
    model: ModelConfig = setting(ModelConfig(), "The Transformer.", "refused")
    batch: BatchConfig = setting(BatchConfig(), "How many pairs make a step.", "announced")
    optim: OptimConfig = setting(OptimConfig(), "Adam and its schedule.", "announced")
    train: TrainConfig = setting(TrainConfig(), "How long to train.", "announced")
    device: DeviceConfig = setting(DeviceConfig(), "Where to compute.", "announced")
    decode: DecodeConfig = setting(DecodeConfig(), "How translations are made.", "free")

    def problems(self) -> list[Problem]:
        return problems_between_sections(self)
