from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.simulation import haplotypes
from genoviz.analyses.simulation.graphs import (
    SIMULATION_PRESETS,
    VariationRates,
    iter_simulate_pangenome,
    simulate_pangenome,
)
from genoviz.errors import ParameterError
from genoviz.generators import iter_slices
from genoviz.model import PangenomeGraph


@pytest.fixture(scope="module")
def graph() -> PangenomeGraph:
    return simulate_pangenome(60_000, 40, seed=7, sequences=True)


def edge_keys(pairs: np.ndarray) -> np.ndarray:
    """Each bidirected edge as one number, the same from either side."""
    pairs = pairs.astype(np.int64)
    there = pairs[:, 0] << 32 | pairs[:, 1]
    back = (pairs[:, 1] ^ 1) << 32 | (pairs[:, 0] ^ 1)
    return np.minimum(there, back)


def step_pairs(graph: PangenomeGraph) -> np.ndarray:
    pairs = [
        np.stack([steps[:-1], steps[1:]], axis=1)
        for steps in map(graph.path_steps, range(graph.n_paths))
    ]
    return np.concatenate(pairs) if pairs else np.empty((0, 2), np.uint32)


@settings(deadline=None, max_examples=60)
@given(
    n_nodes=st.integers(1, 700),
    n_paths=st.integers(2, 30),
    seed=st.integers(0, 2**63),
    sv=st.floats(0, 1),
    inversion=st.floats(0, 1),
    duplication=st.floats(0, 1),
)
def test_steps_edges_and_nodes_agree(n_nodes, n_paths, seed, sv, inversion, duplication):
    rates = VariationRates(sv=sv, inversion=inversion, duplication=duplication)
    graph = simulate_pangenome(n_nodes, n_paths, seed=seed, rates=rates)
    keys = edge_keys(graph.edges)
    assert graph.n_nodes == n_nodes
    assert graph.n_paths == n_paths == len(set(graph.path_names))
    assert len(np.unique(keys)) == len(keys)
    assert np.isin(edge_keys(step_pairs(graph)), keys).all()
    assert graph.node_depths.min() > 0
    assert np.diff(graph.path_offsets).min() > 0
    assert graph.node_lengths.min() > 0


def test_nearly_every_edge_is_used(graph):
    unused = ~np.isin(edge_keys(graph.edges), edge_keys(step_pairs(graph)))
    assert unused.mean() < 0.001


def test_sizes_are_those_of_human_graphs(graph):
    # MHC_4, RHCE, chrY, micb-kir3dl1 and chr5.yeast: 1.35 to 1.39 edges per node, 60 to 65 % of
    # the nodes with 1 bp, 90 % below 24 to 243 bp, 99 % below 163 to 3,190 bp.
    lengths = graph.node_lengths
    assert 1.33 < graph.n_edges / graph.n_nodes < 1.45
    assert 0.58 < (lengths == 1).mean() < 0.67
    assert 50 < lengths.mean() < 150
    low, middle, high = np.quantile(lengths, [0.5, 0.9, 0.99])
    assert low == 1
    assert 24 <= middle <= 243
    assert 163 <= high <= 3190
    # A path through all of those graphs has 0.59 to 0.65 steps per node.
    assert 0.55 < len(graph.path_steps(0)) / graph.n_nodes < 0.72


def test_nodes_are_numbered_along_the_references(graph):
    for path in (0, 1):
        steps = graph.path_steps(path)
        forward = (steps[:-1] | steps[1:]) & 1 == 0
        jumps = np.diff(steps.astype(np.int64) >> 1)[forward]
        assert (jumps > 0).mean() > 0.99
        assert steps[0] == 0
        assert steps[-1] >> 1 == graph.n_nodes - 1


def test_paths_revisit_reverse_and_share_private_alleles(graph):
    paths = [graph.path_steps(path) for path in range(graph.n_paths)]
    assert any(len(np.unique(steps >> 1)) < len(steps) for steps in paths[:2])
    assert any(0 < (steps & 1).mean() < 0.5 for steps in paths)
    n_visitors = np.zeros(graph.n_nodes, np.int64)
    for steps in paths:
        n_visitors[np.unique(steps >> 1)] += 1
    assert 0.03 < (n_visitors == 1).mean() < 0.4
    assert (n_visitors >= 25).mean() > 0.25


def test_paths_share_haplotype_blocks():
    rates = VariationRates(sv=0, inversion=0, duplication=0, reverse=0, recombination=10)
    graph = simulate_pangenome(60_000, 12, n_steps=460_000, seed=3, rates=rates)
    visits = np.zeros((graph.n_paths, graph.n_nodes), bool)
    for path in range(graph.n_paths):
        visits[path, graph.path_steps(path) >> 1] = True
    is_variable = ~visits[:, 10_000:50_000].all(axis=0)

    def agreement_correlation(first, second, lag=40):
        agrees = (visits[first] == visits[second])[10_000:50_000][is_variable]
        return np.corrcoef(agrees[:-lag], agrees[lag:])[0, 1]

    # The longest haplotypes reach beyond both ends of the window.
    mosaics = 2 + np.argsort(np.diff(graph.path_offsets)[2:])[-5:]
    between = [agreement_correlation(*pair) for pair in combinations(mosaics, 2)]
    assert np.mean(between) > 0.04
    # The references copy one founder each, and so differ at random.
    assert abs(agreement_correlation(0, 1)) < 0.02


def test_contigs_of_a_haplotype_do_not_overlap(graph):
    by_owner: dict[tuple, list] = {}
    for path, name in enumerate(graph.parsed_path_names):
        nodes = graph.path_steps(path) >> 1
        extent = (int(nodes.min()), int(nodes.max()))
        by_owner.setdefault((name.sample, name.haplotype), []).append(extent)
    assert max(map(len, by_owner.values())) > 1
    for extents in by_owner.values():
        extents.sort()
        assert all(a[1] < b[0] for a, b in pairwise(extents))


def test_positions_follow_the_steps(graph):
    lengths = graph.node_lengths[graph.steps >> 1]
    for path in range(graph.n_paths):
        inside = slice(*graph.path_offsets[path : path + 2])
        expected = np.concatenate(([0], np.cumsum(lengths[inside])[:-1]))
        np.testing.assert_array_equal(graph.step_positions[inside], expected)


@pytest.mark.parametrize("n_steps", [250_000, 700_000, 1_290_000, 1_700_000])
def test_n_steps_is_met(n_steps):
    graph = simulate_pangenome(60_000, 35, n_steps=n_steps, seed=5)
    assert graph.n_steps == pytest.approx(n_steps, rel=0.04)


def test_a_seed_gives_one_graph_whatever_the_threads():
    def arrays(seed):
        graph = simulate_pangenome(3_000, 9, seed=seed, sequences=True)
        return graph.steps, graph.edges, graph.node_lengths, graph.node_sequences.data

    first = arrays(1)
    n_threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        again = arrays(1)
    finally:
        numba.set_num_threads(n_threads)
    for ours, theirs in zip(first, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(first[0], arrays(2)[0])


def test_bases_fit_the_nodes_and_snp_alleles_differ(graph):
    sequences = graph.node_sequences
    np.testing.assert_array_equal(sequences.lengths, graph.node_lengths)
    counts = np.bincount(sequences.data, minlength=256)
    assert counts[list(b"ACGT")].sum() == counts.sum()
    assert counts[list(b"ACGT")].min() > 0.24 * counts.sum()
    # The alleles of a SNP are the two neighbours in rank that leave the same anchor.
    edges = graph.edges[(graph.edges & 1 == 0).all(axis=1)] >> 1
    anchors, targets = edges[:-1], edges[1:]
    is_pair = (anchors[:, 0] == targets[:, 0]) & (targets[:, 1] == anchors[:, 1] + 1)
    joined = np.isin(edges[:, 0] * 2**20 + edges[:, 1], edges[:, 0] * 2**20 + edges[:, 0] + 1)
    assert joined.any()
    indel = np.isin(anchors[:, 1], edges[joined, 0])
    alleles = anchors[is_pair & ~indel, 1]
    alleles = alleles[(graph.node_lengths[alleles] == 1) & (graph.node_lengths[alleles + 1] == 1)]
    assert len(alleles) > 10_000
    bases = sequences.data[sequences.offsets[:-1]]
    assert (bases[alleles] != bases[alleles + 1]).all()


@pytest.mark.parametrize(("n_nodes", "n_paths"), [(1, 0), (1, 1), (2, 1), (500, 0), (500, 1)])
def test_few_paths_or_nodes(n_nodes, n_paths):
    graph = simulate_pangenome(n_nodes, n_paths)
    assert (graph.n_nodes, graph.n_paths) == (n_nodes, n_paths)
    assert np.isin(edge_keys(step_pairs(graph)), edge_keys(graph.edges)).all()


def test_many_short_contigs():
    graph = simulate_pangenome(20_000, 900, n_steps=200_000)
    assert graph.n_steps == pytest.approx(200_000, rel=0.1)
    assert np.median(np.diff(graph.path_offsets)) < 1_000


def test_presets_are_arguments():
    graph = simulate_pangenome(**SIMULATION_PRESETS["small"])
    assert graph.n_nodes == SIMULATION_PRESETS["small"]["n_nodes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_nodes": 0, "n_paths": 2}, "n_nodes is 0, needs 1 to"),
        ({"n_nodes": 9, "n_paths": -1}, "n_paths is -1, needs 0 to"),
        ({"n_nodes": 9, "n_paths": 2, "n_founders": 65}, "n_founders is 65, needs 2 to 64"),
        ({"n_nodes": 9000, "n_paths": 4, "n_steps": 1000}, "n_steps is 1,000, needs about"),
        ({"n_nodes": 9000, "n_paths": 2, "n_steps": 10**9}, "have at most"),
    ],
)
def test_bad_sizes_are_named(arguments, message):
    with pytest.raises(ParameterError, match=message):
        simulate_pangenome(**arguments)


def test_bad_rates_are_named():
    with pytest.raises(ParameterError, match="rate out of range"):
        VariationRates(snp=-1)


def test_private_alleles_can_be_left_out():
    rates = VariationRates(private=0, sv=0, duplication=0, inversion=0)
    graph = simulate_pangenome(6_000, 60, n_founders=4, n_steps=230_000, seed=2, rates=rates)
    # With four founders, an allele is on one path only where few paths are.
    assert (graph.node_depths == 1).mean() < 0.02


def test_progress_rises_to_the_graph_and_slices_change_nothing(graph, monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 1)  # so that a slice is a path
    monkeypatch.setattr(haplotypes, "iter_slices", partial(iter_slices, seconds=0.0))
    reports = list(iter_simulate_pangenome(60_000, 40, seed=7, sequences=True))
    written = [report.n_done for report in reports if report.stage == "Writing paths"]
    assert written == sorted(written)
    assert len(written) == graph.n_paths
    assert written[-1] == graph.n_steps == reports[-2].n_total
    assert [report.graph is None for report in reports] == [True] * (len(reports) - 1) + [False]
    assert np.array_equal(reports[-1].graph.steps, graph.steps)
