"""Scores of off-target sites: CFD, MIT and CCTop, for SpCas9.

All three are defined for guides of 20 nt with an NGG-like PAM (``PAMS``). For other guides, and
where a site's letters are ambiguous, scores are NaN.

The CFD values at the end give the cutting that remains with each mismatch, bulge and PAM; they are
from supplementary table 19 of Doench et al. 2016, doi:10.1038/nbt.3437. ``rX:dY`` is base X of the
guide opposite base Y of the target strand, the complement of the base in the site as written; ``-``
is no base. Values are by position, the first one farthest from the PAM; the table has none for
bulges at the first position, where 1 is used.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.offtargets.protospacer import find_protospacer

LENGTH = 20
"""Length of a guide with scores, nt."""
PAMS = ("NGG", "NAG", "NRG")
"""PAMs in patterns whose hits have scores."""
CCTOP_BASE = 1.2
MIT_WEIGHTS = np.array([
    0, 0, 0.014, 0, 0, 0.395, 0.317, 0, 0.389, 0.079,
    0.445, 0.508, 0.613, 0.851, 0.732, 0.828, 0.615, 0.804, 0.685, 0.583,
])  # fmt: skip
"""Weight of a mismatch at each position, 5' to 3', in the MIT score."""
_ROWS_AT_ONCE = 1 << 17
_GAP, _LOWER = np.uint8(ord("-")), np.uint8(32)
_NO_BASE = 4
_CODES = np.full(256, _NO_BASE, np.uint8)

for _code, _base in enumerate("ACGT"):
    _CODES[[ord(_base), ord(_base.lower())]] = _code


def has_scores(pattern: str) -> bool:
    """Return whether hits of a pattern have scores: 20 nt, then a PAM of ``PAMS``.

    Examples
    --------
    >>> has_scores("N" * 20 + "NGG"), has_scores("N" * 21 + "NNGRRT")
    (True, False)
    """
    return pattern[:LENGTH] == "N" * LENGTH and pattern[LENGTH:] in PAMS


def cfd_scores(hits: OffTargetHits) -> np.ndarray:
    """Return the CFD score of each hit, the fraction of cutting that remains; float64, shape (n,).

    The score is the product of the values of all mismatches and of the PAM's last two letters; it
    is 1 for a site without mismatch and with GG. A bulge of several nt counts once for each, which
    extrapolates the measurements. NaN if the site has letters other than A, C, G and T.

    References
    ----------
    Doench et al. 2016, doi:10.1038/nbt.3437
    """
    scores = np.full(len(hits), np.nan)
    for rows, part, letters in _iter_scored(hits, with_bulges=True):
        found = np.empty(len(part))
        _fill_cfd(letters.guides, letters.sites, letters.lengths, _CODES, *CFD_TABLES, found)
        scores[rows] = found
    return scores


def mit_scores(hits: OffTargetHits, *, pam_factor: float = 0.2) -> np.ndarray:
    """Return the MIT score of each hit, 0 to 100; float64, shape (n,).

    100 times the product of ``1 - MIT_WEIGHTS`` at mismatches, divided by ``4 (19 - d) / 19 + 1``
    where ``d`` is the mean distance of neighbouring mismatches (from two on), and by the square
    of their number. NaN for hits with bulges.

    Parameters
    ----------
    hits
        What `find_offtargets` returns.
    pam_factor
        Factor for sites whose PAM does not end with GG; 1 ignores the PAM.

    Raises
    ------
    ParameterError
        If ``pam_factor`` is not from 0 to 1.

    References
    ----------
    Hsu et al. 2013, doi:10.1038/nbt.2647
    """
    if not 0 <= pam_factor <= 1:
        raise ParameterError(f"pam_factor is {pam_factor}, needs to be from 0 to 1")
    scores = np.full(len(hits), np.nan)
    for rows, part, letters in _iter_scored(hits, with_bulges=False):
        found = np.empty(len(part))
        _fill_mit(letters.sites, MIT_WEIGHTS, pam_factor, found)
        scores[rows] = found
    return scores


def cctop_scores(hits: OffTargetHits) -> np.ndarray:
    """Return the CCTop score of each hit: the sum of 1.2^position; float64, shape (n,).

    Positions of mismatches count from 1 at the 5' end. 0 is a perfect copy, 224.03 the maximum, and
    a *lower* score means more cutting. NaN for hits with bulges.

    References
    ----------
    Stemmer et al. 2015, doi:10.1371/journal.pone.0124633
    """
    scores = np.full(len(hits), np.nan)
    weights = CCTOP_BASE ** np.arange(1, LENGTH + 1)
    for rows, part, letters in _iter_scored(hits, with_bulges=False):
        found = np.empty(len(part))
        _fill_cctop(letters.sites, weights, found)
        scores[rows] = found
    return scores


def _iter_scored(hits: OffTargetHits, *, with_bulges: bool) -> Iterator[tuple]:
    """Yield the rows of hits with a score, these hits and their letters, in batches."""
    if not has_scores(hits.pattern):
        return
    is_plain = np.array([{*guide[:LENGTH]} <= {*"ACGT"} for guide in hits.guides], bool)
    may_bulge = np.array(
        [find_protospacer(hits.pattern, guide).length == LENGTH for guide in hits.guides], bool
    )
    for first in range(0, len(hits), _ROWS_AT_ONCE):
        part = slice(first, min(first + _ROWS_AT_ONCE, len(hits)))
        guides = hits.guide_ids[part]
        fits = is_plain[guides]
        fits &= (hits.bulge_sizes[part] == 0) | (may_bulge[guides] & with_bulges)
        rows = part if fits.all() else first + np.flatnonzero(fits)
        # Reuse the whole object: it caches its letters for later callers.
        taken = hits if fits.all() and len(fits) == len(hits) else hits.take(rows)
        if len(taken):
            yield rows, taken, taken.aligned_letters()


@njit(nogil=True, cache=True)
def _fill_cfd(guides, sites, lengths, codes, mismatches, dna, rna, pams, scores):
    for row in range(len(lengths)):
        n = lengths[row]
        first, second = codes[sites[row, n - 2]], codes[sites[row, n - 1]]
        is_known = first != _NO_BASE and second != _NO_BASE
        score = pams[first, second] if is_known else np.nan
        k = 0
        for column in range(n - 3):
            letter, site = guides[row, column], sites[row, column]
            base = codes[site]
            if site == _GAP:
                score *= rna[codes[letter], k]
            elif base == _NO_BASE:
                score = np.nan
            elif letter == _GAP:
                score *= dna[base, k]
            elif codes[letter] != base:
                score *= mismatches[codes[letter], base, k]
            k += letter != _GAP
        scores[row] = score


@njit(nogil=True, cache=True)
def _fill_mit(sites, weights, pam_factor, scores):
    length = len(weights)
    for row in range(len(sites)):
        score, n, first, last = 100.0, 0, 0, 0
        for k in range(length):
            if sites[row, k] & _LOWER:
                score *= 1 - weights[k]
                if n == 0:
                    first = k
                last = k
                n += 1
        if n > 1:
            score /= 4 * (19 - (last - first) / (n - 1)) / 19 + 1
        if n > 0:
            score /= n * n
        # A letter of the PAM that matches the pattern is G or A.
        if (sites[row, length + 1] & ~_LOWER) != 71 or (sites[row, length + 2] & ~_LOWER) != 71:
            score *= pam_factor
        scores[row] = score


@njit(nogil=True, cache=True)
def _fill_cctop(sites, weights, scores):
    for row in range(len(sites)):
        score = 0.0
        for k in range(len(weights)):
            if sites[row, k] & _LOWER:
                score += weights[k]
        scores[row] = score


# fmt: off
MISMATCHES = {
    "rA:dA": (
        1.0, 0.727272727, 0.705882353, 0.636363636, 0.363636364, 0.714285714, 0.4375,
        0.428571429, 0.6, 0.882352941, 0.307692308, 0.333333333, 0.3, 0.533333333, 0.2, 0.0,
        0.133333333, 0.5, 0.538461538, 0.6,
    ),
    "rA:dC": (
        1.0, 0.8, 0.611111111, 0.625, 0.72, 0.714285714, 0.705882353, 0.733333333, 0.666666667,
        0.555555556, 0.65, 0.722222222, 0.652173913, 0.466666667, 0.65, 0.192307692,
        0.176470588, 0.4, 0.375, 0.764705882,
    ),
    "rA:dG": (
        0.857142857, 0.785714286, 0.428571429, 0.352941176, 0.5, 0.454545455, 0.4375,
        0.428571429, 0.571428571, 0.333333333, 0.4, 0.263157895, 0.210526316, 0.214285714,
        0.272727273, 0.0, 0.176470588, 0.19047619, 0.206896552, 0.227272727,
    ),
    "rC:dA": (
        1.0, 0.909090909, 0.6875, 0.8, 0.636363636, 0.928571429, 0.8125, 0.875, 0.875,
        0.941176471, 0.307692308, 0.538461538, 0.7, 0.733333333, 0.066666667, 0.307692308,
        0.466666667, 0.642857143, 0.461538462, 0.3,
    ),
    "rC:dC": (
        0.913043478, 0.695652174, 0.5, 0.5, 0.6, 0.5, 0.470588235, 0.642857143, 0.619047619,
        0.388888889, 0.25, 0.444444444, 0.136363636, 0.0, 0.05, 0.153846154, 0.058823529,
        0.133333333, 0.125, 0.058823529,
    ),
    "rC:dT": (
        1.0, 0.727272727, 0.866666667, 0.842105263, 0.571428571, 0.928571429, 0.75, 0.65,
        0.857142857, 0.866666667, 0.75, 0.714285714, 0.384615385, 0.35, 0.222222222, 1.0,
        0.466666667, 0.538461538, 0.428571429, 0.5,
    ),
    "rG:dA": (
        1.0, 0.636363636, 0.5, 0.363636364, 0.3, 0.666666667, 0.571428571, 0.625, 0.533333333,
        0.8125, 0.384615385, 0.384615385, 0.3, 0.266666667, 0.142857143, 0.0, 0.25, 0.666666667,
        0.666666667, 0.7,
    ),
    "rG:dG": (
        0.714285714, 0.692307692, 0.384615385, 0.529411765, 0.785714286, 0.681818182, 0.6875,
        0.615384615, 0.538461538, 0.4, 0.428571429, 0.529411765, 0.421052632, 0.428571429,
        0.272727273, 0.0, 0.235294118, 0.476190476, 0.448275862, 0.428571429,
    ),
    "rG:dT": (
        0.9, 0.846153846, 0.75, 0.9, 0.866666667, 1.0, 1.0, 1.0, 0.642857143, 0.933333333, 1.0,
        0.933333333, 0.923076923, 0.75, 0.941176471, 1.0, 0.933333333, 0.692307692, 0.714285714,
        0.9375,
    ),
    "rU:dC": (
        0.956521739, 0.84, 0.5, 0.625, 0.64, 0.571428571, 0.588235294, 0.733333333, 0.619047619,
        0.5, 0.4, 0.5, 0.260869565, 0.0, 0.05, 0.346153846, 0.117647059, 0.333333333, 0.25,
        0.176470588,
    ),
    "rU:dG": (
        0.857142857, 0.857142857, 0.428571429, 0.647058824, 1.0, 0.909090909, 0.6875, 1.0,
        0.923076923, 0.533333333, 0.666666667, 0.947368421, 0.789473684, 0.285714286,
        0.272727273, 0.666666667, 0.705882353, 0.428571429, 0.275862069, 0.090909091,
    ),
    "rU:dT": (
        1.0, 0.846153846, 0.714285714, 0.476190476, 0.5, 0.866666667, 0.875, 0.8, 0.928571429,
        0.857142857, 0.75, 0.8, 0.692307692, 0.619047619, 0.578947368, 0.909090909, 0.533333333,
        0.666666667, 0.285714286, 0.5625,
    ),
}

BULGES = {
    "r-:dA": (
        1.0, 0.692307692308, 0.4375, 0.15, 0.133333333333, 0.0666666666667, 0.0, 0.0,
        0.142857142857, 0.4, 0.3125, 0.0714285714286, 0.0769230769231, 0.047619047619,
        0.0526315789474, 0.0, 0.0, 0.153846153846, 0.142857142857, 0.6,
    ),
    "r-:dC": (
        1.0, 0.714285714286, 0.461538461538, 0.176470588235, 0.0714285714286, 0.0, 0.0, 0.0,
        0.0, 0.133333333333, 0.133333333333, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0588235294118,
        0.142857142857, 0.0357142857143, 0.0454545454545,
    ),
    "r-:dG": (
        1.0, 0.96, 0.666666666667, 0.375, 0.24, 0.142857142857, 0.0588235294118, 0.133333333333,
        0.238095238095, 0.333333333333, 0.1, 0.0555555555556, 0.0434782608696, 0.0, 0.0, 0.0,
        0.0, 0.2, 0.4375, 0.529411764706,
    ),
    "r-:dT": (
        1.0, 0.727272727273, 0.6, 0.1, 0.0, 0.0833333333333, 0.0, 0.0625, 0.1875, 0.25,
        0.0769230769231, 0.0769230769231, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.307692307692, 0.6,
    ),
    "rA:d-": (
        1.0, 0.969230769231, 0.888888888889, 0.58064516129, 0.328125, 0.276923076923,
        0.430769230769, 0.234375, 0.276923076923, 0.569230769231, 0.276923076923,
        0.0615384615385, 0.03125, 0.0461538461538, 0.03125, 0.0153846153846, 0.0, 0.0, 0.0,
        0.0615384615385,
    ),
    "rC:d-": (
        1.0, 0.96875, 0.933333333333, 0.68253968254, 0.365079365079, 0.4375, 0.569230769231,
        0.123076923077, 0.415384615385, 0.615384615385, 0.169230769231, 0.046875, 0.0,
        0.0461538461538, 0.0, 0.0, 0.0, 0.0, 0.0, 0.03125,
    ),
    "rG:d-": (
        1.0, 0.921875, 0.822580645161, 0.523076923077, 0.296875, 0.390625, 0.492063492063,
        0.301587301587, 0.328125, 0.587301587302, 0.25, 0.125, 0.046875, 0.0634920634921, 0.0,
        0.0, 0.0, 0.0, 0.0634920634921, 0.09375,
    ),
    "rU:d-": (
        1.0, 0.953125, 0.921875, 0.65625, 0.215384615385, 0.446153846154, 0.553846153846,
        0.296875, 0.609375, 0.650793650794, 0.323076923077, 0.0307692307692, 0.0,
        0.0615384615385, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ),
}

PAM_WEIGHTS = {
    "GG": 1.0, "AG": 0.259259259, "CG": 0.107142857, "GA": 0.069444444, "TG": 0.038961039,
    "GC": 0.022222222, "GT": 0.016129032, "AA": 0.0, "AC": 0.0, "AT": 0.0, "CA": 0.0, "CC": 0.0,
    "CT": 0.0, "TA": 0.0, "TC": 0.0, "TT": 0.0,
}

"""By the last two letters of the PAM."""

# fmt: on


def _by_codes() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the values of mismatches, DNA bulges, RNA bulges and PAMs by codes 0 to 3 of bases."""
    mismatches, pams = np.ones((4, 4, 20)), np.zeros((4, 4))
    dna, rna = np.ones((4, 20)), np.ones((4, 20))
    for site, opposite in enumerate("TGCA"):
        dna[site] = BULGES[f"r-:d{opposite}"]
        for guide, base in enumerate("ACGU"):
            if guide != site:
                mismatches[guide, site] = MISMATCHES[f"r{base}:d{opposite}"]
    for guide, base in enumerate("ACGU"):
        rna[guide] = BULGES[f"r{base}:d-"]
        for second, other in enumerate("ACGT"):
            pams[guide, second] = PAM_WEIGHTS[base.replace("U", "T") + other]
    return mismatches, dna, rna, pams


CFD_TABLES = _by_codes()

"""Values of mismatches (guide, site, place), DNA bulges, RNA bulges (base, place) and PAMs.

Bases are 0 to 3 for A C G T, written 5' to 3' of the guide, also for the site.
"""
