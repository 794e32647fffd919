"""Superbubbles against their definition, on graphs small enough to try every pair of handles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.graph.sites.handle_graph import HandleGraph
from genoviz.analyses.graph.sites.superbubbles import iter_find_superbubbles
from tests.graphs import make_graph
from tests.oracles import superbubbles as oracle


def find_superbubbles(handles, root):
    *_, found = iter_find_superbubbles(handles, root)
    return found


@st.composite
def edge_lists(draw):
    """Draw a row of nodes with edges that mostly lead onwards; some turn, loop or go back."""
    n_nodes = draw(st.integers(2, 8))
    edges = [(2 * n, 2 * n + 2) for n in range(n_nodes - 1) if draw(st.integers(0, 3))]
    for _ in range(draw(st.integers(0, 9))):
        origin = draw(st.integers(0, n_nodes - 1))
        target = min(max(origin + draw(st.integers(-1, 3)), 0), n_nodes - 1)
        strands = draw(st.sampled_from([(0, 0)] * 8 + [(0, 1), (1, 0), (1, 1)]))
        edges.append((2 * origin + strands[0], 2 * target + strands[1]))
    return n_nodes, edges


@settings(max_examples=300)
@given(edge_lists(), st.data())
def test_they_are_those_of_the_definition(nodes_and_edges, data):
    n_nodes, edges = nodes_and_edges
    graph = make_graph([1] * n_nodes, [], edges)
    root = data.draw(st.integers(0, 2 * n_nodes - 1))
    found = find_superbubbles(HandleGraph.of(graph), root)
    follow = oracle.successors(graph)
    expected = {
        (source, sink): members
        for (source, sink), members in oracle.superbubbles(graph).items()
        if len(members) > 2 and sink != source ^ 1 and root not in members - {source}
        if source == root or oracle.can_reach(follow, root, source)
    }
    assert all(handle ^ 1 not in members for members in expected.values() for handle in members)
    pairs = list(zip(found.sources.tolist(), found.sinks.tolist(), strict=True))
    assert sorted(pairs) == sorted(expected)
    for index, pair in enumerate(pairs):
        is_inside = found.places >= found.first_places[index]
        is_inside &= found.places <= found.last_places[index]
        assert set(np.flatnonzero(is_inside).tolist()) == expected[pair]


@given(edge_lists())
def test_each_handle_is_followed_by_what_the_edges_say(nodes_and_edges):
    n_nodes, edges = nodes_and_edges
    graph = make_graph([1] * n_nodes, [[1, -2], [2, 1]], edges)
    handles = HandleGraph.of(graph)
    follow = oracle.successors(graph)
    for handle in range(2 * n_nodes):
        targets = handles.targets[handles.offsets[handle] : handles.offsets[handle + 1]]
        assert set(targets.tolist()) == follow[handle]


def chain(n, edges):
    return make_graph([1] * n, [], [(2 * (a - 1), 2 * (b - 1)) for a, b in edges])


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([(1, 2), (1, 3), (2, 4), (3, 4)], {(1, 4)}),
        ([(1, 2), (2, 3), (1, 3)], {(1, 3)}),
        ([(1, 2), (2, 3), (3, 4)], set()),
        ([(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 6)], {(1, 4), (4, 6)}),
        ([(1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (1, 6)], {(1, 6), (2, 5)}),
        ([(1, 2), (1, 3), (2, 4), (3, 4), (4, 1)], set()),  # back to the source
        ([(1, 2), (1, 3), (2, 4), (3, 4), (2, 2)], set()),  # a loop within
        ([(1, 2), (1, 3), (2, 4), (3, 4), (1, 5)], set()),  # a tip leaves
        ([(1, 2), (1, 3), (2, 4), (3, 4), (5, 3)], set()),  # a tip joins
        ([(1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (6, 1)], {(2, 5)}),  # a ring
    ],
)
def test_small_graphs(edges, expected):
    found = find_superbubbles(HandleGraph.of(chain(6, edges)), 0)
    nodes = np.stack([found.sources, found.sinks], axis=1) // 2 + 1
    assert {tuple(pair) for pair in nodes.tolist()} == expected


def test_an_inversion_lets_walks_turn_round_so_it_is_none():
    graph = make_graph([1, 5, 1], [], [(0, 2), (0, 3), (2, 4), (3, 4)])
    handles = HandleGraph.of(graph)
    assert 1 in handles.targets[handles.offsets[2] : handles.offsets[3]]
    assert len(find_superbubbles(handles, 0).sources) == 0


def test_a_hairpin_is_none():
    graph = make_graph([1, 5, 5], [], [(0, 2), (0, 4), (2, 5)])
    assert len(find_superbubbles(HandleGraph.of(graph), 0).sources) == 0
    assert (0, 1) in oracle.superbubbles(graph)


def test_many_levels_are_found_in_one_sweep():
    n = 50_000
    edges = [(i, i + 1) for i in range(1, 2 * n)] + [(i, 2 * n + 1 - i) for i in range(1, n)]
    found = find_superbubbles(HandleGraph.of(chain(2 * n, edges)), 0)
    assert len(found.sources) == n - 1
    assert (found.sources // 2 + 1 + found.sinks // 2 == 2 * n).all()


def test_a_long_search_tells_how_far_it_is(monkeypatch):
    from genoviz.analyses.graph.sites import superbubbles

    n = 2_000_000
    handles = HandleGraph.of(
        make_graph(np.ones(n), [], np.stack([np.arange(n - 1) * 2, np.arange(1, n) * 2], axis=1))
    )
    *counts, result = iter_find_superbubbles(handles, 0)
    assert counts[0] < counts[-1] == n
    assert len(result.sources) == 0
    assert superbubbles.SLICE_EDGES < 2 * n
