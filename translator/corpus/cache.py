"""Folders of the cache: made once from what decides their content, complete or absent, found damaged or whole.

What takes long is made in parts, each a folder that is complete or absent too; they outlive a kill of the process.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import xxhash

from translator.errors import CorpusError, TranslatorError
from translator.files import (
    NO_ROOM,
    cache_folder,
    held_folder,
    make_folder,
    megabytes,
    new_folder,
    remove_unheld,
    write_atomic,
)

TABLE_VERSION = 4
"""Part of every cache key: raise it when reading or hashing changes."""

ABANDONED_SECONDS = 24 * 3600


def cache_key(*identity: Any) -> str:
    """The name of a cache folder: a hash of JSON values."""
    canonical = json.dumps([TABLE_VERSION, *identity], sort_keys=True, ensure_ascii=False)
    return xxhash.xxh3_128_hexdigest(canonical.encode())


def cached(
    key: str, build: Callable[[Path], dict[str, Any]], *, what: str, num_bytes: int = 0, parent: Path | None = None
) -> tuple[Path, dict[str, Any]]:
    """The cache folder of `key` and what `build` said of it; built where it is missing or damaged.

    A folder appears under its name only when it is complete, and its checksums are tested at each use.

    Args:
        build: fills the folder that it is given; returns JSON values.
        what: what is built, for the message when there is no room for it.
        num_bytes: about how much room is needed while it is built; 0: not known.
        parent: where the folder lies, by default among the tables of pairs.

    Raises:
        CorpusError: the folder cannot be written.
    """
    folder = (parent or cache_folder() / "pairs") / key
    info = _intact(folder)
    if info is not None:
        return folder, info
    try:
        with new_folder(folder) as temporary:
            built = build(temporary)
            sums = {path.name: checksum(path) for path in sorted(temporary.iterdir())}
            write_atomic(temporary / "entry.json", json.dumps({"xxh3": sums, "info": built}))
    except OSError as error:  # without a number where numpy or Arrow could not write
        known = num_bytes and error.errno in {*NO_ROOM, None}
        need = f"; {what} needs about {megabytes(num_bytes)}" if known else ""
        raise CorpusError(
            f"the cache folder {folder.parent} cannot be written ({error.strerror or error}){need}; "
            f"make room there, or set TRANSLATOR_CACHE to another folder"
        ) from error
    return folder, built


@contextmanager
def parts_folder(key: str) -> Iterator[Path]:
    """A folder for the finished parts of what `key` names, removed when all is done, or cannot be done at all.

    When the process is killed, or there is no room, it stays, and the next process finds the parts there. While another
    process works in it, this one gets a folder of its own.
    """
    parent = cache_folder() / "parts"
    make_folder(parent)
    remove_unheld(_abandoned(parent, key))
    with ExitStack() as stack:
        folder = parent / key
        if not stack.enter_context(held_folder(folder)):
            folder = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=parent))
            stack.enter_context(held_folder(folder))
        try:
            yield folder
        except TranslatorError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _abandoned(parent: Path, key: str) -> Iterator[Path]:
    """Parts of which a day ago nobody made another one, those of `key` aside."""
    for folder in parent.iterdir():
        with suppress(OSError):  # gone
            if folder.name != key and folder.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                yield folder


def checksum(path: Path) -> str:
    """XXH3 of a file, read in pieces: as fast as memory, and it finds damage, though not malice."""
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _intact(folder: Path) -> dict[str, Any] | None:
    """What is written in a complete and undamaged cache folder, else None."""
    try:
        entry = json.loads((folder / "entry.json").read_text(encoding="utf-8"))
        if all(checksum(folder / name) == known for name, known in entry["xxh3"].items()):
            return dict(entry["info"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None
