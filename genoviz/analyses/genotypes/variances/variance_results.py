"""Results of REML: variances, their shares, and the standard errors that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.errors import ParameterError

_SINGULAR = 1e-12
_EDGE = 1e-4
"""An estimated heritability closer than this to 0 or 1 does not allow predictions."""


def with_error(value: float, error: float) -> str:
    """Return an estimate and its standard error in words; NaN is one that is not known."""
    return f"{value:.4f} " + ("(standard error not known)" if np.isnan(error) else f"± {error:.4f}")


@dataclass(frozen=True, eq=False)
class VarianceSnapshot:
    """Variance components after some iterations.

    Attributes
    ----------
    iteration
        Number of iterations done; 0 is the start, the Haseman-Elston estimate.
    names
        Names of the components; the last is ``"residual"``.
    variances, standard_errors
        float64, shape (n_components + 1,): in squared units of the phenotype. NaN while
        relationships are being computed. A variance at its bound of 0 has no standard error (NaN);
        those of the others are given that variance.
    shares, share_errors
        float64, shape (n_components,): share of the phenotypic variance, fixed effects excluded.
        One that only bounds determine has no standard error (NaN).
    heritability, heritability_error
        Sum of the shares, without permanent effects if records are repeated; the error is NaN as
        those of shares.
    trace_error
        Part of the heritability's standard error due to random probes; 0 for exact traces.
    moment_heritability, moment_error
        Haseman-Elston regression estimate and its standard error (NaN with random probes and
        several components).
    log_likelihood
        Restricted log likelihood up to a constant; NaN with random probes.
    change
        Largest change of a variance in the last step, relative to their sum.
    n_samples
        Number of samples, or records, with a phenotype and all covariates.
    is_converged
        Whether the change is within the tolerance.
    seconds
        Time since the start of the iterations.
    notes
        Covariates that were left out, and fewer than 50 samples, one sentence each.
    repeatability, repeatability_error
        Sum of all shares if records are repeated; NaN otherwise.
    is_bounded
        bool, shape (n_components + 1,): whether a variance is at its bound; None while
        relationships are being computed.
    """

    iteration: int
    names: tuple[str, ...]
    variances: np.ndarray
    standard_errors: np.ndarray
    shares: np.ndarray
    share_errors: np.ndarray
    heritability: float
    heritability_error: float
    trace_error: float
    moment_heritability: float
    moment_error: float
    log_likelihood: float
    change: float
    n_samples: int
    is_converged: bool
    seconds: float
    notes: tuple[str, ...] = ()
    repeatability: float = np.nan
    repeatability_error: float = np.nan
    is_bounded: np.ndarray | None = None

    @property
    def sentence(self) -> str:
        """Summary of the result in words."""
        if np.isnan(self.heritability):
            return "variances are not known yet"
        by_probes = f" (± {self.trace_error:.2g} by random traces)" if self.trace_error > 0 else ""
        plural, what, repeated = "s" * (self.iteration != 1), "samples", ""
        if not np.isnan(self.repeatability):
            what = "records"
            repeated = f"; repeatability {with_error(self.repeatability, self.repeatability_error)}"
        return (
            f"h2 {with_error(self.heritability, self.heritability_error)}{by_probes}, by moments "
            f"{self.moment_heritability:.4f}{repeated}; {self.n_samples:,} {what}, "
            f"{self.iteration:,} iteration{plural}{'' if self.is_converged else ', not converged'}"
            + "".join(f", {name} at the bound of 0" for name in self.bounded_names)
        )

    @property
    def bounded_names(self) -> list[str]:
        """Names of the components whose variances are at their bound of 0."""
        is_bounded = np.zeros(len(self.names), bool) if self.is_bounded is None else self.is_bounded
        return [name for name, is_it in zip(self.names, is_bounded, strict=True) if is_it]


def check_heritability(found: VarianceSnapshot, remedy: str) -> None:
    """Raise `ParameterError`, which ends in a remedy, if an estimate predicts nothing."""
    if not _EDGE < found.heritability < 1 - _EDGE:
        estimate = with_error(found.heritability, found.heritability_error)
        raise ParameterError(
            f"the heritability is estimated as {estimate}, from which nothing can be predicted; "
            f"{remedy}"
        )


def make_snapshot(
    variances: np.ndarray,
    names: tuple[str, ...],
    is_free: np.ndarray,
    information: np.ndarray,
    noise: np.ndarray,
    n_heritable: int,
    **known: Any,
) -> VarianceSnapshot:
    """Return a snapshot, with standard errors by the delta method.

    Parameters
    ----------
    variances, names
        As in `VarianceSnapshot`.
    is_free
        bool, shape (n,): which variances are not at their bound.
    information, noise
        float64, shape (n, n): average information, and the covariance of the gradient that is due
        to random probes.
    n_heritable
        Number of the first components that make the heritability.
    """
    n, total = len(variances), variances.sum()
    spread = _spread(information, variances, is_free)
    errors = np.full(n, np.nan) if spread is None else np.sqrt(np.maximum(np.diag(spread), 0))
    shares = variances / total
    # Derivatives of each share, and of sums of them, with respect to each variance.
    slopes = (np.eye(n) - shares[:, None]) / total

    def error_of(chosen: np.ndarray, between: np.ndarray | None) -> float:
        """Return the standard error of the sum of some shares; NaN if bounds determine it."""
        is_estimated = (is_free & chosen).any() and (is_free & ~chosen).any()
        slope = slopes[chosen].sum(0)
        if between is None or not is_estimated:
            return np.nan
        return float(np.sqrt(max(slope @ between @ slope, 0)))

    of_heritable = np.arange(n) < n_heritable
    of_probes = None if spread is None else spread @ noise @ spread
    if n_heritable < n - 1:
        of_all = np.arange(n) < n - 1
        known["repeatability"] = float(shares[of_all].sum())
        known["repeatability_error"] = error_of(of_all, spread)
    each = [error_of(np.arange(n) == k, spread) for k in range(n - 1)]
    return VarianceSnapshot(
        names=names,
        variances=variances,
        standard_errors=np.where(is_free, errors, np.nan),
        shares=shares[:-1],
        share_errors=np.where(is_free[:-1], each, np.nan),
        heritability=float(shares[of_heritable].sum()),
        heritability_error=error_of(of_heritable, spread),
        trace_error=error_of(of_heritable, of_probes) if noise.any() else 0.0,
        is_bounded=~is_free,
        **known,
    )


def _spread(
    information: np.ndarray, variances: np.ndarray, is_free: np.ndarray
) -> np.ndarray | None:
    """Return the covariance of the estimates given those at a bound; None if singular."""
    scales = np.where(is_free, variances, 0)
    scaled = information * scales * scales[:, None]
    values, vectors = np.linalg.eigh(scaled[np.ix_(is_free, is_free)])
    if not len(values) or values[0] <= _SINGULAR * values[-1]:
        return None
    spread = np.zeros_like(information)
    spread[np.ix_(is_free, is_free)] = (vectors / values) @ vectors.T
    return spread * scales * scales[:, None]
