"""r^2 between variants from maximum-likelihood haplotype frequencies of unphased genotypes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples
from genoviz.backend import load_kernel
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

_HALVINGS = 60


def haplotype_r2(genotypes: Genotypes, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return haplotype r^2 of pairs of variants, as ``plink --r2 dprime`` and ``--clump``.

    Only double heterozygotes have unknown phase. Their split between the two phases maximises the
    likelihood under random mating. Males have one haplotype at X and Y.

    Parameters
    ----------
    genotypes
        The genotypes.
    first, second
        int64, shape (p,): variant indices; both variants of a pair are on the same chromosome type.

    Returns
    -------
    numpy.ndarray
        float64, shape (p,): NaN if either variant is constant among the samples that have both.

    References
    ----------
    Hill 1974, Estimation of linkage disequilibrium in randomly mating populations,
    doi:10.1038/hdy.1974.89.
    """
    r2 = np.empty(len(first))
    kinds = genotypes.kinds[first]
    for kind in np.unique(kinds).tolist():
        rows = kinds == kind
        r2[rows] = _r2_of_kind(genotypes, Kind(kind), first[rows], second[rows])
    return r2


def _r2_of_kind(
    genotypes: Genotypes, kind: Kind, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    used, at = np.unique(np.concatenate([first, second]), return_inverse=True)
    part = genotypes.take_variants(used)
    pairs = at[: len(first)], at[len(first) :]
    if kind not in (Kind.X, Kind.Y):
        return r2_of_counts(_joint_counts(part, *pairs))
    is_male = haploid_samples(genotypes, kind)
    of_males = _joint_counts(select_samples(part, is_male), *pairs)
    of_males[:, 1] = of_males[:, :, 1] = 0  # a heterozygous male is an error
    others = np.zeros_like(of_males)
    if kind == Kind.X:
        others = _joint_counts(select_samples(part, ~is_male), *pairs)
    return r2_of_counts(others, of_males[:, ::2, ::2])


def _joint_counts(genotypes: Genotypes, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if not genotypes.n_samples:
        return np.zeros((len(first), 3, 3), np.int64)
    kernel = load_kernel("linkage", "cpu")
    planes = kernel.make_planes(genotypes.packed, genotypes.n_samples)
    return kernel.joint_counts(planes, first, second)


def r2_of_counts(diploid: np.ndarray, haploid: np.ndarray | int = 0) -> np.ndarray:
    """Return haplotype r^2 from genotype counts.

    Parameters
    ----------
    diploid
        int64, shape (p, 3, 3): numbers of samples by the genotypes of two variants: homozygous A1,
        heterozygous, homozygous A2.
    haploid
        int64, shape (p, 2, 2): numbers of samples with one copy, by A1 or A2 at both variants.
    """
    n = np.asarray(diploid, np.float64)
    known = 2.0 * n[:, ::2, ::2] + haploid
    known[:, 0] += n[:, 0, 1, None]
    known[:, 1] += n[:, 2, 1, None]
    known[:, :, 0] += n[:, 1, 0, None]
    known[:, :, 1] += n[:, 1, 2, None]
    total = known.sum((1, 2)) + 2 * n[:, 1, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        known /= total[:, None, None]
        open_ = n[:, 1, 1] / total
        together = _most_likely(known, open_)
        p = known[:, 0].sum(1) + open_
        q = known[:, :, 0].sum(1) + open_
        spread = p * (1 - p) * q * (1 - q)
        covariance = known[:, 0, 0] + together - p * q
        r2 = covariance**2 / spread
    varies = spread > 1 / (4 * np.maximum(total, 1) ** 2) ** 2
    return np.where(varies, np.minimum(r2, 1), np.nan)


def _most_likely(known: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """Return the share of double heterozygotes with both A1 on one haplotype.

    The likelihood increases in x where g(x) = x f12 f21 - (open - x) f11 f22 is negative. g is a
    cubic, so it has at most one root in each interval between the roots of its derivative.
    """
    (a, b), (c, d) = known.transpose(1, 2, 0)
    h = open_
    b, c = b + h, c + h
    # g(x) = x (b - x)(c - x) - (h - x)(a + x)(d + x), expanded in powers of x.
    cubic = 2.0
    square = a + d - b - c - h
    linear = b * c + a * d - h * (a + d)
    discriminant = np.sqrt(np.maximum(square**2 - 3 * cubic * linear, 0))
    turns = [np.clip((-square + sign * discriminant) / (3 * cubic), 0, h) for sign in (-1, 1)]
    edges = [np.zeros_like(h), *turns, h]

    def slope(x: np.ndarray) -> np.ndarray:
        return x * (b - x) * (c - x) - (h - x) * (a + x) * (d + x)

    candidates = [edges[0], edges[-1]]
    for low, high in pairwise(edges):
        sign = np.where(slope(high) >= slope(low), 1, -1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = sign * slope(middle) < 0
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        candidates.append((low + high) / 2)
    x = np.array(candidates)
    f11, f12, f21, f22 = a + x, b - x, c - x, d + x
    likelihood = _times_log(a, f11) + _times_log(b - h, f12)
    likelihood += _times_log(c - h, f21) + _times_log(d, f22)
    likelihood += _times_log(h, f11 * f22 + f12 * f21)
    return np.take_along_axis(x, np.nan_to_num(likelihood, nan=-np.inf).argmax(0)[None], 0)[0]


def _times_log(weight: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return weight * log(value), and 0 where the weight is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weight > 1e-12, weight * np.log(np.maximum(value, 0)), 0.0)
