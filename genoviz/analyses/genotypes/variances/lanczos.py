"""Variance components of one K that is given by its products, from one run of Lanczos iterations.

Let A = M K M, and b the phenotype without fixed effects or a probe. After m products with A, b has
a tridiagonal matrix T, (m, m), such that for any variances::

    b' f(A) b = |b|^2 e1' f(T) e1,    f(A) = products of K, V and V^-1, V = v_g K + v_e I

This is a Gauss quadrature, exact for polynomials of degree below 2m. All that average information
REML needs has this form. So V is not solved again for each V: one run serves all variances, and its
iterations are as many as conjugate gradients need once. The phenotype and the probes take the same
products. Vectors are not stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.variances.covariances import (
    MAX_SOLVING,
    DiagonalCovariance,
    ProbedCovariance,
    Solver,
)
from genoviz.analyses.genotypes.variances.reml import VarianceSnapshot, iter_reml_of

_INTEGRATED = 1e-8
"""Squared relative residual of solutions; the relative error of quadratures is of this size."""
_FEWEST, _WAIT = 4, 8
"""Products before the first estimate, and one estimate for so many products afterwards."""
_EXHAUSTED = 1e-13


def iter_reml_by_lanczos(
    covariance: ProbedCovariance,
    phenotype: np.ndarray,
    names: tuple[str, ...],
    **options: Any,
) -> Iterator[VarianceSnapshot]:
    """Do the same as `iter_reml_of`, with fewer products, for a covariance with one K.

    While products are made, the start is yielded.

    References
    ----------
    Border and Becker 2019, Stochastic Lanczos estimation of genomic variance components for linear
    mixed-effects models, doi:10.1186/s12859-019-2978-z
    """
    start = time.perf_counter()
    columns = np.column_stack([covariance.take(phenotype), covariance.probes])
    next_step = _FEWEST
    for step, found in enumerate(_iter_tridiagonals(covariance, columns), 1):
        if step < next_step:
            continue
        ritz = _RitzCovariance(found, covariance.degrees, covariance.weight)
        snapshots = list(iter_reml_of(ritz, phenotype, names, **options))
        is_solved = ritz.is_solved_at(snapshots[-1].variances)
        is_last = is_solved or step >= MAX_SOLVING
        if not is_last:
            snapshots = snapshots[:1]
            next_step = step + max(step // _WAIT, 1)
        elif not is_solved:
            ritz.is_solved = False
            snapshots = list(iter_reml_of(ritz, phenotype, names, **options))
        seconds = time.perf_counter() - start
        yield from (replace(each, seconds=seconds) for each in snapshots)
        if is_last:
            return


@dataclass(frozen=True, eq=False)
class _Tridiagonals:
    """The matrices T of several columns after m products.

    Attributes
    ----------
    norms
        float64, shape (k,): norms of the columns.
    diagonals, others
        float64, shape (m, k): the diagonal, and what is beside it; the last of the latter is beyond
        T, and 0 if the space of a column is exhausted.
    """

    norms: np.ndarray
    diagonals: np.ndarray
    others: np.ndarray


def _iter_tridiagonals(
    covariance: ProbedCovariance, columns: np.ndarray
) -> Iterator[_Tridiagonals]:
    """Yield T of each column after each product."""
    norms = np.linalg.norm(columns, axis=0)
    before, direction = np.zeros_like(columns), _divide(columns, norms)
    other, largest = np.zeros(len(norms)), np.zeros(len(norms))
    diagonals, others = [], []
    while True:
        image = covariance.multiply(0, direction) - other * before
        diagonal = np.einsum("ik,ik->k", direction, image)
        image -= diagonal * direction
        other = np.linalg.norm(image, axis=0)
        largest = np.maximum(largest, np.abs(diagonal) + other)
        other = np.where(other > _EXHAUSTED * largest, other, 0.0)
        before, direction = direction, _divide(image, other)
        diagonals.append(diagonal)
        others.append(other)
        yield _Tridiagonals(norms, np.array(diagonals), np.array(others))


def _divide(columns: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return columns over their norms; 0 where these are 0."""
    return columns * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


class _RitzCovariance(DiagonalCovariance):
    """V in the bases of the eigenvectors of T, one for the phenotype and one for each probe.

    A column has rows for all bases, and is 0 beyond its own: products of different columns, which
    REML does not need, are not those of the columns of samples.
    """

    is_exact = False

    def __init__(self, found: _Tridiagonals, degrees: int, weight: float) -> None:
        from scipy.linalg import eigh_tridiagonal

        n_steps, k = found.diagonals.shape
        self.degrees, self.weight, self.is_solved = degrees, weight, True
        values, firsts, lasts = np.empty((k, n_steps)), np.zeros((k, n_steps, k)), []
        for column in range(k):
            diagonal, others = found.diagonals[:, column], found.others[:, column]
            values[column], vectors = eigh_tridiagonal(diagonal, others[:-1])
            firsts[column, :, column] = found.norms[column] * vectors[0]
            lasts.append(others[-1] * vectors[0] * vectors[-1])
        self.eigenvalues, self._lasts = values.ravel(), np.array(lasts)
        columns = firsts.reshape(-1, k)
        self._response, self.probes = columns[:, 0], columns[:, 1:]

    def take(self, _values: np.ndarray) -> np.ndarray:
        """Return the phenotype, shape (n,)."""
        return self._response

    def at(self, variances: np.ndarray) -> Solver:
        """Return P for the variances of K and of the residual."""
        return replace(super().at(variances), log_determinant=np.nan, is_solved=self.is_solved)

    def is_solved_at(self, variances: np.ndarray) -> bool:
        """Return whether enough products were made for these variances."""
        genetic, residual = variances
        shares = self._lasts / (genetic * self.eigenvalues + residual).reshape(self._lasts.shape)
        return bool(((genetic * shares.sum(1)) ** 2 <= _INTEGRATED).all())
