"""Lay a pangenome graph out from coarse to fine, by sweeps over its paths."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.levels import build_levels
from genoviz.analyses.graph.layout.options import check_range, learning_rates
from genoviz.analyses.graph.layout.path_records import PathRecords
from genoviz.analyses.graph.layout.run import (
    LayoutRun,
    LayoutSnapshot,
    first_coordinates,
    iter_run,
)
from genoviz.backend import Backend, load_kernel, resolve_backend
from genoviz.model import GraphLayout, PangenomeGraph

FIRST_SLICE_RECORDS = 200_000
QUICK_RECORDS = 1_000_000
NOISE = 0.05
DEFAULT_ROUNDS, SMALL_ROUNDS, SMALL_STEPS = 12, 36, 50_000


@dataclass(frozen=True)
class MultilevelOptions:
    """Options of a multilevel layout.

    Attributes
    ----------
    n_rounds
        Rounds of sweeps over all steps, each with its own learning rate; by default 12, and 36
        where the paths have fewer than 50,000 steps, which take no time. The coarsest view has
        two and a half times as many, those between half as many.
    eps
        Learning rate of the last round, bp.
    initialisation
        Where the points of the coarsest view begin; see `initial_coordinates`.
    seed
        Names all random numbers. The same seed on one CPU thread gives the same bits.
    n_threads
        CPU threads; all by default.
    """

    n_rounds: int | None = None
    eps: float = 0.1
    initialisation: str = "d"
    seed: int = 0
    n_threads: int | None = None

    def __post_init__(self) -> None:
        if self.n_rounds is not None:
            check_range("n_rounds", self.n_rounds, 2, 10**6)
        check_range("eps", self.eps, 1e-12, 1e18)
        check_range("seed", self.seed, 0, 2**63 - 1)
        if self.n_threads is not None:
            check_range("n_threads", self.n_threads, 1, 4096)


@dataclass(frozen=True)
class Round:
    """Sweeps over one view of the paths with one learning rate.

    Attributes
    ----------
    level
        Of the view; 0 is the finest.
    eta
        Learning rate, bp.
    jumps
        That of each sweep; 0 where each record draws one.
    """

    level: int
    eta: float
    jumps: tuple[int, ...]


COARSEST_JUMPS = (1, 2, 4, 8, 0, 0, 0, 0, 0, 0)
COARSE_JUMPS = (1, 2, 4, 8, 0, 0, 0)
FINEST_JUMPS = (1, 2)


def plan_rounds(
    spacings: Sequence[float], longest_bp: float, n_rounds: int, eps: float
) -> list[Round]:
    """Return all rounds of a layout from coarse to fine.

    Parameters
    ----------
    spacings
        How far apart the points of each level lie, bp; of the finest first, and at least two.
    longest_bp
        Length of the longest path.
    n_rounds, eps
        See `MultilevelOptions`.
    """
    coarsest = len(spacings) - 1
    rounds = []
    for level in range(coarsest, -1, -1):
        if level == coarsest:
            jumps, n, eta_max = COARSEST_JUMPS, round(2.5 * n_rounds), 4.0 * longest_bp
        else:
            jumps, n, eta_max = COARSE_JUMPS, max(n_rounds // 2, 1), 0.5 * spacings[level + 1]
        eta_min = 0.2 * spacings[level]
        if level == 0:
            jumps, n, eta_min = FINEST_JUMPS, n_rounds, eps
        etas = learning_rates(n, eta_max=max(eta_max, eta_min), eps=eta_min)
        rounds += [Round(level, float(eta), jumps) for eta in etas]
    return rounds


def multilevel_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    backend: Backend = "auto",
    **options: Any,
) -> GraphLayout:
    """Return the layout of a graph from coarse to fine, in about an eighth of SGD's updates.

    The shape is found on a few hundred points of the paths; then points between them are put
    where they belong and sweeps let them come to rest, again and again up to all node ends. Each
    view begins with what is right at its scale, so a learning rate that reaches as far as its own
    points lie apart is enough, and no joint is left torn. `path_sgd_layout` is the published
    algorithm.

    Parameters
    ----------
    graph
        A graph with paths. One without gets its nodes in a line, and a note that says so.
    paths
        Names or indices of the paths that guide the layout; all by default. A contig's name
        stands for all of its sub-paths.
    start
        A layout to mend: only the rounds over all steps are made.
    options
        See `MultilevelOptions`.

    Raises
    ------
    ParameterError
        If an option is out of range, a path is not in the graph or ``start`` is of another graph.

    References
    ----------
    Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (the forces and the stress);
    Harel and Koren 2002, doi:10.7155/jgaa.00051 (multi-scale layout).
    """
    *_, final = iter_multilevel_layout(
        graph, paths=paths, start=start, backend=backend, slice_seconds=None, **options
    )
    return final.layout


def iter_multilevel_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    slice_seconds: float | None = 0.05,
    stress_samples: int = 0,
    copies: bool = True,
    backend: Backend = "auto",
    **options: Any,
) -> Iterator[LayoutSnapshot]:
    """Yield a layout again and again while it gets finer; see `multilevel_layout`.

    Parameters
    ----------
    slice_seconds
        About how long to compute between two snapshots (of small graphs, at least one ends each
        round); None yields the finished layout alone.
    stress_samples
        Terms of the sampled path stress of each snapshot at the end of a round; 0 for none. They
        are of the same pairs of steps each time, so that what changes is the layout.
    copies
        As for `iter_path_sgd_layout`.
    options
        See `MultilevelOptions`.
    """
    checked = MultilevelOptions(**options)

    def make_run(records: PathRecords) -> MultilevelRun:
        return MultilevelRun(graph, records, start, checked, stress_samples, backend, copies=copies)

    return iter_run(make_run, graph, paths, start, 0, slice_seconds)


class MultilevelRun(LayoutRun):
    """A run from coarse to fine."""

    def __init__(
        self,
        graph: PangenomeGraph,
        records: PathRecords,
        start: GraphLayout | None,
        options: MultilevelOptions,
        stress_samples: int,
        backend: Backend,
        *,
        copies: bool = True,
    ) -> None:
        coordinates = first_coordinates(graph, start, options.initialisation, options.seed)
        super().__init__(
            graph, records, coordinates, options.seed, stress_samples, backend, copies=copies
        )
        self.kernel = load_kernel("path_sweep", backend)
        began = time.perf_counter()
        levels, point_levels = build_levels(records, 2 * graph.n_nodes)
        n_rounds = options.n_rounds or (
            SMALL_ROUNDS if records.n_steps < SMALL_STEPS else DEFAULT_ROUNDS
        )
        spacings, longest_bp = [level.spacing for level in levels], float(max(levels[0].lengths))
        self.rounds = plan_rounds(spacings, longest_bp, n_rounds, options.eps)
        if start is not None:
            self.rounds = [found for found in self.rounds if found.level == 0]
        self.n_iterations = len(self.rounds)
        self._counts = [np.diff(level.path_starts) - 1 for level in levels]
        self.n_updates_total = sum(
            self._n_pairs(found.level, jump) for found in self.rounds for jump in found.jumps
        )
        finest = replace(
            levels[0],
            records=self.records.records,  # where they lie already
            path_starts=self.records.path_starts,
            block_paths=self.records.block_paths,
        )
        self.levels = [finest, *(level.moved(self.xp) for level in levels[1:])]
        self.point_levels = self.xp.asarray(point_levels)
        is_cpu = resolve_backend(backend) == "cpu"
        self._n_workers = [
            (is_cpu and options.n_threads) or self.kernel.count_workers(int(n_points))
            for n_points in (np.count_nonzero(point_levels >= k) for k in range(len(levels)))
        ]
        seconds = time.perf_counter() - began
        self._slice = FIRST_SLICE_RECORDS
        self._sweep(0, 1, 0.0, 0, 0, 0)  # compiles or loads the kernels
        self._place(0, 0)
        self.seconds = seconds
        self._is_quick = sum(len(level.records) for level in levels) < QUICK_RECORDS

    def iter_snapshots(self, slice_seconds: float | None) -> Iterator[LayoutSnapshot]:
        """Make all rounds and yield on the way."""
        level = self.rounds[0].level
        if slice_seconds is not None:
            self._place_below(level)
            yield self.snapshot(0, self.rounds[0].eta, self.sample_stress())
        shown = self.seconds
        for number, found in enumerate(self.rounds):
            if found.level != level:
                self._place(found.level)
                level = found.level
            for is_end in self._iter_slices(number, found, slice_seconds):
                if slice_seconds is None or (is_end and number + 1 == self.n_iterations):
                    continue
                # To place all points takes longer than a round over the few of a coarse view.
                if self.seconds - shown < slice_seconds and not (is_end and self._is_quick):
                    continue
                shown = self.seconds
                self._place_below(level)
                stress = self.sample_stress() if is_end else None
                yield self.snapshot(number + is_end, found.eta, stress)
        yield self.final_snapshot(self.rounds[-1].eta)

    def _iter_slices(
        self, number: int, found: Round, slice_seconds: float | None
    ) -> Iterator[bool]:
        """Make one round's sweeps; yield after each slice whether it was the last."""
        level = self.levels[found.level]
        n_records = len(level.records)
        for index, jump in enumerate(found.jumps):
            seed = np.random.SeedSequence((self.seed, number, index)).generate_state(1, np.uint64)
            n_pairs, first = self._n_pairs(found.level, jump), 0
            while first < n_records:
                stop = n_records if slice_seconds is None else min(first + self._slice, n_records)
                began = time.perf_counter()
                self._sweep(found.level, jump, found.eta, first, stop, int(seed[0]))
                seconds = time.perf_counter() - began
                self.seconds += seconds
                self.n_updates += n_pairs * stop // n_records - n_pairs * first // n_records
                if slice_seconds is not None and stop - first == self._slice:
                    self._slice = max(int(self._slice * min(slice_seconds / seconds, 4.0)), 10_000)
                first = stop
                yield index + 1 == len(found.jumps) and first == n_records

    def _n_pairs(self, level: int, jump: int) -> int:
        """Return how many pairs a sweep moves."""
        return int(np.maximum(self._counts[level] - jump, 0).sum())

    def _sweep(self, number: int, jump: int, eta: float, first: int, stop: int, seed: int) -> None:
        level = self.levels[number]
        self.kernel.sweep(
            self.points,
            level.records,
            level.path_starts,
            level.block_paths,
            jump,
            eta,
            level.has_ends,
            first,
            stop,
            np.uint64(seed),
            self._n_workers[number],
        )

    def _place(self, number: int, n_paths: int | None = None) -> None:
        """Put the points of a level between those above it, on all paths or so many."""
        began = time.perf_counter()
        level = self.levels[number]
        n_paths = len(level.path_starts) - 1 if n_paths is None else n_paths
        is_placed = self.xp.zeros(len(self.points), np.int32)
        self.kernel.place(
            self.points,
            is_placed,
            level.records,
            level.path_starts,
            level.block_paths,
            self.point_levels,
            number,
            level.has_ends,
            NOISE,
            np.uint64(self.seed),
            0,
            n_paths,
        )
        self.seconds += time.perf_counter() - began

    def _place_below(self, number: int) -> None:
        """Put all points of finer levels where they would lie now, so that they can be drawn."""
        for level in range(number - 1, -1, -1):
            self._place(level)
