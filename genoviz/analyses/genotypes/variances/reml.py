"""Variance components by restricted maximum likelihood, with a moment estimator as start and check.

Average information REML. With w = Py and K = I for the residual, the gradient of the likelihood and
the information matrix are, for components k and l::

    gradient_k = (w'K_k w - tr(P K_k)) / 2,    information_kl = w'K_k P K_l w / 2

A step therefore needs P times the phenotype, times the trace probes, and times each K_k w.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.variances.covariances import (
    Covariance,
    NotPositiveError,
    check_distinct,
)
from genoviz.analyses.genotypes.variances.variance_results import VarianceSnapshot, make_snapshot
from genoviz.errors import ParameterError, check_minimum

RESIDUAL = "residual"
FLOOR = 1e-6
"""Smallest variance of a component, as a share of the phenotypic variance."""
_START = 0.02
_HALVINGS = 8
_AT_FLOOR = 1e-6
_FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class _State:
    """The likelihood at given variances."""

    variances: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    noise: np.ndarray
    log_likelihood: float
    is_solved: bool
    solutions: tuple[np.ndarray, np.ndarray]
    is_open: np.ndarray

    def step(self, floor: float) -> np.ndarray:
        """Return the next variances; of those that would fall below the floor, the floor.

        Variances that are not open are given, and stay.
        The step of the others is the best one given these, as a step that is cut off afterwards may
        lower the likelihood however short it is.
        """
        step = np.zeros_like(self.variances)
        # Without information on a variance, nothing tells how far to go down: to the floor.
        slope = self.gradient * self.variances
        is_flat = np.diag(self.information) * self.variances**2 < -_FLAT * slope
        is_flat &= self.is_open
        step[is_flat] = floor - self.variances[is_flat]
        is_free = ((self.variances > floor) | (self.gradient > 0)) & ~is_flat & self.is_open
        while is_free.any():
            rows = self.information[is_free]
            slope = self.gradient[is_free] - rows[:, ~is_free] @ step[~is_free]
            step[is_free] = np.linalg.lstsq(rows[:, is_free], slope)[0]
            is_low = is_free & (self.variances + step < floor)
            if not is_low.any():
                break
            step[is_low] = floor - self.variances[is_low]
            is_free &= ~is_low
        return np.maximum(self.variances + step, floor)

    def slow_step(self, degrees: int, floor: float) -> np.ndarray:
        """Return the next variances of the EM algorithm, which never lower the likelihood."""
        step = np.where(self.is_open, 2 * self.variances**2 * self.gradient / degrees, 0.0)
        return np.maximum(self.variances + step, floor)


def iter_reml_of(
    covariance: Covariance,
    phenotype: np.ndarray,
    names: tuple[str, ...],
    *,
    tolerance: float,
    max_iterations: int,
    notes: tuple[str, ...] = (),
    is_repeated: bool = False,
    residual: float | None = None,
) -> Iterator[VarianceSnapshot]:
    """Estimate the variance components of a covariance, and yield each iterate.

    Parameters
    ----------
    covariance
        Covariance model of the training values.
    phenotype
        float64, shape (n,), of a mean near 0, so that none of its digits are lost.
    names
        Names of the components, without the residual.
    tolerance
        Stop when no variance changes by more, relative to their sum.
    max_iterations
        Maximum number of iterations.
    notes
        Notes on covariates, passed to the snapshots.
    is_repeated
        Whether the last component is that of permanent effects, which are not heritable.
    residual
        Residual variance, if it is given; it then counts as one at a bound.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the covariance is not positive definite.

    References
    ----------
    Gilmour, Thompson and Cullis 1995, Average information REML, doi:10.2307/2533274
    """
    if not tolerance > 0:
        raise ParameterError(f"tolerance is {tolerance}, needs more than 0")
    check_minimum("max_iterations", max_iterations, 1)
    start = time.perf_counter()
    y = covariance.take(phenotype)[:, None]
    images = [covariance.multiply(k, covariance.probes) for k in range(covariance.n_components)]
    images.append(covariance.probes)
    n_heritable = covariance.n_components - is_repeated
    system = covariance.weight * np.array([[(a * b).sum() for b in images] for a in images])
    check_distinct(system, (*names, RESIDUAL))
    moments, moment_error = _moments(covariance, y, images, system, n_heritable)
    total = float((y * y).sum()) / covariance.degrees
    floor = FLOOR * total
    first, is_open = np.maximum(moments, _START * total), np.ones(len(moments), bool)
    if residual is not None:
        first[-1], is_open[-1] = residual, False
    state = _state(covariance, first, y, images, is_open)
    change, iteration, is_converged = np.inf, 0, False
    while True:
        yield make_snapshot(
            state.variances,
            (*names, RESIDUAL),
            (state.variances > floor * (1 + _AT_FLOOR)) & is_open,
            state.information,
            state.noise,
            n_heritable,
            log_likelihood=state.log_likelihood,
            iteration=iteration,
            moment_heritability=float(moments[:n_heritable].sum() / moments.sum()),
            moment_error=moment_error,
            change=change,
            n_samples=len(phenotype),
            is_converged=is_converged,
            seconds=time.perf_counter() - start,
            notes=notes,
        )
        if is_converged or iteration == max_iterations:
            return
        old, state = state, _improve(covariance, state, y, images, floor)
        change = float(np.abs(state.variances - old.variances).max() / state.variances.sum())
        is_converged = change < tolerance and state.is_solved
        iteration += 1


def _improve(
    covariance: Covariance, old: _State, y: np.ndarray, images: list[np.ndarray], floor: float
) -> _State:
    """Return the state after a step, which is halved while the likelihood falls.

    If it still falls, the step is that of the EM algorithm; if that is no better, there is none.
    """
    target = old.step(floor)
    for n_halvings in range(_HALVINGS + 1):
        if n_halvings == _HALVINGS:
            target = old.slow_step(covariance.degrees, floor)
        try:
            new = _state(covariance, target, y, images, old.is_open, old)
        except NotPositiveError:  # a matrix from a file may have negative eigenvalues
            new = None
        slack = 1e-9 * abs(old.log_likelihood)
        if new and not new.log_likelihood < old.log_likelihood - slack:
            return new
        target = (target + old.variances) / 2
    return old


def _state(
    covariance: Covariance,
    variances: np.ndarray,
    y: np.ndarray,
    images: list[np.ndarray],
    is_open: np.ndarray,
    old: _State | None = None,
) -> _State:
    """Return the likelihood at given variances; `images` are the products of K_k and the probes."""
    solver = covariance.at(variances)
    guesses = old.solutions if old else (None, None)
    solved = solver.solve(np.hstack([y, covariance.probes]), guesses[0])
    of_y, of_probes = solved[:, :1], solved[:, 1:]
    ways = [covariance.multiply(k, of_y) for k in range(covariance.n_components)]
    ways = np.hstack([*ways, of_y])
    traces = np.array([(image * of_probes).sum(0) for image in images])
    gradient = ((ways * of_y).sum(0) - covariance.weight * traces.sum(1)) / 2
    of_ways = solver.solve(ways, guesses[1])
    information = ways.T @ of_ways / 2
    noise = np.zeros_like(information)
    if not covariance.is_exact and traces.shape[1] > 1:
        noise = np.cov(traces) / (4 * traces.shape[1])
    quadratic = float((y * of_y).sum())
    return _State(
        variances=variances,
        gradient=gradient,
        information=(information + information.T) / 2,
        noise=noise,
        log_likelihood=-(solver.log_determinant + quadratic) / 2,
        is_solved=solver.is_solved,
        solutions=(solved, of_ways),
        is_open=is_open,
    )


def _moments(
    covariance: Covariance, y: np.ndarray, images: list[np.ndarray], system: np.ndarray,
    n_heritable: int,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the variances that equate y'K_k y to their expectation, and the heritability's error.

    This is Haseman-Elston regression of phenotype products on relationships, diagonal included.

    References
    ----------
    Haseman and Elston 1972, The investigation of linkage between a quantitative trait and a marker
    locus, doi:10.1007/BF01066731
    Pazokitoroudi et al. 2020, Efficient variance components analysis across millions of genomes,
    doi:10.1038/s41467-020-17576-9
    """
    n = covariance.n_components
    ways = [covariance.multiply(k, y) for k in range(n)] + [y]
    squares = np.array([float((y * way).sum()) for way in ways])
    variances = np.linalg.lstsq(system, squares)[0]
    if n > 1 and not covariance.is_exact:
        return variances, np.nan

    def by_v(columns: np.ndarray) -> np.ndarray:
        parts = (variances[k] * covariance.multiply(k, columns) for k in range(n))
        return variances[-1] * columns + sum(parts)

    # tr(K V L V), as the sum of (VK z) * (L V z) over probes z.
    left = [by_v(image) for image in images]
    of_v = by_v(covariance.probes)
    right = [covariance.multiply(k, of_v) for k in range(n)] + [of_v]
    products = covariance.weight * np.array([[(a * b).sum() for b in right] for a in left])
    inverse = np.linalg.pinv(system)
    spread = inverse @ (products + products.T) @ inverse
    total = variances.sum()
    slope = np.full(n + 1, -variances[:n_heritable].sum() / total**2)
    slope[:n_heritable] += 1 / total
    return variances, float(np.sqrt(max(slope @ spread @ slope, 0)))
