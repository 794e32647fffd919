"""Path stress against its definition, written out."""

import itertools
import math

import numpy as np
import pytest

from genoviz.analyses import stress as stress_module
from genoviz.analyses.path_records import build_path_records
from genoviz.analyses.stress import (
    iter_path_stress,
    iter_sampled_path_stress,
    path_stress,
    sampled_path_stress,
)
from genoviz.errors import ParameterError
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK, cpu
from genoviz.model import GraphLayout
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import path_stress_terms


def random_layout(graph, seed=0) -> GraphLayout:
    generator = np.random.default_rng(seed)
    return GraphLayout(generator.normal(0, 50, (graph.n_nodes, 2, 2)))


@pytest.mark.parametrize("seed", range(8))
def test_exact_stress_is_the_mean_of_all_terms(backend, seed):
    graph = random_graph(seed)
    layout = random_layout(graph, seed)
    terms, n_skipped = path_stress_terms(graph, layout.coordinates)
    stress = path_stress(graph, layout, backend=backend)
    assert stress.mean == pytest.approx(math.fsum(terms) / len(terms), rel=1e-12)
    assert (stress.n_terms, stress.n_skipped) == (len(terms), n_skipped)
    assert stress.is_exact
    assert stress.ci_low == stress.mean == stress.ci_high


@pytest.mark.parametrize("seed", range(3))
def test_sampled_stress_agrees_with_all_terms(backend, seed):
    # Samples weight a path by its steps, the exact mean by its pairs: equal for one path.
    graph = random_graph(seed, n_paths=1, max_steps=80)
    layout = random_layout(graph, seed)
    terms, _ = path_stress_terms(graph, layout.coordinates)
    mean, spread = np.mean(terms), np.std(terms)
    stress = sampled_path_stress(graph, layout, n_samples=300_000, seed=seed, backend=backend)
    assert abs(stress.mean - mean) < 5 * spread / math.sqrt(stress.n_terms)
    half_width = (stress.ci_high - stress.ci_low) / 2
    assert half_width == pytest.approx(1.96 * spread / math.sqrt(stress.n_terms), rel=0.1)
    assert stress.median == pytest.approx(np.median(terms), rel=0.05)
    assert stress.n_terms + stress.n_skipped == 300_000


def test_both_backends_draw_the_same_terms(backend):
    graph = random_graph(5, n_paths=9)
    layout = random_layout(graph)
    ours = sampled_path_stress(graph, layout, n_samples=200_000, seed=3, backend=backend)
    reference = sampled_path_stress(graph, layout, n_samples=200_000, seed=3, backend="cpu")
    assert ours.n_terms == reference.n_terms
    assert ours.mean == pytest.approx(reference.mean, rel=1e-9)
    assert ours.median == pytest.approx(reference.median, rel=1e-6)


def test_stress_of_a_perfect_line_is_zero(backend):
    graph = make_graph([3, 5, 2, 7], [[1, 2, 3, 4], [-4, -3, -2]])
    ends = np.cumsum(graph.node_lengths)
    coordinates = np.zeros((4, 2, 2))
    coordinates[:, 0, 0], coordinates[:, 1, 0] = ends - graph.node_lengths, ends
    stress = path_stress(graph, GraphLayout(coordinates), backend=backend)
    assert stress.mean == 0.0
    assert stress.n_skipped == 3 + 2


def test_a_path_of_one_step_has_one_term(backend):
    graph = make_graph([4, 1], [[1], [-2]])
    layout = GraphLayout(np.array([[[0.0, 0.0], [6.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]))
    stress = path_stress(graph, layout, backend=backend)
    assert (stress.mean, stress.n_terms) == (0.125, 2)
    sampled = sampled_path_stress(graph, layout, n_samples=10_000, backend=backend)
    assert sampled.mean == pytest.approx(0.125, rel=0.05)


def test_a_graph_without_paths_has_no_stress(backend):
    graph = make_graph([4, 1], [])
    layout = random_layout(graph)
    for stress in (
        path_stress(graph, layout, backend=backend),
        sampled_path_stress(graph, layout, backend=backend),
    ):
        assert math.isnan(stress.mean)
        assert stress.n_terms == 0


def test_positions_beyond_32_bits_are_counted(backend):
    graph = make_graph([2**33, 1, 5], [[1, 2, 3]])
    layout = random_layout(graph)
    assert build_path_records(graph).records.dtype == np.int64
    terms, _ = path_stress_terms(graph, layout.coordinates)
    stress = path_stress(graph, layout, backend=backend)
    assert stress.mean == pytest.approx(np.mean(terms), rel=1e-12)


def test_a_layout_of_another_graph_is_refused():
    graph = make_graph([4, 1], [[1, 2]])
    layout = GraphLayout(np.zeros((3, 2, 2)))
    for function in (path_stress, sampled_path_stress):
        with pytest.raises(ParameterError, match="layout has 3 nodes and the graph 2"):
            function(graph, layout)
    with pytest.raises(ParameterError, match="n_samples is 0, needs at least 1"):
        sampled_path_stress(graph, random_layout(graph), n_samples=0)


def test_blocks_find_the_path_of_every_record():
    graph = make_graph([1] * 7, [[1, 2, 3]] * 3000 + [[4]] * 500 + [[5, 6, 7] * 2000])
    records = build_path_records(graph)
    for record in range(0, len(records.records), 37):
        found = cpu._find_path(record, records.path_starts, records.block_paths)
        assert records.path_starts[found] <= record < records.path_starts[found + 1]


@pytest.mark.parametrize("seed", range(4))
def test_slices_change_nothing(backend, seed, monkeypatch):
    graph = random_graph(seed, n_paths=7)
    layout = random_layout(graph, seed)
    samples = {"n_samples": 3 * SAMPLES_PER_CHUNK + 5, "seed": seed, "backend": backend}
    exact = list(iter_path_stress(graph, layout, backend=backend))
    sampled = list(iter_sampled_path_stress(graph, layout, **samples))
    assert len(exact) == len(sampled) == 1

    def iter_short(run, n_items, *, first_size, multiple=1):
        """Yield slices that never grow."""
        assert first_size >= multiple
        for first in range(0, n_items, multiple):
            yield min(first + multiple, n_items), run(first, min(first + multiple, n_items))

    monkeypatch.setattr(stress_module, "iter_slices", iter_short)
    in_pairs = list(iter_path_stress(graph, layout, backend=backend))
    in_chunks = list(iter_sampled_path_stress(graph, layout, **samples))
    assert len(in_pairs) == in_pairs[0].n_total > 100
    assert [progress.n_done for progress in in_chunks] == [
        *(chunk * SAMPLES_PER_CHUNK for chunk in (1, 2, 3)),
        samples["n_samples"],
    ]
    # repr, for the median of an exact stress is NaN.
    assert repr(in_pairs[-1].stress) == repr(exact[-1].stress)
    assert repr(in_chunks[-1].stress) == repr(sampled[-1].stress)


def test_pairs_are_numbered_row_by_row():
    graph = make_graph([1] * 4, [[1], [1, 2, 3], [2, 4]])
    starts = build_path_records(graph).path_starts
    rows = stress_module._RowsOfPairs(starts)
    expected = []
    for first, stop in itertools.pairwise(starts):
        expected += [row for row in range(first, stop) for _ in range(row, stop)]
    assert [rows.of(pair) for pair in range(rows.n_pairs)] == expected
    assert rows.of(rows.n_pairs) == starts[-1]
