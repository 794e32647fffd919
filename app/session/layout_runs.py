"""The layout of a tab's graph, which its pages share, and its runs, kept to be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.server.jobs import describe_problem
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.layout_run import LayoutRun
from genoviz_app.session.layout_settings import LayoutSettings

if TYPE_CHECKING:
    from genoviz_app.session.session import Session

MAX_KEPT = 8


@dataclass(eq=False)
class KeptRun:
    """One run, also while it goes on.

    Attributes
    ----------
    graph, title
        What is laid out, and how.
    history
        Iteration and sampled stress at its end; grows while the run goes on.
    n_iterations, seconds
        Of the whole run, and spent computing so far.
    """

    graph: PangenomeGraph
    title: str
    history: list[tuple[int, PathStress]]
    n_iterations: int = 0
    seconds: float = 0.0


class LayoutRuns:
    """The layout of the graph that is open in a tab, for all its pages.

    Attributes
    ----------
    kept
        The latest runs of the open graph, oldest first.
    choose_colour
        Colours the layout by what a `ColourChoice` says; None before there is a picture.
    """

    def __init__(self, session: Session) -> None:
        self.kept: tuple[KeptRun, ...] = ()
        self.choose_colour: Callable[[Any], None] | None = None
        self._session = session
        self._seen_error: Exception | None = None
        self._unfolds_next = False
        session.param.watch(self._on_opened, "opened")
        session.param.watch(self._on_layout, "layout")

    @cached_property
    def run(self) -> LayoutRun:
        """The layout, begun for the first page that asks: others do without."""
        run = LayoutRun(LayoutSettings(), self._session.submit)
        self._begin(run)
        return run

    def unfold_next(self) -> None:
        """Lay out the graph that is opened next without being asked, as far as it is small."""
        self._unfolds_next = True

    def poll(self) -> None:
        """Take over the newest state of the layout; called some twenty times a second."""
        run = self.run
        run.poll()
        if run.awaits_layout and not self._session.awaits_layout:  # it could not be opened
            self._begin(run)
        self._keep(run)
        if run.error is not None and run.error is not self._seen_error:
            self._session.complain(describe_problem(run.error))
        self._seen_error = run.error

    def _on_opened(self, *_events: Any) -> None:
        if "run" in vars(self):
            self._begin(self.run)

    def _begin(self, run: LayoutRun) -> None:
        opened, layout = self._session.opened, self._session.layout
        unfolds = SETTINGS.unfolds or self._unfolds_next
        if opened is not None:
            self._unfolds_next = False
        awaits_layout = layout is None and self._session.awaits_layout
        run.set_graph(None if opened is None else opened.graph, awaits_layout=awaits_layout)
        if layout is not None:
            run.load(layout.layout)
        elif unfolds and not awaits_layout:
            run.unfold()

    def _on_layout(self, event: Any) -> None:
        if event.new is not None and "run" in vars(self):
            self.run.load(event.new.layout)

    @property
    def version(self) -> tuple:
        """Something else whenever there is anything new."""
        last = self.kept[-1] if self.kept else None
        return len(self.kept), id(last), len(last.history) if last is not None else 0

    @property
    def is_moving(self) -> bool:
        """Whether a run is under way."""
        return self.run.state.is_active

    def _keep(self, run: LayoutRun) -> None:
        history, snapshot = run.history, run.snapshot
        if self.kept and self.kept[-1].graph is not run.graph:
            self.kept = ()
        if not history or snapshot is None or run.progress is None:  # it is but a start
            return
        if not self.kept or self.kept[-1].history is not history:
            title = run.settings.title if snapshot.n_iterations else "The layout of a file"
            self.kept = (*self.kept, KeptRun(run.graph, title, history))[-MAX_KEPT:]
        last = self.kept[-1]
        last.n_iterations, last.seconds = snapshot.n_iterations, snapshot.seconds

    @property
    def has_layout(self) -> bool:
        """Whether a layout is shown: it was computed or opened."""
        return bool(self.run.history) and self.run.progress is not None

    @property
    def layout(self) -> GraphLayout | None:
        """The layout that is shown; None where the graph was not laid out."""
        return self.run.layout if self.has_layout else None
