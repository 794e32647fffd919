"""Interactive control of a graph's layout: run, pause, resume, stop, re-heat, reset."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.run import LayoutSnapshot, finished_snapshot
from genoviz.analyses.graph.layout.stress import PathStress, sampled_path_stress
from genoviz.backend import gpu_is_lost
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.opening.kept_layouts import UNFOLDED, iter_keep_unfolded
from genoviz_app.server.jobs import Job, JobState, Submit
from genoviz_app.session.layout_settings import STRESS_SAMPLES, WATCHABLE_SECONDS, LayoutSettings

RATE_SECONDS = 2.0
REHEAT_SHARE = 1 / 3
MAX_UNFOLDED_STEPS = 500_000


def say_terms(stress: PathStress) -> str:
    """Return what a stress is the mean of; a layout's record does not have the number of terms."""
    weighting = f"in which a path counts by its {stress.weighting}"
    if not stress.n_terms:
        return f"Mean of sampled terms, {weighting}, from the record of the layout"
    median = "" if np.isnan(stress.median) else f" and whose median is {stress.median:.2g}"
    return f"Mean of {stress.n_terms:,} sampled terms, {weighting}{median}"


class RunState(StrEnum):
    """State of the layout for its controls."""

    EMPTY = "empty"
    OPENING = "opening"
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
        """Whether a layout is running or paused."""
        return self is RunState.RUNNING or self.can_resume

    @property
    def can_resume(self) -> bool:
        """Whether a layout was paused; its last slice may still be running."""
        return self in (RunState.PAUSING, RunState.PAUSED)


@dataclass(frozen=True)
class RunProgress:
    """Numbers of a run for display; None if unknown.

    Attributes
    ----------
    updates_per_second
        During computing: over the last two seconds while it runs, over the whole run at its end.
    seconds
        Computing time.
    seconds_left
        Remaining wall-clock time, at the pace of the last two seconds.
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
    """A graph, its layout settings, and the job that computes the layout.

    Attributes
    ----------
    graph
        The graph, or None.
    settings
        Settings of the next run.
    is_paced
        Whether an iteration takes at least a twentieth of a second, so that users can watch a small
        graph unfold.
    snapshot
        The latest positions: initial ones, those of the current run, or those of the last run.
    history
        Iteration and the sampled stress at its end, in order.
    is_wanted
        Whether the user started the last run, as opposed to one that began by itself.
    awaits_layout
        Whether nothing is shown yet because a layout of the graph is being opened.
    version
        Incremented with every visible change.
    error
        The error that stopped the last run, or None.
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
        self._is_start = self.awaits_layout = self.is_wanted = False
        self._marks: deque[tuple[float, int, float]] = deque()

    def expect_graph(self, is_opening: bool) -> None:
        """Tell, while there is no graph, whether one is being opened."""
        state = RunState.OPENING if is_opening else RunState.EMPTY
        if self.graph is None and self.state is not state:
            self._set_state(state)

    def set_graph(self, graph: PangenomeGraph | None, *, awaits_layout: bool = False) -> None:
        """Set the graph and show its initial positions, unless a layout is being opened."""
        self.graph = graph
        self.reset(shows_start=not awaits_layout)

    @property
    def latest(self) -> LayoutSnapshot | None:
        """The newest positions, including those that `poll` has not processed yet."""
        job = self._job
        return (job.snapshot if job is not None else None) or self.snapshot

    @property
    def n_iterations(self) -> int:
        """Number of iterations of the run, or of the next run if there was none."""
        return (self.snapshot and self.snapshot.n_iterations) or self.settings.n_iterations

    @property
    def layout(self) -> GraphLayout | None:
        """The latest positions as a layout in host memory."""
        return None if self.snapshot is None else self.snapshot.layout

    def run(self) -> None:
        """Start a layout from the initial positions with the current settings."""
        self._start(self._iter_layout(), is_wanted=True)

    def unfold(self) -> None:
        """Lay out a small graph at full speed.

        Other tabs that open the same graph show the result at once.
        """
        if self.graph is None or not 0 < self.graph.n_steps <= MAX_UNFOLDED_STEPS:
            return
        is_shared = self.settings.is_default and not gpu_is_lost()
        made = UNFOLDED.get(self.graph) if is_shared else None
        if made is not None:
            self._cancel()
            self.snapshot, self.history = made
            self.is_wanted = False
            self._set_state(RunState.FINISHED)
            return
        steps = self._iter_layout(is_watched=False)
        self._start(iter_keep_unfolded(steps, self.graph, self.history) if is_shared else steps)

    def reheat(self) -> None:
        """Continue from the current positions, late in the schedule."""
        layout, settings = self.layout, self.settings
        if layout is None:
            return
        late = {"first_iteration": int(settings.n_iterations * REHEAT_SHARE)}
        more = {} if settings.method == "multilevel" else late
        self._start(self._iter_layout(start=layout, **more), is_wanted=True)

    def pause(self) -> None:
        """Pause the run after the current slice."""
        if self._job is not None and self.state is RunState.RUNNING:
            self._job.pause()
            self._set_state(RunState.PAUSING)
            self.poll()

    def resume(self) -> None:
        """Continue after a pause."""
        if self._job is not None and self.state.can_resume:
            self._marks.clear()
            self._job.resume()
            self._set_state(RunState.RUNNING)

    def stop(self) -> None:
        """Stop the run; the positions are kept."""
        if self.state.is_active:
            self.poll()
            self._cancel()
            self._set_state(RunState.STOPPED)

    def reset(self, *, shows_start: bool = True) -> None:
        """Discard the layout and show the initial positions for the current settings."""
        self._cancel()
        self.awaits_layout = not shows_start
        self.snapshot, self.history, self.error = None, [], None
        self._set_state(RunState.EMPTY if self.graph is None else RunState.READY)
        if self.graph is not None and shows_start:
            steps = islice(self._iter_layout("path_sgd"), 1)
            self._job = self._submit(steps, title="start of a layout")
            self._is_start = True

    def lose_positions(self, error: Exception) -> None:
        """Restart after the loss of positions on a failed GPU."""
        snapshot = self.snapshot
        if gpu_is_lost() and not (snapshot is None or isinstance(snapshot.coordinates, np.ndarray)):
            self.reset()
            self.error = error

    def load(self, layout: GraphLayout, stress: PathStress | None = None) -> None:
        """Show a previously computed layout with its stress, which is sampled if it is unknown."""
        self._cancel()
        self.snapshot, self.error = None, None
        self._job = self._submit(self._iter_load(layout, stress), title="layout from a file")
        self._set_state(RunState.LOADED)

    def _iter_load(
        self, layout: GraphLayout, stress: PathStress | None
    ) -> Iterator[LayoutSnapshot]:
        graph, history = self.graph, []
        self.history = history
        snapshot = finished_snapshot(layout, backend=self.settings.backend)
        if stress is not None:
            # Sampling takes eight bytes for each step of the graph.
            history.append((0, stress))
            yield replace(snapshot, stress=stress)
            return
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
        """Return the snapshots of a run, with a new history of its stress."""
        self.history = []
        return self.settings.iter_layout(
            self.graph, self.history, method, lambda: is_watched and self.is_paced, **more
        )

    def _start(self, steps: Iterator[LayoutSnapshot | None], *, is_wanted: bool = False) -> None:
        self._cancel()
        self.is_wanted, self.error = is_wanted, None
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
        """Process the newest state of the job; called some twenty times per second."""
        job = self._job
        if job is None:
            return
        # Read the snapshot last: there is no newer one after the end or while the job is held.
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
        """Numbers of the run for display, or None before the first run."""
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
        """Return updates per second of computing: recent while it runs, overall afterwards."""
        if self.state is RunState.RUNNING and len(self._marks) > 1:
            (_, n_first, first), (_, n_last, last) = self._marks[0], self._marks[-1]
            if last > first:
                return (n_last - n_first) / (last - first)
        return self.snapshot.updates_per_second

    def _seconds_left(self) -> float | None:
        """Return the remaining wall-clock time at the recent pace.

        In a paced run, iterations with few updates take as long as others, so the estimate is the
        larger of the remaining computing time and the remaining pacing time.
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
