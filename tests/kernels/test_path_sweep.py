"""Sweeps against a plain version."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.backend import array_module, load_kernel, to_host
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import path_sweep

SEED = 0xFEDC_BA98_7654_3210


@pytest.fixture
def _one_thread():
    n_threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(n_threads)


def sweep(
    backend, graph, points, jump, eta, *, every=1, is_sliced=False, n_workers=1, is_wide=False
):
    """Return the points after a sweep over all steps, or after one call for each 512 of them."""
    xp, records = array_module(backend), build_path_records(graph)
    if is_wide:
        records = replace(records, records=records.records.astype(np.int64).view(np.uint32))
    moved = xp.asarray(points.copy())
    strips = xp.arange(-(-len(records.records) // 512), dtype=np.int32)
    slices = [(first, first + 1) for first in range(len(strips))]
    for first, stop in slices if is_sliced else [(0, len(strips))]:
        load_kernel("path_sweep", backend).sweep(
            moved,
            tuple(map(xp.asarray, records.paths)),
            strips,
            np.array([jump]),
            np.array([eta], float),
            np.array([SEED], np.uint64),
            True,
            every,
            first,
            stop,
            n_workers,
        )
    return to_host(moved)


def swept(graph, points, jump, eta, every=1):
    coordinates = points.copy().reshape(-1, 2, 2)
    jumps = path_sweep(graph, coordinates, jump=jump, eta=eta, seed=SEED, every=every)
    return coordinates.reshape(-1, 2), jumps


def long_paths(seed):
    """Return a graph of which every path has two steps at least, some 2,000 in all."""
    graph = random_graph(seed, n_nodes=900, n_paths=8, max_steps=500)
    assert np.diff(graph.path_offsets).min() > 1
    return graph


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("jump", "eta"), [(1, 2.0), (2, 0.5), (7, 0.3), (0, 2.0)])
@pytest.mark.parametrize("is_sliced", [False, True])
def test_one_worker_moves_what_the_plain_version_moves(seed, jump, eta, is_sliced):
    graph = long_paths(seed)
    points = np.random.default_rng(seed).normal(0, 30, (2 * graph.n_nodes, 2))
    expected, _ = swept(graph, points, jump, eta)
    found = sweep("cpu", graph, points, jump, eta, is_sliced=is_sliced)
    # Where two ends nearly meet, the last bits decide where they part.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("jump", "eta"), [(10, 4.0), (12, 1e9), (19, 0.1)])
@pytest.mark.parametrize("n_workers", [1, 3, 64])
@pytest.mark.parametrize("is_wide", [False, True])
def test_pairs_that_share_no_point_come_to_the_same_on_all_workers(
    backend, jump, eta, n_workers, is_wide
):
    lengths = np.random.default_rng(5).integers(1, 40, 40)
    graph = make_graph(lengths, [list(range(1, 21)), [-n for n in range(21, 41)]])
    points = np.random.default_rng(6).normal(0, 30, (80, 2))
    expected, jumps = swept(graph, points, jump, eta)
    assert jumps == [jump] * (2 * (20 - jump))
    found = sweep(backend, graph, points, jump, eta, n_workers=n_workers, is_wide=is_wide)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("jump", [1, 2, 3, 5, 8, 0])
@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.usefixtures("_one_thread")
def test_every_step_is_moved_once_by_any_number_of_workers(backend, jump, every):
    """Moves at so low a rate hardly change each other, so that their order does not matter.

    One thread does the work of all: of two that move one point at once, a move may be lost.
    """
    graph = make_graph(np.arange(1, 1800), [list(range(1, 701)), list(range(701, 1800))])
    points = np.random.default_rng(7).normal(0, 1000, (3598, 2))
    expected, _ = swept(graph, points, jump, 1e-6, every)
    for n_workers in (1, 2, 7) if backend == "cpu" else (1,):
        for is_sliced in (False, True):
            options = {"every": every, "n_workers": n_workers, "is_sliced": is_sliced}
            found = sweep(backend, graph, points, jump, 1e-6, **options)
            np.testing.assert_allclose(found - points, expected - points, rtol=1e-3, atol=1e-9)


def test_drawn_jumps_are_even_on_a_log_scale():
    _, jumps = swept(make_graph([1] * 4096, [list(range(1, 4097))]), np.zeros((8192, 2)), 0, 0.0)
    counts = np.bincount(np.log2(np.array(jumps)).astype(int), minlength=12)
    assert counts.sum() == 4096
    near = counts[:7]  # the ends of the path are nearer than the longest jumps
    assert (np.abs(near - near.mean()) < 4 * np.sqrt(near.mean())).all()


def test_a_jump_beyond_the_path_moves_nothing(backend):
    graph = make_graph([5] * 10, [list(range(1, 11))])
    points = np.random.default_rng(8).normal(0, 9, (20, 2))
    assert (sweep(backend, graph, points, 10, 1e9) == points).all()


def test_a_loop_that_comes_back_to_its_point_moves_nothing(backend):
    graph = make_graph([5], [[1, 1, 1]])
    found = sweep(backend, graph, np.array([[0.0, 0.0], [0.0, 0.0]]), 0, 1e9)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("n_workers", [1, 3000])
def test_sweeps_of_one_call_follow_each_other(backend, n_workers):
    """Pairs of one sweep share no point here, those of the next do."""
    graph = make_graph([10] * 40, [list(range(1, 41))])
    points = np.random.default_rng(9).normal(0, 30, (80, 2))
    schedule = [(20, 4.0), (30, 2.0), (25, 9.0)]
    expected = points.copy().reshape(-1, 2, 2)
    for jump, eta in schedule:
        path_sweep(graph, expected, jump=jump, eta=eta, seed=SEED)
    xp, records = array_module(backend), build_path_records(graph)
    found = xp.asarray(points.copy())
    load_kernel("path_sweep", backend).sweep(
        found,
        tuple(map(xp.asarray, records.paths)),
        xp.arange(1, dtype=np.int32),
        np.array([jump for jump, _ in schedule]),
        np.array([eta for _, eta in schedule]),
        np.full(3, SEED, np.uint64),
        True,
        1,
        0,
        1,
        n_workers,
    )
    np.testing.assert_allclose(to_host(found), expected.reshape(-1, 2), rtol=1e-9)
