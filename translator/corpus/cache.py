"""Folders of the cache: made once from what decides their content, complete or absent, found damaged or whole."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import xxhash

from translator.errors import CorpusError, TranslatorError
from translator.files import cache_folder, hold, write_atomic

TABLE_VERSION = 2
"""Part of every cache key: raise it when reading or hashing changes."""

ABANDONED_SECONDS = 24 * 3600


def cache_key(*identity: Any) -> str:
    """The name of a cache folder: a hash of JSON values."""
    canonical = json.dumps([TABLE_VERSION, *identity], sort_keys=True, ensure_ascii=False)
    return xxhash.xxh3_128_hexdigest(canonical.encode())


def cached(key: str, build: Callable[[Path], dict[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """The cache folder of `key` and what `build` said of it; built where it is missing or damaged.

    A folder appears under its name only when it is complete, and its checksums are tested at each use.
    """
    folder = cache_folder() / "pairs" / key
    info = _intact(folder)
    if info is not None:
        return folder, info
    temporary = folder.with_name(f".{key}.{os.getpid()}.tmp")
    try:
        _remove_abandoned(folder.parent)
        temporary.mkdir(parents=True, exist_ok=True)
        built = build(temporary)
        sums = {path.name: checksum(path) for path in sorted(temporary.iterdir())}
        write_atomic(temporary / "entry.json", json.dumps({"xxh3": sums, "info": built}))
        if _intact(folder) is None:  # else another process was faster, and both are equal
            shutil.rmtree(folder, ignore_errors=True)
            temporary.rename(folder)
    except OSError as error:
        raise CorpusError(
            f"the cache folder {folder.parent} cannot be written ({error.strerror or error}); "
            f"make room there, or set TRANSLATOR_CACHE to another folder"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder, built


@contextmanager
def parts_folder(key: str) -> Iterator[Path]:
    """A folder for the finished parts of what `key` names, removed when all is done.

    When the process is killed it stays, and the next process finds the parts there. While another process works in it,
    this one gets a folder of its own.
    """
    parent = cache_folder() / "pairs"
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / f".{key}.parts"
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(folder.with_suffix(".lock"), "these parts"))
            folder.mkdir(exist_ok=True)
        except TranslatorError:
            folder = Path(tempfile.mkdtemp(prefix=f".{key}-", suffix=".parts", dir=parent))
        try:
            yield folder
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            folder.with_suffix(".lock").unlink(missing_ok=True)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def checksum(path: Path) -> str:
    """XXH3 of a file, read in pieces: as fast as memory, and it finds damage, though not malice."""
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _remove_abandoned(parent: Path) -> None:
    """Remove what processes that were killed a day ago and earlier had half written."""
    for path in parent.glob(".*"):
        if path.suffix in (".tmp", ".parts") and path.stat().st_mtime < time.time() - ABANDONED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _intact(folder: Path) -> dict[str, Any] | None:
    """What is written in a complete and undamaged cache folder, else None."""
    try:
        entry = json.loads((folder / "entry.json").read_text(encoding="utf-8"))
        if all(checksum(folder / name) == known for name, known in entry["xxh3"].items()):
            return dict(entry["info"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None
