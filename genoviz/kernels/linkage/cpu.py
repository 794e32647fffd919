"""Squared correlations on all cores; the contract is in this folder's ``__init__``.

A variant is three bit planes, one bit a sample. All sums of products of two dosages less one are
popcounts, 64 samples at a time, of the samples that are homozygous at both variants, and of those
that are so for different alleles::

    dosages - 1         1 0 -1 . 0 1
    heterozygous        0 1  0 0 1 0     sum x   = 2 hom - (called - het)
    homozygous          1 0  0 0 0 1     sum x^2 = called - het
    called              1 1  1 0 1 1     sum x y = both - 2 opposite

Sums of one variant are over the samples called at the other: all samples, if none is missing at
both, and then they are known before.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import count_ones

HETEROZYGOUS, HOMOZYGOUS, CALLED = 0, 1, 2
FEWER = 1 - 1e-11
EVEN = np.uint64(0x5555555555555555)
ONE = np.uint64(1)


def make_planes(packed, n_samples):
    """Return the bits of each variant."""
    planes = np.zeros((len(packed), 3, (n_samples + 63) // 64), np.uint64)
    rows = np.ascontiguousarray(packed).view()
    rows.flags.writeable = False
    if planes.size:
        _fill_planes(rows, n_samples, planes)
    return planes


def squared_correlations(planes, n_samples, first, second):
    """Return r^2 of pairs of variants."""
    out, totals = np.empty(len(first)), np.empty((len(planes), 3), np.int64)
    _count_planes(planes, totals)
    _squared_correlations(planes, totals, n_samples, first, second, out)
    return out


def joint_counts(planes, first, second):
    """Return the number of samples with each pair of genotypes, for pairs of variants."""
    out = np.empty((len(first), 3, 3), np.int64)
    _joint_counts(planes, first, second, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _fill_planes(packed, n_samples, planes):
    """Bits of 64 samples are the first 32, at even places, and the others."""
    n_whole = n_samples >> 6
    for j in prange(len(packed)):
        words = packed[j, : 16 * n_whole].view(np.uint64)  # 32 genotypes each
        for word in range(n_whole):
            one, other = words[2 * word], words[2 * word + 1]
            low = (one & EVEN) | ((other & EVEN) << ONE)
            high = (one >> ONE & EVEN) | (other & ~EVEN)
            planes[j, HETEROZYGOUS, word] = high & ~low
            planes[j, HOMOZYGOUS, word] = ~(high | low)
            planes[j, CALLED, word] = high | ~low
        for i in range(64 * n_whole, n_samples):
            code = packed[j, i >> 2] >> 2 * (i & 3) & 3
            bit = ONE << np.uint64(2 * (i & 31) + (i >> 5 & 1))
            planes[j, HETEROZYGOUS, -1] |= bit if code == 2 else np.uint64(0)
            planes[j, HOMOZYGOUS, -1] |= bit if code == 0 else np.uint64(0)
            planes[j, CALLED, -1] |= bit if code != 1 else np.uint64(0)


@njit(nogil=True, cache=True, parallel=True)
def _count_planes(planes, totals):
    for j in prange(len(planes)):
        for plane in range(3):
            n = np.uint64(0)
            for word in planes[j, plane]:
                n += count_ones(word)
            totals[j, plane] = n


@njit(nogil=True, cache=True, parallel=True)
def _squared_correlations(planes, totals, n_samples, first, second, out):
    for pair in prange(len(first)):
        i, j = first[pair], second[pair]
        out[pair] = _squared_correlation(planes[i], planes[j], totals[i], totals[j], n_samples)


@njit(nogil=True, cache=True, parallel=True)
def _joint_counts(planes, first, second, out):
    for pair in prange(len(first)):
        counts = _count_both(planes[first[pair]], planes[second[pair]])
        n, one_het, one_hom, other_het, other_hom, het_het, het_hom, hom_het, hom_hom = counts
        table = out[pair]
        table[0, 0], table[0, 1], table[1, 0], table[1, 1] = hom_hom, hom_het, het_hom, het_het
        table[0, 2], table[1, 2] = one_hom - hom_hom - hom_het, one_het - het_hom - het_het
        table[2, 0], table[2, 1] = other_hom - hom_hom - het_hom, other_het - hom_het - het_het
        table[2, 2] = n - one_hom - one_het - table[2, 0] - table[2, 1]


@njit(nogil=True, cache=True)
def _squared_correlation(one, other, of_one, of_other, n_samples):
    both, opposite = np.uint64(0), np.uint64(0)
    if of_one[CALLED] == n_samples and of_other[CALLED] == n_samples:
        for word in range(one.shape[1]):
            is_both = ~(one[HETEROZYGOUS, word] | other[HETEROZYGOUS, word])
            is_opposite = one[HOMOZYGOUS, word] ^ other[HOMOZYGOUS, word]
            both += count_ones(is_both)
            opposite += count_ones(is_both & is_opposite)
        n_beyond = 64 * one.shape[1] - n_samples
        n, xx = n_samples, n_samples - of_one[HETEROZYGOUS]
        yy = n_samples - of_other[HETEROZYGOUS]
        x, y = 2 * of_one[HOMOZYGOUS] - xx, 2 * of_other[HOMOZYGOUS] - yy
        return _of_sums(n, x, xx, y, yy, np.int64(both) - n_beyond - 2 * np.int64(opposite))
    n_both, xx_both, yy_both = np.uint64(0), np.uint64(0), np.uint64(0)
    a_both, b_both = np.uint64(0), np.uint64(0)
    for word in range(one.shape[1]):
        a, c = one[HOMOZYGOUS, word], one[CALLED, word]
        b, d = other[HOMOZYGOUS, word], other[CALLED, word]
        p, q = c & ~one[HETEROZYGOUS, word], d & ~other[HETEROZYGOUS, word]
        n_both += count_ones(c & d)
        xx_both += count_ones(p & d)
        yy_both += count_ones(q & c)
        a_both += count_ones(a & d)
        b_both += count_ones(b & c)
        both += count_ones(p & q)
        opposite += count_ones(p & q & (a ^ b))
    n, xx, yy = np.int64(n_both), np.int64(xx_both), np.int64(yy_both)
    x, y = 2 * np.int64(a_both) - xx, 2 * np.int64(b_both) - yy
    return _of_sums(n, x, xx, y, yy, np.int64(both) - 2 * np.int64(opposite))


@njit(nogil=True, cache=True)
def _of_sums(n, x, xx, y, yy, xy):
    x, y = float(x), float(y)
    spread = (n * float(xx) - x * x) * (n * float(yy) - y * y)
    covariance = n * float(xy) - x * y
    return covariance * covariance / spread if spread > 0 else np.nan


@njit(nogil=True, cache=True)
def _count_both(one, other):
    """Return the counts of one variant where the other is called, and the counts of both."""
    n = one_het = one_hom = other_het = other_hom = 0
    het_het = het_hom = hom_het = hom_hom = 0
    for word in range(one.shape[1]):
        h, a, c = one[HETEROZYGOUS, word], one[HOMOZYGOUS, word], one[CALLED, word]
        g, b, d = other[HETEROZYGOUS, word], other[HOMOZYGOUS, word], other[CALLED, word]
        n += np.int64(count_ones(c & d))
        one_het += np.int64(count_ones(h & d))
        one_hom += np.int64(count_ones(a & d))
        other_het += np.int64(count_ones(g & c))
        other_hom += np.int64(count_ones(b & c))
        het_het += np.int64(count_ones(h & g))
        het_hom += np.int64(count_ones(h & b))
        hom_het += np.int64(count_ones(a & g))
        hom_hom += np.int64(count_ones(a & b))
    return n, one_het, one_hom, other_het, other_hom, het_het, het_hom, hom_het, hom_hom


def prune(planes, n_samples, frequencies, is_kept, n_compared, n_windows, window, step, max_r2):
    """Clear the variants that consecutive windows of a contig drop."""
    totals = np.empty((len(planes), 3), np.int64)
    _count_planes(planes, totals)
    states = frequencies, is_kept, n_compared
    _prune(planes, totals, n_samples, states, n_windows, window, step, max_r2)


@njit(nogil=True, cache=True)
def _prune(planes, totals, n_samples, states, n_windows, window, step, max_r2):
    for start in range(0, n_windows * step, step):
        end = min(start + window, len(planes))
        while _prune_window(planes, totals, n_samples, states, start, end, max_r2):
            pass


@njit(nogil=True, cache=True)
def _prune_window(planes, totals, n_samples, states, start, end, max_r2):
    """Drop one of each correlated pair of kept variants; return whether any was dropped."""
    frequencies, is_kept, n_compared = states
    is_changed = False
    for i in range(start, end):
        if not is_kept[i]:
            continue
        for j in range(i + 1 + n_compared[i], end):
            n_compared[i] = j - i
            if not is_kept[j]:
                continue
            r2 = _squared_correlation(planes[i], planes[j], totals[i], totals[j], n_samples)
            if r2 > max_r2:
                is_changed = True
                if frequencies[i] < FEWER * frequencies[j]:
                    is_kept[i] = False
                else:
                    is_kept[j] = False
                break
    return is_changed


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
