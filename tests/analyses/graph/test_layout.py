"""Layouts as a user asks for them: options, snapshots, notes, reproducibility, real graphs."""

from dataclasses import replace

import numpy as np
import pytest

from genoviz.analyses.graph.layout.options import default_window
from genoviz.analyses.graph.layout.path_records import _hilbert_points
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout, path_sgd_layout
from genoviz.analyses.graph.layout.run import finished_snapshot, learning_rates
from genoviz.analyses.graph.layout.stress import path_stress, sampled_path_stress
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import cuda_is_available, to_host
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.layout_files import read_layout
from genoviz.model import GraphLayout
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph


def on_a_gpu(test):
    """Skip a test of what is on a GPU alone, visibly, where there is none."""
    is_here = cuda_is_available()
    return pytest.mark.gpu(pytest.mark.skipif(not is_here, reason="no GPU can be used here")(test))


@pytest.fixture(scope="module")
def graph():
    return simulate_pangenome(800, 6, seed=1)


def test_one_thread_and_one_seed_give_the_same_bits(graph):
    first, second, other = (
        path_sgd_layout(graph, seed=seed, n_threads=1, n_iterations=6, backend="cpu").coordinates
        for seed in (4, 4, 5)
    )
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes()


def test_slices_do_not_change_what_one_thread_computes(graph):
    options = {"n_threads": 1, "n_iterations": 4, "backend": "cpu"}
    whole = path_sgd_layout(graph, **options).coordinates
    *_, sliced = iter_path_sgd_layout(graph, slice_seconds=0.0005, **options)
    assert whole.tobytes() == sliced.coordinates.tobytes()


def test_the_caller_keeps_the_layout_to_start_from(graph):
    start = path_sgd_layout(graph, n_iterations=3, backend="cpu")
    before = start.coordinates.copy()
    path_sgd_layout(graph, start=start, n_iterations=3, first_iteration=1, backend="cpu")
    assert (start.coordinates == before).all()


def test_snapshots_tell_how_far_the_layout_is(backend, graph):
    snapshots = list(
        iter_path_sgd_layout(
            graph, n_iterations=8, stress_samples=20_000, slice_seconds=0.001, backend=backend
        )
    )
    iterations = [snapshot.iteration for snapshot in snapshots]
    assert iterations[0] == 0
    assert iterations == sorted(iterations)
    assert set(iterations) == set(range(9))
    updates = [snapshot.n_updates for snapshot in snapshots]
    assert updates == sorted(updates)
    assert updates[0] == 0
    assert updates[-1] == pytest.approx(snapshots[0].n_updates_total, rel=0.1)
    assert [snapshot.is_final for snapshot in snapshots].index(True) == len(snapshots) - 1
    stress = [snapshot.stress.mean for snapshot in snapshots if snapshot.stress]
    assert len(stress) == 9
    assert stress[-1] < 0.2 * max(stress)
    assert snapshots[-1].updates_per_second > 0


def test_snapshots_do_not_change_afterwards(backend, graph):
    snapshots, copies = [], []
    for snapshot in iter_path_sgd_layout(graph, n_iterations=4, backend=backend):
        snapshots.append(snapshot)
        copies.append(snapshot.layout.coordinates.copy())
    for snapshot, copy in zip(snapshots, copies, strict=True):
        assert (snapshot.layout.coordinates == copy).all()
    assert not (copies[1] == copies[2]).all()


def test_live_snapshots_share_the_layout_that_goes_on(backend, graph):
    options = {"n_iterations": 4, "n_threads": 1, "backend": backend, "slice_seconds": 0.001}
    snapshots, states = [], []
    for snapshot in iter_path_sgd_layout(graph, copies=False, **options):
        snapshots.append(snapshot)
        states.append(snapshot.layout)
    *moving, final = snapshots
    assert all(snapshot.is_live for snapshot in moving)
    assert not final.is_live
    for snapshot in moving:
        assert (snapshot.coordinates == moving[0].coordinates).all()
    assert (final.layout.coordinates == states[-1].coordinates).all()
    assert not (states[0].coordinates == states[-2].coordinates).all()
    if backend == "cpu":
        *_, copied = iter_path_sgd_layout(graph, **options)
        assert (copied.coordinates == final.coordinates).all()


def test_stress_of_a_run_is_of_the_same_pairs(graph):
    """So a layout that hardly moves has hardly another stress, however few the samples are."""
    start = path_sgd_layout(graph, backend="cpu")
    snapshots = iter_path_sgd_layout(
        graph, start=start, eta_max=1e-9, eps=1e-10, stress_samples=500, backend="cpu"
    )
    stress = [snapshot.stress.mean for snapshot in snapshots if snapshot.stress]
    assert len(stress) == 31
    # The last one is of all terms, and those before of a tenth of them.
    assert np.ptp(stress[:-1]) < 1e-6 * stress[0]


@pytest.mark.parametrize("n", [0, 1, 2, 4, 5, 16, 100])
def test_a_hilbert_curve_fills_a_square_step_by_step(n):
    points = _hilbert_points(n)
    assert len(np.unique(points, axis=0)) == n
    assert (np.abs(np.diff(points, axis=0)).sum(axis=1) == 1).all()
    side = next(2**k for k in range(1, 9) if 4**k >= n)
    assert points.min(initial=0) == 0
    assert points.max(initial=0) < side


@pytest.mark.parametrize("initialisation", ["d", "u", "g", "r", "h"])
def test_any_start_comes_to_a_low_stress(backend, graph, initialisation):
    layout = path_sgd_layout(graph, initialisation=initialisation, backend=backend)
    stress = sampled_path_stress(graph, layout, n_samples=200_000, backend="cpu")
    assert stress.median < 0.1


def test_reheating_from_the_middle_keeps_a_good_layout_good(graph):
    good = path_sgd_layout(graph, backend="cpu")
    again = path_sgd_layout(graph, start=good, first_iteration=20, backend="cpu")
    stress = path_stress(graph, good, backend="cpu").mean
    assert path_stress(graph, again, backend="cpu").mean < 1.2 * stress


def test_components_lie_one_above_the_other(backend):
    graph = make_graph([40] * 30, [list(range(1, 11)), list(range(11, 21)), list(range(21, 31))])
    layout = path_sgd_layout(graph, backend=backend)
    assert layout.components.tolist() == [0] * 10 + [1] * 10 + [2] * 10
    top = 0.0
    for component in range(3):
        points = layout.coordinates[layout.components == component].reshape(-1, 2)
        assert points[:, 0].min() == pytest.approx(1000.0)
        assert points[:, 1].min() == pytest.approx(top + 1000.0)
        top = points[:, 1].max()


def test_edges_connect_components_too():
    graph = make_graph([1] * 4, [[1, 2]], edges=[(2, 4)])
    assert path_sgd_layout(graph, backend="cpu").components.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("paths", [[], [[1], [3]]])
def test_without_a_guiding_path_nodes_lie_in_a_line(backend, paths):
    graph = make_graph([3, 4, 5], paths)
    layout = path_sgd_layout(graph, backend=backend)
    assert "nothing guides the layout" in layout.note
    assert layout.coordinates[:, :, 0].tolist() == [[0, 3], [3, 7], [7, 12]]
    assert not layout.coordinates[:, :, 1].any()
    (last,) = iter_path_sgd_layout(graph, backend=backend)
    opened = finished_snapshot(layout, backend=backend)
    assert (last.iteration, opened.iteration, opened.n_iterations) == (last.n_iterations, 0, 0)
    for each in (last, opened):
        assert each.is_final
        assert (each.n_updates, each.n_updates_total, each.eta, each.seconds) == (0, 0, 0, 0)
        assert to_host(each.coordinates).tolist() == layout.coordinates.tolist()


def test_nodes_off_the_paths_are_told_of():
    graph = make_graph([3] * 5, [[1, 2, 3]])
    assert path_sgd_layout(graph, backend="cpu").note.startswith("2 of 5 nodes lie on no path")


@pytest.mark.parametrize(
    ("node_paths", "used", "note"),
    [
        ([[1, 2, 3], [4]], None, "1 of 4 nodes lies only on paths of one step and stays where it"),
        ([[1, 2], [3, 4], [3]], ["path0"], "2 of 4 nodes lie only on paths that do not guide and"),
        ([[1, 2, 3], [4], [4]], ["path0"], "1 of 4 nodes lies only on paths of one step and"),
        ([[1, 2, 3]], None, "1 of 4 nodes lies on no path and stays where it began."),
        (
            [[1, 2], [3]],
            None,
            "2 of 4 nodes stay where they began: 1 on no path, 1 only on paths of one step.",
        ),
    ],
)
def test_what_is_said_of_nodes_that_stay_is_true(node_paths, used, note):
    graph = make_graph([3] * 4, node_paths)
    assert path_sgd_layout(graph, paths=used, backend="cpu").note.startswith(note)


def test_a_subset_of_paths_guides_alone():
    graph = make_graph([10] * 6, [[1, 2, 3], [4, 5, 6]])
    layout = path_sgd_layout(graph, paths=["path1"], backend="cpu")
    assert "3 of 6 nodes" in layout.note
    guided = make_graph([10] * 6, [[4, 5, 6]])
    assert path_stress(guided, layout, backend="cpu").mean < 0.05


def test_a_contig_stands_for_its_sub_paths():
    graph = make_graph([10] * 6, [[1, 2], [3, 4], [5, 6]])
    graph = replace(graph, path_names=("a#1#c:0-20", "a#1#c:30-50", "b#1#d"))
    for names, n_idle in ((["a#1#c"], 2), (["c"], 2), (["a#1#c:0-20"], 4), (["d", "c"], 0)):
        note = path_sgd_layout(graph, paths=names, backend="cpu").note
        assert note.startswith(f"{n_idle} of 6 nodes") if n_idle else note == ""


def test_an_empty_graph_has_an_empty_layout(backend):
    layout = path_sgd_layout(make_graph([], []), backend=backend)
    assert layout.n_nodes == 0
    assert layout.bounds == (0.0, 0.0, 0.0, 0.0)


def test_base_resolution_is_kept_a_billion_bases_out(backend):
    lengths = [10**9] + [1, 2, 1, 3, 1] * 8
    graph = make_graph(lengths, [list(range(1, 42))] * 3)
    layout = path_sgd_layout(graph, backend=backend)
    sizes = np.linalg.norm(layout.coordinates[1:, 1] - layout.coordinates[1:, 0], axis=1)
    assert np.abs(sizes / np.array(lengths[1:]) - 1).max() < 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iterations": 0}, "n_iterations is 0, needs a value from 1"),
        ({"theta": 1.0}, "theta is 1.0, needs"),
        ({"eps": 0.0}, "eps is 0.0, needs"),
        ({"eta_max": 0.001}, "eta_max is 0.001, needs a value from 0.1"),
        ({"cooling_start": 1.5}, "cooling_start is 1.5"),
        ({"updates_per_step": -1}, "updates_per_step is -1"),
        ({"initialisation": "x"}, "initialisation is 'x', needs one of 'd'"),
        ({"window": 3}, "window is 3, needs one of 1, 2, 4"),
        ({"data_layout": "x"}, "data_layout is 'x', needs one of records, arrays"),
        ({"random_states": "x"}, "random_states is 'x', needs one of registers, coalesced, "),
        ({"random_states": "strided"}, "random_states is 'strided', needs backend 'cuda'"),
        ({"merge_warps": False}, "merge_warps is False, needs backend 'cuda'"),
        ({"data_reuse": 33}, "data_reuse is 33, needs a value from 1 to 32"),
        ({"data_reuse": 2}, "data_reuse is 2, needs backend 'cuda'"),
        ({"step_reduction": 0.5}, "step_reduction is 0.5, needs a value from 1"),
        ({"seed": -1}, "seed is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"first_iteration": 30}, "first_iteration is 30, needs a value from 0 to 29"),
        ({"paths": ["nobody"]}, "no path is named 'nobody'; the graph has path0"),
        ({"paths": [7]}, "path 7 is not one of the graph's 4"),
        ({"start": GraphLayout(np.zeros((1, 2, 2)))}, "has 1 node and the graph 40"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        path_sgd_layout(random_graph(0), backend="cpu", **options)


def test_reduced_steps_are_fewer_updates(graph):
    def count(**options):
        (last,) = iter_path_sgd_layout(
            graph, n_iterations=2, slice_seconds=None, backend="cpu", **options
        )
        return last.n_updates_total, last.n_updates

    (planned, made), (fewer_planned, fewer_made) = count(), count(step_reduction=2.5)
    assert planned == 20 * graph.n_steps
    assert fewer_planned == pytest.approx(planned / 2.5, abs=2)
    assert fewer_made == pytest.approx(made / 2.5, rel=0.02)


@on_a_gpu
@pytest.mark.parametrize("window", [1, 8])
@pytest.mark.parametrize(
    "design",
    [
        {"data_layout": "arrays"},
        {"random_states": "coalesced"},
        {"random_states": "strided"},
        {"merge_warps": False},
        {"data_layout": "arrays", "random_states": "strided", "merge_warps": False},
    ],
    ids=str,
)
def test_designs_of_the_kernel_have_the_same_stress(graph, design, window):
    plain, designed = (
        np.median(
            [
                path_stress(
                    graph,
                    path_sgd_layout(graph, seed=seed, window=window, backend="cuda", **options),
                ).mean
                for seed in range(3)
            ]
        )
        for options in ({}, design)
    )
    assert designed == pytest.approx(plain, rel=0.25)


@on_a_gpu
def test_reused_pairs_are_more_updates_of_as_many_reads(graph):
    def lay_out(**options):
        *_, last = iter_path_sgd_layout(graph, window=8, backend="cuda", **options)
        return last.n_updates_total, path_stress(graph, last.layout).mean

    (plain, stress), (reused, _), (reduced, its_stress) = (
        lay_out(),
        lay_out(data_reuse=4),
        lay_out(data_reuse=2, step_reduction=2.0),
    )
    assert (reused, reduced) == (4 * plain, plain)
    assert its_stress < 3 * stress


def test_learning_rates_fall_geometrically():
    rates = learning_rates(30, eta_max=9.61e6, eps=0.01)
    assert rates[0] == 9.61e6
    assert rates[-1] == pytest.approx(0.01)
    assert np.log(rates[:-1] / rates[1:]) == pytest.approx(np.full(29, 0.713), abs=1e-3)
    assert learning_rates(1, eta_max=5.0, eps=0.01).tolist() == [0.01]


@pytest.mark.parametrize(
    ("n_nodes", "window"), [(1, 1), (383, 1), (384, 2), (1748, 8), (4955, 16), (10**7, 32)]
)
def test_windows_grow_with_the_graph(n_nodes, window):
    assert default_window(n_nodes) == window


@pytest.mark.parametrize(
    ("name", "stress"),
    [("11", 140.978), ("13", 22.625), ("15", 1.1824), ("29", 0.0692)],
)
def test_published_layouts_have_their_published_stress(backend, name, stress):
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), cache=False)
    layout = read_layout(real_data(f"layouts/DRB1-3123_{name}.lay"))
    exact = path_stress(graph, layout, backend=backend)
    assert exact.mean == pytest.approx(stress, rel=5e-4, abs=5e-5)
    assert (exact.n_terms, exact.n_skipped) == (205_880_013, 35_047)
    every = {"pairs": exact}
    if name in ("11", "29"):  # the worst and the best: all pairs take a second
        every["steps"] = path_stress(graph, layout, weighting="steps", backend=backend)
    for weighting, exact in every.items():
        sampled = sampled_path_stress(graph, layout, weighting=weighting, backend=backend)
        half_width = (sampled.ci_high - sampled.ci_low) / 2
        assert abs(sampled.mean - exact.mean) < 3 * half_width
        assert half_width < 0.2 * exact.mean


@pytest.mark.parametrize(("name", "odgi"), [("DRB1-3123", 0.0694), ("chr6.C4", 0.3454)])
def test_real_graphs_come_to_the_stress_of_odgi(backend, name, odgi):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    options = {"n_samples": 10**6, "weighting": "pairs", "backend": backend}
    stresses = []
    for seed in range(3):
        layout = path_sgd_layout(graph, seed=seed, backend=backend)
        stresses.append(sampled_path_stress(graph, layout, **options))
    median = sorted(stresses, key=lambda stress: stress.mean)[1]
    assert median.ci_high - median.ci_low < 0.03 * odgi
    assert median.mean < 1.05 * odgi
