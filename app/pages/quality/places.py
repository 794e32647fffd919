"""Tabs on where a layout is bad: worst places, paths, and stress by distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.errors import GenovizError
from genoviz_app.pages.quality.measured import LAYOUT_PAGE, Measured, QualityState
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.file_button import Writer, file_button
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, STACKS, WORDS_BELOW
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.quality import DistanceFigures
from genoviz_app.session.lit_sets import Highlight

N_LIT = 100
STRESS = 92
"""Width of a stress such as 12,345.6789, px."""
WORDS = ":host { font-size: 12.5px; line-height: 1.5; } p { margin: 6px 10px; opacity: 0.85; }"
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
PLACE_COLUMNS = (
    Column("Node", share=9),
    Column("Path", share=30),
    Column("Position", is_number=True, share=9, min_width=POSITION),
    Column("Stress", is_number=True, share=9, format="0,0.0000", min_width=STRESS),
    Column("Gap behind (bp)", is_number=True, share=12, format="0,0.0"),
    Column("Why", share=36),
)
PATH_COLUMNS = (
    Column("Path", share=5),
    Column("Steps", is_number=True, share=2),
    Column("Stress", is_number=True, share=2, format="0,0.0000", min_width=STRESS),
    Column("Torn joints", is_number=True, share=2),
)


class WorstPlaces:
    """The tab of the nodes with the largest stress."""

    title = "Worst places"
    has_figure = False

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.nodes = np.empty(0, np.int64)
        self.table = RemoteTable(PLACE_COLUMNS, placeholder="Node or path", on_row=self._on_row)
        light = light_button(
            state.session, self._worst, f"the {N_LIT} worst nodes", margin=(4, 4, 0, 8)
        )
        self.colour = pmui.Button(
            label="Colour the layout by stress", icon="palette", size="small", variant="outlined",
            margin=(4, 4, 0, 4),
            description="Colour each node of the layout by its stress",
        )  # fmt: skip
        self.colour.on_click(lambda _: self._show_colours())
        save = file_button(state.session, "TSV", self._file, margin=(4, 4, 0, 4))
        words = (
            "<p>Click a row to see its node on the layout. A torn node is farther "
            "from its neighbour than ten times the mean length of both.</p>"
        )
        self.panel = pmui.Column(
            pmui.Row(
                light, self.colour, save,
                pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
                sizing_mode="stretch_width", margin=0, sx={**NARROW_WRAPS, **WORDS_BELOW},
            ),
            self.table.panel, **FILL,
        )  # fmt: skip
        state.param.watch(self._show, ["measured", "waits"])
        self._show()

    def _show(self, *_events: Any) -> None:
        measured = self._state.measured
        if measured is None:
            self.nodes = np.empty(0, np.int64)
            self.table.clear(self._state.waits)
            return
        frame = measured.worst.reset_index(drop=True)
        frame["Position"] += 1  # on pages from 1, in files from 0
        self.nodes = measured.worst.index.to_numpy()
        words = np.char.lower((frame["Node"] + " " + frame["Path"]).to_numpy(str))
        self.table.show(TableRows(frame, words, np.arange(len(frame)), note=torn_words(measured)))

    def _file(self) -> tuple[str, Writer]:
        measured = self._state.measured
        return table_file("worst_places", None if measured is None else measured.worst)

    def _on_row(self, row: int) -> None:
        self._state.go_to(int(self.nodes[row]))

    def _worst(self) -> Highlight:
        if not len(self.nodes):
            raise GenovizError("no measurement yet; press Measure first")
        nodes = self.nodes[:N_LIT]
        return Highlight("worst places", "node", nodes=nodes, graph=self._state.graph)

    def _show_colours(self) -> None:
        self._state.session.wanted_page = LAYOUT_PAGE
        if self._state.runs.choose_colour is not None:
            self._state.runs.choose_colour(ColourChoice("stress"))


def table_file(name: str, frame: pd.DataFrame | None) -> tuple[str, Writer]:
    """Return name and writer of a table of the measurements.

    Raises
    ------
    GenovizError
    If nothing was measured.
    """
    if frame is None:
        raise GenovizError("no measurement yet; press Measure first")
    return f"{name}.tsv", lambda path: frame.to_csv(path, sep="\t", index=False, na_rep="NA")


def torn_words(measured: Measured) -> str:
    """Return the number of torn joints as text."""
    return f"{measured.near.n_torn:,} of {n_words(measured.near.n_joints, 'joint')} are torn"


class PathRanking:
    """The tab of paths, the worst first."""

    title = "Paths"
    has_figure = False

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.table = RemoteTable(PATH_COLUMNS, placeholder="Path", on_row=self._on_row)
        save = file_button(state.session, "TSV", self._file, margin=(4, 0, 0, 8))
        self.panel = pmui.Column(save, self.table.panel, **FILL)
        self.order, self.frame = np.empty(0, np.int64), None
        state.param.watch(self._show, ["measured", "waits"])
        self._show()

    def _show(self, *_events: Any) -> None:
        measured = self._state.measured
        self.frame = None
        if measured is None:
            self.table.clear(self._state.waits)
            return
        graph, near = measured.graph, measured.near
        n_torn = np.diff(np.append(0, np.cumsum(near.is_torn))[graph.path_offsets])
        self.order = np.argsort(-np.nan_to_num(near.paths, nan=-1.0), kind="stable")
        frame = self.frame = pd.DataFrame(
            {
                "Path": [graph.path_names[path] for path in self.order.tolist()],
                "Steps": np.diff(graph.path_offsets)[self.order],
                "Stress": near.paths[self.order],
                "Torn joints": n_torn[self.order],
            }
        )
        words = np.char.lower(frame["Path"].to_numpy(str))
        note = "click a path to go to its worst place"
        self.table.show(TableRows(frame, words, np.arange(len(frame)), note=note))

    def _file(self) -> tuple[str, Writer]:
        return table_file("path_stress", self.frame)

    def _on_row(self, row: int) -> None:
        measured = self._state.measured
        graph, path = measured.graph, int(self.order[row])
        start, end = graph.path_offsets[path : path + 2].tolist()
        stress = np.nan_to_num(measured.near.steps[start:end], nan=-1.0)
        if len(stress):
            self._state.go_to(int(graph.steps[start + int(np.argmax(stress))] >> 1))


class ByDistance:
    """The tab of stress by distance."""

    title = "By distance"
    has_figure = True

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.figures = DistanceFigures()
        self._turn = Turn(self.figures.bars, self._draw)
        words = (
            "<p>Bars: stress by distance along the path. Points: distance of each "
            "pair along a path and in the layout; on the dashed line they are "
            "equal, below it the pair is too close in the layout.</p>"
        )
        plots = (self.figures.bars, self.figures.pairs)
        self.panel = pmui.Column(
            pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
            pmui.Row(*(pn.pane.Bokeh(plot, **FILL) for plot in plots), sx=STACKS, **FILL),
            **FILL,
        )
        state.param.watch(lambda _: self._turn.ask(), ["measured", "waits"])
        self._turn.ask()

    def _draw(self) -> None:
        measured = self._state.measured
        self.figures.show(None if measured is None else measured.distances, self._state.waits)
