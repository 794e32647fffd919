"""Step areas of values as polygons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.figures.panels import Curve


@dataclass(frozen=True, eq=False)
class Polygon:
    """A filled outline; float64, shape (n, 2): pixels from the top left corner."""

    points: np.ndarray
    colour: str
    opacity: float


@dataclass(frozen=True)
class Axis:
    """A value axis: pixel positions of its lower and upper value."""

    low_y: float
    high_y: float
    low: float
    high: float
    is_log: bool = False

    def pixels(self, values: np.ndarray) -> np.ndarray:
        """Return the pixel positions of values, clipped to the axis."""
        low, high = _squeeze(np.array([self.low, self.high]), self.is_log)
        shares = (_squeeze(values, self.is_log) - low) / max(high - low, 1e-12)
        return self.low_y + (self.high_y - self.low_y) * np.clip(shares, 0.0, 1.0)


def _squeeze(values: np.ndarray, is_log: bool) -> np.ndarray:
    return np.sign(values) * np.log1p(np.abs(values)) if is_log else values


def curve_areas(curve: Curve, axis: Axis, to_x, start: float, end: float) -> list[Polygon]:
    """Return the area from the base line to the mean, and the area from low to high.

    Parameters
    ----------
    to_x
        Function from bp to pixels.
    start, end
        Visible range, bp.
    """
    first = max(int(np.searchsorted(curve.edges, start, "right")) - 1, 0)
    stop = min(int(np.searchsorted(curve.edges, end, "left")), len(curve.mean))
    areas = []
    low, mean, high = (
        values[first:stop].astype(float) for values in (curve.low, curve.mean, curve.high)
    )
    edges = np.clip(curve.edges[first : stop + 1].astype(float), start, end)
    for begin, finish in _stretches(mean):
        there = slice(begin, finish)
        x = np.repeat(to_x(edges[begin : finish + 1]), 2)[1:-1]
        heights = np.repeat(axis.pixels(mean[there]), 2)
        base = np.full(len(x), float(axis.pixels(np.zeros(1))[0]))
        areas.append(_closed(x, base, heights, curve.colour, 0.62))
        if (low[there] < high[there]).any():
            bounds = (np.repeat(axis.pixels(values[there]), 2) for values in (low, high))
            areas.append(_closed(x, *bounds, curve.colour, 0.3))
    return areas


def _stretches(values: np.ndarray) -> list[tuple[int, int]]:
    """Return start and end of each run of values without NaN."""
    is_there = np.concatenate([[False], ~np.isnan(values), [False]])
    bounds = np.flatnonzero(is_there[1:] != is_there[:-1])
    return list(zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True))


def _closed(
    x: np.ndarray, lower: np.ndarray, upper: np.ndarray, colour: str, opacity: float
) -> Polygon:
    xs, ys = np.append(x, x[::-1]), np.append(upper, lower[::-1])
    points = np.stack([xs, ys], axis=1)
    is_new = np.append(True, (np.diff(points, axis=0) != 0).any(axis=1))
    return Polygon(points[is_new], colour, opacity)
