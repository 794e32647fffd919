"""r^2 between variants from maximum-likelihood haplotype frequencies of unphased genotypes."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples
from genoviz.backend import load_kernel
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

_CUBIC = 2.0
_MAX_STEPS, _TOLERANCE = 60, 1e-14
_SLACK = 1e-9
"""Relative error of bounds, so that rounding excludes no pair."""


def haplotype_r2(
    genotypes: Genotypes, first: np.ndarray, second: np.ndarray, *, at_least: float = 0.0
) -> np.ndarray:
    """Return haplotype r^2 of pairs of variants, as ``plink --r2 dprime`` and ``--clump``.

    Only double heterozygotes have unknown phase. Their split between the two phases maximises the
    likelihood under random mating. Males have one haplotype at X and Y.

    Parameters
    ----------
    genotypes
        The genotypes.
    first, second
        int64, shape (p,): variant indices; both variants of a pair are on the same chromosome type.
    at_least
        Smallest r^2 that is wanted: the others need not be computed.

    Returns
    -------
    numpy.ndarray
        float64, shape (p,): NaN if either variant is constant among the samples that have both, or
        if no phase of the double heterozygotes would have an r^2 of ``at_least``.

    References
    ----------
    Hill 1974, Estimation of linkage disequilibrium in randomly mating populations,
    doi:10.1038/hdy.1974.89.
    """
    r2 = np.empty(len(first))
    kinds = genotypes.kinds[first]
    for kind in np.unique(kinds).tolist():
        rows = kinds == kind
        r2[rows] = _r2_of_kind(genotypes, Kind(kind), first[rows], second[rows], at_least)
    return r2


def _r2_of_kind(
    genotypes: Genotypes, kind: Kind, first: np.ndarray, second: np.ndarray, at_least: float
) -> np.ndarray:
    used, at = np.unique(np.concatenate([first, second]), return_inverse=True)
    part = genotypes.take_variants(used)
    pairs = at[: len(first)], at[len(first) :]
    if kind not in (Kind.X, Kind.Y):
        return r2_of_counts(_joint_counts(part, *pairs), at_least=at_least)
    is_male = haploid_samples(genotypes, kind)
    of_males = _joint_counts(select_samples(part, is_male), *pairs)
    others = np.zeros_like(of_males)
    if kind == Kind.X:
        others = _joint_counts(select_samples(part, ~is_male), *pairs)
    # A heterozygous male is an error, and not counted.
    return r2_of_counts(others, of_males[:, ::2, ::2], at_least=at_least)


def _joint_counts(genotypes: Genotypes, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if not genotypes.n_samples:
        return np.zeros((len(first), 3, 3), np.int64)
    kernel = load_kernel("linkage", "cpu")
    planes = kernel.make_planes(genotypes.packed, genotypes.n_samples)
    return kernel.joint_counts(planes, first, second)


def r2_of_counts(
    diploid: np.ndarray, haploid: np.ndarray | int = 0, *, at_least: float = 0.0
) -> np.ndarray:
    """Return haplotype r^2 from genotype counts.

    Parameters
    ----------
    diploid
        int64, shape (p, 3, 3): numbers of samples by the genotypes of two variants: homozygous A1,
        heterozygous, homozygous A2.
    haploid
        int64, shape (p, 2, 2): numbers of samples with one copy, by A1 or A2 at both variants.
    at_least
        As for `haplotype_r2`.
    """
    n = np.asarray(diploid, np.float64)
    known = 2.0 * n[:, ::2, ::2] + haploid
    known[:, 0] += n[:, 0, 1, None]
    known[:, 1] += n[:, 2, 1, None]
    known[:, :, 0] += n[:, 1, 0, None]
    known[:, :, 1] += n[:, 1, 2, None]
    total = known.sum((1, 2)) + 2 * n[:, 1, 1]
    r2 = np.full(len(n), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        known /= total[:, None, None]
        open_ = n[:, 1, 1] / total
        p = known[:, 0].sum(1) + open_
        q = known[:, :, 0].sum(1) + open_
        spread = p * (1 - p) * q * (1 - q)
        minimum = known[:, 0, 0] - p * q
        bound = np.maximum(minimum**2, (minimum + open_) ** 2) / spread
        varies = spread > 1 / (4 * np.maximum(total, 1) ** 2) ** 2
        rows = np.flatnonzero(varies & (bound >= at_least * (1 - _SLACK)))
        covariance = minimum[rows] + _most_likely(known[rows], open_[rows])
        r2[rows] = np.minimum(covariance**2 / spread[rows], 1)
    return r2


def _most_likely(known: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """Return the share of double heterozygotes with both A1 on one haplotype.

    The likelihood increases in x where g(x) = x f12 f21 - (open - x) f11 f22 is negative. g is a
    cubic, so it has at most one root in each interval between the roots of its derivative.
    """
    (a, b), (c, d) = known.transpose(1, 2, 0)
    h = open_
    b, c = b + h, c + h
    terms = np.array([a, b, c, d, h])
    square, linear = _coefficients(terms)
    discriminant = np.sqrt(np.maximum(square**2 - 3 * _CUBIC * linear, 0))
    turns = [np.clip((-square + sign * discriminant) / (3 * _CUBIC), 0, h) for sign in (-1, 1)]
    edges = np.array([np.zeros_like(h), *turns, h])
    at_edges = _cubic(terms, edges)
    interval, pair = np.nonzero(at_edges[:-1] * at_edges[1:] < 0)
    is_rising = at_edges[interval, pair] < 0
    ends = edges[interval, pair], edges[interval + 1, pair]
    x = edges[:-1].copy()  # of an interval without a root
    x[interval, pair] = _roots(terms[:, pair], is_rising, *ends)
    x = np.concatenate([edges, x])
    f11, f12, f21, f22 = a + x, b - x, c - x, d + x
    likelihood = _times_log(a, f11) + _times_log(b - h, f12)
    likelihood += _times_log(c - h, f21) + _times_log(d, f22)
    likelihood += _times_log(h, f11 * f22 + f12 * f21)
    return np.take_along_axis(x, np.nan_to_num(likelihood, nan=-np.inf).argmax(0)[None], 0)[0]


def _cubic(terms: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return g(x) = x (b - x)(c - x) - (h - x)(a + x)(d + x)."""
    a, b, c, d, h = terms
    return x * (b - x) * (c - x) - (h - x) * (a + x) * (d + x)


def _coefficients(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return those of x^2 and x in g(x); that of x^3 is `_CUBIC`."""
    a, b, c, d, h = terms
    return a + d - b - c - h, b * c + a * d - h * (a + d)


def _roots(
    terms: np.ndarray, is_rising: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the root of g in each interval, in which it has one.

    By Newton's steps, or by halving the interval where such a step would leave it.
    """
    roots = np.empty(len(low))
    x, rows = (low + high) / 2, np.arange(len(low))
    for _ in range(_MAX_STEPS):
        square, linear = _coefficients(terms)
        at = _cubic(terms, x)
        is_left = (at < 0) == is_rising
        low, high = np.where(is_left, x, low), np.where(is_left, high, x)
        newton = x - at / ((3 * _CUBIC * x + 2 * square) * x + linear)
        after = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        roots[rows] = after
        is_open = np.abs(after - x) > _TOLERANCE * terms[4]
        if not is_open.any():
            break
        terms, rows = terms[:, is_open], rows[is_open]
        is_rising, low, high, x = (each[is_open] for each in (is_rising, low, high, after))
    return roots


def _times_log(weight: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return weight * log(value), and 0 where the weight is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weight > 1e-12, weight * np.log(np.maximum(value, 0)), 0.0)
