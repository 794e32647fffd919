"""Hard calls of genotype probabilities, as PLINK 2 makes them.

The dosage of ALT is rounded to 1/16384, as PLINK 2 stores it. A genotype is the nearest whole
dosage, or missing if the dosage is farther than 0.1 from it (``--hard-call-threshold``, by
default).

Every genotype gets a code, uint8: 0 to 2 for a whole dosage, ``CALLED`` more for another one that
is called, or ``UNCERTAIN``, ``NONE`` (missing in the file) or ``WRONG`` (probabilities above 1).

References
----------
https://www.cog-genomics.org/plink/2.0/input#hard_call_threshold
"""

from __future__ import annotations

import functools

import numpy as np

CALLED, UNCERTAIN, NONE, WRONG = 3, 6, 7, 8
DOSAGES = np.array([0, 1, 2, 0, 1, 2, -1, -1, -1], np.int8)
"""Dosage of each code, -1 if missing."""
_ONE = 1 << 14
_MAX_DISTANCE = _ONE // 10


def call_triples(content: bytes) -> np.ndarray:
    """Return the codes of genotypes of BGEN's layout 1.

    Each has three probabilities, uint16: of two, one and no REF. All are 0 if it is missing.
    """
    parts = np.frombuffer(content, "<u2").reshape(-1, 3).astype(np.int64)
    total = parts.sum(1)
    codes = _codes_of(2 * parts[:, 2] + parts[:, 1], np.maximum(total, 1))
    codes[total == 0] = NONE
    return codes


def call_copies(
    stored: np.ndarray, ploidies: np.ndarray, n_bits: int, *, is_phased: bool
) -> np.ndarray:
    """Return the codes of genotypes of BGEN's layout 2, at a variant of two alleles.

    Parameters
    ----------
    stored
        uint8: as many numbers for each genotype as it has copies, of ``n_bits`` each.
    ploidies
        uint8, shape (n,): copies. The codes of genotypes other than of one or two mean nothing.
    n_bits
        Bits of each number, 1 to 32.
    is_phased
        Whether numbers are the probabilities of REF in each copy, else of two and of one REF.
    """
    if (ploidies == 2).all():
        if n_bits == 8:
            return _byte_codes(is_phased).take(stored.view("<u2"))
        pairs = _read_bits(stored, 2 * len(ploidies), n_bits).reshape(-1, 2)
        return _call_pairs(pairs[:, 0], pairs[:, 1], n_bits, is_phased)
    starts = np.cumsum(ploidies, dtype=np.int64)
    values = np.append(_read_bits(stored, int(starts[-1]), n_bits), [0, 0])
    starts -= ploidies
    is_haploid = ploidies == 1
    # One copy counts as two equal ones.
    second = values[starts + ~is_haploid]
    return _call_pairs(values[starts], second, n_bits, is_haploid | is_phased)


def _read_bits(stored: np.ndarray, n_values: int, n_bits: int) -> np.ndarray:
    """Return numbers of 1 to 32 bits, the lowest bit first, as int64."""
    if n_bits in (8, 16, 32):
        return stored.view(f"<u{n_bits // 8}").astype(np.int64)
    at = np.arange(n_values, dtype=np.int64) * n_bits
    padded = np.append(stored, np.zeros(5, np.uint8)).astype(np.int64)
    first = at >> 3
    word = sum(padded[first + k] << 8 * k for k in range(5))
    return word >> (at & 7) & ((1 << n_bits) - 1)


@functools.cache
def _byte_codes(is_phased: bool) -> np.ndarray:
    """Return the code of each pair of bytes, the first one in the low bits of the index."""
    pairs = np.arange(1 << 16)
    return _call_pairs(pairs & 255, pairs >> 8, 8, is_phased)


def _call_pairs(
    first: np.ndarray, second: np.ndarray, n_bits: int, is_phased: bool | np.ndarray
) -> np.ndarray:
    """Return the codes of genotypes of two numbers each, as `call_copies`."""
    one = (1 << n_bits) - 1
    of_reference = np.where(is_phased, first + second, 2 * first + second)
    codes = _codes_of(np.maximum(2 * one - of_reference, 0), one)
    codes[~np.asarray(is_phased) & (first + second > one)] = WRONG
    return codes


def _codes_of(dosages: np.ndarray, one: int | np.ndarray) -> np.ndarray:
    """Return the codes of dosages in units of 1/``one``; uint8."""
    scaled = (dosages * _ONE + one // 2) // one
    nearest = (scaled + _ONE // 2) // _ONE
    distance = np.abs(scaled - nearest * _ONE)
    codes = nearest + CALLED * (distance > 0)
    codes[distance > _MAX_DISTANCE] = UNCERTAIN
    return codes.astype(np.uint8)
