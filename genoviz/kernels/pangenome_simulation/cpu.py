"""Numba version of the contract in ``genoviz.kernels.pangenome_simulation``."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from genoviz.kernels.pangenome_simulation import (
    BLOCK_END,
    DUPLICATION,
    INDEL,
    INSERTION,
    INVERSION,
    PLAIN,
    SNP,
)
from genoviz.kernels.splitmix import GOLDEN, fraction, mix

MAX_DEPTH = 4
_ONE = np.uint64(1)


@njit(nogil=True, cache=True, inline="always")
def _below(bits, n):
    """Return a uniform integer in [0, n), n < 2**31, from 64 random bits."""
    return np.int64(((bits >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@njit(nogil=True, cache=True)
def grow_sites(n_nodes, kind_limits, min_sizes, max_sizes, seed, kinds, nodes, extents, top):
    """Fill the site arrays for exactly ``n_nodes`` nodes; return (n_sites, n_top_sites).

    ``kind_limits`` are the cumulative rates of SNP to DUPLICATION, ``min_sizes`` and ``max_sizes``
    the sites of a block by kind (density 1 / size**2), ``top`` lists the sites outside blocks.
    """
    state = np.uint64(seed)
    opened = np.empty(MAX_DEPTH, np.int64)
    n_left = np.empty(MAX_DEPTH, np.int64)
    depth = n_sites = n_top = node = 0
    in_duplication = 0
    while node < n_nodes:
        i = n_sites
        n_sites += 1
        nodes[i] = node
        extents[i] = 0
        if depth == 0:
            top[n_top] = i
            n_top += 1
        # Each open block and the end of the graph still need one node.
        spare = n_nodes - node - 1 - depth
        if depth > 0 and (n_left[depth - 1] == 0 or spare < 3):
            depth -= 1
            kinds[i] = BLOCK_END
            extents[i] = opened[depth]
            extents[opened[depth]] = i + 1
            if kinds[opened[depth]] == DUPLICATION:
                in_duplication = 0
            node += 1
            if depth > 0:
                n_left[depth - 1] -= 1
            continue
        state += GOLDEN
        u = fraction(mix(state))
        kind = SNP
        while kind < DUPLICATION and u >= kind_limits[kind]:
            kind += 1
        is_block = kind >= INSERTION
        if is_block and (
            depth == MAX_DEPTH or spare < 9 or (kind == DUPLICATION and in_duplication == 1)
        ):
            kind = SNP
            is_block = False
        if spare < 3:
            kind = PLAIN
        kinds[i] = kind
        node += 3 if kind == SNP else (2 if kind == INDEL else 1)
        if is_block:
            state += GOLDEN
            u = fraction(mix(state))
            low, high = min_sizes[kind], max_sizes[kind]
            opened[depth] = i
            n_left[depth] = np.int64(low / (1.0 - u * (1.0 - low / high)))
            depth += 1
            if kind == DUPLICATION:
                in_duplication = 1
        elif depth > 0:
            n_left[depth - 1] -= 1
    return n_sites, n_top


@njit(nogil=True, cache=True)
def paint_mosaic(first_bins, last_bins, fixed_founders, n_founders, switch_rate, seed, mosaic):
    """Fill ``mosaic``: each path copies a founder and switches to another at random bins."""
    mosaic[:] = 0
    for path in range(len(first_bins)):
        state = mix(np.uint64(seed) + np.uint64(path) * GOLDEN)
        founder = fixed_founders[path]
        for b in range(first_bins[path], last_bins[path]):
            if fixed_founders[path] < 0:
                state += GOLDEN
                if founder < 0 or fraction(mix(state)) < switch_rate:
                    state += GOLDEN
                    founder = _below(mix(state), n_founders)
            mosaic[b, path] = founder + 1


@njit(nogil=True, cache=True, inline="always")
def _n_bits(bits):
    n = 0
    while bits:
        bits &= bits - _ONE
        n += 1
    return n


@njit(nogil=True, cache=True)
def _choose(visitors, n_visitors, n_chosen, n_founders, state):
    """Return a random subset of ``visitors`` with ``n_chosen`` members, and the new state."""
    is_complement = 2 * n_chosen > n_visitors
    n = n_visitors - n_chosen if is_complement else n_chosen
    chosen = np.uint64(0)
    while n > 0:
        state += GOLDEN
        bit = _ONE << np.uint64(_below(mix(state), n_founders))
        if visitors & bit and not chosen & bit:
            chosen |= bit
            n -= 1
    return (visitors & ~chosen if is_complement else chosen), state


@njit(nogil=True, cache=True, parallel=True)
def draw_alleles(kinds, bin_sites, mosaic, n_founders, private_rate, seed, alleles, carriers):
    """Fill ``alleles`` and ``carriers`` so that, with two founders in a bin, both alleles are used.

    The number of founders with the rarer allele follows the neutral spectrum, 1 / k.
    """
    n_bins, n_paths = mosaic.shape
    for b in prange(n_bins):
        state = mix(np.uint64(seed) + np.uint64(b) * GOLDEN)
        present = np.empty(n_paths, np.int32)
        n_present = 0
        visitors = np.uint64(0)
        for path in range(n_paths):
            if mosaic[b, path] > 0:
                visitors |= _ONE << np.uint64(mosaic[b, path] - 1)
                present[n_present] = path
                n_present += 1
        outer = np.empty(MAX_DEPTH, np.uint64)
        depth = 0
        for i in range(bin_sites[b], bin_sites[b + 1]):
            kind = kinds[i]
            carriers[i] = -1
            alleles[i] = np.uint64(0)
            if kind == BLOCK_END:
                depth -= 1
                visitors = outer[depth]
                continue
            n_visitors = _n_bits(visitors)
            if kind == PLAIN:
                continue
            if depth == 0 and n_present > 1 and kind <= INDEL:
                state += GOLDEN
                if fraction(mix(state)) < private_rate:
                    state += GOLDEN
                    carriers[i] = present[_below(mix(state), n_present)]
                    continue
            state += GOLDEN
            u = fraction(mix(state))
            # Two founders must remain within an insertion, for both alleles of its inner sites.
            minimum = 2 if kind == INSERTION else 1
            k = max(minimum, min(np.int64(math.exp(u * math.log(max(n_visitors, 1)))), n_visitors))
            state += GOLDEN
            if mix(state) & _ONE:
                k = max(minimum, n_visitors - k)
            if n_visitors > minimum:
                k = min(k, n_visitors - 1)
            k = min(k, n_visitors) if n_visitors > 1 or kind == INSERTION else 0
            alleles[i], state = _choose(visitors, n_visitors, k, n_founders, state)
            if kind >= INSERTION:
                outer[depth] = visitors
                depth += 1
                if kind == INSERTION:
                    visitors = alleles[i]


@njit(nogil=True, cache=True)
def _walk(
    sites, copy_span, n_founders, first_site, last_site, founder, path, writes, steps, position
):
    """Walk the sites as a founder; return the position in ``steps`` after its last step."""
    kinds, nodes, extents, alleles, carriers = sites
    starts = np.empty(MAX_DEPTH, np.int64)
    inverted = np.zeros(MAX_DEPTH, np.uint8)
    copies = np.zeros(MAX_DEPTH, np.int64)
    founders = np.zeros(MAX_DEPTH, np.int64)
    depth = 0
    i = first_site
    while i < last_site:
        kind = kinds[i]
        node = nodes[i]
        allele = np.int64((alleles[i] >> np.uint64(founder)) & _ONE)
        if writes:
            steps[position] = node << 1
        position += 1
        if kind == SNP:
            if writes:
                allele |= carriers[i] == path
                steps[position] = (node + 1 + allele) << 1
            position += 1
            i += 1
        elif kind == INDEL:
            if allele == 1 or (carriers[i] == path and path >= 0):
                if writes:
                    steps[position] = (node + 1) << 1
                position += 1
            i += 1
        elif kind == PLAIN:
            i += 1
        elif kind == BLOCK_END:
            if copies[depth - 1] > 0:
                # Each copy has another founder's alleles, as paralogs differ.
                copies[depth - 1] -= 1
                founder = (founder + 1) % n_founders
                i = extents[i] + 1
                continue
            depth -= 1
            founder = founders[depth]
            if writes and inverted[depth]:
                _reverse(steps, starts[depth], position)
            i += 1
        elif kind == INSERTION and allele == 0:
            i = extents[i]
        else:
            starts[depth] = position
            founders[depth] = founder
            inverted[depth] = kind == INVERSION and allele == 1
            copies[depth] = 0
            if kind == DUPLICATION and allele == 1:
                bits = mix(np.uint64(i) * GOLDEN + np.uint64(founder))
                copies[depth] = 1 + _below(bits, copy_span)
            depth += 1
            i += 1
    return position


@njit(nogil=True, cache=True)
def _reverse(steps, first, last):
    """Reverse the order and the orientations of ``steps[first:last]``."""
    low, high = first, last - 1
    while low < high:
        steps[low], steps[high] = steps[high] ^ np.uint32(1), steps[low] ^ np.uint32(1)
        low += 1
        high -= 1
    if low == high:
        steps[low] ^= np.uint32(1)


@njit(nogil=True, cache=True, parallel=True)
def count_founder_steps(sites, bin_sites, copy_span, counts):
    """Fill ``founder_steps`` (``counts``)."""
    n_founders, n_bins = counts.shape
    nothing = np.empty(0, np.uint32)
    for b in prange(n_bins):
        for founder in range(n_founders):
            counts[founder, b] = _walk(
                sites, copy_span, n_founders, bin_sites[b], bin_sites[b + 1], founder, -1, False,
                nothing, 0,
            )  # fmt: skip


@njit(nogil=True, cache=True, parallel=True)
def count_path_steps(mosaic, founder_steps, kinds, carriers, counts):
    """Fill the number of steps of each path, int64, shape (n_paths,)."""
    n_bins, n_paths = mosaic.shape
    for path in prange(n_paths):
        n = 0
        for b in range(n_bins):
            if mosaic[b, path] > 0:
                n += founder_steps[mosaic[b, path] - 1, b]
        counts[path] = n
    for i in range(len(kinds)):
        if kinds[i] == INDEL and carriers[i] >= 0:
            counts[carriers[i]] += 1


@njit(nogil=True, cache=True, parallel=True)
def write_steps(sites, bin_sites, copy_span, n_founders, mosaic, is_reverse, path_offsets, steps):
    """Fill ``steps``; ``is_reverse`` (bool, (n_paths,)) reverses a whole path."""
    n_bins, n_paths = mosaic.shape
    for path in prange(n_paths):
        position = path_offsets[path]
        for b in range(n_bins):
            if mosaic[b, path] > 0:
                founder = np.int64(mosaic[b, path]) - 1
                position = _walk(
                    sites, copy_span, n_founders, bin_sites[b], bin_sites[b + 1], founder, path,
                    True, steps, position,
                )  # fmt: skip
        if is_reverse[path]:
            _reverse(steps, path_offsets[path], path_offsets[path + 1])


@njit(nogil=True, cache=True, parallel=True)
def write_bases(kinds, nodes, offsets, seed, bases):
    """Fill random ``bases`` (uint8 text); the alleles of a one-base SNP differ."""
    letters = np.array([65, 67, 71, 84], np.uint8)
    for node in prange(len(offsets) - 1):
        state = mix(np.uint64(seed) + np.uint64(node) * GOLDEN)
        for position in range(offsets[node], offsets[node + 1]):
            state += GOLDEN
            bases[position] = letters[_below(mix(state), 4)]
    for i in prange(len(kinds)):
        if kinds[i] == SNP:
            first, second = offsets[nodes[i] + 1], offsets[nodes[i] + 2]
            if offsets[nodes[i] + 3] - first == 2:
                shift = 1 + _below(mix(np.uint64(seed) ^ (np.uint64(i) * GOLDEN)), 3)
                bases[second] = letters[(np.searchsorted(letters, bases[first]) + shift) % 4]


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
