"""Single effects of SuSiE, each carried by one variant, and their posteriors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError

_NO_EFFECT = 1e-9
_LOG_VARIANCES = (-30.0, 15.0)
_LEAST_RESIDUAL = 1e-9


@dataclass(frozen=True, eq=False)
class CredibleSet:
    """A credible set: variants that include the causal one with a given probability.

    Attributes
    ----------
    effect
        Index of its single effect.
    variants
        int64: indices of the variants, the likeliest first.
    probability
        Probability that the causal variant of this effect is among them.
    purity
        Smallest absolute correlation between any two of them.
    log10_bayes_factor
        log10 Bayes factor of the effect against no effect.
    """

    effect: int
    variants: np.ndarray
    probability: float
    purity: float
    log10_bayes_factor: float


@dataclass(frozen=True)
class FineMappingOptions:
    """Options of fine mapping.

    Attributes
    ----------
    n_effects
        Maximum number of single effects, L.
    coverage
        Minimum probability of a credible set, above 0 and below 1.
    min_purity
        Minimum purity of a reported credible set, 0 to 1.
    prior_variance
        V of every effect, relative to the phenotype's variance; estimated for each effect if None.
    residual_variance
        Relative to the phenotype's variance; estimated if None.
    tolerance
        Stop when the bound changes by less than this.
    max_iterations
        Maximum number of iterations.

    Raises
    ------
    ParameterError
        If an option is out of range.
    """

    n_effects: int = 10
    coverage: float = 0.95
    min_purity: float = 0.5
    prior_variance: float | None = None
    residual_variance: float | None = None
    tolerance: float = 1e-3
    max_iterations: int = 100

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_effects", 1, 1000), ("coverage", 1e-6, 1 - 1e-9), ("min_purity", 0, 1),
            ("tolerance", 1e-12, 1), ("max_iterations", 1, 10**6), ("prior_variance", 0, 1e6),
            ("residual_variance", 1e-9, 1e6),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ParameterError(f"{name} is {value}, needs to be {low:g} to {high:g}")


class SingleEffects:
    """Posteriors of the effects, refined by each update."""

    def __init__(
        self, cross: np.ndarray, across: np.ndarray, squares: float, n: int,
        options: FineMappingOptions,
    ) -> None:  # fmt: skip
        m, variance = len(across), squares / (n - 1)
        self._cross, self._across, self._squares, self._n = cross, across, squares, n
        self._options, self._diagonal = options, np.diagonal(cross).copy()
        self.alpha = np.full((options.n_effects, m), 1 / m)
        self.means, self._seconds = np.zeros((2, options.n_effects, m))
        self._fits = np.zeros((options.n_effects, m))  # X'X times each row of means
        given = options.prior_variance
        self.variances = np.full(options.n_effects, variance * (0.2 if given is None else given))
        share = options.residual_variance
        self.residual_variance = variance * (1.0 if share is None else share)
        self.log_factors, self._divergences = np.zeros((2, options.n_effects))

    def update(self) -> float:
        """Update each effect once, and return the bound."""
        fit = self._fits.sum(0)
        for effect in range(len(self.alpha)):
            fit -= self._fits[effect]
            self._update_effect(effect, self._across - fit)
            self._fits[effect] = self._cross @ self.means[effect]
            fit += self._fits[effect]
        spread = self._residual_squares() / (2 * self.residual_variance)
        size = self._n / 2 * np.log(2 * np.pi * self.residual_variance)
        return float(-size - spread - self._divergences.sum())

    def _update_effect(self, effect: int, left: np.ndarray) -> None:
        d, noise = self._diagonal, self.residual_variance
        if self._options.prior_variance is None:
            self.variances[effect] = self._best_variance(left)
        variance = self.variances[effect]
        logs = self._log_bayes_factors(left, variance)
        top = logs.max()
        weights = np.exp(logs - top)
        self.log_factors[effect] = top + np.log(weights.mean())
        self.alpha[effect] = weights / weights.sum()
        spread = variance * noise / (noise + d * variance)
        mean = spread * left / noise
        self.means[effect] = self.alpha[effect] * mean
        self._seconds[effect] = self.alpha[effect] * (spread + mean**2)
        expected = 2 * self.means[effect] @ left - d @ self._seconds[effect]
        self._divergences[effect] = expected / (2 * noise) - self.log_factors[effect]

    def _log_bayes_factors(self, left: np.ndarray, variance: float) -> np.ndarray:
        """Return log Bayes factors of an effect of this variance at each variant, against none."""
        d, noise = self._diagonal, self.residual_variance
        ratio = noise / (noise + d * variance)
        return 0.5 * np.log(ratio) + 0.5 * left**2 / (d * noise) * (1 - ratio)

    def _best_variance(self, left: np.ndarray) -> float:
        """Return the maximum-likelihood prior variance of an effect; 0 if no effect is likelier."""
        from scipy.optimize import minimize_scalar

        def loss(log_variance: float) -> float:
            logs = self._log_bayes_factors(left, np.exp(log_variance))
            top = logs.max()  # SciPy's logsumexp takes five times as long
            return float(-top - np.log(np.exp(logs - top).mean()))

        # The likelihood is flat far from its maximum; start at the best variant's own estimate.
        d, noise = self._diagonal, self.residual_variance
        start = np.log(max(((left / d) ** 2 - noise / d).max(), np.exp(_LOG_VARIANCES[0] + 1)))
        low, high = max(start - 5, _LOG_VARIANCES[0]), min(start + 5, _LOG_VARIANCES[1])
        found = [
            minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-8})
            for bounds in ((low, high), _LOG_VARIANCES)
        ]
        best = min(found, key=lambda each: each.fun)
        return float(np.exp(best.x)) if best.fun < 0 else 0.0

    def estimate_residual_variance(self) -> None:
        """Set the residual variance to its expectation, if variants do not explain everything."""
        minimum = _LEAST_RESIDUAL * self._squares / self._n
        self.residual_variance = max(self._residual_squares() / self._n, minimum)

    def _residual_squares(self) -> float:
        """Return the expected residual sum of squares."""
        mean = self.means.sum(0)
        fitted = self._fits.sum(0)
        own = (self.means * self._fits).sum()
        spread = self._diagonal @ self._seconds.sum(0) - own
        return float(self._squares - 2 * mean @ self._across + mean @ fitted + spread)

    def inclusion(self) -> np.ndarray:
        """Return the posterior inclusion probabilities."""
        is_there = self.variances > _NO_EFFECT
        return 1 - np.prod(1 - self.alpha[is_there], axis=0)

    def find_sets(self, numbers: np.ndarray) -> Iterator[CredibleSet]:
        """Yield the credible sets of non-zero effects that are pure enough, without duplicates."""
        seen: set[tuple[int, ...]] = set()
        for effect in np.flatnonzero(self.variances > _NO_EFFECT).tolist():
            order = np.argsort(-self.alpha[effect], kind="stable")
            sums = np.cumsum(self.alpha[effect, order])
            size = int(np.searchsorted(sums, self._options.coverage - 1e-12)) + 1
            rows = order[:size]
            scale = np.sqrt(self._diagonal[rows])
            r = np.abs(self._cross[np.ix_(rows, rows)]) / scale / scale[:, None]
            key = tuple(sorted(rows.tolist()))
            if key in seen or r.min() < self._options.min_purity:
                continue
            seen.add(key)
            factor = self.log_factors[effect] / np.log(10)
            probability, purity = float(sums[size - 1]), float(min(r.min(), 1.0))
            yield CredibleSet(effect, numbers[rows], probability, purity, float(factor))
