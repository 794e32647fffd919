"""Score tests of cases and controls whose p values come from a saddle-point approximation.

The score of a variant in the model without it is s = g~'(y - p), where g~ are the dosages minus
their regression on the covariates with weights p (1 - p). Its distribution follows from the
cumulant generating function of independent cases, K(t) = sum log(1 - p + p exp(g~ t)) - t g~'p, of
which the normal approximation uses only the first two cumulants.

If the probabilities p have a random effect, the variance of s is smaller than g~'diag(p (1 - p))g~,
that of independent cases. The score is then scaled to this variance, as in SAIGE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.regressions import (
    UNVARIED,
    Fitted,
    fit_without_variant,
)
from genoviz.backend import Backend, array_module, to_host
from genoviz.kernels.logistic_derivatives import MAX_LOGIT

MAX_STEPS = 100
ROUNDING = 1e-9
"""Share of the largest dosage, or of the largest score, that is taken for rounding."""
NORMAL_BELOW = 2.0
"""Scores below this many standard deviations use the normal p, as in SPAtest."""


class SaddlePointModel:
    """A model without variants; tests the score of each variant by saddle-point approximation.

    Parameters
    ----------
    design
        Phenotype (0 and 1) and covariates.
    backend
        Where to compute.
    fitted
        float64, shape (n,): the probability of being a case; by default from the covariates alone.

    Attributes
    ----------
    fitted
        As given or computed.

    References
    ----------
    Dey et al. 2017, A fast and accurate algorithm to test for binary phenotypes and its application
    to PheWAS, doi:10.1016/j.ajhg.2017.05.014
    Lugannani and Rice 1980, Saddle point approximation for the distribution of the sum of
    independent random variables, doi:10.2307/1426607
    Zhou et al. 2018, Efficiently controlling for case-control imbalance and sample relatedness in
    large-scale genetic association studies, doi:10.1038/s41588-018-0184-y (scaled scores)
    """

    def __init__(self, design: Design, backend: Backend, fitted: np.ndarray | None = None) -> None:
        self._xp = xp = array_module(backend)
        columns = design.standard_columns
        if fitted is None:
            logits = np.clip(columns @ fit_without_variant(design), -MAX_LOGIT, MAX_LOGIT)
            fitted = 1 / (1 + np.exp(-logits))
        self.fitted = fitted
        weights = fitted * (1 - fitted)
        weighted = columns * weights[:, None]
        self._hat = xp.asarray(np.linalg.solve(columns.T @ weighted, weighted.T))
        self._columns = xp.asarray(np.ascontiguousarray(columns.T))
        self._weights, self._fitted = xp.asarray(weights), xp.asarray(fitted)
        self._residuals = xp.asarray(design.response - fitted)

    def fit(self, dosages: Any) -> Fitted:
        """Return one-step coefficients of dosages (m, n), errors that fit p, z, and log p.

        Missing dosages are replaced by the mean. All are NaN where covariates explain the dosages.
        """
        tile, scores, variances = self.score(self._xp.where(self._xp.isnan(dosages), 0.0, dosages))
        return self.test(scores, variances, variances, lambda far: tile[self._xp.asarray(far)])

    def score(self, tile: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return g~ of dosages (m, n), their scores, and the variances of independent cases.

        Variances are NaN where covariates explain the dosages.
        """
        minimum = UNVARIED * to_host(tile**2 @ self._weights)
        tile = self.adjust(tile)
        scores, variances = to_host(tile @ self._residuals), to_host(tile**2 @ self._weights)
        variances[variances <= minimum] = np.nan
        return tile, scores, variances

    def adjust(self, tile: Any) -> Any:
        """Return g~: dosages (m, n) minus their regression on the covariates."""
        return tile - (tile @ self._hat.T) @ self._columns

    def test(
        self,
        scores: np.ndarray,
        variances: np.ndarray,
        independent: np.ndarray,
        take: Callable[[np.ndarray], Any],
    ) -> Fitted:
        """Return one-step coefficients, errors that fit p, z, and log p of scores (m,).

        Parameters
        ----------
        scores, variances
            float64, shape (m,): of the variants, NaN where a variant is not tested.
        independent
            float64, shape (m,): the variances if cases were independent.
        take
            Returns g~ of some of the variants, by their places.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            beta, z = scores / variances, scores / np.sqrt(variances)
            scaled = scores * np.sqrt(independent / variances)
        log_p = log_p_of_z(z)
        far = np.flatnonzero(np.abs(z) > NORMAL_BELOW)
        if len(far):
            log_p[far] = self._log_p(take(far), scaled[far], log_p[far])
        z = np.sign(beta) * z_of_log_p(log_p)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(z == 0, 1 / np.sqrt(variances), beta / z)
        return beta, error, z, log_p

    def _log_p(self, tile: Any, scores: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return two-sided log p of scores; a scaled one beyond the largest counts as that."""
        tile = tile * self._xp.asarray(np.sign(scores))[:, None]
        sizes = np.abs(scores)
        own = np.minimum(sizes, self._largest(tile))
        tails = [self._log_tail(tile, own), self._log_tail(-tile, sizes)]
        return np.where(np.isnan(tails).any(0), normal, np.minimum(np.logaddexp(*tails), 0.0))

    def _largest(self, tile: Any) -> np.ndarray:
        """Return the largest scores that independent cases can have."""
        return to_host(self._xp.maximum(tile, 0).sum(1) - tile @ self._fitted)

    def _log_tail(self, tile: Any, scores: np.ndarray) -> np.ndarray:
        """Return log P(S >= score) by Lugannani-Rice, in the form of Barndorff-Nielsen.

        The largest score has the probability of its one outcome, which no smaller score has less
        of: all of positive dosages are cases, all of negative ones controls.
        """
        from scipy.special import log_ndtr

        xp = self._xp
        fitted, mean = self._fitted, tile @ self._fitted
        largest = self._largest(tile)
        is_some = xp.abs(tile) > ROUNDING * xp.abs(tile).max(1, keepdims=True)
        chances = xp.log(xp.where(tile > 0, fitted, 1 - fitted))
        minimum = to_host(xp.where(is_some, chances, 0.0).sum(1))
        t = self._saddle_points(tile, mean, scores, largest)
        powers = tile * xp.asarray(t)[:, None]
        # log(1 - p + p e^x), without overflow of e^x.
        small = xp.exp(-xp.abs(powers))
        logs = xp.where(
            powers > 0,
            powers + xp.log(fitted + (1 - fitted) * small),
            xp.log1p(fitted * (small - 1)),
        )
        k0 = to_host(logs.sum(1) - xp.asarray(t) * mean)
        k2 = to_host(self._second(tile, powers))
        with np.errstate(divide="ignore", invalid="ignore"):
            w = np.sqrt(np.maximum(2 * (t * scores - k0), 0))
            v = t * np.sqrt(k2)
            tail = log_ndtr(-(w + np.log(v / w) / w))
        tail = np.where(scores > largest * (1 - ROUNDING), minimum, np.fmax(tail, minimum))
        return np.where(scores > largest * (1 + ROUNDING), -np.inf, tail)

    def _second(self, tile: Any, powers: Any) -> Any:
        tilted = self._tilted(powers)
        return (tile**2 * tilted * (1 - tilted)).sum(1)

    def _tilted(self, powers: Any) -> Any:
        """Return the tilted case probabilities: p e^x / (1 - p + p e^x)."""
        odds = (1 - self._fitted) / self._fitted
        return 1 / (1 + odds * self._xp.exp(self._xp.clip(-powers, -700, 700)))

    def _saddle_points(
        self, tile: Any, mean: Any, scores: np.ndarray, largest: np.ndarray
    ) -> np.ndarray:
        """Return t with K'(t) = score, by Newton steps within an expanding bracket."""
        xp = self._xp
        wanted = np.minimum(scores, largest * (1 - 1e-12))
        low, high = np.zeros(len(scores)), np.full(len(scores), np.inf)
        t = wanted / to_host(self._second(tile, tile * 0))
        for _ in range(MAX_STEPS):
            powers = tile * xp.asarray(t)[:, None]
            tilted = self._tilted(powers)
            excess = to_host((tile * tilted).sum(1) - mean) - wanted
            slope = to_host((tile**2 * tilted * (1 - tilted)).sum(1))
            low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = t - excess / slope
            middle = np.where(np.isfinite(high), (low + high) / 2, 2 * np.maximum(t, 1e-3))
            new = np.where((new > low) & (new < high), new, middle)
            is_last = np.abs(excess) <= 1e-10 * np.maximum(np.abs(wanted), 1e-300)
            if (is_last | (np.abs(new - t) <= 1e-12 * np.abs(t))).all():
                break
            t = np.where(is_last, t, new)
        return t


def z_of_log_p(log_p: np.ndarray) -> np.ndarray:
    """Return |z| for the natural logarithms of two-sided p values."""
    from scipy.special import ndtri_exp

    return np.abs(ndtri_exp(log_p - np.log(2)))
