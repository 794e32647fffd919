"""Where a layout is bad: its stress measured, the worst places, the paths, and by distance."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from genoviz.analyses.genotypes.progress import Progress
from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.near_stress import (
    DistanceStress,
    NearStress,
    near_stress,
    stress_by_distance,
)
from genoviz.analyses.graph.layout.stress import iter_path_stress, iter_sampled_path_stress
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.errors import GenovizError
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, STACKS
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.quality import DistanceFigures
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.layout_runs import LayoutRuns
from genoviz_app.session.lit_sets import Highlight, LitSet
from genoviz_app.session.session import Session

N_SAMPLES = 1_000_000
N_WORST, N_LIT = 1_000, 100
LAYOUT_PAGE = "pangenome"
WORDS = ":host { font-size: 12.5px; line-height: 1.5; } p { margin: 6px 10px; opacity: 0.85; }"
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
PLACE_COLUMNS = (
    Column("Node", share=2),
    Column("Path", share=4),
    Column("Position", is_number=True, share=2),
    Column("Stress", is_number=True, share=2, format="0,0.0000"),
    Column("Gap behind (bp)", is_number=True, share=2, format="0,0.0"),
    Column("Torn", share=1),
)
PATH_COLUMNS = (
    Column("Path", share=5),
    Column("Steps", is_number=True, share=2),
    Column("Stress", is_number=True, share=2, format="0,0.0000"),
    Column("Torn joints", is_number=True, share=2),
)


@dataclass(frozen=True, eq=False)
class Measured:
    """How good one layout is.

    Attributes
    ----------
    graph, layout
        The graph along whose paths it was measured, and the layout.
    near, distances, sampled
        Stress by step, node and path; by distance; and of all together.
    """

    graph: PangenomeGraph
    layout: GraphLayout
    near: NearStress
    distances: DistanceStress
    sampled: PathStress


def iter_measure(graph: PangenomeGraph, layout: GraphLayout) -> Generator[Progress, None, None]:
    """Yield how far measuring is; the last progress has what was `Measured`."""
    yield Progress("finding the worst places", 0.0)
    measured = graph_to_measure(graph)
    near = near_stress(measured, layout)
    yield Progress("stress by distance", 0.3)
    distances = stress_by_distance(measured, layout)
    for step in iter_sampled_path_stress(measured, layout, n_samples=N_SAMPLES):
        sampled = step.stress
        yield Progress("sampled path stress", 0.5 + 0.5 * step.n_done / max(step.n_total, 1))
    yield Progress("measured", 1.0, Measured(measured, layout, near, distances, sampled))


def iter_exact(graph: PangenomeGraph, layout: GraphLayout) -> Generator[Progress, None, None]:
    """Yield how far the exact path stress is; the last progress has it."""
    for step in iter_path_stress(graph_to_measure(graph), layout, weighting="steps"):
        yield Progress("all pairs of steps", step.n_done / max(step.n_total, 1), step.stress)


class QualityState(param.Parameterized):
    """What was measured of the open graph; panels watch it.

    Attributes
    ----------
    measured, exact
        Of the layout that is shown; None before.
    other
        Of the layout that was opened from a file, to compare with.
    measuring, exacting, comparing
        The questions.
    """

    measured = param.ClassSelector(class_=Measured, allow_None=True)
    exact = param.ClassSelector(class_=PathStress, allow_None=True)
    other = param.ClassSelector(class_=Measured, allow_None=True)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        options: dict[str, Any] = {"pool": KERNELS}
        self.measuring = Question(session, "stress of a layout", self._on_measured, **options)
        self.exacting = Question(session, "exact path stress", self._on_exact, **options)
        self.comparing = Question(session, "stress of a second layout", self._on_other, **options)
        session.param.watch(self._forget, ["opened", "layout"])

    @property
    def graph(self) -> PangenomeGraph | None:
        """The graph that is open."""
        opened = self.session.opened
        return None if opened is None else opened.graph

    @property
    def runs(self) -> LayoutRuns:
        """The layout of the tab, and its runs."""
        return self.session.runs

    @property
    def layout(self) -> GraphLayout | None:
        """The layout that is shown; None before there is one."""
        return self.runs.layout

    @property
    def has_layout(self) -> bool:
        """Whether there is something to measure."""
        return self.runs.has_layout

    def measure(self) -> None:
        """Measure the layout as it is now."""
        graph, layout = self.graph, self.layout
        if graph is not None and layout is not None:
            self.exact = None
            self.measuring.ask(iter_measure, graph, layout)

    def measure_exactly(self) -> None:
        """Take all pairs of the layout that was measured."""
        if self.measured is not None:
            self.exacting.ask(iter_exact, self.measured.graph, self.measured.layout)

    def compare(self) -> None:
        """Measure the layout of the file, too."""
        if self.session.layout is not None and self.graph is not None:
            self.comparing.ask(iter_measure, self.graph, self.session.layout.layout)

    def go_to(self, node: int) -> None:
        """Show a node on the layout."""
        self.session.picked = np.array([node], np.int64)
        self.session.wanted_page = LAYOUT_PAGE
        self.session.highlights.want(LitSet.of_found(None, self.session.picked))

    def _forget(self, *_events: Any) -> None:
        for question in (self.measuring, self.exacting, self.comparing):
            question.drop()
        self.param.update(measured=None, exact=None, other=None)

    def _on_measured(self, measured: Measured) -> None:
        self.measured = measured

    def _on_exact(self, exact: PathStress) -> None:
        self.exact = exact

    def _on_other(self, measured: Measured) -> None:
        self.other = measured


class WorstPlaces:
    """The tab of the nodes of the largest stress."""

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
            description="Colour the layout by stress: every node in the colour of its own",
        )  # fmt: skip
        self.colour.on_click(lambda _: self._show_colours())
        words = "<p>Click a row to see its node on the layout. What is torn lies far from its \
neighbour: more than ten times the length of both.</p>"
        self.panel = pmui.Column(
            pmui.Row(
                light, self.colour,
                pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
                sizing_mode="stretch_width", margin=0, sx=NARROW_WRAPS,
            ),
            self.table.panel, **FILL,
        )  # fmt: skip
        state.param.watch(self._show, "measured")
        self._show()

    def _show(self, *_events: Any) -> None:
        measured = self._state.measured
        if measured is None:
            self.nodes = np.empty(0, np.int64)
            self.table.clear("A layout is measured as soon as it has come to rest.")
            return
        frame, self.nodes = worst_frame(measured)
        words = np.char.lower((frame["Node"] + " " + frame["Path"]).to_numpy(str))
        self.table.show(TableRows(frame, words, np.arange(len(frame)), note=torn_words(measured)))

    def _on_row(self, row: int) -> None:
        self._state.go_to(int(self.nodes[row]))

    def _worst(self) -> Highlight:
        if not len(self.nodes):
            raise GenovizError("nothing was measured yet; press Measure first")
        nodes = self.nodes[:N_LIT]
        return Highlight("worst places", "node", nodes=nodes, graph=self._state.graph)

    def _show_colours(self) -> None:
        self._state.session.wanted_page = LAYOUT_PAGE
        if self._state.runs.choose_colour is not None:
            self._state.runs.choose_colour(ColourChoice("stress"))


def torn_words(measured: Measured) -> str:
    """Return how many joints are torn."""
    return f"{measured.near.n_torn:,} of {measured.near.n_joints:,} joints are torn"


def worst_frame(measured: Measured) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the worst places as rows, and their nodes."""
    graph, near = measured.graph, measured.near
    steps = near.find_worst(graph, N_WORST)
    paths = np.searchsorted(graph.path_offsets, steps, side="right") - 1
    nodes = (graph.steps[steps] >> 1).astype(np.int64)
    frame = pd.DataFrame(
        {
            "Node": [str(graph.node_names[node]) for node in nodes.tolist()],
            "Path": [graph.path_names[path] for path in paths.tolist()],
            "Position": graph.position_index.positions_of(steps),
            "Stress": near.steps[steps],
            "Gap behind (bp)": near.gaps[steps],
            "Torn": np.where(near.is_torn[steps], "yes", ""),
        }
    )
    return frame, nodes


class PathRanking:
    """The tab of the paths, the worst first."""

    title = "Paths"
    has_figure = False

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.table = RemoteTable(PATH_COLUMNS, placeholder="Path", on_row=self._on_row)
        self.panel = self.table.panel
        self.order = np.empty(0, np.int64)
        state.param.watch(self._show, "measured")
        self._show()

    def _show(self, *_events: Any) -> None:
        measured = self._state.measured
        if measured is None:
            self.table.clear()
            return
        graph, near = measured.graph, measured.near
        n_torn = np.diff(np.append(0, np.cumsum(near.is_torn))[graph.path_offsets])
        self.order = np.argsort(-np.nan_to_num(near.paths, nan=-1.0), kind="stable")
        frame = pd.DataFrame(
            {
                "Path": [graph.path_names[path] for path in self.order.tolist()],
                "Steps": np.diff(graph.path_offsets)[self.order],
                "Stress": near.paths[self.order],
                "Torn joints": n_torn[self.order],
            }
        )
        words = np.char.lower(frame["Path"].to_numpy(str))
        note = "click one to go to its worst place"
        self.table.show(TableRows(frame, words, np.arange(len(frame)), note=note))

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
        words = "<p>Left: how wrong distances are, for places near each other and far apart. \
Right: each pair by its distance along a path and in the layout; on the dashed line it is right, \
below it too near.</p>"
        plots = (self.figures.bars, self.figures.pairs)
        self.panel = pmui.Column(
            pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
            pmui.Row(*(pn.pane.Bokeh(plot, **FILL) for plot in plots), sx=STACKS, **FILL),
            **FILL,
        )
        state.param.watch(lambda _: self._turn.ask(), "measured")
        self._turn.ask()

    def _draw(self) -> None:
        measured = self._state.measured
        self.figures.show(None if measured is None else measured.distances)
