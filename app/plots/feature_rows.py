"""Features in rows: which row each takes, and the boxes and lines that it is drawn with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

GAP_PIXELS = 6.0


def first_fit_rows(
    lefts: np.ndarray, rights: np.ndarray, *, n_rows: int, gap: float = GAP_PIXELS
) -> np.ndarray:
    """Return the first row in which each feature has room beside those before it; int64.

    Parameters
    ----------
    lefts, rights
        Where features and their names begin and end, by ``lefts``; pixels.
    n_rows
        How many rows there are; -1 stands for no room.

    Examples
    --------
    >>> first_fit_rows(np.array([0, 5, 12]), np.array([10, 30, 20]), n_rows=2, gap=1).tolist()
    [0, 1, 0]
    """
    free_from = [float("-inf")] * n_rows
    rows = np.full(len(lefts), -1, np.int64)
    for i, (left, right) in enumerate(zip(lefts.tolist(), rights.tolist(), strict=True)):
        for row in range(n_rows):
            if free_from[row] <= left:
                rows[i] = row
                free_from[row] = right + gap
                break
    return rows


def hex_colours(colours: np.ndarray, default: str) -> Sequence[str]:
    """Return ``#rrggbb`` for colours 0xRRGGBB, ``default`` for negative ones."""
    return [default if colour < 0 else f"#{colour:06x}" for colour in colours.tolist()]
