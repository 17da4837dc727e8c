"""What a run that goes on may change, and what it must find as it was."""

from translator.checkpoint import Checkpoint
from translator.config import Config, diff_for_resume, resolve
from translator.errors import CheckpointError
from translator.tokenizer import Tokenizer


def keep_choices(config: Config, stored: Config) -> Config:
    """Automatic choices are made once: where the config still says auto, the stored choice holds."""
    kept = {
        f"device.{key}": getattr(stored.device, key)
        for key in ("kind", "precision", "threads", "compile")
        if getattr(config.device, key) == "auto"
    }
    return resolve(config, **kept)


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


def already_done(config: Config, stored: Config, loaded: Checkpoint) -> str | None:
    """A sentence when a limit of the run is reached already, so that nothing would be trained."""
    state, train = loaded.state, config.train
    same_limits = (train.steps, train.epochs, train.minutes) == (
        stored.train.steps,
        stored.train.epochs,
        stored.train.minutes,
    )
    total = state["total_steps"] if same_limits else train.steps
    patience = train.patience
    if total is not None and loaded.step >= total:
        limit, key = f"step {loaded.step:,} of {total:,} is reached", "train.steps"
        if train.steps is None:
            key = "train.epochs" if train.epochs is not None else "train.minutes"
    elif train.minutes is not None and state["seconds"] >= train.minutes * 60:
        limit, key = f"{train.minutes:g} minutes of training are over", "train.minutes"
    elif patience is not None and state["validations_without_gain"] >= patience:
        limit, key = f"no gain in {train.stop_on} for {patience} validations", "train.patience"
    else:
        return None
    return (
        f"Run {config.name} is finished: {limit}. Nothing was changed. "
        f"Raise {key} to train on (translator resume {config.name} {key}=...), or begin anew with --restart."
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
