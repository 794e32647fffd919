"""Options of path-guided SGD layouts, and the Zipf tables of their jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.layout.run import check_range
from genoviz.errors import ParameterError, check_choice
from genoviz.kernels.path_sgd import ZETA_STEP

EXACT_SPACE = 1000
MAX_WINDOW = 32
MAX_REUSE = 32
CHOICES = {
    "data_layout": ("records", "arrays"),
    "random_states": ("registers", "coalesced", "strided"),
}
OF_GPUS = (*CHOICES, "merge_warps", "data_reuse")
"""Options of the GPU kernel's design."""
NODES_PER_WINDOW_UPDATE = 192


@dataclass(frozen=True)
class LayoutOptions:
    """Options of a path-guided SGD layout; the defaults are odgi's except for ``eps``.

    Attributes
    ----------
    n_iterations
        Number of iterations, each with its own learning rate.
    updates_per_step
        Updates per iteration for each step of the paths used.
    eta_max
        Learning rate of the first iteration, bp; by default the squared number of steps of the
        longest path.
    eps
        Learning rate of the last iteration, bp. odgi's 0.01 leaves less of the schedule where it
        works: exact path stress of HLA-DRB1 0.069 (0.1: 0.065), MHC_4 0.0179 (0.0167), chr5.yeast
        0.00065 (0.00053), C4 0.350 (0.345), LPA 0.686 (0.687).
    theta
        Exponent of the Zipf distribution of jumps, above 0 and below 1.
    space
        Longest jump of the cooling branch, steps; by default the longest path.
    cooling_start
        Share of the iterations after which every jump is Zipf-distributed.
    initialisation
        ``"d"``, ``"u"``, ``"g"``, ``"r"`` or ``"h"``; see `initial_coordinates`.
    seed
        Random seed. The same seed on one CPU thread gives the same bits.
    first_iteration
        Iteration at which to start: above 0 to re-heat an existing layout gently.
    n_threads
        CPU threads; all by default.
    window
        Number of neighbouring steps that share a jump, a power of two up to 32; by default chosen
        by graph size. 1 draws every update independently, as odgi does.
    data_layout
        On a GPU: ``"records"`` stores the four coordinates of a node together, ``"arrays"`` stores
        each coordinate in an array of its own.
    random_states
        On a GPU: SplitMix64 in ``"registers"``, or XORWOW in memory, ``"coalesced"`` (words of
        neighbouring threads adjacent) or ``"strided"`` (words of a thread adjacent).
    merge_warps
        On a GPU: whether all threads of a warp take the same branch.
    data_reuse
        On a GPU: number of updates per pair of steps read, up to 32; the paper's data reuse
        factor. It multiplies the number of updates of an iteration.
    step_reduction
        Factor by which an iteration draws fewer pairs of steps; the paper's step reduction factor.
        If it equals ``data_reuse``, the number of updates is the same as without both.

    References
    ----------
    Li et al. 2024, doi:10.1109/SC41406.2024.00035 (the designs on a GPU).
    """

    n_iterations: int = 30
    updates_per_step: float = 10.0
    eta_max: float | None = None
    eps: float = 0.1
    theta: float = 0.99
    space: int | None = None
    cooling_start: float = 0.5
    initialisation: str = "d"
    seed: int = 0
    first_iteration: int = 0
    n_threads: int | None = None
    window: int | None = None
    data_layout: str = "records"
    random_states: str = "registers"
    merge_warps: bool = True
    data_reuse: int = 1
    step_reduction: float = 1.0

    def __post_init__(self) -> None:
        check_range("n_iterations", self.n_iterations, 1, 10**6)
        check_range("updates_per_step", self.updates_per_step, 1e-6, 1e6)
        check_range("eps", self.eps, 1e-12, 1e18)
        check_range("theta", self.theta, 0.001, 0.999)
        check_range("cooling_start", self.cooling_start, 0.0, 1.0)
        check_range("first_iteration", self.first_iteration, 0, self.n_iterations - 1)
        check_range("seed", self.seed, 0, 2**63 - 1)
        if self.eta_max is not None:
            check_range("eta_max", self.eta_max, self.eps, 1e18)
        if self.space is not None:
            check_range("space", self.space, 1, 2**40)
        if self.n_threads is not None:
            check_range("n_threads", self.n_threads, 1, 4096)
        if self.window is not None:
            check_choice("window", self.window, (1, 2, 4, 8, 16, MAX_WINDOW))
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_range("data_reuse", self.data_reuse, 1, MAX_REUSE)
        check_range("step_reduction", self.step_reduction, 1, 1e6)

    def check_backend(self, backend: str) -> None:
        """Raise ``ParameterError`` if a GPU option is set for another backend."""
        for name in OF_GPUS if backend == "cpu" else ():
            value = getattr(self, name)
            if value != getattr(type(self), name):
                raise ParameterError(f"{name} is {value!r}, needs backend 'cuda'")


@dataclass(frozen=True, eq=False)
class ZipfTables:
    """Tables from which ``path_sgd`` draws jumps; see ``zipf_tables``."""

    zeta: np.ndarray
    zipf_factor: np.ndarray
    exact_space: int


def zipf_tables(theta: float, space: int) -> ZipfTables:
    """Return the tables for Zipf-distributed jumps of up to ``space`` steps.

    Entry ``n`` has ``zeta(n)``, the sum of ``i^-theta`` for i up to n, and the factor
    ``(1 - (2/n)^(1 - theta)) / (1 - zeta(2) / zeta(n))`` of Gray's method. Beyond 1000, the tables
    have only every 100th n, as in odgi.

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
    """Return the number of neighbouring steps that share a jump: a power of two, 1 to 32.

    The window must be small relative to the graph; otherwise a loop that paths revisit moves as
    one piece. On 1,748 nodes, 8 keeps the stress of single updates and 32 raises it by a tenth.
    """
    window = 1
    while window < MAX_WINDOW and 2 * window * NODES_PER_WINDOW_UPDATE <= n_nodes:
        window *= 2
    return window
