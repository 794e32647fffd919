"""Metafounders: their relationships Gamma, and groups that the data cannot distinguish."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import GenotypedInverse, group_shares
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    find_animals,
    has_free_level,
)
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

_LEAST_EIGENVALUE = 1e-9
_MAX_NAMED, _MAX_ROWS = 8, 8
Base = Literal["metafounders", "founders", "genotypes"]
BASES = ("metafounders", "founders", "genotypes")


def estimate_gamma(
    genotypes: Genotypes,
    pedigree: Pedigree,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> np.ndarray:
    """Estimate Gamma, the relationships of metafounders, from genotypes of their descendants.

    At each variant, the mean dosage m of each group's founders is estimated by generalised least
    squares: (Q'BQ)^-1 Q'B times the dosages, with B = A_gg^-1. Gamma is twice the mean over
    variants of (m - 1)(m - 1)', which is 8 times the covariance of allele frequencies about 1/2. It
    does not depend on which allele is counted. The expected contribution of the errors of m,
    (Q'BQ)^-1 (1 - gamma / 2), is subtracted.

    Parameters
    ----------
    genotypes
        Genotypes of animals of the pedigree, matched by IID.
    pedigree
        Its groups are the metafounders; without groups, all unknown parents form one. Otherwise,
        unknown parents without a group are assigned the reference base, with allele frequency 1/2.
    contigs, backend
        As in `iter_single_step`.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_groups, n_groups), for `Pedigree.with_gamma`.

    Raises
    ------
    ParameterError
        If genotypes cannot distinguish the groups, or there are too few animals.

    References
    ----------
    Garcia-Baccino et al. 2017, Metafounders are related to Fst fixation indices and reduce bias in
    single-step genomic evaluations, doi:10.1186/s12711-017-0309-2
    """
    if not len(pedigree.groups):
        pedigree = pedigree.with_gamma(1.0)
    pedigree = replace(pedigree, gamma=None)
    genotyped = find_animals(pedigree, genotypes.samples.ids)
    shares = group_shares(pedigree)[genotyped]
    weighted = GenotypedInverse(pedigree, genotyped).multiply(shares)
    left = shares.T @ weighted
    lost = find_lost(left, np.diag(left))
    if len(lost):
        names = ", ".join(pedigree.groups[lost].tolist())
        raise ParameterError(
            f"genotypes cannot tell the groups of unknown parents apart: {names}; join them, or "
            "give gamma"
        )
    matrix = Markers(take_autosomes(genotypes, contigs)[0], backend, is_halved=True).matrix
    means = np.linalg.solve(left, matrix.multiply_transposed(weighted).T)
    gamma, errors = 2 * means @ means.T / matrix.shape[1], np.linalg.inv(left)
    own = (np.diag(gamma) - np.diag(errors)) / (1 - np.diag(errors) / 2)
    gamma -= errors * (1 - (own[:, None] + own) / 4)
    if np.linalg.eigvalsh(gamma)[0] <= 0:
        raise ParameterError(
            f"gamma cannot be estimated: {len(genotyped):,} genotyped animals are too few for "
            f"{n_words(len(gamma), 'group')}; join some, or give gamma"
        )
    return gamma


def relate_groups(
    pedigree: Pedigree,
    gamma: np.ndarray | float | None,
    genotypes: Genotypes | None = None,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> Pedigree:
    """Return a pedigree whose groups are metafounders; its notes include their gamma.

    ``gamma`` is as for `Pedigree.with_gamma`; None estimates it from the genotypes.

    Raises
    ------
    ParameterError
        As for `estimate_gamma` and `Pedigree.with_gamma`, or if there are no genotypes.
    """
    if gamma is not None:
        how, found = "as given", gamma
    elif genotypes is None:
        raise ParameterError("gamma is estimated from genotypes; give them, or gamma")
    else:
        how = "is estimated"
        found = estimate_gamma(genotypes, pedigree, contigs=contigs, backend=backend)
    related = pedigree.with_gamma(found)
    matrix = related.gamma
    rows = [" ".join(f"{value:.4g}" for value in row) for row in matrix[:_MAX_ROWS]]
    more = "; ..." if len(matrix) > _MAX_ROWS else ""
    return replace(related, notes=(*related.notes, f"gamma {how}: {'; '.join(rows)}{more}"))


def base_share(
    pedigree: Pedigree,
    base: Base,
    genotypes: Genotypes | None = None,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> float:
    """Return the genetic variance relative to a base, divided by the variance in A^Gamma.

    Parameters
    ----------
    pedigree
        A pedigree with metafounders.
    base
        ``"metafounders"``: A^Gamma itself, so 1. ``"founders"``: relationships A with unrelated
        founders, 1 + (mean diagonal of Gamma) / 2 - (mean of Gamma), for founders that descend
        equally from all metafounders. ``"genotypes"``: VanRaden's relationships with sample
        frequencies, as in REML; the variance of variant effects is the same, so the share is
        2 sum p(1 - p) / (n_variants / 2).
    genotypes, contigs, backend
        For ``"genotypes"``; as in `iter_single_step`.

    Raises
    ------
    ParameterError
        If the base is unknown, or there are no metafounders.

    References
    ----------
    Legarra et al. 2015, doi:10.1534/genetics.115.177014
    """
    check_choice("base", base, BASES)
    if pedigree.gamma is None:
        raise ParameterError("the pedigree has no metafounders; see Pedigree.with_gamma")
    if base == "founders":
        return float(1 + pedigree.gamma.diagonal().mean() / 2 - pedigree.gamma.mean())
    if base == "metafounders":
        return 1.0
    if genotypes is None:
        raise ParameterError("base 'genotypes' needs genotypes")
    taken = take_autosomes(genotypes, contigs)[0]
    return Markers(taken, backend).scale / (taken.n_variants / 2)


def heritability_in_gamma(heritability: float, share: float, repeatability: float = 0.0) -> float:
    """Convert a heritability from another base to A^Gamma, given its `base_share`.

    The other variances stay the same. If a repeatability is given, the result is the repeatability
    in A^Gamma.

    Examples
    --------
    >>> round(heritability_in_gamma(0.3, 0.7), 4)
    0.3797
    """
    genetic = heritability / share
    return (genetic + max(repeatability - heritability, 0.0)) / (genetic + 1 - heritability)


def find_lost(left: np.ndarray, sizes: np.ndarray, *, is_free: bool = False) -> np.ndarray:
    """Return the effects that the equations cannot distinguish: int64, row indices.

    Parameters
    ----------
    left
        Left side, symmetric and positive semidefinite, float64, shape (n, n).
    sizes
        float64, shape (n,): its diagonal before other effects were projected out.
    is_free
        Whether a constant added to all effects is not identified and is ignored.
    """
    roots = np.sqrt(sizes)
    scale = np.where(roots > 0, roots, 1.0)
    values, vectors = np.linalg.eigh(left / scale[:, None] / scale)
    null = vectors[:, values < _LEAST_EIGENVALUE]
    if is_free and roots.any():
        common = roots / np.linalg.norm(roots)
        null = null - common[:, None] * (common @ null)
    return np.flatnonzero((null**2).sum(axis=1) > _LEAST_EIGENVALUE)


def note_lost_groups(pedigree: Pedigree, left: np.ndarray, sizes: np.ndarray) -> tuple[str, ...]:
    """Return a sentence that names the unknown parent groups that records cannot distinguish.

    ``left`` and ``sizes`` are as in `find_lost`, of the groups' fixed effects.
    """
    lost = find_lost(left, sizes, is_free=has_free_level(pedigree))
    if not len(lost):
        return ()
    names, n_more = ", ".join(pedigree.groups[lost[:_MAX_NAMED]].tolist()), len(lost) - _MAX_NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return (
        f"Records cannot tell these groups of unknown parents from others or from fixed effects: "
        f"{names}{more}; breeding values cannot be compared across them.",
    )
