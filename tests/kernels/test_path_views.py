"""Views of paths against plain versions, and points that are placed between others."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.backend import array_module, load_kernel, to_host
from genoviz.kernels.path_records import CLOSING
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import coarser_points, point_of, steps_with_positions


@pytest.fixture(scope="module")
def graph():
    """Return one of some 4,000 steps, so that paths begin and end within blocks."""
    return random_graph(4, n_nodes=1500, n_paths=9, max_steps=900)


def paths_of_points(graph):
    """Return (point, position) of all ends along each path."""
    paths = []
    for path in range(graph.n_paths):
        ends = [
            point_of(step, at_right, graph)
            for step in steps_with_positions(graph, path)
            for at_right in (False, True)
        ]
        paths.append([(2 * node + end, position) for (node, end), position in ends])
    return paths


def on_backend(backend, graph):
    return tuple(map(array_module(backend).asarray, build_path_records(graph).paths))


def choose(backend, view, levels, spacing, *, at_once):
    """Give points of steps level 1, so many blocks at once."""
    n_blocks = len(view[2])
    for first in range(0, n_blocks, at_once):
        load_kernel("path_views", backend).choose(
            view, True, spacing, levels, 1, first, min(first + at_once, n_blocks), 2
        )


@pytest.mark.parametrize("spacing", [10.0, 60.0, 4000.0])
def test_points_chosen_block_by_block_are_those_of_the_plain_version(backend, graph, spacing):
    xp = array_module(backend)
    levels = xp.zeros(2 * graph.n_nodes, np.int8)
    choose(backend, on_backend(backend, graph), levels, spacing, at_once=1)
    expected = coarser_points(paths_of_points(graph), spacing, 2)
    assert set(np.flatnonzero(to_host(levels)).tolist()) == expected


@pytest.mark.parametrize("spacing", [10.0, 60.0, 4000.0])
def test_points_chosen_at_the_same_time_leave_no_gap(backend, graph, spacing):
    """All blocks choose at once; each path keeps its ends, and a point in each spacing."""
    xp = array_module(backend)
    levels = xp.zeros(2 * graph.n_nodes, np.int8)
    choose(backend, on_backend(backend, graph), levels, spacing, at_once=100)
    kept = to_host(levels) == 1
    longest_node = graph.node_lengths.max()
    for path in paths_of_points(graph):
        positions = [position for point, position in path if kept[point]]
        assert [positions[0], positions[-1]] == [0, path[-1][1]]
        # Where a block begins in between, the last of one and the first of the next.
        assert max(b - a for a, b in pairwise(positions)) < 2 * (spacing + longest_node)


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_a_view_has_the_points_of_its_level_path_by_path(backend, graph, at_once):
    xp, kernel = array_module(backend), load_kernel("path_views", backend)
    view = on_backend(backend, graph)
    levels = np.random.default_rng(2).integers(0, 3, 2 * graph.n_nodes).astype(np.int8)
    n_blocks, on_device = len(view[2]), xp.asarray(levels)
    counts = xp.zeros(n_blocks, np.int64)
    blocks = [(first, min(first + at_once, n_blocks)) for first in range(0, n_blocks, at_once)]
    for first, stop in blocks:
        kernel.count(view[0], True, on_device, 1, counts, first, stop, 2)
    found = xp.empty((int(counts.sum()), 2), np.uint32)
    found_starts = xp.zeros(graph.n_paths + 1, np.int64)
    for first, stop in blocks:
        kernel.fill(
            found,
            found_starts,
            view,
            True,
            on_device,
            1,
            xp.cumsum(counts) - counts,
            first,
            stop,
            2,
        )
    expected, starts = [], [0]
    for path in paths_of_points(graph):
        expected += [pair for pair in path if levels[pair[0]] >= 1]
        expected.append((CLOSING, path[-1][1]))
        starts.append(len(expected))
    assert to_host(found).tolist() == [list(pair) for pair in expected]
    assert to_host(found_starts).tolist() == starts


@pytest.mark.parametrize("stride", [1, 2, 7, 10**6])
@pytest.mark.parametrize("has_ends", [True, False])
def test_visits_and_pairs_of_visits_are_those_of_counters(backend, graph, stride, has_ends):
    xp, records = array_module(backend), build_path_records(graph).records
    handles = [handle for handle in records[::stride, 0].tolist() if handle != CLOSING]
    expected = Counter(handle >> 1 if has_ends else handle for handle in handles)
    n_visits, totals = xp.zeros(2 * graph.n_nodes, np.int32), xp.zeros(2, np.int64)
    load_kernel("path_views", backend).count_visits(
        xp.asarray(records), has_ends, stride, n_visits, totals
    )
    assert {k: n for k, n in enumerate(to_host(n_visits).tolist()) if n} == expected
    n_pairs = sum(n * (n - 1) // 2 for n in expected.values())
    assert to_host(totals).tolist() == [len(handles), n_pairs]


def test_all_workers_place_what_one_does(backend, graph):
    """Which path places a point that several have is decided by time: here none does."""
    chain = make_graph(np.arange(1, 3001), [list(range(1, 1001)), list(range(1001, 3001))])
    xp, view = array_module(backend), on_backend(backend, chain)
    levels = np.random.default_rng(3).integers(0, 2, 6000).astype(np.int8)
    levels[[0, 1999, 2000, 5999]] = 1
    start = np.random.default_rng(4).normal(0, 1000, (6000, 2))
    found = []
    for n_workers, at_once in ((1, 10**6), (3, 10**6), (2, 700)):
        points, is_placed = xp.asarray(start.copy()), xp.zeros(6000, np.int8)
        for first in range(0, 3002, at_once):
            load_kernel("path_views", backend).place(
                points,
                is_placed,
                view,
                xp.asarray(levels),
                0,
                True,
                0.05,
                np.uint64(1),
                first,
                min(first + at_once, 3002),
                n_workers,
            )
        assert (to_host(is_placed) == (levels == 0)).all()
        found.append(to_host(points))
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert (found[0][levels == 1] == start[levels == 1]).all()
    assert (found[0][levels == 0] != start[levels == 0]).all()


def place(backend, points, levels, level, *, noise, n_workers=1):
    """Return the points of three nodes (10, 20, 30 bp), one after the other on a path, placed."""
    graph = make_graph([10, 20, 30], [[1, -2, 3]])
    xp, records = array_module(backend), build_path_records(graph)
    moved = xp.asarray(np.array(points, float))
    is_placed = xp.zeros(6, np.int8)
    load_kernel("path_views", backend).place(
        moved,
        is_placed,
        tuple(map(xp.asarray, records.paths)),
        xp.asarray(np.array(levels, np.int8)),
        level,
        True,
        noise,
        np.uint64(5),
        0,
        len(records.records),
        n_workers,
    )
    return to_host(moved), to_host(is_placed).tolist()


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


@pytest.mark.parametrize("at_once", [3000, 700])
def test_followers_lie_where_place_would_put_them(backend, at_once):
    """Also once the points between which they lie have moved."""
    chain = make_graph(np.arange(1, 3001), [list(range(1, 1001)), list(range(1001, 3001))])
    xp, view, kernel = (
        array_module(backend),
        on_backend(backend, chain),
        load_kernel("path_views", backend),
    )
    levels = np.random.default_rng(5).integers(0, 2, 6000).astype(np.int8)
    levels[[0, 1999, 2000, 5999]] = 1
    on_device = xp.asarray(levels)
    how = view, on_device, 0, True, 0.05, np.uint64(1)
    links, shares = xp.full((6000, 2), -1, np.int32), xp.zeros((6000, 3), np.float32)
    is_linked = xp.zeros(6000, np.int8)
    for first in range(0, 3002, at_once):
        kernel.link(links, shares, is_linked, *how, first, min(first + at_once, 3002), 2)
    assert (to_host(is_linked) == (levels == 0)).all()
    assert (to_host(links)[levels == 1] == -1).all()
    followers = xp.asarray(np.flatnonzero(levels == 0).astype(np.int32))
    for seed in range(2):
        start = np.random.default_rng(seed).normal(0, 1000, (6000, 2))
        placed, followed = xp.asarray(start.copy()), xp.asarray(start.copy())
        kernel.place(placed, xp.zeros(6000, np.int8), *how, 0, 3002, 1)
        for first in range(0, len(followers), at_once):
            stop = min(first + at_once, len(followers))
            kernel.follow(followed, followers, links, shares, first, stop, 2)
        np.testing.assert_allclose(to_host(followed), to_host(placed), atol=0.01)
        assert (to_host(followed)[levels == 0] != start[levels == 0]).all()
