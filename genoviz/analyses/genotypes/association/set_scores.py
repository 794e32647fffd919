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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.backend import load_kernel
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

MAX_DRAWS = 1_024_000
_FIRST_DRAWS, _GROWTH, _ENOUGH, _FEWEST = 1000, 4, 100, 25
_NORMAL_FROM = 50.0
"""Variance of the number of cases among carriers from which a variant needs no draws."""
_BLOCK_VALUES = 1 << 17
_DRAWN_AT_ONCE, _SPARSE_BELOW = 1 << 21, 0.15
_LOW_BITS = np.uint8(0b01_01_01_01)


@dataclass(frozen=True, eq=False)
class Group:
    """The rare variants of a set: indices, packed genotypes, minor allele frequencies, dosages.

    ``sign`` is 1 where A1 is the minor allele and -1 where A2 is. ``of_codes`` are the centred
    dosages of minor alleles of the 2-bit codes, ``counts`` the numbers of minor alleles.
    """

    rows: np.ndarray
    packed: np.ndarray
    frequencies: np.ndarray
    sign: np.ndarray
    of_codes: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls, genotypes: Genotypes, counts: np.ndarray, rows: np.ndarray, max_maf: float
    ) -> Group:
        """Return the variants among rows that vary and are rare enough."""
        frequencies = frequencies_of_counts(counts[rows])
        minor = np.minimum(frequencies, 1 - frequencies)
        called = np.delete(counts[rows], MISSING_CODE, 1)
        is_varied = called.max(1) < called.sum(1)
        kept = is_varied & (minor <= max_maf)
        sign = np.where(frequencies[kept] > 0.5, -1.0, 1.0)
        values = sign[:, None] * values_of_codes(frequencies[kept])
        n_minor = np.rint(2 * minor * called.sum(1))[kept]
        return cls(rows[kept], genotypes.packed[rows[kept]], minor[kept], sign, values, n_minor)

    def weights(self, *, has_weights: bool) -> np.ndarray:
        """Return the weights of the variants: 25 (1 - f)^24, or ones."""
        return 25 * (1 - self.frequencies) ** 24 if has_weights else np.ones(len(self.packed))

    def find_carriers(
        self, n_samples: int, variants: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return which samples have a minor allele at any of some variants."""
        bits = np.zeros(self.packed.shape[1], np.uint8)
        for row, sign in zip(self.packed[variants], self.sign[variants], strict=True):
            # Codes 00 and 10 have A1, codes 10 and 11 have A2.
            bits |= (~row if sign > 0 else row >> 1) & _LOW_BITS
        return np.unpackbits(bits, bitorder="little")[: 2 * n_samples : 2].astype(bool)

    def iter_tiles(
        self, n_samples: int, variants: np.ndarray | slice = slice(None)
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of samples, and their centred dosages of minor alleles (m, block)."""
        decode = load_kernel("genotype_decode", "cpu").decode
        packed, values = self.packed[variants], self.of_codes[variants]
        step = 4 * max(1, _BLOCK_VALUES // (4 * len(packed)))
        for first in range(0, n_samples, step):
            stop = min(first + step, n_samples)
            part = np.ascontiguousarray(packed[:, first // 4 : (stop + 3) // 4])
            yield slice(first, stop), decode(part, stop - first, values)


class NullModel:
    """The model without variants: residuals, their variances, and the covariates."""

    def __init__(self, design: Design, *, is_binary: bool) -> None:
        self._columns = columns = design.standard_columns
        y = design.response
        self._saddle = None
        if is_binary:
            self._saddle = SaddlePointModel(design, "cpu")
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
        scores, covariance, across = self._scores(group)
        known = {"frequencies": group.frequencies, "counts": group.counts}
        if self._saddle is None:
            found = set_statistics(scores, covariance, weights, **known)
            beta, error = self._scale * found.beta, self._scale * found.standard_error
            return replace(found, beta=beta, standard_error=error)
        found = self._test_cases(group, scores, covariance, across, weights, rng)

        def log_p_of(variants: np.ndarray, part: np.ndarray) -> float:
            return self._fit_saddle_point(group, part, variants)[3]

        of_variants = acat_v(scores, covariance, weights, **known, log_p_of=log_p_of)
        return replace(found, acat_v_log10_p=of_variants)

    def _test_cases(
        self, group: Group, scores: np.ndarray, covariance: np.ndarray, across: np.ndarray,
        weights: np.ndarray, rng: np.random.Generator,
    ) -> SetStatistics:  # fmt: skip
        """Return burden, SKAT and SKAT-O of cases and controls."""
        u, within = weights * scores, weights[:, None] * covariance * weights
        n_varied = np.count_nonzero(np.diagonal(within))
        if not n_varied:
            return SetStatistics()
        found = burden_of(u, within)
        draws = self._draws(group, covariance, across, weights, rng) if n_varied > 1 else None
        if draws is None:
            found = self._with_saddle_point(group, weights, found)
            if n_varied > 1:
                return with_kernels(found, *log_p_of_kernels(u, within))
            log_p = -np.log(10) * found.burden_log10_p
            return with_kernels(found, log_p, log_p, 0.0)

        def beyond() -> tuple[float, float, float]:
            adjusted = self._with_saddle_point(group, weights, found)
            kernels = self._adjust(group, u, within, adjusted)
            return -np.log(10) * adjusted.burden_log10_p, *kernels

        logs, rho = draws.test(u, within, beyond)
        if found.burden_log10_p >= 0:
            z = z_of_log_p(logs[0])
            error = abs(found.beta) / z if z > 0 and found.beta != 0 else found.standard_error
            found = replace(found, standard_error=error, burden_log10_p=-logs[0] / np.log(10))
        return with_kernels(found, logs[1], logs[2], rho)

    def _with_saddle_point(
        self, group: Group, weights: np.ndarray, found: SetStatistics
    ) -> SetStatistics:
        """Return the tests with burden's by saddle-point approximation."""
        if not abs(found.beta) > NORMAL_BELOW * found.standard_error:
            return found
        beta, error, _, log_p = self._fit_saddle_point(group, weights)
        return replace(found, beta=beta, standard_error=error, burden_log10_p=-log_p / np.log(10))

    def _fit_saddle_point(
        self, group: Group, weights: np.ndarray, variants: np.ndarray | slice = slice(None)
    ) -> list[float]:
        """Return beta, error, z and log p of the weighted sum of some variants."""
        tiles = group.iter_tiles(len(self._residuals), variants)
        burden = np.concatenate([weights @ tile for _, tile in tiles])
        return [float(values[0]) for values in self._saddle.fit(burden[None])]

    def _adjust(
        self, group: Group, u: np.ndarray, within: np.ndarray, found: SetStatistics
    ) -> tuple[float, float]:
        """Return log p of SKAT and SKAT-O with variances that fit saddle-point p values."""
        ratios = np.ones(len(u))
        plain = u**2 / np.diagonal(within).clip(1e-300)
        for k in np.flatnonzero(plain > NORMAL_BELOW**2):
            z = self._fit_saddle_point(group, np.ones(1), slice(k, k + 1))[2]
            ratios[k] = plain[k] / max(z * z, 1e-300)
        root = np.sqrt(ratios)
        within = root[:, None] * within * root
        if found.burden_log10_p >= 0 and found.beta != 0:
            variance = (u.sum() * found.standard_error / found.beta) ** 2
            within = within * max(1.0, variance / within.sum())
        return log_p_of_kernels(u, within)[:2]

    def _scores(self, group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores (m,), their covariance (m, m), and the covariates' coefficients (k, m).

        Scores and covariance are 0 where covariates explain a variant.
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
        covariance -= across @ coefficients
        covariance = (covariance + covariance.T) / 2
        explained = np.diagonal(covariance) <= UNVARIED * squares
        scores[explained] = covariance[explained] = covariance[:, explained] = 0
        return scores, covariance, coefficients

    def _draws(
        self, group: Group, covariance: np.ndarray, across: np.ndarray, weights: np.ndarray,
        rng: np.random.Generator,
    ) -> _Draws | None:  # fmt: skip
        """Return draws of the weighted scores; None if the scores are nearly normal."""
        variances = np.diagonal(covariance)
        few = np.flatnonzero((variances < _NORMAL_FROM) & (variances > 0))
        if not len(few):
            return None
        n = len(self._residuals)
        carriers = np.flatnonzero(group.find_carriers(n, few))
        dosages = np.empty((len(carriers), len(group.packed)))
        for part, tile in group.iter_tiles(n):
            low, high = np.searchsorted(carriers, [part.start, part.stop])
            dosages[low:high] = tile.T[carriers[low:high] - part.start]
        dosages = (dosages - self._columns[carriers] @ across) * weights
        dosages[:, variances <= 0] = 0
        rest = weights[:, None] * covariance * weights
        rest -= (dosages.T * self._variances[carriers]) @ dosages
        values, vectors = np.linalg.eigh(rest)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        return _Draws(self._fitted[carriers], dosages, root, rng)


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
