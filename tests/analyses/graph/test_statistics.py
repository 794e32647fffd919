"""A graph in numbers, against what odgi prints and against counting by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.query.statistics import graph_statistics, iter_graph_statistics
from genoviz.analyses.graph.query.statistics_rows import statistics_rows
from genoviz.cli.results import describe_graph
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.layout_files import read_layout
from genoviz.model import ByteStrings, GraphLayout, PangenomeGraph
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph


def test_drb1_is_as_odgi_describes_it():
    """The figures of odgi's MultiQC tutorial, ``odgi stats -m -sgdl``, odgi 0.8."""
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"))
    statistics = graph_statistics(graph)
    assert (statistics.total_length, statistics.n_nodes) == (21_997, 4_955)
    assert (statistics.n_edges, statistics.n_paths) == (6_777, 12)
    assert statistics.component_sizes == (4_955,)
    assert (statistics.n_loops, statistics.n_looped_nodes) == (0, 0)
    assert statistics.bases == {"A": 6306, "C": 4728, "G": 4440, "N": 944, "T": 5579}
    order = statistics.order
    assert order.n_links == 35_047
    assert order.mean_link_nodes == pytest.approx(0.695637, abs=5e-7)
    assert order.mean_link_length == pytest.approx(2.86741, abs=5e-6)
    assert order.n_backward == 3_095
    # later versions of odgi add the last step of each path
    added = sum(int(graph.node_lengths[graph.path_steps(p)[-1] >> 1]) for p in range(12))
    assert order.sum_by_nodes - 12 / 35_059 == pytest.approx(1.97732, abs=5e-6)
    assert order.sum_by_nucleotides - added / 163_416 == pytest.approx(1.88392, abs=5e-6)


@pytest.mark.parametrize("name", ["LPA", "chr6.C4", "micb-kir3dl1", "hprc_chrY.noseq"])
def test_real_graphs_add_up(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"))
    statistics = graph_statistics(graph)
    assert sum(statistics.component_sizes) == graph.n_nodes
    assert len(statistics.component_sizes) == (2 if name == "micb-kir3dl1" else 1)
    assert sum(statistics.length_histogram.counts) == graph.n_nodes
    assert sum(statistics.depth_histogram.counts) == graph.n_nodes
    assert sum(statistics.bases.values()) in (graph.total_length, 0)
    classes = (statistics.private, statistics.shell, statistics.core)
    assert sum(part.n_nodes for part in classes) + statistics.n_unvisited == graph.n_nodes
    lengths = sum(part.length for part in classes) + statistics.unvisited_length
    assert lengths == graph.total_length


def hand_made(**changes):
    """1 and 4 are tips, 2 and 3 alternatives that begin alike, 5 is alone, 6 has two loops."""
    graph = make_graph(
        [4, 2, 3, 1, 7, 2],
        [[1, 2, 4], [1, 3, 4], [-4, -2, -1, 6]],
        [(0, 2), (0, 4), (2, 6), (4, 6), (3, 1), (10, 10), (10, 11), (10, 10)],
    )
    values = {name: getattr(graph, name) for name in graph.__dataclass_fields__} | changes
    return PangenomeGraph(**values)


def test_a_small_graph_by_hand():
    sequences = ByteStrings.from_texts(["ACGT", "GA", "GCC", "T", "NNNNNNN", "AT"])
    names = ("HG1#1#c", "HG2#1#c", "HG1#2#c")
    statistics = graph_statistics(hand_made(node_sequences=sequences, path_names=names))
    assert (statistics.n_edges, statistics.n_unlisted_edges) == (6, 1)
    assert describe_graph(hand_made())[1].startswith("6 nodes, 6 edges, 3 paths, ")
    assert statistics.component_sizes == (5, 1)
    assert (statistics.n_loops, statistics.n_looped_nodes) == (2, 1)
    # s1+ -> s2+ and s3+ begin with G; s6+ -> s6+ and s6- begin with A; s6- -> s6- is alone
    assert statistics.n_nondeterministic_edges == 4
    assert statistics.bases == {"A": 3, "C": 3, "G": 3, "T": 3, "N": 7}
    assert statistics.node_lengths.n50 == 4
    assert (statistics.node_lengths.min, statistics.node_lengths.max) == (1, 7)
    assert (statistics.n_tips, statistics.n_isolated, statistics.max_degree) == (2, 1, 3)
    assert (statistics.max_depth, statistics.n_unvisited, statistics.unvisited_length) == (3, 1, 7)
    assert statistics.mean_base_depth == pytest.approx((3 * 4 + 2 * 2 + 3 + 3 * 1 + 2) / 19)
    assert statistics.reverse_share == pytest.approx(3 / 10)
    assert statistics.n_samples == 2
    assert (statistics.private.n_nodes, statistics.private.length) == (3, 7)
    assert (statistics.core.n_nodes, statistics.shell.n_nodes) == (2, 0)


def test_what_cannot_be_counted_without_sequences_is_left_open():
    statistics = graph_statistics(hand_made())
    assert statistics.n_nondeterministic_edges is None
    assert statistics.bases == {}
    assert statistics.n_samples == 3


@pytest.mark.parametrize("seed", range(4))
def test_distances_in_a_layout(seed):
    graph = random_graph(seed)
    coordinates = np.random.default_rng(seed).normal(size=(graph.n_nodes, 2, 2))
    distances = graph_statistics(graph, GraphLayout(coordinates)).layout
    links = [
        math.dist(coordinates[a >> 1, a & 1], coordinates[b >> 1, b & 1])
        for path in range(graph.n_paths)
        for a, b in zip(graph.path_steps(path)[:-1], graph.path_steps(path)[1:], strict=True)
    ]
    assert distances.n_links == len(links)
    assert distances.mean_link_length == pytest.approx(np.mean(links))
    assert distances.sum_by_nodes == pytest.approx(sum(links) / graph.n_steps)
    assert distances.sum_by_nucleotides == pytest.approx(sum(links) / graph.path_lengths.sum())


def test_a_better_layout_has_shorter_links():
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"))
    names = [f"layouts/DRB1-3123_{number}.lay" for number in (11, 13, 15, 29)]
    lengths = [
        graph_statistics(graph, read_layout(real_data(name))).layout.mean_link_length
        for name in names
    ]
    assert lengths == sorted(lengths, reverse=True)


@given(st.lists(st.integers(0, 5_000), max_size=60))
def test_histograms_count_each_value_once(lengths):
    graph = make_graph(lengths, [])
    histogram = graph_statistics(graph).length_histogram
    edges = histogram.edges
    assert list(edges) == sorted(set(edges))
    expected = Counter(max(e for e in edges if e <= length) for length in lengths)
    assert {e: n for e, n in zip(edges, histogram.counts, strict=False) if n} == dict(expected)
    assert not lengths or edges[-2] <= max(lengths) < edges[-1]


def test_progress_and_a_layout_of_another_graph():
    graph = random_graph(1)
    *reports, last = iter_graph_statistics(graph)
    assert [report.n_done for report in reports] == list(range(len(reports)))
    assert last.statistics == graph_statistics(graph)
    with pytest.raises(ParameterError, match="layout has 3 nodes, the graph has 40"):
        graph_statistics(graph, GraphLayout(np.zeros((3, 2, 2))))


@pytest.mark.parametrize(("n", "words"), [(1, "1"), (2, "2 (1, 1 nodes)"), (0, "0")])
def test_components_are_listed_if_there_are_several(n, words):
    rows = statistics_rows(graph_statistics(make_graph([3] * n, [[k + 1] for k in range(n)])))
    assert {row.name: row.value for row in rows}["Components"] == words


def test_a_graph_without_nodes():
    statistics = graph_statistics(make_graph([], []))
    assert (statistics.n_nodes, statistics.component_sizes, statistics.mean_depth) == (0, (), 0.0)
