"""The linear view of a path follows the region, shows what the picture shows, and picks nodes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import panel_material_ui as pmui
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.model import PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.linear_view import PathView, read_path, readout_html
from genoviz_app.pages.pangenome.picture.shared_marks import (
    SharedMarks,
    find_seen,
    region_nodes,
    region_parts,
    region_title,
)
from genoviz_app.session.lit_sets import LitSet
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.graphs import make_graph, random_graph
from tests.oracles.paths import walk_bases


@pytest.fixture
def opened(session, graph):
    """A path view of the small graph; its picture notes what it is asked for."""
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    _, panel = SharedMarks(session, view), PathView(session, view)
    panel.set_graph(graph)

    def poll():
        session.poll()
        panel.poll()

    poll_until(poll, lambda: panel.track.content is not None)
    return SimpleNamespace(session=session, view=view, panel=panel, poll=poll, graph=graph)


def test_the_facts_of_nodes_picked_on_another_page_are_shown_when_it_leads_to_them(session, graph):
    shown, view = [], LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    marks = SharedMarks(session, view, lambda: shown.append(session.picked.tolist()))
    session.picked = np.array([1])
    assert shown == []  # the other page stays in front
    session.highlights.want(LitSet.of_found(None, np.array([0])))
    assert shown == []
    session.highlights.want(LitSet.of_found(None, session.picked))
    assert shown == [[1]]
    marks._pick(np.array([0, 1]))
    marks._pick(np.array([], np.int64))
    assert shown == [[1], [0, 1]]


def profile_length(panel):
    content = panel.track.content
    return content and content.profile.length


def marks_of(view):
    return {mark.colour: mark for mark in view.picture.notes.marks}


def test_the_first_path_is_shown_from_end_to_end_and_another_when_chosen(opened):
    panel = opened.panel
    assert (panel.path.value, panel.track.shown) == ("ref", (0.0, 7.0))
    poll_until(opened.poll, lambda: "all 7 bp, 3 steps" in panel.readout.object)
    bins = panel.track._sources["bins"].data
    assert bins["left"].tolist() == [0, 4, 6]
    assert bins["depth"].tolist() == [2, 1, 2]
    panel.path.value = "alt"
    poll_until(opened.poll, lambda: panel.track.shown == (0.0, 11.0))
    opened.poll()
    assert panel.track._sources["bins"].data["right"].tolist() == [4, 10, 11]


def test_the_first_path_of_another_graph_is_shown_from_end_to_end(opened):
    opened.panel.track.look_at(2, 5)
    opened.panel.path.get_root()  # a select that is in a browser has a value always
    opened.panel.set_graph(make_graph([40, 30], [[1, 2], [2]]))
    poll_until(opened.poll, lambda: profile_length(opened.panel) == 70)
    assert opened.panel.track.shown == (0, 70)


def test_a_region_shows_its_path_and_is_marked_in_the_picture(opened):
    opened.session.region = PathRegion("alt", 5, 9)
    poll_until(opened.poll, lambda: opened.panel.path.value == "alt")
    poll_until(opened.poll, lambda: opened.panel.track._band.visible)
    band = opened.panel.track._band
    assert (band.left, band.right) == (5, 9)
    poll_until(opened.poll, lambda: marks_of(opened.view))
    (mark,) = marks_of(opened.view).values()
    assert (mark.nodes.tolist(), mark.label) == ([2], "alt:6-9")
    opened.session.region = None
    opened.poll()
    assert not opened.panel.track._band.visible
    assert not marks_of(opened.view)


def test_a_region_beyond_its_path_is_one_sentence(opened):
    opened.session.region = PathRegion("ref", 5, 900)
    poll_until(opened.poll, lambda: opened.session.problem)
    assert "'ref:5-900' is not on its path, which has 7 bp" in opened.session.problem


def test_drawing_a_stretch_makes_it_the_region_in_whole_bases(opened):
    opened.panel.track.on_select(3.2, 5.1)
    assert opened.session.region == PathRegion("ref", 3, 6)
    opened.panel.track.on_select(-5.0, 99.0)
    assert opened.session.region == PathRegion("ref", 0, 7)


def test_a_click_picks_the_node_at_that_position(opened):
    opened.panel.track.on_click(4.9)
    poll_until(opened.poll, lambda: len(opened.session.picked))
    assert opened.session.picked.tolist() == [1]
    picked = [mark.nodes.tolist() for mark in opened.view.picture.notes.marks]
    assert picked == [[1]]
    opened.panel.track.on_click(-3.0)
    opened.panel.track.on_click(7.0)
    opened.poll()
    assert opened.session.problem == ""


def test_the_picture_is_zoomed_to_the_region_or_to_what_is_seen(opened, monkeypatch):
    looked = []
    monkeypatch.setattr(
        opened.panel._nodes, "_on_answer", lambda parts: looked.append(parts.nodes.tolist())
    )
    opened.panel.zoom_picture()
    poll_until(opened.poll, lambda: looked)
    opened.session.region = PathRegion("ref", 4, 5)
    opened.panel.zoom_picture()
    poll_until(opened.poll, lambda: len(looked) == 2)
    assert looked == [[0, 1, 3], [1]]
    (button,) = (
        each for each in opened.panel.panel.select(pmui.IconButton)
        if each.icon == "center_focus_strong"
    )  # fmt: skip
    button.clicks += 1
    poll_until(opened.poll, lambda: len(looked) == 3)
    assert looked[2] == [1]


@given(seed=st.integers(0, 10_000))
def test_parts_of_nodes_are_the_bases_of_the_region(seed):
    graph = random_graph(seed)
    bases = walk_bases(graph, 0)
    if not bases:
        return
    start, end = sorted(np.random.default_rng(seed).integers(0, len(bases), 2).tolist())
    end = max(end, start + 1)
    parts = region_parts(graph, PathRegion(graph.path_names[0], start, end))
    found = parts.shares * graph.node_lengths[parts.nodes][:, None]
    expected = {}
    for node, offset, _, step in bases[start:end]:
        expected.setdefault((step, node), []).append(offset)
    visited = [(node, min(at), max(at) + 1) for (_, node), at in expected.items()]
    is_long = graph.node_lengths[parts.nodes] > 0
    assert parts.nodes[is_long].tolist() == [node for node, *_ in visited]
    np.testing.assert_allclose(found[is_long], [ends for _, *ends in visited], atol=1e-9)


def test_the_stretches_that_the_picture_shows_are_those_of_its_nodes():
    graph = make_graph([4, 2, 6, 1], [[1, 2, -3, 2, 4]])
    profile = PathProfile.of(graph, 0)
    picture = SimpleNamespace(visible_nodes=lambda _limit: np.array([1, 2]))
    _, stretches = find_seen(profile, picture, graph.n_nodes)
    assert stretches.tolist() == [[4, 14]]


def test_what_the_picture_shows_is_marked_on_the_path(opened, monkeypatch):
    picture = opened.view.picture
    monkeypatch.setattr(picture, "visible_nodes", lambda _limit: np.array([1]))
    view = Viewport(0.0, 1.0, 0.0, 1.0, 100, 100)
    monkeypatch.setattr(type(picture), "viewport", property(lambda _: view))
    poll_until(opened.poll, lambda: len(opened.panel.track._stretches))
    _, expected = find_seen(PathProfile.of(opened.graph, 0), picture, opened.graph.n_nodes)
    assert opened.panel.track._stretches.tolist() == expected.tolist() == [[4, 6]]


@pytest.mark.parametrize("name", ["grch38#chr6:1000-1010", "grch38#chr6:1001-1010"])
def test_a_region_is_named_in_coordinates_of_its_contig(name):
    """The second range is one shorter than the path: 1-based and closed."""
    graph = make_graph([4, 2], [[1, 2, 1]])
    graph = type(graph)(**{**vars_of(graph), "path_names": (name,)})
    region = PathRegion(name, 2, 5)
    assert region_title(graph, region) == "chr6:1,003-1,005"
    content = read_path(graph, name, None)
    readout = readout_html(graph.placed_name(0), content.profile, (0, 10), region)
    assert "= chr6:1,003-1,005" in readout
    assert region_nodes(graph, region).tolist() == [0, 1]


def vars_of(graph):
    names = ("node_names", "node_lengths", "edges", "path_names", "path_offsets", "steps")
    return {name: getattr(graph, name) for name in names}


def test_without_a_graph_or_paths_it_says_what_to_do(opened):
    opened.panel.set_graph(None)
    opened.poll()
    track = opened.panel.track
    assert "Open a graph" in track.note.words
    assert opened.panel.readout.object == ""
    assert not any(axis.visible for axis in track.figure.axis)
    opened.panel.set_graph(make_graph([4], []))
    opened.poll()
    assert "no paths" in track.note.words
    assert track.content is None
    opened.panel.set_graph(opened.graph)
    poll_until(opened.poll, lambda: track.content is not None and not track.note.words)
    assert all(axis.visible for axis in (track.figure.below[0], track.figure.left[0]))
