"""Sweeps against a plain version, and points that are placed between others."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.backend import array_module, load_kernel
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import path_sweep

SEED = 0xFEDC_BA98_7654_3210


def sweep(backend, graph, points, jump, eta, *, slices=1, n_workers=1, is_wide=False):
    """Return the points after a sweep over all steps."""
    xp, records = array_module(backend), build_path_records(graph)
    if is_wide:
        records = replace(records, records=records.records.astype(np.int64).view(np.uint32))
    moved = xp.asarray(points.copy())
    ends = np.linspace(0, len(records.records), slices + 1).astype(int).tolist()
    for first, stop in pairwise(ends):
        load_kernel("path_sweep", backend).sweep(
            moved,
            xp.asarray(records.records),
            xp.asarray(records.path_starts),
            xp.asarray(records.block_paths),
            jump,
            eta,
            True,
            first,
            stop,
            np.uint64(SEED),
            n_workers,
        )
    return moved if backend == "cpu" else moved.get()


def swept(graph, points, jump, eta):
    coordinates = points.copy().reshape(-1, 2, 2)
    jumps = path_sweep(graph, coordinates, jump=jump, eta=eta, seed=SEED)
    return coordinates.reshape(-1, 2), jumps


def long_paths(seed):
    """Return a graph of which every path has two steps at least."""
    graph = random_graph(seed)
    assert np.diff(graph.path_offsets).min() > 1
    return graph


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("jump", "eta"), [(1, 2.0), (2, 0.5), (7, 0.3), (0, 2.0)])
@pytest.mark.parametrize("slices", [1, 5])
def test_one_worker_moves_what_the_plain_version_moves(seed, jump, eta, slices):
    graph = long_paths(seed)
    points = np.random.default_rng(seed).normal(0, 30, (2 * graph.n_nodes, 2))
    expected, _ = swept(graph, points, jump, eta)
    found = sweep("cpu", graph, points, jump, eta, slices=slices)
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
def test_every_step_is_moved_once_by_any_number_of_workers(backend, jump):
    """Moves at so low a rate hardly change each other, so that their order does not matter."""
    graph = make_graph(np.arange(1, 60), [list(range(1, 31)), list(range(31, 60))])
    points = np.random.default_rng(7).normal(0, 1000, (118, 2))
    expected, _ = swept(graph, points, jump, 1e-6)
    for n_workers in (1, 2) if backend == "cpu" else (1,):
        for slices in (1, 4):
            if backend == "cuda" and slices > 1 and jump:
                continue  # stretches begin with the slice
            found = sweep(backend, graph, points, jump, 1e-6, n_workers=n_workers, slices=slices)
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


def place(backend, points, levels, level, *, noise, n_ends=2):
    """Return the points of three nodes (10, 20, 30 bp), one after the other on a path, placed."""
    graph = make_graph([10, 20, 30], [[1, -2, 3]])
    xp, records = array_module(backend), build_path_records(graph)
    moved = xp.asarray(np.array(points, float))
    is_placed = xp.zeros(6, np.int32)
    load_kernel("path_sweep", backend).place(
        moved,
        is_placed,
        xp.asarray(records.records),
        xp.asarray(records.path_starts),
        xp.asarray(records.block_paths),
        xp.asarray(np.array(levels, np.int8)),
        level,
        n_ends == 2,
        noise,
        np.uint64(SEED),
        0,
        1,
    )
    if backend == "cuda":
        moved, is_placed = moved.get(), is_placed.get()
    return moved, is_placed.tolist()


def test_points_are_placed_between_their_neighbours(backend):
    """Node 2 lies in reverse: its end 1 comes first, at 10 bp, and its end 0 at 30 bp."""
    at_first = [[0, 0], [9, 9], [9, 9], [9, 9], [8, 8], [60, -120]]
    found, is_placed = place(backend, at_first, [1, 0, 0, 0, -1, 1], 0, noise=0.0)
    assert is_placed == [0, 1, 1, 1, 0, 0]
    np.testing.assert_allclose(
        found, [[0, 0], [10, -20], [30, -60], [10, -20], [8, 8], [60, -120]], atol=1e-12
    )


def test_points_lie_so_far_from_the_line_as_the_noise_says(backend):
    at_first = [[0, 0], *[[9, 9]] * 4, [60, 0]]
    straight, _ = place(backend, at_first, [1, 0, 0, 0, 0, 1], 0, noise=0.0)
    found, _ = place(backend, at_first, [1, 0, 0, 0, 0, 1], 0, noise=0.05)
    share = straight[:, 0] / 60
    width = 0.05 * 60 * np.sqrt(share * (1 - share))
    assert (np.abs(found - straight) <= width[:, None]).all()
    assert (np.abs(found - straight).max(axis=1)[1:5] > 0).all()
