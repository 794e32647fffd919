"""What a layout run does in each iteration: learning rates and the table of Zipf jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.kernels.path_sgd import ZETA_STEP

EXACT_SPACE = 1000
LARGEST_WINDOW = 32
NODES_PER_WINDOW_UPDATE = 192


def learning_rates(n_iterations: int, *, eta_max: float, eps: float) -> np.ndarray:
    """Return the learning rate of each iteration; float64, shape (n_iterations,), bp.

    It falls geometrically from ``eta_max`` in the first iteration to ``eps`` in the last.
    """
    if n_iterations == 1:
        return np.array([eps])
    return eta_max * (eps / eta_max) ** (np.arange(n_iterations) / (n_iterations - 1))


@dataclass(frozen=True, eq=False)
class ZipfTables:
    """Tables from which ``path_sgd`` draws jumps; see ``zipf_tables``."""

    zeta: np.ndarray
    zipf_factor: np.ndarray
    exact_space: int


def zipf_tables(theta: float, space: int) -> ZipfTables:
    """Return the tables for Zipf-distributed jumps of up to ``space`` steps.

    Entry ``n`` is ``zeta(n)``, the sum of ``i^-theta`` for i up to n, and the factor
    ``(1 - (2/n)^(1 - theta)) / (1 - zeta(2) / zeta(n))`` of Gray's method; beyond 1000 the tables
    hold every 100th n only, as odgi's do.

    References
    ----------
    Gray et al. 1994, Quickly generating billion-record synthetic databases,
    doi:10.1145/191839.191886.
    """
    space = max(space, 2)
    exact_space = min(space, EXACT_SPACE)
    sampled = np.arange((space - exact_space) // ZETA_STEP + 1) * ZETA_STEP + exact_space
    n = np.concatenate([np.arange(exact_space + 1), sampled])
    harmonic = np.zeros(space + 1)
    np.cumsum(np.arange(1, space + 1, dtype=np.float64) ** -theta, out=harmonic[1:])
    zeta = harmonic[n]
    zipf_factor = np.zeros(len(n))
    drawn = n > 2
    zipf_factor[drawn] = (1.0 - (2.0 / n[drawn]) ** (1.0 - theta)) / (
        1.0 - harmonic[2] / zeta[drawn]
    )
    return ZipfTables(zeta, zipf_factor, exact_space)


def default_window(n_nodes: int) -> int:
    """Return how many neighbouring steps share a jump: a power of two, 1 to 32.

    A window has to be small against the graph, or a loop that paths revisit is pulled as one
    piece: on 1,748 nodes 8 keeps the stress of single updates and 32 raises it by a tenth.
    """
    window = 1
    while window < LARGEST_WINDOW and 2 * window * NODES_PER_WINDOW_UPDATE <= n_nodes:
        window *= 2
    return window


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raise ``ParameterError`` unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value}, needs a value from {low:g} to {high:g}")
