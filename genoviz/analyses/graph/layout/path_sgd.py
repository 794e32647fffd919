"""Graph layout by path-guided stochastic gradient descent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.options import (
    CHOICES,
    OF_GPUS,
    LayoutOptions,
    default_window,
    zipf_tables,
)
from genoviz.analyses.graph.layout.path_records import PathRecords
from genoviz.analyses.graph.layout.run import (
    LayoutRun,
    LayoutSnapshot,
    first_coordinates,
    iter_run,
    learning_rates,
)
from genoviz.backend import Backend, load_kernel, resolve_backend
from genoviz.generators import last_of
from genoviz.model import GraphLayout, PangenomeGraph

FIRST_SLICE_UPDATES = 200_000


def path_sgd_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    backend: Backend = "auto",
    **options: Any,
) -> GraphLayout:
    """Return the path-guided SGD layout of a graph.

    Parameters
    ----------
    graph
        A graph with paths. Without paths, nodes are placed in a line, and a note says so.
    paths
        Names or indices of the guiding paths; all by default. A contig name stands for all of its
        sub-paths.
    start
        Initial layout, instead of ``initialisation``.
    options
        See `LayoutOptions`.

    Raises
    ------
    ParameterError
        If an option is out of range, a path is not in the graph, or ``start`` does not match it.

    References
    ----------
    Heumos et al. 2024, doi:10.1093/bioinformatics/btae363;
    Li et al. 2024, doi:10.1109/SC41406.2024.00035.
    """
    return last_of(
        iter_path_sgd_layout(
            graph, paths=paths, start=start, backend=backend, slice_seconds=None, **options
        )
    ).layout


def iter_path_sgd_layout(
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
    """Yield snapshots of a layout while it converges; see `path_sgd_layout`.

    Parameters
    ----------
    slice_seconds
        Approximate time between snapshots; there is at least one per iteration. None yields only
        the finished layout.
    stress_samples
        Number of terms of the sampled path stress of the finished layout; 0 for none. A tenth of
        them is sampled at the end of each iteration, always of the same pairs of steps, so that
        changes reflect the layout.
    copies
        Whether each snapshot has its own coordinates. Otherwise all except the last share the
        array that the run updates (`LayoutSnapshot.is_live`). This is for live views of large
        graphs, where a copy takes as long as drawing. The last snapshot is never live.
    options
        See `LayoutOptions`.
    """
    checked = LayoutOptions(**options)

    def make_run(records: PathRecords) -> PathSgdRun:
        return PathSgdRun(graph, records, start, checked, stress_samples, backend, copies=copies)

    return iter_run(make_run, graph, paths, start, checked.n_iterations, slice_seconds)


class PathSgdRun(LayoutRun):
    """A run of path-guided SGD."""

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
        options.check_backend(resolve_backend(backend))
        coordinates = first_coordinates(graph, start, options.initialisation, options.seed)
        super().__init__(
            graph, records, coordinates, options.seed, stress_samples, backend, copies=copies
        )
        self.options = options
        self.kernel = load_kernel("path_sgd", backend)
        self.space = min(options.space or records.longest_path, records.longest_path)
        tables = zipf_tables(options.theta, self.space)
        arrays = self.xp.asarray(tables.zeta), self.xp.asarray(tables.zipf_factor)
        self.zipf = *arrays, options.theta, tables.exact_space
        self.window = options.window or default_window(graph.n_nodes)
        seeds = np.random.SeedSequence((options.seed, options.first_iteration))
        n_workers = self._count_workers(resolve_backend(backend))
        self.states = self.xp.asarray(seeds.generate_state(n_workers, np.uint64))
        self._design = self._make_design(seeds)
        self.n_iterations = options.n_iterations
        self.etas = learning_rates(
            options.n_iterations,
            eta_max=options.eta_max or max(float(records.longest_path) ** 2, options.eps),
            eps=options.eps,
        )
        per_step = options.updates_per_step * options.data_reuse / options.step_reduction
        self.updates_per_iteration = max(round(per_step * records.n_steps), 1)
        self.n_updates_total = self.updates_per_iteration * (
            options.n_iterations - options.first_iteration
        )
        self.make_updates(0, 0)  # compiles or loads the kernel, which must not count as run time

    def _count_workers(self, backend: str) -> int:
        if backend == "cpu" and self.options.n_threads is not None:
            return self.options.n_threads
        return self.kernel.count_workers(self.graph.n_nodes, self.window)

    def _make_design(self, seeds: np.random.SeedSequence) -> dict[str, Any]:
        """Return extra arguments of the GPU kernel; none on a CPU or for the default design."""
        options = self.options
        if all(getattr(options, name) == getattr(LayoutOptions, name) for name in OF_GPUS):
            return {}
        variant = self.kernel.Variant(
            node_arrays=options.data_layout == "arrays",
            warp_merge=options.merge_warps,
            rng=CHOICES["random_states"].index(options.random_states),
            reuse=options.data_reuse,
        )
        if variant.rng == 0:
            return {"variant": variant}
        n_words = self.kernel.STATE_WORDS * self.window * len(self.states)
        states = np.random.default_rng(seeds).integers(1, 2**32, n_words, np.uint32)
        return {"variant": variant, "rng_states": self.xp.asarray(states)}

    def iter_snapshots(self, slice_seconds: float | None) -> Iterator[LayoutSnapshot]:
        """Run the schedule and yield snapshots."""
        first, n_iterations = self.options.first_iteration, self.options.n_iterations
        if slice_seconds is not None:
            yield self.snapshot(first, float(self.etas[first]), self.sample_stress(is_final=False))
        for iteration in range(first, n_iterations):
            is_last = iteration + 1 == n_iterations
            for is_end in self._iter_slices(iteration, slice_seconds):
                if is_end and is_last:
                    break
                if slice_seconds is None:
                    continue
                stress = self.sample_stress(is_final=False) if is_end else None
                done = iteration + is_end
                eta = float(self.etas[min(done, n_iterations - 1)])
                yield self.snapshot(done, eta, stress)
        yield self.final_snapshot(float(self.etas[-1]))

    def _iter_slices(self, iteration: int, slice_seconds: float | None) -> Iterator[bool]:
        """Make the updates of an iteration; yield after each slice whether it was the last."""
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
        """Make updates with the learning rate of an iteration; return their number."""
        return self.kernel.make_updates(
            self.points,
            self.records.paths,
            self.zipf,
            self.space,
            self.etas[iteration],
            iteration >= int(self.options.cooling_start * self.options.n_iterations),
            n_updates,
            self.states,
            self.window,
            **self._design,
        )
