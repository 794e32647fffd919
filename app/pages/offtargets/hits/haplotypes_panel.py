"""Which haplotypes have the listed hits: a row for each hit, a column for each haplotype."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from bokeh.events import Tap

from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.hits.matrix_panel import MatrixPanel
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.words import n_words
from genoviz_app.plots.kmer_matrix import MatrixFigure

MAX_HITS, MAX_COLUMNS = 2_000, 500
MAX_LABELS = 32, 24


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

    @property
    def summary(self) -> str:
        """How many hits and haplotypes are shown."""
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
        """Return how often a haplotype has a hit, as HTML."""
        n = int(self.counts[row, column])
        times = {0: "lacks", 1: "has"}.get(n, f"has {n:,} times")
        return f"<b>{escape(self.columns[column])}</b> {times} the site {escape(self.rows[row])}"


def make_matrix(found: FoundHits) -> HaplotypeMatrix | None:
    """Return the first of the listed hits, in their order, on all haplotypes; None without any."""
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
    columns = list(result.sites.haplotypes.names[:MAX_COLUMNS])
    counts = result.sites.count_copies(rows)[:, : len(columns)]
    return HaplotypeMatrix(found, counts, names, columns)


class HaplotypesPanel(MatrixPanel):
    """The listed hits on haplotypes; a click looks at a hit."""

    def __init__(self, state: OffTargetState) -> None:
        figure = MatrixFigure(name="offtarget-haplotypes", counted="Copies")
        figure.figure.min_border_left = 130
        super().__init__(state, figure, make_matrix, "haplotypes of hits")
        figure.figure.on_event(Tap, self._take_tap)

    def _arrange_axes(self) -> None:
        plot = self.figure.figure
        for axis, most in zip((plot.xaxis[0], plot.yaxis[0]), MAX_LABELS, strict=True):
            ticks = axis.ticker.ticks
            axis.ticker.ticks = ticks[:: -(-len(ticks) // most) or 1]

    def _take_tap(self, event: Any) -> None:
        cell, matrix = self._cell_of(event), self.shown
        if cell is not None and matrix.found is self._state.found:
            self._state.choose_hit(int(matrix.found.rows[cell[0]]))
