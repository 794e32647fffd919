"""Comparing two suffixes: by bases up to the depth of a difference cover, then by its ranks."""

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.kernels.suffix_sort import make_cover
from genoviz.kernels.suffix_sort.cpu_blocks import _distance, _is_near, _pad, _window


class Text(NamedTuple):
    """A text as ``suffix_sort.cpu_seeds.mark_exceptions`` marks its exceptions."""

    packed: np.ndarray
    marks: np.ndarray
    near: np.ndarray


class Cover(NamedTuple):
    """A difference cover, and the rank of each suffix at one of its residues.

    The suffix at ``position`` has the number ``(position >> bits) * size + places[residue]``.
    ``deltas`` has for each difference of two residues the first of two in the cover that differ so;
    ``offsets`` how far it is from a residue to one in the cover, and ``classes`` which of these
    distances it is.
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
    residues, v = make_cover(cover_bits), 1 << cover_bits
    places = np.full(v, -1, np.int64)
    places[residues] = np.arange(len(residues))
    deltas = np.empty(v, np.int64)
    first, second = np.meshgrid(residues, residues, indexing="ij")
    deltas[(second - first).ravel() % v] = first.ravel()
    offsets, classes = _distances(residues, v)
    return Cover(ranks, residues, places, deltas, offsets, classes, cover_bits)


def _distances(residues: np.ndarray, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a distance from each residue into the cover, of few different ones; each int64."""
    is_in = np.zeros(v, bool)
    is_in[residues] = True
    reached = is_in[(np.arange(v)[:, None] + np.arange(v)) % v]
    offsets, classes = np.full(v, -1, np.int64), np.full(v, -1, np.int64)
    for number in range(v):
        is_left = offsets < 0
        if not is_left.any():
            break
        best = int(np.argmax(reached[is_left].sum(axis=0)))
        taken = is_left & reached[:, best]
        offsets[taken], classes[taken] = best, number
    return offsets, classes


@njit(nogil=True, cache=True)
def is_before(cover, first, second):
    """Return whether the first of two suffixes that share ``v`` bases is the smaller one."""
    mask = (np.int64(1) << cover.bits) - 1
    size = len(cover.residues)
    distance = (cover.deltas[(second - first) & mask] - first) & mask
    one, other = first + distance, second + distance
    rank = cover.ranks[(one >> cover.bits) * size + cover.places[one & mask]]
    return rank < cover.ranks[(other >> cover.bits) * size + cover.places[other & mask]]


@njit(nogil=True, cache=True)
def compare_bases(text, first, second, depth, bits):
    """Return -1 or 1 as a suffix is less or greater than another, 0 if ``2**bits`` bases are equal.

    They are two, and have ``depth`` bases in common.
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
    """Return the order of two suffixes with ``depth`` bases in common; 0 without ranks, if tied."""
    if first == second:
        return 0
    order = compare_bases(text, first, second, depth, cover.bits)
    if order == 0 and len(cover.ranks):
        order = -1 if is_before(cover, first, second) else 1
    return order


# Compiled with genoviz/kernels/suffix_sort/cpu_blocks.py: 939cea10e5cf9a5e
