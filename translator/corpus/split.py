"""A split that depends on the sentences alone: the sources with the smallest hashes are held out."""

import numpy as np
from numpy.typing import NDArray

from translator.errors import CorpusError

TRAIN, VALID, TEST = 0, 1, 2


def pinned_split(source_hashes: NDArray[np.uint64], *, valid: int, test: int) -> NDArray[np.int8]:
    """Say for each pair whether it is in training (0), validation (1) or test (2).

    Sources go to validation and then to test in the order of their hashes, all pairs of one source together;
    a source with more pairs than are still wanted stays in training, so that the counts are exact. The same
    pairs give the same split in any order of the file and on any machine.

    Raises:
        CorpusError: too few pairs, or no way to reach the counts without tearing a source apart.
    """
    wanted = {VALID: valid, TEST: test}
    num_pairs = len(source_hashes)
    if valid + test >= num_pairs:
        raise CorpusError(f"corpus.split asks for {valid} + {test} pairs and there are only {num_pairs}; ask for fewer")
    ordered = np.sort(source_hashes)
    parts_in_order = np.zeros(num_pairs, dtype=np.int8)
    start = 0
    for part, count in wanted.items():
        while count > 0 and start < num_pairs:
            end = int(np.searchsorted(ordered, ordered[start], side="right"))
            if end - start <= count:
                parts_in_order[start:end] = part
                count -= end - start
            start = end
        if count > 0:
            name = "valid" if part == VALID else "test"
            raise CorpusError(
                f"corpus.split.{name}: {wanted[part]} pairs cannot be held out, since too many pairs share "
                f"their source; {wanted[part] - count} can"
            )
    parts = np.zeros(num_pairs, dtype=np.int8)
    if start:
        looked_at = np.flatnonzero(source_hashes <= ordered[start - 1])
        parts[looked_at] = parts_in_order[np.searchsorted(ordered, source_hashes[looked_at])]
    return parts
