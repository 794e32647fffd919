"""Where the nodes lie before the first update."""

from __future__ import annotations

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

INITIALISATIONS = {
    "d": "x by graph order, y Gaussian",
    "u": "x by graph order, y uniform",
    "g": "x and y Gaussian",
    "r": "x and y uniform",
    "h": "along a Hilbert curve",
}


def initial_coordinates(graph: PangenomeGraph, initialisation: str, *, seed: int) -> np.ndarray:
    """Return coordinates to start from; float64, shape (n_nodes, 2, 2), bp.

    Parameters
    ----------
    initialisation
        ``"d"``: x by graph order, y normal with standard deviation sqrt(2 n_nodes);
        ``"u"``: y uniform up to sqrt(2 n_nodes) instead; ``"g"``: all four normal;
        ``"r"``: all four uniform up to the graph's length; ``"h"``: node ends along a Hilbert
        curve in graph order.

    Raises
    ------
    ParameterError
        If ``initialisation`` is none of these.
    """
    if initialisation not in INITIALISATIONS:
        known = ", ".join(f"{key!r} ({text})" for key, text in INITIALISATIONS.items())
        raise ParameterError(f"initialisation is {initialisation!r}, needs one of {known}")
    generator = np.random.default_rng(seed)
    shape = (graph.n_nodes, 2, 2)
    scale = np.sqrt(2.0 * graph.n_nodes)
    if initialisation == "g":
        return generator.normal(0.0, scale, shape)
    if initialisation == "r":
        return generator.uniform(0.0, graph.total_length, shape)
    if initialisation == "h":
        return _hilbert_points(2 * graph.n_nodes).reshape(shape)
    coordinates = linear_coordinates(graph)
    if initialisation == "d":
        coordinates[:, :, 1] = generator.normal(0.0, scale, shape[:2])
    else:
        coordinates[:, :, 1] = generator.uniform(0.0, scale, shape[:2])
    return coordinates


def linear_coordinates(graph: PangenomeGraph) -> np.ndarray:
    """Return all nodes one after the other on the x axis; float64, shape (n_nodes, 2, 2), bp."""
    ends = np.cumsum(graph.node_lengths)
    coordinates = np.zeros((graph.n_nodes, 2, 2))
    coordinates[:, 0, 0] = ends - graph.node_lengths
    coordinates[:, 1, 0] = ends
    return coordinates


def _hilbert_points(n: int) -> np.ndarray:
    """Return the first n points of the Hilbert curve on the smallest fitting square grid."""
    order = max(int(np.ceil(np.log2(max(n, 1)) / 2)), 1)
    index = np.arange(n, dtype=np.int64)
    x, y = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for bit in range(order):
        side = 1 << bit
        right = (index >> 1) & 1
        up = (index ^ right) & 1
        flip = (up == 0) & (right == 1)
        x[flip], y[flip] = side - 1 - x[flip], side - 1 - y[flip]
        swap = up == 0
        x[swap], y[swap] = y[swap], x[swap]
        x += side * right
        y += side * up
        index >>= 2
    return np.stack([x, y], axis=1).astype(np.float64)
