"""Help, version and mistakes come before heavy libraries are loaded."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from translator.model import Transformer
from translator.threads import SPINS
from translator.tokenizer import Tokenizer
from translator.weights import save_tokenizers, save_weights

COMMAND = [sys.executable, "-m", "translator"]


def seconds(command: list[str], *, status: int = 0) -> float:
    """The least run time of three: other work on the machine only ever adds some."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
        assert done.returncode == status, done.stderr
    return min(times)


def processor_seconds(command: list[str]) -> float:
    """Time on the processor of one run."""
    before = os.times()
    subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_answers_take_less_than_half_the_time_of_importing_torch(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("seeed: 1\n")
    torch = seconds([sys.executable, "-c", "import torch"])
    answers = {
        "help": seconds([*COMMAND, "--help"]),
        "version": seconds([*COMMAND, "--version"]),
        "config error": seconds([*COMMAND, "train", str(tmp_path / "wrong.yaml")], status=2),
    }
    assert {name: round(time / torch, 2) for name, time in answers.items() if time >= torch / 2} == {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weights folder with an untrained model."""
    made = tmp_path_factory.mktemp("weights")
    tokenizer = Tokenizer.train(["a dog runs", "un cane corre"], kind="character", vocab_size=40)
    model = Transformer(
        tokenizer.vocab_size, tokenizer.vocab_size, d_model=32, num_heads=2, d_ff=64, num_encoder_layers=1,
        num_decoder_layers=1,
    )  # fmt: skip
    (made / "config.yaml").write_text(
        "corpus: {source_language: en, target_language: it, train: {path: nowhere.tsv}}\n"
        "model: {d_model: 32, num_heads: 2, d_ff: 64, num_encoder_layers: 1, num_decoder_layers: 1}\n"
    )
    save_tokenizers(made, tokenizer, tokenizer)
    save_weights(
        made, model.state_dict(), step=1, src_tokenizer=tokenizer, tgt_tokenizer=tokenizer, longest_source=9
    )  # fmt: skip
    return made


TRANSLATE = ["translate", "a dog runs", "--model"]


def test_translating_loads_nothing_that_it_does_not_need(folder: Path) -> None:
    heavy = ["datasets", "pandas", "pyarrow", "torchmetrics", "sacrebleu", "matplotlib", "tensorboard"]
    heavy += ["sympy", "torch._dynamo", "torch._inductor"]  # torch's compiler: as long again as torch itself
    code = f"import sys, translator.cli; status = translator.cli.main({[*TRANSLATE, str(folder)]}); "
    code += f"sys.exit(str([m for m in {heavy} if m in sys.modules] or '') if status == 0 else 3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, ""), done.stderr


def test_a_translation_takes_little_longer_than_loading_the_libraries(folder: Path) -> None:
    """Measured: a sixth longer; 1.25 is the aim.

    Other work on the machine only ever adds time, also processor time (shared caches and memory): the least of each
    counts, and more rounds are run only while it is not enough.
    """
    reference = [sys.executable, "-c", "import torch, tokenizers"]
    command = [*COMMAND, *TRANSLATE, str(folder)]
    ours, libraries = [], []
    for _ in range(12):
        libraries.append(processor_seconds(reference))
        ours.append(processor_seconds(command))
        if len(ours) >= 3 and min(ours) < 1.3 * min(libraries):
            return
    pytest.fail(f"{min(ours):.2f} s beside {min(libraries):.2f} s")


def test_how_threads_wait_is_said_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy stands in the environment before torch, and with it the OpenMP library, is loaded."""
    code = (
        "import os, sys; from translator.cli import main; main(['config', '--schema'])\n"
        "sys.exit(f\"{os.environ['GOMP_SPINCOUNT']} {'torch' in sys.modules}\")"
    )
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == f"{SPINS} False"
