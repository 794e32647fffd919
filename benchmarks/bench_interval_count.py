"""Counting intersections: arrays in, counts out; and one view of an index of depth.

Workload "genome" is one chromosome of 249 Mb with starts anywhere, lengths 10 to 1000, half-open,
in random order; "dense" is that of Marzolla et al. 2024 (starts in 200,001 places, the same
lengths, closed). "Exome" is the shape of their exome: 25.7 M windows of one base against 192 M
reads of 150 bases, here at random places of 3.1 Gb, most of them around the windows.

The figures of the paper's own program (C++ with parallel STL or Thrust, two cores of an AMD EPYC,
whole run) were measured with the authors' sources; those of the exome are the paper's.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numba
import numpy as np

from benchmarks.rows import Row, make_row, median_seconds, threads
from genoviz.analyses.intervals.coverage_index import CoverageIndex
from genoviz.kernels.interval_count import METHODS, cpu
from genoviz.model.intervals.intervals import Intervals

SIZES = (500_000, 5_000_000, 20_000_000)
PEER_SIZE = 5_000_000
VIEW_SIZE = 20_000_000
N_BINS = 2_000
GENOME_SPAN = 249_000_000
AGAINST_NUMPY = "Interval counts, against NumPy's sort and binary search"
AGAINST_PAPER = "Interval counts, against the program of Marzolla et al. 2024"
AGAINST_PEERS = "Interval counts of 5,000,000 in 5,000,000, against other packages"
METHODS_TABLE = "Interval counts: the methods"
AGAINST_CUPY = "Interval counts on one GPU, against CuPy's sort and binary search"
GPU_DESIGNS = "Interval counts on one GPU: sizes of the table"
VIEWS = f"Depth of {VIEW_SIZE:,} intervals in {N_BINS:,} bins"
# Seconds of the paper's program with two threads.
PAPER = {("genome", 500_000): 0.25, ("genome", 20_000_000): 11.0, ("dense", 20_000_000): 9.3}
PAPER_EXOME_GPU, PAPER_EXOME_CPU = 1.75, 8.7
EXOME = "exome, 25,700,000 windows of one base in 192,000,000 reads"

Columns = tuple[np.ndarray, np.ndarray]


def make_intervals(workload: str, n: int, seed: int) -> Columns:
    """Return half-open starts and ends; those of "dense" are widened as they are closed."""
    generator = np.random.default_rng(seed)
    starts = generator.integers(0, GENOME_SPAN if workload == "genome" else 200_001, n)
    ends = starts + generator.integers(10, 1001, n) + (workload == "dense")
    return starts.astype(np.uint32), ends.astype(np.uint32)


def measure(backend: str) -> list[Row]:
    """Return the rows of one backend."""
    if backend == "cuda":
        return measure_gpu()
    rows = []
    for workload in ("genome", "dense"):
        for n in SIZES:
            rows += measure_counts(workload, n)
    rows += [*measure_peers(), *measure_views(), measure_exome()]
    return sorted(rows, key=lambda row: row["benchmark"])


# On the CPU ---------------------------------------------------------------------------------------


def measure_counts(workload: str, n: int) -> list[Row]:
    """Return the time on one and on two threads, of NumPy and of each method."""
    queries, subjects = (make_intervals(workload, n, seed) for seed in (1, 2))
    with peak_memory() as memory:
        expected = cpu.count_overlaps(*queries, *subjects, "auto")
    peers = {
        "queries as they come": numpy_counts,
        "queries sorted first": numpy_counts_of_sorted,
    }
    seconds = {}
    for name, function in peers.items():
        seconds[name] = checked_seconds(function, queries, subjects, expected)
    peer = min(seconds.values())
    note = "NumPy: " + ", ".join(f"{name} {value:.3g} s" for name, value in seconds.items())
    note += f"; peak memory {memory[0] / 1e6:,.0f} MB"
    rows, ours = [], {}
    for n_threads in {1: 0, numba.config.NUMBA_NUM_THREADS: 0}:
        with threads(n_threads):
            for method in ("auto", *METHODS):
                ours[method, n_threads] = median_seconds(
                    partial(cpu.count_overlaps, *queries, *subjects, method)
                )
        rows.append(
            make_row(
                AGAINST_NUMPY,
                f"{workload}, n = m = {n:,}, {n_threads} thread{'s'[: n_threads > 1]}",
                ours=ours["auto", n_threads],
                peer=peer,
                unit="s",
                higher_is_better=False,
                note=note,
                in_readme=workload == "genome" and n == SIZES[-1] and n_threads > 1,
            )
        )
        rows += [
            make_row(
                METHODS_TABLE,
                f"{workload}, n = m = {n:,}, {n_threads} thread{'s'[: n_threads > 1]}: {method}",
                ours=ours[method, n_threads],
                unit="s",
            )
            for method in METHODS
        ]
    if (workload, n) in PAPER:
        rows += [
            make_row(
                AGAINST_PAPER,
                f"{workload}, n = m = {n:,}: {method}",
                ours=ours[method, numba.config.NUMBA_NUM_THREADS],
                peer=PAPER[workload, n],
                unit="s",
                higher_is_better=False,
                note="peer: whole program, parallel STL, same kind of machine",
            )
            for method in ("auto", "sweep")
        ]
    return rows


def checked_seconds(
    function: Callable[..., np.ndarray], queries: Columns, subjects: Columns, expected: np.ndarray
) -> float:
    """Return the time of one call of a peer, which must count what is expected."""
    start = time.perf_counter()
    counts = function(*queries, *subjects)
    seconds = time.perf_counter() - start
    np.testing.assert_array_equal(counts, expected)
    return seconds


def numpy_counts(query_starts, query_ends, starts, ends) -> np.ndarray:
    """Count with two sorts and two binary searches."""
    started = np.searchsorted(np.sort(starts), query_ends, "left")
    return started - np.searchsorted(np.sort(ends), query_starts, "right")


def numpy_counts_of_sorted(query_starts, query_ends, starts, ends) -> np.ndarray:
    """Count with the queries sorted for each search, so that it finds its keys in the cache."""
    counts = np.empty(len(query_starts), np.int64)
    order = np.argsort(query_ends)
    counts[order] = np.searchsorted(np.sort(starts), query_ends[order], "left")
    order = np.argsort(query_starts)
    counts[order] -= np.searchsorted(np.sort(ends), query_starts[order], "right")
    return counts


def measure_exome() -> Row:
    """Return the time of the exome's shape on all cores."""
    queries, subjects = make_exome()
    return make_row(
        AGAINST_PAPER,
        EXOME,
        ours=median_seconds(partial(cpu.count_overlaps, *queries, *subjects, "auto"), n_runs=1),
        peer=PAPER_EXOME_CPU,
        unit="s",
        higher_is_better=False,
        note="peer: parallel STL on eight cores, from the paper",
    )


def measure_peers() -> list[Row]:
    """Return the time beside packages that are installed."""
    queries, subjects = (make_intervals("genome", PEER_SIZE, seed) for seed in (1, 2))
    expected = cpu.count_overlaps(*queries, *subjects, "auto")
    ours = median_seconds(partial(cpu.count_overlaps, *queries, *subjects, "auto"))
    peers: dict[str, Callable[..., np.ndarray]] = {
        "ncls": ncls_counts,
        "superintervals": superintervals_counts,
    }
    rows = []
    for name, function in peers.items():
        if importlib.util.find_spec(name) is None:
            continue
        seconds = checked_seconds(function, queries, subjects, expected)
        rows.append(
            make_row(
                AGAINST_PEERS,
                name,
                ours=ours,
                peer=seconds,
                unit="s",
                higher_is_better=False,
                note=f"ours on {numba.config.NUMBA_NUM_THREADS} threads, the peer on its one",
            )
        )
    return rows


def ncls_counts(query_starts, query_ends, starts, ends) -> np.ndarray:
    """Count the pairs that NCLS lists, for a tenth of the queries at a time."""
    from ncls import NCLS

    rows = np.arange(len(starts))
    tree = NCLS(starts.astype(np.int64), ends.astype(np.int64), rows)
    counts = np.zeros(len(query_starts), np.int64)
    for part in np.array_split(np.arange(len(query_starts)), 10):
        found, _ = tree.all_overlaps_both(
            query_starts[part].astype(np.int64), query_ends[part].astype(np.int64), part
        )
        counts += np.bincount(found, minlength=len(counts))
    return counts


def superintervals_counts(query_starts, query_ends, starts, ends) -> np.ndarray:
    """Count with superintervals, whose ends belong to the intervals."""
    from superintervals import IntervalMap

    tree = IntervalMap.from_arrays(starts.astype(np.int32), (ends - 1).astype(np.int32))
    return np.asarray(
        tree.count_batch(query_starts.astype(np.int32), (query_ends - 1).astype(np.int32))
    )


def measure_views() -> list[Row]:
    """Return the time of a view of an index of depth at three zooms, and that of building it."""
    starts, ends = make_intervals("genome", VIEW_SIZE, 3)
    intervals = Intervals(
        ("chr1",), np.zeros(len(starts), np.int32), starts.astype(np.int64), ends.astype(np.int64)
    )
    with peak_memory() as memory:
        index = CoverageIndex.of(intervals)
    seconds = median_seconds(partial(CoverageIndex.of, intervals), n_runs=3)
    rows = [
        make_row(
            VIEWS,
            "building the index",
            ours=seconds * 1e3,
            unit="ms",
            note=f"peak memory {memory[0] / 1e6:,.0f} MB",
        )
    ]
    for name, width in (("248 Mb", 248_000_000), ("1 Mb", 1_000_000), ("2 kb", 2_000)):
        edges = 1_000_000 + np.linspace(0, width, N_BINS + 1).astype(np.int64)
        seconds = median_seconds(partial(index.bins, "chr1", edges), n_runs=21)
        rows.append(
            make_row(
                VIEWS,
                f"a view of {name}",
                ours=seconds * 1e3,
                unit="ms",
                note="means, minima, maxima and counts, all exact; one thread",
            )
        )
    return rows


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Give the bytes that the process grows by at most, in an array of one item, afterwards."""
    grown = [0]
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_of("VmRSS")
    yield grown
    grown[0] = memory_of("VmHWM") - before


def memory_of(name: str) -> int:
    """Return a size of this process in bytes, by its name in Linux's status file."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024


# On the GPU ---------------------------------------------------------------------------------------


def measure_gpu() -> list[Row]:
    """Return the time in the GPU's memory at two sizes and in the shape of an exome."""
    rows = []
    for workload, n in (("genome", 1_000_000), ("genome", 40_000_000), ("dense", 40_000_000)):
        rows += measure_gpu_counts(
            f"{workload}, n = m = {n:,}",
            make_intervals(workload, n, 1),
            make_intervals(workload, n, 2),
        )
    rows += measure_gpu_counts(EXOME, *make_exome())
    return sorted(rows, key=lambda row: row["benchmark"])


def make_exome() -> tuple[Columns, Columns]:
    """Return windows of one base, exon by exon, and reads around exons and elsewhere."""
    generator = np.random.default_rng(7)
    n_exons, length = 171_334, 150
    exons = generator.integers(0, 3_100_000_000, n_exons)
    windows = (exons[:, None] + np.arange(length)).ravel().astype(np.uint32)
    n_reads = 192_000_000
    n_around = n_reads * 7 // 10
    reads = generator.integers(0, 3_100_000_000, n_reads, dtype=np.uint32)
    around = exons[generator.integers(0, n_exons, n_around, dtype=np.uint32)]
    around += generator.integers(-100, 150, n_around, dtype=np.int16)
    reads.reshape(-1, 10)[:, :7] = np.maximum(around, 0).reshape(-1, 7)
    return (windows, windows + np.uint32(1)), (reads, reads + np.uint32(150))


def measure_gpu_counts(case: str, queries: Columns, subjects: Columns) -> list[Row]:
    """Return the time of each method beside that of CuPy."""
    import cupy

    from genoviz.kernels.interval_count import cuda

    arrays = [cupy.asarray(array) for array in (*queries, *subjects)]

    def cupy_counts() -> cupy.ndarray:
        query_starts, query_ends, starts, ends = arrays
        started = cupy.searchsorted(cupy.sort(starts), query_ends, "left")
        return started - cupy.searchsorted(cupy.sort(ends), query_starts, "right")

    expected = cupy_counts()
    peer = gpu_seconds(cupy_counts)
    is_exome = case == EXOME
    rows = []
    for method in ("search",) if is_exome else ("search", "sweep"):
        counts = cuda.count_overlaps(*arrays, method)
        assert bool((counts == expected).all())
        del counts
        seconds = gpu_seconds(partial(cuda.count_overlaps, *arrays, method))
        rows.append(
            make_row(
                AGAINST_CUPY,
                f"{case}: {method}",
                ours=seconds * 1e3,
                peer=peer * 1e3,
                unit="ms",
                higher_is_better=False,
                note=f"the paper's exome: {PAPER_EXOME_GPU} s on a Quadro RTX 4000"
                if is_exome
                else "arrays and counts stay on the GPU",
                in_readme=method == "search"
                and case.startswith("genome")
                and "1,000,000" not in case,
            )
        )
    if not is_exome:
        rows += [
            make_row(
                GPU_DESIGNS,
                f"{case}: {2**bits} keys a cell",
                ours=gpu_seconds(partial(cuda.count_overlaps, *arrays, "search", cell_bits=bits))
                * 1e3,
                unit="ms",
            )
            for bits in range(5)
        ]
        rows.append(
            make_row(
                GPU_DESIGNS,
                f"{case}: CuPy's two sorts alone",
                ours=gpu_seconds(lambda: [cupy.sort(array) for array in arrays[2:]]) * 1e3,
                unit="ms",
            )
        )
    cupy.get_default_memory_pool().free_all_blocks()
    return rows


def gpu_seconds(function: Callable[[], object]) -> float:
    """Return the median time of a call until the GPU has finished it."""
    import cupy

    def call() -> None:
        function()
        cupy.cuda.Device().synchronize()

    return median_seconds(call, n_runs=7, n_warm_ups=2)
