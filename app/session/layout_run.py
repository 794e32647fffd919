"""One layout of one graph as a person drives it: run, pause, resume, stop, re-heat, reset."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import LayoutSnapshot, iter_path_sgd_layout
from genoviz.analyses.graph.layout.stress import PathStress, sampled_path_stress
from genoviz.backend import array_module, gpu_is_lost
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.server.jobs import Job, JobState
from genoviz_app.session.layout_settings import LayoutSettings

SLICE_SECONDS = 0.008
STRESS_SAMPLES = 200_000
RATE_SECONDS = 2.0
REHEAT_SHARE = 1 / 3
WATCHABLE_SECONDS = 0.05
MAX_UNFOLDED_STEPS = 500_000
UNFOLDED: WeakKeyDictionary[PangenomeGraph, tuple[LayoutSnapshot, list]] = WeakKeyDictionary()
"""The finished layouts, and their stress, of small graphs that any tab has open."""


class RunState(StrEnum):
    """What the layout is doing, as its controls see it."""

    EMPTY = "empty"
    READY = "ready"
    LOADED = "loaded"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def is_active(self) -> bool:
        """Whether a layout is under way."""
        return self is RunState.RUNNING or self.can_resume

    @property
    def can_resume(self) -> bool:
        """Whether a layout was paused; while it is pausing, its last slice goes on."""
        return self in (RunState.PAUSING, RunState.PAUSED)


class Submit(Protocol):
    """How a run hands a generator to a job thread."""

    def __call__(self, steps: Iterator[Any], *, title: str) -> Job:
        """Return the job."""


@dataclass(frozen=True)
class RunProgress:
    """Numbers of a run for the readouts; None where there is nothing to tell.

    Attributes
    ----------
    updates_per_second
        Of computing: over the last two seconds while it runs, over the whole run when it has ended.
    seconds
        Spent computing.
    seconds_left
        By the clock, at the pace of the last two seconds.
    """

    iteration: int
    n_iterations: int
    fraction: float
    updates_per_second: float | None
    seconds: float
    seconds_left: float | None
    eta: float | None
    stress: PathStress | None


class LayoutRun:
    """A graph, the settings of its layout, and the job that computes it.

    Attributes
    ----------
    graph
        The graph, or None.
    settings
        What the next run is started with.
    is_paced
        Whether an iteration takes at least a twentieth of a second, so that a small graph can be
        watched unfolding.
    snapshot
        The latest positions: of the start, of the run under way, or of the last run.
    history
        Iteration and sampled stress at its end, in order.
    awaits_layout
        Whether nothing is shown yet, for a layout of the graph is being opened.
    version
        Grows with every change of what there is to see.
    error
        What stopped the last run, or None.
    """

    def __init__(self, settings: LayoutSettings, submit: Submit) -> None:
        self.settings = settings
        self.graph: PangenomeGraph | None = None
        self.snapshot: LayoutSnapshot | None = None
        self.history: list[tuple[int, PathStress]] = []
        self.state = RunState.EMPTY
        self.version = 0
        self.is_paced = True
        self.error: Exception | None = None
        self._submit = submit
        self._job: Job | None = None
        self._is_start = self.awaits_layout = False
        self._marks: deque[tuple[float, int, float]] = deque()

    def set_graph(self, graph: PangenomeGraph | None, *, awaits_layout: bool = False) -> None:
        """Take another graph and show where its nodes start, unless a layout is on its way."""
        self.graph = graph
        self.reset(shows_start=not awaits_layout)

    @property
    def latest(self) -> LayoutSnapshot | None:
        """The newest positions, also those that `poll` has not seen yet."""
        job = self._job
        return (job.snapshot if job is not None else None) or self.snapshot

    @property
    def n_iterations(self) -> int:
        """Iterations of the run, or of the next one before there is any."""
        n_iterations = 0 if self.snapshot is None else self.snapshot.n_iterations
        return n_iterations or self.settings.n_iterations

    @property
    def layout(self) -> GraphLayout | None:
        """The latest positions as a layout, on the CPU."""
        return None if self.snapshot is None else self.snapshot.layout

    def run(self) -> None:
        """Lay out the graph from its start with the settings as they are now."""
        self._start(self._iter_layout())

    def unfold(self) -> None:
        """Lay out a graph that takes a moment, and does not wait to be watched.

        What one tab has laid out is shown at once in others that open the same graph.
        """
        if self.graph is None or not 0 < self.graph.n_steps <= MAX_UNFOLDED_STEPS:
            return
        is_shared = self.settings.is_default and not gpu_is_lost()
        made = UNFOLDED.get(self.graph) if is_shared else None
        if made is not None:
            self._cancel()
            self.snapshot, self.history = made
            self._set_state(RunState.FINISHED)
            return
        steps = self._iter_layout(is_watched=False)
        self._start(_iter_kept(steps, self.graph, self.history) if is_shared else steps)

    def reheat(self) -> None:
        """Go on from where the nodes are now, late in the schedule."""
        layout = self.layout
        if layout is not None and self.settings.method == "multilevel":
            self._start(self._iter_layout(start=layout))
        elif layout is not None:
            first = int(self.settings.n_iterations * REHEAT_SHARE)
            self._start(self._iter_layout(start=layout, first_iteration=first))

    def pause(self) -> None:
        """Hold the run after the slice that is under way; until then it is pausing."""
        if self._job is not None and self.state is RunState.RUNNING:
            self._job.pause()
            self._set_state(RunState.PAUSING)
            self.poll()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._job is not None and self.state.can_resume:
            self._marks.clear()
            self._job.resume()
            self._set_state(RunState.RUNNING)

    def stop(self) -> None:
        """End the run; the positions stay as they are."""
        if self.state.is_active:
            self.poll()
            self._cancel()
            self._set_state(RunState.STOPPED)

    def reset(self, *, shows_start: bool = True) -> None:
        """Forget the layout and show where the nodes start with these settings."""
        self._cancel()
        self.awaits_layout = not shows_start
        self.snapshot, self.history, self.error = None, [], None
        self._set_state(RunState.EMPTY if self.graph is None else RunState.READY)
        if self.graph is not None and shows_start:
            self._job = self._submit(
                islice(self._iter_layout("path_sgd"), 1), title="start of a layout"
            )
            self._is_start = True

    def lose_positions(self, error: Exception) -> None:
        """Begin anew where the latest positions were on a GPU that has failed."""
        snapshot = self.snapshot
        if gpu_is_lost() and not (snapshot is None or isinstance(snapshot.coordinates, np.ndarray)):
            self.reset()
            self.error = error

    def load(self, layout: GraphLayout) -> None:
        """Show a layout that was computed before, and sample its stress."""
        self._cancel()
        self.snapshot, self.error = None, None
        self._job = self._submit(self._iter_load(layout), title="layout from a file")
        self._set_state(RunState.LOADED)

    def _iter_load(self, layout: GraphLayout) -> Iterator[LayoutSnapshot]:
        graph, history = self.graph, []
        self.history = history
        snapshot = loaded_snapshot(layout, backend=self.settings.backend)
        yield snapshot
        stress = sampled_path_stress(
            graph_to_measure(graph), layout, n_samples=STRESS_SAMPLES, backend=self.settings.backend
        )
        if stress.n_terms:
            history.append((0, stress))
        yield replace(snapshot, stress=stress)

    def _iter_layout(
        self, method: str = "", *, is_watched: bool = True, **more: Any
    ) -> Iterator[LayoutSnapshot | None]:
        """Yield the snapshots of a run and note its stress; all of it runs in the job thread."""
        method = method or self.settings.method
        graph, options, history = self.graph, self.settings.options(self.graph, method), []
        iter_layout = iter_multilevel_layout if method == "multilevel" else iter_path_sgd_layout
        self.history = history

        def iterate() -> Iterator[LayoutSnapshot | None]:
            due = time.monotonic()
            _ = graph.node_depths  # made here, for it would hold the page up later
            for snapshot in iter_layout(
                graph,
                **options,
                **more,
                stress_samples=STRESS_SAMPLES,
                slice_seconds=SLICE_SECONDS,
                copies=False,
            ):
                if snapshot.stress is not None:
                    history.append((snapshot.iteration, snapshot.stress))
                    while is_watched and self.is_paced and time.monotonic() < due:
                        yield None
                    due = time.monotonic() + WATCHABLE_SECONDS
                yield snapshot

        return iterate()

    def _start(self, steps: Iterator[LayoutSnapshot | None]) -> None:
        self._cancel()
        self.error = None
        self._marks.clear()
        self._job = self._submit(steps, title="layout")
        self._set_state(RunState.RUNNING)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job, self._is_start, self.awaits_layout = None, False, False

    def _set_state(self, state: RunState) -> None:
        self.state = state
        self.version += 1

    def poll(self) -> None:
        """Take over the newest state of the job; called some twenty times a second."""
        job = self._job
        if job is None:
            return
        # The snapshot is read last: none comes after the end, nor while the job is held.
        has_ended, is_held = job.has_ended, job.is_held
        snapshot = job.snapshot
        if snapshot is not None and snapshot is not self.snapshot:
            self.snapshot = snapshot
            self.version += 1
            self._mark(snapshot)
        if has_ended:
            self._on_end(job)
        elif is_held and self.state is RunState.PAUSING:
            self._set_state(RunState.PAUSED)

    def _mark(self, snapshot: LayoutSnapshot) -> None:
        now = time.perf_counter()
        self._marks.append((now, snapshot.n_updates, snapshot.seconds))
        while now - self._marks[0][0] > RATE_SECONDS and len(self._marks) > 2:
            self._marks.popleft()

    def _on_end(self, job: Job) -> None:
        was_start = self._is_start
        self._job, self._is_start = None, False
        self.error = job.error
        if job.state is JobState.FAILED:
            self._set_state(RunState.FAILED)
            self.lose_positions(job.error)
        elif not was_start and self.state is not RunState.LOADED:
            self._set_state(RunState.FINISHED)

    @property
    def progress(self) -> RunProgress | None:
        """Numbers of the run for the readouts, or None before the first run."""
        snapshot = self.snapshot
        if snapshot is None or self.state in (RunState.EMPTY, RunState.READY):
            return None
        total = max(snapshot.n_updates_total, 1)
        return RunProgress(
            iteration=snapshot.iteration,
            n_iterations=snapshot.n_iterations,
            fraction=1.0 if snapshot.is_final else min(snapshot.n_updates / total, 1.0),
            updates_per_second=self._updates_per_second() or None,
            seconds=snapshot.seconds,
            seconds_left=self._seconds_left(),
            eta=snapshot.eta,
            stress=self.history[-1][1] if self.history else None,
        )

    def _updates_per_second(self) -> float:
        """Return updates per second of computing: lately while it runs, overall afterwards."""
        if self.state is RunState.RUNNING and len(self._marks) > 1:
            (_, n_first, first), (_, n_last, last) = self._marks[0], self._marks[-1]
            if last > first:
                return (n_last - n_first) / (last - first)
        return self.snapshot.updates_per_second

    def _seconds_left(self) -> float | None:
        """Return the time to the end by the clock, at the pace of late.

        Where iterations wait so that they can be watched, those of few updates take as long as
        others: what is left to compute tells then, or what is left to wait.
        """
        if self.state is not RunState.RUNNING or len(self._marks) < 2:
            return None
        (first, n_first, computed_first), (last, n_last, computed) = self._marks[0], self._marks[-1]
        if n_last <= n_first:
            return None
        snapshot = self.snapshot
        n_left = max(snapshot.n_updates_total - snapshot.n_updates, 0)
        if not self.is_paced:
            return n_left * (last - first) / (n_last - n_first)
        waiting = (snapshot.n_iterations - snapshot.iteration) * WATCHABLE_SECONDS
        return max(n_left * (computed - computed_first) / (n_last - n_first), waiting)


def _iter_kept(
    steps: Iterator[LayoutSnapshot | None], graph: PangenomeGraph, history: list
) -> Iterator[LayoutSnapshot | None]:
    """Yield the snapshots of a layout, and keep the last for everybody."""
    for snapshot in steps:
        if snapshot is not None and snapshot.is_final:
            UNFOLDED[graph] = snapshot, history
        yield snapshot


def loaded_snapshot(layout: GraphLayout, *, backend: str) -> LayoutSnapshot:
    """Return a layout that is not the work of a run as what a run would yield last."""
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
