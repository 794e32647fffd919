"""Layouts from coarse to fine: their views of the paths, their stress, and odd graphs."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from genoviz import near_stress
from genoviz.analyses.graph.layout import levels as levels_module
from genoviz.analyses.graph.layout import multilevel as multilevel_module
from genoviz.analyses.graph.layout.levels import (
    MultilevelDesign,
    draw_sweep_seeds,
    evenness,
    iter_levels,
    level_spacings,
    order_strips,
    path_lengths,
    plan_rounds,
)
from genoviz.analyses.graph.layout.multilevel import (
    QUALITIES,
    MultilevelRun,
    iter_multilevel_layout,
    multilevel_layout,
)
from genoviz.analyses.graph.layout.near_stress import count_torn
from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.analyses.graph.layout.path_sgd import path_sgd_layout
from genoviz.analyses.graph.layout.stress import path_stress, sampled_path_stress
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import array_module, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.kernels.path_records import CLOSING
from genoviz.model import GraphLayout
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph
from tests.kernels.test_path_views import paths_of_points
from tests.oracles.path_layout import coarser_points


@pytest.fixture(scope="module")
def graph():
    return simulate_pangenome(800, 6, seed=1)


def paths_of_level(level):
    starts, words = level.path_starts, level.records.shape[1]
    rows = level.records.astype(np.int64)
    positions = rows[:, words // 2] + (rows[:, 3] << 32 if words == 4 else 0)
    assert (rows[starts[1:] - 1, 0] == CLOSING).all()
    return [
        list(zip(rows[a : b - 1, 0].tolist(), positions[a : b - 1].tolist(), strict=True))
        for a, b in pairwise(starts)
    ]


@pytest.mark.parametrize("repeats", [1, 40])
def test_evenness_is_the_inverse_simpson_index_of_the_visits(repeats, backend):
    """Estimated from pairs of visits; a path that goes round a few nodes lowers it."""
    looping = make_graph([30] * 60, [range(1, 61), [*range(1, 8)] * repeats])
    records = build_path_records(looping)
    spacings = level_spacings(path_lengths(records), looping.n_steps)
    *_, (levels, _) = iter_levels(records, spacings, 120, n_workers=1, backend="cpu")
    assert len(levels) > 1
    for level in levels:
        paths = paths_of_level(level)
        visits = Counter(point >> level.has_ends for path in paths for point, _ in path)
        moved = replace(level, records=array_module(backend).asarray(level.records))
        n = visits.total()
        index = n * (n - 1) / sum(count * (count - 1) for count in visits.values())
        assert evenness(moved, 10**6, 120, backend) == int(index)
        assert evenness(moved, 2, 120, backend) == 2


@pytest.mark.parametrize("is_long", [False, True])
def test_each_view_has_the_points_that_a_plain_version_keeps(graph, is_long, monkeypatch):
    monkeypatch.setattr(levels_module, "MIN_POINTS", 20)
    if is_long:  # so that positions take 64 bits
        graph = make_graph([2**31, 7, 2**31, *[9] * 50], [list(range(1, 54)), [-3, -2, 1]])
    records = build_path_records(graph)
    spacings = level_spacings(path_lengths(records), records.n_steps)
    *_, (levels, of_points) = iter_levels(
        records, spacings, 2 * graph.n_nodes, n_workers=1, backend="cpu"
    )
    assert len(levels) >= (2 if is_long else 4)
    paths = paths_of_points(graph)
    for number, level in enumerate(levels[1:], 1):
        kept = coarser_points(paths, level.spacing, 2 if number == 1 else 1)
        paths = [[pair for pair in path if pair[0] in kept] for path in paths]
        assert paths_of_level(level) == paths
        assert set(np.flatnonzero(of_points >= number).tolist()) == kept
        assert not level.has_ends
    assert levels[0].has_ends
    steps = levels[0].spacing / levels[1].spacing
    assert steps == 0.25


def test_rounds_go_from_coarse_to_fine_and_from_far_to_near():
    rounds = plan_rounds([10.0, 40.0, 160.0], 5000.0, 12, 0.1)
    assert [found.level for found in rounds] == [2] * 30 + [1] * 6 + [0] * 12
    etas = np.array([found.eta for found in rounds])
    assert etas[[0, 29, 30, 35, 36, 47]] == pytest.approx([20000, 32, 80, 8, 20, 0.1])
    assert {found.jumps for found in rounds if found.level == 0} == {(1, 2)}
    assert [found.jumps for found in rounds if found.level == 1] == [(1, 2, 0), (1, 0)] * 3
    assert all(found.jumps.count(0) == 2 for found in rounds if found.level == 2)


def test_each_sweep_has_a_seed_of_its_own_however_many_are_drawn_at_once():
    together = draw_sweep_seeds(3, 0, [5, 3, 2])
    apart = [draw_sweep_seeds(3, k, [n]) for k, n in enumerate([5, 3, 2])]
    assert together.dtype == np.uint64
    assert together.tolist() == np.concatenate(apart).tolist()
    many = [draw_sweep_seeds(seed, 0, [5] * 50) for seed in (0, 1, 2**70)]
    assert len(set(np.concatenate(many).tolist())) == 750
    # SplitMix64, as java.util.SplittableRandom has it.
    state = (int(np.random.SeedSequence(3).generate_state(1, np.uint64)[0])) % 2**64
    mask, found = 2**64 - 1, (state + 0x9E3779B97F4A7C15) % 2**64
    found = (found ^ found >> 30) * 0xBF58476D1CE4E5B9 & mask
    found = (found ^ found >> 27) * 0x94D049BB133111EB & mask
    assert int(together[0]) == found ^ found >> 31


def test_a_design_leaves_views_rounds_or_jumps_out(graph):
    given = [10.0, 40.0, 160.0], 5000.0, 12, 0.1
    without = plan_rounds(*given, MultilevelDesign(rounds_between=False))
    assert [found.level for found in without] == [2] * 30 + [0] * 12
    drawn = plan_rounds(*given, MultilevelDesign(finest_jumps=(0, 0)))
    assert {found.jumps for found in drawn if found.level == 0} == {(0, 0)}
    alone = multilevel_layout(
        graph, design=MultilevelDesign(max_levels=1), n_threads=1, backend="cpu"
    )
    placed, not_placed = (
        multilevel_layout(graph, design=MultilevelDesign(places_points=places), backend="cpu")
        for places in (True, False)
    )
    stress = [path_stress(graph, found, backend="cpu").mean for found in (placed, not_placed)]
    assert 10 * stress[0] < stress[1]
    assert np.isfinite(alone.coordinates).all()


@pytest.mark.parametrize("n_parts", [0, 1, 3, 30])
def test_strips_are_swept_part_by_part_of_the_layout(backend, n_parts):
    generator = np.random.default_rng(1)
    points = generator.normal(0, [3.0, 900.0], (700, 2))
    records = np.zeros((20 * 512 - 100, 2), np.uint32)
    records[:, 0] = generator.integers(0, 700, len(records))
    records[512 * 7 + 256, 0] = CLOSING
    middles = records[np.minimum(np.arange(20) * 512 + 256, len(records) - 1), 0]
    middles[7] = records[7 * 512 + 255, 0]
    places = points[middles, 1]
    xp = array_module(backend)
    order = to_host(order_strips(xp.asarray(records), xp.asarray(points), n_parts, backend))
    assert sorted(order.tolist()) == list(range(20))
    edges = [20 * part // max(n_parts, 1) for part in range(max(n_parts, 1) + 1)]
    parts = [order[first:stop] for first, stop in pairwise(edges) if first < stop]
    assert all((np.diff(part) > 0).all() for part in parts)
    assert all(places[a].max() <= places[b].min() for a, b in pairwise(parts))


def test_any_order_of_strips_comes_to_the_same_stress(backend, monkeypatch):
    graph = simulate_pangenome(5000, 6, seed=1)
    stress = []
    for at_once in (1 << 62, 600):
        monkeypatch.setattr(load_kernel("path_sweep", backend), "POINTS_AT_ONCE", at_once)
        layout = multilevel_layout(graph, backend=backend)
        stress.append(path_stress(graph, layout, backend="cpu").mean)
    assert stress[1] < 1.1 * stress[0]


def test_the_stress_is_not_above_that_of_path_sgd(backend):
    graph = simulate_pangenome(5000, 6, seed=1)
    for seed in range(3):
        coarse_to_fine = multilevel_layout(graph, seed=seed, backend=backend)
        sgd = path_sgd_layout(graph, seed=seed, backend=backend)
        found, before = (
            path_stress(graph, layout, backend="cpu").mean for layout in (coarse_to_fine, sgd)
        )
        assert found < before


@pytest.mark.parametrize(
    ("name", "stress"),
    [
        ("DRB1-3123", 0.065),
        ("DRB1-3123_unsorted", 0.073),
        ("chr6.C4", 0.3345),
        ("LPA", 0.688),
        ("chr5.yeast", 0.0004),
        ("micb-kir3dl1", 0.00096),
        ("MHC_4", 0.0155),
        ("hprc_chrY.noseq", 0.004),
    ],
)
def test_real_graphs_come_below_the_stress_of_path_sgd(backend, name, stress):
    """Which makes 300 updates a step: the lowest of three seeds of it, rounded."""
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    *_, last = iter_multilevel_layout(graph, slice_seconds=None, backend=backend)
    found = sampled_path_stress(graph, last.layout, backend=backend)
    assert found.mean < stress
    assert last.n_updates < 70 * len(graph.steps)


@pytest.mark.parametrize(
    ("name", "floor"), [("DRB1-3123", 0.0607), ("chr5.yeast", 0.000315), ("chr6.C4", 0.3325)]
)
def test_converged_layouts_reach_what_ten_times_the_updates_of_path_sgd_reach(backend, name, floor):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    layout = multilevel_layout(graph, seed=1, backend=backend, **QUALITIES["converged"])
    assert sampled_path_stress(graph, layout, backend=backend).mean < floor
    n_torn = near_stress(graph, layout, backend=backend).n_torn
    assert layout.note.endswith(f"then {n_torn:,}.")


@pytest.mark.parametrize(
    ("estimates", "n_passes"),
    [
        ([(0.5, 0), (0.499, 0)], 1),
        ([(0.5, 0), (0.49, 0), (0.489, 0)], 2),
        ([(0.5, 300), (0.499, 269), (0.498, 244)], 2),
        ([(0.5, 12), (0.499, 3)], 1),
        ([(0.5, 0), (0.4, 0), (0.3, 0), (0.2, 0)], 3),
    ],
)
def test_passes_go_on_until_neither_stress_nor_torn_joints_fall(
    backend, graph, monkeypatch, estimates, n_passes
):
    given = iter(estimates)
    monkeypatch.setattr(MultilevelRun, "_estimate", lambda *_: next(given))
    snapshots = list(
        iter_multilevel_layout(graph, n_rounds=4, max_passes=3, slice_seconds=0.0, backend=backend)
    )
    last = snapshots[-1]
    n_planned = snapshots[0].n_iterations
    assert last.iteration == last.n_iterations == n_planned + 8 * n_passes
    assert last.n_updates == last.n_updates_total
    passes = "1 pass" if n_passes == 1 else f"{n_passes} passes"
    (before, torn_before), (after, torn) = estimates[0], estimates[n_passes]
    assert last.note == (
        f"Stopped after {passes} more: sampled stress {before:.4g}, then {after:.4g}; "
        f"torn joints {torn_before}, then {torn}."
    )


def test_a_pass_that_raises_the_stress_is_undone(graph, monkeypatch):
    options = {"n_threads": 1, "n_rounds": 4, "backend": "cpu"}
    without = multilevel_layout(graph, **options)
    given = iter([(0.5, 3), (0.51, 0)])
    monkeypatch.setattr(MultilevelRun, "_estimate", lambda *_: next(given))
    undone = multilevel_layout(graph, max_passes=5, **options)
    assert undone.coordinates.tobytes() == without.coordinates.tobytes()
    assert undone.note.endswith("sampled stress 0.5, then 0.5; torn joints 3, then 3.")


@pytest.mark.parametrize("is_long", [False, True])
def test_torn_joints_of_a_run_are_those_of_the_layout(backend, is_long):
    graph = make_graph([2**31, 3, 2**31], [[1, 2, 3, -2, 1]]) if is_long else random_graph(5)
    ends = np.random.default_rng(5).normal(0, 80, (graph.n_nodes, 2, 2))
    xp, records = array_module(backend), build_path_records(graph)
    assert (records.records.shape[1] == 4) == is_long
    moved = replace(records, records=xp.asarray(records.records))
    points, lengths = xp.asarray(ends.reshape(-1, 2)), xp.asarray(graph.node_lengths)
    found = near_stress(graph, GraphLayout(ends), backend=backend)
    assert count_torn(moved, lengths, points, backend) == found.n_torn
    assert 0 < found.n_torn or is_long


def test_one_thread_and_one_seed_give_the_same_bits_in_any_slices(graph):
    options = {"n_threads": 1, "n_rounds": 4, "backend": "cpu"}
    whole = multilevel_layout(graph, seed=4, **options).coordinates
    *_, sliced = iter_multilevel_layout(graph, seed=4, slice_seconds=0.0005, **options)
    assert whole.tobytes() == sliced.coordinates.tobytes()
    assert whole.tobytes() != multilevel_layout(graph, seed=5, **options).coordinates.tobytes()


def test_snapshots_tell_how_far_the_layout_is(backend, graph):
    snapshots = list(
        iter_multilevel_layout(graph, stress_samples=20_000, slice_seconds=0.0, backend=backend)
    )
    iterations = [snapshot.iteration for snapshot in snapshots]
    assert iterations[0] == 0
    assert iterations == sorted(iterations)
    assert set(iterations) == set(range(snapshots[0].n_iterations + 1))
    updates = [snapshot.n_updates for snapshot in snapshots]
    assert updates == sorted(updates)
    assert updates[0] == 0
    assert updates[-1] == snapshots[-1].n_updates_total
    assert updates.count(0) > 5  # while points are chosen, too
    assert [snapshot.is_final for snapshot in snapshots].index(True) == len(snapshots) - 1
    stress = [snapshot.stress for snapshot in snapshots if snapshot.stress]
    # The first is between 1 and 30 by chance; the last is 0.01.
    assert stress[-1].mean < 0.1 * stress[0].mean
    n_terms = [found.n_terms + found.n_skipped for found in stress]
    assert len(set(n_terms[:-1])) == 1
    assert n_terms[0] == pytest.approx(2_000, rel=0.2)
    assert n_terms[-1] == pytest.approx(20_000, rel=0.2)
    assert snapshots[-1].updates_per_second > 0


def test_all_nodes_can_be_drawn_from_the_first_view_on(backend, graph):
    """Points that are not in the coarse views lie between those that are, in bp."""
    snapshots = iter_multilevel_layout(graph, slice_seconds=0.0, backend=backend)
    first_round = [snapshot for snapshot in snapshots if snapshot.iteration == 30]
    coordinates = first_round[0].layout.coordinates
    drawn = np.linalg.norm(coordinates[:, 1] - coordinates[:, 0], axis=1)
    assert drawn.sum() == pytest.approx(graph.total_length, rel=0.5)


def test_a_picture_of_a_coarse_view_goes_along_the_paths_once(graph, monkeypatch):
    """Which takes ten times as long as to move what lies between."""
    kernel, linked = load_kernel("path_views", "cpu"), []
    link = kernel.link

    def count_link(*arguments):
        level, stop = arguments[5], arguments[-2]
        linked.extend([level] * (stop > 0))  # the first call compiles
        link(*arguments)

    monkeypatch.setattr(kernel, "link", count_link)
    snapshots = list(iter_multilevel_layout(graph, slice_seconds=0.0, backend="cpu"))
    lengths = path_lengths(build_path_records(graph))
    n_levels = len(level_spacings(lengths, len(graph.steps)))
    assert n_levels > 1
    assert len(snapshots) > 40
    assert linked == list(range(n_levels - 1))


@pytest.mark.parametrize("is_quick", [True, False])
def test_stress_is_sampled_for_a_share_of_the_time(graph, monkeypatch, is_quick):
    monkeypatch.setattr(multilevel_module, "QUICK_RECORDS", 10**9 if is_quick else 0)
    name, other = ("QUICK_SHARE", "SAMPLING_SHARE")[:: 1 if is_quick else -1]
    monkeypatch.setattr(multilevel_module, name, 0.0)
    monkeypatch.setattr(multilevel_module, other, 1e9)
    monkeypatch.setattr(multilevel_module, "QUICK_SECONDS", 1e-9)
    options = {"stress_samples": 20_000, "slice_seconds": 0.0, "backend": "cpu"}
    snapshots = list(iter_multilevel_layout(graph, **options))
    sampled = [snapshot.iteration for snapshot in snapshots if snapshot.stress]
    # The second sample of a quick graph tells how long samples take.
    assert sampled == [0, *[1] * is_quick, snapshots[-1].n_iterations]
    medians = [snapshot.stress.median for snapshot in snapshots if snapshot.stress]
    assert np.isnan(medians[:-1]).all()  # it needs a sample of its own
    assert not np.isnan(medians[-1])


def test_snapshots_do_not_change_afterwards_unless_they_are_live(backend, graph):
    snapshots, copies = [], []
    for snapshot in iter_multilevel_layout(graph, slice_seconds=0.0, backend=backend):
        snapshots.append(snapshot)
        copies.append(snapshot.layout.coordinates.copy())
    for snapshot, copy in zip(snapshots, copies, strict=True):
        assert (snapshot.layout.coordinates == copy).all()
    live = list(iter_multilevel_layout(graph, copies=False, slice_seconds=0.0, backend=backend))
    assert all(snapshot.is_live for snapshot in live[:-1])
    assert not live[-1].is_live


def test_a_layout_to_start_from_is_mended_and_kept(backend, graph):
    start = multilevel_layout(graph, backend=backend)
    torn = start.coordinates.copy()
    torn[::50] += 500.0
    torn = GraphLayout(torn)
    before = torn.coordinates.copy()
    mended = multilevel_layout(graph, start=torn, backend=backend)
    assert (torn.coordinates == before).all()
    good, bad, again = (
        path_stress(graph, layout, backend="cpu").mean for layout in (start, torn, mended)
    )
    assert bad > 20 * good
    assert again < 1.5 * good


ODD_GRAPHS = {
    "a ring": make_graph([5, 6, 7], [[1, 2, 3, 1]]),
    "a hairpin": make_graph([5, 6], [[1, 2, -2, -1]]),
    "one node a thousand times": make_graph([3], [[1] * 1000]),
    "two steps": make_graph([1, 1], [[1, 2]]),
    "one base a node": make_graph([1] * 3000, [list(range(1, 3001))] * 3),
    "a node as long as all others": make_graph([10**9, *[1] * 99], [list(range(1, 101))]),
    "nodes of no length": make_graph([0, 0, 0], [[1, 2, 3]]),
    "paths of one step among others": make_graph([4] * 5, [[1], [2, 3], [4]]),
    "reverse": random_graph(3),
}


@pytest.mark.parametrize("name", ODD_GRAPHS)
def test_odd_graphs_have_finite_layouts(backend, name):
    layout = multilevel_layout(ODD_GRAPHS[name], backend=backend)
    assert np.isfinite(layout.coordinates).all()


@pytest.mark.parametrize("paths", [[], [[1], [3]]])
def test_without_a_guiding_path_nodes_lie_in_a_line(backend, paths):
    layout = multilevel_layout(make_graph([3, 4, 5], paths), backend=backend)
    assert "nothing guides the layout" in layout.note
    assert layout.coordinates[:, :, 0].tolist() == [[0, 3], [3, 7], [7, 12]]


def test_a_subset_of_paths_guides_alone():
    graph = make_graph([10] * 6, [[1, 2, 3], [4, 5, 6]])
    layout = multilevel_layout(graph, paths=["path1"], backend="cpu")
    assert "3 of 6 nodes" in layout.note
    assert path_stress(make_graph([10] * 6, [[4, 5, 6]]), layout, backend="cpu").mean < 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rounds": 1}, "n_rounds is 1, needs a value from 2"),
        ({"max_passes": -1}, "max_passes is -1, needs a value from 0"),
        ({"eps": 0.0}, "eps is 0.0, needs"),
        ({"seed": -1}, "seed is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"initialisation": "x"}, "initialisation is 'x', needs one of 'd'"),
        ({"start": GraphLayout(np.zeros((1, 2, 2)))}, "has 1 node and the graph 40"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        multilevel_layout(random_graph(0), backend="cpu", **options)
