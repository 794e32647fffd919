"""Graph statistics, with histograms of node lengths and depths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from html import escape

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.statistics import (
    StatisticsProgress,
    iter_graph_statistics,
    layout_distances,
)
from genoviz.analyses.graph.query.statistics_results import GraphStatistics, LayoutDistances
from genoviz.analyses.graph.query.statistics_rows import StatisticRow, statistics_rows
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.parts.copy_button import CopyButton
from genoviz_app.parts.questions import Question
from genoviz_app.plots.histograms import histogram_figure
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.session import OpenGraph, Session

NO_GRAPH = "Open a graph to see its statistics."
TEXT = """
:host { font-size: 12.5px; line-height: 1.5; overflow-y: auto; }
p { margin: 4px 0; opacity: 0.85; }
.groups { columns: 232px; column-gap: 26px; padding: 2px 4px; }
section { break-inside: avoid; margin: 0 0 8px; }
h4 { margin: 0 0 1px; font-size: 11.5px; font-weight: 600; letter-spacing: 0.03em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 12px; margin: 0; }
dt { opacity: 0.72; }
dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
dt[title] { text-decoration: underline dotted rgba(127, 145, 168, 0.6);
  text-underline-offset: 3px; cursor: help; }
"""
PLOT_WIDTH = 218


class Statistics:
    """Statistics of the graph in columns, and two histograms.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    statistics
        The statistics, or None if there are none.
    """

    title = "Statistics"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._run = session, view.run
        self._graph: PangenomeGraph | None = None
        self._waits = False
        self.statistics: GraphStatistics | None = None
        self._counts = Question(session, "statistics", self._on_counts, pool=KERNELS)
        self._distances = Question(session, "link lengths of a layout", self._on_distances)
        self.text = pn.pane.HTML("", stylesheets=[TEXT], sizing_mode="stretch_both", margin=0)
        self.copy_button = CopyButton(text="", label="Copy", margin=(2, 6, 0, 0))
        self.layout_button = pmui.Button(
            label="Measure layout",
            icon="straighten",
            description="Measure layout: distances of consecutive steps in the current layout",
            variant="text",
            size="small",
            margin=(0, 6, 0, 0),
        )
        self.layout_button.on_click(lambda _: self.measure_layout())
        self._plots = [
            pn.pane.Bokeh(None, width=PLOT_WIDTH, sizing_mode="stretch_height", margin=0)
            for _ in range(2)
        ]
        self.panel = self._arrange()
        self.set_graph(None)

    def _arrange(self) -> pmui.Row:
        buttons = pmui.Row(self.copy_button, self.layout_button, margin=0)
        numbers = pmui.Column(self.text, buttons, sizing_mode="stretch_both", margin=(4, 4, 2, 10))
        return pmui.Row(numbers, *self._plots, sizing_mode="stretch_both", margin=0)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph; it is counted once its first picture is drawn."""
        self._counts.drop()
        self._distances.drop()
        self._graph, self.statistics = graph, None
        self._waits = graph is not None
        self._show()

    def poll(self) -> None:
        """Count the graph once its first picture is drawn; called while the panel is shown."""
        if self._waits and (self._run.snapshot is not None or self._run.error is not None):
            self._waits = False
            self._counts.ask(iter_graph_statistics, self._graph)

    def measure_layout(self) -> None:
        """Measure distances in the current layout."""
        layout = self._run.layout
        if layout is not None and self._graph is not None and self.statistics is not None:
            self._distances.ask(layout_distances, self._graph, layout)

    def _on_counts(self, progress: StatisticsProgress) -> None:
        self.statistics = progress.statistics
        self._show()

    def _on_distances(self, distances: LayoutDistances) -> None:
        if self.statistics is not None:
            self.statistics = replace(self.statistics, layout=distances)
            self._show()

    def _show(self) -> None:
        statistics = self.statistics
        is_known = statistics is not None
        with pn.io.hold():
            self.copy_button.visible = self.layout_button.visible = is_known
            for plot in self._plots:
                plot.visible = is_known
            if not is_known:
                has_none = self._graph is None
                words = self._session.without_graph(NO_GRAPH) if has_none else "Counting …"
                self.text.object = f"<p>{words}</p>"
                return
            rows = statistics_rows(statistics)
            self.text.object = rows_html(rows)
            self.copy_button.text = rows_text(rows)
            lengths, depths = self._plots
            lengths.object = histogram_figure(
                statistics.length_histogram, x_label="Node length (bp)", y_label="Nodes", unit="bp"
            )
            depths.object = histogram_figure(
                statistics.depth_histogram, x_label="Depth (path steps)", y_label="Nodes"
            )


def rows_html(rows: Iterable[StatisticRow]) -> str:
    """Return statistics as HTML tables, one per group."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        title = f' title="{escape(row.meaning)}"' if row.meaning else ""
        cells = f"<dt{title}>{escape(row.name)}</dt><dd>{escape(row.value)}</dd>"
        groups.setdefault(row.group, []).append(cells)
    sections = "".join(
        f"<section><h4>{escape(group)}</h4><dl>{''.join(cells)}</dl></section>"
        for group, cells in groups.items()
    )
    return f'<div class="groups" tabindex="0" role="group" aria-label="Numbers">{sections}</div>'


def rows_text(rows: Iterable[StatisticRow]) -> str:
    """Return statistics as tab-separated lines: group, name and value."""
    return "".join(f"{row.group}\t{row.name}\t{row.value}\n" for row in rows)


def facts_html(opened: OpenGraph | None) -> str:
    """Return the size of a graph as an HTML table."""
    if opened is None:
        return ""
    graph = opened.graph
    rows = (
        ("Nodes", f"{graph.n_nodes:,}"),
        ("Edges", f"{graph.n_links:,}"),
        ("Paths", f"{graph.n_paths:,}"),
        ("Path steps", f"{graph.n_steps:,}"),
        ("Sequence", f"{graph.total_length:,} bp"),
    )
    cells = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="numbers">{cells}</dl>'
