"""Agreement of predicted and observed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_DOTS = 4_000


@dataclass(frozen=True)
class Agreement:
    """Correlation of observed and predicted values, and the regression line.

    Attributes
    ----------
    n
        Number of individuals with both values.
    correlation, slope, intercept
        From the regression of observed on predicted; NaN if either is constant.
    """

    n: int
    correlation: float
    slope: float
    intercept: float

    @classmethod
    def of(cls, predicted: np.ndarray, observed: np.ndarray) -> Agreement:
        """Compare values where both are known.

        Examples
        --------
        >>> Agreement.of(np.array([0.0, 1.0, 2.0, 9.0]), np.array([1.0, 3.0, 5.0, np.nan]))
        Agreement(n=3, correlation=1.0, slope=2.0, intercept=1.0)
        """
        is_known = np.isfinite(predicted) & np.isfinite(observed)
        x, y = predicted[is_known], observed[is_known]
        n = len(x)
        if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return cls(n, np.nan, np.nan, np.nan)
        slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1))
        correlation = float(np.corrcoef(x, y)[0, 1])
        return cls(n, correlation, slope, float(y.mean() - slope * x.mean()))

    @property
    def has_line(self) -> bool:
        """Whether the regression line is defined."""
        return bool(np.isfinite(self.slope))

    def line(self, low: float, high: float) -> dict[str, list[float]]:
        """Return the points of the line at two predicted values."""
        if not self.has_line:
            return {"x": [], "y": []}
        return {"x": [low, high], "y": [self.intercept + self.slope * x for x in (low, high)]}


def scatter_dots(
    predicted: np.ndarray, observed: np.ndarray, ids: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Return dots of individuals with both values, and their indices; of many, a sample."""
    rows = np.flatnonzero(np.isfinite(predicted) & np.isfinite(observed))
    if len(rows) > MAX_DOTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_DOTS, replace=False))
    return {"x": predicted[rows], "y": observed[rows], "name": ids[rows].tolist()}, rows


def rank_high(values: np.ndarray) -> np.ndarray:
    """Return descending ranks, 1 for the highest value, int64.

    Examples
    --------
    >>> rank_high(np.array([0.1, 0.9, 0.4])).tolist()
    [3, 1, 2]
    """
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


def of_trait(values: np.ndarray, k: int) -> np.ndarray:
    """Return the values of one trait, from a vector or a matrix with a column per trait."""
    return values[:, k] if values.ndim == 2 else values
