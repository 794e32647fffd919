"""Compare two suffixes: by bases up to the depth of a difference cover, then by its ranks."""

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.kernels.suffix_sort import cover_tables
from genoviz.kernels.suffix_sort.cpu_blocks import _distance, _is_near, _pad, _window


class Text(NamedTuple):
    """A text with exceptions marked by ``suffix_sort.cpu_seeds.mark_exceptions``."""

    packed: np.ndarray
    marks: np.ndarray
    near: np.ndarray


class Cover(NamedTuple):
    """A difference cover, and the rank of each suffix at one of its residues.

    The suffix at ``position`` has the number ``(position >> bits) * size + places[residue]``; the
    tables are those of ``cover_tables``.
    """

    ranks: np.ndarray
    residues: np.ndarray
    places: np.ndarray
    deltas: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    bits: int


def cover_of(cover_bits: int, ranks: np.ndarray) -> Cover:
    """Return a cover with its ranks."""
    return Cover(ranks, *cover_tables(cover_bits), cover_bits)


@njit(nogil=True, cache=True)
def is_before(cover, first, second):
    """Return whether the first of two suffixes with ``v`` common bases is the smaller one."""
    mask = (np.int64(1) << cover.bits) - 1
    size = len(cover.residues)
    distance = (cover.deltas[(second - first) & mask] - first) & mask
    one, other = first + distance, second + distance
    rank = cover.ranks[(one >> cover.bits) * size + cover.places[one & mask]]
    return rank < cover.ranks[(other >> cover.bits) * size + cover.places[other & mask]]


@njit(nogil=True, cache=True)
def compare_bases(text, first, second, depth, bits):
    """Return -1 or 1 if a suffix is less or greater than another, 0 if ``2**bits`` bases are equal.

    The two are different, and have ``depth`` bases in common.
    """
    while depth >> bits == 0:
        one, other = _window(text.packed, first + depth), _window(text.packed, second + depth)
        if _is_near(text.near, first + depth) or _is_near(text.near, second + depth):
            distance = _distance(text.marks, first + depth)
            other_distance = _distance(text.marks, second + depth)
            one, other = _pad(one, distance), _pad(other, other_distance)
            if one == other:
                if distance != other_distance:
                    return -1 if distance < other_distance else 1
                if distance < 32:
                    return -1 if first > second else 1
        if one != other:
            return -1 if one < other else 1
        depth += 32
    return 0


@njit(nogil=True, cache=True)
def compare(text, cover, first, second, depth):
    """Compare two suffixes with ``depth`` common bases; return 0 if tied and there are no ranks."""
    if first == second:
        return 0
    order = compare_bases(text, first, second, depth, cover.bits)
    if order == 0 and len(cover.ranks):
        order = -1 if is_before(cover, first, second) else 1
    return order


# Compiled with genoviz/kernels/suffix_sort/cpu_blocks.py: b4dad3f2b4efa802
