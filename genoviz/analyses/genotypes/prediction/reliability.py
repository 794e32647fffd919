"""How reliable genomic predictions are: by the inverse of all equations, or by random draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training, make_records
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.preconditioners import (
    squared_lengths,
    variant_preconditioner,
)
from genoviz.analyses.genotypes.prediction.snp_blup import SnpEquations
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.analyses.genotypes.variances.estimate import (
    MAX_EXACT,
    TRACES,
    iter_relationships_of,
)
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

_COLUMNS_AT_ONCE = 25
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class ReliabilitySnapshot:
    """Reliabilities of breeding values as they are after some draws.

    Attributes
    ----------
    reliabilities
        float64, shape (n_samples,): 1 - PEV / (K_ii vg), the squared correlation of predicted and
        true breeding values. NaN while nothing is known, and of samples that have no variance.
    standard_errors
        float64, of that shape: what random draws leave open; 0 where there are none.
    n_draws
        How many draws they are means of; 0 where the inverse was computed.
    fraction
        How much is done, 0 to 1.
    is_converged
        Whether the equations of all draws are solved.
    """

    reliabilities: np.ndarray
    standard_errors: np.ndarray
    n_draws: int
    fraction: float
    is_converged: bool = True

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if np.isnan(self.reliabilities).all():
            return "reliabilities are not known yet"
        mean = np.nanmean(self.reliabilities)
        if not self.n_draws:
            return f"mean reliability {mean:.4f}"
        most = np.nanmax(self.standard_errors)
        words = f"mean reliability {mean:.4f}, each ± {most:.3f} or less by {self.n_draws:,} draws"
        return words if self.is_converged else f"{words}, whose equations have not converged"


def iter_reliability(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    samples: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    repeatability: float | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    method: Literal["auto", "exact", "random"] = "auto",
    n_draws: int = 200,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[ReliabilitySnapshot]:
    """Tell how reliable the breeding values of `iter_snp_blup` are, and yield what is known.

    Only who has records, weights and covariates matters, and not what the records are. With K =
    ZZ' / s, P = W'MW of a `Training` and l = ve / vg, the prediction error variance in units of vg
    is the diagonal of K (I + PK / l)^-1. Without that inverse, effects and residuals are drawn from
    the model and predicted again: û and u - û are independent, so that the mean squares of both
    tell the reliability, and are weighed by how well they do.

    Parameters
    ----------
    genotypes, phenotype, covariates, samples, weights, repeatability, contigs, heritability
        As in `iter_snp_blup`.
    method
        ``"exact"``: K is built and equations are inverted, which takes memory of n_samples² and
        time of n_samples³. ``"random"``: draws. ``"auto"``: exact up to 4,000 samples.
    n_draws
        How many. The standard error of a reliability is at most 0.36 √(2 / n_draws).
    tolerance
        Squared relative residual of the equations of draws.
    max_iterations
        As in `iter_snp_blup`.
    seed
        Of the draws.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there is nothing to learn from.

    References
    ----------
    Hickey, Veerkamp, Calus, Mulder and Thompson 2009, Estimation of prediction error variances via
    Monte Carlo sampling methods using different formulations of the prediction error variance,
    doi:10.1186/1297-9686-41-23
    """
    if method not in TRACES:
        raise ParameterError(f"method is {method!r}, needs one of {', '.join(TRACES)}")
    if n_draws < 2:
        raise ParameterError(f"n_draws is {n_draws}, needs at least 2")
    values, records, ratio = make_records(
        phenotype, genotypes.n_samples, animals=samples, weights=weights,
        heritability=heritability, repeatability=repeatability, what="samples",
    )  # fmt: skip
    what = "samples" if samples is None else "records"
    training = Training(values, covariates, what, records=records)
    markers = Markers(take_autosomes(genotypes, contigs)[0], backend)
    if method == "exact" or (method == "auto" and genotypes.n_samples <= MAX_EXACT):
        yield from _iter_exact(markers, training, ratio)
        return
    equations = SnpEquations(
        markers.matrix, training, ratio * markers.scale,
        variant_preconditioner(
            "diagonal", markers, np.flatnonzero(training.is_trained), ratio * markers.scale,
            scale=training.diagonal[training.is_trained].mean(),
        ),
    )  # fmt: skip
    sums = _Sums(squared_lengths(markers) / (ratio * markers.scale))
    generator = np.random.default_rng(seed)
    is_converged, limits = True, {"tolerance": tolerance, "max_iterations": max_iterations}
    for first in range(0, n_draws, _COLUMNS_AT_ONCE):
        k = min(_COLUMNS_AT_ONCE, n_draws - first)
        # In units of the residual variance.
        shape = markers.matrix.shape[1], k
        effects = generator.standard_normal(shape) / np.sqrt(ratio * markers.scale)
        drawn = markers.matrix.multiply(effects)
        of_records = training.project(drawn) + training.draw_residuals(generator, k)
        right_side = markers.matrix.multiply_transposed(of_records)
        for step in iter_conjugate_gradient(
            equations.multiply, right_side, equations.precondition, **limits
        ):
            if not step.is_last:
                yield sums.read(first / n_draws, is_converged)
        is_converged &= step.is_converged
        predicted = step.images[0] if step.images else np.zeros_like(drawn)
        sums.add(drawn, predicted)
        yield sums.read((first + k) / n_draws, is_converged)


@in_one_go(iter_reliability)
def reliability(last: ReliabilitySnapshot) -> ReliabilitySnapshot:
    """Return the last snapshot of `iter_reliability`."""
    return last


def _iter_exact(
    markers: Markers, training: Training, ratio: float
) -> Iterator[ReliabilitySnapshot]:
    n = markers.genotypes.n_samples
    unknown = np.full(n, np.nan)
    for matrix in iter_relationships_of(markers, np.arange(n)):
        if matrix is None:
            yield ReliabilitySnapshot(unknown, unknown, 0, 0.0)
    variances = matrix / ratio
    left = np.eye(n) + training.project(variances)
    # K (I + PK)^-1 = (I + KP)^-1 K, whose diagonal is that of its transpose.
    errors = np.einsum("ij,ji->i", variances, np.linalg.solve(left, np.eye(n)))
    yield ReliabilitySnapshot(_share(errors, np.diag(variances)), np.zeros(n), 0, 1.0)


def _share(errors: np.ndarray, variances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variances > 0, 1 - errors / variances, np.nan)


class _Sums:
    """Squares of predictions and of their errors, over draws.

    Parameters
    ----------
    variances
        float64, shape (n,): of breeding values.
    """

    def __init__(self, variances: np.ndarray) -> None:
        self._variances = variances
        self._of_errors, self._of_predicted = np.zeros_like(variances), np.zeros_like(variances)
        self._n = 0

    def add(self, drawn: np.ndarray, predicted: np.ndarray) -> None:
        """Add draws, one a column."""
        self._of_errors += ((drawn - predicted) ** 2).sum(axis=1)
        self._of_predicted += (predicted**2).sum(axis=1)
        self._n += drawn.shape[1]

    def read(self, fraction: float, is_converged: bool) -> ReliabilitySnapshot:
        """Return the reliabilities so far."""
        if not self._n:
            unknown = np.full_like(self._variances, np.nan)
            return ReliabilitySnapshot(unknown, unknown, 0, fraction)
        by_errors = _share(self._of_errors / self._n, self._variances)
        by_predicted = 1 - _share(self._of_predicted / self._n, self._variances)
        rough = np.clip((by_errors + by_predicted) / 2, _LEAST, 1 - _LEAST)
        # The relative error of a mean square is the same, so the smaller one tells more.
        precise, loose = (1 - rough) ** -2, rough**-2
        found = (precise * by_errors + loose * by_predicted) / (precise + loose)
        errors = np.sqrt(2 / self._n / (precise + loose))
        return ReliabilitySnapshot(np.clip(found, 0, 1), errors, self._n, fraction, is_converged)
