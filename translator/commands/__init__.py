"""The commands of the command line, each a function from parsed arguments to an exit status.

`translator.cli` imports only the module of the command that was typed, and each module imports heavy
libraries inside its functions, so that mistakes in a configuration or an option are told at once.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """While libraries are loaded: what they make stays, so the garbage collector does not look through it.

    It would again and again, for a tenth of the time that torch takes to load.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
