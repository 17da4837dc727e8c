"""`train`: tokens a second of the real training step, beside the machine's peak, the step's own products, and peers."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scripts.benchmarks import profiling
from scripts.benchmarks.contest import Block, contest, summarise
from scripts.benchmarks.corpus import NUM_PAIRS, NUM_SPECIAL_TOKENS, draw_lengths, load_data, write_corpus
from scripts.benchmarks.flop import Work, products, time_products
from scripts.benchmarks.machine import peak_rates, precisions
from scripts.benchmarks.peers import ATTENTIONS, PEERS, need
from scripts.benchmarks.settings import SETTINGS, Setting, write_config
from scripts.benchmarks.toolkits import TOOLKITS
from translator.batches import Batch, BatchStream
from translator.device import Device

OURS = "translator"
TUTORIAL = 64  # cells of every row in widely copied tutorials; some have several times as many


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--setting", choices=SETTINGS, default="reference")
    parser.add_argument("--steps", type=int, default=5, help="steps of a block (default: 5)")
    parser.add_argument("--rounds", type=int, default=5, help="blocks of each contestant (default: 5)")
    parser.add_argument("--peers", action="store_true", help="also other libraries, by turns with ours")
    parser.add_argument("--source", type=Path, help="text file to train on, one sentence a line")
    parser.add_argument("--target", type=Path, help="its translations")
    profiling.add_option(parser, "train")


def prepare(folder: Path, setting: Setting, args: argparse.Namespace, device: Device) -> None:
    """Write the corpus, unless the user has one, and the configuration."""
    files, tokenizer = (args.source, args.target), "bpe"
    if args.source is None:
        words = setting.vocab_size - NUM_SPECIAL_TOKENS
        files, tokenizer = write_corpus(folder, draw_lengths(NUM_PAIRS), words), "word"
    files = tuple(file.resolve() for file in files)
    write_config(
        folder,
        setting,
        files,
        precision=device.precision,
        threads=device.threads,
        kind=device.torch_device.type,
        tokenizer=tokenizer,
    )


def typical_batch(folder: Path, setting: Setting) -> Batch:
    """The batch with the median number of cells of twenty."""
    _, data = load_data(folder)
    stream = BatchStream(data.train, budget=setting.batch_tokens, seed=1)
    return sorted((next(stream) for _ in range(20)), key=lambda batch: batch.labels_BT.numel())[10]


def contestants(folder: Path, setting: Setting, device: Device, *, peers: bool) -> dict[str, dict[str, Any]]:
    """What is measured by name; ours first."""
    kind = device.torch_device.type
    common = {
        "task": "train",
        "folder": str(folder),
        "kind": kind,
        "threads": device.threads,
        "setting": setting.to_json(),
        "attention": "",
        "keep_freed_memory": True,
        "pad_to": 0,
    }
    specs = {f"{OURS}, {device.precision}": {**common, "name": "ours", "precision": device.precision}}
    if not peers:
        return specs
    for precision in precisions(kind):
        specs.setdefault(f"{OURS}, {precision}", {**common, "name": "ours", "precision": precision})
        for peer in [*PEERS, *TOOLKITS]:
            for attention in ATTENTIONS.get(peer, [""]):
                name = ", ".join(filter(None, [peer, attention, precision]))
                spec = {**common, "name": peer, "precision": precision, "attention": attention}
                specs[name] = spec
                if peer in PEERS and kind == "cpu":
                    specs[f"{name}, default allocator"] = {**spec, "keep_freed_memory": False}
    tutorial = {"name": "torch.nn.Transformer", "precision": "float32", "keep_freed_memory": False, "pad_to": TUTORIAL}
    specs[f"tutorial loop: torch.nn.Transformer padded to {TUTORIAL}, float32"] = {**common, **tutorial}
    return specs


def work_of(blocks: Sequence[Block], which: str) -> Work:
    """The sum of what blocks report as "useful" or "computed" work."""
    return Work(*(int(sum(block[f"{which}_{name}"] for block in blocks)) for name in vars(Work())))


def report(
    setting: Setting, blocks: Mapping[str, Sequence[Block]], peaks: Mapping[str, float], own_products: float, kind: str
) -> dict[str, Any]:
    """All figures of the contest by contestant; those of ours also beside the peaks."""
    summary = summarise(blocks)
    for name, of_one in blocks.items():
        useful = work_of(of_one, "useful")
        summary[name]["flop_per_target_token"] = useful.training(setting) / useful.tgt
        summary[name]["flop_per_second"] = summary[name]["tokens_per_second"] * useful.training(setting) / useful.tgt
        summary[name]["tokens_per_step"] = useful.tgt / sum(block["steps"] for block in of_one)
        summary[name]["waiting_share"] = sum(b["waiting"] for b in of_one) / sum(b["seconds"] for b in of_one)
        summary[name]["padding_share"] = sum(b["padding"] for b in of_one) / len(of_one)
        precision = next(known for known in peaks if known in name)
        summary[name]["share_of_peak"] = summary[name]["flop_per_second"] / peaks[precision]
    ours = summary[next(iter(summary))]
    computed, useful = (work_of(next(iter(blocks.values())), which) for which in ("computed", "useful"))
    padded = computed.training(setting) / useful.training(setting)
    ours["share_of_own_products"] = ours["flop_per_second"] * padded / own_products
    if kind == "cuda":
        ours["model_flop_utilisation"] = ours["share_of_peak"]
    return summary


def run(args: argparse.Namespace, device: Device, folder: Path) -> dict[str, Any]:
    """Measure, print, and return what goes into the JSON file."""
    setting, kind = SETTINGS[args.setting], device.torch_device.type
    if args.peers:
        need("transformers")
    prepare(folder, setting, args, device)
    peaks = peak_rates(device)
    batch = typical_batch(folder, setting)
    rows, own_products = time_products(products(setting, batch), device.precision, torch.device(kind))
    print(f"\nThe products of a step at their own shapes, {device.precision}, GFLOP/s (M x K by K x N):")
    for row in rows:
        text = "  ".join(f"{name} {rate / 1e9:7.1f}" for name, rate in row["rates"].items())
        print(f"  {row['product']:26} {row['count']:3} x {' x '.join(map(str, row['shape'])):18}  {text}")
    print(f"  all of them together: {own_products / 1e9:.1f} GFLOP/s")
    specs = contestants(folder, setting, device, peers=args.peers)
    blocks = contest(specs, args.rounds, steps=args.steps)
    summary = report(setting, blocks, peaks, own_products, kind)
    ours = next(iter(summary.values()))
    print(
        f"\nTraining, {args.setting}: {ours['tokens_per_step']:,.0f} real target tokens a step, "
        f"{ours['flop_per_target_token'] / 1e6:.1f} MFLOP each, padding {ours['padding_share']:.1%}, "
        f"waiting for batches {ours['waiting_share']:.2%}"
    )
    print(f"  {'':52} {'tokens/s':>9} {'range':>15} {'GFLOP/s':>8} {'of peak':>8} {'first is faster':>22}")
    for name, one in summary.items():
        faster = one["first_is_faster"]
        least, most = one["range"]
        print(
            f"  {name:52} {one['tokens_per_second']:9,.0f} {f'{least:,.0f}-{most:,.0f}':>15} "
            f"{one['flop_per_second'] / 1e9:8.1f} {one['share_of_peak']:8.1%} "
            f"{faster['median']:8.2f} ({faster['least']:.2f}-{faster['most']:.2f})"
        )
    print(f"  Computed (padding too) in the share {ours['share_of_own_products']:.1%} of the step's own products.")
    if "model_flop_utilisation" in ours:
        print(f"  Model FLOP utilisation: {ours['model_flop_utilisation']:.1%} of the measured peak.")
    result: dict[str, Any] = {
        "setting": {"name": args.setting, **setting.to_json()},
        "own_products": {"flop_per_second": own_products, "rows": rows},
        "contestants": summary,
        "blocks": {name: list(of_one) for name, of_one in blocks.items()},
    }
    if args.profile is not None:
        result["profile"] = profiling.profile_training(folder, device, args.profile)
    return result
