"""Every setting of a run: its name, type, limits, default, and what a change of it means on resume.

One model for each section of the YAML file; `data` has those about sentence pairs. Nothing here reads
files; `loading` does. The tables of docs/configuration.md and the JSON schema for editors are made from
these models.
"""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict, model_validator

from translator.config.base import (
    MOST_LAYERS,
    MOST_POSITIONS,
    MOST_WIDTH,
    NAME_PATTERN,
    Bool,
    Count,
    Duration,
    Int,
    Number,
    Problem,
    Section,
    Text,
    setting,
)
from translator.config.checks import LOWER_IS_BETTER, problems_between_sections
from translator.config.data import CorpusConfig, TokenizerConfig


class ModelConfig(Section):
    """The Transformer: these are the keyword arguments of `translator.model.Transformer`."""

    d_model: Count = setting(256, "Width of the embeddings and of every layer.", "refused", le=MOST_WIDTH)
    num_heads: Count = setting(8, "Attention heads; they divide d_model.", "refused", le=MOST_WIDTH)
    d_ff: Count = setting(1024, "Inner width of the feed-forward layers.", "refused", le=MOST_WIDTH)
    num_encoder_layers: Count = setting(3, "Layers of the encoder.", "refused", le=MOST_LAYERS)
    num_decoder_layers: Count = setting(3, "Layers of the decoder.", "refused", le=MOST_LAYERS)
    dropout: Number = setting(0.1, "Dropout of embeddings and of each sub-layer's output.", "announced", ge=0, lt=1)
    attention_dropout: Number = setting(0.0, "Dropout of attention weights.", "announced", ge=0, lt=1)
    feedforward_dropout: Number = setting(0.0, "Dropout inside the feed-forward layers.", "announced", ge=0, lt=1)
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
    max_positions: Count = setting(
        1024, "Longest text in tokens that learned positions can take.", "refused", le=MOST_POSITIONS
    )
    activation: Literal["relu", "gelu", "swiglu"] = setting("relu", "Activation of the feed-forward layers.", "refused")
    share_embeddings: Literal["none", "target", "all"] = setting(
        "all",
        "none: three separate tables; target: target embedding and output projection are one;"
        " all: source embedding too, over a shared vocabulary.",
        "refused",
    )
    scale_embeddings: Bool = setting(True, "Multiply embeddings by the square root of d_model.", "refused")
    initialisation: Literal["xavier", "normal"] = setting("xavier", "Distribution of the first weights.", "refused")

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if self.d_model % self.num_heads:
            found.append((("num_heads", "d_model"), f"{self.num_heads} does not divide d_model: {self.d_model}"))
        elif self.positions == "rotary" and self.d_model // self.num_heads % 2:
            width = self.d_model // self.num_heads
            found.append(
                (
                    ("positions", "d_model"),
                    f"rotary needs heads of even width; d_model / num_heads is {width}",
                )
            )
        if self.d_model % 2:
            found.append((("d_model",), f"{self.d_model} is odd; positions come in pairs of features"))
        return found


class BatchConfig(Section):
    """How many pairs make a step."""

    tokens: Annotated[int, Strict(), Ge(2), Le(2**24)] | Literal["auto"] = setting(
        "auto",
        "Most tokens of one batch: rows x (longest source or target), padding counted; auto: what suits the corpus and"
        " fits into memory (docs/memory.md), decided once and kept on resume.",
        "announced",
    )
    accumulate: Count = setting(1, "Batches whose gradients make one step.", "announced")


class OptimConfig(Section):
    """Adam, its learning rate over time, and the averaging of weights."""

    learning_rate: Number = setting(
        1e-3, "Peak learning rate; under schedule vaswani a factor of its formula.", "announced", gt=0
    )
    schedule: Literal["inverse_sqrt", "vaswani", "cosine", "linear", "constant"] = setting(
        "cosine", "Shape of the learning rate after warm-up.", "announced"
    )
    warmup_steps: Annotated[Int, Field(ge=0)] | Literal["auto"] = setting(
        "auto",
        "Steps over which the learning rate rises from 0; auto: a tenth of the run, at most 1,000.",
        "announced",
    )
    min_learning_rate: Number = setting(0.0, "The learning rate does not fall below this.", "announced", ge=0)
    betas: tuple[Number, Number] = setting((0.9, 0.98), "Adam's two decay rates, each from 0 to below 1.", "announced")
    eps: Number = setting(1e-9, "Adam's epsilon.", "announced", gt=0)
    weight_decay: Number = setting(0.0, "Decoupled weight decay (AdamW) of matrices; 0: plain Adam.", "announced", ge=0)
    label_smoothing: Number = setting(0.1, "Share of each target spread over the vocabulary.", "announced", ge=0, lt=1)
    clip_norm: Number | None = setting(
        1.0, "Largest gradient norm; larger ones are scaled down; null: no limit.", "announced", gt=0
    )
    average: Literal["none", "ema", "last"] = setting(
        "ema",
        "Weights used for validation and translation: the plain ones, an exponential moving average,"
        " or the mean of the weights at the last validations.",
        "announced",
    )
    average_decay: Number = setting(0.999, "Decay of the moving average for each step.", "announced", gt=0, lt=1)
    average_last: Count = setting(
        5, "Validations whose weights are in the mean when average is last.", "announced", le=1000
    )

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if not all(0 <= beta < 1 for beta in self.betas):
            found.append((("betas",), f"{list(self.betas)}: each must be at least 0 and below 1"))
        if self.min_learning_rate > self.learning_rate and self.schedule != "vaswani":
            found.append((("min_learning_rate", "learning_rate"), "is above optim.learning_rate"))
        return found


class TrainConfig(Section):
    """How long to train, and what to do at which step. A step is one update of the weights."""

    steps: Count | None = setting(None, "Stop after this many steps; 10000 when no limit is given.", "announced")
    epochs: Number | None = setting(None, "Stop after this many passes over the training pairs.", "announced", gt=0)
    minutes: Number | None = setting(
        None,
        "Stop after this many minutes of training; the schedule is fitted to them unless steps or epochs are given.",
        "announced",
        gt=0,
    )
    stop_after: Duration | None = setting(
        None,
        "End this job after this time, in minutes or as 3h30m: the step in hand ends, a checkpoint is written, and the"
        " exit status is 75. The next job goes on.",
        "free",
    )
    validate_every: Count | Literal["auto"] = setting(
        "auto",
        "Steps between validations; auto: 20 in a run, fewer where a run limited by minutes would lose over a"
        " twelfth of them.",
        "announced",
    )
    save_every: Count = setting(500, "Steps between checkpoints.", "free")
    keep: Count = setting(3, "Newest checkpoints that are kept, besides the best.", "free")
    log_every: Count = setting(50, "Steps between lines of the log and points of the curves.", "free")
    stop_on: Text | None = setting(
        "valid/bleu",
        "Metric that says which weights are best: valid/METRIC for the first validation set, or SET/METRIC."
        f" METRIC: {', '.join(LOWER_IS_BETTER)} (the last comes only where no reference has four words).",
        "announced",
    )
    stop_direction: Literal["min", "max"] | None = setting(
        None, "Whether a low or a high stop_on is good. It is known; another value than that is refused.", "announced"
    )
    patience: Count | None = setting(
        None, "Stop after this many validations without improvement; null: never.", "announced"
    )
    max_bad_steps: Count = setting(
        10, "Stop after this many steps in a row with a loss or gradient that is not finite.", "announced"
    )
    samples: Int = setting(5, "Sample translations logged at each validation.", "free", ge=0)
    init_from: Text | None = setting(
        None,
        "Begin with the weights of another run, by its name or by the path of its folder. Vocabulary and model come"
        " from there; what was written of them here must agree.",
        "refused",
    )
    validate_first: Bool = setting(True, "Validate once before the first step.", "free")

    @model_validator(mode="before")
    @classmethod
    def _limit(cls, values: Any) -> Any:
        limits = ("steps", "epochs", "minutes")
        if isinstance(values, dict) and all(values.get(limit) is None for limit in limits):
            return {**values, "steps": 10_000}
        return values


class DeviceConfig(Section):
    """Where and how to compute. auto is decided once, stored with the run, and kept on resume."""

    kind: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", "Processor; auto: CUDA, then MPS, then CPU.", "announced"
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "Number format of the layers; auto: the fastest that the processor has.", "announced"
    )
    threads: Count | Literal["auto"] = setting("auto", "Threads on a CPU.", "announced")
    compile: Bool | Literal["auto"] = setting(
        "auto",
        "Compile the model with torch.compile, which delays the first steps; a resumed run is then equal to rounding "
        "only. auto: not compiled.",
        "announced",
    )
    deterministic: Bool = setting(
        False, "Only operations that give the same bits each time; slower on a GPU.", "announced"
    )


class DecodeConfig(Section):
    """How translations are made. `translate` and `evaluate` have options of the same names."""

    beam_size: Count = setting(1, "Hypotheses kept by beam search; 1: greedy.", "free")
    length_penalty: Number = setting(
        0.6, "Exponent of the length penalty of beam search (Wu et al. 2016); 0: none.", "free", ge=0
    )
    max_length_ratio: Number = setting(2.0, "Longest translation, in tokens for each source token.", "free", gt=0)
    max_length_extra: Int = setting(20, "Tokens added to that longest length.", "free", ge=0)
    max_source_tokens: Count = setting(1024, "Longest source in tokens; longer lines are reported and cut.", "free")
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
