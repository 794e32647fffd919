"""Depth and strand along a path, against a walk over its bases one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.query import path_profile
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.errors import ParameterError
from tests.graphs import make_graph, random_graph


def walk(graph, path):
    """Depth, strand and step of every base of a path."""
    rows = []
    for step, handle in enumerate(graph.path_steps(path).tolist()):
        depth = int((graph.steps >> 1 == handle >> 1).sum())
        rows += [(depth, handle & 1, step)] * int(graph.node_lengths[handle >> 1])
    return np.array(rows).reshape(-1, 3)


@given(st.integers(0, 50), st.integers(1, 40), st.data())
def test_bins_are_what_a_walk_over_the_bases_finds(seed, n_bins, data):
    graph = random_graph(seed)
    bases = walk(graph, 1)
    start = data.draw(st.integers(0, len(bases) - 1))
    end = data.draw(st.integers(start + 1, len(bases)))
    bins = PathProfile.of(graph, "path1").bins(start, end, n_bins=n_bins)
    assert (bins.edges[0], bins.edges[-1]) == (start, end)
    assert (np.diff(bins.edges) > 0).all()
    assert len(bins.depth_mean) == len(bins.edges) - 1 <= n_bins
    assert bins.is_exact == (len(set(bases[start:end, 2])) <= n_bins)
    whole = np.diff(bins.edges)
    assert (bins.depth_mean * whole).sum() == pytest.approx(bases[start:end, 0].sum())
    assert (bins.reverse_share * whole).sum() == pytest.approx(bases[start:end, 1].sum())
    for index, (left, right) in enumerate(zip(bins.edges, bins.edges[1:], strict=False)):
        inside = bases[int(left) : int(np.ceil(right))]
        assert bins.depth_min[index] == inside[:, 0].min()
        assert bins.depth_max[index] == inside[:, 0].max()
        if left == int(left) and right == int(right):
            assert bins.depth_mean[index] == pytest.approx(inside[:, 0].mean())
            assert bins.reverse_share[index] == pytest.approx(inside[:, 1].mean())


def test_many_steps_are_summed_up_by_blocks_and_no_extreme_is_lost(monkeypatch):
    monkeypatch.setattr(path_profile, "FINE_STEPS", 1000)
    steps = np.ones(50_000, int)
    steps[12_345] = 2
    steps[40_000] = -3
    graph = make_graph([1, 1, 1], [steps.tolist(), [3] * 70_000])
    bins = PathProfile.of(graph, 0).bins(0, 50_000, n_bins=100)
    assert bins.depth_min[24] == 1
    assert bins.depth_max[80] == 70_001
    assert (bins.depth_min == 1).sum() <= 2
    assert bins.depth_mean[10] == 49_998


@given(st.integers(0, 50), st.sets(st.integers(0, 39)))
def test_stretches_hold_the_bases_of_the_wanted_nodes_and_no_others(seed, nodes):
    graph = random_graph(seed)
    is_wanted = np.isin(np.arange(graph.n_nodes), list(nodes))
    profile = PathProfile.of(graph, 2)
    found = np.zeros(profile.length, bool)
    stretches = profile.find_stretches(is_wanted)
    for start, end in stretches.tolist():
        assert not found[max(start - 1, 0) : end].any()
        found[start:end] = True
    steps = graph.path_steps(2) >> 1
    expected = np.repeat(is_wanted[steps], graph.node_lengths[steps])
    assert (found == expected).all()


def test_nodes_without_bases_and_paths_without_steps_are_no_trouble():
    graph = make_graph([0, 5, 0], [[1, 2, 3], []])
    bins = PathProfile.of(graph, 0).bins(0, 5, n_bins=10)
    assert bins.edges.tolist() == [0, 5]
    assert bins.depth_mean.tolist() == [1.0]
    empty = PathProfile.of(graph, 1)
    assert empty.length == 0
    assert len(empty.bins(0, 10, n_bins=3).depth_mean) == 0
    assert empty.find_stretches(np.ones(3, bool)).shape == (0, 2)


def test_no_bins_are_refused():
    profile = PathProfile.of(make_graph([5], [[1]]), 0)
    with pytest.raises(ParameterError, match="n_bins is 0"):
        profile.bins(0, 5, n_bins=0)
