"""The fields for colours offer what the graph has, and say what is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.graph.picture.colouring import MODES, ColourChoice
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.colour_bar import KINDS
from tests.app.conftest import poll_until


@pytest.fixture
def view(graph, session):
    return LayoutView(graph, submit=session.submit)


def test_every_mode_is_offered_once():
    assert sorted(mode for modes in KINDS.values() for mode in modes) == sorted(MODES)


def test_what_the_graph_lacks_is_not_offered(view):
    bar = view.bar.colours
    assert set(MODES) - set(bar.offered) == {"gc", "annotation"}
    bar.set_annotations(object())
    assert set(MODES) - set(bar.offered) == {"gc"}
    bar.set_annotations(None)
    assert "annotation" not in bar.offered


def test_annotations_that_go_away_leave_density(view):
    bar = view.bar.colours
    bar.set_annotations(object())
    bar.mode.value = "annotation"
    assert bar.annotate_by.visible
    bar.annotate_by.value = "type"
    assert view.picture.choice == ColourChoice("annotation", annotate_by="type")
    bar.set_annotations(None)
    assert view.picture.choice == ColourChoice()


def test_another_graph_without_paths_is_coloured_by_density(view):
    view.bar.colours.mode.value = "position"
    view.set_graph(
        PangenomeGraph(
            ByteStrings.from_integers(1, 1),
            np.ones(1, np.int64),
            np.empty((0, 2), np.uint32),
            (),
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
        )
    )
    assert view.picture.choice == ColourChoice()
    assert not view.bar.colours.details.visible


@pytest.mark.parametrize("mode", ["sharing", "class", "paths"])
def test_groups_are_chosen_by_their_kind(view, mode):
    bar = view.bar.colours
    bar.mode.value = mode
    assert (bar.group_by.visible, bar.groups.visible) == (True, True)
    bar.group_by.value = "contig"
    assert bar.groups.options == ["ref", "alt"]
    expected = ("ref", "alt") if mode == "paths" else ()
    assert view.picture.choice == ColourChoice(mode, expected, "contig")
    bar.groups.value = ["alt"]
    assert view.picture.choice.paths == ("alt",)


def test_a_choice_from_elsewhere_is_shown_in_the_fields(view):
    bar = view.bar.colours
    choice = ColourChoice("position", ("alt",))
    bar.choose(choice)
    assert (bar.mode.value, bar.path.value, bar.path.visible) == ("position", "alt", True)
    assert bar.choice == view.picture.choice == choice


def test_a_table_is_read_and_coloured_by(view):
    bar = view.bar.colours
    bar.mode.value = "table"
    assert bar.file.visible
    assert view.picture.choice == ColourChoice()
    bar.file.filename = "t.csv"
    bar.file.value = b"node,coverage,kind\ns1,1,x\ns3,5,y\nzz,1,x\n"
    poll_until(view.poll, lambda: view.picture.colourings.table is not None)
    assert bar.column.options == ["coverage", "kind"]
    assert view.picture.choice == ColourChoice("table", column="coverage")
    assert "1 of 3 rows name nodes that the graph lacks" in bar.problem
    colouring = view.picture.colourings.get(view.run.graph, view.picture.choice)
    np.testing.assert_array_equal(colouring.node_values, [1, np.nan, 5, np.nan])
    bar.column.value = "kind"
    assert view.picture.choice.column == "kind"


def test_a_wrong_table_is_refused_in_one_sentence(view):
    bar = view.bar.colours
    bar.mode.value = "table"
    bar.file.filename = "t.csv"
    bar.file.value = b"node,colour\ns1,blu\n"
    poll_until(bar.poll, lambda: bar.problem)
    assert bar.problem.startswith("The table was not read: t.csv, line 2: 'blu' is not a colour")
    assert view.picture.colourings.table is None
