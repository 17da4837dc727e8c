"""What a run that goes on may change, and what it must find as it was."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin

from translator.checkpoint import Checkpoint
from translator.config import Config, diff_for_resume, resolve
from translator.errors import CheckpointError
from translator.tokenizer import Tokenizer
from translator.training_state import State, Sums


def keep_choices(config: Config, stored: Config, available_kinds: Sequence[str]) -> Config:
    """Automatic choices are made once: where the config still says auto, the stored choice holds.

    On a machine without the stored kind of device they are made anew; so a run can move from a GPU to a CPU.
    """
    moved = stored.device.kind not in available_kinds
    choices = {}
    for key in ("kind", "precision", "threads", "compile"):
        was = getattr(stored.device, key)
        if getattr(config.device, key) in ("auto", was):
            choices[f"device.{key}"] = "auto" if moved else was
    if config.batch.tokens == "auto":
        choices["batch.tokens"] = stored.batch.tokens
    return resolve(config, **choices)


def compare(stored: Config, config: Config) -> list[str]:
    """Lines about changed settings. Raises CheckpointError when one of them cannot change within a run."""
    changes = [change for change in diff_for_resume(stored, config) if change.key != "name"]
    refused = [change for change in changes if change.kind == "refused"]
    if refused:
        listed = "; ".join(f"{c.key}: {c.old} is stored, {c.new} is asked" for c in refused)
        raise CheckpointError(
            f"Run {config.name} cannot go on with other settings than it began with ({listed}). "
            "Set them back, give the new run another name (name=...), or begin anew with --restart."
        )
    return [f"Changed: {c.key} was {c.old}, is {c.new} from here on." for c in changes if c.kind == "announced"]


def plan(config: Config) -> list[object]:
    """All settings that decide which pairs make an epoch and how they are cut into batches; every checkpoint has it."""
    return [config.batch.tokens, config.corpus.mix.temperature, [corpus.weight for corpus in config.corpus.train]]


def stream_position(state: Mapping[str, Any], config: Config, *, new_corpus: bool = False) -> dict[str, int]:
    """Where the batches go on: after the last one of the checkpoint with this `state`, or with the next epoch when
    they are made otherwise now.

    The checkpoint's own plan decides, not the stored configuration, which is written before the next checkpoint.
    """
    saved = {key: int(state["stream"][key]) for key in ("epoch", "batch")}
    if new_corpus or state["plan"] != plan(config):
        return {"epoch": saved["epoch"] + 1, "batch": 0}
    return saved


def already_done(config: Config, state: State) -> str | None:
    """A sentence when a limit of the run is reached already, so that nothing would be trained."""
    train, total = config.train, state.total_steps
    if total is not None and state.step >= total:
        limit = f"step {state.step:,} of {total:,} is reached"
        key = next((key for key in ("epochs", "minutes") if getattr(train, key) is not None), "steps")
        if train.steps == total:
            key = "steps"
    elif train.minutes is not None and state.is_over(train.minutes, state.seconds):
        limit, key = f"{train.minutes:g} minutes of training are over", "minutes"
    elif train.patience is not None and state.validations_without_gain >= train.patience:
        limit, key = f"no gain in {train.stop_on} for {train.patience} validations", "patience"
    else:
        return None
    return (
        f"Run {config.name} is finished: {limit}. Nothing was changed. Raise train.{key} to train on "
        f"(translator resume {config.name} train.{key}=...), or begin anew with --restart."
    )


STORED: dict[str, Any] = {
    **{one.name: one.type for one in fields(State)},
    "unread": list[list[float | None]],
    "plan": list[Any],
    "corpus": str,
    "contents": dict[str, list[dict[str, Any]]] | None,
    "tokenizers": list[str],
    "init_from": dict[str, Any] | None,
    "minutes": float | None,
    "stop_on": str | None,
    "is_scaled": bool,
    "stream": dict[str, int],
    "sums": dict[str, Any],
    "metrics": dict[str, float],
    "logs": dict[str, int],
}
"""What the state of a checkpoint holds, beside the versions of the program."""


def check_stored(state: Mapping[str, Any]) -> None:
    """Raise KeyError or TypeError where the state of a checkpoint has other content than this program stores."""
    sums = {one.name: one.type for one in fields(Sums)} | {"values": list[float]}
    for content, kinds in ((state, STORED), (state["sums"], sums)):
        for name, kind in kinds.items():
            if not _fits(content[name], kind) or (kind is float and content[name] < 0):
                raise TypeError(f"{name} is not what it can be")
    if state["best"] is not None and state["best"].keys() != {"value", "step", "tie"}:
        raise TypeError("best is not what it can be")


def _fits(value: Any, kind: Any) -> bool:
    """Whether JSON gave a value of that type; whole numbers count things, so they are not negative."""
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(value, one) for one in inner)
    if get_origin(kind) is list:
        return type(value) is list and all(_fits(one, inner[0]) for one in value)
    if get_origin(kind) is dict:
        return type(value) is dict and all(_fits(one, inner[1]) for one in value.values())
    if kind is int:
        return type(value) is int and 0 <= value < 2**53
    if kind is float:
        return type(value) is float or _fits(value, int)
    return kind is Any or type(value) is kind


Contents = Mapping[str, Sequence[Mapping[str, Any]]]
"""Of each set the places its pairs came from, as `Corpus.contents` says it."""


def changed_sets(then: Contents, now: Contents) -> dict[str, str]:
    """The sets whose pairs are not what they were, each with a sentence of how many there are and where."""
    found = {}
    for name in dict.fromkeys([*then, *now]):
        before, after = then.get(name, []), now.get(name, [])
        if [one["sha256"] for one in before] == [one["sha256"] for one in after]:
            continue
        counts = [sum(one["pairs"] for one in places) for places in (before, after)]
        said = (
            f"{name} had {counts[0]:,} pairs and has {counts[1]:,}"
            if counts[0] != counts[1]
            else (f"{name} has {counts[1]:,} pairs as before, but not the same ones")
        )
        kept = {one["sha256"] for one in before}
        other = [one["from"] for one in after if one["sha256"] not in kept] if len(before) == len(after) else []
        found[name] = said + (f" (in {', '.join(map(str, other))})" if other else "")
    return found


def check_identity(
    loaded: Checkpoint,
    corpus_fingerprint: str,
    contents: Contents,
    tokenizers: tuple[Tokenizer, Tokenizer],
    *,
    accept_new_corpus: bool = False,
) -> dict[str, str]:
    """Refuse tokenizers, and unless told to accept it a corpus, of another content than the checkpoint's.

    Returns the sets that have changed, with what has (empty where the corpus is the same). Raises CheckpointError.
    """
    state = loaded.state
    for kind, then, now in zip(
        ("source", "target"), state["tokenizers"], [one.fingerprint for one in tokenizers], strict=True
    ):
        if then != now:
            raise CheckpointError(
                f"The {kind} tokenizer is not the one of {loaded.folder} (content {then[:12]} then, {now[:12]} now); "
                "restore the file."
            )
    if state["corpus"] == corpus_fingerprint:
        return {}
    content = f"content {state['corpus'][:12]} then, {corpus_fingerprint[:12]} now"
    changed = changed_sets(state["contents"], contents) or {"train": content}
    if not accept_new_corpus:
        raise CheckpointError(
            f"The corpus has changed since {loaded.folder}: {'; '.join(changed.values())}. Restore it, train a run of "
            "another name, or go on with the new one by --accept-new-corpus."
        )
    return changed


def other_versions(state: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A line for each part of the program that has another version than wrote the checkpoint."""
    return [
        f"Changed: {part} was {state.get(part)}, is {now[part]} from here on; the numbers may differ in the last "
        "digits from those of a run in one version."
        for part in ("program", "torch", "python")
        if state.get(part) != now[part]
    ]


@contextmanager
def as_stored(loaded: Checkpoint | None) -> Iterator[None]:
    """Tell of a checkpoint that is whole by its checksums, and yet holds not what this program stores."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if loaded is None:
            raise
        raise CheckpointError(
            f"{loaded.folder} does not hold what this program stores ({type(error).__name__}: {error}); "
            "use another checkpoint."
        ) from error
