"""Interval counts of every method against the formula's definition."""

from itertools import pairwise

import numba
import numpy as np
import pytest

from genoviz.backend import load_kernel
from genoviz.kernels.interval_count import METHODS, cpu, cpu_sorted

DTYPES = (np.uint32, np.int64)


def random_linear(generator, n, span, longest, first=0, dtype=np.int64):
    starts = first + generator.integers(0, span, n)
    return starts.astype(dtype), (starts + generator.integers(1, longest + 1, n)).astype(dtype)


def count_by_definition(query_starts, query_ends, starts, ends):
    """Count pairs with a matrix of all of them."""
    overlaps = (query_starts[:, None] < ends) & (starts < query_ends[:, None])
    return overlaps.sum(axis=1)


def count_by_ranks(query_starts, query_ends, starts, ends):
    """Count by NumPy's binary search, for what is too large for a matrix."""
    started = np.searchsorted(np.sort(starts), query_ends, "left")
    return started - np.searchsorted(np.sort(ends), query_starts, "right")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_counts_are_those_of_all_pairs(backend, method, dtype):
    kernel = load_kernel("interval_count", backend)
    generator = np.random.default_rng(1)
    for n, m, span, longest, first in [
        (1, 1, 1, 1, 0),
        (40, 30, 10, 4, 0),
        (30, 90, 100, 200, 7),
        (50, 50, 10**6, 10, 2**31),
        (70, 3, 2**31, 2**30, 2**20),
        (3, 700, 50, 1, 0),
    ]:
        queries = random_linear(generator, n, span, longest, first, dtype)
        subjects = random_linear(generator, m, span, longest, first, dtype)
        counts = kernel.count_overlaps(*queries, *subjects, method)
        assert counts.dtype == np.int32
        np.testing.assert_array_equal(counts, count_by_definition(*queries, *subjects))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "m", "span", "longest"),
    [(0, 3, 9, 5), (3, 0, 9, 5), (1, 1, 3, 2), (300, 200, 900, 30), (500, 90_000, 300_000, 40)],
)
def test_bases_inside_queries_are_those_of_each_base(backend, dtype, n, m, span, longest):
    kernel = load_kernel("interval_count", backend)
    generator = np.random.default_rng(n + m)
    queries = random_linear(generator, n, span, longest, dtype=dtype)
    starts, ends = random_linear(generator, m, span, longest, dtype=dtype)
    found = kernel.measure_cover(*queries, starts, ends)
    assert (found.dtype, found.shape) == (np.int64, (2, n))
    changes = np.zeros(span + longest + 1, np.int64)
    np.add.at(changes, starts.astype(np.int64), 1)
    np.add.at(changes, ends.astype(np.int64), -1)
    depths = np.cumsum(changes)
    rows = [depths[a:b] for a, b in zip(*(array.tolist() for array in queries), strict=True)]
    assert found[0].tolist() == [int(row.sum()) for row in rows]
    assert found[1].tolist() == [int((row > 0).sum()) for row in rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ["uniform", "dense", "clustered", "sorted"])
def test_counts_of_many_intervals(backend, method, dtype, shape):
    kernel = load_kernel("interval_count", backend)
    generator = np.random.default_rng(2)
    span = {"uniform": 10**8, "dense": 1000, "clustered": 10**9, "sorted": 10**6}[shape]
    queries = random_linear(generator, 150_001, span, 300, 11, dtype)
    subjects = random_linear(generator, 220_003, span, 1000, 5, dtype)
    if shape == "clustered":
        # Nearly all subjects lie in one cell of a table over the whole span.
        for starts, ends in (queries, subjects):
            ends -= starts
            starts[50:] = 4_000 + starts[50:] % 3_000
            ends += starts
    if shape == "sorted":
        queries, subjects = (
            tuple(array[np.argsort(pair[0], kind="stable")] for array in pair)
            for pair in (queries, subjects)
        )
    counts = kernel.count_overlaps(*queries, *subjects, method)
    np.testing.assert_array_equal(counts, count_by_ranks(*queries, *subjects))


@pytest.mark.parametrize("method", [*METHODS, "auto"])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (3, 0)])
def test_an_empty_side_counts_nothing(backend, method, n, m):
    kernel = load_kernel("interval_count", backend)
    starts, ends = np.arange(3, dtype=np.uint32), np.arange(1, 4, dtype=np.uint32)
    counts = kernel.count_overlaps(starts[:n], ends[:n], starts[:m], ends[:m], method)
    assert counts.tolist() == [0] * n


@pytest.mark.parametrize("method", METHODS)
def test_neighbours_that_touch_do_not_overlap(backend, method):
    kernel = load_kernel("interval_count", backend)
    starts, ends = np.array([0, 10, 10, 20, 15]), np.array([10, 20, 20, 30, 16])
    counts = kernel.count_overlaps(np.array([10]), np.array([20]), starts, ends, method)
    assert counts.tolist() == [3]


@pytest.mark.parametrize("method", METHODS)
def test_totals_beyond_32_bits(backend, method):
    kernel = load_kernel("interval_count", backend)
    n = 70_000
    starts, ends = np.zeros(n, np.uint32), np.full(n, 9, np.uint32)
    counts = kernel.count_overlaps(starts, ends, starts, ends, method)
    assert counts.sum(dtype=np.int64) == n * n > 2**32


@pytest.mark.parametrize("method", METHODS)
def test_arrays_are_not_changed(backend, method):
    kernel = load_kernel("interval_count", backend)
    generator = np.random.default_rng(3)
    arrays = [*random_linear(generator, 5_000, 99, 9), *random_linear(generator, 4_000, 99, 9)]
    copies = [array.copy() for array in arrays]
    kernel.count_overlaps(*arrays, method)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_any_number_of_threads_counts_the_same():
    generator = np.random.default_rng(4)
    queries = random_linear(generator, 300_000, 10**6, 90, dtype=np.uint32)
    subjects = random_linear(generator, 300_000, 10**6, 90, dtype=np.uint32)
    expected = count_by_ranks(*queries, *subjects)
    n_threads = numba.get_num_threads()
    try:
        for n in {1, n_threads}:
            numba.set_num_threads(n)
            for method in METHODS:
                counts = cpu.count_overlaps(*queries, *subjects, method)
                np.testing.assert_array_equal(counts, expected)
    finally:
        numba.set_num_threads(n_threads)


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("n_ranges", [1, 8, 256])
def test_values_are_spread_over_ranges_that_follow_each_other(dtype, n_ranges):
    generator = np.random.default_rng(5)
    for values in (
        generator.integers(0, 2**31, 200_000),
        generator.integers(0, 3, 200_000),
        np.append(generator.integers(7, 99, 200_000), [0, 2**31]),
    ):
        values = values.astype(dtype)
        spread, bounds = cpu_sorted._spread_evenly(values, n_ranges)
        np.testing.assert_array_equal(np.sort(spread), np.sort(values))
        parts = [part for part in np.split(spread, bounds[1:-1]) if len(part)]
        for part, following in pairwise(parts):
            assert part.max() < following.min()
    assert len(parts) <= n_ranges


def test_long_arrays_are_sorted_in_ranges(monkeypatch):
    monkeypatch.setattr(cpu_sorted, "get_num_threads", lambda: 3)
    generator = np.random.default_rng(6)
    arrays = [generator.integers(0, 10**9, n).astype(np.uint32) for n in (300_000, 10)]
    expected = [np.sort(array) for array in arrays]
    copies = [array.copy() for array in arrays]
    for array, copy in zip(expected, cpu_sorted.sort_arrays(copies), strict=True):
        np.testing.assert_array_equal(copy, array)
    for array, copy in zip(expected, cpu_sorted.sort_arrays([], spare=copies), strict=True):
        np.testing.assert_array_equal(copy, array)
    with_sorted = cpu_sorted.sort_arrays(expected[:1], spare=[arrays[1].copy()])
    assert with_sorted[0] is expected[0]
    np.testing.assert_array_equal(with_sorted[1], expected[1])
