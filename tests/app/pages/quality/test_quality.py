"""The page of quality: a layout is measured, its bad places are found, and others are compared."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from genoviz import near_stress, path_stress, read_gfa, simulate_pangenome, stress_by_distance
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.reproduce.figures import FIGURES
from genoviz.analyses.reproduce.layouts import iter_try
from genoviz.model import GraphLayout
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.companions import OpenLayout
from genoviz_app.pages.quality import QualityPage
from genoviz_app.pages.quality.measured import both_frame, worst_frame
from genoviz_app.pages.quality.runs import measured_elsewhere
from genoviz_app.plots.quality import CurvesFigure, DistanceFigures, RatioFigure, ScatterFigure
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.layout_runs import LayoutRuns
from genoviz_app.session.session import Session
from tests.app.conftest import GFA, poll_until
from tests.graphs import make_graph


def straight(graph, factor=1.0):
    """Return all nodes end to end on the x axis."""
    ends = np.cumsum(graph.node_lengths) * factor
    coordinates = np.zeros((graph.n_nodes, 2, 2))
    coordinates[:, 0, 0] = ends - graph.node_lengths * factor
    coordinates[:, 1, 0] = ends
    return GraphLayout(coordinates)


@pytest.fixture
def dashboard(graph_file):
    dashboard = Dashboard(f"?file={graph_file}")
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    yield dashboard
    dashboard.close()


def test_a_layout_that_rests_is_measured_and_its_places_lead_to_the_layout(dashboard, tmp_path):
    session, run = dashboard.session, dashboard.page.view.run
    poll_until(dashboard.poll, lambda: run.snapshot is not None)
    dashboard.deck.show("quality")
    page, state = dashboard.page, dashboard.page.state
    dashboard.poll()
    assert page.nothing.visible
    assert page.measure.disabled
    assert session.runs.kept == (), "the start is no run"
    dashboard.deck.show("pangenome")
    run.run()
    poll_until(dashboard.poll, lambda: run.state == "finished")
    dashboard.deck.show("quality")
    poll_until(dashboard.poll, lambda: state.measured is not None)
    assert not page.nothing.visible
    assert "Sampled: <b>" in page.said.object
    assert not DistanceFigures()._equal.visible, "without pairs, no line of equal distances"
    assert [kept.title for kept in session.runs.kept] == ["From coarse to fine, normal, seed 0"]

    graph, layout = session.opened.graph, run.layout
    found = near_stress(graph, layout)
    frame = state.measured.worst
    nodes = frame.index.to_numpy()
    assert sorted(nodes.tolist()) == [0, 1, 2], "a path ends on the last one"
    assert frame["Stress"].tolist() == sorted(frame["Stress"], reverse=True)
    assert frame["Stress"].iloc[0] == pytest.approx(np.nanmax(found.steps))
    state.measure_exactly()
    poll_until(dashboard.poll, lambda: state.exact is not None)
    assert state.exact.mean == path_stress(graph, layout, weighting="steps").mean
    assert "Exact: <b>" in page.said.object

    worst = page.views.view("Worst places")
    worst._on_row(0)
    assert session.picked.tolist() == [nodes[0]]
    poll_until(dashboard.poll, lambda: dashboard.page.slug == "pangenome")
    dashboard.deck.show("quality")
    worst._show_colours()
    assert dashboard.page.view.bar.colours.mode.value == "stress"
    highlight = worst._worst()
    assert highlight.nodes.tolist() == nodes.tolist()
    name, write = worst._file()
    write(tmp_path / name)
    saved = pd.read_csv(tmp_path / name, sep="\t", keep_default_na=False)
    assert saved["Node"].astype(str).tolist() == frame["Node"].tolist()
    assert saved["Why"].tolist() == frame["Why"].tolist()
    places = graph.position_index.positions_of(found.find_worst(graph, len(nodes)))
    assert saved["Position"].tolist() == places.tolist()
    assert worst.table.table.value["Position"].tolist() == (places + 1).tolist()
    ranking = page.views.view("Paths")
    name, write = ranking._file()
    write(tmp_path / name)
    saved = pd.read_csv(tmp_path / name, sep="\t")
    assert saved["Path"].tolist() == [graph.path_names[path] for path in ranking.order]
    assert sorted(ranking.order.tolist()) == [0, 1]
    ranking._on_row(1)
    assert session.picked[0] in graph.steps[slice(*graph.path_offsets[ranking.order[1] :][:2])] >> 1

    session.layout = OpenLayout("", "other.lay", straight(graph))
    poll_until(dashboard.poll, lambda: len(session.runs.kept) == 2)
    assert state.measured is None
    dashboard.deck.show("quality")
    poll_until(dashboard.poll, lambda: state.measured is not None)
    two = page.views.view("Two layouts")
    assert not two.button.disabled
    state.compare()
    poll_until(dashboard.poll, lambda: state.other is not None)
    assert "other.lay: stress" in two.words.object
    assert both_frame(state.measured, state.other)["Better"].tolist() == ["same", "same"]
    runs = page.views.view("Runs")
    runs._draw()
    assert [len(source.data["x"]) for source in runs.figure._sources[:2]] == [
        len(session.runs.kept[0].history), 2,
    ]  # fmt: skip
    assert runs.figure._sources[1].data["x"].tolist() == [0, session.runs.kept[0].history[-1][0]]


def test_what_explains_stress_is_said_of_each_place():
    graph = make_graph([10, 1, 10, 4], [[1, 2, 3], [1, 4, 3, 4]])
    places = np.array([[0, 10], [10, 110], [400, 410], [10, 11]], float)
    layout = GraphLayout(np.stack([places, np.zeros((4, 2))], axis=2))
    near = near_stress(graph, layout)
    frame = worst_frame(graph, layout, near)
    why = {(row.Node, row.Path): row.Why for row in frame.itertuples()}
    assert sorted(why) == sorted(zip(frame["Node"], frame["Path"], strict=True))
    assert "1 bp drawn 100 long" in why["2", graph.path_names[0]]
    assert "4 bp drawn 1 long" in why["4", graph.path_names[1]]
    assert why["4", graph.path_names[1]].endswith("the path visits it 2 times")
    assert not any("drawn" in words for (node, _), words in why.items() if node in "13")
    for row in frame.itertuples():
        path = graph.find_path(row.Path)
        steps = graph.steps[slice(*graph.path_offsets[path : path + 2])] >> 1
        n_times = int((steps == row.Index).sum())
        assert (f"the path visits it {n_times} times" in row.Why) == (n_times > 1)
    is_torn = ["torn joint" in words for words in frame["Why"]]
    assert is_torn == [near.is_torn[step] for step in near.find_worst(graph, len(near.steps))]


def test_a_place_without_another_reason_names_its_worst_pair():
    graph = make_graph([10, 10, 10, 10], [[1, 2, -3, 4]])
    # All have their lengths and nothing is torn. The path reads the third, from 60 to 70, where it
    # should be at 20 to 30: base 20 of the path is 50 from base 10, base 40 is 30 from base 30.
    places = np.array([[0, 10], [10, 20], [70, 60], [30, 40]], float)
    layout = GraphLayout(np.stack([places, np.zeros((4, 2))], axis=2))
    frame = worst_frame(graph, layout, near_stress(graph, layout))
    why = dict(zip(frame["Node"], frame["Why"], strict=True))
    assert why == {
        "1": "50 bp from node 3, 10 bp along the path",
        "2": "50 bp from node 3, 10 bp along the path",
        "3": "30 bp from node 4, 10 bp along the path",
    }


def test_a_link_straight_to_the_page_shows_what_clicks_lead_to(graph_file, monkeypatch):
    monkeypatch.setattr(SETTINGS, "unfolds", True)
    dashboard = Dashboard(f"?page=quality&file={graph_file}")
    dashboard.open_first()
    session, page = dashboard.session, dashboard.page
    poll_until(dashboard.poll, lambda: page.state.measured is not None)
    assert not page.nothing.visible
    assert len(session.runs.kept) == 1
    assert list(dashboard.deck._pages) == ["quality"], "the layout needs no page of its own"
    session.wanted_page = "pangenome"
    view = dashboard.page.view
    assert view.run is session.runs.run, "nothing is laid out twice"
    session.layout = OpenLayout("", "other.lay", straight(session.opened.graph))
    poll_until(dashboard.poll, lambda: session.runs.kept[-1].title == "The layout of a file")
    dashboard.close()


def test_a_layout_is_begun_for_the_first_page_that_asks(graph_file):
    dashboard = Dashboard(f"?page=tracks&file={graph_file}")
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    assert "run" not in vars(dashboard.session.runs)
    dashboard.close()


def test_what_is_linked_is_the_tab():
    session = Session()
    page = QualityPage(session)
    assert page.link.tab == ""
    page.follow(replace(page.link, tab="by-distance"))
    assert page.link.tab == "by-distance"
    session.close()


def test_figures_say_what_they_wait_for(monkeypatch):
    session = Session()
    page = QualityPage(session)
    view = page.views.view("By distance")
    assert view.figures._note.words == "There is no layout yet."
    assert not view.figures._equal.visible
    monkeypatch.setattr(LayoutRuns, "is_moving", property(lambda _: True))
    page.poll()
    assert view.figures._pairs_note.words == "The layout is measured when it is at rest."
    session.close()


def test_a_figure_of_a_paper_is_drawn_when_it_is_asked_for(tmp_path):
    session = Session()
    page = QualityPage(session)
    assert page.views.made("From the papers") is None
    view = page.views.view("From the papers")
    assert len(view.which.options) == len(FIGURES)
    assert not view.export.visible
    view.which.value = "layout-times"
    assert view.graph.visible
    assert view.graph.options == ["Simulated"]
    view.button.clicks += 1
    poll_until(session.poll, lambda: view.found is not None)
    assert view.found.entry.name == "layout-times"
    address = re.search('src="data:image/svg[+]xml;base64,([^"]+)"', view.picture.object)[1]
    texts = " ".join(ElementTree.fromstring(base64.b64decode(address)).itertext())
    assert view.found.caption in texts
    for label, ending in zip(view.export.offered, (".svg", ".png", ".tsv"), strict=True):
        name, write = view.export.files[label]()
        assert name == f"layout-times{ending}"
        write(tmp_path / name)
    assert (tmp_path / "layout-times.tsv").read_text().splitlines()[1:] == view.found.lines
    assert (tmp_path / "layout-times.png").read_bytes().startswith(b"\x89PNG")
    view.which.value = "bwt-size"
    assert (view.found, view.picture.object, view.export.visible) == (None, "", False)
    session.close()


def test_a_figure_of_a_paper_is_drawn_of_the_graph_that_is_open(dashboard):
    dashboard.deck.show("quality")
    view, graph = dashboard.page.views.view("From the papers"), dashboard.session.opened.graph
    view.which.value = "layout-tradeoff"
    assert view.graph.value == f"Open: {dashboard.session.opened.title}"
    view.button.clicks += 1
    poll_until(dashboard.poll, lambda: view.found is not None)
    assert f"{graph.n_nodes} nodes, {graph.n_paths} paths" in view.found.caption
    view.which.value = "bwt-size"
    assert not view.graph.visible
    view.which.value, view.graph.value = "layout-quality", "Simulated"
    view.button.clicks += 1
    poll_until(dashboard.poll, lambda: view.found is not None)
    assert "simulated" in view.found.caption
    dashboard.session.opened = None
    assert view.graph.options == [view.graph.value] == ["Simulated"]


def test_stress_by_distance_is_that_of_all_pairs():
    graph = simulate_pangenome(60, 3, seed=2)
    layout = GraphLayout(np.random.default_rng(0).normal(0, 300, (graph.n_nodes, 2, 2)))
    found = stress_by_distance(graph, layout, n_samples=300_000)
    terms = [[] for _ in found.mean]
    for start, end in zip(graph.path_offsets, graph.path_offsets[1:], strict=False):
        steps, position, ends = graph.steps[start:end], 0, []
        for handle in steps.tolist():
            node, turned = handle >> 1, handle & 1
            after = position + int(graph.node_lengths[node])
            ends.append([(position, layout.coordinates[node, turned]),
                         (after, layout.coordinates[node, 1 - turned])])  # fmt: skip
            position = after
        for i, first in enumerate(ends):
            for second in ends[i + 1 :]:
                for x, a in first:
                    for y, b in second:
                        if x != y:
                            place = np.searchsorted(found.edges, y - x, side="right") - 1
                            terms[place].append((np.hypot(*(a - b)) / (y - x) - 1) ** 2)
    is_there = [k for k, each in enumerate(terms) if len(each) > 50]
    assert len(is_there) > 4
    for k in is_there:
        assert abs(found.mean[k] - np.mean(terms[k])) < 6 * found.error[k]
        assert found.error[k] < 0.2 * found.mean[k]
    double = stress_by_distance(graph, straight(graph, 2.0), n_samples=1000)
    one_path = double.ratio[double.n_terms > 0]
    assert len(double.pairs) == double.n_terms.sum()
    assert np.isfinite(one_path).all()


def test_a_straight_path_is_right_at_every_distance_and_twice_as_long_twice(tmp_path):
    text = [line for line in GFA.splitlines() if not line.startswith("P\talt")]
    (tmp_path / "one.gfa").write_text("\n".join(text).replace("s1+,s2+,s4+", "s1+,s2+,s3+,s4+"))
    graph = read_gfa(tmp_path / "one.gfa")
    for factor in (1.0, 2.0):
        found = stress_by_distance(graph, straight(graph, factor), n_samples=500)
        is_there = found.n_terms > 0
        assert found.mean[is_there] == pytest.approx((factor - 1) ** 2, abs=1e-12)
        assert found.ratio[is_there] == pytest.approx(factor)


def test_options_are_tried_one_after_the_other(graph):
    tried = []
    *_, last = iter_try(graph, tried)
    assert last.fraction == 1
    assert len(tried) == 8
    assert {row[1] for row in tried} == {True, False}
    figure = ScatterFigure()
    figure.show(tried)
    assert figure.note.words == ("" if any(row[3].mean > 0 for row in tried) else figure.nothing)


def test_dots_of_layouts_have_short_names_and_ticks_all_along():
    stress = PathStress(0.1, 0.08, 0.12, 0.05, 1000, 3, False)
    names = ["draft, coarse to fine", "normal, coarse to fine", "SGD, 20 iterations"]
    rows = [(name, "SGD" not in name, 0.15 * 3**k, stress) for k, name in enumerate(names)]
    figure = ScatterFigure()
    figure.show(rows)
    drawn = figure._source.data
    assert drawn["name"] == ["draft", "normal", "20"]
    assert drawn["below"][0] == drawn["below"][1] != drawn["below"][2]
    assert [each.split(":")[0] for each in drawn["says"]] == names
    assert figure.plot.xaxis[0].ticker.ticks == [0.1, 0.2, 0.5, 1, 2]


def test_curves_have_names_and_bands(graph):
    from genoviz import iter_path_sgd_layout

    steps = iter_path_sgd_layout(graph, n_iterations=3, stress_samples=100)
    history = [(s.iteration, s.stress) for s in steps if s.stress is not None]
    figure = CurvesFigure()
    figure.show([("1: one", history), ("2: two", [])])
    assert figure.note.words == ""
    labels = [item.label.value for item in figure._legend.items if item.visible]
    assert labels == ["1: one"]


def test_measurements_of_other_machines_are_drawn(tmp_path):
    rows = [
        {"benchmark": "Sort", "case": "10", "ratio": 2.0, "note": "peer: sort"},
        {"benchmark": "Sort", "case": "20", "ratio": None, "note": "no peer"},
    ]
    run = {"backend": "cpu", "machine": "2 cores", "date": "2026-01-01", "rows": rows}
    path = tmp_path / "results.json"
    path.write_text(json.dumps([run]))
    found = measured_elsewhere(path)
    assert found == {"Sort (CPU)": [("10", 2.0, "2 cores, 2026-01-01: peer: sort")]}
    figure = RatioFigure()
    figure.show(found["Sort (CPU)"])
    assert figure.plot.y_range.factors == ["10"]
    assert figure.plot.xaxis[0].ticker.ticks == [1, 2, 5]
    figure.show([("a", 1894.2, ""), ("b", 605.3, ""), ("c", 2.034, "")])
    assert figure._source.data["word"] == ["2.03 x", "605 x", "1,894 x"]
    assert measured_elsewhere(tmp_path / "none.json") == {}
    assert measured_elsewhere(), "those of the project"
