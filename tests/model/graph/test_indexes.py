"""The index from nodes to steps and edges holds what a walk over all of them finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.errors import ParameterError
from genoviz.model import Incidence
from genoviz.model.graph import indexes
from tests.conftest import REAL_GRAPHS, real_data
from tests.graphs import make_graph, random_graph
from tests.oracles.paths import edges_by_node, visits_by_node


def check_against_walk(graph):
    visits, touching = visits_by_node(graph), edges_by_node(graph)
    steps, edges = graph.node_step_index, graph.node_edge_index
    for node in range(graph.n_nodes):
        assert steps.of(node).tolist() == [visit.step for visit in visits[node]]
        assert edges.of(node).tolist() == touching[node]
    depths = np.bincount(graph.steps >> 1, minlength=graph.n_nodes)
    assert steps.counts.tolist() == graph.node_depths.tolist() == depths.tolist()


@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_real_graph(name):
    check_against_walk(read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_random_graph(seed, n_nodes):
    graph = random_graph(seed, n_nodes=n_nodes)
    edges = np.random.default_rng(seed).integers(0, 2 * n_nodes, (20, 2))
    check_against_walk(make_graph(graph.node_lengths, [[1], []], edges))
    check_against_walk(graph)


def test_loop_is_listed_once_and_repeated_link_twice():
    graph = make_graph([1, 1], [], [[0, 0], [0, 1], [2, 0], [2, 0]])
    assert graph.node_edge_index.of(0).tolist() == [0, 1, 2, 3]
    assert graph.node_edge_index.of(1).tolist() == [2, 3]


def test_graph_without_nodes_and_paths():
    graph = make_graph([], [])
    assert len(graph.node_step_index) == 0
    items, counts = graph.node_edge_index.gather(np.empty(0, np.int64))
    assert (items.tolist(), counts.tolist()) == ([], [])


def test_items_of_several_nodes_are_gathered_in_their_order():
    graph = make_graph([1] * 3, [[1, 2, -1, 3], [3, 1]])
    items, counts = graph.node_step_index.gather(np.array([2, 0, 2]))
    assert items.tolist() == [3, 4, 0, 2, 5, 3, 4]
    assert counts.tolist() == [2, 3, 2]
    assert items.dtype == np.int64


def test_offsets_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="needs offsets from 0 to the number of items"):
        Incidence(np.array([0, 1]), np.array([4, 5], np.uint32))


@given(st.integers(0, 2**32 - 1), st.integers(0, 400))
def test_few_positions_are_those_of_compiled_loops(seed, n_steps):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 4, 9) * random.integers(0, 2, 9)
    steps = random.integers(0, 18, n_steps).astype(np.uint32)
    cuts = np.sort(random.integers(0, n_steps + 1, 4))
    offsets = np.concatenate([[0], cuts, [n_steps]]).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(lengths[steps >> 1])])
    wanted = random.permutation(n_steps)
    paths = np.repeat(np.arange(5), np.diff(before[offsets]))
    places = np.arange(len(paths)) - before[offsets][paths]
    found = []
    for few in (10**6, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(indexes, "FEW_STEPS", few)
            patch.setattr(indexes, "FEW_PLACES", few)
            index = indexes.PositionIndex.build(steps, lengths, offsets)
            columns = [index.checkpoints, index.path_lengths, index.positions_of(wanted)]
            assert index.positions_of(wanted[:4]).tolist() == columns[2][:4].tolist()
            found.append([*columns, index.steps_at(paths, places)])
    for one, other in zip(*found, strict=True):
        assert one.tolist() == other.tolist()
    owners = np.searchsorted(offsets, wanted, side="right") - 1
    assert found[0][2].tolist() == (before[wanted] - before[offsets][owners]).tolist()
    expected = np.searchsorted(before, before[offsets][paths] + places, side="right") - 1
    assert found[0][3].tolist() == expected.tolist()
