"""Lines and curves of a few nodes and edges: clipping, shaping and splitting."""

from __future__ import annotations

import numpy as np

REACH = 0.4
HAIRPIN_REACH = 0.25
N_BISECTIONS = 60


def clip_segments(ends: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    """Clip segments to a box by the Liang-Barsky algorithm.

    Parameters
    ----------
    ends
        float64, shape (n, 2, 2): ``[segment, end, axis]``.
    box
        ``(x_min, y_min, x_max, y_max)``; its border belongs to it.

    Returns
    -------
    numpy.ndarray
        float64, shape (n, 2): start and end of the visible part, as shares of the way from end 0
        to end 1; the first is larger than the second if nothing is visible.

    References
    ----------
    Liang and Barsky 1984, doi:10.1145/357332.357333
    """
    shares = np.tile([0.0, 1.0], (len(ends), 1))
    for axis in (0, 1):
        start, way = ends[:, 0, axis], ends[:, 1, axis] - ends[:, 0, axis]
        moves = way != 0
        safe_way = np.where(moves, way, 1.0)
        at_low, at_high = ((side - start) / safe_way for side in (box[axis], box[axis + 2]))
        first, last = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
        is_in = (box[axis] <= start) & (start <= box[axis + 2])
        shares[:, 0] = np.maximum(shares[:, 0], np.where(moves, first, np.where(is_in, 0.0, 2.0)))
        shares[:, 1] = np.minimum(shares[:, 1], np.where(moves, last, 1.0))
    return shares


def cut_segments(ends: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the parts of segments between two shares, as from `clip_segments`."""
    start, way = ends[:, :1], ends[:, 1:] - ends[:, :1]
    parts = start + shares[:, :, None] * way
    is_whole = (shares == (0.0, 1.0))[:, :, None]
    return np.where(is_whole, ends, parts)


def edge_curves(from_ends: np.ndarray, to_ends: np.ndarray, is_hairpin: np.ndarray) -> np.ndarray:
    """Return a cubic Bezier curve for each edge, tangential to both nodes.

    Parameters
    ----------
    from_ends, to_ends
        float64, shape (n, 2, 2): ends of the node that each edge leaves, and of the one that it
        enters; end 1 is the one that the edge touches.
    is_hairpin
        bool, shape (n,): whether an edge returns to the end that it leaves.

    Returns
    -------
    numpy.ndarray
        float64, shape (n, 4, 2): control points.
    """
    first, last = from_ends[:, 1], to_ends[:, 1]
    lengths = np.hypot(*(from_ends[:, 1] - from_ends[:, 0]).T)
    reach = REACH * np.hypot(*(last - first).T)
    reach = np.where(is_hairpin, HAIRPIN_REACH * lengths, reach)[:, None]
    return np.stack(
        [first, first + reach * _direction(from_ends), last + reach * _direction(to_ends), last],
        axis=1,
    )


def _direction(ends: np.ndarray) -> np.ndarray:
    """Return the unit vectors from end 0 to end 1; zeros if these coincide."""
    way = ends[:, 1] - ends[:, 0]
    length = np.hypot(*way.T)[:, None]
    return np.divide(way, length, out=np.zeros_like(way), where=length > 0)


def split_at_x(curves: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split Bezier curves where they cross given x, by de Casteljau's algorithm.

    Parameters
    ----------
    curves
        float64, shape (n, 4, 2); each begins and ends on different sides of its x.
    x
        float64, shape (n,).
    """
    low, high = np.zeros(len(curves)), np.ones(len(curves))
    rises = curves[:, 3, 0] > curves[:, 0, 0]
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        is_beyond = (_split(curves, middle)[0][:, 3, 0] > x) == rises
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    return _split(curves, high)


def _split(curves: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = share[:, None]
    p0, p1, p2, p3 = (curves[:, k] for k in range(4))
    p01, p12, p23 = p0 + share * (p1 - p0), p1 + share * (p2 - p1), p2 + share * (p3 - p2)
    p012, p123 = p01 + share * (p12 - p01), p12 + share * (p23 - p12)
    on = p012 + share * (p123 - p012)
    return np.stack([p0, p01, p012, on], axis=1), np.stack([on, p123, p23, p3], axis=1)
