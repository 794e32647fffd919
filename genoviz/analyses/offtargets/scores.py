"""Scores of off-target sites: CFD, MIT and CCTop, for SpCas9.

All three are for guides of 20 nt with an NGG-like PAM (``PAMS``); of other guides, and where a
site's letters do not tell, the scores are NaN, for there they mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from genoviz.analyses.offtargets.cfd_tables import CFD_TABLES
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.offtargets.protospacer import find_protospacer

LENGTH = 20
"""Letters of a guide that has scores, nt."""
PAMS = ("NGG", "NAG", "NRG")
"""PAMs in patterns whose hits have scores."""
CCTOP_BASE = 1.2
MIT_WEIGHTS = np.array([
    0, 0, 0.014, 0, 0, 0.395, 0.317, 0, 0.389, 0.079,
    0.445, 0.508, 0.613, 0.851, 0.732, 0.828, 0.615, 0.804, 0.685, 0.583,
])  # fmt: skip
"""How much a mismatch at each position, 5' to 3', lowers the MIT score."""
_ROWS_AT_ONCE = 1 << 17
_GAP, _LOWER = np.uint8(ord("-")), np.uint8(32)
_NO_BASE = 4
_CODES = np.full(256, _NO_BASE, np.uint8)
for _code, _base in enumerate("ACGT"):
    _CODES[[ord(_base), ord(_base.lower())]] = _code


def has_scores(pattern: str) -> bool:
    """Tell whether hits of a pattern have scores: 20 nt, then a PAM of ``PAMS``.

    Examples
    --------
    >>> has_scores("N" * 20 + "NGG"), has_scores("N" * 21 + "NNGRRT")
    (True, False)
    """
    return pattern[:LENGTH] == "N" * LENGTH and pattern[LENGTH:] in PAMS


def cfd_scores(hits: OffTargetHits) -> np.ndarray:
    """Return the CFD score of each hit, the share of cutting that is left; float64, shape (n,).

    The values of all mismatched positions and of the PAM's last two letters are multiplied; 1 is a
    site without mismatch that has GG. A bulge of several nt counts for each of them, which is
    beyond what was measured. NaN where the site has letters other than A, C, G and T.

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
        What sites whose PAM does not end with GG are multiplied with; 1 leaves the PAM out.

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

    Positions of mismatches count from 1 at the 5' end; so 0 is a perfect copy, 224.03 the most,
    and the *lower* the score the more a site is cut. NaN for hits with bulges.

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
    """Yield rows of hits that have a score, these hits and their letters, some at a time."""
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
        taken = hits.take(rows)
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
        # The PAM's letters are G as they fit the pattern, or A.
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
