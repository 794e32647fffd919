from __future__ import annotations

import numpy as np
import pytest

from genoviz import Intervals, ParameterError, read_gfa, simulate_pangenome
from genoviz.analyses.graph.query.path_depth import (
    depths_of_intervals,
    node_depths_of,
    path_depth_along,
    place_intervals,
)
from genoviz.io.intervals.intervals import read_intervals
from tests.conftest import real_data
from tests.graphs import make_graph
from tests.oracles.paths import walk_bases


@pytest.fixture(scope="module")
def graph():
    return simulate_pangenome(n_nodes=300, n_paths=6, seed=3)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("paths", [None, [1], [0, 2, 5]])
def test_depth_along_a_path_is_that_of_each_base(paths, once):
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), cache=False)
    name = graph.path_names[3]
    found = path_depth_along(graph, name, paths, once=once)
    assert (found.contigs, found.contig_lengths.tolist()) == ((name,), [graph.path_lengths[3]])
    assert found.starts[0] == 0
    np.testing.assert_array_equal(found.starts[1:], found.ends[:-1])
    assert (np.diff(found.scores) != 0).all()
    bases = np.repeat(found.scores, found.lengths)
    chosen = range(graph.n_paths) if paths is None else paths
    places = np.random.default_rng(1).integers(0, len(bases), 40)
    nodes = [base[0] for base in walk_bases(graph, 3)]
    for place in places.tolist():
        counts = [int((graph.path_steps(p) >> 1 == nodes[place]).sum()) for p in chosen]
        assert bases[place] == (sum(n > 0 for n in counts) if once else sum(counts))
    assert len(bases) == len(nodes)


def test_a_repeat_is_visited_often_and_by_one_path():
    graph = make_graph([3, 2], [[1, 2, 2, -1], [2]])
    assert path_depth_along(graph, 0).scores.tolist() == [2, 3, 2]
    assert path_depth_along(graph, 0, once=True).scores.tolist() == [1, 2, 1]
    assert path_depth_along(graph, 0, [1]).ends.tolist() == [3, 7, 10]
    assert node_depths_of(graph, []).tolist() == [0, 0]


def test_a_path_without_bases_has_no_depth():
    graph = make_graph([3, 0], [[], [2]])
    assert len(path_depth_along(graph, 0)) == 0
    assert len(path_depth_along(graph, 1)) == 0


def test_depths_of_intervals_are_those_of_their_bases(graph):
    generator = np.random.default_rng(5)
    path_of = generator.integers(0, graph.n_paths, 60)
    starts = (generator.random(60) * graph.path_lengths[path_of]).astype(np.int64)
    ends = np.minimum(starts + generator.integers(0, 300, 60), graph.path_lengths[path_of])
    intervals = Intervals(graph.path_names, path_of.astype(np.int32), starts, ends)
    found = depths_of_intervals(graph, intervals, [0, 1, 2, 3])
    sets = [{base[0] for base in walk_bases(graph, p)} for p in range(4)]
    for row in range(60):
        depth = np.array(
            [
                sum(int((graph.path_steps(p) >> 1 == base[0]).sum()) for p in range(4))
                for base in walk_bases(graph, path_of[row])[starts[row] : ends[row]]
            ]
        )
        nodes = {b[0] for b in walk_bases(graph, path_of[row])[starts[row] : ends[row]]}
        if len(depth):
            assert found.mean_depths[row] == pytest.approx(depth.mean())
            assert found.n_paths[row] == sum(bool(nodes & each) for each in sets)
        else:
            assert np.isnan(found.mean_depths[row])


def test_genes_lie_on_the_sub_paths_of_their_contig():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    genes = read_intervals(real_data("gfa/chr6.C4.bed"))
    placed = place_intervals(graph, genes)
    assert placed.intervals.contigs == graph.path_names
    assert len(placed.rows) > 0
    for row, path, start in zip(
        placed.rows, placed.intervals.contig_ids, placed.intervals.starts, strict=True
    ):
        assert start == max(genes.starts[row] - graph.path_starts[path], 0)
        assert genes.contigs[genes.contig_ids[row]] in graph.path_names[path]
    depths = depths_of_intervals(graph, placed.intervals)
    assert depths.n_paths.max() > 80
    assert (depths.mean_depths > 0).all()


def test_an_unknown_path_is_named(graph):
    with pytest.raises(ParameterError, match="no path is named 'nobody'"):
        path_depth_along(graph, "nobody")
    with pytest.raises(ParameterError, match="no path is named 'nobody'"):
        path_depth_along(graph, 0, ["nobody"])
