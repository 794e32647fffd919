"""Lookup of nodes by name, with a table type that suits the names of the graph."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise

import numpy as np

from genoviz.io.graph import gfa_name_loops
from genoviz.model import ByteStrings

_SLICE = 1 << 18


class RepeatedNameError(Exception):
    """Two nodes have the same name; ``node`` is the second of them."""

    def __init__(self, node: int) -> None:
        self.node = node
        super().__init__(f"node {node} has the name of an earlier one")


def build_node_table(names: ByteStrings) -> Generator[float, None, gfa_name_loops.NodeTable]:
    """Return a lookup table of at least one name; yields the share done.

    Raises
    ------
    RepeatedNameError
        If two names are equal.
    """
    n = len(names)
    bounds = np.append(np.arange(0, n, _SLICE), n).tolist()
    prefix = _prefix_of_first(names)
    minimum, maximum = np.iinfo(np.int64).max, -1
    for first, last in pairwise(bounds):
        low, high = gfa_name_loops.find_number_range(names.data, names.offsets, first, last, prefix)
        minimum, maximum = min(minimum, low), max(maximum, high)
        if minimum < 0:
            break
        yield last / n / 2

    no_ranks, no_slots = np.empty(0, np.uint32), np.empty(0, np.uint64)
    if minimum >= 0 and maximum - minimum < 4 * n + 65536:
        ranks = np.zeros(maximum - minimum + 1, np.uint32)
        table = gfa_name_loops.NodeTable(
            prefix, minimum, ranks, no_slots, names.data, names.offsets
        )
        fill = gfa_name_loops.fill_ranks
    else:
        slots = np.zeros(1 << (n * 4 // 3 + 1).bit_length(), np.uint64)
        table = gfa_name_loops.NodeTable(prefix, 0, no_ranks, slots, names.data, names.offsets)
        fill = gfa_name_loops.fill_slots
    for first, last in pairwise(bounds):
        repeated = fill(table, first, last)
        if repeated >= 0:
            raise RepeatedNameError(repeated)
        yield 0.5 + last / n / 2
    return table


def _prefix_of_first(names: ByteStrings) -> np.ndarray:
    """Return the prefix before the number at the end of the first name; uint8."""
    name = names.data[: names.offsets[1]].tobytes()
    return names.data[: len(name.rstrip(b"0123456789"))].copy()
