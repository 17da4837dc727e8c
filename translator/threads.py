"""How the threads of torch wait for each other."""

import os


def sleep_while_waiting() -> None:
    """Have threads that wait sleep instead of spinning, unless the user says otherwise.

    It costs nothing on a quiet machine and is more than twice as fast beside another busy process
    (docs/benchmarks.md). The OpenMP library reads the policy when torch is loaded: call this before.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
