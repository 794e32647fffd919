"""The runs of a tab's layout, kept so that pages can compare them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.model import GraphLayout, PangenomeGraph

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
    """What the page of the layout tells the others.

    Attributes
    ----------
    kept
        The latest runs of the open graph, oldest first.
    choose_colour
        Colours the layout by what a `ColourChoice` says; None before there is a picture.
    """

    def __init__(self) -> None:
        self.kept: tuple[KeptRun, ...] = ()
        self.choose_colour: Callable[[Any], None] | None = None
        self._run: Any = None

    @property
    def version(self) -> tuple:
        """Something else whenever there is anything new."""
        last = self.kept[-1] if self.kept else None
        return len(self.kept), id(last), len(last.history) if last is not None else 0

    @property
    def is_moving(self) -> bool:
        """Whether a run is under way."""
        return self._run is not None and self._run.state.is_active

    def follow(self, run: Any, title: str) -> None:
        """Keep what a run has come to; called again and again with the run of the page."""
        self._run, history, snapshot = run, run.history, run.snapshot
        if self.kept and self.kept[-1].graph is not run.graph:
            self.kept = ()
        if not history or snapshot is None or run.progress is None:  # it is but a start
            return
        if not self.kept or self.kept[-1].history is not history:
            title = title if snapshot.n_iterations else "The layout of a file"
            self.kept = (*self.kept, KeptRun(run.graph, title, history))[-MAX_KEPT:]
        last = self.kept[-1]
        last.n_iterations, last.seconds = snapshot.n_iterations, snapshot.seconds

    def has_layout(self, graph: PangenomeGraph) -> bool:
        """Return whether a layout of a graph is shown."""
        run = self._run
        is_of_it = run is not None and run.graph is graph and bool(run.history)
        return is_of_it and run.progress is not None

    def layout_of(self, graph: PangenomeGraph) -> GraphLayout | None:
        """Return the layout that is shown of a graph; None where it was not laid out."""
        return self._run.layout if self.has_layout(graph) else None
