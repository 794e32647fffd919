"""The fits of a scan, while it goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Fits:
    """Arrays of shape (n_variants,) that a scan fills; NaN where a variant cannot be tested."""

    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    log_p: np.ndarray
    a1_frequency: np.ndarray
    n_samples: np.ndarray

    @classmethod
    def empty(cls, n_variants: int) -> Fits:
        """Return fits of which nothing is known."""
        floats = [np.full(n_variants, np.nan) for _ in range(5)]
        return cls(*floats, np.zeros(n_variants, np.int64))

    def put(self, variants: slice | np.ndarray, found: Fits) -> None:
        """Take the fits of some variants."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[variants] = getattr(found, name)
