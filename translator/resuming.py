"""What a run that goes on may change, and what it must find as it was."""

from collections.abc import Mapping, Sequence

from translator.checkpoint import Checkpoint
from translator.config import Config, diff_for_resume, resolve
from translator.errors import CheckpointError
from translator.tokenizer import Tokenizer
from translator.training_state import State


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


def stream_position(stored: Config, config: Config, saved: Mapping[str, int]) -> dict[str, int]:
    """Where the batches go on: after the last one, or with the next epoch when they are made otherwise now."""
    if _plan(stored) != _plan(config):
        return {"epoch": saved["epoch"] + 1, "batch": 0}
    return dict(saved)


def _plan(config: Config) -> tuple[object, ...]:
    """All settings that decide which pairs make an epoch and how they are cut into batches."""
    return config.batch.tokens, config.corpus.mix.temperature, [corpus.weight for corpus in config.corpus.train]


def already_done(config: Config, state: State) -> str | None:
    """A sentence when a limit of the run is reached already, so that nothing would be trained."""
    train, total = config.train, state.total_steps
    if total is not None and state.step >= total:
        limit = f"step {state.step:,} of {total:,} is reached"
        key = next((key for key in ("epochs", "minutes") if getattr(train, key) is not None), "steps")
        if train.steps == total:
            key = "steps"
    elif train.minutes is not None and state.seconds >= train.minutes * 60:
        limit, key = f"{train.minutes:g} minutes of training are over", "minutes"
    elif train.patience is not None and state.validations_without_gain >= train.patience:
        limit, key = f"no gain in {train.stop_on} for {train.patience} validations", "patience"
    else:
        return None
    return (
        f"Run {config.name} is finished: {limit}. Nothing was changed. Raise train.{key} to train on "
        f"(translator resume {config.name} train.{key}=...), or begin anew with --restart."
    )


def check_identity(
    loaded: Checkpoint, corpus_fingerprint: str, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer
) -> None:
    """Refuse a corpus or tokenizers with another content than the checkpoint's. Raises CheckpointError."""
    state = loaded.state
    if state["corpus"] != corpus_fingerprint:
        raise CheckpointError(
            f"The corpus has changed since {loaded.folder} (content {state['corpus'][:12]} then, "
            f"{corpus_fingerprint[:12]} now); restore it, or train a run of another name."
        )
    for kind, then, now in zip(
        ("source", "target"), state["tokenizers"], (src_tokenizer.fingerprint, tgt_tokenizer.fingerprint), strict=True
    ):
        if then != now:
            raise CheckpointError(
                f"The {kind} tokenizer is not the one of {loaded.folder} (content {then[:12]} then, {now[:12]} now); "
                "restore the file."
            )
