"""The list of paths: rows, search, groups, and what its buttons do to the picture."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.analyses.graph.picture.palettes import DARK
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.listing import PathList
from tests.app.conftest import poll_until
from tests.conftest import real_data

NAMES = ("A#1#chr1", "A#2#chr1", "B#1#chr1", "B#1#chr2")


def small_graph():
    """Nodes 0 to 4; A#1 has 0 1, A#2 has 0 2, B#1 chr1 has 0 3, B#1 chr2 has 4."""
    return PangenomeGraph(
        ByteStrings.from_integers(1, 5),
        np.array([10, 20, 30, 40, 50]),
        np.empty((0, 2), np.uint32),
        NAMES,
        np.array([0, 2, 4, 6, 7]),
        np.array([0, 2, 0, 4, 0, 6, 8], np.uint32),
    )


@pytest.fixture
def open_list(session):
    """Open a graph and return its list, with what the picture was told."""

    def open_list(graph):
        view = LayoutView(submit=session.submit)
        paths = PathList(session, view)
        told = paths.told = {}
        view.picture.draw_only = lambda nodes: told.update(only=nodes)
        paths._hiding._on_answer = view.picture.draw_only
        paths._zooming._on_answer = lambda nodes: told.update(zoom=nodes)
        if graph is not None:
            session.opened = OpenGraph("x", "x", graph)
        view.set_graph(graph)
        paths.set_graph(graph)
        paths.view, paths.session = view, session
        if graph is not None and graph.n_paths:
            poll_until(paths.session.poll, lambda: len(paths.table.value) > 0)
        return paths

    return open_list


def names(paths):
    return paths.table.value["name"].tolist()


def press(paths, button):
    paths.buttons[button].clicks += 1


def test_all_paths_are_listed_with_their_sizes(open_list):
    paths = open_list(small_graph())
    rows = paths.table.value
    assert names(paths) == list(NAMES)
    assert rows["length"].tolist() == [30, 40, 50, 50]
    assert rows["steps"].tolist() == [2, 2, 2, 1]
    assert rows[["sample", "haplotype", "contig"]].iloc[3].tolist() == ["B", "1", "chr2"]
    assert paths.table.visible
    assert not paths.hint.visible
    assert paths.said.object == "4 paths"


def test_without_paths_it_says_so(open_list):
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, 1), np.ones(1, np.int64), np.empty((0, 2), np.uint32),
        (), np.zeros(1, np.int64), np.empty(0, np.uint32))  # fmt: skip
    paths = open_list(graph)
    assert paths.hint.object == "The graph has no paths."
    assert not paths.table.visible
    assert "Open a graph" in open_list(None).hint.object


def test_a_search_leaves_rows_and_selection_means_these(open_list):
    paths = open_list(small_graph())
    paths.search.value_input = "b#1"
    assert names(paths) == ["B#1#chr1", "B#1#chr2"]
    assert paths.said.object == "2 of 4 paths"
    paths.table.selection = [1]
    assert paths.selected == ["B#1#chr2"]
    paths.search.value_input = ""
    assert len(names(paths)) == 4
    assert paths.selected == []


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("sample", {"A": (2, 70, 4), "B": (2, 100, 3)}),
        ("haplotype", {"A#1": (1, 30, 2), "A#2": (1, 40, 2), "B#1": (2, 100, 3)}),
        ("contig", {"chr1": (3, 120, 6), "chr2": (1, 50, 1)}),
    ],
)
def test_rows_may_be_groups_of_paths(open_list, by, rows):
    paths = open_list(small_graph())
    paths.group_by.value = by
    poll_until(paths.session.poll, lambda: names(paths) == list(rows))
    found = paths.table.value[["paths", "length", "steps"]].to_numpy().tolist()
    assert found == [list(row) for row in rows.values()]


def test_only_the_selected_are_drawn_and_all_again(open_list):
    paths = open_list(small_graph())
    assert paths.buttons["solo"].disabled
    paths.table.selection = [1, 3]
    assert not paths.buttons["solo"].disabled
    press(paths, "solo")
    poll_until(paths.session.poll, lambda: "only" in paths.told)
    assert paths.told["only"].tolist() == [0, 2, 4]
    assert paths.table.value["shown"].tolist() == ["", "•", "", "•"]
    assert paths.selected == ["A#2#chr1", "B#1#chr2"]
    assert paths.said.object == "4 paths, 2 selected, 2 hidden"
    press(paths, "all")
    assert paths.told["only"] is None
    assert paths.table.value["shown"].tolist() == ["•"] * 4


def test_a_hidden_group_takes_the_nodes_that_it_alone_has(open_list):
    paths = open_list(small_graph())
    paths.group_by.value = "sample"
    poll_until(paths.session.poll, lambda: names(paths) == ["A", "B"])
    paths.told.clear()
    paths.table.selection = [0]
    press(paths, "hide")
    poll_until(paths.session.poll, lambda: "only" in paths.told)
    assert paths.told["only"].tolist() == [0, 3, 4]


def test_the_selected_get_colours_that_can_be_changed(open_list):
    paths = open_list(small_graph())
    paths.table.selection = [0, 2]
    press(paths, "paint")
    first, second = DARK.categories[:2]
    expected = ColourChoice(
        "paths", (NAMES[0], NAMES[2]), colours=((NAMES[0], first), (NAMES[2], second))
    )
    assert paths.view.picture.choice == expected
    assert paths.table.value["colour"].tolist() == [first, "", second, ""]
    bar = paths.view.bar.colours
    assert (bar.mode.value, bar.groups.value) == ("paths", [NAMES[0], NAMES[2]])
    paths.table.selection = [2]
    paths.colour.value = "#aabbcc"
    assert paths.view.picture.choice.colours == ((NAMES[0], first), (NAMES[2], "#aabbcc"))


def test_too_many_colours_are_refused(open_list, session):
    n = 30
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, 1), np.ones(1, np.int64), np.empty((0, 2), np.uint32),
        tuple(f"p{i}" for i in range(n)), np.arange(n + 1), np.zeros(n, np.uint32))  # fmt: skip
    paths = open_list(graph)
    paths.table.selection = list(range(n))
    press(paths, "paint")
    assert session.problem.startswith("30 rows are selected, and a picture tells 21 colours apart")
    assert paths.view.picture.choice.mode == "density"


def test_the_view_goes_to_the_nodes_of_the_selected(open_list):
    paths = open_list(small_graph())
    paths.table.selection = [1]
    press(paths, "zoom")
    poll_until(paths.session.poll, lambda: "zoom" in paths.told)
    assert paths.told["zoom"].tolist() == [0, 2]


def test_ten_thousand_paths_are_listed_a_page_at_a_time(open_list):
    n = 10_000
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, n), np.ones(n, np.int64), np.empty((0, 2), np.uint32),
        tuple(f"S{i // 10}#1#ctg{i}" for i in range(n)), np.arange(n + 1),
        np.arange(0, 2 * n, 2, dtype=np.uint32))  # fmt: skip
    paths = open_list(graph)
    assert paths.said.object == "10,000 paths"
    assert (paths.table.pagination, paths.table.page_size) == ("remote", 40)
    paths.search.value_input = "ctg99"
    assert paths.said.object == "111 of 10,000 paths"
    paths.group_by.value = "sample"
    poll_until(paths.session.poll, lambda: "1,000 samples" in paths.said.object)


def test_real_haplotypes_are_listed_by_sample(open_list):
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    paths = open_list(graph)
    assert len(names(paths)) == 90
    assert paths.table.value["length"].tolist() == graph.path_lengths.tolist()
    paths.group_by.value = "sample"
    samples = {name.split("#")[0] for name in graph.path_names}
    poll_until(paths.session.poll, lambda: set(names(paths)) == samples)
    paths.told.clear()
    paths.table.selection = [names(paths).index("grch38")]
    press(paths, "solo")
    poll_until(paths.session.poll, lambda: "only" in paths.told)
    path = next(i for i, name in enumerate(graph.path_names) if name.startswith("grch38#"))
    assert paths.told["only"].tolist() == np.unique(graph.path_steps(path) >> 1).tolist()
