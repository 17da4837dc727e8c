"""Damage to every file of a weights folder, at many places."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from translator.check import check_folder

OFFSETS = 16  # places in a file, evenly spread
UNREAD = {"README.md"}


def damage_everything(home: Path, folder: Path) -> int:
    """Damage a copy of the weights of `home`, one file and place after the other; each must be found.

    Returns the number of damages.
    """
    shutil.copytree(home / "weights" / "run", folder)
    assert all(part.whole for part in check_folder(folder))
    number = 0
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in UNREAD):
        whole = file.read_bytes()
        for damage, content in damages(whole):
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)
            if not _harmless(file, damage):
                found = [part.found for part in check_folder(folder) if not part.whole]
                assert found, f"{file}: {damage}"
                number += 1
            file.write_bytes(whole)
    shutil.rmtree(folder)
    return number


def damages(whole: bytes) -> Iterator[tuple[str, bytes | None]]:
    """What can become of a file: missing, empty, cut short, with one bit flipped."""
    yield "missing", None
    yield "empty", b""
    for part in (0.25, 0.5, 0.99):
        yield "cut", whole[: int(part * len(whole))]
    for number in range(OFFSETS):
        place = number * (len(whole) - 1) // (OFFSETS - 1)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (number % 8)
        yield f"a bit at {place}", bytes(flipped)


def _harmless(file: Path, damage: str) -> bool:
    """A pointer that is missing is made anew; white space of a tokenizer, or the comment that begins config.yaml, is
    not read."""
    if file.name in ("newest", "best"):
        return damage == "missing" or file.read_bytes().split() in _names(file.parent)
    if not damage.startswith("a bit"):
        return False
    return file.name in ("config.yaml",) and not file.read_bytes().startswith(b"# Remove this line")


def _names(checkpoints: Path) -> list[list[bytes]]:
    return [[path.name.encode()] for path in checkpoints.glob("step-*")]
