"""The relationship matrix, computed on demand: heat map, histogram and related pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.relatives import RelatedPairs, relatives
from genoviz.model.columns import distinct
from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.samples.relationship_view import (
    MAX_SAMPLES,
    RelationshipView,
    degree_of,
    iter_relate,
    pick_evenly,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.column_widths import IDENTIFIER
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.remote_table import Column
from genoviz_app.parts.styles import PILES, WRAPS
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.histograms import Bins, QualityHistogram
from genoviz_app.plots.samples import MAX_CELLS, MatrixFigure

PAIR_COLUMNS = (
    Column("Sample 1", share=92, min_width=IDENTIFIER),
    Column("Sample 2", share=92, min_width=IDENTIFIER),
    Column("Related", is_number=True, share=58, format="0.000"),
    Column("Degree", share=66),
)
USUAL_MAXIMUM = 4_000
QUICK = 2_000_000_000
"""Pairs of samples times variants up to which the matrix is computed automatically."""
NO_PAIRS = "Press Compute matrix to list the related pairs."
METHODS = {"VanRaden": "vanraden", "GCTA": "gcta"}
PILED: dict[str, Any] = {at: {"flexDirection": "column", "flexWrap": "nowrap"} for at in PILES}
FIELD: dict[str, Any] = {"size": "small", "margin": (10, 6, 4, 0)}
STYLE = ":host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }"


@dataclass(frozen=True, eq=False)
class PairRows:
    """Related pairs.

    Attributes
    ----------
    pairs
        The pairs, as indices of the matrix's samples.
    ids
        str: IDs of these samples.
    """

    pairs: RelatedPairs
    ids: np.ndarray
    noun = "pair"
    hidden = ()

    def __len__(self) -> int:
        return len(self.pairs.first)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the pairs in which a sample's ID contains a text."""
        found = np.char.find(np.char.lower(self.ids), text.strip().lower()) >= 0
        return found[self.pairs.first] | found[self.pairs.second]

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        if column == "Sample 1":
            return self.ids[self.pairs.first]
        if column == "Sample 2":
            return self.ids[self.pairs.second]
        return self.pairs.relationship

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some pairs."""
        relationship = self.pairs.relationship[rows]
        return pd.DataFrame(
            {
                "Sample 1": self.ids[self.pairs.first[rows]],
                "Sample 2": self.ids[self.pairs.second[rows]],
                "Related": relationship,
                "Degree": np.char.replace(degree_of(relationship), " degree", ""),
            }
        )


class RelationshipPanel:
    """Fields, a heat map, a histogram with a threshold, and a table of pairs.

    Attributes
    ----------
    view, minimum
        The current `RelationshipView` or None, and the minimum relationship of listed pairs.
    matrix, histogram, pairs
        The figures and the table.
    heat_panel, pairs_panel
        Panel objects.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self._wanted: Any = None
        self.view: RelationshipView | None = None
        self._bounds = (0, 0, 0, 0)
        self.minimum = 0.0
        self.task = state.new_question("relationship matrix", self._on_view)
        self._binning = Question(state.session, "cells of a matrix", self._on_cells)
        self._pairing = Question(state.session, "related pairs", self._on_pairs)
        self.matrix = MatrixFigure(self._look, self._choose_places)
        self.histogram = QualityHistogram(
            "relationship-histogram", "Relationship", "Pairs", drops_below=True,
            on_threshold=self._on_threshold,
            on_bar=lambda bins, place: self._on_threshold(float(bins.edges[place])),
            watch=partial(Watched, state.session),
        )  # fmt: skip
        self._cells: tuple[np.ndarray, tuple[int, int, int, int]] | None = None
        self._cells_turn = Turn(self.matrix.plot, self._draw_cells)
        self._turns = (
            Turn(self.matrix.plot, self._draw),
            Turn(self.histogram.plot, self._draw_histogram),
        )
        self.pairs = LongTable(
            state.session, PAIR_COLUMNS, placeholder="Sample", on_row=self._on_pair,
            nothing=NO_PAIRS,
        )  # fmt: skip
        self.pairs.search.width = 104
        self._pairs_place = pmui.Column(sizing_mode="stretch_both", margin=0)
        self._arrange()
        state.param.watch(lambda _: self._follow(), "relationships")

    def _arrange(self) -> None:
        self.run_button = pmui.Button(
            label="Compute matrix", icon="grid_on", size="small", variant="contained",
            margin=(12, 8, 0, 0), description="Compute matrix: genomic relationships of samples",
        )  # fmt: skip
        self.run_button.on_click(lambda _: self.run())
        self.method = pmui.Select(label="Method", options=METHODS, width=150, **FIELD)
        self.maximum = pmui.IntInput(
            label="Samples ≤", value=USUAL_MAXIMUM, start=2, end=MAX_SAMPLES, width=136,
            description="Maximum number of samples shown, evenly spaced; or pick samples in the "
            "scatter plot",
            **FIELD,
        )  # fmt: skip
        self.progress = TaskBar(self.task)
        self.said = pn.pane.HTML(
            "", stylesheets=[STYLE], sizing_mode="stretch_width", margin=(0, 8, 2, 8)
        )
        self.heat_panel = pmui.Column(
            pmui.Row(
                self.run_button, self.method, self.maximum, sizing_mode="stretch_width",
                margin=(0, 0, 0, 8), sx=WRAPS,
            ),
            self.progress.panel,
            pn.pane.Bokeh(self.matrix.plot, sizing_mode="stretch_both", margin=(0, 4, 0, 4)),
            self.said,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip
        table = pmui.Column(
            self.pairs.bar, self._pairs_place, sizing_mode="stretch_both", margin=(0, 0, 0, 8),
            styles={"flex": "1.9 1 0", "min-width": "0", "min-height": "0"},
        )  # fmt: skip
        self.pairs_panel = pmui.Row(
            pn.pane.Bokeh(
                self.histogram.plot, sizing_mode="stretch_both", margin=(6, 0, 4, 4),
                styles={"flex": "1 1 0", "min-height": "0"},
            ),
            table,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"}, sx=PILED,
        )  # fmt: skip

    def want(self) -> None:
        """Compute the matrix of the subject unless that is done or takes long."""
        subject = self._state.subject
        if subject is None or subject is self._wanted:
            return
        self._wanted = subject
        if subject.n_samples**2 * subject.n_variants <= QUICK and self.view is None:
            self.run()

    def run(self) -> None:
        """Compute the matrix of the subject or the selected samples; of many, a subsample."""
        subject, chosen = self._state.subject, self._state.chosen
        if subject is None:
            return
        maximum = int(self.maximum.value or USUAL_MAXIMUM)
        if len(chosen) > 2:
            picked = pick_evenly(len(chosen), maximum)
            samples = chosen if picked is None else chosen[picked]
        else:
            samples = pick_evenly(subject.n_samples, maximum)
        self.task.ask(iter_relate, subject, self.method.value, samples)

    def make_table(self) -> None:
        """Create the table in the browser, once there are rows."""
        self.pairs.make(self._pairs_place)

    def _on_view(self, view: RelationshipView) -> None:
        self.view = view
        self._state.relationships = view.matrix

    def _follow(self) -> None:
        view = self.view
        if self._state.relationships is None or view is None:
            self.view = self._cells = None
            self._binning.drop()
            self._pairing.drop()
            self.pairs.show(None)
            self.said.object = ""
        else:
            n, total = len(view.samples), self._state.subject.n_samples
            of = n_words(n, "sample") if n == total else f"{n:,} of {n_words(total, 'sample')}"
            self.said.object = (
                f"{of}, "
                f"{n_words(view.matrix.n_variants, 'variant that varies', 'variants that vary')}; "
                "a click picks a "
                "pair."
            )
            self._bounds = (0, n, 0, n)
            self.minimum = view.minimum
            self._ask_pairs()
            self._binning.ask(view.cells, self._bounds, MAX_CELLS)
        self.run_button.variant = "contained" if view is None else "outlined"
        for turn in self._turns:
            turn.ask()

    def _draw(self) -> None:
        """Show the whole matrix; its cells are drawn once they are computed."""
        view = self.view
        with pn.io.hold():
            if view is None:
                self.matrix.show(1, (0.0, 1.0))
                self.matrix.draw(np.empty((0, 0), np.float32), (0, 0, 0, 0))
            else:
                self.matrix.show(len(view.samples), view.ends)

    def _draw_histogram(self) -> None:
        view = self.view
        with pn.io.hold():
            if view is None:
                self.histogram.show(Bins(np.linspace(0, 1, 3), np.zeros(2, np.int64)))
            else:
                self.histogram.show(Bins(view.edges, view.counts), digits=".3f")
            self.histogram.place_line(self.minimum if view is not None else 0.0)

    def _look(self, ends: tuple[float, float, float, float]) -> None:
        """Bin the visible part again."""
        if self.view is None:
            return
        n = len(self.view.samples)
        places = [int(np.clip(end, 0, n)) for end in np.floor(ends)]
        bounds = (places[0], min(places[1] + 1, n), places[2], min(places[3] + 1, n))
        if bounds != self._bounds and bounds[0] < bounds[1] and bounds[2] < bounds[3]:
            self._bounds = bounds
            self._binning.ask(self.view.cells, bounds, MAX_CELLS)

    def _on_cells(self, answer: tuple[np.ndarray, tuple[int, int, int, int]]) -> None:
        self._cells = answer
        self._cells_turn.ask()

    def _draw_cells(self) -> None:
        if self.view is not None and self._cells is not None:
            self.matrix.draw(*self._cells)

    def _on_threshold(self, minimum: float) -> None:
        view = self.view
        if view is None:
            return
        self.minimum = max(minimum, view.lowest_listed)
        self.histogram.place_line(self.minimum)
        self._ask_pairs()

    def _ask_pairs(self) -> None:
        matrix, minimum = self.view.matrix, self.minimum

        def answer() -> PairRows:
            return PairRows(relatives(matrix, at_least=minimum), matrix.samples.ids)

        self._pairing.ask(answer)

    def _on_pairs(self, rows: PairRows) -> None:
        self.pairs.show(rows)

    def _on_pair(self, row: int) -> None:
        pairs = self.pairs.listed.source.pairs
        self._choose(np.array([pairs.first[row], pairs.second[row]]))

    def _choose_places(self, x: int, y: int) -> None:
        if self.view is not None:
            self._choose(self.view.order[[x, y]])

    def _choose(self, of_matrix: np.ndarray) -> None:
        self._state.chosen = distinct(self.view.samples[of_matrix])
