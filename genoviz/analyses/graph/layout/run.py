"""One layout run: its arrays, its progress and the snapshots that it yields."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.components import find_components, pack_components
from genoviz.analyses.graph.layout.options import (
    LayoutOptions,
    default_window,
    learning_rates,
    zipf_tables,
)
from genoviz.analyses.graph.layout.path_records import PathRecords, initial_coordinates
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.layout.stress_sampler import StressSampler
from genoviz.backend import Backend, array_module, load_kernel, resolve_backend
from genoviz.model import GraphLayout, PangenomeGraph

FIRST_SLICE_UPDATES = 200_000


@dataclass(frozen=True, eq=False)
class LayoutSnapshot:
    """A layout on its way; nothing of it changes afterwards, unless it is live.

    Attributes
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp; a CuPy array when the layout runs on a GPU.
    is_live
        Whether ``coordinates`` is the array in which the layout goes on: it changes while the next
        snapshot is computed. It must not be written.
    iteration, n_iterations
        Iterations finished, and of how many.
    n_updates, n_updates_total
        Updates made, and of how many (a run that starts late in the schedule makes fewer).
    eta
        Learning rate of the current iteration, bp.
    seconds
        Time spent computing updates so far.
    stress
        Sampled path stress, where an iteration ended and stress samples were asked for.
    is_final
        Whether this is the finished layout, its components packed.
    note
        What the user should know of how the layout came about.
    """

    coordinates: Any
    iteration: int
    n_iterations: int
    n_updates: int
    n_updates_total: int
    eta: float
    seconds: float
    stress: PathStress | None = None
    is_final: bool = False
    is_live: bool = False
    note: str = ""
    components: np.ndarray | None = field(default=None, repr=False)

    @property
    def layout(self) -> GraphLayout:
        """The coordinates as a layout, which is a copy where they lie on a GPU or are live."""
        coordinates = self.coordinates
        if not isinstance(coordinates, np.ndarray):
            coordinates = coordinates.get()
        elif self.is_live:
            coordinates = coordinates.copy()
        return GraphLayout(coordinates, self.components, self.note)

    @property
    def updates_per_second(self) -> float:
        """Updates made for each second of computing."""
        return self.n_updates / self.seconds if self.seconds else 0.0


class LayoutRun:
    """The arrays and the progress of one run."""

    def __init__(
        self,
        graph: PangenomeGraph,
        records: PathRecords,
        start: GraphLayout | None,
        options: LayoutOptions,
        stress_samples: int,
        backend: Backend,
        *,
        copies: bool = True,
    ) -> None:
        self.graph = graph
        self.copies = copies
        self.options = options
        self.stress_samples = stress_samples
        self.kernel = load_kernel("path_sgd", backend)
        self.xp = array_module(backend)
        self.records = _move_records(records, self.xp)
        self.space = min(options.space or records.longest_path, records.longest_path)
        tables = zipf_tables(options.theta, self.space)
        self.exact_space = tables.exact_space
        self.zeta = self.xp.asarray(tables.zeta)
        self.zipf_factor = self.xp.asarray(tables.zipf_factor)
        self.window = options.window or default_window(graph.n_nodes)
        seeds = np.random.SeedSequence((options.seed, options.first_iteration))
        n_workers = self._count_workers(resolve_backend(backend))
        self.states = self.xp.asarray(seeds.generate_state(n_workers, np.uint64))
        self.etas = learning_rates(
            options.n_iterations,
            eta_max=options.eta_max or max(float(records.longest_path) ** 2, options.eps),
            eps=options.eps,
        )
        coordinates = (
            initial_coordinates(graph, options.initialisation, seed=options.seed)
            if start is None
            else start.coordinates.copy()
        )
        self.coordinates = self.xp.asarray(coordinates)
        self.updates_per_iteration = max(round(options.updates_per_step * records.n_steps), 1)
        self.stress = StressSampler(self.records, backend=backend) if stress_samples else None
        self.note = _note_untouched_nodes(graph, records)
        self.n_updates = 0
        self.seconds = 0.0
        self.make_updates(0, 0)  # compiles or loads the kernel, so that no time counts it

    def _count_workers(self, backend: str) -> int:
        if backend == "cpu" and self.options.n_threads is not None:
            return self.options.n_threads
        return self.kernel.count_workers(self.graph.n_nodes, self.window)

    def iter_snapshots(self, slice_seconds: float | None) -> Iterator[LayoutSnapshot]:
        """Run the schedule and yield on the way."""
        first, n_iterations = self.options.first_iteration, self.options.n_iterations
        if slice_seconds is not None:
            yield self._snapshot(first, self._sample_stress())
        for iteration in range(first, n_iterations):
            is_last = iteration + 1 == n_iterations
            for is_end in self._iter_slices(iteration, slice_seconds):
                if is_end and is_last:
                    break
                if slice_seconds is None:
                    continue
                stress = self._sample_stress() if is_end else None
                yield self._snapshot(iteration + is_end, stress)
        yield self._final_snapshot()

    def _iter_slices(self, iteration: int, slice_seconds: float | None) -> Iterator[bool]:
        """Make one iteration's updates; yield after each slice whether it was the last."""
        n_left = self.updates_per_iteration
        while n_left > 0:
            n_wanted = min(n_left, self._slice_updates(slice_seconds))
            began = time.perf_counter()
            n_done = self.make_updates(iteration, n_wanted)
            self.seconds += time.perf_counter() - began
            self.n_updates += n_done
            n_left -= n_done
            yield n_left <= 0

    def _slice_updates(self, slice_seconds: float | None) -> int:
        if slice_seconds is None:
            return self.updates_per_iteration
        if self.n_updates == 0:
            return FIRST_SLICE_UPDATES
        return max(int(slice_seconds * self.n_updates / self.seconds), 1000)

    def make_updates(self, iteration: int, n_updates: int) -> int:
        """Make updates with an iteration's learning rate; return how many were made."""
        return self.kernel.make_updates(
            self.coordinates.reshape(-1, 2),
            self.records.records,
            self.records.path_starts,
            self.records.block_paths,
            self.zeta,
            self.zipf_factor,
            self.options.theta,
            self.space,
            self.exact_space,
            self.etas[iteration],
            iteration >= int(self.options.cooling_start * self.options.n_iterations),
            n_updates,
            self.states,
            self.window,
        )

    def _sample_stress(self) -> PathStress | None:
        if self.stress is None:
            return None
        return self.stress.sample(
            self.coordinates.reshape(-1, 2), n_samples=self.stress_samples, seed=self.options.seed
        )

    def _snapshot(self, iteration: int, stress: PathStress | None) -> LayoutSnapshot:
        n_iterations = self.options.n_iterations
        return LayoutSnapshot(
            coordinates=self.coordinates.copy() if self.copies else self.coordinates.view(),
            is_live=not self.copies,
            iteration=iteration,
            n_iterations=n_iterations,
            n_updates=self.n_updates,
            n_updates_total=self.updates_per_iteration
            * (n_iterations - self.options.first_iteration),
            eta=float(self.etas[min(iteration, n_iterations - 1)]),
            seconds=self.seconds,
            stress=stress,
            note=self.note,
        )

    def _final_snapshot(self) -> LayoutSnapshot:
        n_iterations = self.options.n_iterations
        stress = self._sample_stress()
        components = find_components(self.graph)
        coordinates = self.coordinates
        if not isinstance(coordinates, np.ndarray):
            coordinates = coordinates.get()
        packed = self.xp.asarray(pack_components(coordinates, components))
        return replace(
            self._snapshot(n_iterations, stress),
            coordinates=packed,
            is_final=True,
            is_live=False,
            components=components,
        )


def _move_records(records: PathRecords, xp: Any) -> PathRecords:
    return replace(
        records,
        records=xp.asarray(records.records),
        path_starts=xp.asarray(records.path_starts),
        block_paths=xp.asarray(records.block_paths),
    )


def _note_untouched_nodes(graph: PangenomeGraph, records: PathRecords) -> str:
    """Say which nodes path-guided SGD never moves: those without a used path of two steps."""
    is_untouched = ~records.is_visited
    n_untouched = int(is_untouched.sum())
    if n_untouched == 0:
        return ""
    has_path, has_guide = np.zeros((2, graph.n_nodes), bool)
    has_path[graph.steps >> 1] = True
    is_long = np.repeat(np.diff(graph.path_offsets) > 1, np.diff(graph.path_offsets))
    has_guide[graph.steps[is_long] >> 1] = True
    groups = {
        "on no path": is_untouched & ~has_path,
        "only on paths of one step": is_untouched & has_path & ~has_guide,
        "only on paths that do not guide": is_untouched & has_guide,
    }
    counts = {where: int(nodes.sum()) for where, nodes in groups.items()}
    found = {where: count for where, count in counts.items() if count}
    nodes = f"{n_untouched:,} of {graph.n_nodes:,} nodes"
    if len(found) > 1:
        parts = ", ".join(f"{count:,} {where}" for where, count in found.items())
        return f"{nodes} stay where they began: {parts}."
    (where,) = found
    if n_untouched == 1:
        return f"{nodes} lies {where} and stays where it began."
    return f"{nodes} lie {where} and stay where they began."
