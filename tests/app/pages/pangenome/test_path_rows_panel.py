"""Paths in rows along the nodes, compared and counted, in the area of paths under the picture."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from genoviz import find_path_rows, find_presence, pangenome_growth, path_similarity
from genoviz.generators import last_of
from genoviz.model import PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.page import Paths
from genoviz_app.pages.pangenome.paths import sharing
from genoviz_app.parts.dock import Dock
from genoviz_app.parts.file_button import iter_content
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.graphs import make_graph


@pytest.fixture
def opened(session, graph):
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small.gfa", graph)
    view.set_graph(graph)
    dock = Dock((Paths,), lambda kind: kind(session, view))
    dock.show_first()
    dock.set_graph(graph)
    area = dock._panels[0]

    def poll():
        session.poll()
        dock.poll()

    return SimpleNamespace(session=session, view=view, area=area, dock=dock, graph=graph, poll=poll)


@pytest.fixture
def rows(opened):
    panel = opened.area.view("Nodes")
    poll_until(opened.poll, lambda: panel.rows is not None)
    return panel


def content_of(panel, label):
    name, write = panel.exports.files[label]()
    return name, last_of(iter_content(name, write))


def test_the_rows_are_those_of_the_analysis_and_stand_where_the_axis_says(opened, rows):
    expected = find_path_rows(opened.graph, n_bins=13)
    assert np.array_equal(rows.rows.present, expected.present)
    source = rows.figure._cells.data
    assert (source["image"][0] > 0).tolist() == (expected.present > 0).tolist()
    assert (source["x"], source["dw"], source["y"], source["dh"]) == ([0], [13], [0], [2])
    assert rows.figure.plot.yaxis[0].major_label_overrides == {-0.5: "ref", -1.5: "alt"}
    assert "2 paths, 13 bp" in rows.words.object


def test_the_pointer_names_path_and_nodes_and_says_how_they_are_visited(rows):
    rows.figure.on_point((1, 6.0))
    words = "<b>alt</b> · node s3 (7–7 bp) · 100 % visited, depth 1, 0 % reverse, at 63.6 %"
    assert words in rows.words.object
    rows.figure.on_point((0, 6.0))
    assert "<b>ref</b> · node s3 (7–7 bp) · is not there" in rows.words.object
    rows.figure.on_point(None)
    assert "2 paths" in rows.words.object


def test_a_click_goes_there_in_the_layout_and_on_the_path(opened, rows, monkeypatch):
    seen = []
    monkeypatch.setattr(opened.view.picture, "look_at_nodes", lambda nodes: seen.append(nodes))
    rows.figure.on_click(1, 6.0)
    poll_until(opened.poll, lambda: opened.session.region is not None)
    assert opened.session.region == PathRegion("alt", 4, 10)
    assert opened.session.picked.tolist() == seen[0].tolist() == [2]
    rows.figure.on_click(0, 6.0)  # ref does not visit s3: the layout goes there all the same
    poll_until(opened.poll, lambda: len(seen) == 2)
    assert opened.session.region == PathRegion("alt", 4, 10)
    rows.figure.on_select(0, 4.2, 13.0)  # s2, s3, s4: ref has the first and the last
    poll_until(opened.poll, lambda: opened.session.region.path == "ref")
    assert opened.session.region == PathRegion("ref", 4, 7)


def test_region_and_what_is_lit_are_pointed_out_and_the_view_goes_to_a_region(opened, rows):
    rows.figure.look_at(0, 2)
    opened.session.region = PathRegion("alt", 10, 11)
    poll_until(opened.poll, lambda: list(rows.figure._own.data["left"]) == [12])
    assert (rows.figure._own.data["top"], rows.figure._marks.data["x1"].tolist()) == ([-1], [13])
    assert rows.figure.shown[1] == 13
    nodes = np.array([1, 2])
    highlight = Highlight("two", "node", nodes=nodes, graph=opened.graph)
    opened.session.highlights.light_up(highlight)
    rows.figure.look_at(0, 13)
    poll_until(opened.poll, lambda: len(rows.figure._marks.data["x0"]) == 2)
    assert rows.figure._marks.data["x0"].tolist() == [12, 4]
    opened.session.region = None
    poll_until(opened.poll, lambda: list(rows.figure._marks.data["x0"]) == [4])
    assert len(rows.figure._own.data["left"]) == 0


def test_only_what_is_in_sight_is_computed(opened, rows):
    rows.figure.look_at(6.5, 7.5)
    poll_until(opened.poll, lambda: rows.rows.bounds[-1] < 13)
    assert (rows.rows.bounds[0], rows.rows.bounds[-1]) == (6, 8)
    rows.show_whole()
    poll_until(opened.poll, lambda: rows.rows.bounds[-1] == 13)


def test_rows_and_nodes_are_put_into_another_order(opened, rows):
    rows.order.value = "name"
    poll_until(opened.poll, lambda: rows.plan.groups.names == ("alt", "ref"))
    rows.axis.value = "shared"
    poll_until(opened.poll, lambda: not rows.plan.is_by_base)
    assert rows.plan.axis.nodes.tolist() == [0, 3, 1, 2]
    poll_until(opened.poll, lambda: rows.rows is not None and rows.rows.bounds[-1] == 4)
    assert rows.rows.present.tolist() == [[1, 1, 0, 1], [1, 1, 1, 0]]
    rows.order.value = "similarity"
    poll_until(opened.poll, lambda: set(rows.plan.groups.names) == {"alt", "ref"})
    for shade in ("strand", "position", "presence"):
        rows.shade.value = shade
        assert bool("<svg" in rows.words.object) == (shade != "presence")


def test_what_is_seen_is_saved(rows):
    name, content = content_of(rows, "Visible part, by bins (TSV)")
    lines = content.decode().splitlines()
    assert name == "small.paths.tsv"
    assert lines[0].startswith("#path\tstart\tend\tfirst_node")
    assert "ref\t4\t5\ts2\ts2\t1\t1\t0\t0.714286" in lines
    assert len(lines) == 1 + 7 + 11
    for label, start in (("Picture (PNG)", b"\x89PNG"), ("Picture (SVG)", b"<svg")):
        assert start in content_of(rows, label)[1][:400]
    assert content_of(rows, "Presence of all nodes (TSV)")[1].decode().splitlines() == [
        "#node\tlength\tref\talt", "s1\t4\t1\t1", "s2\t2\t1\t0", "s3\t6\t0\t1", "s4\t1\t1\t1",
    ]  # fmt: skip


def test_the_area_says_what_is_missing(opened, rows):
    opened.dock.set_graph(make_graph([4, 6], []))
    assert "no paths" in rows.figure.note.words
    opened.dock.set_graph(None)
    assert "Open a graph" in rows.figure.note.words.replace("\n", " ")
    with pytest.raises(Exception, match="no paths are drawn yet; open a graph"):
        rows.exports.files["Picture (PNG)"]()
    for title in ("Similarity", "Growth"):
        panel = opened.area.view(title)
        assert "Open a graph" in panel.figure.note.words.replace("\n", " ")
        with pytest.raises(Exception, match=r"not been compared yet|not been computed yet"):
            next(iter(panel.exports.files.values()))()


def test_many_rows_share_a_line_of_pixels_and_more_are_left_out(opened, monkeypatch):
    monkeypatch.setattr(sharing, "MAX_ROWS", 3)
    monkeypatch.setattr("genoviz_app.plots.path_rows.MAX_IMAGE_ROWS", 2)
    opened.dock.set_graph(make_graph([4, 6], [[1], [2], [1, 2], [-1]]))
    panel = opened.area.view("Nodes")
    poll_until(opened.poll, lambda: panel.rows is not None)
    assert "the first 3 of 4 paths" in panel.words.object
    assert len(panel.figure._cells.data["image"][0]) == 2
    assert panel.figure._cells.data["dh"] == [4]
    panel.figure.stretch_rows(0.1)
    first, stop = panel.figure.rows_in_sight
    assert stop - first == 2 or stop - first == 3


def test_similarity_is_that_of_the_analysis_and_a_pair_is_lit(opened):
    panel = opened.area.view("Similarity")
    poll_until(opened.poll, lambda: panel.found is not None)
    expected = path_similarity(find_presence(opened.graph))
    assert np.array_equal(panel.found.similarity.jaccard_bp, expected.jaccard_bp)
    assert expected.jaccard_bp[0, 1] == pytest.approx(5 / 13)
    names = panel.found.names
    panel.figure.on_point((0, 1.5))
    assert f"<b>{names[0]}</b> and <b>{names[1]}</b> · Jaccard 0.3846 · 5 bp shared" in (
        panel.words.object
    )
    with pytest.raises(Exception, match="no pair is chosen"):
        panel._lit()
    panel.figure.on_click(0, 1.5)
    assert panel._lit()().nodes.tolist() == [1, 2]
    name, content = content_of(panel, "All pairs (TSV)")
    assert name == "small.similarity.tsv"
    assert "ref\talt\t2\t0.5\t5\t0.3846153846" in content.decode()
    for label, start in (("Picture (PNG)", b"\x89PNG"), ("Picture (SVG)", b"<svg")):
        assert start in content_of(panel, label)[1][:400]


def test_too_many_are_not_compared_pair_by_pair(opened, monkeypatch):
    monkeypatch.setattr(sharing, "MAX_COMPARED", 1)
    opened.area.view("Similarity")
    poll_until(opened.poll, lambda: opened.session.problem != "")
    assert "2 paths are too many to compare each two on a page" in opened.session.problem


def test_growth_is_that_of_the_analysis(opened):
    panel = opened.area.view("Growth")
    poll_until(opened.poll, lambda: panel.growth is not None)
    expected = pangenome_growth(find_presence(opened.graph))
    assert panel.figure._source.data["expected"].tolist() == expected.expected.tolist()
    assert "13 bp</b> in some of 2" in panel.words.object
    panel.counted.value = "nodes"
    poll_until(opened.poll, lambda: panel.growth is not None and panel.growth.counted == "nodes")
    assert "4 nodes</b> in some of 2" in panel.words.object
    lines = content_of(panel, "Numbers (TSV)")[1].decode().splitlines()
    assert lines[1:] == ["1\t3\t3\t3\t3\t3", "2\t4\t2\t4\t4\t4"]
    for label, start in (("Picture (PNG)", b"\x89PNG"), ("Picture (SVG)", b"<svg")):
        assert start in content_of(panel, label)[1][:400]


def test_links_name_the_panel_and_its_part(opened):
    dock = opened.dock
    assert dock.slug == ""
    assert dock.follow(0, "paths.growth") == ""
    assert (dock.slug, opened.area.switch.value) == ("paths.growth", "Growth")
    names = "paths.list, paths.nodes, paths.similarity, paths.growth"
    for slug, known in {"cellar": "paths", "paths.cellar": names}.items():
        assert dock.follow(0, slug) == f"The link's panel is {slug!r}, needs one of {known}."
