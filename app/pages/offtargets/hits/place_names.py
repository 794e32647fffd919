"""Names of contigs below the axis, as far as there is room."""

from __future__ import annotations

import numpy as np

LETTER_PIXELS, MAX_NAMES = 7, 200


def contig_names(
    names: tuple[str, ...], offsets: np.ndarray, ends: tuple[float, float], width: int
) -> dict[float, str]:
    """Return the names of contigs that have room, at their middles; none for a single contig."""
    start, end = ends
    if len(names) < 2:
        return {}
    per_pixel = (end - start) / max(width, 1)
    is_seen = (offsets[1:] > start) & (offsets[:-1] < end)
    if is_seen.sum() == 1:
        return {}
    shown, last = {}, -np.inf
    for contig in np.flatnonzero(is_seen)[:MAX_NAMES].tolist():
        low, high = max(offsets[contig], start), min(offsets[contig + 1], end)
        name, middle = shorten(names[contig]), float(low + high) / 2
        half = len(name) * LETTER_PIXELS * per_pixel / 2
        if middle - half > last:
            shown[middle] = name
            last = middle + half
    return shown


def shorten(name: str) -> str:
    """Return a name that has room beside an axis."""
    return name if len(name) <= 11 else f"{name[:10]}…"
