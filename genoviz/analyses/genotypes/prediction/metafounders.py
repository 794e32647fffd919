"""Relationships of metafounders, and groups of unknown parents that data cannot tell apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import GenotypedInverse, group_shares
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    find_animals,
    has_free_level,
)
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

_LEAST_EIGENVALUE = 1e-9
_MAX_NAMED = 8


def estimate_gamma(
    genotypes: Genotypes,
    pedigree: Pedigree,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> np.ndarray:
    """Estimate the relationships of metafounders from the genotypes of their descendants.

    At each variant, the mean dosage m of each group's founders is estimated by generalised least
    squares, (Q'BQ)^-1 Q'B of the dosages with B = A_gg^-1. Gamma is twice the mean over variants of
    (m - 1)(m - 1)', 8 times the covariance of allele frequencies about 1/2. It does not depend on
    which allele is counted. What the errors of m add, in the mean (Q'BQ)^-1 (1 - gamma / 2), is
    taken off.

    Parameters
    ----------
    genotypes
        Of animals of the pedigree, found by their IIDs.
    pedigree
        Its groups are the metafounders; all unknown parents are of one if it has no groups. Else
        those of no group count as of frequency 1/2 everywhere, as the base that they are is.
    contigs, backend
        As in `iter_single_step`.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_groups, n_groups), for `Pedigree.with_gamma`.

    Raises
    ------
    ParameterError
        If genotypes cannot tell the groups apart, or are of too few animals.

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
            f"{len(gamma):,} groups; join some, or give gamma"
        )
    return gamma


def find_lost(left: np.ndarray, sizes: np.ndarray, *, is_free: bool = False) -> np.ndarray:
    """Return which effects equations cannot tell from others: int64, numbers of rows.

    Parameters
    ----------
    left
        Their left side, symmetric and positive semidefinite, float64, shape (n, n).
    sizes
        float64, shape (n,): its diagonal before other effects were projected out.
    is_free
        Whether one value may be added to all effects, and does not count.
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
    """Return a sentence that names groups of unknown parents that records do not tell apart.

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
