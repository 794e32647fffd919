"""Parts of graphs say the same as the whole, under the same names."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa, write_gfa
from genoviz.analyses.graph.query.extract import extract_nodes, extract_region
from genoviz.analyses.graph.query.neighbourhood import find_detours, find_neighbourhood
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import ByteStrings, PathRegion
from tests.conftest import REAL_GRAPHS, real_data
from tests.graphs import make_graph, random_graph
from tests.oracles import extract as oracle
from tests.oracles.paths import path_sequence, walk_path


def named_steps(graph, path):
    return [(graph.node_names[step.node], step.is_reverse) for step in walk_path(graph, path)]


def named_edges(graph):
    names = list(graph.node_names)
    return [tuple((names[h // 2], h % 2) for h in edge) for edge in graph.edges.tolist()]


def check_part(graph, part, nodes):
    kept = sorted(set(nodes))
    names = {graph.node_names[node] for node in kept}
    assert list(part.node_names) == [graph.node_names[node] for node in kept]
    assert part.node_lengths.tolist() == graph.node_lengths[kept].tolist()
    if graph.node_sequences is not None:
        assert list(part.node_sequences) == [graph.node_sequences[node] for node in kept]
    inside = [edge for edge in named_edges(graph) if {name for name, _ in edge} <= names]
    assert named_edges(part) == inside
    expected = oracle.sub_paths(graph, kept)
    assert part.n_paths == len(expected)
    for new, (path, start, end, steps) in enumerate(expected):
        assert named_steps(part, new) == steps
        assert part.path_lengths[new] == end - start
        whole, cut = graph.parsed_path_names[path], part.parsed_path_names[new]
        assert cut.whole == whole.whole
        assert part.path_starts[new] == graph.path_starts[path] + start
        if end - start != graph.path_lengths[path]:
            assert cut.end == graph.path_starts[path] + end
        else:
            assert part.path_names[new] == graph.path_names[path]


@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_part_of_a_real_graph(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    generator = np.random.default_rng(4)
    first = int(generator.integers(0, graph.n_nodes))
    nodes = {*range(first, min(first + 200, graph.n_nodes)), *generator.integers(0, first + 1, 50)}
    check_part(graph, extract_nodes(graph, list(nodes)), nodes)


@pytest.mark.parametrize("name", ["DRB1-3123", "chr6.C4", "LPA", "micb-kir3dl1"])
def test_sub_paths_spell_what_their_names_say(name, tmp_path):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    region = PathRegion(graph.path_names[1], 4000, 5000)
    part = extract_region(graph, region, context_steps=2)
    write_gfa(part, tmp_path / "part.gfa.gz")
    part = read_gfa(tmp_path / "part.gfa.gz", cache=False)
    wholes = {}
    n_cut = 0
    for path, cut in enumerate(part.path_names):
        (found,) = resolve_region(graph, cut)
        assert found.length == part.path_lengths[path]
        whole = graph.find_path(found.path)
        if whole not in wholes:
            wholes[whole] = path_sequence(graph, whole)
        assert path_sequence(part, path) == wholes[whole][found.start : found.end]
        n_cut += found.length < len(wholes[whole])
    assert n_cut > 0
    assert 1 in wholes


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(0, 6))
def test_random_part(seed, bp, steps):
    generator = np.random.default_rng(seed)
    base = random_graph(seed, n_nodes=25, n_paths=3, max_steps=40)
    sequences = ["ACGT"[k % 4] * int(n) for k, n in enumerate(base.node_lengths)]
    graph = dataclasses.replace(
        base,
        edges=generator.integers(0, 50, (40, 2)).astype(np.uint32),
        path_names=("a#1#c:100-90000", "b", "c[7]"),
        node_sequences=ByteStrings.from_texts(sequences),
    )
    nodes = generator.integers(0, 25, int(generator.integers(1, 12)))
    check_part(graph, extract_nodes(graph, nodes), nodes.tolist())
    by_steps = oracle.neighbourhood(graph, nodes.tolist(), steps, lambda _: 1)
    by_bp = oracle.neighbourhood(graph, nodes.tolist(), bp, lambda n: int(graph.node_lengths[n]))
    assert find_neighbourhood(graph, nodes, steps=steps).tolist() == sorted(by_steps)
    assert find_neighbourhood(graph, nodes, bp=bp).tolist() == sorted(by_bp)
    both = find_neighbourhood(graph, nodes, steps=steps, bp=bp)
    assert both.tolist() == sorted(by_steps | by_bp)
    around = oracle.detours(graph, nodes.tolist(), bp) if bp else set(nodes.tolist())
    assert find_detours(graph, nodes, max_bp=bp).tolist() == sorted(around)


def test_context_counts_edges_and_bases():
    graph = make_graph([5] * 6, [], [[0, 2], [2, 4], [4, 6], [6, 8], [8, 10]])
    given = np.array([2])
    assert find_neighbourhood(graph, given, steps=1).tolist() == [1, 2, 3]
    assert find_neighbourhood(graph, given, bp=1).tolist() == [1, 2, 3]
    assert find_neighbourhood(graph, given, bp=5).tolist() == [1, 2, 3]
    assert find_neighbourhood(graph, given, bp=6).tolist() == [0, 1, 2, 3, 4]
    assert find_neighbourhood(graph, given).tolist() == [2]


def test_region_of_a_contig_with_the_other_alleles():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    region = "grch38#chr6:31982057-31984057"
    alone = extract_region(graph, region)
    part = extract_region(graph, region, detour_bp=50)
    assert set(alone.node_names) < set(part.node_names)
    lengths = dict(zip((n.whole for n in part.parsed_path_names), part.path_lengths, strict=True))
    # The other haplotypes run through in one piece, where they were cut at each of their variants.
    assert part.n_paths < alone.n_paths
    assert 2000 <= np.median(list(lengths.values())) < 2200
    (found,) = resolve_region(part, region)
    assert found.length == 2000


def test_nodes_and_links_keep_their_tags_and_walks_are_walks(tmp_path):
    graph = dataclasses.replace(
        make_graph([3, 2, 4], [[1, 2, 3], [3, 2]], [(0, 2), (4, 2), (2, 4), (4, 0)]),
        link_tags=ByteStrings.from_texts(["SR:i:0", "", "SR:i:1\tL1:i:2", "SR:i:2"]),
        path_names=("s#1#c:10-19", "p"),
        node_tags=ByteStrings.from_texts(["SN:Z:c\tSO:i:0\tSR:i:0", "SN:Z:c\tSO:i:3", "dp:f:1.5"]),
        walks=np.array([True, False]),
    )
    part = extract_nodes(graph, [1, 2])
    assert list(part.node_tags) == ["SN:Z:c\tSO:i:3", "dp:f:1.5"]
    write_gfa(part, tmp_path / "part.gfa")
    assert (tmp_path / "part.gfa").read_text() == (
        "H\tVN:Z:1.1\nS\t2\t*\tLN:i:2\tSN:Z:c\tSO:i:3\nS\t3\t*\tLN:i:4\tdp:f:1.5\n"
        "L\t3\t+\t2\t+\t0M\nL\t2\t+\t3\t+\t0M\tSR:i:1\tL1:i:2\n"
        "W\ts\t1\tc\t13\t19\t>2>3\nP\tp\t3+,2+\t*\n"
    )
    assert extract_nodes(graph, [1]).link_tags is None


def test_path_that_is_whole_keeps_its_name():
    graph = dataclasses.replace(
        make_graph([3, 2], [[1, 2, -1], [2], [1, -1]]), path_names=("a:4-12", "b", "c[7]")
    )
    assert extract_nodes(graph, [0, 1]).path_names == ("a:4-12", "b", "c[7]")
    part = extract_nodes(graph, [0])
    assert part.path_names == ("a:4-7", "a:9-12", "c[7]")
    assert part.steps.tolist() == [0, 1, 0, 1]
    assert extract_nodes(graph, []).n_nodes == 0


def test_runs_at_one_place_of_a_contig_have_names_of_their_own(tmp_path):
    names = ("c", "c:3-5", "s#1#c:0-9", "s#1#c:2-9", "x:11-19")
    walks = np.array([False, False, True, True, False])
    graph = make_graph([3, 2, 4, 1], [[1, 2, 3], [2], [1, 2, 3], [4, 2, 3], [1, 2, 3]])
    part = extract_nodes(dataclasses.replace(graph, path_names=names, walks=walks), [1])
    assert part.path_names == ("c:0-9:3-5", "c:3-5", "s#1#c:3-5", "s#1#c:2-9:1-3", "x:13-15")
    assert part.path_starts.tolist() == [3, 3, 3, 3, 13]
    assert {name.whole for name in part.parsed_path_names} == {"c", "s#1#c", "x"}
    write_gfa(part, tmp_path / "a.gfa")
    assert read_gfa(tmp_path / "a.gfa", cache=False).path_names == part.path_names


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda graph: extract_nodes(graph, [2]), "node 2 is not one of the graph's 2"),
        (lambda graph: extract_region(graph, "x:1-2"), "no path or contig is named 'x'"),
        (
            lambda graph: extract_region(graph, "path0", context_steps=-1),
            "the context in steps is -1, needs to be 0 or more",
        ),
        (lambda graph: extract_region(graph, "path0", context_bp=-1), "the context in bp is -1"),
        (lambda graph: extract_region(graph, "path0", detour_bp=-1), "longest detour is -1 bp"),
    ],
)
def test_what_cannot_be_extracted_is_said(call, message):
    with pytest.raises(ParameterError, match=message):
        call(make_graph([3, 2], [[1, 2]]))
