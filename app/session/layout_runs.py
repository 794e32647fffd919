"""The layout of a tab's graph, shared by its pages, and past runs for comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from genoviz.analyses.graph.layout.path_sgd import LayoutSnapshot
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.generators import last_of
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.opening.kept_layouts import iter_keep_layout, new_source
from genoviz_app.server.jobs import FILES, Job, describe_problem
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import LayoutSettings

if TYPE_CHECKING:
    from genoviz_app.session.session import Session

MAX_KEPT = 8
ALL_RUNS: WeakSet[LayoutRuns] = WeakSet()


@dataclass(eq=False)
class KeptRun:
    """A finished or running run.

    Attributes
    ----------
    graph, title
        The graph, and a description of the settings.
    history
        Iteration and the sampled stress at its end; grows during the run.
    n_iterations, seconds
        Total number of iterations, and computing time so far.
    """

    graph: PangenomeGraph
    title: str
    history: list[tuple[int, PathStress]]
    n_iterations: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class KeptLayout:
    """The snapshot of a run that was last kept for links, or is being kept.

    Attributes
    ----------
    snapshot
        The snapshot; None before the first one.
    source
        What links call it; "" until it is kept.
    """

    snapshot: LayoutSnapshot | None = None
    source: str = ""


class LayoutRuns:
    """The layout of the graph that is open in a tab, for all its pages.

    Attributes
    ----------
    kept
        The latest runs of the open graph, oldest first.
    choose_colour
        Sets the colouring to a `ColourChoice`; None before there is a picture.
    """

    def __init__(self, session: Session) -> None:
        self.kept: tuple[KeptRun, ...] = ()
        self.choose_colour: Callable[[Any], None] | None = None
        self._session = session
        self._seen_error: Exception | None = None
        self._unfolds_next = False
        self._kept_layout = KeptLayout()
        ALL_RUNS.add(self)
        session.param.watch(self._on_opened, "opened")
        session.param.watch(self._on_layout, "layout")

    @cached_property
    def run(self) -> LayoutRun:
        """The layout, created when a page first needs it."""
        run = LayoutRun(LayoutSettings(), self._session.submit)
        self._begin(run)
        run.expect_graph(self._session.awaits_graph)  # the page is sent before the first look
        self._session.watched[self] = None
        return run

    def unfold_next(self) -> None:
        """Lay out the next opened graph automatically, if it is small."""
        self._unfolds_next = True

    @property
    def source(self) -> str:
        """What links call the computed layout that is shown; "" if it is not kept."""
        run = vars(self).get("run")
        kept = self._kept_layout
        return kept.source if run is not None and kept.snapshot is run.latest else ""

    def look(self) -> None:
        """Process the newest state of the layout; called some twenty times per second."""
        run = self.run
        if run.graph is None:
            run.expect_graph(self._session.awaits_graph)
        run.poll()
        if run.awaits_layout and not self._session.graphs.awaits_layout:  # opening failed
            self._begin(run)
        self._keep(run)
        if run.state in (RunState.FINISHED, RunState.STOPPED):
            self._store(run)
        if run.error is not None and run.error is not self._seen_error:
            self._session.complain(describe_problem(run.error))
        self._seen_error = run.error

    def _on_opened(self, *_events: Any) -> None:
        self._kept_layout = KeptLayout()
        if "run" in vars(self):
            self._begin(self.run)

    def _begin(self, run: LayoutRun) -> None:
        opened, layout = self._session.opened, self._session.layout
        unfolds = SETTINGS.unfolds or self._unfolds_next
        if opened is not None:
            self._unfolds_next = False
        awaits_layout = layout is None and self._session.graphs.awaits_layout
        run.set_graph(None if opened is None else opened.graph, awaits_layout=awaits_layout)
        if layout is not None:
            run.load(layout.layout, layout.stress)
        elif unfolds and not awaits_layout:
            run.unfold()

    def _on_layout(self, event: Any) -> None:
        if event.new is not None and "run" in vars(self):
            self.run.load(event.new.layout, event.new.stress)

    def _store(self, run: LayoutRun) -> None:
        """Keep the result of a run that the user started, so that links can show it."""
        made = run.snapshot
        if made is None or made is self._kept_layout.snapshot or not self._can_link(run):
            return
        self._kept_layout, source = KeptLayout(made), new_source()

        def follow(job: Job) -> None:
            if job.has_ended and job.snapshot and self._kept_layout.snapshot is made:
                self._kept_layout = KeptLayout(made, source)

        steps = iter_keep_layout(source, run.graph, run.layout)
        self._session.submit(steps, title="keeping a layout", pool=FILES, follow=follow)

    def _can_link(self, run: LayoutRun) -> bool:
        """Return whether the user started the run, of a graph that a link can name."""
        opened = self._session.opened
        return run.is_wanted and opened is not None and bool(opened.source)

    def keep_now(self) -> bool:
        """Keep what a run has reached, because the server stops; return whether there was any."""
        run = vars(self).get("run")
        if run is None or self.source or self._session.is_closed or not self._can_link(run):
            return False
        latest = run.latest
        if latest is None or latest.iteration == 0:
            return False
        source = new_source()
        is_kept = last_of(iter_keep_layout(source, run.graph, latest.layout))
        self._kept_layout = KeptLayout(latest, source if is_kept else "")
        return is_kept

    @property
    def version(self) -> tuple:
        """A value that changes with every update."""
        last = self.kept[-1] if self.kept else None
        return len(self.kept), id(last), len(last.history) if last is not None else 0

    @property
    def is_moving(self) -> bool:
        """Whether a run is in progress."""
        return self.run.state.is_active

    def _keep(self, run: LayoutRun) -> None:
        history, snapshot = run.history, run.snapshot
        if self.kept and self.kept[-1].graph is not run.graph:
            self.kept = ()
        if not history or snapshot is None or run.progress is None:  # only initial positions
            return
        if not self.kept or self.kept[-1].history is not history:
            title = run.settings.title if snapshot.n_iterations else "The layout of a file"
            self.kept = (*self.kept, KeptRun(run.graph, title, history))[-MAX_KEPT:]
        last = self.kept[-1]
        last.n_iterations, last.seconds = snapshot.n_iterations, snapshot.seconds

    @property
    def has_layout(self) -> bool:
        """Whether a computed or opened layout is shown."""
        return bool(self.run.history) and self.run.progress is not None

    @property
    def layout(self) -> GraphLayout | None:
        """The layout that is shown; None if the graph has not been laid out."""
        return self.run.layout if self.has_layout else None
