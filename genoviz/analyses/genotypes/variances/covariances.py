"""The covariance of a trait, V = sum_k v_k K_k + v_e I, after projecting out fixed effects.

Let M = I - X (X'X)^-1 X'. The restricted likelihood depends on V only through its inverse on the
range of M, P = M (M V M)^+ M, and traces such as tr(P K_k). Three classes provide these:

- `DiagonalCovariance`: one K, in the basis of the eigenvectors of M K M. Everything is exact, and
  cheap after the decomposition.
- `DenseCovariance`: several K. Everything is exact, with a Cholesky factor for each V.
- `ProbedCovariance`: K given by its products only. P is applied by conjugate gradients, and a trace
  is estimated by a mean over random probes z: E z'PKz = tr(PK).

Columns have a row for each of the n training values. In all three classes, tr(A'B) is
``weight * sum(Az * Bz)`` over the columns of `probes`; for exact traces, the probes are a basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.errors import ParameterError
from genoviz.generators import last_of

Multiply = Callable[[np.ndarray], np.ndarray]

SOLVED = 1e-10
"""Squared relative residual of solutions; errors of a gradient are then far below its noise."""
MAX_SOLVING = 1000
_SAME = 1e-9


class NotPositiveError(ParameterError):
    """V is not positive definite."""


class Solver(Protocol):
    """Products with P for given variances.

    Attributes
    ----------
    log_determinant
        log |V| on the range of M; NaN if unknown.
    is_solved
        Whether all solutions so far have reached their tolerance.
    """

    log_determinant: float
    is_solved: bool

    def solve(self, columns: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """Return P @ columns, for columns in the range of M; a guess may save time."""


class Covariance(Protocol):
    """V for any variances.

    Attributes
    ----------
    n_components
        Number of K, without the residual.
    degrees
        Degrees of freedom: samples minus fixed effects.
    probes
        float64, shape (n, k).
    weight
        Factor that turns sums over the probes into traces.
    is_exact
        Whether these traces are exact rather than estimates.
    """

    n_components: int
    degrees: int
    probes: np.ndarray
    weight: float
    is_exact: bool

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return M @ values, shape (n,) or (n, k), in the basis of this class."""

    def multiply(self, k: int, columns: np.ndarray) -> np.ndarray:
        """Return M K_k M @ columns."""

    def at(self, variances: np.ndarray) -> Solver:
        """Return P for the variances of the K, followed by that of the residual."""


@dataclass(frozen=True, eq=False)
class _ExactSolver:
    apply: Multiply
    log_determinant: float
    is_solved: bool = True

    def solve(self, columns: np.ndarray, _guess: np.ndarray | None = None) -> np.ndarray:
        """Return P @ columns."""
        return self.apply(columns)


class DiagonalCovariance:
    """V with one dense K, diagonal in the basis of the eigenvectors of M K M.

    Parameters
    ----------
    relationships
        float64, shape (n, n), symmetric: K.
    basis
        float64, shape (n, c): orthonormal, spans the fixed effects.

    Attributes
    ----------
    eigenvalues
        float64, shape (n - c,).
    vectors
        float64, shape (n, n - c): eigenvectors orthogonal to the fixed effects.

    References
    ----------
    Kang et al. 2008, Efficient control of population structure in model organism association
    mapping, doi:10.1534/genetics.107.080101
    """

    n_components, weight, is_exact = 1, 1.0, True

    def __init__(self, relationships: np.ndarray, basis: np.ndarray) -> None:
        from scipy.linalg import eigh

        projected = _project_both_sides(relationships, basis)
        # Shifts the eigenvalues of fixed effects below all others, so that they come first.
        low = 1 + np.abs(projected).sum(1).max()
        projected -= low * (basis @ basis.T)
        values, vectors = eigh(projected, overwrite_a=True, check_finite=False)
        self.eigenvalues = values[basis.shape[1] :]
        self.vectors = vectors[:, basis.shape[1] :]
        self.degrees = len(self.eigenvalues)
        self.probes = np.ones((self.degrees, 1))

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return M @ values, shape (n,) or (n, k), in the eigenbasis."""
        return self.vectors.T @ values

    def multiply(self, _k: int, columns: np.ndarray) -> np.ndarray:
        """Return M K M @ columns."""
        return self.eigenvalues[:, None] * columns

    def at(self, variances: np.ndarray) -> Solver:
        """Return P for the variances of K and of the residual."""
        diagonal = variances[0] * self.eigenvalues + variances[1]
        _check_positive(diagonal.min())
        return _ExactSolver(
            lambda columns: columns / diagonal[:, None], float(np.log(diagonal).sum())
        )


class DenseCovariance:
    """V with several dense K.

    Parameters
    ----------
    relationships
        float64, shape (n, n) each, symmetric.
    basis
        float64, shape (n, c): orthonormal, spans the fixed effects.
    """

    weight, is_exact = 1.0, True

    def __init__(self, relationships: Sequence[np.ndarray], basis: np.ndarray) -> None:
        self._matrices = [_project_both_sides(each, basis) for each in relationships]
        self._basis = basis
        n = len(basis)
        self.n_components = len(self._matrices)
        self.degrees = n - basis.shape[1]
        self.probes = np.eye(n) - basis @ basis.T

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return M @ values."""
        return values - self._basis @ (self._basis.T @ values)

    def multiply(self, k: int, columns: np.ndarray) -> np.ndarray:
        """Return M K_k M @ columns."""
        return self._matrices[k] @ columns

    def at(self, variances: np.ndarray) -> Solver:
        """Return P for the variances of the K, followed by that of the residual."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        total = variances[-1] * self.probes + self._basis @ self._basis.T
        for variance, matrix in zip(variances[:-1], self._matrices, strict=True):
            total += variance * matrix
        try:
            factor = cho_factor(total, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            _check_positive(0.0)
        log_determinant = 2 * np.log(np.diag(factor[0])).sum()
        return _ExactSolver(
            lambda columns: cho_solve(factor, columns, check_finite=False), float(log_determinant)
        )


class ProbedCovariance:
    """V with K given by their products with columns.

    Parameters
    ----------
    multiply
        For each K, a function that returns its product with columns, shape (n, k).
    basis
        float64, shape (n, c): orthonormal, spans the fixed effects.
    n_probes
        Number of random columns; the error of a trace is proportional to 1 over their root.
    seed
        Seed of the probes.

    References
    ----------
    Hutchinson 1990, A stochastic estimator of the trace of the influence matrix for Laplacian
    smoothing splines, doi:10.1080/03610919008812866
    """

    is_exact = False

    def __init__(
        self, multiply: Sequence[Multiply], basis: np.ndarray, *, n_probes: int, seed: int
    ) -> None:
        self._multiply = multiply
        self.basis = basis
        n = len(basis)
        self.n_components = len(multiply)
        self.degrees = n - basis.shape[1]
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n, n_probes))
        probes = self.take(signs)
        # Scaled such that tr(PV), which is known, is exact for any probes.
        self.probes = probes * np.sqrt(self.degrees / (probes * probes).sum(0))
        self.weight = 1 / n_probes

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return M @ values."""
        return values - self.basis @ (self.basis.T @ values)

    def multiply(self, k: int, columns: np.ndarray) -> np.ndarray:
        """Return M K_k M @ columns."""
        return self.take(self._multiply[k](columns))

    def at(self, variances: np.ndarray) -> Solver:
        """Return P for the variances of the K, followed by that of the residual."""
        return _GradientSolver(self, variances)


class _GradientSolver:
    def __init__(self, covariance: ProbedCovariance, variances: np.ndarray) -> None:
        self._covariance = covariance
        self._variances = variances
        self.log_determinant = np.nan
        self.is_solved = True

    def solve(self, columns: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """Return P @ columns, for columns in the range of M."""
        rest, tolerance = columns, SOLVED
        if guess is not None:
            rest = columns - self._multiply(guess)[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                scales = (columns * columns).sum(0) / (rest * rest).sum(0)
            tolerance *= np.nanmin(scales, initial=np.inf)
            if tolerance >= 1:
                return guess
        last = last_of(
            iter_conjugate_gradient(
                self._multiply, rest, np.copy, tolerance=tolerance, max_iterations=MAX_SOLVING
            )
        )
        self.is_solved &= last.is_converged
        return last.solution if guess is None else guess + last.solution

    def _multiply(self, columns: np.ndarray) -> tuple[np.ndarray]:
        product = self._variances[-1] * columns
        for k, variance in enumerate(self._variances[:-1]):
            if variance:
                product += variance * self._covariance.multiply(k, columns)
        return (product,)


def check_distinct(system: np.ndarray, names: Sequence[str]) -> None:
    """Raise if a covariance is a combination of others, so that only their sum can be estimated.

    Parameters
    ----------
    system
        float64, shape (k, k): the traces tr(K_i' K_j) of what the variances multiply.
    names
        Names of the k components.

    Raises
    ------
    ParameterError
        With the names of the components that cannot be told apart.
    """
    scale = np.sqrt(np.diag(system))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(system / scale[:, None] / scale)
    lost = (vectors[:, values < _SAME] ** 2).sum(axis=1) > _SAME
    if lost.any():
        alike = ", ".join(name for name, is_lost in zip(names, lost, strict=True) if is_lost)
        raise ParameterError(
            f"the variances of {alike} cannot be told apart: their covariances are alike, or "
            "combinations of one another"
        )


def _project_both_sides(matrix: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return M matrix M, exactly symmetric."""
    half = basis @ (basis.T @ matrix)
    projected = matrix - half - half.T + (half @ basis) @ basis.T
    return (projected + projected.T) / 2


def _check_positive(smallest: float) -> None:
    if not smallest > 0:
        raise NotPositiveError(
            "the covariance of the trait is not positive definite: relationships have eigenvalues "
            "that are too far below 0; needs those of one set of genotypes"
        )
