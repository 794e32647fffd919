"""Heat maps of the listed hits: mismatches by kind and position, and haplotypes by site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove, Tap

from genoviz.analyses.offtargets.differences import KINDS, MismatchKinds
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.search.graph_sites import GraphSites
from genoviz_app.pages.offtargets.search.guide_groups import mismatch_kinds_of
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.kmer_matrix import MatrixFigure

TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"
MAX_HITS, MAX_COLUMNS = 2_000, 500
MAX_LABELS = 32, 24


class HitMatrix(Protocol):
    """A table of counts over the listed hits.

    Attributes
    ----------
    found
        The hits.
    counts
        int64, shape (n_rows, n_columns).
    rows, columns
        Names of rows and columns.
    summary
        A summary in one sentence.
    """

    found: FoundHits
    counts: np.ndarray
    rows: list[str]
    columns: list[str]
    summary: str

    def describe(self, row: int, column: int) -> str:
        """Describe a cell in HTML."""


class MatrixPanel:
    """A heat map that replaces the table of hits.

    Parameters
    ----------
    state
        State of the page.
    figure
        The figure that draws the matrix.
    find
        Returns the matrix of the listed hits, or None if they have none.
    title
        Title in the list of jobs.

    Attributes
    ----------
    figure, said, panel
        The figure, the description of the cell under the pointer, and the Panel object.
    shown
        The drawn matrix, or None.
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
        self._cell: tuple[int, int] | None = None
        self._question = Question(state.session, title, self._on_answer)
        # During a search, hits may arrive faster than they can be drawn.
        self._stale = Watched(
            state.session, self._ask,
            lambda: self.panel.visible and not (self._question.is_open and state.is_continued),
        )  # fmt: skip
        self._stale.follow(state, "found")
        self._hovering = Watched(state.session, self._say)
        self.figure, plot = figure, figure.figure
        self._turn = Turn(plot, self._draw)
        plot.on_event(MouseMove, self._on_pointer)
        plot.on_event(MouseLeave, self._on_pointer)
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

    def _ask(self) -> None:
        if self._state.found is None:
            self._on_answer(None)
        else:
            self._question.ask(self._find, self._state.found)

    def _on_answer(self, shown: HitMatrix | None) -> None:
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
        """Adjust the axes that the figure created."""

    def _say(self) -> None:
        shown = self.shown
        if shown is None or not len(shown.found):
            self.said.object = "No hits are listed."
        elif self._cell is None:
            self.said.object = shown.summary
        else:
            self.said.object = shown.describe(*self._cell)

    def _cell_of(self, event: Any) -> tuple[int, int] | None:
        """Return the cell under the pointer."""
        if self.shown is None or isinstance(event, MouseLeave) or event.x is None:
            return None
        row, column = int(np.floor(-event.y)), int(np.floor(event.x))
        n_rows, n_columns = self.shown.counts.shape
        return (row, column) if 0 <= row < n_rows and 0 <= column < n_columns else None

    def _on_pointer(self, event: Any) -> None:
        cell = self._cell_of(event)
        if cell != self._cell:
            self._cell = cell
            self._hovering.start()


@dataclass(frozen=True, eq=False)
class HaplotypeMatrix:
    """Copy numbers of hits in haplotypes.

    Attributes
    ----------
    found
        The listed hits.
    counts
        int64, shape (n_hits, n_haplotypes): copies of the hits and haplotypes that are shown.
    rows, columns
        Names of the hits and of the haplotypes.
    """

    found: FoundHits
    counts: np.ndarray
    rows: list[str]
    columns: list[str]

    @property
    def summary(self) -> str:
        """The numbers of hits and haplotypes in the matrix."""
        n_rows, n_columns = self.counts.shape
        n_hits, n_all = len(self.found), self.found.result.sites.n_haplotypes
        rows = f"the first {n_rows:,} of {n_hits:,}"
        if n_rows == n_hits:
            rows = n_words(n_rows, "hit")
        columns = f"{n_columns:,}" if n_columns == n_all else f"{n_columns:,} of {n_all:,}"
        share = 100 * np.count_nonzero(self.counts) / max(self.counts.size, 1)
        return (
            f"{rows} × {columns} haplotypes; {share:.1f} % present. Colour: copies of the site. "
            "Point at a cell, or click to look at its hit."
        )

    def describe(self, row: int, column: int) -> str:
        """Describe the copy number of a hit in a haplotype, as HTML."""
        n = int(self.counts[row, column])
        times = {0: "lacks", 1: "has"}.get(n, f"has {n:,} times")
        return f"<b>{escape(self.columns[column])}</b> {times} the site {escape(self.rows[row])}"


def make_matrix(found: FoundHits) -> HaplotypeMatrix | None:
    """Return the first listed hits by haplotype; None if there are none."""
    result, rows = found.result, found.rows[:MAX_HITS]
    if result.sites is None:
        return None
    hits, guides = result.hits, result.query.guides
    names = [
        f"{guides[guide].name}: {mismatches} mm"
        for guide, mismatches in zip(
            hits.guide_ids[rows].tolist(), hits.mismatches[rows].tolist(), strict=True
        )
    ]
    columns, counts = _copies(result.sites, rows)
    return HaplotypeMatrix(found, counts, names, columns)


def _copies(sites: GraphSites, rows: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the first haplotypes, and the copy numbers of some sites in them."""
    columns = list(sites.haplotypes.names[:MAX_COLUMNS])
    return columns, sites.count_copies(rows)[:, : len(columns)]


class HaplotypesPanel(MatrixPanel):
    """The listed hits by haplotype; a click selects a hit."""

    def __init__(self, state: OffTargetState) -> None:
        figure = MatrixFigure(name="offtarget-haplotypes", counted="Copies")
        figure.figure.min_border_left = 130
        super().__init__(state, figure, make_matrix, "haplotypes of hits")
        figure.figure.on_event(Tap, self._on_tap)

    def _arrange_axes(self) -> None:
        plot = self.figure.figure
        for axis, maximum in zip((plot.xaxis[0], plot.yaxis[0]), MAX_LABELS, strict=True):
            ticks = axis.ticker.ticks
            axis.ticker.ticks = ticks[:: -(-len(ticks) // maximum) or 1]

    def _on_tap(self, event: Any) -> None:
        cell, matrix = self._cell_of(event), self.shown
        if cell is not None and matrix.found is self._state.found:
            self._state.choose_hit(int(matrix.found.rows[cell[0]]))


@dataclass(frozen=True, eq=False)
class Differences:
    """Mismatches of the listed hits: a row per type, a column per position.

    Attributes
    ----------
    found
        The listed hits.
    kinds
        Their mismatches.
    """

    found: FoundHits
    kinds: MismatchKinds

    @property
    def counts(self) -> np.ndarray:
        """Number of mismatches by type and position; int64."""
        return self.kinds.counts

    @property
    def rows(self) -> list[str]:
        """Names of the mismatch types."""
        return [kind.replace(">", " → ") for kind in KINDS]

    @property
    def columns(self) -> list[str]:
        """Positions in the guide, or distances from the PAM if guide lengths differ."""
        query, n = self.found.result.query, self.counts.shape[1]
        if len(query.lengths) == 1 or query.pam.is_first:
            return [str(place) for place in range(1, n + 1)]
        return [str(place) for place in range(-n, 0)]

    @property
    def axis(self) -> str:
        """Label of the column axis."""
        query = self.found.result.query
        if len(query.lengths) == 1:
            return "Position in the guide, 5′ to 3′"
        return "Position from the PAM"

    @property
    def summary(self) -> str:
        """The total number of mismatches."""
        total, others = int(self.counts.sum()), self.kinds.n_others
        more = f", and {others:,} with N or IUPAC letters" if others else ""
        return (
            f"{n_words(total, 'mismatch', 'mismatches')}{more} in {self.kinds.n_hits:,} listed "
            "hits: base of the "
            "guide → base of the genome on the guide's strand."
        )

    def describe(self, row: int, column: int) -> str:
        """Describe the number of hits with a mismatch, as HTML."""
        n = int(self.counts[row, column])
        share = 100 * n / self.kinds.n_hits
        return (
            f"<b>{self.rows[row]}</b> at position {self.columns[column]}: {n:,}, "
            f"{share:.1f} % of the listed hits"
        )


def find_differences(found: FoundHits) -> Differences:
    """Return the mismatches of the listed hits."""
    return Differences(found, mismatch_kinds_of(found.result.hits, found.rows))


class DifferencesPanel(MatrixPanel):
    """The mismatches of the listed hits."""

    def __init__(self, state: OffTargetState) -> None:
        figure = MatrixFigure(name="offtarget-differences", counted="Mismatches")
        figure.figure.min_border_left = 60
        super().__init__(state, figure, find_differences, "mismatches of hits")

    def _arrange_axes(self) -> None:
        plot = self.figure.figure
        plot.xaxis[0].update(major_label_orientation=0.0, axis_label=self.shown.axis)
        plot.min_border_bottom = 40
