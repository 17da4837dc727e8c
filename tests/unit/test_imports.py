"""The import table of the design, held by reading the source; any other edge fails."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "translator"

BASE = {"errors", "files", "processes"}  # errors that users can mend; writing files safely; cores and processes
# Modules that can be pasted into a notebook: they import nothing from the package.
ALONE: set[str] = set()
TABLE: dict[str, set[str]] = {
    "__init__": ALONE,
    "errors": ALONE,
    "files": {"errors"},
    "processes": {"errors"},
    "dropout": ALONE,
    "kv_cache": ALONE,
    "attention": {"dropout"},
    "model": {"attention", "dropout", "kv_cache"},
    "loss": ALONE,
    "optim": ALONE,
    "search": ALONE,
    "beam": {"search"},
    "metrics": ALONE,
    "config": BASE,
    "device": BASE | {"threads"},
    "markup": ALONE,
    "corpus": BASE | {"markup", "starter"},
    "tokenizer_form": ALONE,
    "word_ids": ALONE,
    "tokenizer": BASE | {"tokenizer_form", "word_ids"},
    "encode": BASE | {"corpus", "subword_sampling", "tokenizer"},
    "batches": BASE | {"device", "encode"},
    "feed": {"batches", "device"},
    "checkpoint": BASE,
    "subword_sampling": {"processes", "tokenizer", "tokenizer_form"},
    "lines": ALONE,
    "check": BASE | {"checkpoint", "config", "weights"},
    "weights": BASE | {"checkpoint", "config", "memory", "model", "tokenizer"},
    "prefix": BASE | {"tokenizer"},
    "mixing": BASE | {"encode"},
    "training_set": BASE | {"config", "corpus", "encode", "mixing", "prefix", "tokenizer", "validation", "weights"},
    "decode": BASE | {"batches", "beam", "config", "kv_cache", "model", "search", "tokenizer"},
    "translate": BASE
    | {"config", "decode", "device", "lines", "markup", "model", "prefix", "search", "tokenizer", "weights"},
    "initial": BASE | {"config", "tokenizer", "weights"},
    "evaluate": BASE
    | {"batches", "decode", "encode", "loss", "markup", "metrics", "mixing", "model", "tokenizer", "translate"},
    "events": ALONE,
    "log": BASE | {"events"},
    "starter": ALONE,
    "streams": ALONE,
    "threads": ALONE,
    "pictures": ALONE,
    "card": BASE | {"config", "metrics"},
    "validation": BASE | {"batches", "evaluate", "log", "pictures", "translate"},
    "training_state": ALONE,
    "memory": ALONE,
    "budget": BASE | {"attention", "config", "device", "memory"},
    "step": {"batches", "loss", "optim", "training_state"},
    "bad_steps": BASE | {"batches", "step"},
    "health": BASE | {"bad_steps", "batches", "checkpoint", "log", "step", "training_state"},
    "interruption": ALONE,
    "trainer": BASE
    | {
        "batches",
        "checkpoint",
        "device",
        "feed",
        "health",
        "interruption",
        "log",
        "loss",
        "optim",
        "step",
        "training_state",
    },
    "replay": BASE
    | {
        "bad_steps",
        "checkpoint",
        "config",
        "device",
        "model",
        "optim",
        "step",
        "tokenizer",
        "training_state",
        "weights",
    },
    "resuming": BASE | {"checkpoint", "config", "tokenizer", "training_state"},
}
TABLE["run_data"] = BASE | {
    "batches", "budget", "checkpoint", "config", "corpus", "device", "initial", "log", "memory", "mixing", "prefix",
    "resuming", "tokenizer", "training_set", "validation", "weights",
}  # fmt: skip
TABLE["build"] = set(TABLE)
TABLE["survey"] = BASE | {
    "batches", "build", "config", "corpus", "device", "initial", "log", "mixing", "prefix", "run_data", "tokenizer",
    "tokenizer_form", "training_set",
}  # fmt: skip
TABLE["commands"] = TABLE["cli"] = set(TABLE) | {"commands"}
TABLE["__main__"] = {"cli"}

# What may be loaded before a command is known to be free of mistakes.
LIGHT = {"__init__", "__main__", "cli", "commands", "config", "errors", "files", "streams", "threads"}
LIGHT_LIBRARIES = {"annotated_types", "pydantic", "pydantic_core", "ruamel"}

FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(file: Path) -> str:
    """The top module that a file belongs to: translator/corpus/split.py is part of `corpus`."""
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(file: Path, *, at_import_time: bool = False) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each import; only those that run when the module is loaded, if so asked."""
    todo: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if at_import_time and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and at_import_time:
            todo.extend(node.orelse)
            continue
        todo.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["translator", *file.relative_to(PACKAGE).parts[:-1]]
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            name = ".".join(part for part in (base, node.module) if part)
            if name == "translator":  # `from translator import build` names a module, `__version__` does not
                yield from ((node.lineno, f"translator.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, name


def edges(file: Path) -> Iterator[tuple[int, str]]:
    """(line, module) for each import of another part of the package."""
    for line, name in imports(file):
        parts = name.split(".")
        if parts[0] == "translator" and parts[1] not in ("__version__", module_of(file)):
            yield line, parts[1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_follow_the_table(file: Path) -> None:
    module = module_of(file)
    assert module in TABLE, f"{module} is new: give it a row here and in docs/architecture.md"
    wrong = [f"{file.name}:{line} imports {name}" for line, name in edges(file) if name not in TABLE[module]]
    assert not wrong, f"{module} may import {sorted(TABLE[module])}, but {wrong}"


def test_the_reader_of_imports_sees_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    file = tmp_path / "corpus" / "x.py"
    file.parent.mkdir()
    file.write_text(
        "import translator.model\nfrom translator import build, __version__\nfrom translator.loss import a\n"
        "from . import y\nfrom ..search import b\ndef f():\n    from translator.optim import c\n"
    )
    assert sorted(edges(file)) == [(1, "model"), (2, "build"), (3, "loss"), (5, "search"), (7, "optim")]


@pytest.mark.parametrize("file", [f for f in FILES if module_of(f) in LIGHT], ids=lambda file: file.name)
def test_nothing_heavy_is_loaded_before_a_command_runs(file: Path) -> None:
    allowed = LIGHT_LIBRARIES | set(sys.stdlib_module_names)
    for line, name in imports(file, at_import_time=True):
        top, *rest = name.split(".")
        light = rest[0] in LIGHT | {"__version__"} if top == "translator" else top in allowed
        assert light, f"{file.name}:{line} loads {name} at once; import it inside the function that needs it"


def test_every_library_that_is_imported_is_declared_and_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [extra for name, extra in project["optional-dependencies"].items() if name not in ("dev", "bench")]
    names = {requirement.split(">")[0] for part in (project["dependencies"], *extras) for requirement in part}
    declared = {name.replace("-", "_").removesuffix(".yaml") for name in names}
    tops = {name.split(".")[0] for file in FILES for _, name in imports(file)}
    used = tops - set(sys.stdlib_module_names) - {"translator"}
    assert used <= declared, f"not declared in pyproject.toml: {sorted(used - declared)}"
    assert declared <= used, f"declared but imported nowhere: {sorted(declared - used)}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_module_is_longer_than_can_be_read_at_once(file: Path) -> None:
    num_lines = file.read_bytes().count(b"\n")
    assert num_lines <= 450, "about 400 lines is the aim: split it along the data flow"
