"""The graph in numbers under the picture, with its histograms."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from genoviz.analyses.graph.query.statistics_results import Histogram
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.statistics import Statistics
from genoviz_app.plots.histograms import LOWEST_BAR, axis_ticks, histogram_figure
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until


@pytest.fixture
def opened(session, graph):
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    panel = Statistics(session, view)

    def poll():
        session.poll()
        view.run.poll()
        panel.poll()

    return SimpleNamespace(session=session, view=view, panel=panel, poll=poll, graph=graph)


def test_the_numbers_come_once_the_layout_has_begun(opened):
    panel = opened.panel
    assert "Open a graph" in panel.text.object
    panel.set_graph(opened.graph)
    assert "Counting" in panel.text.object
    poll_until(opened.poll, lambda: panel.statistics is not None)
    assert "<dt title=" in panel.text.object
    assert "<dd>13 bp</dd>" in panel.text.object
    assert "Size\tLength\t13 bp\n" in panel.copy_button.text
    assert "Layout\t" not in panel.copy_button.text
    panel.set_graph(None)
    assert panel.statistics is None
    assert not panel.copy_button.visible


def test_the_layout_is_measured_as_it_is_now(opened):
    panel = opened.panel
    panel.set_graph(opened.graph)
    poll_until(opened.poll, lambda: panel.statistics is not None)
    panel.layout_button.clicks += 1
    poll_until(opened.poll, lambda: panel.statistics.layout is not None)
    assert panel.statistics.layout.n_links == 4
    assert "Layout\tMean link\t" in panel.copy_button.text


def test_another_graph_drops_what_is_being_counted(opened):
    opened.panel.set_graph(opened.graph)
    poll_until(opened.poll, lambda: opened.panel._counts.is_open or opened.panel.statistics)
    opened.panel.set_graph(None)
    for _ in range(5):
        opened.poll()
    assert opened.panel.statistics is None


def test_bars_have_the_counts_and_the_axis_the_values():
    histogram = Histogram((0, 1, 2, 3, 4, 10, 100, 1000), (0, 7, 0, 2, 0, 30, 1))
    plot = histogram_figure(histogram, x_label="Length (bp)", y_label="Nodes", unit="bp")
    (quads,) = plot.renderers
    bars = quads.data_source.data
    assert list(zip(bars["left"], bars["right"], bars["top"], strict=True)) == [
        (1, 2, 7), (3, 4, 2), (5, 6, 30), (6, 7, 1)
    ]  # fmt: skip
    assert quads.glyph.bottom == LOWEST_BAR == plot.y_range.start
    assert (bars["bin"][2], bars["count"][2]) == ("10–99 bp", "30")
    assert (plot.x_range.start, plot.x_range.end, plot.y_range.end) == (1, 7, 60)
    assert plot.xaxis[0].major_label_overrides == {1: "1", 5: "10", 6: "100"}
    assert axis_ticks(histogram) == {0: "0", 1: "1", 5: "10", 6: "100"}


def test_bars_of_nothing_are_drawn_too():
    plot = histogram_figure(Histogram((0, 1), (0,)), x_label="Depth", y_label="Nodes")
    assert [len(column) for column in plot.renderers[0].data_source.data.values()] == [0] * 5
    assert plot.y_range.end > plot.y_range.start > 0
