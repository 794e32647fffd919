"""Comparisons of layouts: runs of this tab, a layout file, other options, other machines."""

from __future__ import annotations

import base64
import json
from collections.abc import Generator
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

import genoviz
from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.reproduce.figures import (
    FIGURES,
    Reproduced,
    find_figure,
    iter_reproduce,
)
from genoviz.analyses.reproduce.layouts import Tried, iter_try
from genoviz.errors import GenovizError
from genoviz.generators import Progress
from genoviz.model import PangenomeGraph
from genoviz_app.pages.quality.measured import (
    MAX_UNASKED,
    QualityState,
    both_frame,
    say_stress,
)
from genoviz_app.pages.quality.places import FILL, WORDS, torn_words
from genoviz_app.parts.file_button import ExportMenu, Writer
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, WRAPS
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.quality import CurvesFigure, RatioFigure, ScatterFigure
from genoviz_app.server.jobs import KERNELS

ROW: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0, "sx": NARROW_WRAPS}
SIMULATED = "Simulated"
STRETCHES: dict[str, Any] = {"sizing_mode": "stretch_width"}
MEASURED_ELSEWHERE = Path(genoviz.__file__).parents[1] / "benchmarks" / "results.json"
BOTH_COLUMNS = (
    Column("Path", share=5),
    Column("Shown", is_number=True, share=2, format="0,0.0000", min_width=84),
    Column("File", is_number=True, share=2, format="0,0.0000", min_width=84),
    Column("Better", share=2),
)


class Runs:
    """The tab of stress over iterations."""

    title = "Runs"
    has_figure = True

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown, self._seen = state, False, ()
        self.figure = CurvesFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        words = "<p>Runs of this tab with 95 % confidence intervals. To compare, press Run on the \
Pangenome page with other parameters. Click a name to hide its curve.</p>"
        self.panel = pmui.Column(
            pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
            pn.pane.Bokeh(self.figure.plot, **FILL),
            **FILL,
        )
        self._turn.ask()

    def poll(self) -> None:
        """Redraw if a run has progressed."""
        version = self._state.runs.version
        if version != self._seen:
            self._seen = version
            self._turn.ask()

    def _draw(self) -> None:
        kept = self._state.runs.kept
        last = max((run.history[-1][0] for run in kept), default=0) or 1
        self.figure.show(
            [
                # A layout from a file has no iterations and is drawn as a horizontal line.
                (f"{n + 1}: {run.title}", run.history if run.n_iterations else
                 [(iteration, run.history[-1][1]) for iteration in (0, last)])
                for n, run in enumerate(kept)
            ]
        )  # fmt: skip


class TwoLayouts:
    """The tab that compares the current layout with one from a file."""

    title = "Two layouts"
    has_figure = False

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.button = pmui.Button(
            label="Compare", icon="compare", size="small", variant="outlined", margin=(6, 8),
            description="Compare: the current layout with that of the file, path by path",
        )  # fmt: skip
        self.button.on_click(lambda _: state.compare())
        self.words = pn.pane.HTML("", stylesheets=[WORDS], sizing_mode="stretch_width")
        self.table = RemoteTable(BOTH_COLUMNS, placeholder="Path", on_row=lambda _: None)
        self.panel = pmui.Column(
            pmui.Row(self.button, self.words, **ROW),
            TaskBar(state.comparing).panel,
            self.table.panel,
            **FILL,
        )
        state.param.watch(self._show, ["measured", "other"])
        state.session.param.watch(self._show, ["layout", "opened"])
        self._show()

    def _show(self, *_events: Any) -> None:
        state, opened = self._state, self._state.session.layout
        measured, other = state.measured, state.other
        no_file = "" if opened is not None else "open a layout of this graph first"
        allow(self.button, no_file or ("" if measured is not None else "press Measure first"))
        if opened is None or measured is None or other is None:
            self.table.clear()
            self.words.object = f"<p>{_what_to_do(state)}</p>"
            return
        name = escape(opened.title)
        self.words.object = (
            f"<p>Shown: stress {say_stress(measured.sampled)}, {torn_words(measured)}. {name}: "
            f"stress {say_stress(other.sampled)}, {torn_words(other)}.</p>"
        )
        frame = both_frame(measured, other)
        words = np.char.lower(frame["Path"].to_numpy(str))
        self.table.show(TableRows(frame, words, np.arange(len(frame)), note="stress of near steps"))


def _what_to_do(state: QualityState) -> str:
    if state.session.layout is None:
        return (
            "Open a layout of this graph (.lay, .tsv) in the sidebar of the Pangenome "
            "page, and press Run there to make one to compare with."
        )
    if state.measured is None:
        return "Press Measure in the sidebar first."
    name = escape(state.session.layout.title)
    return f"Press Compare: the layout that is shown, path by path with that of {name}."


class SpeedAndQuality:
    """The tab that tries options; each is a dot by its time and stress."""

    title = "Speed and quality"
    has_figure = True

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.tried: list[Tried] = []
        self._n_seen = -1
        self._question = Question(state.session, "layouts with other options", self._on_end,
                                  pool=KERNELS)  # fmt: skip
        self.figure = ScatterFigure()
        self._turn = Turn(self.figure.plot, lambda: self.figure.show(self.tried))
        self.button = pmui.Button(
            label="Compare options", icon="speed", size="small", variant="outlined", margin=(6, 8),
            description="Compare options: eight layouts with both methods, from fast to thorough",
        )  # fmt: skip
        self.button.on_click(lambda _: self.start())
        words = "<p>Lower is better, further left is faster. Blue: from coarse to fine; orange: \
path-guided SGD, with its number of iterations. The current layout is not changed.</p>"
        self.panel = pmui.Column(
            pmui.Row(self.button, pn.pane.HTML(words, stylesheets=[WORDS], **STRETCHES), **ROW),
            TaskBar(self._question).panel,
            pn.pane.Bokeh(self.figure.plot, **FILL),
            **FILL,
        )
        state.session.param.watch(self._forget, "opened")
        self._turn.ask()

    def start(self) -> None:
        """Lay out the graph with all options, one after the other."""
        if self._state.graph is None:
            self._state.session.complain("No graph is open.")
            return
        self.tried = []
        self._question.ask(iter_try, self._state.graph, self.tried)

    def poll(self) -> None:
        """Draw the results so far."""
        if len(self.tried) != self._n_seen:
            self._n_seen = len(self.tried)
            self._turn.ask()

    def _on_end(self, _tried: list[Tried]) -> None:
        """Finish; `poll` draws the results."""

    def _forget(self, *_events: Any) -> None:
        self._question.drop()
        self.tried = []


class FromThePapers:
    """The tab of figures from papers, each drawn from a small run on this machine."""

    title = "From the papers"
    has_figure = False

    def __init__(self, state: QualityState) -> None:
        self._state, self.is_shown = state, False
        self.found: Reproduced | None = None
        what = "a figure of a paper"
        self._question = Question(state.session, what, self._on_drawn, pool=KERNELS)
        self.which = pmui.Select(
            label="Figure", size="small", min_width=240, max_width=640, margin=(8, 0, 4, 8),
            **STRETCHES,
            options={f"{entry.shows} ({entry.place})": entry.name for entry in FIGURES},
        )  # fmt: skip
        self.which.param.watch(self._on_figure, "value")
        self.graph = pmui.Select(
            label="Graph", size="small", min_width=170, max_width=260, margin=(8, 0, 4, 8),
            **STRETCHES,
        )  # fmt: skip
        state.session.param.watch(self._show_graphs, "opened")
        self._show_graphs()
        self.button = pmui.Button(
            label="Draw", icon="insights", size="small", variant="outlined", margin=(14, 0, 4, 8),
            description="Draw: measure at small sizes on this machine",
        )  # fmt: skip
        self.button.on_click(lambda _: self.draw())
        self.export = ExportMenu(
            state.session,
            {"Figure (SVG)": partial(self._prepare, ".svg"),
             "Figure (PNG)": partial(self._prepare, ".png"),
             "Numbers (TSV)": partial(self._prepare, ".tsv")},
            margin=(14, 0, 4, 8), visible=False,
        )  # fmt: skip
        words = "<p>Colours: measured on this machine at small sizes, when you press Draw. Grey: \
published values. Use <code>genoviz reproduce</code> for larger sizes.</p>"
        self.picture = pn.pane.HTML("", sizing_mode="stretch_width", margin=8)
        self.panel = pmui.Column(
            pmui.Row(self.which, self.graph, self.button, self.export, **(ROW | {"sx": WRAPS})),
            TaskBar(self._question).panel,
            pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
            self.picture,
            scroll=True,
            **FILL,
        )

    def _on_figure(self, _event: Any) -> None:
        self._question.drop()
        self.found, self.picture.object, self.export.visible = None, "", False
        self._show_graphs()

    def _show_graphs(self, *_events: Any) -> None:
        """Offer the open graph for figures about layouts; a large one has to be selected."""
        opened = self._state.session.opened
        self.graph.visible = find_figure(self.which.value).takes_graph
        names = [SIMULATED] if opened is None else [SIMULATED, f"Open: {opened.title}"]
        if names != self.graph.options:
            is_quick = opened is not None and opened.graph.n_steps <= MAX_UNASKED
            self.graph.param.update(options=names, value=names[-1] if is_quick else SIMULATED)

    def draw(self) -> None:
        """Measure the selected figure on the selected graph."""
        is_simulated = not self.graph.visible or self.graph.value == SIMULATED
        graph = None if is_simulated else self._state.graph
        self._question.ask(iter_drawn, self.which.value, graph)

    def _on_drawn(self, drawn: tuple[Reproduced, bytes]) -> None:
        self.found, content = drawn
        address = base64.b64encode(content).decode()
        shows = escape(self.found.entry.shows)
        self.picture.object = (
            f'<div style="overflow-x: auto" tabindex="0"><img alt="{shows}" style="max-width: '
            f'max(100%, 620px)" src="data:image/svg+xml;base64,{address}"></div>'
        )
        self.export.visible = True

    def _prepare(self, ending: str) -> tuple[str, Writer]:
        if self.found is None:
            raise GenovizError("no figure yet; press Draw first")
        return f"{self.found.entry.name}{ending}", partial(write_drawn, self.found)


def iter_drawn(name: str, graph: PangenomeGraph | None) -> Generator[Progress, None, None]:
    """Measure and draw a figure of a paper; yields `Reproduced`, and the figure as SVG."""
    for progress in iter_reproduce(name, small=True, graph=graph):
        if progress.result is None:
            yield progress
    found = progress.result
    yield Progress("drawn", 1.0, (found, track_figure_bytes(found.draw(), ".svg")))


def write_drawn(found: Reproduced, path: Path) -> None:
    """Write a figure, or its values."""
    if path.suffix == ".tsv":
        path.write_text("\n".join([f"# {found.caption}", *found.lines, ""]), encoding="utf-8")
    else:
        path.write_bytes(track_figure_bytes(found.draw(), path.suffix))


class MeasuredElsewhere:
    """The tab of benchmarks from other machines, against other tools."""

    title = "Measured elsewhere"
    has_figure = True

    def __init__(self) -> None:
        self.is_shown = False
        self._groups = measured_elsewhere()
        self.figure = RatioFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        names = list(self._groups)
        self.which = pmui.Select(
            label="Measurement", options=names, value=names[0] if names else None, size="small",
            min_width=240, max_width=560, margin=(8, 8, 4, 8), visible=bool(names), **STRETCHES,
        )  # fmt: skip
        self.which.param.watch(lambda _: self._turn.ask(), "value")
        words = "<p>Speed relative to another tool; right of the line, genoviz is faster. Point at \
a bar to see the machine and the tool.</p>"
        self.panel = pmui.Column(
            pmui.Row(
                self.which,
                pn.pane.HTML(words, stylesheets=[WORDS], sizing_mode="stretch_width"),
                **ROW,
            ),
            pn.pane.Bokeh(self.figure.plot, **FILL),
            **FILL,
        )
        self._turn.ask()

    def _draw(self) -> None:
        self.figure.show(self._groups.get(self.which.value, ()))


@cache
def measured_elsewhere(path: Path = MEASURED_ELSEWHERE) -> dict[str, list[tuple[str, float, str]]]:
    """Return published benchmarks that have a competitor: case, ratio and text, by title."""
    if not path.exists():  # an installed package does not include them
        return {}
    groups: dict[str, dict[str, tuple[str, float, str]]] = {}
    for run in json.loads(path.read_text(encoding="utf-8")):
        for row in run["rows"]:
            if row.get("ratio"):
                title = f"{row['benchmark']} ({run['backend'].upper()})"
                says = f"{run['machine']}, {run['date']}: {row['note']}"
                groups.setdefault(title, {})[row["case"]] = (row["case"], row["ratio"], says)
    return {title: list(cases.values()) for title, cases in sorted(groups.items())}
