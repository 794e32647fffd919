"""Features packed into rows, and the boxes and lines that draw them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

GAP_PIXELS = 6.0


def first_fit_rows(
    lefts: np.ndarray,
    rights: np.ndarray,
    name_rights: np.ndarray,
    *,
    n_rows: int,
    gap: float = GAP_PIXELS,
    box_gap: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a row for each feature, -1 if none is free, and whether its label fits.

    A feature takes the first row with room for box and label, or else the first row with room for
    the box alone. Labels are below their boxes.

    Parameters
    ----------
    lefts, rights
        Ends of the boxes, px, ascending by ``lefts``.
    name_rights
        Where the labels end, px; they begin at ``lefts``.
    n_rows
        Number of rows.
    gap, box_gap
        Minimum distance of labelled features and of unlabelled boxes, px.

    Examples
    --------
    >>> lefts, rights, ends = np.array([0, 5, 12]), np.array([10, 8, 20]), np.array([40, 30, 20])
    >>> rows, are_named = first_fit_rows(lefts, rights, ends, n_rows=1, gap=1)
    >>> rows.tolist(), are_named.tolist()
    ([0, -1, 0], [True, False, False])
    """
    box_free, name_free = [float("-inf")] * n_rows, [float("-inf")] * n_rows
    rows = np.full(len(lefts), -1, np.int64)
    are_named = np.zeros(len(lefts), bool)
    places = zip(lefts.tolist(), rights.tolist(), name_rights.tolist(), strict=True)
    for i, (left, right, name_right) in enumerate(places):
        free = [row for row in range(n_rows) if box_free[row] <= left]
        if not free:
            continue
        named = next((row for row in free if name_free[row] <= left), -1)
        rows[i] = row = named if named >= 0 else free[0]
        box_free[row] = right + (gap if named >= 0 else box_gap)
        if named >= 0:
            are_named[i] = True
            name_free[row] = name_right + gap
    return rows, are_named


def hex_colours(colours: np.ndarray, default: str) -> Sequence[str]:
    """Convert colours 0xRRGGBB to ``#rrggbb``; negative values become ``default``."""
    return [default if colour < 0 else f"#{colour:06x}" for colour in colours.tolist()]
