"""A matrix of the listed hits in the place of their table, and what the pointer is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove

from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.kmer_matrix import MatrixFigure

TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"


class HitMatrix(Protocol):
    """Counts of what the listed hits have.

    Attributes
    ----------
    found
        The hits.
    counts
        int64, shape (n_rows, n_columns).
    rows, columns
        Their names.
    summary
        All of it in a sentence.
    """

    found: FoundHits
    counts: np.ndarray
    rows: list[str]
    columns: list[str]
    summary: str

    def describe(self, row: int, column: int) -> str:
        """Return a cell in words, as HTML."""


class MatrixPanel:
    """A figure in the place of the table of hits.

    Parameters
    ----------
    state
        Of the page.
    figure
        What draws the matrix.
    find
        Returns the matrix of the listed hits, or None where they have none.
    title
        What is asked, for the list of jobs.

    Attributes
    ----------
    figure, said, panel
        The figure, what the pointer is on, and the Panel object.
    shown
        What is drawn, or None.
    """

    def __init__(
        self,
        state: OffTargetState,
        figure: MatrixFigure,
        find: Callable[[FoundHits], HitMatrix | None],
        title: str,
    ) -> None:
        self._state, self._find = state, find
        self.shown: Any = None
        self._asked: FoundHits | None = None
        self._cell: tuple[int, int] | None = None
        self._is_hovering = False
        self._question = Question(state.session, title, self._take)
        self.figure, plot = figure, figure.figure
        self._turn = Turn(plot, self._draw)
        plot.on_event(MouseMove, self._take_pointer)
        plot.on_event(MouseLeave, self._take_pointer)
        self.said = pn.pane.HTML(
            "", sizing_mode="stretch_width", margin=(2, 8, 2, 12), stylesheets=[TEXT]
        )
        self.panel = pmui.Column(
            self.said,
            pn.pane.Bokeh(plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            styles={"min-height": "0"},
            margin=0,
            visible=False,
        )

    def poll(self) -> None:
        """Bring the figure up to date while it is seen."""
        self._question.poll()
        found = self._state.found
        if self.panel.visible and found is not self._asked:
            self._asked = found
            if found is None:
                self._take(None)
            else:
                self._question.ask(self._find, found)
        if self._is_hovering:
            self._is_hovering = False
            self._say()

    def _take(self, shown: HitMatrix | None) -> None:
        self.shown, self._cell = shown, None
        self._turn.ask()

    def _draw(self) -> None:
        shown = self.shown
        with pn.io.hold():
            if shown is None:
                self.figure.show(np.zeros((0, 0)), [], [])
            else:
                self.figure.show(shown.counts, shown.rows, shown.columns)
                self._arrange_axes()
            self._say()

    def _arrange_axes(self) -> None:
        """Change the axes that the figure has chosen."""

    def _say(self) -> None:
        shown = self.shown
        if shown is None or not len(shown.found):
            self.said.object = "No hits are listed."
        elif self._cell is None:
            self.said.object = shown.summary
        else:
            self.said.object = shown.describe(*self._cell)

    def _cell_of(self, event: Any) -> tuple[int, int] | None:
        """Return the cell that the pointer is on."""
        if self.shown is None or isinstance(event, MouseLeave) or event.x is None:
            return None
        row, column = int(np.floor(-event.y)), int(np.floor(event.x))
        n_rows, n_columns = self.shown.counts.shape
        return (row, column) if 0 <= row < n_rows and 0 <= column < n_columns else None

    def _take_pointer(self, event: Any) -> None:
        cell = self._cell_of(event)
        if cell != self._cell:
            self._cell, self._is_hovering = cell, True
