"""Traversals of variation sites by paths, and their alleles.

A path traverses a site from its source to its sink, or in reverse on the other strand. ``gates``
(int32, shape (2 * n_nodes, 2)) holds for each handle the site that is entered after it and the
site that is left at it, or -1. Sites are nested or disjoint, so the sites that a path is in form a
stack.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.splitmix import scramble
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.bases import COMPLEMENTS

SITE, HASH, COUNT, N_PATHS, LAST_PATH, LENGTH, FIRST_STEP, ALLELE = range(8)
N_COLUMNS = 8
"""Columns of a table of walks, int64.

A walk is identified by its site and the sum of the hashes of its handles: a site has no cycle, so a
set of handles has only one order. FIRST_STEP is the step at which its first traversal enters, or
``~step`` on the other strand. ALLELE is the row of the first walk with the same bases; that row
holds N_PATHS and LAST_PATH for all walks of the allele. A row of eight columns is a cache line.
"""

_PRIME = 2**61 - 1
_LOW_30, _LOW_31 = 2**30 - 1, 2**31 - 1
_BASE = 0x1C6EF372FE94F82B % _PRIME
_INVERSE = pow(_BASE, -1, _PRIME)
_UPPER = 0xDF
"""Mask that turns a lower-case letter into upper case."""


@njit(nogil=True, cache=True)
def _add(a, b):
    """Return the sum of two numbers modulo 2^61 - 1."""
    found = a + b
    return found - _PRIME if found >= _PRIME else found


@njit(nogil=True, cache=True)
def _multiply(a, b):
    """Return the product of two numbers modulo 2^61 - 1, in halves of 31 bits."""
    a_high, a_low, b_high, b_low = a >> 31, a & _LOW_31, b >> 31, b & _LOW_31
    middle = a_low * b_high + a_high * b_low
    found = 2 * a_high * b_high + (middle >> 30) + ((middle & _LOW_30) << 31)
    found = (found & _PRIME) + (found >> 61) + a_low * b_low
    return _add((found & _PRIME) + (found >> 61), 0)


@njit(nogil=True, cache=True)
def _power(base, exponent):
    """Return a power modulo 2^61 - 1."""
    found = np.int64(1)
    while exponent > 0:
        if exponent & 1:
            found = _multiply(found, base)
        base = _multiply(base, base)
        exponent >>= 1
    return found


@njit(nogil=True, cache=True)
def _cut(whole, before, power):
    """Return the hash of the suffix after ``before``; ``power`` is that of the suffix's length."""
    return _add(whole, _PRIME - _multiply(before, power))


@njit(nogil=True, cache=True, parallel=True)
def _code_nodes(nodes, node_lengths, bases, offsets, complements):
    codes = np.empty((len(nodes), 3), np.int64)
    for row in prange(len(nodes)):
        node = nodes[row]
        first, stop = offsets[node], offsets[node + 1]
        forward, reverse = np.int64(0), np.int64(0)
        if stop - first == node_lengths[node]:
            for place in range(first, stop):
                forward = _add(_multiply(forward, _BASE), np.int64(bases[place] & _UPPER))
            for place in range(stop - 1, first - 1, -1):
                base = complements[bases[place]]
                reverse = _add(_multiply(reverse, _BASE), np.int64(base & _UPPER))
        else:
            forward = np.int64(scramble(2 * node) >> np.uint64(3))
            reverse = np.int64(scramble(2 * node + 1) >> np.uint64(3))
        codes[row, 0], codes[row, 1] = forward, reverse
        codes[row, 2] = _power(_BASE, node_lengths[node])
    return codes


def code_nodes(graph: PangenomeGraph, nodes: np.ndarray) -> np.ndarray:
    """Return the hashes of nodes from which those of walks are computed; empty without bases.

    The columns are the hash of a node's bases, that of its reverse complement, and the factor for
    bases before it; int64, shape (n, 3). The hash of a text is a polynomial modulo the prime
    2^61 - 1 with the letters as coefficients, upper and lower case alike. Two texts of ``n`` bases
    collide with a probability of about ``n / 2**61``. A node without bases equals no other.
    """
    sequences = graph.node_sequences
    if sequences is None or len(sequences.data) == 0:
        return np.empty((0, 3), np.int64)
    return _code_nodes(nodes, graph.node_lengths, sequences.data, sequences.offsets, COMPLEMENTS)


@njit(nogil=True, cache=True)
def code_walk(codes, rows, sides):
    """Return the hash of a walk, given as rows of ``codes`` and strands."""
    found = np.int64(0)
    for step in range(len(rows)):
        found = _add(_multiply(found, codes[rows[step], 2]), codes[rows[step], sides[step]])
    return found


@njit(nogil=True, cache=True)
def _slot_of(site, key, slots, walks, keys):
    """Return the slot with the row of a site and key, or the free slot for it."""
    mask = np.int64(len(slots) - 1)
    slot = np.int64(scramble(np.uint64(key) + scramble(site)) & np.uint64(mask))
    while slots[slot] >= 0:
        row = slots[slot]
        if walks[row, SITE] == site and keys[row] == key:
            break
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True, cache=True)
def _find_row(site, walk_hash, slots, walks, n_rows):
    """Return the row of a walk, which is ``n_rows`` or a row with COUNT 0 if it is new."""
    for row in range(2 * site, 2 * site + 2):
        if walks[row, COUNT] == 0 or walks[row, HASH] == walk_hash:
            return row
    slot = _slot_of(site, walk_hash, slots, walks, walks[:, HASH])
    if slots[slot] < 0:
        slots[slot] = n_rows
    return slots[slot]


@njit(nogil=True, cache=True)
def _grow(slots, walks):
    """Return tables of twice the size with the same walks."""
    more = np.zeros((2 * len(walks), walks.shape[1]), np.int64)
    for row in range(len(walks)):  # assigning slices takes Numba ten seconds to compile
        for column in range(walks.shape[1]):
            more[row, column] = walks[row, column]
    return _spread(slots, walks, walks[:, HASH]), more


@njit(nogil=True, cache=True)
def _grow_texts(text_slots, walks, texts):
    """Return a hash table of alleles, and their texts, of twice the size."""
    more = np.zeros(2 * len(texts), np.int64)
    for row in range(len(texts)):
        more[row] = texts[row]
    return _spread(text_slots, walks, texts), more


@njit(nogil=True, cache=True)
def _spread(slots, walks, keys):
    """Return a hash table of twice the size with the same rows."""
    more = np.full(2 * len(slots), -1, np.int64)
    for slot in range(len(slots)):
        row = slots[slot]
        if row >= 0:
            more[_slot_of(walks[row, SITE], keys[row], more, walks, keys)] = row
    return more


@njit(nogil=True, cache=True)
def _find_allele(row, text, text_slots, walks, texts):
    """Return the row of the site's first walk with this text; ``row`` if the text is new."""
    texts[row] = text
    slot = _slot_of(walks[row, SITE], text, text_slots, walks, texts)
    if text_slots[slot] < 0:
        text_slots[slot] = row
    return text_slots[slot]


@njit(nogil=True, cache=True)
def _deepen(inside, room):
    """Return a larger stack with the same entries."""
    deeper = np.empty((room, inside.shape[1]), np.int64)
    for entry in range(len(inside)):
        for column in range(inside.shape[1]):
            deeper[entry, column] = inside[entry, column]
    return deeper


@njit(nogil=True, cache=True)
def count_alleles(
    paths, steps, path_offsets, gates, sources, node_lengths, codes, table, n_rows, visits
):
    """Count the traversals of some paths into a table of walks; all sites in one pass.

    Parameters
    ----------
    paths
        int64: the paths; no path may come twice.
    gates, sources
        The sites that begin and end at each handle, and the first handle of each site.
    codes
        Hashes of the nodes from `code_nodes`; empty if each walk is an allele of its own.
    table
        Four arrays, which may be replaced by larger ones: the walks, zeros at first; their hash
        table ``slots``, int64, a power of two long, at least twice as long as the walks; the
        hashes of the walks' texts, int64; and the hash table of alleles by these. The last two
        are as long as the first two, or 2 and 1 without ``codes``.
        two before, or as 2 and 1 without ``codes``.
    n_rows
        Number of rows in use or reserved: the first two walks of site ``i`` have rows ``2 * i``
        and ``2 * i + 1``, so that most walks of a path are close in memory; other walks
        follow.
    visits
        int64, shape (n_sites, 2): number of paths that traverse a site, and the last of them.

    Returns
    -------
    table, n_rows
    """
    walks, slots, texts, text_slots = table
    room = 64
    inside = np.empty((room, 8), np.int64)
    is_spelt = len(codes) > 0
    for path in paths:
        depth = 0
        forward, backward, length = np.int64(0), np.int64(0), np.int64(0)
        text, mirror, power = np.int64(0), np.int64(0), np.int64(1)
        for step in range(path_offsets[path], path_offsets[path + 1]):
            handle = np.int64(steps[step])
            enters, leaves = gates[handle, 0], gates[handle, 1]
            if leaves >= 0 and depth and inside[depth - 1, SITE] == leaves:
                depth -= 1
                walk_hash = forward - inside[depth, 2]
                if inside[depth, 5]:
                    walk_hash = backward - inside[depth, 3]
                if n_rows == len(walks):
                    if is_spelt:
                        text_slots, texts = _grow_texts(text_slots, walks, texts)
                    slots, walks = _grow(slots, walks)
                row = _find_row(np.int64(leaves), walk_hash, slots, walks, n_rows)
                if walks[row, COUNT] == 0:
                    entry, before = inside[depth, 1], inside[depth, 4]
                    walks[row, SITE] = leaves
                    walks[row, HASH] = walk_hash
                    walks[row, LAST_PATH] = -1
                    walks[row, LENGTH] = length - before
                    walks[row, FIRST_STEP] = ~entry if inside[depth, 5] else entry
                    walks[row, ALLELE] = row
                    if is_spelt:
                        here = _cut(text, inside[depth, 6], _power(_BASE, length - before))
                        if inside[depth, 5]:
                            here = _cut(mirror, inside[depth, 7], 1)
                            here = _multiply(here, _power(_INVERSE, before))
                        walks[row, ALLELE] = _find_allele(row, here, text_slots, walks, texts)
                    n_rows += row == n_rows
                walks[row, COUNT] += 1
                row = walks[row, ALLELE]
                walks[row, N_PATHS] += walks[row, LAST_PATH] != path
                walks[row, LAST_PATH] = path
                visits[leaves, 0] += visits[leaves, 1] != path
                visits[leaves, 1] = path
            if depth:
                forward += np.int64(scramble(handle))
                backward += np.int64(scramble(handle ^ 1))
                length += node_lengths[handle >> 1]
                if is_spelt:
                    node, side = handle >> 1, handle & 1
                    text = _add(_multiply(text, codes[node, 2]), codes[node, side])
                    mirror = _add(mirror, _multiply(codes[node, 1 - side], power))
                    power = _multiply(power, codes[node, 2])
            if enters >= 0:
                if depth == room:
                    room *= 2
                    inside = _deepen(inside, room)
                inside[depth, 0] = enters
                inside[depth, 1] = step
                inside[depth, 2] = forward
                inside[depth, 3] = backward
                inside[depth, 4] = length
                inside[depth, 5] = handle != sources[enters]
                inside[depth, 6] = text
                inside[depth, 7] = mirror
                depth += 1
    return (walks, slots, texts, text_slots), n_rows


@njit(nogil=True, cache=True)
def _merge_walks(walks):
    """Give each allele the traversals of all its walks, and return its number of walks."""
    n_walks = np.zeros(len(walks), np.int64)
    for row in range(len(walks)):
        if walks[row, COUNT]:
            first = walks[row, ALLELE]
            n_walks[first] += 1
            if first != row:
                walks[first, COUNT] += walks[row, COUNT]
                walks[row, COUNT] = 0
    return n_walks


@njit(nogil=True, cache=True)
def _rows_by_site(alleles, n_sites):
    """Return the used rows of an allele table sorted by site, and the first of each site."""
    offsets = np.zeros(n_sites + 1, np.int64)
    for row in range(len(alleles)):
        if alleles[row, COUNT]:
            offsets[alleles[row, SITE] + 1] += 1
    for site in range(n_sites):
        offsets[site + 1] += offsets[site]
    rows = np.empty(offsets[-1], np.int64)
    ends = offsets[:-1].copy()
    for row in range(len(alleles)):
        if alleles[row, COUNT]:
            site = alleles[row, SITE]
            rows[ends[site]] = row
            ends[site] += 1
    return rows, offsets


def sort_alleles(walks: np.ndarray, n_sites: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the alleles sorted by site, the walks of each, and the first allele of each site.

    An allele is the row of its first walk with the traversals of all. The first allele found stays
    first; the others are in descending order of traversals, then in order of discovery. The table
    of walks is overwritten.
    """
    n_walks = _merge_walks(walks)
    rows, offsets = _rows_by_site(walks, n_sites)
    counts = np.diff(offsets)
    is_open = np.repeat(counts > 2, counts)
    is_open[offsets[:-1]] = False
    others = rows[is_open]
    order = np.lexsort((-walks[others, COUNT], walks[others, SITE]))
    rows[is_open] = others[order]
    return walks[rows], n_walks[rows], offsets


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
