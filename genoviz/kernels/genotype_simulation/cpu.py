"""Numba version of the contract in ``genoviz.kernels.genotype_simulation``."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.splitmix import GOLDEN, fraction, mix

_LOW = np.uint64(0xFFFF)
_CHUNK = 4096


@njit(nogil=True, cache=True, parallel=True)
def draw_genotypes(
    first_variant, keeps, limits, flips, missing_limit, offsets, seed, classes, packed
):
    """Fill ``packed``; on return, ``classes`` are those of the last variant."""
    n_samples = classes.shape[1]
    for chunk in prange((n_samples + _CHUNK - 1) // _CHUNK):
        first = chunk * _CHUNK
        last = min(n_samples, first + _CHUNK)
        codes = np.zeros(_CHUNK + 4, np.uint8)
        for j in range(len(packed)):
            key = mix(np.uint64(seed) + np.uint64(first_variant + j) * GOLDEN)
            for p in range(len(offsets) - 1):
                start, end = max(first, offsets[p]), min(last, offsets[p + 1])
                if start < end:
                    _draw_codes(
                        key + np.uint64(start) * GOLDEN, np.uint64(keeps[j]), limits[j, p],
                        flips[j], classes[0, start:end], classes[1, start:end],
                        codes[start - first : end - first],
                    )  # fmt: skip
            if missing_limit > np.uint64(0):
                key = mix(key + GOLDEN) + np.uint64(first) * GOLDEN
                _lose_codes(key, missing_limit, codes[: last - first])
            _pack_codes(codes, last - first, packed[j, first // 4 :])


@njit(nogil=True, cache=True)
def _draw_codes(key, keep, limit, flip, paternal, maternal, codes):
    """Advance both haplotypes of some samples by one variant, and write the 2-bit codes."""
    for i in range(len(codes)):
        bits = mix(key + np.uint64(i) * GOLDEN)
        new = np.uint16((bits >> np.uint64(16)) & _LOW)
        paternal[i] = paternal[i] if (bits & _LOW) < keep else new
        is_kept = ((bits >> np.uint64(32)) & _LOW) < keep
        maternal[i] = maternal[i] if is_kept else np.uint16(bits >> np.uint64(48))
        has_first = np.uint32(paternal[i] ^ flip) < limit
        has_second = np.uint32(maternal[i] ^ flip) < limit
        low = np.uint8(0) if has_first | has_second else np.uint8(1)
        codes[i] = low | (np.uint8(0) if has_first & has_second else np.uint8(2))


@njit(nogil=True, cache=True)
def _lose_codes(key, missing_limit, codes):
    for i in range(len(codes)):
        is_missing = (mix(key + np.uint64(i) * GOLDEN) & _LOW) < missing_limit
        codes[i] = np.uint8(1) if is_missing else codes[i]


@njit(nogil=True, cache=True)
def _pack_codes(codes, n_codes, packed):
    codes[n_codes : n_codes + 4] = 0
    for b in range((n_codes + 3) // 4):
        packed[b] = (
            codes[4 * b]
            | codes[4 * b + 1] << np.uint8(2)
            | codes[4 * b + 2] << np.uint8(4)
            | codes[4 * b + 3] << np.uint8(6)
        )


@njit(nogil=True, cache=True)
def drop_genotypes(
    first_variant, founder_rows, sires, dams, founders, frequencies, crossovers, seed, strands,
    packed,
):  # fmt: skip
    """Fill ``packed``: each animal copies one haplotype of each parent, with crossovers.

    It is random at each variant which haplotype of a heterozygous founder carries A1.
    """
    n_animals = len(sires)
    alleles = np.zeros((2, n_animals), np.uint8)
    codes = np.zeros(n_animals + 4, np.uint8)
    for j in range(len(packed)):
        key = mix(np.uint64(seed) + np.uint64(first_variant + j) * GOLDEN)
        for i in range(n_animals):
            for side in range(2):
                bits = mix(key + np.uint64(2 * i + side) * GOLDEN)
                parent = sires[i] if side == 0 else dams[i]
                if parent >= 0:
                    strands[side, i] ^= np.uint8(fraction(bits) < crossovers[j])
                    alleles[side, i] = alleles[strands[side, i], parent]
                else:
                    alleles[side, i] = np.uint8(fraction(bits) < frequencies[j])
            row = founder_rows[i]
            if row >= 0:
                code = (founders[j, row >> 2] >> np.uint8(2 * (row & 3))) & 3
                if code == 0 or code == 3:
                    alleles[0, i] = alleles[1, i] = np.uint8(code == 0)
                elif code == 2:
                    # The first of two random alleles decides which haplotype has A1.
                    bits = mix(key + np.uint64(2 * i) * GOLDEN)
                    alleles[0, i] = np.uint8(bits >> np.uint64(63))
                    alleles[1, i] = np.uint8(1) - alleles[0, i]
            both = alleles[0, i] + alleles[1, i]
            codes[i] = np.uint8(2) if both == 1 else np.uint8(3) * np.uint8(both == 0)
        _pack_codes(codes, n_animals, packed[j])


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
