"""Points on Bezier curves."""

from __future__ import annotations

import numpy as np

N_POINTS = 24


def curve_points(curves: np.ndarray) -> np.ndarray:
    """Return points along cubic Bezier curves.

    Parameters
    ----------
    curves
        float64, shape (n, 4, 2): control points.

    Returns
    -------
    numpy.ndarray
        float64, shape (n, `N_POINTS`, 2).
    """
    t = np.linspace(0.0, 1.0, N_POINTS)[:, None]
    weights = np.concatenate([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3], axis=1)
    return np.einsum("pc,ncd->npd", weights, curves)
