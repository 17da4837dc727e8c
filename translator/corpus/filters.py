"""Which pairs are copies, too long, or also in another set: answered on hashes, as masks over rows.

Copies are exact; sources with several targets, equal sides and overlap between sets are counted on the
normalised form (NFC, case folded, white space collapsed), since a model hardly sees such differences.
"""

from typing import Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from translator.corpus.pairs import BATCH_ROWS, Pairs

Mask = NDArray[np.bool_]
Rows = NDArray[np.void]


def copies(rows: Rows) -> Mask:
    """True for each pair that stood before, letter for letter."""
    mask = np.ones(len(rows), dtype=bool)
    mask[np.unique(rows["pair"], return_index=True)[1]] = False
    return mask


def ambiguous_sources(rows: Rows) -> NDArray[np.int64]:
    """The first row of each source that has more than one target."""
    distinct = np.sort(np.unique(normalised_pairs(rows), return_index=True)[1])
    _, first, counts = np.unique(rows["source"][distinct], return_index=True, return_counts=True)
    return np.sort(distinct[first[counts > 1]])


def equal_sides(rows: Rows) -> Mask:
    """True where source and target are the same text."""
    return np.asarray(rows["source"] == rows["target"])


def overlap(rows: Rows, others: Rows, by: Literal["pair", "source"]) -> Mask:
    """True for each of `rows` whose pair (or source) is also one of `others`."""
    if by == "source":
        return _members(rows["source"], others["source"])
    return _members(normalised_pairs(rows), normalised_pairs(others))


def reverse(rows: Rows) -> Rows:
    """The rows from target to source, for comparisons of normalised sides: the exact pair keeps its hash."""
    turned = rows.copy()
    turned["source"], turned["target"] = rows["target"], rows["source"]
    return turned


def _members(values: NDArray[np.uint64], others: NDArray[np.uint64]) -> Mask:
    """`np.isin`, many times faster: that one makes its arguments unique first, through a hash table."""
    ordered = np.sort(others)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


def normalised_pairs(rows: Rows) -> NDArray[np.uint64]:
    """One hash for both normalised sides; the odd factor keeps (a, b) apart from (b, a)."""
    return np.asarray(rows["source"] * np.uint64(0x9E3779B97F4A7C15) ^ rows["target"])


def too_long(pairs: Pairs, max_characters: int) -> Mask:
    """True where either side has more characters (code points) than `max_characters`."""
    masks = [np.zeros(0, dtype=bool)]
    for table in pairs.dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
        longest = pc.max_element_wise(pc.utf8_length(table["source"]), pc.utf8_length(table["target"]))
        masks.append(longest.to_numpy() > max_characters)
    return np.concatenate(masks)
