"""Positions and nodes find each other as a walk along every path does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query import path_positions
from genoviz.analyses.graph.query.extract import extract_region
from genoviz.analyses.graph.query.path_positions import (
    NodePosition,
    find_node_visits,
    find_region_steps,
    locate_position,
)
from genoviz.analyses.graph.query.position_lift import lift_position, lift_positions
from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz.model.graph import indexes
from tests.conftest import REAL_GRAPHS, real_data
from tests.graphs import make_graph, random_graph
from tests.oracles.paths import (
    WalkedStep,
    nearest_shared_bases,
    visits_by_node,
    walk_bases,
    walk_columns,
    walk_path,
)


@pytest.fixture(scope="module", params=REAL_GRAPHS)
def graph(request):
    return read_gfa(real_data(f"gfa/{request.param}.gfa.gz"), cache=False)


def some_paths(graph, n):
    """Return the first path and others from all over the list."""
    return sorted({0, *np.random.default_rng(3).integers(0, graph.n_paths, n).tolist()})


def some_positions(graph, walked, generator, n):
    """Return positions at random, at both ends, and beside the ends of steps."""
    length = int(walked.length.sum())
    borders = walked.position[:: max(1, len(walked.step) // n)].tolist()
    places = {0, length - 1, *generator.integers(0, length, n).tolist(), *borders}
    places |= {border - 1 for border in borders if border}
    return sorted(places)


def check_positions(graph, path, places, walked):
    for place in places:
        row = int(np.searchsorted(walked.position, place, side="right")) - 1
        step = WalkedStep(*(column[row] for column in walked))
        offset = place - step.position
        assert 0 <= offset < step.length
        if step.is_reverse:
            offset = step.length - 1 - offset
        expected = NodePosition(step.node, offset, step.is_reverse, step.step)
        assert locate_position(graph, path, place) == expected


def check_slice(graph, path, start, end, walked):
    region = PathRegion(graph.path_names[path], start, end)
    found = find_region_steps(graph, region)
    is_inside = (walked.position < end) & (walked.position + walked.length > start)
    inside = WalkedStep(*(column[is_inside] for column in walked))
    assert found.path == path
    assert (found.first_step, found.stop_step) == (inside.step[0], inside.step[-1] + 1)
    np.testing.assert_array_equal(found.nodes, inside.node)
    np.testing.assert_array_equal(found.is_reverse, inside.is_reverse)
    np.testing.assert_array_equal(found.positions, inside.position)


def test_positions_and_regions_of_real_graphs(graph):
    generator = np.random.default_rng(5)
    for path in some_paths(graph, 12):
        walked = walk_columns(graph, path)
        places = some_positions(graph, walked, generator, 60)
        check_positions(graph, path, places, walked)
        check_positions(graph, graph.path_names[path], places[:1], walked)
        for _ in range(12):
            start, end = sorted(generator.choice(places, 2, replace=False).tolist())
            check_slice(graph, path, start, end, walked)
        check_slice(graph, path, 0, int(graph.path_lengths[path]), walked)


def test_every_base_of_real_graphs():
    """Of the largest every seventh, which is one of each node of more than six bases."""
    for name, stride in (("DRB1-3123", 1), ("DRB1-3123_unsorted", 1), ("chr6.C4", 7)):
        graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
        for path in some_paths(graph, 1)[-1:]:
            bases = walk_bases(graph, path)
            for place, base in zip(range(0, len(bases), stride), bases[::stride], strict=True):
                found = locate_position(graph, path, place)
                assert (found.node, found.offset, found.is_reverse, found.step) == base


def test_visits_of_all_nodes_of_real_graphs(graph):
    walked = [walk_columns(graph, path) for path in range(graph.n_paths)]
    walked = WalkedStep(*map(np.concatenate, zip(*walked, strict=True)))
    by_node = np.argsort(walked.node, kind="stable")
    found = find_node_visits(graph, np.arange(graph.n_nodes))
    np.testing.assert_array_equal(found.nodes, walked.node[by_node])
    np.testing.assert_array_equal(found.paths, walked.path[by_node])
    np.testing.assert_array_equal(found.steps, walked.step[by_node])
    np.testing.assert_array_equal(found.positions, walked.position[by_node])
    np.testing.assert_array_equal(found.is_reverse, walked.is_reverse[by_node])


@given(st.integers(0, 2**32 - 1))
def test_visits_of_a_large_graph_are_found_without_an_index(seed):
    graph = random_graph(seed, n_nodes=12, n_paths=3, max_steps=30)
    nodes = np.random.default_rng(seed).integers(0, 12, seed % 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_positions, "MAX_INDEXED_STEPS", -1)
        patch.setattr(indexes, "SCANNED_TOGETHER", 7)
        found = find_node_visits(graph, nodes)
    assert "node_step_index" not in vars(graph)
    visits = visits_by_node(graph)
    expected = [visit for node in np.unique(nodes) for visit in visits[node]]
    assert found.nodes.tolist() == [visit.node for visit in expected]
    assert found.steps.tolist() == [visit.step for visit in expected]
    assert found.positions.tolist() == [visit.position for visit in expected]


def test_lengths_of_real_paths(graph):
    for path in some_paths(graph, 12):
        assert graph.path_lengths[path] == sum(s.length for s in walk_path(graph, path))


def check_lift(graph, source, target, places):
    expected = nearest_shared_bases(graph, source, target, places)
    found = lift_positions(graph, source, places, target)
    for lifted, (distance, node, position, is_reverse, n_visits) in zip(
        found, expected, strict=True
    ):
        assert (lifted.distance, lifted.node, lifted.path) == (distance, node, target)
        assert (lifted.position, lifted.is_reverse) == (position, is_reverse)
        assert lifted.n_visits == n_visits


def test_a_path_lifted_to_itself_is_where_it_was(graph):
    generator = np.random.default_rng(9)
    for path in some_paths(graph, 4):
        places = generator.integers(0, graph.path_lengths[path], 30).tolist()
        lifted = lift_positions(graph, path, places, path)
        assert [(p.position, p.distance, p.is_reverse) for p in lifted] == [
            (place, 0, False) for place in places
        ]


@pytest.mark.parametrize(
    "name",
    ["DRB1-3123", "DRB1-3123_unsorted", "LPA", "chr6.C4", "chr5.yeast", "micb-kir3dl1"],
)
def test_lifted_positions_of_real_graphs(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    generator = np.random.default_rng(8)
    for path in some_paths(graph, 3)[1:]:
        places = generator.integers(0, graph.path_lengths[path], 25).tolist()
        if set(graph.path_steps(0) >> 1) & set(graph.path_steps(path) >> 1):
            check_lift(graph, path, 0, places)
        else:
            assert lift_positions(graph, path, places, 0) == [None] * len(places)


def test_lifted_positions_of_a_part_of_a_large_graph():
    graph = read_gfa(real_data("gfa/MHC_4.gfa.gz"), cache=False)
    part = extract_region(graph, "CHM13:1000000-1030000", detour_bp=20_000)
    for source, target in ((0, 1), (1, 0)):
        check_lift(part, source, target, range(0, int(part.path_lengths[source]), 997))


@given(st.integers(0, 2**32 - 1))
def test_random_graphs(seed):
    graph = random_graph(seed, n_nodes=12, n_paths=3, max_steps=30)
    for path in range(graph.n_paths):
        walked = walk_columns(graph, path)
        assert list(map(WalkedStep, *(column.tolist() for column in walked))) == walk_path(
            graph, path
        )
        length = int(graph.path_lengths[path])
        check_positions(graph, path, range(length), walked)
        for start in range(0, length, 7):
            check_slice(graph, path, start, min(start + 11, length), walked)
    visits = visits_by_node(graph)
    found = find_node_visits(graph, [5, 2, 5])
    assert found.steps.tolist() == [visit.step for node in (2, 5) for visit in visits[node]]
    if set(graph.path_steps(0) >> 1) & set(graph.path_steps(1) >> 1):
        check_lift(graph, 0, 1, list(range(int(graph.path_lengths[0]))))


def test_long_paths_find_their_checkpoints():
    lengths = np.random.default_rng(1).integers(0, 4, 50)
    nodes = np.random.default_rng(2).integers(1, 51, 1000).tolist()
    for n_steps in (31, 32, 33, 64, 1000):
        graph = make_graph(lengths, [nodes[:n_steps], nodes[n_steps:], [3]])
        walked = walk_path(graph, 0)
        index = graph.position_index
        assert graph.path_lengths[0] == walked[-1].position + walked[-1].length
        steps = np.arange(n_steps)
        assert index.positions_of(steps).tolist() == [step.position for step in walked]
        has_bases = [step for step in walked if step.length]
        found = index.steps_at(np.zeros(len(has_bases), int), [s.position for s in has_bases])
        assert found.tolist() == [step.step for step in has_bases]


def test_a_region_without_length_is_at_one_step():
    graph = make_graph([3, 2, 4], [[1, -2, 3]])
    for place, node in ((0, 0), (2, 0), (3, 1), (5, 2), (8, 2), (9, 2)):
        found = find_region_steps(graph, PathRegion("path0", place, place))
        assert found.nodes.tolist() == [node]


def test_a_path_without_steps_has_an_empty_slice():
    graph = make_graph([3], [[], [1]])
    found = find_region_steps(graph, PathRegion("path0", 0, 0))
    assert (found.first_step, found.stop_step, len(found.nodes)) == (0, 0, 0)
    assert len(find_node_visits(graph, []).nodes) == 0


def test_a_position_is_lifted_over_the_nearest_shared_node():
    graph = make_graph([4, 10, 5, 3], [[1, 2, 3], [-3, 4, -1, -1]])
    # Base 3 of node 1 is the first base of its reverse, and the first visit is taken.
    lifted = lift_position(graph, "path0", 3, "path1")
    assert (lifted.position, lifted.is_reverse, lifted.distance) == (5 + 3 + 0, True, 0)
    assert lifted.n_visits == 2
    # Node 2 is not on path1: from its base 4 (position 8) it is 5 back to node 1, 6 on to node 3.
    assert lift_position(graph, "path0", 8, "path1").node == 0
    assert lift_position(graph, "path0", 8, "path1").distance == 5
    lifted = lift_position(graph, "path0", 9, "path1")
    assert (lifted.node, lifted.distance, lifted.position) == (2, 5, 4)
    assert lift_position(make_graph([1, 1], [[1], [2]]), 0, 0, 1) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda graph: locate_position(graph, "path0", 9), "position 9 is not on path 'path0', "),
        (lambda graph: locate_position(graph, "path0", -1), "needs one from 0 to 8"),
        (lambda graph: locate_position(graph, "path1", 0), "path 'path1' has no bases"),
        (lambda graph: locate_position(graph, "path7", 0), "no path is named 'path7'"),
        (lambda graph: locate_position(graph, 7, 0), "path 7 is not one of the graph's 2"),
        (
            lambda graph: find_region_steps(graph, PathRegion("path0", 3, 10)),
            "region 'path0:3-10' is not on its path, which has 9 bp",
        ),
        (lambda graph: find_node_visits(graph, [0, 3]), "node 3 is not one of the graph's 3"),
        (lambda graph: find_node_visits(graph, [-1]), "node -1 is not one of the graph's 3"),
        (lambda graph: lift_position(graph, 0, 9, 1), "position 9 is not on path 'path0', which"),
    ],
)
def test_what_is_not_there_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call(make_graph([3, 2, 4], [[1, -2, 3], []]))
