"""Which haplotypes have the listed hits: a row for each hit, a column for each haplotype."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove, Tap

from app.pages.offtargets.hit_filter import FoundHits
from app.pages.offtargets.state import OffTargetState
from app.parts.questions import Question
from app.parts.turn import Turn
from app.plots.kmer_matrix import MatrixFigure

MAX_HITS, MAX_COLUMNS = 2_000, 500
MAX_LABELS = 32, 24
TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"


@dataclass(frozen=True, eq=False)
class HaplotypeMatrix:
    """How often haplotypes have hits.

    Attributes
    ----------
    found
        The hits that are listed.
    counts
        int64, shape (n_hits, n_haplotypes), of as many as are shown.
    rows, columns
        Names of the hits and of the haplotypes.
    """

    found: FoundHits
    counts: np.ndarray
    rows: list[str]
    columns: list[str]


def make_matrix(found: FoundHits) -> HaplotypeMatrix:
    """Return the first of the listed hits, in their order, on all haplotypes."""
    result, rows = found.result, found.rows[:MAX_HITS]
    hits, guides = result.hits, result.query.guides
    names = [
        f"{guides[guide].name}: {mismatches} mm"
        for guide, mismatches in zip(
            hits.guide_ids[rows].tolist(), hits.mismatches[rows].tolist(), strict=True
        )
    ]
    columns = list(result.sites.haplotypes.names[:MAX_COLUMNS])
    counts = result.sites.count_copies(rows)[:, : len(columns)]
    return HaplotypeMatrix(found, counts, names, columns)


class HaplotypesPanel:
    """A figure in the place of the table of hits.

    Attributes
    ----------
    figure, said, panel
        The figure, what the pointer is on, and the Panel object.
    matrix
        What is drawn, or None.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.matrix: HaplotypeMatrix | None = None
        self._asked: FoundHits | None = None
        self._cell: tuple[int, int] | None = None
        self._is_hovering = False
        self._question = Question(state.session, "haplotypes of hits", self._take)
        self.figure = MatrixFigure(name="offtarget-haplotypes", counted="Copies")
        self.figure.figure.min_border_left = 130
        self._turn = Turn(self.figure.figure, self._draw)
        plot = self.figure.figure
        plot.on_event(MouseMove, self._take_pointer)
        plot.on_event(MouseLeave, self._take_pointer)
        plot.on_event(Tap, self._take_tap)
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
            if found is None or found.result.sites is None:
                self._take(None)
            else:
                self._question.ask(make_matrix, found)
        if self._is_hovering:
            self._is_hovering = False
            self._say()

    def _take(self, matrix: HaplotypeMatrix | None) -> None:
        self.matrix, self._cell = matrix, None
        self._turn.ask()

    def _draw(self) -> None:
        matrix = self.matrix
        with pn.io.hold():
            if matrix is None:
                self.figure.show(np.zeros((0, 0)), [], [])
            else:
                self.figure.show(matrix.counts, matrix.rows, matrix.columns)
                plot = self.figure.figure
                axes = plot.xaxis[0], plot.yaxis[0]
                for axis, most in zip(axes, MAX_LABELS, strict=True):
                    ticks = axis.ticker.ticks
                    axis.ticker.ticks = ticks[:: -(-len(ticks) // most) or 1]
            self._say()

    def _say(self) -> None:
        matrix = self.matrix
        if matrix is None or not matrix.counts.size:
            self.said.object = "No hits are listed."
            return
        if self._cell is not None:
            row, column = self._cell
            n = int(matrix.counts[row, column])
            times = {0: "lacks", 1: "has"}.get(n, f"has {n:,} times")
            self.said.object = (
                f"<b>{escape(matrix.columns[column])}</b> {times} the site "
                f"{escape(matrix.rows[row])}"
            )
            return
        n_rows, n_columns = matrix.counts.shape
        n_hits, n_all = len(matrix.found), matrix.found.result.sites.n_haplotypes
        rows = f"{n_rows:,} hits" if n_rows == n_hits else f"the first {n_rows:,} of {n_hits:,}"
        columns = f"{n_columns:,}" if n_columns == n_all else f"{n_columns:,} of {n_all:,}"
        share = 100 * np.count_nonzero(matrix.counts) / matrix.counts.size
        self.said.object = (
            f"{rows} × {columns} haplotypes; {share:.1f} % present. Colour: copies of the site. "
            "Point at a cell, or click to look at its hit."
        )

    def _cell_of(self, event: Any) -> tuple[int, int] | None:
        matrix = self.matrix
        if matrix is None or getattr(event, "x", None) is None:
            return None
        row, column = int(np.floor(-event.y)), int(np.floor(event.x))
        n_rows, n_columns = matrix.counts.shape
        return (row, column) if 0 <= row < n_rows and 0 <= column < n_columns else None

    def _take_pointer(self, event: Any) -> None:
        cell = None if isinstance(event, MouseLeave) else self._cell_of(event)
        if cell != self._cell:
            self._cell, self._is_hovering = cell, True

    def _take_tap(self, event: Any) -> None:
        cell, matrix = self._cell_of(event), self.matrix
        if cell is not None and matrix.found is self._state.found:
            self._state.choose_hit(int(matrix.found.rows[cell[0]]))
