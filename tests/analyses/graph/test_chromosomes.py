"""Chromosomes of a graph, against components found by a search and against `extract_nodes`."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from genoviz.analyses.graph.query import chromosomes as module
from genoviz.analyses.graph.query.chromosomes import find_chromosomes, take_chromosome
from genoviz.analyses.graph.query.extract import extract_nodes
from genoviz.errors import ParameterError
from genoviz.model import ByteStrings
from tests.graphs import make_graph, make_spelled_graph, random_graph


def named(graph, *names):
    return replace(graph, path_names=names)


def assert_same(one, other):
    assert list(one.node_names) == list(other.node_names)
    assert one.path_names == other.path_names
    for name in ("node_lengths", "edges", "path_offsets", "steps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert (one.node_sequences is None) == (other.node_sequences is None)
    for name in ("node_sequences", "node_tags", "link_tags"):
        assert list(getattr(one, name) or ()) == list(getattr(other, name) or ())


def search_components(graph):
    """Components as sets of nodes, by a search from each."""
    neighbours = {node: set() for node in range(graph.n_nodes)}
    pairs = [tuple(edge) for edge in (graph.edges >> 1).tolist()]
    for path in range(graph.n_paths):
        nodes = (graph.path_steps(path) >> 1).tolist()
        pairs += pairwise(nodes)
    for a, b in pairs:
        neighbours[a].add(b)
        neighbours[b].add(a)
    left, found = set(neighbours), []
    while left:
        seen, waiting = set(), deque([min(left)])
        while waiting:
            node = waiting.popleft()
            if node not in seen:
                seen.add(node)
                waiting.extend(neighbours[node])
        left -= seen
        found.append(frozenset(seen))
    return found


def test_the_contig_of_most_steps_names_a_component():
    graph = named(
        make_graph([5] * 7, [[1, 2], [2, 1, 2, -1], [3, 4], [5, 6]], [(12, 10)]),
        "A#0#chr2", "B#1#JAH0001.1", "A#0#chr10", "A#0#JAH0002.1:3-9",
    )  # fmt: skip
    found = find_chromosomes(graph)
    # A name like that of a chromosome goes before more steps; node 7 hangs at 6 by a link.
    assert found.names == ("chr2", "chr10", "JAH0002.1")
    assert found.of_nodes.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert found.of_paths.tolist() == [0, 0, 1, 2]
    assert found.sizes(graph) == [(2, 6, 10), (2, 2, 10), (3, 2, 15)]


def test_components_of_one_name_are_one_and_those_on_no_path_are_others():
    graph = named(make_graph([1] * 6, [[1, 2], [4, 5], []]), "A#0#chr1:0-9", "A#0#chr1:50-60", "e")
    found = find_chromosomes(graph)
    assert found.names == ("chr1", "others")
    assert found.of_nodes.tolist() == [0, 0, 1, 0, 0, 1]
    assert found.of_paths.tolist() == [0, 0, -1]


def test_tags_name_a_graph_without_paths():
    tags = ["SN:Z:chr7\tSO:i:0\tSR:i:0", "SN:Z:alt\tSO:i:3\tSR:i:1", "SN:Z:chr8\tSO:i:0\tSR:i:0"]
    graph = replace(make_graph([3, 2, 4], [], [(0, 2)]), node_tags=ByteStrings.from_texts(tags))
    found = find_chromosomes(graph)
    assert found.names == ("chr7", "chr8")
    assert found.of_nodes.tolist() == [0, 0, 1]
    assert found.of_paths.shape == (0,)


def test_what_nothing_names_has_a_number(monkeypatch):
    graph = make_graph([3, 2, 4], [], [(0, 2)])
    assert find_chromosomes(graph).names == ("component 1", "component 2")
    monkeypatch.setattr(module, "MAX_UNNAMED", 1)
    with pytest.raises(ParameterError, match="has 2 components and no path that names them"):
        find_chromosomes(graph)


@pytest.mark.parametrize("seed", range(6))
def test_a_chromosome_is_what_extract_has_of_its_nodes(seed):
    graph = random_graph(seed, n_nodes=60, n_paths=5, max_steps=9)
    names = [f"S#0#chr{k % 3 + 1}:{100 * k}-{100 * k + 99}" for k in range(graph.n_paths)]
    tags = ByteStrings.from_texts(f"SR:i:{k}" for k in range(graph.n_edges))
    graph = replace(named(graph, *names), link_tags=tags)
    found = find_chromosomes(graph)
    components = search_components(graph)
    for component in components:
        assert len({int(found.of_nodes[node]) for node in component}) == 1
    for rank, name in enumerate(found.names):
        nodes = np.flatnonzero(found.of_nodes == rank)
        assert_same(take_chromosome(graph, found, name), extract_nodes(graph, nodes))
    assert sum(n for n, *_ in found.sizes(graph)) == graph.n_nodes


def test_sequences_come_with_it():
    graph = named(make_spelled_graph(["ACG", "T", "GG"], [[1], [2, -3]]), "a#0#chr1", "a#0#chr2")
    found = find_chromosomes(graph)
    assert_same(take_chromosome(graph, found, "chr2"), extract_nodes(graph, [1, 2]))
    with pytest.raises(ParameterError, match="no chromosome or component is named 'chr3'"):
        take_chromosome(graph, found, "chr3")
