"""Variation sites and their alleles, against the definition and naive walks along the paths."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.graph.query.position_lift import locate_path_positions
from genoviz.analyses.graph.query.spell import spell_handles
from genoviz.analyses.graph.sites.alleles import site_alleles
from genoviz.analyses.graph.sites.kinds import SiteKind
from genoviz.analyses.graph.sites.search import find_sites, iter_find_sites
from genoviz.analyses.graph.sites.table import iter_gap_lines, iter_site_lines
from genoviz.analyses.simulation.graphs import VariationRates, simulate_pangenome
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import ByteStrings
from tests.conftest import real_data
from tests.graphs import make_graph, make_spelled_graph
from tests.oracles import superbubbles as oracle


@st.composite
def walks(draw, n_nodes):
    """Draw a walk that mostly goes on, over signed 1-based nodes."""
    node, nodes = draw(st.integers(1, 3)), []
    for _ in range(draw(st.integers(1, 12))):
        nodes.append(node if draw(st.integers(0, 14)) else -node)
        node = min(max(node + draw(st.sampled_from([1, 1, 1, 1, 2, 2, 3, 0, -1, -3])), 1), n_nodes)
    return nodes if draw(st.integers(0, 3)) else [-node for node in reversed(nodes)]


@st.composite
def graphs(draw):
    """Draw a graph of a few walks; some of their edges are listed, and others are too."""
    n_nodes = draw(st.integers(3, 9))
    paths = draw(st.lists(walks(n_nodes), min_size=1, max_size=4))
    edges = [(2 * n, 2 * n + 2) for n in range(n_nodes - 1) if not draw(st.integers(0, 3))]
    lengths = draw(st.lists(st.integers(1, 4), min_size=n_nodes, max_size=n_nodes))
    graph = make_graph(lengths, paths, edges)
    if draw(st.booleans()):
        return graph
    bases = st.sampled_from(["", "AAAA", "aaAA", "ACAC", "TTTT"])
    texts = [draw(bases)[:length] for length in lengths]
    return replace(graph, node_sequences=ByteStrings.from_texts(texts))


def check_against_oracle(graph, reference):
    found = find_sites(graph, reference)
    expected = oracle.sites(graph, reference)
    pairs = list(zip(found.sources.tolist(), found.sinks.tolist(), strict=True))
    assert sorted(pairs) == sorted(expected)
    for index, pair in enumerate(pairs):
        site = expected[pair]
        assert (found.starts[index], found.ends[index]) == (site["start"], site["end"])
        assert found.n_nodes[index] == site["n_nodes"]
        check_alleles(graph, found, index, site)
    check_nesting(found, expected, pairs)
    return found


def check_alleles(graph, found, index, site):
    rows = [(path, oracle.read_walk(graph, inner), inner) for path, inner, _ in site["alleles"]]
    counts = Counter(read for _, read, _ in rows)
    paths = {key: {path for path, read, _ in rows if read == key} for key in counts}
    walks = {key: {inner for _, read, inner in rows if read == key} for key in counts}
    lengths = {read: sum(int(graph.node_lengths[h >> 1]) for h in inner) for _, read, inner in rows}
    reference = oracle.read_walk(graph, site["reference"])
    assert found.n_alleles[index] == len(counts)
    assert found.n_traversals[index] == counts.total()
    assert found.n_paths[index] == len({path for path, _, _ in site["alleles"]})
    assert found.min_lengths[index] == min(lengths.values())
    assert found.max_lengths[index] == max(lengths.values())
    assert found.reference_lengths[index] == lengths[reference]
    assert found.ends[index] - found.starts[index] == found.reference_lengths[index]

    alleles = site_alleles(graph, found, index)
    inner = [[tuple(walk.tolist()) for walk in own] for own in alleles.walks]
    assert inner[0][0] == site["reference"]
    keys = [oracle.read_walk(graph, own[0]) for own in inner]
    assert dict(zip(keys, alleles.counts.tolist(), strict=True)) == counts
    assert [set(own.tolist()) for own in alleles.paths] == [paths[key] for key in keys]
    assert [sorted(own) for own in inner] == [sorted(walks[key]) for key in keys]
    rows = slice(found.allele_offsets[index], found.allele_offsets[index + 1])
    np.testing.assert_array_equal(found.allele_counts[rows], alleles.counts)
    np.testing.assert_array_equal(found.allele_lengths[rows], alleles.lengths)
    assert found.allele_n_paths[rows].tolist() == [len(own) for own in alleles.paths]
    assert found.allele_n_walks[rows].tolist() == [len(own) for own in alleles.walks]
    assert (np.diff(alleles.counts[1:]) <= 0).all()


def check_nesting(found, expected, pairs):
    nodes = [{handle >> 1 for handle in expected[pair]["members"]} for pair in pairs]
    bounds = [{handle >> 1 for handle in pair} for pair in pairs]
    for index in range(len(pairs)):
        around = [
            other for other in range(len(pairs)) if other != index and nodes[index] <= nodes[other]
        ]
        assert found.levels[index] == len(around)
        smallest = min(around, key=lambda other: len(nodes[other]), default=-1)
        assert found.parents[index] == smallest
        assert bounds[index] <= nodes[index]


@settings(max_examples=250)
@given(graphs(), st.data())
def test_sites_and_alleles_are_those_of_the_definition(graph, data):
    check_against_oracle(graph, data.draw(st.integers(0, graph.n_paths - 1)))


SNP = [[1, 2, 4], [1, 3, 4]]


@pytest.mark.parametrize(
    ("lengths", "paths", "kinds", "spans"),
    [
        ([5, 1, 1, 5], SNP, ["SNP"], [(5, 6)]),
        ([5, 3, 3, 5], SNP, ["MNP"], [(5, 8)]),
        ([5, 3, 2, 5], SNP, ["complex"], [(5, 8)]),
        ([5, 3, 5], [[1, 3], [1, 2, 3]], ["insertion"], [(5, 5)]),
        ([5, 3, 5], [[1, 2, 3], [1, 3]], ["deletion"], [(5, 8)]),
        ([5, 3, 1, 5], [[1, 2, 4], [1, 4], [1, 3, 4]], ["indel"], [(5, 8)]),
        ([5, 3, 5], [[1, 2, 3], [-3, -1]], ["deletion"], [(5, 8)]),
        ([5, 3, 5], [[-3, -2, -1], [1, 3]], ["deletion"], [(5, 8)]),
        # an insertion with a SNP of its own, seen from the path that has it
        (
            [9, 2, 1, 1, 4, 9],
            [[1, 2, 3, 5, 6], [1, 2, 4, 5, 6], [1, 6]],
            ["indel", "SNP"],
            [(9, 16), (11, 12)],
        ),
        # only the outer site lies on the shorter path
        ([9, 2, 1, 1, 4, 9], [[1, 6], [1, 2, 4, 5, 6], [1, 2, 3, 5, 6]], ["insertion"], [(9, 9)]),
        # a tandem repeat of a SNP: the SNP is a site, the repeat is none
        (
            [9, 5, 1, 1, 5, 3, 9],
            [[1, 2, 3, 5, 6, 2, 4, 5, 6, 7], [1, 2, 3, 5, 6, 7]],
            ["SNP"],
            [(14, 15)],
        ),
        ([5, 3, 5], [[1, 2, 3], [1, -2, 3]], [], []),
    ],
)
def test_hand_made_graphs(lengths, paths, kinds, spans):
    graph = make_graph(lengths, paths)
    sites = check_against_oracle(graph, 0)
    assert [SiteKind(kind).label for kind in sites.kinds] == kinds
    assert list(zip(sites.starts.tolist(), sites.ends.tolist(), strict=True)) == spans


def test_walks_that_read_the_same_are_one_allele():
    """TA by three walks: of two nodes, of one in small letters, and of one read backwards."""
    graph = make_spelled_graph(
        ["ACG", "T", "C", "T", "A", "tA", "TA", "TTG", "TC", "G"],
        [
            [1, 2, 3, 8],  # TC
            [1, 4, 5, 8],  # TA
            [1, 6, 8],  # TA, small letters
            [-8, -7, -1],  # TA, whose walk is read on the other strand
            [1, 9, 8],  # TC
            [1, 9, 8, 10, 1, 2, 3, 8],
            [1, 8],
        ],
    )
    sites = check_against_oracle(graph, 0)
    found = [(sites.sources[i], sites.sinks[i]) for i in range(len(sites))]
    assert found == [(0, 14)]
    assert sites.n_alleles.tolist() == [3]
    assert sites.allele_counts.tolist() == [4, 3, 1]
    assert sites.allele_n_paths.tolist() == [3, 3, 1]
    assert sites.allele_n_walks.tolist() == [2, 3, 1]
    assert sites.allele_lengths.tolist() == [2, 2, 0]
    assert sites.count_kinds() == {"indel": 1}
    alleles = site_alleles(graph, sites, 0)
    assert alleles.sequences == ("TC", "TA", "")
    walks = [[walk.tolist() for walk in own] for own in alleles.walks]
    assert walks == [[[2, 4], [16]], [[6, 8], [10], [12]], [[]]]
    assert [own.tolist() for own in alleles.handles] == [[2, 4], [6, 8], []]


@pytest.mark.parametrize(
    ("texts", "kinds", "n_alleles"),
    [
        (["ACG", "A", "A", "TTG"], {"monomorphic": 1}, [1]),
        (["ACG", "A", "a", "TTG"], {"monomorphic": 1}, [1]),
        (["ACG", "A", "C", "TTG"], {"SNP": 1}, [2]),
        (["ACG", "A", "*1", "TTG"], {"SNP": 1}, [2]),
        (["ACG", "*1", "*1", "TTG"], {"SNP": 1}, [2]),
        (["*3", "*1", "*1", "*3"], {"SNP": 1}, [2]),
    ],
)
def test_a_site_whose_walks_read_the_same_is_monomorphic(texts, kinds, n_alleles):
    """Bases that are not known are never the same."""
    sites = check_against_oracle(make_spelled_graph(texts, SNP), 0)
    assert sites.count_kinds() == kinds
    assert sites.n_alleles.tolist() == n_alleles


def test_the_reference_may_traverse_a_site_twice():
    graph = make_graph([9, 5, 1, 1, 5, 3, 9], [[1, 2, 3, 5, 6, 2, 4, 5, 6, 7]])
    sites = find_sites(graph, "path0")
    assert (sites.n_reference_visits[0], sites.n_alleles[0], sites.n_paths[0]) == (2, 2, 1)
    alleles = site_alleles(graph, sites, 0)
    assert [handles.tolist() for handles in alleles.handles] == [[4], [6]]
    assert alleles.traversal_steps.tolist() == [[1, 3], [5, 7]]


def test_stretches_that_no_site_covers_are_told():
    # 1 2 is plain, 3 (4) 3 a cycle, 5 (6) 7 a site, 8 has a tip behind it
    graph = make_graph(
        [10, 10, 10, 2, 10, 1, 10, 10, 5, 10],
        [[1, 2, 3, 4, 3, 5, 6, 7, 8, 10], [5, 7, 8, 9]],
    )
    sites = find_sites(graph, 0)
    assert list(zip(sites.starts, sites.ends, strict=True)) == [(52, 53)]
    assert list(zip(sites.gap_starts, sites.gap_ends, strict=True)) == [(20, 42), (73, 73)]


@pytest.mark.parametrize(("name", "first"), [("gi|7:101-111", 100), ("gi|7:101-112", 101)])
def test_sites_and_gaps_are_on_the_contig_where_positions_are(name, first):
    """A range one shorter than its path, here of 11 bp, is NCBI's: 1-based and closed."""
    graph = make_graph([4, 1, 1, 4, 2, 9], [[1, 2, 4, 5], [1, 3, 4, 6]])
    graph = replace(graph, path_names=(name, "other"))
    (row,) = locate_path_positions(graph, [f"{name}:4"])
    assert (row.contig, row.contig_position) == ("gi|7", first + 4)
    sites = find_sites(graph, 0)
    _, line = "".join(iter_site_lines(graph, sites)).splitlines()
    assert line.split("\t")[:3] == ["gi|7", str(first + 4), str(first + 5)]
    (gap,) = iter_gap_lines(graph, sites)
    assert gap == f"gi|7\t{first + 9}\t{first + 9}\n"


def test_edges_that_only_paths_have_count_and_are_noted():
    graph = make_graph([5, 1, 1, 5], SNP, [(0, 2), (2, 6)])
    assert find_sites(graph, 0).notes == (
        "2 edges that paths take are not in the graph, and counted as well.",
    )
    assert find_sites(graph, 0).count_kinds() == {"SNP": 1}


def test_sequences_are_spelt_on_the_strand_of_the_reference():
    graph = make_graph([2, 3, 1, 2], [[1, 2, 4], [-4, 3, -1]], [])
    graph = type(graph)(
        **{field: getattr(graph, field) for field in graph.__dataclass_fields__}
        | {"node_sequences": ByteStrings.from_texts(["AC", "GAT", "C", ""])}
    )
    alleles = site_alleles(graph, find_sites(graph, 0), 0)
    assert alleles.sequences == ("GAT", "G")
    assert alleles.is_reverse.tolist() == [False, True]
    assert site_alleles(graph, find_sites(graph, 0), 0, max_bases=2).sequences == ("GA", "G")
    assert spell_handles(graph, np.array([3, 6, 1], np.uint32)) == "ATCNNGT"
    with pytest.raises(ParameterError, match="read without its sequences"):
        spell_handles(make_graph([1], [[1]]), np.array([0], np.uint32))


def test_empty_graphs_and_wrong_names():
    assert len(find_sites(make_graph([3], [[]]), 0)) == 0
    assert len(find_sites(make_graph([3], [[1]]), 0)) == 0
    graph = make_graph([5, 1, 1, 5], SNP)
    with pytest.raises(ParameterError, match="no path or contig is named 'chr9'"):
        find_sites(graph, "chr9")
    with pytest.raises(ParameterError, match="site 1 is not one of the 1 sites"):
        site_alleles(graph, find_sites(graph, 0), 1)


def test_deep_nesting_takes_no_longer():
    n = 30_000
    edges = [(2 * node, 2 * (2 * n - 1 - node)) for node in range(n - 1)]
    paths = [range(1, 2 * n + 1), [1, 2 * n], range(-2 * n, 0)]
    sites = find_sites(make_graph([1] * (2 * n), paths, edges), 0)
    np.testing.assert_array_equal(sites.levels, np.arange(n - 1))
    np.testing.assert_array_equal(sites.parents, np.arange(n - 1) - 1)
    assert sites.n_traversals.tolist() == [3] + [2] * (n - 2)
    assert sites.n_alleles.tolist() == [2] + [1] * (n - 2)


def test_blocks_of_paths_give_the_same_alleles(monkeypatch):
    graph = simulate_pangenome(3_000, 30, seed=4)
    whole = find_sites(graph, 1)
    monkeypatch.setattr("genoviz.analyses.graph.sites.search.BLOCK_STEPS", 500)
    *reports, last = iter_find_sites(graph, 1)
    assert sum(report.stage == "Counting alleles" for report in reports) > 10
    for name in ("starts", "n_paths", "allele_counts", "allele_n_paths", "allele_steps"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(last.sites, name))


def test_a_simulated_graph_has_the_sites_that_it_was_made_with():
    """Without blocks every site lies on the reference, between the nodes that follow each other."""
    rates = VariationRates(sv=0, inversion=0, duplication=0, reverse=0.3)
    graph = simulate_pangenome(4_000, 14, seed=3, rates=rates, sequences=True)
    sites = find_sites(graph, 0)
    out_degrees = Counter(graph.edges[:, 0].tolist())
    assert sorted(sites.sources.tolist()) == sorted(h for h, n in out_degrees.items() if n == 2)
    is_snp = np.isin(sites.kinds, [SiteKind.SNP, SiteKind.MNP, SiteKind.COMPLEX])
    np.testing.assert_array_equal(sites.n_nodes, np.where(is_snp, 2, 1))
    assert (sites.levels == 0).all()
    assert len(sites.gap_starts) == 0
    assert set(sites.count_kinds()) >= {"SNP", "insertion", "deletion"}


GRAPHS = [
    "DRB1-3123",
    "chr6.C4",
    "LPA",
    "chr5.yeast",
    "MHC_4",
    "hprc_RHCE",
    "hprc_chrY.noseq",
    "micb-kir3dl1",
]


@pytest.mark.parametrize("name", GRAPHS)
def test_real_graphs(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"))
    sites = find_sites(graph, 0)
    assert len(sites) > 500
    firsts = sites.allele_offsets[:-1]
    np.testing.assert_array_equal(np.add.reduceat(sites.allele_counts, firsts), sites.n_traversals)
    assert (sites.n_paths <= np.minimum(sites.n_traversals, graph.n_paths)).all()
    has_parent = sites.parents >= 0
    own, outer = np.flatnonzero(has_parent), sites.parents[has_parent]
    assert (sites.starts[own] >= sites.starts[outer]).all()
    assert (sites.ends[own] <= sites.ends[outer]).all()
    assert (sites.n_nodes[own] < sites.n_nodes[outer]).all()
    top = np.flatnonzero(~has_parent)
    assert (sites.starts[top][1:] > sites.ends[top][:-1]).all()
    check_all_alleles(graph, sites)
    texts = functools.cache(lambda path: spell_handles(graph, graph.path_steps(path)))
    for index in np.random.default_rng(1).choice(len(sites), 12, replace=False):
        check_real_site(graph, sites, int(index), texts)


def check_all_alleles(graph, sites):
    """Compare all sites with the traversals written out; of large graphs, some."""
    find = oracle.allele_finder(graph)
    chosen = range(0, len(sites), max(graph.n_steps // 50_000, 1))
    for index in chosen:
        expected = find(int(sites.sources[index]), int(sites.sinks[index]))
        rows = slice(sites.allele_offsets[index], sites.allele_offsets[index + 1])
        found = zip(
            sites.allele_counts[rows].tolist(),
            sites.allele_n_paths[rows].tolist(),
            sites.allele_n_walks[rows].tolist(),
            strict=True,
        )
        assert Counter(found) == Counter(
            (len(own), len({path for path, _ in own}), len({walk for _, walk in own}))
            for own in expected.values()
        )


def check_real_site(graph, sites, index, texts):
    alleles = site_alleles(graph, sites, index)
    rows = slice(sites.allele_offsets[index], sites.allele_offsets[index + 1])
    np.testing.assert_array_equal(alleles.counts, sites.allele_counts[rows])
    np.testing.assert_array_equal(alleles.lengths, sites.allele_lengths[rows])
    source, sink = int(sites.sources[index]), int(sites.sinks[index])
    n_source = np.count_nonzero(graph.steps >> 1 == source >> 1)
    n_sink = np.count_nonzero(graph.steps >> 1 == sink >> 1)
    assert len(alleles.traversal_paths) <= min(n_source, n_sink)
    if graph.node_sequences is None or not graph.node_sequences.lengths.any():
        return
    start, end = sites.starts[index], sites.ends[index]
    assert texts(sites.reference)[start:end] == alleles.sequences[0]
    before, after = (spell_handles(graph, np.array([h], np.uint32)) for h in (source, sink))
    for sequence, paths in zip(alleles.sequences, alleles.paths, strict=True):
        allele = before + sequence + after
        assert allele in texts(paths[0]) or reverse_complement(allele) in texts(paths[0])


def reverse_complement(text):
    return text[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))
