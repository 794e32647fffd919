"""Scores of the rare variants of a set, their covariance, and their distribution with few cases.

With few cases a score of a rare variant is far from normal: it depends on the case status of few
carriers. The status of carriers is then drawn many times from the null model, as in the efficient
resampling of R's SKAT, and the part of all other samples, of which there are many, from a normal
distribution::

    S* = sum over carriers of g_i (y*_i - p_i) + N(0, rest of the covariance)

where g_i are the dosages less their regression on the covariates. The p value is the share of
draws with a statistic as large as the observed one. Draws stop as soon as there are enough of
these. Below the p that draws reach, that of burden is a saddle-point approximation. Of SKAT and
SKAT-O, -log p is proportional to that of the normal approximation there, and at most that of an
approximation with the variances that saddle-point p values of the variants and of burden imply.

If the probabilities p have a random effect, the scores have a smaller covariance than those of
independent cases. Draws are then mapped to it (`nearest_map`), and the scores that have a
saddle-point approximation are scaled to their variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.association.saddle_point import (
    NORMAL_BELOW,
    SaddlePointModel,
    z_of_log_p,
)
from genoviz.analyses.genotypes.association.set_statistics import (
    Comparison,
    SetStatistics,
    acat_v,
    burden_of,
    log_p_of_kernels,
    set_statistics,
    with_kernels,
)
from genoviz.analyses.genotypes.association.set_variants import Group

MAX_DRAWS = 1_024_000
_FIRST_DRAWS, _GROWTH, _ENOUGH, _FEWEST = 1000, 4, 100, 25
_NORMAL_FROM = 50.0
"""Variance of the number of cases among carriers from which a variant needs no draws."""
_DRAWN_AT_ONCE, _SPARSE_BELOW = 1 << 21, 0.15


Scored = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Scores (m,), their covariance (m, m) if cases are independent, coefficients of covariates."""


class NullModel:
    """The model without variants: residuals, their variances, and the covariates.

    Parameters
    ----------
    design
        Phenotype and covariates.
    is_binary
        Whether the model is logistic.
    fitted
        float64, shape (n,): the probability of being a case; by default from the covariates alone.
    """

    def __init__(
        self, design: Design, *, is_binary: bool, fitted: np.ndarray | None = None
    ) -> None:
        self._columns = columns = design.standard_columns
        y = design.response
        self._saddle = None
        if is_binary:
            self._saddle = SaddlePointModel(design, "cpu", fitted)
            fitted = self._saddle.fitted
            self._scale, self._residuals, self._variances = 1.0, y - fitted, fitted * (1 - fitted)
            self._fitted = fitted
        else:
            residuals = design.unexplained
            self._scale = np.sqrt(residuals @ residuals / (len(y) - design.basis.shape[1]))
            self._residuals, self._variances = residuals / self._scale, np.ones(len(y))
        self._within = (columns * self._variances[:, None]).T @ columns

    def test(self, group: Group, weights: np.ndarray, rng: np.random.Generator) -> SetStatistics:
        """Return the tests of a set."""
        scores, covariance, _ = scored = self.score(group)
        if self._saddle is not None:
            return self.test_cases(group, scored, weights, rng)
        known = {"frequencies": group.frequencies, "counts": group.counts}
        found = set_statistics(scores, covariance, weights, **known)
        beta, error = self._scale * found.beta, self._scale * found.standard_error
        return replace(found, beta=beta, standard_error=error)

    def test_cases(
        self, group: Group, scored: Scored, weights: np.ndarray, rng: np.random.Generator,
        covariance: np.ndarray | None = None,
    ) -> SetStatistics:  # fmt: skip
        """Return the tests of a set of cases and controls.

        Parameters
        ----------
        group, scored, weights
            The variants, what `score` returns of them, and their weights.
        rng
            Draws the status of carriers.
        covariance
            float64, shape (m, m): of the scores; None for that of independent cases. Draws and
            saddle points, which are those of independent cases, are scaled to it.
        """
        scores, independent, _ = scored
        covariance = independent if covariance is None else covariance
        found = self._test_cases(group, scored, covariance, weights, rng)

        def log_p_of(variants: np.ndarray, part: np.ndarray) -> float:
            return self._fit_saddle_point(group, covariance, part, variants)[3]

        known = {"frequencies": group.frequencies, "counts": group.counts}
        of_variants = acat_v(scores, covariance, weights, **known, log_p_of=log_p_of)
        return replace(found, acat_v_log10_p=of_variants)

    def _test_cases(
        self, group: Group, scored: Scored, covariance: np.ndarray, weights: np.ndarray,
        rng: np.random.Generator,
    ) -> SetStatistics:  # fmt: skip
        """Return burden, SKAT and SKAT-O of cases and controls."""
        u, within = weights * scored[0], weights[:, None] * covariance * weights
        n_varied = np.count_nonzero(np.diagonal(within))
        if not n_varied:
            return SetStatistics()
        found = burden_of(u, within)
        adjusted = partial(self._with_saddle_point, group, covariance, weights, found)
        if n_varied == 1:
            found = adjusted()
            log_p = -np.log(10) * found.burden_log10_p
            return with_kernels(found, log_p, log_p, 0.0)
        if not _are_far(scored[1]).any():
            return with_kernels(adjusted(), *log_p_of_kernels(u, within))

        def beyond() -> tuple[float, float, float]:
            found = adjusted()
            kernels = self._adjust(group, covariance, weights, u, found)
            return -np.log(10) * found.burden_log10_p, *kernels

        draws = self._draws(group, scored, covariance, weights, rng)
        logs, rho = draws.test(u, within, beyond)
        if found.burden_log10_p >= 0:
            z = z_of_log_p(logs[0])
            error = abs(found.beta) / z if z > 0 and found.beta != 0 else found.standard_error
            found = replace(found, standard_error=error, burden_log10_p=-logs[0] / np.log(10))
        return with_kernels(found, logs[1], logs[2], rho)

    def _with_saddle_point(
        self, group: Group, covariance: np.ndarray, weights: np.ndarray, found: SetStatistics
    ) -> SetStatistics:
        """Return the tests with burden's by saddle-point approximation."""
        if not abs(found.beta) > NORMAL_BELOW * found.standard_error:
            return found
        beta, error, _, log_p = self._fit_saddle_point(group, covariance, weights)
        return replace(found, beta=beta, standard_error=error, burden_log10_p=-log_p / np.log(10))

    def _fit_saddle_point(
        self, group: Group, covariance: np.ndarray, weights: np.ndarray,
        variants: np.ndarray | slice = slice(None),
    ) -> list[float]:  # fmt: skip
        """Return beta, error, z and log p of the weighted sum of some variants."""
        tiles = group.iter_tiles(len(self._residuals), variants)
        burden = np.concatenate([weights @ tile for _, tile in tiles])
        tile, scores, independent = self._saddle.score(burden[None])
        variance = np.atleast_1d(weights @ covariance[variants][:, variants] @ weights)
        fitted = self._saddle.test(scores, variance, independent, lambda far: tile[far])
        return [float(values[0]) for values in fitted]

    def _adjust(
        self, group: Group, covariance: np.ndarray, weights: np.ndarray, u: np.ndarray,
        found: SetStatistics,
    ) -> tuple[float, float]:  # fmt: skip
        """Return log p of SKAT and SKAT-O with variances that fit saddle-point p values."""
        ratios, within = np.ones(len(u)), weights[:, None] * covariance * weights
        plain = u**2 / np.diagonal(within).clip(1e-300)
        for k in np.flatnonzero(plain > NORMAL_BELOW**2):
            z = self._fit_saddle_point(group, covariance, np.ones(1), slice(k, k + 1))[2]
            ratios[k] = plain[k] / max(z * z, 1e-300)
        root = np.sqrt(ratios)
        within = root[:, None] * within * root
        if found.burden_log10_p >= 0 and found.beta != 0:
            variance = (u.sum() * found.standard_error / found.beta) ** 2
            within = within * max(1.0, variance / within.sum())
        return log_p_of_kernels(u, within)[:2]

    def score(self, group: Group) -> Scored:
        """Return scores (m,), their covariance (m, m), and the covariates' coefficients (k, m).

        Scores and covariance are 0 where covariates explain a variant. Cases are independent.
        """
        m, n, k = len(group.packed), *self._columns.shape
        scores, covariance, across = np.zeros(m), np.zeros((m, m)), np.zeros((m, k))
        for part, tile in group.iter_tiles(n):
            scores += tile @ self._residuals[part]
            weighted = tile * self._variances[part]
            covariance += weighted @ tile.T
            across += weighted @ self._columns[part]
        squares = np.diagonal(covariance).copy()
        coefficients = np.linalg.solve(self._within, across.T)
        scores -= (self._columns.T @ self._residuals) @ coefficients
        covariance -= across @ coefficients
        covariance = (covariance + covariance.T) / 2
        explained = np.diagonal(covariance) <= UNVARIED * squares
        scores[explained] = covariance[explained] = covariance[:, explained] = 0
        return scores, covariance, coefficients

    def _draws(
        self, group: Group, scored: Scored, covariance: np.ndarray, weights: np.ndarray,
        rng: np.random.Generator,
    ) -> _Draws:  # fmt: skip
        """Return draws of the weighted scores, which have this covariance."""
        _, independent, across = scored
        variances, few = np.diagonal(independent), np.flatnonzero(_are_far(independent))
        n = len(self._residuals)
        carriers = np.flatnonzero(group.find_carriers(n, few))
        dosages = np.empty((len(carriers), len(group.packed)))
        for part, tile in group.iter_tiles(n):
            low, high = np.searchsorted(carriers, [part.start, part.stop])
            dosages[low:high] = tile.T[carriers[low:high] - part.start]
        dosages = (dosages - self._columns[carriers] @ across) * weights
        dosages[:, variances <= 0] = 0
        rest = weights[:, None] * independent * weights
        rest -= (dosages.T * self._variances[carriers]) @ dosages
        values, vectors = np.linalg.eigh(rest)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        if covariance is not independent:
            sizes = weights * np.sqrt(np.where(variances > 0, variances, 1.0))
            turn = nearest_map(independent, covariance) * sizes / sizes[:, None]
            dosages, root = dosages @ turn, root @ turn
        return _Draws(self._fitted[carriers], dosages, root, rng)


def nearest_map(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the symmetric A with A first A = second, for covariances (m, m) of scores.

    Scores are in units of their deviations by the first. Of all maps of scores with the first
    covariance to such with the second, A changes them least in mean square; it is R^-1 (R second
    R)^1/2 R^-1, where R is the root of the first (Olkin and Pukelsheim 1982, The distance between
    two random vectors with given dispersion matrices, doi:10.1016/0024-3795(82)90112-4). What has
    no variance is mapped to 0.
    """
    sizes = np.sqrt(np.where(np.diagonal(first) > 0, np.diagonal(first), 1.0))
    values, vectors = np.linalg.eigh(first / sizes / sizes[:, None])
    second = second / sizes / sizes[:, None]
    vectors = vectors[:, values > UNVARIED * values[-1]]
    roots = np.sqrt(values[values > UNVARIED * values[-1]])
    inner, turned = np.linalg.eigh(roots[:, None] * (vectors.T @ second @ vectors) * roots)
    sides = vectors @ (turned / roots[:, None])
    return (sides * np.sqrt(np.maximum(inner, 0))) @ sides.T


def _are_far(covariance: np.ndarray) -> np.ndarray:
    """Return which scores are far from normal, as that of few carriers among few cases is."""
    variances = np.diagonal(covariance)
    return (variances < _NORMAL_FROM) & (variances > 0)


class _Draws:
    """Draws of the scores of a set from the null model.

    Parameters
    ----------
    fitted
        float64, shape (c,): probabilities of carriers to be a case.
    dosages
        float64, shape (c, m): their dosages, less the regression on covariates.
    root
        float64, shape (r, m): ``root.T @ root`` is the covariance of the other samples' part.
    """

    def __init__(
        self, fitted: np.ndarray, dosages: np.ndarray, root: np.ndarray, rng: np.random.Generator
    ) -> None:
        if fitted.mean() > 0.5:
            fitted, dosages = 1 - fitted, -dosages
        self._fitted, self._dosages = fitted.astype(np.float32), dosages.astype(np.float32)
        self._means, self._root, self._rng = fitted @ dosages, root.astype(np.float32), rng
        self._maximum = float(fitted.max())
        values = len(fitted) * (self._maximum if self._maximum < _SPARSE_BELOW else 1) + len(root)
        self._at_once = int(max(1, min(_DRAWN_AT_ONCE / values, 1 << 16)))

    def draw(self, n: int) -> np.ndarray:
        """Return scores, float64, shape (n, m)."""
        others = self._rng.standard_normal((n, len(self._root)), np.float32) @ self._root
        return self._find_cases(n) @ self._dosages + others - self._means

    def _find_cases(self, n: int) -> Any:
        """Return the cases of n draws, shape (n, c); sparse, by gaps, where they are few."""
        from scipy.sparse import csr_array

        c = len(self._fitted)
        if self._maximum >= _SPARSE_BELOW:
            return (self._rng.random((n, c), np.float32) < self._fitted).astype(np.float32)
        size, places = n * c, np.empty(0, np.int64)
        while not len(places) or places[-1] < size:
            start = places[-1] if len(places) else -1
            gaps = self._rng.geometric(
                self._maximum, 10 + int(1.1 * (size - start) * self._maximum)
            )
            places = np.append(places, start + np.cumsum(gaps))
        places = places[places < size]
        is_case = self._rng.random(len(places)) * self._maximum < self._fitted[places % c]
        places = places[is_case]
        offsets = np.searchsorted(places, np.arange(n + 1) * c)
        return csr_array((np.ones(len(places), np.float32), places % c, offsets), shape=(n, c))

    def test(
        self, u: np.ndarray, within: np.ndarray, beyond: Callable[[], tuple[float, float, float]]
    ) -> tuple[np.ndarray, float]:
        """Return log p of burden, SKAT and SKAT-O, and rho; beyond gives log p below the draws'."""
        scale = Comparison(within)
        observed, rho = scale.observe(u)
        count, top, n, goal = np.zeros(3, np.int64), np.empty((0, 3)), 0, _FIRST_DRAWS
        while True:
            while n < goal:
                size = min(goal - n, self._at_once)
                values = scale.statistics(self.draw(size))
                count += (values >= observed * (1 - 1e-6)).sum(0)
                n += size
                top = np.sort(np.concatenate([top, values]), axis=0)[-_ENOUGH:]
            if (count >= _ENOUGH).all() or n >= MAX_DRAWS:
                break
            goal = min(goal * _GROWTH, MAX_DRAWS)
        log_p = np.log((count + 1) / (n + 1))
        is_below = count < _FEWEST
        if is_below.any():
            tails = np.array(beyond())
            normal = scale.log_p(observed) / scale.log_p(top[0])
            tails[1:] = np.maximum(tails[1:], np.log(_ENOUGH / n) * normal)
            log_p[is_below] = tails[is_below]
        return log_p, rho
