"""`check`: whether a weights folder can be trusted."""

import argparse
import json
import sys
from dataclasses import asdict

from translator.commands.using import find_model


def check(args: argparse.Namespace) -> int:
    """Verify a weights folder, a line for each part. Returns 2 when something in it is damaged."""
    folder = find_model(args.name, args.home)
    from translator.check import check_folder

    parts = check_folder(folder)
    for part in parts:
        if args.json:
            print(json.dumps(asdict(part), ensure_ascii=False))
        else:
            print(f"{'whole' if part.whole else 'DAMAGED':<8} {part.name:<26}  {part.found}")
    damaged = [part.name for part in parts if not part.whole]
    if damaged:
        print(f"{folder} is damaged: {', '.join(damaged)}.", file=sys.stderr)
        return 2
    print(f"{folder} is whole.", file=sys.stderr)
    return 0
