"""Damage to every file of a weights folder, at many places."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from translator.check import check_folder
from translator.config.reading import SEAL
from translator.errors import TranslatorError
from translator.tokenizer import Tokenizer

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
            if not _harmless(file, home / "weights" / "run" / file.relative_to(folder)):
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


def _harmless(file: Path, original: Path) -> bool:
    """Damage that changes nothing which is read: a pointer that is gone or still names a checkpoint, white space of a
    tokenizer, and the comment at the top of config.yaml."""
    if file.name in ("newest", "best"):
        names = [path.name for path in file.parent.glob("step-*")]
        return not file.exists() or file.read_bytes().strip().decode(errors="replace") in names
    if not file.exists():
        return False
    if file.name.startswith("tokenizer"):
        with suppress(TranslatorError):
            return Tokenizer.load(file).fingerprint == Tokenizer.load(original).fingerprint
    lines, expected = file.read_bytes().split(b"\n", 1), original.read_bytes().split(b"\n", 1)
    return file.name == "config.yaml" and lines[1:] == expected[1:] and not lines[0].startswith(SEAL.encode())
