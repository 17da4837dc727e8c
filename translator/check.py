"""Whether a weights folder is whole: every file is read and verified, nothing is changed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from translator.checkpoint import all_finite, list_checkpoints, load_checkpoint, read_pointer
from translator.config import load_stored_config
from translator.errors import CheckpointError, TranslatorError
from translator.files import folder_size, megabytes
from translator.weights import WEIGHTS, load_tokenizers, load_weights, read_weights

POINTERS = ("newest", "best")


@dataclass(frozen=True)
class Part:
    """A file or folder of a weights folder, and what was found of it."""

    name: str
    whole: bool
    found: str


def check_folder(folder: Path) -> list[Part]:
    """Verify configuration, tokenizers, weights, that they belong together, and every checkpoint."""
    checkpoints = folder / "checkpoints"
    parts = [
        _part("config.yaml", lambda: _config(folder)),
        _part("tokenizers", lambda: _tokenizers(folder)),
        _part(WEIGHTS, lambda: _weights(folder / WEIGHTS)),
        _part("all together", lambda: _together(folder)),
    ]
    for one in list_checkpoints(checkpoints):
        parts.append(_part(f"checkpoints/{one.name}", lambda one=one: _checkpoint(one)))  # type: ignore[misc]
    for name in POINTERS:
        if (checkpoints / name).exists():
            parts.append(_part(f"checkpoints/{name}", lambda name=name: _pointer(checkpoints / name)))  # type: ignore[misc]
    return parts


def _part(name: str, look: Callable[[], str]) -> Part:
    try:
        return Part(name, True, look())
    except TranslatorError as error:
        return Part(name, False, str(error))
    except OSError as error:
        return Part(name, False, f"{error.filename}: {error.strerror}.")


def _config(folder: Path) -> str:
    config = load_stored_config(folder)
    return f"{config.corpus.source_language} to {config.corpus.target_language}"


def _tokenizers(folder: Path) -> str:
    source, target = load_tokenizers(folder)
    if source is target:
        return f"{source.kind}, {source.vocab_size:,} entries for both sides"
    return f"{source.kind}, {source.vocab_size:,} and {target.vocab_size:,} entries"


def _weights(file: Path) -> str:
    tensors, metadata = read_weights(file)
    verified = "checksum right" if "sha256" in metadata else "no checksum in it"
    return f"step {metadata['step']}, {len(tensors)} tensors, {megabytes(file.stat().st_size)}, {verified}, all finite"


def _together(folder: Path) -> str:
    num_parameters = sum(parameter.numel() for parameter in load_weights(folder).model.parameters())
    return f"a model of {num_parameters:,} parameters, with the tokenizers that it was trained with"


def _checkpoint(folder: Path) -> str:
    loaded = load_checkpoint(folder)
    for part, tensors in loaded.tensors.items():
        for name, tensor in tensors.items():
            if not all_finite(tensor):
                raise CheckpointError(f"{folder / part}.safetensors: {name} holds values that are not numbers.")
    return f"{len(loaded.tensors) + 1} files, {megabytes(folder_size(folder))}, checksums right, all finite"


def _pointer(file: Path) -> str:
    name = read_pointer(file)
    if file.parent / name not in list_checkpoints(file.parent):
        raise CheckpointError(f"{file} names {name!r}, which is no checkpoint of that folder.")
    return name
