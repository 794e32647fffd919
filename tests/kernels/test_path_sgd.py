"""The path-guided SGD kernel against a plain version, and by what must hold of any update."""

from dataclasses import replace

import numpy as np
import pytest

from genoviz.analyses.graph.layout.options import zipf_tables
from genoviz.analyses.graph.layout.path_records import build_path_records, initial_coordinates
from genoviz.analyses.graph.layout.path_sgd import path_sgd_layout
from genoviz.analyses.graph.layout.stress import path_stress
from genoviz.backend import array_module, load_kernel
from genoviz.kernels.path_sgd import cpu
from genoviz.model import GraphLayout
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import path_sgd


def run_kernel(
    backend,
    graph,
    points,
    *,
    eta,
    n_updates,
    window=1,
    theta=0.99,
    is_cooling=True,
    n_workers=1,
    is_wide=False,
):
    xp = array_module(backend)
    records = build_path_records(graph, min_steps=2)
    tables = zipf_tables(theta, records.longest_path)
    if is_wide:
        records = replace(records, records=records.records.astype(np.int64).view(np.uint32))
    moved = xp.asarray(points.copy())
    n_done = load_kernel("path_sgd", backend).make_updates(
        moved,
        tuple(map(xp.asarray, records.paths)),
        (xp.asarray(tables.zeta), xp.asarray(tables.zipf_factor), theta, tables.exact_space),
        records.longest_path,
        eta,
        is_cooling,
        n_updates,
        xp.asarray(np.arange(n_workers, dtype=np.uint64) + 12345),
        window,
    )
    return (moved if backend == "cpu" else moved.get()), n_done


@pytest.mark.parametrize("n", [3, 10, 999, 1000, 5000])
def test_jumps_are_zipf_distributed(n):
    tables = zipf_tables(0.99, n)
    units = (np.arange(200_000) + 0.5) / 200_000
    jumps = np.array(
        [
            cpu._zipf(unit, n, (tables.zeta, tables.zipf_factor, 0.99, tables.exact_space))
            for unit in units
        ]
    )
    assert jumps.min() == 1
    assert jumps.max() <= n
    expected = np.cumsum(np.arange(1, n + 1) ** -0.99)
    expected /= expected[-1]
    observed = np.searchsorted(np.sort(jumps), np.arange(1, n + 1), side="right") / len(jumps)
    # Gray's method is exact for 1 and 2 and approximates the rest.
    assert observed[:2] == pytest.approx(expected[:2], abs=1e-4)
    assert np.abs(observed - expected).max() < 0.05


def test_updates_with_full_rate_set_the_distance(backend):
    graph = make_graph([10, 1], [[1, 2]])
    points = np.array([[0.0, 0.0], [3.0, 4.0], [30.0, 0.0], [40.0, 1.0]])
    moved, n_done = run_kernel(backend, graph, points, eta=1e9, n_updates=1)
    assert n_done >= 1
    changed = np.flatnonzero((moved != points).any(axis=1))
    assert len(changed) == 2
    assert np.allclose(moved.sum(axis=0), points.sum(axis=0))
    distance = np.linalg.norm(moved[changed[0]] - moved[changed[1]])
    position = {0: 0, 1: 10, 2: 10, 3: 11}
    wanted = abs(position[changed[0]] - position[changed[1]])
    assert distance == pytest.approx(max(wanted, 1e-9), rel=1e-9, abs=1e-8)


def iter_bursts(backend, n_steps, *, window, is_cooling, n_bursts):
    """Yield the steps that each burst of a path of nodes visited once moves, and its updates."""
    graph = make_graph([5] * n_steps, [list(range(1, n_steps + 1))])
    xp, kernel = array_module(backend), load_kernel("path_sgd", backend)
    records, tables = build_path_records(graph), zipf_tables(0.99, n_steps)
    paths = tuple(map(xp.asarray, records.paths))
    zipf = xp.asarray(tables.zeta), xp.asarray(tables.zipf_factor), 0.99, tables.exact_space
    points = np.random.default_rng(0).normal(0, 1000, (2 * n_steps, 2))
    states = xp.asarray(np.array([99], np.uint64))
    for _ in range(n_bursts):
        moved = xp.asarray(points.copy())
        n_done = kernel.make_updates(
            moved, paths, zipf, n_steps, 1.0, is_cooling, 1, states, window
        )
        moved = moved if backend == "cpu" else moved.get()
        yield np.flatnonzero((moved != points).any(axis=1)) >> 1, int(n_done)


def pair_chances(n_steps, is_cooling):
    """Return the chance of each pair of steps by the algorithm's definition."""
    chances = np.zeros((2, n_steps, n_steps))  # of either branch
    for a in range(n_steps):
        sides = [side for side in (-1, 1) if 0 <= a + side < n_steps]
        for side in sides:
            reach = n_steps - 1 - a if side > 0 else a
            weights = np.arange(1, reach + 1) ** -0.99
            for jump, weight in enumerate(weights / weights.sum(), 1):
                chances[0, a, a + side * jump] += weight / len(sides) / n_steps
        chances[1, a] += 1 / n_steps**2
        chances[1, a, a] = 0
    both = chances[0] if is_cooling else chances.sum(axis=0) / chances.sum()
    return np.triu(both + both.T)


@pytest.mark.parametrize("is_cooling", [True, False])
def test_jumps_go_either_way_as_the_definition_says(backend, is_cooling):
    """Were jumps to go one way only, pairs would crowd at that end of the path."""
    n_steps, n_bursts = 7, 4000
    found = np.zeros((n_steps, n_steps))
    options = {"window": 1, "is_cooling": is_cooling, "n_bursts": n_bursts}
    for steps, n_done in iter_bursts(backend, n_steps, **options):
        assert (len(steps), n_done) == (2, 1)
        found[tuple(steps)] += 1
    expected = n_bursts * pair_chances(n_steps, is_cooling)
    # Gray's method is exact for jumps of 1 and 2, and approximates the rest.
    for jump in (1, 2):
        seen, wanted = np.diag(found, jump), np.diag(expected, jump)
        assert (np.abs(seen - wanted) < 4 * np.sqrt(wanted)).all()


@pytest.mark.parametrize("is_cooling", [True, False])
@pytest.mark.parametrize("window", [8, 32])
def test_a_burst_meets_no_step_twice_and_has_one_jump(backend, is_cooling, window):
    n_steps, lengths = 200, []
    options = {"window": window, "is_cooling": is_cooling, "n_bursts": 200}
    for steps, n_done in iter_bursts(backend, n_steps, **options):
        assert len(np.unique(steps)) == len(steps) == 2 * n_done
        jumps = [jump for jump in range(1, n_steps) if is_paired(set(steps.tolist()), jump)]
        assert jumps, steps
        lengths.append(n_done)
    assert max(lengths) == window


def is_paired(steps, jump):
    """Tell whether steps are pairs that lie ``jump`` apart, each step in one pair."""
    while steps:
        first = min(steps)
        if first + jump not in steps:
            return False
        steps = steps - {first, first + jump}
    return True


@pytest.mark.parametrize("window", [1, 32])
def test_records_of_four_words_make_the_same_updates(backend, window):
    graph = make_graph([5] * 60, [list(range(1, 61))])
    points = np.random.default_rng(0).normal(0, 100, (120, 2))
    options = {"eta": 20.0, "n_updates": 64, "window": window}
    if backend == "cuda":
        options["n_updates"] = 1  # one burst, in which no two updates meet
    narrow, wide = (
        run_kernel(backend, graph, points, **options, is_wide=is_wide)[0]
        for is_wide in (False, True)
    )
    assert not np.allclose(narrow, points)
    np.testing.assert_allclose(wide, narrow, rtol=1e-12)


@pytest.mark.parametrize("window", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("is_cooling", [True, False])
def test_updates_only_pull_steps_of_one_path(backend, window, is_cooling):
    # Two paths that share no node: the centre of each must stay where it is.
    graph = make_graph([5] * 60, [list(range(1, 31)), list(range(31, 61))])
    points = np.random.default_rng(0).normal(0, 100, (120, 2))
    moved, n_done = run_kernel(
        backend, graph, points, eta=50.0, n_updates=5000, window=window, is_cooling=is_cooling
    )
    assert 5000 <= n_done < 5000 + 32
    for half in (slice(0, 60), slice(60, 120)):
        assert moved[half].mean(axis=0) == pytest.approx(points[half].mean(axis=0), abs=1e-6)
        assert not np.allclose(moved[half], points[half])


def test_nodes_off_the_paths_stay(backend):
    graph = make_graph([5, 5, 5, 5], [[1, 3], [2]])
    points = np.random.default_rng(0).normal(0, 10, (8, 2))
    moved, _ = run_kernel(backend, graph, points, eta=10.0, n_updates=1000)
    assert (moved[[2, 3, 6, 7]] == points[[2, 3, 6, 7]]).all()


@pytest.fixture(scope="module")
def plain_stress():
    """A graph, and the stress of its layouts by the plain version, which take a second each."""
    graph, found = random_graph(3, n_nodes=60, n_paths=3, max_steps=70), []
    for seed in range(3):
        start = initial_coordinates(graph, "d", seed=seed)
        coordinates = path_sgd(graph, start, n_iterations=30, seed=seed)
        found.append(path_stress(graph, GraphLayout(coordinates), backend="cpu").mean)
    return graph, found


@pytest.mark.parametrize("window", [1, 8])
def test_layouts_have_the_stress_of_the_plain_version(backend, window, plain_stress):
    (graph, plain), ours = plain_stress, []
    for seed in range(6):
        layout = path_sgd_layout(
            graph, seed=seed, window=window, eps=0.01, n_threads=1, backend=backend
        )
        ours.append(path_stress(graph, layout, backend="cpu").mean)
    if window == 1:
        assert np.median(ours) == pytest.approx(np.median(plain), rel=0.1)
    else:
        assert np.median(ours) <= 1.1 * np.median(plain)
