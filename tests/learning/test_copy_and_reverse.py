"""Learning tests: a small model must copy and reverse unseen strings, trained and used through the commands."""

import random
from pathlib import Path

import pytest

from translator.cli import main
from translator.translate import Translator

SYMBOLS = "abcdefghij"


def make_pairs(task: str, num_pairs: int, seed: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    sources = ["".join(rng.choices(SYMBOLS, k=rng.randint(4, 12))) for _ in range(num_pairs)]
    return [(source, source if task == "copy" else source[::-1]) for source in sources]


CONFIG = """
name: {task}
corpus:
  source_language: en
  target_language: en
  train: train.tsv
  valid: valid.tsv
tokenizer: {{kind: character}}
model: {{d_model: 64, num_heads: 4, d_ff: 256, num_encoder_layers: 2, num_decoder_layers: 2, dropout: 0.0}}
batch: {{tokens: 1500}}
optim: {{learning_rate: 3.0e-3, warmup_steps: 200, schedule: cosine, label_smoothing: 0.0}}
train: {{steps: {steps}, validate_every: 300, save_every: 1000, validate_first: false, stop_on: valid/cer}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("task", "steps"), [("copy", 900), ("reverse", 1500)])
def test_reaches_99_percent_exact_match(tmp_path: Path, task: str, steps: int) -> None:
    sets = {"train": make_pairs(task, 20_000, 1), "valid": make_pairs(task, 200, 2)}
    for name, pairs in sets.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    (tmp_path / "config.yaml").write_text(CONFIG.format(task=task, steps=steps))
    assert main(["train", str(tmp_path / "config.yaml"), "--home", str(tmp_path)]) == 0
    known = {source for source, _ in sets["train"] + sets["valid"]}
    test = [pair for pair in make_pairs(task, 1100, 3) if pair[0] not in known][:1000]
    translator = Translator.load(tmp_path / "weights" / task)
    outputs = translator.translate([source for source, _ in test])
    exact = sum(output.text == target for output, (_, target) in zip(outputs, test, strict=True))
    assert exact / len(test) >= 0.99
