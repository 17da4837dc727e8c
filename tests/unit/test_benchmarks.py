"""The measuring of scripts/bench: formula, statistics, invented text; what is measured is tested where it belongs."""

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import guard, machine, numerics
from scripts.benchmarks.contest import ROOT, summarise
from scripts.benchmarks.corpus import draw_lengths, word, write_corpus
from scripts.benchmarks.decode import fit_growth
from scripts.benchmarks.decoding import AS_SOURCE, OurDecoding, lengths_of, search_work, sources, without_cache
from scripts.benchmarks.flop import TRAINING, Work, padded_work, products, real_work
from scripts.benchmarks.scaling import to_markdown
from scripts.benchmarks.settings import Setting
from scripts.benchmarks.train import contestants
from scripts.benchmarks.training import padded
from translator.batches import Batch, collate
from translator.device import choose_device
from translator.loss import token_loss
from translator.model import Transformer
from translator.threads import SPINS

SIZES = Setting(d_model=16, d_ff=40, num_heads=2, num_layers=2, vocab_size=50, batch_tokens=100)
LENGTHS = ((3, 5), (6, 2), (1, 4))  # source and target, end marks not counted


@pytest.fixture(autouse=True)
def small_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LARGE", {"cpu": 64})


def batch() -> Batch:
    pairs = [(np.full(src, 7), np.full(tgt, 8)) for src, tgt in LENGTHS]
    return collate(pairs, range(len(pairs)))


def test_the_formula_counts_what_the_counter_of_torch_counts() -> None:
    one = batch()
    model = Transformer(SIZES.vocab_size, SIZES.vocab_size, **SIZES.model)  # type: ignore[arg-type]
    # only the plain form of attention has a backward pass of two products for each forward
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        logits_BTV = model(one.src_BS, one.src_mask_BS, one.tgt_in_BT)
        forward = counter.get_total_flops()
        token_loss(logits_BTV, one.labels_BT, label_smoothing=0.1, pad_id=0).sum.backward()
    assert forward == padded_work(one).forward(SIZES)
    assert counter.get_total_flops() == padded_work(one).training(SIZES)


def test_useful_work_is_that_of_real_tokens() -> None:
    lengths = [(src + 1, tgt + 1) for src, tgt in LENGTHS]
    assert real_work(batch()) == Work(
        src=sum(src for src, _ in lengths),
        tgt=sum(tgt for _, tgt in lengths),
        src_src=sum(src * src for src, _ in lengths),
        tgt_tgt=sum(tgt * tgt for _, tgt in lengths),
        tgt_src=sum(tgt * src for src, tgt in lengths),
    )


def test_products_are_the_step_without_attention_itself() -> None:
    work = padded_work(batch())
    in_products = sum(product.flop for product in products(SIZES, batch()))
    assert in_products == Work(src=work.src, tgt=work.tgt).training(SIZES)


def test_the_reference_setting_costs_45_million_operations_a_token() -> None:
    setting = Setting(256, 1024, 8, 3, 8000, 4500)
    one = Work(src=1, tgt=1)
    assert one.training(setting) == pytest.approx(45e6, rel=0.02)
    assert one.training(setting) == TRAINING * one.forward(setting)


@pytest.mark.parametrize("terms", [(0.5, 0.02, 0.0), (0.1, 0.001, 0.0001), (0.0, 0.0, 0.002)])
def test_growth_is_told_apart_by_its_terms(terms: tuple[float, float, float]) -> None:
    lengths = [25, 50, 100, 200, 350, 500]
    found = fit_growth(lengths, [terms[0] + terms[1] * n + terms[2] * n * n for n in lengths])
    assert [found[name] for name in ("fixed", "linear", "quadratic")] == pytest.approx(terms, abs=1e-9)
    total = terms[0] + terms[1] * 500 + terms[2] * 500**2
    assert found["quadratic_share_at_500"] == pytest.approx(terms[2] * 500**2 / total, abs=1e-6)


def test_a_term_that_would_be_negative_is_left_out() -> None:
    lengths = [25, 50, 100, 200]
    found = fit_growth(lengths, [0.02 * n - 1e-5 * n * n for n in lengths])
    assert found["quadratic"] == 0.0
    assert found["linear"] > 0.0


def test_ratios_are_taken_within_a_round() -> None:
    # the machine is half as fast in the second round, for both
    blocks = {
        "ours": [{"seconds": 1.0, "tokens": 30.0, "memory": 5.0}, {"seconds": 2.0, "tokens": 30.0, "memory": 7.0}],
        "peer": [{"seconds": 1.0, "tokens": 10.0}, {"seconds": 2.0, "tokens": 10.0}],
    }
    found = summarise(blocks)
    assert found["peer"]["first_is_faster"] == {"median": 3.0, "least": 3.0, "most": 3.0}
    assert found["peer"]["tokens_per_second"] == 7.5
    assert found["ours"]["memory_bytes"] == 7.0


def test_invented_lengths_are_those_of_multi30k() -> None:
    lengths = draw_lengths(20_000)
    assert lengths.mean(axis=0) == pytest.approx([14.6, 15.2], abs=0.3)
    assert lengths.std(axis=0) == pytest.approx([4.5, 5.3], abs=0.4)
    assert np.array_equal(lengths, draw_lengths(20_000))
    assert draw_lengths(1000, median=500).mean() == pytest.approx(530, rel=0.05)


def test_an_invented_corpus_has_every_word_and_the_lengths_that_were_asked_for(tmp_path: Path) -> None:
    lengths = draw_lengths(200)
    files = write_corpus(tmp_path, lengths, 300)
    lines = [file.read_text(encoding="utf-8").splitlines() for file in files]
    assert [[len(line.split()) for line in side] for side in lines] == lengths.T.tolist()
    counts = Counter(" ".join(lines[0] + lines[1]).split())
    assert set(counts) == {word(number) for number in range(300)}
    assert counts[word(0)] > 10 * counts[word(299)]


def test_both_searches_that_the_guard_compares_write_as_many_tokens() -> None:
    ours = OurDecoding(SIZES, torch.device("cpu"))
    one = batch()
    tokens_BT = without_cache(ours.model, one.src_BS, one.src_mask_BS, 6)
    assert tokens_BT.shape == (3, 7)
    assert tokens_BT[:, 0].eq(1).all()
    assert ours.block(sentences=3, beam=1, length=6)["tokens"] == 18
    assert ours.block(sentences=2, beam=3, length=4)["tokens"] == 8


def test_translations_can_be_as_long_as_their_sources() -> None:
    inputs = sources(5, SIZES.vocab_size)
    lengths = lengths_of(inputs, AS_SOURCE)
    assert lengths == [len(ids) for ids in inputs]
    assert len(set(lengths)) > 1
    ours = OurDecoding(SIZES, torch.device("cpu"))
    for beam in (1, 3):
        assert ours.block(sentences=5, beam=beam, length=AS_SOURCE)["tokens"] == sum(lengths)


def test_a_search_computes_what_the_counter_of_torch_counts() -> None:
    """Of one sentence, so that nothing is padded."""
    ours, length = OurDecoding(SIZES, torch.device("cpu")), 6
    inputs = sources(1, SIZES.vocab_size)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        ours.block(sentences=1, beam=1, length=length)
    assert counter.get_total_flops() == search_work(inputs, [length], 1).forward(SIZES)


def test_rows_can_be_padded_further_without_another_loss() -> None:
    one = batch()
    wide = padded(one, 12)
    assert wide.src_BS.shape == wide.labels_BT.shape == (3, 12)
    assert real_work(wide) == real_work(one)
    assert padded(one, 2).src_BS.equal(one.src_BS)
    model = Transformer(SIZES.vocab_size, SIZES.vocab_size, **SIZES.model).eval()  # type: ignore[arg-type]
    losses = [
        token_loss(model(b.src_BS, b.src_mask_BS, b.tgt_in_BT), b.labels_BT, label_smoothing=0.1, pad_id=0).sum.item()
        for b in (one, wide)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_peers_run_with_our_allocator_settings_and_as_their_users_run_them(tmp_path: Path) -> None:
    specs = contestants(tmp_path, SIZES, choose_device("cpu", "float32", 1), peers=True)
    for peer in ("torch.nn.Transformer", "transformers, sdpa"):
        assert specs[f"{peer}, float32"]["keep_freed_memory"]
        assert not specs[f"{peer}, float32, default allocator"]["keep_freed_memory"]
    (tutorial,) = [spec for spec in specs.values() if spec["pad_to"]]
    assert (tutorial["name"], tutorial["pad_to"], tutorial["precision"]) == ("torch.nn.Transformer", 64, "float32")
    assert not tutorial["keep_freed_memory"]
    assert next(iter(specs.values()))["name"] == "ours"


def said_by(code: str, *words: str) -> str:
    """What a new Python says that ends with sys.exit(what it says)."""
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT).stderr.strip()


def test_threads_of_the_main_process_wait_as_those_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set before torch is loaded; the processes of contestants begin with the environment of the user."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    code = """
import os, sys
from scripts.benchmarks import __main__ as bench, contest
before = 'torch' in sys.modules
bench.make_parser = lambda: sys.exit(0)
try:
    bench.main([])
except SystemExit:
    ours = os.environ['GOMP_SPINCOUNT']
contest.subprocess.Popen = lambda *_, env, **__: sys.exit(f"{before} {ours} {env.get('GOMP_SPINCOUNT')}")
contest.Worker('peer', {})
"""
    assert said_by(code) == f"False {SPINS} None"


@pytest.mark.parametrize(("name", "policy"), [("ours", str(SPINS)), ("transformers", None)])
def test_threads_of_contestants_wait_as_those_of_their_users(
    name: str, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    code = """
import os, sys
from scripts.benchmarks import worker
worker.make = lambda spec: sys.exit(f"{os.environ.get('GOMP_SPINCOUNT')} {'torch' in sys.modules}")
worker.main()
"""
    assert said_by(code, json.dumps({"name": name})) == f"{policy} False"


def test_figures_of_growth_become_a_table() -> None:
    point = {
        "axis": "d_model", "value": 1024, "tokens_per_second": 1234.4, "flop_per_second": 5e9, "share_of_peak": 0.5,
        "bytes": 9e8, "training_bytes": 4e8, "predicted_bytes": 3e8, "predicted_over_measured": 0.75,
    }  # fmt: skip
    title, line, row = to_markdown([point]).splitlines()
    assert title.count("|") == line.count("|") == row.count("|")
    assert row == "| d model | 1,024 | 1,234 | 5.0 | 50.0% | 900 | 400 | 300 | 0.75 |"


@pytest.mark.parametrize("speed", [0.5, 5.0])
def test_the_guard_fails_below_its_limit(speed: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"median": speed, "least": speed, "most": speed}
    monkeypatch.setattr(guard, "train_ratio", lambda *_: measured)
    monkeypatch.setattr(guard, "decode_ratio", lambda *_: {"median": 9.0, "least": 9.0, "most": 9.0})
    assert bench.main(["guard", "--threads", "1", "--json", str(tmp_path / "guard.json")]) == (speed < 0.9)
    found = json.loads((tmp_path / "guard.json").read_text(encoding="utf-8"))
    assert found["training step"]["median"] == speed
    assert found["peak_flop_per_second"]["float32"] > 0


@pytest.mark.parametrize(
    ("low", "bad"),
    [((4.9, 2.6), []), ((4.3, 2.6), []), ((4.0, 2.6), [50]), ((5.0, 3.3), [100]), ((float("nan"), 2.6), [50])],
)
def test_a_curve_may_leave_the_range_of_the_seeds_by_their_mean_spread(
    low: tuple[float, float], bad: list[int]
) -> None:
    seeds = [{50: 4.8, 100: 2.5}, {50: 5.2, 100: 2.7}, {50: 5.6, 100: 2.6}]  # 0.8 and 0.2 wide
    found = numerics.judge(seeds, dict(zip((50, 100), low, strict=True)))
    assert found["allowed"] == pytest.approx(0.5)
    assert found["points"][1]["spread"] == pytest.approx(0.2)
    assert (found["bad"], found["status"]) == (bad, int(bool(bad)))


@pytest.mark.parametrize("measurement", ["train", "decode"])
def test_peers_that_are_not_installed_are_told_in_a_sentence(
    measurement: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "transformers" else find(name))
    assert bench.main([measurement, "--peers", "--threads", "1"]) == 2
    error = capsys.readouterr().err
    assert error == (
        'transformers is not installed; comparisons need the extra "bench": .venv/bin/pip install -e ".[bench]".\n'
    )


def test_every_measurement_can_be_asked_for() -> None:
    for name in ("train", "decode", "startup", "data", "scaling", "numerics", "guard"):
        assert bench.make_parser().parse_args([name, "--threads", "1"]).measurement == name
