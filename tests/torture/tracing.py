"""The order of system calls: what is written, flushed and renamed (Linux, with the program strace)."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CALLS = (  # "?": some processors have no such call
    "?rename,renameat,renameat2,fsync,fdatasync,write,pwrite64,writev,pwritev,ftruncate,"
    "?open,openat,?creat,?mkdir,mkdirat,?unlink,unlinkat,?rmdir"
)
CREATING = ("open", "creat", "mkdir")  # begin the names of the calls that make a file or a folder
REMOVING = ("unlink", "rmdir")
ROOT = Path(__file__).parents[2]
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")


@dataclass(frozen=True)
class Call:
    """A system call that went well: its name, its text, and the path of the file or folder that it is about."""

    name: str
    text: str
    path: str


def trace(folder: Path, *words: str) -> list[Call]:
    """The system calls of `translator WORDS`, run in `folder`, that change files below it."""
    output = folder.parent / "trace.txt"
    environment = {**os.environ, "TRANSLATOR_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    # -y writes the path behind every file descriptor, and --seccomp-bpf leaves all other calls at full speed
    command = ["strace", "-f", "-y", "-s", "0", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", str(output)]
    command += [sys.executable, "-m", "translator", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    with output.open(errors="replace") as lines:
        return list(_calls(lines, str(folder)))


def _calls(lines: Iterator[str], folder: str) -> Iterator[Call]:
    unfinished: dict[str, str] = {}
    for line in lines:
        thread, _, rest = line.partition(" ")
        if "<unfinished ...>" in line:
            unfinished[thread] = line.split("<unfinished")[0].rstrip()
            continue
        if "resumed>" in rest:
            line = unfinished.pop(thread, "") + line.split("resumed>", 1)[1]
        match = CALL.match(line)
        if match is None or int(match[3]) < 0:
            continue
        name, text = match[1], match[2]
        if name.startswith("open") and "O_CREAT" not in text:
            continue
        named = name.startswith(("rename", *CREATING, *REMOVING))  # by a name in an open folder, or in the current one
        found = re.search(r'^(?:\w+<([^>]*)>, )?"([^"]*)"' if named else r"^\d+<([^>]+)>", text)
        path = str(Path(folder, *filter(None, found.groups()))) if found else ""
        if path.startswith(folder):
            yield Call(name, text, os.path.normpath(path))


def unsafe_renames(calls: list[Call], folder: Path) -> tuple[int, list[str]]:
    """Number of renames, and those that a power loss could turn into a loss: of a file or folder with bytes that were
    not flushed, of one in which a new file was not (a folder holds the names of its files), or not followed by a flush
    of the folder that holds the new name."""
    dirty: set[str] = set()  # files with bytes, and folders with names, that are not flushed
    problems: list[str] = []
    waiting: dict[str, str] = {}  # folder that must be flushed -> new name
    number = 0
    for call in calls:
        if "write" in call.name or call.name == "ftruncate":
            dirty.add(call.path)
        elif call.name.startswith(REMOVING):
            dirty.discard(call.path)
        elif call.name.startswith(CREATING):
            dirty.add(str(Path(call.path).parent))
        elif call.name in ("fsync", "fdatasync"):
            dirty.discard(call.path)
            waiting.pop(call.path, None)
        elif call.name.startswith("rename"):
            number += 1
            new = os.path.normpath(folder / re.findall(r'"([^"]*)"', call.text)[1])
            held = [path for path in dirty if path == call.path or path.startswith(f"{call.path}/")]
            if "/.removed-" not in new and not new.endswith((".old", ".tmp")):  # names that nothing reads
                problems += [f"{path} is not flushed before {call.path} becomes {new}" for path in held]
                waiting[str(Path(new).parent)] = new
            dirty = {path.replace(call.path, new, 1) if path in held else path for path in dirty}
            dirty.add(str(Path(new).parent))
    return number, problems + [f"the folder of {new} is never flushed" for new in waiting.values()]
