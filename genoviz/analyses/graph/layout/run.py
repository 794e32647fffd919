"""State, progress and snapshots of one layout run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.components import find_components, pack_components
from genoviz.analyses.graph.layout.guides import (
    GuidedGraph,
    guide_graph,
    place_hung_nodes,
)
from genoviz.analyses.graph.layout.path_records import (
    PathRecords,
    build_path_records,
    initial_coordinates,
    linear_coordinates,
)
from genoviz.analyses.graph.layout.stress import link_stress
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.layout.stress_sampler import StressSampler
from genoviz.backend import Backend, array_module, to_device, to_host
from genoviz.errors import ParameterError, n_words
from genoviz.model import GraphLayout, PangenomeGraph

RUNNING_SAMPLES = 0.1
"""Share of the terms that is sampled while a layout runs: all of them take longer than a round."""


@dataclass(frozen=True, eq=False)
class LayoutSnapshot:
    """A layout at some point of a run; immutable unless it is live.

    Attributes
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp; a CuPy array if the layout runs on a GPU.
    is_live
        Whether ``coordinates`` is the array that the run updates, so that it changes while the next
        snapshot is computed. Callers must not write to it.
    iteration, n_iterations
        Number of finished iterations, and their total.
    n_updates, n_updates_total
        Number of updates made, and their total (a run that starts late in the schedule makes
        fewer).
    eta
        Learning rate of the current iteration, bp.
    seconds
        Computing time so far.
    stress
        Sampled path stress, if requested and the snapshot ends an iteration.
    is_final
        Whether this is the finished layout, with its components packed.
    note
        What the user should know about how the layout was made.
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
        """The coordinates as a layout; a copy if they are on a GPU or live."""
        coordinates = to_host(self.coordinates)
        if self.is_live and coordinates is self.coordinates:
            coordinates = coordinates.copy()
        return GraphLayout(coordinates, self.components, self.note)

    @property
    def updates_per_second(self) -> float:
        """Updates per second of computing time."""
        return self.n_updates / self.seconds if self.seconds else 0.0


class LayoutRun:
    """Layout, clock and snapshots of one run, for any method.

    Attributes
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp, in the memory of the backend.
    n_iterations, n_updates_total
        Totals of the run; subclasses set them.
    guided
        Placement of nodes that no path visits.
    """

    n_iterations: int
    n_updates_total: int
    guided: GuidedGraph | None = None

    def __init__(
        self,
        graph: PangenomeGraph,
        records: PathRecords,
        coordinates: np.ndarray,
        seed: int,
        stress_samples: int,
        backend: Backend,
        *,
        copies: bool,
    ) -> None:
        self.graph = graph
        self.copies = copies
        self.xp = array_module(backend)
        self.coordinates = self.xp.asarray(coordinates)
        self.records = _move_records(records, backend)
        self.seed = seed
        self.stress_samples = stress_samples
        self.stress = StressSampler(self.records, backend=backend) if stress_samples else None
        self.note = _note_idle(graph, ~records.is_visited)
        self.n_updates = 0
        self.seconds = 0.0

    @property
    def points(self) -> Any:
        """The ends of nodes; float64, shape (2 n_nodes, 2), bp."""
        return self.coordinates.reshape(-1, 2)

    def straighten(self, is_idle: np.ndarray) -> None:
        """Straighten nodes that no update will move, to their own length."""
        nodes = self.xp.asarray(np.flatnonzero(is_idle))
        lengths = self.xp.asarray(self.graph.node_lengths[is_idle])
        self.coordinates[nodes, 1] = self.coordinates[nodes, 0]
        self.coordinates[nodes, 1, 0] += lengths

    def sample_stress(self, *, is_final: bool) -> PathStress | None:
        """Return the path stress, if requested, without its median while the layout runs."""
        if self.stress is None:
            return None
        n_samples = max(round((1.0 if is_final else RUNNING_SAMPLES) * self.stress_samples), 1)
        return self.stress.sample(
            self.points, n_samples=n_samples, seed=self.seed, has_median=is_final
        )

    def snapshot(self, iteration: int, eta: float, stress: PathStress | None) -> LayoutSnapshot:
        """Return a snapshot of the layout after so many iterations."""
        return LayoutSnapshot(
            coordinates=self.coordinates.copy() if self.copies else self.coordinates.view(),
            is_live=not self.copies,
            iteration=iteration,
            n_iterations=self.n_iterations,
            n_updates=self.n_updates,
            n_updates_total=self.n_updates_total,
            eta=eta,
            seconds=self.seconds,
            stress=stress,
            note=self.note,
        )

    def final_snapshot(self, eta: float) -> LayoutSnapshot:
        """Return the finished layout, its components packed."""
        stress = self.sample_stress(is_final=True)
        components = find_components(self.graph)
        coordinates = to_host(self.coordinates)
        if self.guided is not None:
            coordinates = place_hung_nodes(self.guided, coordinates)
        packed = self.xp.asarray(pack_components(coordinates, components))
        return replace(
            self.snapshot(self.n_iterations, eta, stress),
            coordinates=packed,
            is_final=True,
            is_live=False,
            components=components,
        )


def first_coordinates(
    graph: PangenomeGraph, start: GraphLayout | None, initialisation: str, seed: int
) -> np.ndarray:
    """Return a copy of the initial coordinates; float64, (n_nodes, 2, 2), bp."""
    if start is None:
        return initial_coordinates(graph, initialisation, seed=seed)
    return start.coordinates.copy()


def iter_run(
    make_run: Callable[[PathRecords], Any],
    graph: PangenomeGraph,
    paths: Sequence[str | int] | None,
    start: GraphLayout | None,
    n_iterations: int,
    slice_seconds: float | None,
) -> Iterator[LayoutSnapshot]:
    """Return the snapshots of a run, or a single one for a graph without guiding paths.

    Unless paths are chosen, nodes that no path visits get guides; see `guide_graph`.

    Parameters
    ----------
    make_run
        Called with the records of the guiding paths; returns a `LayoutRun` with a method
        ``iter_snapshots``.
    n_iterations
        Number of iterations that the single snapshot reports.

    Raises
    ------
    ParameterError
        If a path is not in the graph, or the initial layout does not match it.
    """
    if start is not None and start.n_nodes != graph.n_nodes:
        raise ParameterError(
            f"the layout to start from has {n_words(start.n_nodes, 'node')} and the graph "
            f"{graph.n_nodes:,}"
        )
    used = None if paths is None else graph.find_paths(paths)

    def iterate() -> Iterator[LayoutSnapshot]:
        records = build_path_records(graph, paths=used, min_steps=2)
        guided = None
        if used is None and not records.is_visited.all():
            guided = guide_graph(graph)
            records = build_path_records(guided.graph, min_steps=2)
        if records.n_steps == 0:
            yield _linear_snapshot(graph, n_iterations)
            return
        run = make_run(records)
        if guided is None:
            yield from run.iter_snapshots(slice_seconds)
        else:
            yield from _iter_guided(run, guided, is_new=start is None, slice_seconds=slice_seconds)

    return iterate()


def _iter_guided(
    run: Any, guided: GuidedGraph, *, is_new: bool, slice_seconds: float | None
) -> Iterator[LayoutSnapshot]:
    """Yield the snapshots of a run with guides; notes name the guides, the last the link stress."""
    run.guided = guided
    is_idle = ~run.records.is_visited
    is_idle[guided.hung_steps >> 1] = False
    run.note = " ".join(note for note in (guided.note, _note_idle(run.graph, is_idle)) if note)
    if is_new:
        run.straighten(is_idle)
    for snapshot in run.iter_snapshots(slice_seconds):
        if guided.note and snapshot.is_final:
            stress = link_stress(run.graph, snapshot.layout, backend="cpu").mean
            snapshot = replace(snapshot, note=f"{snapshot.note} Link stress {stress:.4g}.")
        yield snapshot


def _linear_snapshot(graph: PangenomeGraph, n_iterations: int) -> LayoutSnapshot:
    """Return the finished layout of a graph without guiding paths."""
    note = "No path has two steps, so nothing guides the layout: nodes lie in graph order."
    layout = GraphLayout(linear_coordinates(graph), find_components(graph), note)
    return replace(
        finished_snapshot(layout, backend="cpu"), iteration=n_iterations, n_iterations=n_iterations
    )


def finished_snapshot(layout: GraphLayout, *, backend: Backend) -> LayoutSnapshot:
    """Return a layout as the final snapshot of a run without iterations."""
    return LayoutSnapshot(
        coordinates=array_module(backend).asarray(layout.coordinates),
        iteration=0,
        n_iterations=0,
        n_updates=0,
        n_updates_total=0,
        eta=0.0,
        seconds=0.0,
        is_final=True,
        note=layout.note,
        components=layout.components,
    )


def _move_records(records: PathRecords, backend: Backend) -> PathRecords:
    names = ("records", "path_starts", "block_paths")
    moved = {name: to_device(getattr(records, name), backend) for name in names}
    return replace(records, **moved)


def _note_idle(graph: PangenomeGraph, is_untouched: np.ndarray) -> str:
    """Return a note on the nodes that no update moves: those without a used path of two steps."""
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
    nodes = f"{n_untouched:,} of {n_words(graph.n_nodes, 'node')}"
    if len(found) > 1:
        parts = ", ".join(f"{count:,} {where}" for where, count in found.items())
        return f"{nodes} stay where they began: {parts}."
    (where,) = found
    if n_untouched == 1:
        return f"{nodes} lies {where} and stays where it began."
    return f"{nodes} lie {where} and stay where they began."


def learning_rates(n_iterations: int, *, eta_max: float, eps: float) -> np.ndarray:
    """Return the learning rate of each iteration; float64, shape (n_iterations,), bp.

    It falls geometrically from ``eta_max`` in the first iteration to ``eps`` in the last.
    """
    if n_iterations == 1:
        return np.array([eps])
    return eta_max * (eps / eta_max) ** (np.arange(n_iterations) / (n_iterations - 1))


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raise ``ParameterError`` unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value}, needs a value from {low:g} to {high:g}")
