"""The batches of one step after another, made ahead by a thread where the device works on its own.

The order is that of the stream, and the stream stands behind the batches that were given out: what a checkpoint stores
never counts one that was only made ahead.
"""

import copy
from collections import deque
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import torch

from translator.batches import Batch, BatchStream
from translator.device import copies_on_its_own, works_on_its_own

STEPS_AHEAD = 2  # one to take while the next is made, and one for a step that takes longer to make


def steps(stream: BatchStream, per_step: int, device: torch.device) -> Generator[list[Batch], None, None]:
    """`per_step` batches of the stream for each step, without end; its thread ends when the generator is closed.

    On a CPU there is no thread: it would take its time from the computation. Where a batch cannot be made, the error
    comes out here.
    """
    if not works_on_its_own(device):
        while True:
            yield [next(stream) for _ in range(per_step)]
    ahead = stream.at(**stream.state())  # the thread's own: nobody else moves it

    def make() -> tuple[list[Batch], BatchStream]:
        batches = [next(ahead) for _ in range(per_step)]
        if copies_on_its_own(device):
            batches = [batch.pin_memory() for batch in batches]
        return batches, copy.copy(ahead)

    thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
    try:
        made = deque(thread.submit(make) for _ in range(STEPS_AHEAD))
        while True:
            made.append(thread.submit(make))
            batches, place = made.popleft().result()
            stream.move_to(place)
            yield batches
    finally:
        thread.shutdown(cancel_futures=True)
