"""Where values of a track are drawn: pixels from above, and columns for step areas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Columns = dict[str, Any]

INNER_GAP = 5
FIRST_BASE = 0.5
"""Base 1 of a contig, which is 0-based 0 to 1, is drawn from 0.5 to 1.5: an axis tick at a whole
number stands in the middle of the base of that number."""


@dataclass(frozen=True)
class Strip:
    """Heights of a track, pixels from above: values from ``low`` to ``high`` have room in it."""

    top: float
    bottom: float
    low: float
    high: float
    is_log: bool = False
    is_down: bool = False

    def pixels(self, values: np.ndarray) -> np.ndarray:
        """Return where values are drawn; those beyond the ends of the scale at its ends."""
        low, high = self._squeeze(np.array([self.low, self.high]))
        shares = (self._squeeze(values) - low) / max(high - low, 1e-12)
        shares = np.clip(shares, 0.0, 1.0)
        height = self.bottom - self.top
        return self.top + height * (shares if self.is_down else 1 - shares)

    def _squeeze(self, values: np.ndarray) -> np.ndarray:
        return np.sign(values) * np.log1p(np.abs(values)) if self.is_log else values


def area_data(
    edges: np.ndarray, low: np.ndarray, mean: np.ndarray, high: np.ndarray, strip: Strip
) -> Columns:
    """Return columns of step areas: from the base line to the mean, and from low to high."""
    x, keep = _thin(edges, low, mean, high)
    columns = {"x": x + FIRST_BASE}
    base = float(strip.pixels(np.zeros(1))[0])
    for name, values in (("low", low), ("mean", mean), ("high", high)):
        heights = strip.pixels(values[keep]).astype(np.float32)
        columns[name] = np.append(heights, heights[-1:])
    columns["base"] = np.full(len(x), base, np.float32)
    return columns


def _thin(edges: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges at which a value changes, and the bins that begin there."""
    changes = np.ones(len(edges) - 1, bool)
    if len(changes):
        changes[1:] = np.any([values[1:] != values[:-1] for values in columns], axis=0)
    keep = np.flatnonzero(changes)
    return np.append(edges[:-1][keep], edges[-1]).astype(np.float64), keep


def clip_data(edges: np.ndarray, high: np.ndarray, strip: Strip) -> Columns:
    """Return a small box for each bin that is higher than the scale."""
    beyond = np.flatnonzero(high > strip.high * (1 + 1e-9))
    edge = strip.bottom - 2 if strip.is_down else strip.top
    return {
        "left": edges[beyond] + FIRST_BASE,
        "right": edges[beyond + 1] + FIRST_BASE,
        "top": np.full(len(beyond), edge),
        "bottom": np.full(len(beyond), edge + 2),
    }
