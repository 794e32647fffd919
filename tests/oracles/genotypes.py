"""Oracle: genotypes expanded to dense matrices."""

from __future__ import annotations

import numpy as np

DOSAGE = {0: 2.0, 1: np.nan, 2: 1.0, 3: 0.0}
DOSAGES = np.array([DOSAGE[code] for code in range(4)])


def codes_of(packed, n_samples):
    """Return the 2-bit code of each sample at each variant: int (n_samples, n_variants)."""
    codes = np.empty((n_samples, len(packed)), int)
    for i in range(n_samples):
        codes[i] = packed[:, i // 4] >> 2 * (i % 4) & 3
    return codes


def pack(codes):
    """Return codes (n_samples, n_variants) packed as in a .bed file."""
    n_samples, n_variants = np.shape(codes)
    packed = np.zeros((n_variants, (n_samples + 3) // 4), np.uint8)
    for i, of_sample in enumerate(np.asarray(codes, np.uint8)):
        packed[:, i // 4] |= of_sample << 2 * (i % 4)
    return packed


def dosages_of(packed, n_samples):
    """Return the number of copies of A1: float64 (n_samples, n_variants), NaN if missing."""
    return DOSAGES[codes_of(packed, n_samples)]


def dense(packed, n_samples, values):
    """Return Z[i, j] = values[j, code of i at j]."""
    codes = codes_of(packed, n_samples)
    return np.take_along_axis(np.asarray(values), codes.T, axis=1).T
