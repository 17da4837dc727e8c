"""`replay`: a step that was left out, once more."""

import argparse

from translator.commands.runs import refuse_unknown_run


def replay(args: argparse.Namespace) -> int:
    """Print what is found while a bad step is done again."""
    run, weights = args.home / "runs" / args.name, args.home / "weights" / args.name
    if not run.is_dir():
        refuse_unknown_run(args.home, args.name)
    from translator import replay as replaying

    lines = replaying.replay(
        run, weights, args.step, given=args.weights, device_kind=args.device, precision=args.precision
    )
    for line in lines:
        print(line)
    return 0
