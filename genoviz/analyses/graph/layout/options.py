"""The options of a path-guided SGD layout."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.analyses.graph.layout.schedule import LARGEST_WINDOW, check_range
from genoviz.errors import ParameterError


@dataclass(frozen=True)
class LayoutOptions:
    """Options of a path-guided SGD layout; the defaults are odgi's but for ``eps``.

    Attributes
    ----------
    n_iterations
        Iterations, each with its own learning rate.
    updates_per_step
        Updates in an iteration for each step of the paths used.
    eta_max
        Learning rate of the first iteration, bp; by default the square of the longest path's
        number of steps.
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
        Names all random numbers. The same seed on one CPU thread gives the same bits.
    first_iteration
        Where in the schedule to start: above 0 to re-heat an existing layout gently.
    n_threads
        CPU threads; all by default.
    window
        Neighbouring steps that share a jump, a power of two up to 32; by default from the size
        of the graph. 1 draws every update on its own, as odgi does.
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
        if self.window is not None and self.window not in (1, 2, 4, 8, 16, LARGEST_WINDOW):
            raise ParameterError(f"window is {self.window}, needs one of 1, 2, 4, 8, 16, 32")
