"""Graphs of more than 2^31 and 2^32 steps: real arrays, whose answers are known beforehand.

Every path runs along one straight line of nodes, every second one backwards. They need the memory
of a large machine, and are skipped, visibly, on any other.
"""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from genoviz import LayoutDrawing, Viewport, multilevel_layout, path_sgd_layout, sampled_path_stress
from genoviz.analyses.graph.picture.colour_modes import (
    by_depth,
    by_position,
    by_sharing,
    by_strand,
)
from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.model import ByteStrings, GraphLayout, PangenomeGraph

N_NODES = 2**20
LENGTHS = 1 + np.arange(N_NODES) % 7
ENDS = np.cumsum(np.append(0, LENGTHS))
BYTES_A_STEP = 16
"""Of an array of steps, its copies, and what is worked out of it."""


@pytest.fixture(scope="module", params=[2**31, 2**32], ids=["2^31", "2^32"])
def graph(request):
    n_paths = request.param // N_NODES + 1
    needed = n_paths * N_NODES * BYTES_A_STEP
    if psutil.virtual_memory().available < needed:
        pytest.skip(f"needs {needed / 1e9:.0f} GB of memory")
    forward = np.arange(N_NODES, dtype=np.uint32) << 1
    steps = np.empty((n_paths, N_NODES), np.uint32)
    steps[::2] = forward
    steps[1::2] = forward[::-1] | 1
    return PangenomeGraph(
        ByteStrings.from_integers(1, N_NODES),
        LENGTHS,
        np.empty((0, 2), np.uint32),
        tuple(f"s{path}#1#c" for path in range(n_paths)),
        np.arange(n_paths + 1) * N_NODES,
        steps.reshape(-1),
    )


def line(stretch):
    """Return the layout on which all distances are those along the paths, times a number."""
    coordinates = np.zeros((N_NODES, 2, 2))
    coordinates[:, :, 0] = stretch * np.stack([ENDS[:-1], ENDS[1:]], axis=1)
    return GraphLayout(coordinates)


def test_positions_and_depths(graph):
    numbers = np.random.default_rng(1)
    steps = np.append(numbers.integers(0, graph.n_steps, 2000), graph.n_steps - 1 - np.arange(50))
    paths, at = np.divmod(steps, N_NODES)
    expected = np.where(paths % 2, ENDS[-1] - ENDS[N_NODES - at], ENDS[at])
    assert np.array_equal(graph.position_index.positions_of(steps), expected)
    assert np.array_equal(graph.position_index.steps_at(paths, expected), steps)
    assert set(graph.path_lengths.tolist()) == {ENDS[-1]}
    assert set(graph.node_depths.tolist()) == {graph.n_paths}


@pytest.mark.parametrize(("stretch", "stress"), [(1, 0), (2, 1), (1.5, 0.25)])
def test_stress_is_that_of_every_single_term(graph, stretch, stress, backend):
    found = sampled_path_stress(graph, line(stretch), n_samples=1_000_000, seed=3, backend=backend)
    assert found.n_terms > 900_000
    assert found.mean == pytest.approx(stress, abs=1e-9)
    assert found.ci_high == pytest.approx(stress, abs=1e-9)


@pytest.mark.parametrize("layout", ["multilevel", "path_sgd"])
def test_layouts_come_to_the_line(graph, layout, backend):
    if backend == "cpu" and (layout, graph.n_steps > 2**32) != ("multilevel", False):
        pytest.skip("takes many minutes on a CPU")
    if layout == "multilevel":
        found = multilevel_layout(graph, n_rounds=6, seed=1, backend=backend)
    else:
        found = path_sgd_layout(
            graph, n_iterations=4, updates_per_step=1.0, seed=1, backend=backend
        )
    measured = sampled_path_stress(graph, found, n_samples=1_000_000, seed=3, backend=backend)
    assert np.isfinite(found.coordinates).all()
    assert measured.median < 0.01
    ranks = np.argsort(np.argsort(found.coordinates[:, 0] @ np.linalg.svd(
        found.coordinates[::997, 0] - found.coordinates[::997, 0].mean(axis=0)
    )[2][0]))  # fmt: skip
    assert abs(np.corrcoef(ranks, np.arange(N_NODES))[0, 1]) > 0.99


def test_pictures_have_the_colours_of_all_steps():
    """The picture itself is of nodes; depth, strand, sharing and position come from the steps.

    Paths of 10^6 steps begin at step 2^31 and at step 2^32; those between stay on node 0. Their
    pages are never written, and take no memory where the system shares pages of zeros; but the
    test takes some 13 s of CPU time, and is for large machines, as the others are.
    """
    if psutil.virtual_memory().available < 2**32 * BYTES_A_STEP / 2:
        pytest.skip("for machines with 34 GB of memory")
    n_nodes, n_marked = 1000, 10**6
    bounds = [0, 2**31, 2**31 + n_marked, 2**32, 2**32 + n_marked]
    steps = np.zeros(bounds[-1], np.uint32)
    walks = []
    for first, parity in ((bounds[1], 1), (bounds[3], 7)):
        nodes = np.arange(n_marked, dtype=np.uint32) * parity % (n_nodes - 1) + 1
        walks.append(nodes)
        steps[first : first + n_marked] = nodes << 1 | (nodes % parity == 0)
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, n_nodes),
        np.full(n_nodes, 3),
        np.empty((0, 2), np.uint32),
        ("a#1#c", "b#1#c", "c#1#c", "d#1#c"),
        np.array(bounds),
        steps,
    )
    depths = np.bincount(walks[0], minlength=n_nodes) + np.bincount(walks[1], minlength=n_nodes)
    n_reverse = np.bincount(walks[0], minlength=n_nodes)
    n_reverse += np.bincount(walks[1][walks[1] % 7 == 0], minlength=n_nodes)
    visited = [np.bincount(walk, minlength=n_nodes) > 0 for walk in walks]
    depths[0] = bounds[-1] - 2 * n_marked
    first_visit = np.full(n_nodes, np.nan)
    nodes, places = np.unique(walks[1], return_index=True)
    first_visit[nodes] = 3 * places + 1.5
    n_paths = np.sum(visited, axis=0)
    n_paths[0] = 2
    coordinates = np.zeros((n_nodes, 2, 2))
    coordinates[:, :, 0] = np.arange(n_nodes)[:, None] + [0.25, 0.75]
    viewport = Viewport(0, n_nodes, -0.5, 0.5, n_nodes, 1)
    for colouring, wanted in (
        (by_depth(graph), depths),
        (by_strand(graph), 100 * n_reverse / depths),
        (by_sharing(graph, group_paths(graph, "path")), n_paths),
        (by_position(graph, "d#1#c"), first_visit),
    ):
        drawing = LayoutDrawing(coordinates, node_values=colouring.node_values, backend="cpu")
        np.testing.assert_allclose(drawing.mean(viewport)[0], wanted, rtol=1e-6)
