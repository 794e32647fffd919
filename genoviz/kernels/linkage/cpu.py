"""Squared correlations on all cores; the contract is in this folder's ``__init__``.

A variant is three bit planes, one bit a sample. All sums of products of two dosages are popcounts
of the AND of two planes, 64 samples at a time::

    dosages             2 1 0 . 1 2
    heterozygous        0 1 0 0 1 0      sum x   = het + 2 hom
    homozygous          1 0 0 0 0 1      sum x^2 = het + 4 hom
    called              1 1 1 0 1 1      sum x y = het het + 2 (het hom + hom het) + 4 hom hom

Sums of one variant are over the samples called at the other.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import count_ones

HETEROZYGOUS, HOMOZYGOUS, CALLED = 0, 1, 2
FEWER = 1 - 1e-11


def make_planes(packed, n_samples):
    """Return the bits of each variant."""
    planes = np.zeros((len(packed), 3, (n_samples + 63) // 64), np.uint64)
    rows = np.ascontiguousarray(packed).view()
    rows.flags.writeable = False
    if planes.size:
        _fill_planes(rows, n_samples, planes)
    return planes


def squared_correlations(planes, first, second):
    """Return r^2 of pairs of variants."""
    out = np.empty(len(first))
    _squared_correlations(planes, first, second, out)
    return out


def joint_counts(planes, first, second):
    """Return the number of samples with each pair of genotypes, for pairs of variants."""
    out = np.empty((len(first), 3, 3), np.int64)
    _joint_counts(planes, first, second, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _fill_planes(packed, n_samples, planes):
    of_byte = np.zeros((256, 3), np.uint64)
    for byte in range(256):
        for place in range(4):
            code, bit = byte >> 2 * place & 3, np.uint64(1 << place)
            of_byte[byte, HETEROZYGOUS] |= bit if code == 2 else np.uint64(0)
            of_byte[byte, HOMOZYGOUS] |= bit if code == 0 else np.uint64(0)
            of_byte[byte, CALLED] |= bit if code != 1 else np.uint64(0)
    beyond = np.uint64(64 * planes.shape[2] - n_samples)
    for j in prange(len(packed)):
        for byte in range(packed.shape[1]):
            shift = np.uint64(4 * (byte & 15))
            for plane in range(3):
                planes[j, plane, byte >> 4] |= of_byte[packed[j, byte], plane] << shift
        for plane in range(3):
            planes[j, plane, -1] &= ~np.uint64(0) >> beyond


@njit(nogil=True, cache=True, parallel=True)
def _squared_correlations(planes, first, second, out):
    for pair in prange(len(first)):
        out[pair] = _squared_correlation(planes[first[pair]], planes[second[pair]])


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
def _squared_correlation(one, other):
    counts = _count_both(one, other)
    n, one_het, one_hom, other_het, other_hom, het_het, het_hom, hom_het, hom_hom = counts
    x, xx = float(one_het + 2 * one_hom), float(one_het + 4 * one_hom)
    y, yy = float(other_het + 2 * other_hom), float(other_het + 4 * other_hom)
    xy = float(het_het + 2 * (het_hom + hom_het) + 4 * hom_hom)
    spread = (n * xx - x * x) * (n * yy - y * y)
    covariance = n * xy - x * y
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


@njit(nogil=True, cache=True)
def prune(planes, frequencies, is_kept, n_compared, n_windows, window, step, max_r2):
    """Clear the variants that consecutive windows of a contig drop."""
    for start in range(0, n_windows * step, step):
        end = min(start + window, len(planes))
        while _prune_window(planes, frequencies, is_kept, n_compared, start, end, max_r2):
            pass


@njit(nogil=True, cache=True)
def _prune_window(planes, frequencies, is_kept, n_compared, start, end, max_r2):
    """Drop one of each correlated pair of kept variants; return whether any was dropped."""
    is_changed = False
    for i in range(start, end):
        if not is_kept[i]:
            continue
        for j in range(i + 1 + n_compared[i], end):
            n_compared[i] = j - i
            if is_kept[j] and _squared_correlation(planes[i], planes[j]) > max_r2:
                is_changed = True
                if frequencies[i] < FEWER * frequencies[j]:
                    is_kept[i] = False
                else:
                    is_kept[j] = False
                break
    return is_changed


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
