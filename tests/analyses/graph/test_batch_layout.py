from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.graph.layout.options import zipf_tables
from genoviz.analyses.graph.layout.path_sgd import path_sgd_layout
from genoviz.analyses.graph.layout.stress import path_stress
from genoviz.analyses.reproduce import batch_layout
from genoviz.analyses.reproduce.batch_layout import batch_path_sgd_layout
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import array_module
from genoviz.errors import ParameterError
from tests.graphs import make_graph


@pytest.fixture(scope="module")
def graph():
    return simulate_pangenome(800, 6, seed=3)


def test_small_batches_reach_the_kernels_stress_and_large_ones_do_not(graph, backend):
    xp = array_module(backend)
    by_kernel, small, large = (
        np.median([path_stress(graph, lay_out(seed)).mean for seed in range(3)])
        for lay_out in (
            lambda seed: path_sgd_layout(graph, window=1, seed=seed, backend=backend),
            lambda seed: batch_path_sgd_layout(graph, batch_size=100, seed=seed, xp=xp),
            lambda seed: batch_path_sgd_layout(graph, batch_size=10**6, seed=seed, xp=xp),
        )
    )
    assert small < 2 * by_kernel
    assert large > 20 * by_kernel


def test_small_batches_may_add(graph):
    added = batch_path_sgd_layout(graph, batch_size=50, collisions="add")
    overwritten = batch_path_sgd_layout(graph, batch_size=50)
    ratio = path_stress(graph, added).mean / path_stress(graph, overwritten).mean
    assert 0.6 < ratio < 1.6


def test_a_seed_gives_one_layout(graph):
    first, again, other = (
        batch_path_sgd_layout(graph, batch_size=300, n_iterations=3, seed=seed).coordinates
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_two_nodes_come_to_their_distance():
    # A wrong end or orientation would be off by 3 bp or more.
    graph = make_graph([3, 4], [[1, -2]])
    x, y = batch_path_sgd_layout(graph, batch_size=1, seed=2).points.T
    # Points: start and end of node 0, then of node 1, which the path runs through backwards.
    along = np.array([0, 3, 7, 3])
    apart = np.hypot(x[:, None] - x, y[:, None] - y)
    between = np.ix_([0, 1], [2, 3])
    np.testing.assert_allclose(apart[between], abs(along[:, None] - along)[between], atol=0.5)


def test_jumps_follow_the_zipf_law():
    tables = zipf_tables(0.99, 5000)
    for n in (1, 2, 3, 40, 1000, 4321):
        jump = batch_layout._draw_zipf(tables, np.full(200_000, n), np.random.default_rng(n), np)
        shares = np.arange(1, n + 1) ** -0.99 / (np.arange(1, n + 1) ** -0.99).sum()
        assert jump.min() == 1
        assert jump.max() <= n
        for wanted in (1, 2):
            share = shares[wanted - 1] if wanted <= n else 0.0
            assert (jump == wanted).mean() == pytest.approx(share, abs=0.006)
        # Gray's method is exact for 1 and 2 and approximate beyond.
        assert (jump <= n / 2).mean() == pytest.approx(shares[: n // 2].sum(), abs=0.03)


@pytest.mark.parametrize("is_cooling", [False, True])
def test_pairs_are_two_steps_of_one_path(is_cooling):
    graph = make_graph([1] * 9, [[1, 2], [5], [3, 4, 5, 6, 7, 8, 9]])
    steps = batch_layout._prepare_steps(graph, np)
    a, b = batch_layout._draw_pairs(
        steps, zipf_tables(0.99, 7), 90_000, is_cooling, np.random.default_rng(0), np
    )
    assert ((a >= 0) & (a < 9) & (b >= 0) & (b < 9) & (a != b)).all()
    assert ((a < 2) == (b < 2)).all()
    np.testing.assert_allclose(np.bincount(a) / len(a), 1 / 9, rtol=0.05)
    n_met = np.bincount(a * 9 + b, minlength=81).reshape(9, 9)[2:, 2:]
    near, far = n_met[range(6), range(1, 7)], n_met[[0, 6], [6, 0]]
    # Half of the pairs are uniform before cooling starts, which is a 1/6 of each step's other ones.
    assert (near > far.max()).all()
    if not is_cooling:
        assert n_met[~np.eye(7, dtype=bool)].min() > 0.5 * 0.9 * len(a) / 9 / 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0, needs a value from 1"),
        ({"batch_size": 9, "collisions": "max"}, "needs 'overwrite' or 'add'"),
    ],
)
def test_bad_options_are_named(graph, options, message):
    with pytest.raises(ParameterError, match=message):
        batch_path_sgd_layout(graph, **options)


def test_a_graph_that_nothing_guides_is_refused():
    with pytest.raises(ParameterError, match="no path of two steps"):
        batch_path_sgd_layout(make_graph([5, 5], [[1], [2]]), batch_size=9)
