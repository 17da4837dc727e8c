"""The weights folder: what a program needs to translate, written and read safely.

    model.safetensors                                       float32 tensors, and what they belong to
    tokenizer.json, or tokenizer.source.json and tokenizer.target.json
    config.yaml

Nothing in it can run code, and nothing is used before all of it has been found to belong together.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from translator.checkpoint import FORMAT_VERSION, all_finite, load_tensors, save_tensors
from translator.config import Config, load_stored_config
from translator.errors import CheckpointError
from translator.files import check_inside, room_for
from translator.memory import Sizes
from translator.model import Transformer
from translator.tokenizer import Tokenizer

WEIGHTS = "model.safetensors"
SHARED_TOKENIZER, TOKENIZERS = "tokenizer.json", ("tokenizer.source.json", "tokenizer.target.json")
METADATA = (
    "format_version",
    "step",
    "longest_source",
    "src_tokenizer",
    "tgt_tokenizer",
    "src_vocab_size",
    "tgt_vocab_size",
)
CONTENT = "sha256"  # of the tensors and of the metadata above, in the metadata; absent in files of version 0.1


@dataclass(frozen=True)
class LoadedWeights:
    """The content of a weights folder; the model is on the CPU, in float32."""

    model: Transformer
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer
    config: Config
    step: int
    longest_source: int
    """Tokens of the longest source that the model was trained on."""


def save_tokenizers(folder: Path, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer) -> None:
    """Write the tokenizers: one file when both sides share one.

    Files of the other form, which a run of that name may have left, are removed: they would be loaded instead.
    """
    if src_tokenizer is tgt_tokenizer:
        files = {SHARED_TOKENIZER: src_tokenizer}
    else:
        files = dict(zip(TOKENIZERS, (src_tokenizer, tgt_tokenizer), strict=True))
    for name in {SHARED_TOKENIZER, *TOKENIZERS} - files.keys():
        (folder / name).unlink(missing_ok=True)
    for name, tokenizer in files.items():
        tokenizer.save(folder / name)


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Read the tokenizers: the same object twice when both sides share one.

    Raises:
        CheckpointError: a file is missing, damaged or not safe.
    """
    files = [folder / SHARED_TOKENIZER]
    if not files[0].is_file():
        files = [folder / name for name in TOKENIZERS]
    for file in files:
        if not file.is_file():
            raise CheckpointError(
                f"{folder} holds neither tokenizer.json nor {file.name}; copy the whole folder again."
            )
        check_inside(file, folder, CheckpointError)
        _refuse_binary(file)
    tokenizers = [Tokenizer.load(file) for file in files]
    return tokenizers[0], tokenizers[-1]


def save_weights(
    folder: Path,
    weights: Mapping[str, Tensor],
    *,
    step: int,
    src_tokenizer: Tokenizer,
    tgt_tokenizer: Tokenizer,
    longest_source: int,
) -> None:
    """Write `model.safetensors` in float32, with what is needed to notice files that do not belong to it."""
    values = (
        FORMAT_VERSION,
        step,
        longest_source,
        src_tokenizer.fingerprint,
        tgt_tokenizer.fingerprint,
        src_tokenizer.vocab_size,
        tgt_tokenizer.vocab_size,
    )
    metadata = {key: str(value) for key, value in zip(METADATA, values, strict=True)}
    tensors = {name: tensor.detach().float().cpu().contiguous() for name, tensor in weights.items()}
    metadata[CONTENT] = _digest(metadata, tensors)
    with room_for(folder / WEIGHTS, sum(tensor.nbytes for tensor in tensors.values())):
        save_tensors(folder / WEIGHTS, tensors, metadata)


def _digest(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of everything in a weights file, whatever the order in which it stands there."""
    digest = hashlib.sha256(json.dumps([metadata[key] for key in METADATA]).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_weights(folder: Path) -> LoadedWeights:
    """Read a weights folder and build its model.

    Raises:
        CheckpointError: something is missing, damaged, unsafe, or does not belong together.
        ConfigError: the stored configuration cannot be read.
    """
    for name in (WEIGHTS, "config.yaml"):
        if not (folder / name).is_file():
            raise CheckpointError(
                f"{folder} holds no {name}: it is not a whole weights folder; copy it again or train first."
            )
        check_inside(folder / name, folder, CheckpointError)
    _refuse_binary(folder / "config.yaml")
    config = load_stored_config(folder)
    src_tokenizer, tgt_tokenizer = load_tokenizers(folder)
    weights, metadata = read_weights(folder / WEIGHTS)
    _check_tokenizers(folder, metadata, src_tokenizer, tgt_tokenizer)
    with torch.device("meta"), _Undrawn():  # the tensors come from the file
        model = make_model(folder / WEIGHTS, config, src_tokenizer, tgt_tokenizer)
    check_tensors(folder / WEIGHTS, weights, model.state_dict())
    # Copies, because the tensors that safetensors gives are the file itself: badly aligned, and gone if it is cut.
    copies = {name: tensor.to(torch.float32, copy=True) for name, tensor in weights.items()}
    model.load_state_dict(copies, assign=True)
    longest = int(metadata["longest_source"])
    return LoadedWeights(model, src_tokenizer, tgt_tokenizer, config, int(metadata["step"]), longest)


def read_weights(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a weights file. Raises CheckpointError when its content is not what was written."""
    check_inside(file, file.parent, CheckpointError)
    tensors, metadata = load_tensors(file), _read_metadata(file)
    if metadata.get(CONTENT, "") not in ("", _digest(metadata, tensors)):
        raise CheckpointError(f"{file} is damaged (its checksum differs); copy it again or use another checkpoint.")
    for name, tensor in tensors.items():
        if not all_finite(tensor):
            raise CheckpointError(f"{file} is damaged: {name} holds values that are not numbers.")
    return tensors, metadata


class _Undrawn(TorchFunctionMode):
    """Draws no first weights: on the device "meta" that would load torch's compiler, as long as torch itself takes."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if function in _DRAWS:
            return args[0] if args else named["tensor"]
        return function(*args, **named)


_DRAWS = (nn.init.normal_, nn.init.uniform_, torch.Tensor.normal_, torch.Tensor.uniform_)


def find_folder(name_or_path: str | Path, home: Path | None = None) -> Path:
    """The weights folder with that path, or with that name under `weights/` of `home`.

    `home` is by default $TRANSLATOR_HOME or the current folder. Raises CheckpointError where there is none.
    """
    path = Path(name_or_path)
    if path.is_file():
        if path.name == WEIGHTS:
            return path.parent
        raise CheckpointError(f"{path} is not a safe checkpoint: give the weights folder that holds {WEIGHTS}.")
    if path.is_dir() and (path / WEIGHTS).exists():
        return path
    weights = (Path(os.environ.get("TRANSLATOR_HOME", ".")) if home is None else home) / "weights"
    if len(path.parts) == 1 and (weights / path).is_dir():
        return weights / path
    if path.is_dir():
        return path
    known = ", ".join(sorted(file.parent.name for file in weights.glob(f"*/{WEIGHTS}"))) or "none"
    raise CheckpointError(f"{path} is neither a weights folder nor a name under {weights} (there: {known}).")


def _refuse_binary(file: Path) -> None:
    """UTF-8 text begins with none of these bytes; pickles, archives and arrays do."""
    with file.open("rb") as opened:
        first = opened.read(2)
    if first == b"PK" or first[:1] < b"\t" or b"\x7f" <= first[:1] < b"\xc0":
        raise CheckpointError(f"{file} is not a safe checkpoint: it is no text file.")


def _read_metadata(file: Path) -> dict[str, str]:
    try:
        with safe_open(file, framework="pt") as opened:
            metadata: dict[str, str] = opened.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is not a safe checkpoint (safetensors): {error}.") from error
    missing = [key for key in METADATA if key not in metadata]
    missing += [key for key in ("step", "longest_source") if not re.fullmatch("[0-9]{1,15}", metadata.get(key, "0"))]
    if missing:
        raise CheckpointError(f"{file} was not published by this program: its metadata lacks {', '.join(missing)}.")
    if metadata["format_version"] != str(FORMAT_VERSION):
        raise CheckpointError(
            f"{file} has format {metadata['format_version']}, this program reads format {FORMAT_VERSION}; "
            "use the version of the program that wrote it."
        )
    return metadata


def _check_tokenizers(
    folder: Path, metadata: Mapping[str, str], src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer
) -> None:
    """Refuse tokenizers that the model was not trained with: every token would mean another word."""
    for side, name, tokenizer in (("src", "source", src_tokenizer), ("tgt", "target", tgt_tokenizer)):
        expected, size = metadata[f"{side}_tokenizer"], metadata[f"{side}_vocab_size"]
        if tokenizer.fingerprint != expected:
            raise CheckpointError(
                f"The {name} tokenizer in {folder} does not belong to these weights: it has "
                f"{tokenizer.vocab_size} entries and SHA-256 {tokenizer.fingerprint[:12]}, they were trained with "
                f"{size} entries and SHA-256 {expected[:12]}; copy the whole folder again."
            )


def make_model(file: Path, config: Config, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer) -> Transformer:
    """The model that a stored configuration describes, for the tensors in `file`.

    Raises CheckpointError where it is larger than the file can hold, before anything of its size is made, or where no
    model has such settings.
    """
    settings = config.model.model_dump()
    vocab_sizes = src_tokenizer.vocab_size, tgt_tokenizer.vocab_size
    sizes = Sizes.of(settings, src_vocab_size=vocab_sizes[0], tgt_vocab_size=vocab_sizes[1])
    num_parameters, num_bytes = sizes.num_parameters(), file.stat().st_size
    if num_parameters > num_bytes:
        raise CheckpointError(
            f"The stored config.yaml describes a model of {num_parameters:,} parameters, but {file.name} in "
            f"{file.parent} is only {num_bytes:,} bytes long; copy the whole folder again."
        )
    try:
        return Transformer(*vocab_sizes, **settings, pad_id=src_tokenizer.pad_id)
    except (ValueError, RuntimeError) as error:
        raise CheckpointError(f"The stored config.yaml describes no possible model for {file}: {error}.") from error


def check_tensors(file: Path, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names, shapes or types than a model expects."""
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [f"{name} is unknown" for name in found if name not in expected]
    problems += [
        f"{name} has the shape {tuple(tensor.shape)}, not {tuple(expected[name].shape)}"
        for name, tensor in found.items()
        if name in expected and tensor.shape != expected[name].shape
    ]
    if problems:
        more = f" (and {len(problems) - 2} more)" if len(problems) > 2 else ""
        raise CheckpointError(
            f"{file} does not fit the stored config.yaml: {'; '.join(problems[:2])}{more}; copy the whole folder again."
        )
    for name, tensor in found.items():
        if tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise CheckpointError(f"{file}: {name} holds {tensor.dtype}, not floating-point weights of 16 or 32 bits.")
