"""Intervals on paths: their nodes and haplotypes are those that a walk along every path meets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query.placed_intervals import (
    count_groups_of,
    count_groups_with,
    place_intervals,
    stretches_on_path,
)
from genoviz.model import Intervals
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph
from tests.oracles.paths import visits_by_node, walk_path


def nodes_met(graph, stretches):
    """Return the nodes with a base in any of the stretches ``(path, start, end)``."""
    return sorted(
        {
            step.node
            for path, start, end in stretches
            for step in walk_path(graph, path)
            if step.position < end and step.position + step.length > start and step.length
        }
    )


def intervals_of(contigs, rows):
    ids, starts, ends = (np.array(column) for column in zip(*rows, strict=True))
    return Intervals(
        tuple(contigs), ids.astype(np.int32), starts.astype(np.int64), ends.astype(np.int64)
    )


@given(seed=st.integers(0, 10_000), n=st.integers(1, 30))
def test_nodes_are_those_that_a_walk_meets(seed, n):
    graph = random_graph(seed)
    generator = np.random.default_rng(seed)
    stretches = []
    for path in generator.integers(0, graph.n_paths, n).tolist():
        start, end = sorted(generator.integers(0, int(graph.path_lengths[path]) + 1, 2).tolist())
        if start < end:
            stretches.append((path, start, end))
    if not stretches:
        return
    placed = place_intervals(graph, intervals_of(graph.path_names, stretches))
    assert placed.nodes.tolist() == nodes_met(graph, stretches)
    assert placed.n_placed == len(stretches)
    found = zip(
        placed.rows.tolist(), placed.paths.tolist(), placed.starts.tolist(), placed.ends.tolist(),
        strict=True,
    )  # fmt: skip
    assert {row: place for row, *place in found} == dict(enumerate(map(list, stretches)))
    visits = visits_by_node(graph)
    groups = {step.path for node in placed.nodes.tolist() for step in visits[node]}
    assert count_groups_with(graph, placed.nodes, by="path") == len(groups)
    assert count_groups_of(graph, placed.paths, by="path") == len({s[0] for s in stretches})


@given(seed=st.integers(0, 10_000))
def test_stretches_of_a_path_are_its_bases_on_the_nodes(seed):
    graph = random_graph(seed)
    nodes = np.flatnonzero(np.random.default_rng(seed).random(graph.n_nodes) < 0.3)
    for path in range(graph.n_paths):
        bases = np.zeros(int(graph.path_lengths[path]), bool)
        for start, end in stretches_on_path(graph, path, nodes).tolist():
            bases[start:end] = True
        expected = np.zeros_like(bases)
        for step in walk_path(graph, path):
            expected[step.position : step.position + step.length] = step.node in nodes
        assert bases.tolist() == expected.tolist()


def test_the_last_base_of_a_path_is_not_joined_with_the_next_path():
    graph = make_graph([3, 5, 7], [[1, 2], [3]])
    placed = place_intervals(graph, intervals_of(graph.path_names, [(0, 7, 8), (1, 0, 1)]))
    assert placed.nodes.tolist() == [1, 2]


def test_what_has_no_place_is_counted_and_said():
    graph = make_graph([3, 5], [[1, 2]])
    name = graph.path_names[0]
    rows = [(0, 2, 900), (0, 8, 12), (1, 0, 5), (2, 0, 5)]
    placed = place_intervals(graph, intervals_of([name, "chrX", "chrY"], rows))
    assert placed.n_placed == 1
    assert (placed.starts.tolist(), placed.ends.tolist()) == ([2], [8])
    assert placed.reasons == (
        "the graph's paths have no contig chrX and 1 more",
        "the graph's paths do not reach that far",
    )


def test_genes_of_a_chromosome_are_on_the_path_of_its_stretch():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    # C4A of the BED file beside the graph; the path begins at base 31,972,046 of the chromosome.
    first, (start, end) = 31_972_046, (31_982_057, 32_002_681)
    placed = place_intervals(graph, intervals_of(["grch38#chr6"], [(0, start, end)]))
    path = graph.path_names.index("grch38#chr6:31972046-32055647")
    assert placed.paths.tolist() == [path]
    assert placed.starts.tolist() == [start - first]
    assert placed.nodes.tolist() == nodes_met(graph, [(path, start - first, end - first)])
    assert count_groups_with(graph, placed.nodes) == 90
    # chm13's path ends before that.
    for name in ("chr6", "6"):
        alone = place_intervals(graph, intervals_of([name], [(0, start, end), (0, 5, 6)]))
        assert alone.n_placed == 1
        assert alone.nodes.tolist() == placed.nodes.tolist()
        assert alone.reasons == ("the graph's paths do not reach that far",)


def test_a_contig_of_several_samples_is_that_of_the_only_one_that_reaches_there(tmp_path):
    path = tmp_path / "several.gfa"
    path.write_text(
        "S\t1\tACGTACGTAC\nS\t2\tGGGGGTTTTT\nP\tone#chr6:1000-1020\t1+,2+\t*\n"
        "P\ttwo#chr6:1015-1035\t2+,1+\t*\nP\tthree#chr6:5000-5010\t1+\t*\n"
        "P\tthree#chr6:5010-5020\t2+\t*\n"
    )
    rows = [(0, 1000, 1005), (0, 1014, 1016), (0, 1020, 1030), (0, 5005, 5015), (0, 9000, 9001)]
    placed = place_intervals(read_gfa(path), intervals_of(["chr6"], rows))
    found = zip(placed.rows, placed.paths, placed.starts, placed.ends, strict=True)
    assert sorted(map(tuple, found)) == [
        (0, 0, 0, 5), (2, 1, 5, 15), (3, 2, 5, 10), (3, 3, 0, 5)
    ]  # fmt: skip
    assert placed.n_placed == 3
    assert placed.reasons[0].startswith("'chr6' could be any of 3 contigs")
    assert placed.reasons[1] == "the graph's paths do not reach that far"


@pytest.mark.parametrize("n", [0, 1])
def test_none_and_one(n):
    graph = make_graph([3, 5], [[1, 2]])
    empty = np.zeros(n, np.int64)
    intervals = Intervals(graph.path_names, empty.astype(np.int32), empty, empty)
    placed = place_intervals(graph, intervals)
    assert placed.nodes.tolist() == [0] * n  # an empty interval is on the node of its base
    assert placed.reasons == ()
