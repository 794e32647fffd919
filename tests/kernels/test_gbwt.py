"""Paths of a GBWT: the kernel against a reader that follows one path after the other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from genoviz.backend import load_kernel, to_host
from genoviz.generators import finish
from genoviz.io.graph.gbz_loops import read_starts
from genoviz.io.graph.gbz_writer import build_gbwt
from genoviz.kernels.gbwt import FAULTS, NO_STEP
from tests.graphs import make_graph
from tests.oracles.gbwt import read_sequences


def decode(backend, records, n_sequences, *, handles=None, **options):
    """Return what the kernel makes of records, on the host."""
    kernel = load_kernel("gbwt", backend)
    n_places = len(records.record_bytes) - 2
    sizes = np.zeros(n_places, np.int64)
    assert kernel.measure_records(*records, sizes) == -1
    record_starts = np.append(0, np.cumsum(sizes))
    if handles is None:
        slots = np.arange(n_places // 2, dtype=np.uint32)
        handles = np.append(slots << 1, slots[::-1] << 1 | 1)
    starts = read_starts(*records, record_starts, n_sequences)
    steps = kernel.iter_decode_paths(*records, record_starts, handles, starts, **options)
    decoded = finish(steps)
    return decoded._replace(
        path_offsets=to_host(decoded.path_offsets), steps=to_host(decoded.steps)
    )


def small_blocks(backend):
    """Return options with which all is cut into many segments."""
    return {"block_visits": 5} if backend == "cpu" else {"block_bits": 2}


def make_records(paths, n_nodes):
    graph = make_graph([1] * n_nodes, paths)
    records = build_gbwt(graph, np.arange(n_nodes), 3)
    records.data.flags.writeable = False  # as that of a file: else the kernels compile twice
    return graph, records


def draw_paths(seed, n_nodes):
    generator = np.random.default_rng(seed)
    paths = []
    for _ in range(9):
        nodes = np.clip(np.cumsum(generator.integers(-1, 4, 40)), 0, n_nodes - 1) + 1
        paths.append((nodes * np.where(generator.random(40) < 0.2, -1, 1)).tolist())
    return [*paths, *paths[:4], [], [1], [-n_nodes]]


@pytest.mark.parametrize("seed", range(6))
def test_paths_are_those_of_the_slow_reader(backend, seed):
    graph, records = make_records(draw_paths(seed, 50), 50)
    slow = read_sequences(records.data.tobytes(), records.record_bytes.tolist(), 5)
    for options in ({}, small_blocks(backend)):
        decoded = decode(backend, records, 2 * graph.n_paths, **options)
        assert decoded.fault == 0
        assert decoded.path_offsets.tolist() == graph.path_offsets.tolist()
        assert decoded.steps.tolist() == [node - 6 for path in slow[::2] for node in path]
        assert decoded.steps.tolist() == graph.steps.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_ranges_that_no_path_leaves_are_sorted_apart(seed):
    """The records are those of all ranges at once, and the paths those of the graph."""
    generator = np.random.default_rng(seed)
    # Nodes 1, 22, 43, 64 and 65 are on no path, and the ranges of paths do not follow their order.
    paths = []
    for shift in generator.permutation([2, 23, 44, 66]).tolist():
        for path in draw_paths(seed + shift, 20):
            signs, nodes = np.sign(path), np.abs(path)
            paths.append((signs * (nodes + shift - 1)).tolist())
    paths = [paths[k] for k in generator.permutation(len(paths)).tolist()]
    graph = make_graph([1] * 86, paths)
    # Not every number is a node.
    slots = np.arange(86) + (np.arange(86) > 30) + 2 * (np.arange(86) > 60)
    whole = build_gbwt(graph, slots, 3, part_steps=1 << 40)
    apart = [build_gbwt(graph, slots, 3, part_steps=n_steps) for n_steps in (1, 400, 800)]
    for records in apart:
        assert np.array_equal(records.data, whole.data)
        assert np.array_equal(records.record_bytes, whole.record_bytes)
    slow = read_sequences(whole.data.tobytes(), whole.record_bytes.tolist(), 5)
    expected = slots[graph.steps >> 1] << 1 | (graph.steps & 1)
    assert [node - 6 for path in slow[::2] for node in path] == expected.tolist()


def test_links_of_paths_that_the_graph_lacks_are_found():
    records = make_records(draw_paths(4, 50), 50)[1]
    without = make_graph([1] * 50, draw_paths(4, 50))
    without = dataclasses.replace(without, edges=without.edges[::3])
    found = build_gbwt(without, np.arange(50), 3, part_steps=1)
    assert np.array_equal(found.data, records.data)
    assert np.array_equal(found.record_bytes, records.record_bytes)


def test_records_that_write_nothing_are_left_out(backend):
    graph, records = make_records(draw_paths(9, 50), 50)
    kept = np.arange(50) % 3 > 0
    slots = np.where(kept, np.arange(50), NO_STEP >> 1).astype(np.uint32)
    handles = np.append(slots << 1 | ~kept, slots[::-1] << 1 | 1)
    decoded = decode(backend, records, 2 * graph.n_paths, handles=handles, **small_blocks(backend))
    expected = graph.steps[kept[graph.steps >> 1]]
    assert decoded.steps.tolist() == expected.tolist()


def test_no_paths_and_empty_ones(backend):
    _, records = make_records([[], [1], []], 1)
    decoded = decode(backend, records, 6)
    assert (decoded.path_offsets.tolist(), decoded.steps.tolist()) == ([0, 0, 1, 1], [0])


def test_a_path_that_is_not_its_reverse_is_a_fault(backend):
    """Of two ways from node 1 to node 4, one sequence takes the other one than its reverse."""
    _, records = make_records([[1, 2, 4], [1, 3, 4]], 4)
    data = records.data.copy()
    stop = int(records.record_bytes[2])
    assert data[stop - 2] != data[stop - 1]
    data[stop - 2], data[stop - 1] = data[stop - 1], data[stop - 2]
    decoded = decode(backend, records._replace(data=data), 4)
    assert (decoded.steps, FAULTS[decoded.fault]) == (
        None,
        "a path and its reverse are not the same in the GBWT",
    )


def test_a_record_that_leads_beyond_another_is_a_fault(backend):
    _, records = make_records([[1, 2, 3], [1, 2, 3], [2, 3]], 3)
    data = records.data.copy()
    start = int(records.record_bytes[1])
    assert data[start : start + 4].tolist() == [1, 8, 1, 1]
    data[start + 2] = 9
    decoded = decode(backend, records._replace(data=data), 6)
    assert FAULTS[decoded.fault] == "a record of the GBWT leads beyond another one"


@pytest.mark.parametrize(("at", "byte"), [(0, 200), (0, 3), (1, 255), (3, 255)])
def test_a_record_that_is_not_one_is_found(backend, at, byte):
    _, records = make_records([[1, 2, 3], [1, 2, 3], [2, 3]], 3)
    data = records.data.copy()
    data[records.record_bytes[3] + at] = byte
    kernel = load_kernel("gbwt", backend)
    assert kernel.measure_records(data, *records[1:], np.zeros(6, np.int64)) == 3


def test_a_record_with_two_edges_to_one_node_is_found(backend):
    _, records = make_records([[1, 2], [1, 3]], 3)
    kernel, data = load_kernel("gbwt", backend), records.data.copy()
    (first,) = (k for k, at in enumerate(records.record_bytes[:-1].tolist()) if data[at] == 2)
    edge = int(records.record_bytes[first]) + 3
    assert data[edge] == 2, "from node 2 to node 3"
    sizes = np.zeros(6, np.int64)
    assert kernel.measure_records(data, *records[1:], sizes) == -1
    data[edge] = 0
    assert kernel.measure_records(data, *records[1:], sizes) == first
