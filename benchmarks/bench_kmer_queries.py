"""Searching k-mers in an FM-index of a human-like text: many at once, one at a time, and places.

k-mers are present (cut out of the text) or random, of which hardly any is there. The peers are
those that Python has: ``sa_search`` of pydivsufsort, one call for each k-mer. Figures of programs
in C++ (sdsl, bwa-mem2) were measured on two cores of the same kind, on a text of the same size.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from functools import partial

import numba
import numpy as np

from benchmarks.human_like import make_human_like
from benchmarks.rows import Row, make_row, median_seconds, threads
from genoviz import (
    FMIndex,
    PackedKmers,
    Sequences,
    build_fm_index,
    count_kmers,
    invert_bwt,
    locate_kmer,
)
from genoviz.analyses.sequences.kmer_search import searcher_of

N_BASES = 60_000_000
N_KMERS = 1_000_000
N_SINGLE = 2_000
PER_SECOND = "million/s"
COUNTING = f"Counting {N_KMERS:,} k-mers in {N_BASES:,} bases, against sa_search of pydivsufsort"
SDSL = "Counting k-mers, against the compressed suffix array of sdsl (C++, csa_wt)"
SINGLE = "One k-mer at a time, from Python"
LOCATING = "Locating rows of an FM-index"
READING = "Reading a text back from its BWT"
ON_GPU = f"Counting {N_KMERS:,} k-mers in {N_BASES:,} bases on one GPU"
SDSL_RATES = {("present", 21): (0.80, 1.76), ("present", 31): (0.63, 1.32)}
SDSL_NOTE = "sdsl-lite, wt_huff, on the machine and text of its size for which we have its figures"


def measure(backend: str) -> list[Row]:
    """Return rates of counting and locating, and times of single calls."""
    letters = make_human_like(N_BASES)
    index = build_fm_index(Sequences.from_records([("human-like", letters)]), backend=backend)
    kmers = {
        (kind, k): make_kmers(letters, kind, k) for kind in ("present", "absent") for k in (21, 31)
    }
    if backend == "cuda":
        return measure_gpu(index, kmers)
    rows = measure_counts(index, kmers)
    rows += measure_single(index, letters)
    rows += measure_locating(index)
    return sorted(rows, key=lambda row: row["benchmark"])


def make_kmers(letters: np.ndarray, kind: str, k: int) -> PackedKmers:
    """Return k-mers of the text from anywhere, or random ones."""
    generator = np.random.default_rng(k)
    if kind == "present":
        starts = generator.integers(0, len(letters) - k, N_KMERS)
        columns = ((letters[starts + j] >> 1 ^ letters[starts + j] >> 2) & 3 for j in range(k))
    else:
        columns = (generator.integers(0, 4, N_KMERS) for _ in range(k))
    words = np.zeros(N_KMERS, np.uint64)
    for column in columns:
        words = words << np.uint64(2) | column.astype(np.uint64)
    return PackedKmers(words[:, None], np.full(N_KMERS, k, np.int32))


# Many at once -------------------------------------------------------------------------------------


def measure_counts(index: FMIndex, kmers: dict[tuple[str, int], PackedKmers]) -> list[Row]:
    """Return the rates on one and on two threads, beside the peers."""
    rows = []
    for (kind, k), packed in kmers.items():
        peer = peer_rate(index, packed, k)
        for place, n_threads in enumerate({1: 0, numba.config.NUMBA_NUM_THREADS: 0}):
            with threads(n_threads):
                call = partial(count_kmers, index, packed, strand="forward", backend="cpu")
                rate = N_KMERS / median_seconds(call, n_runs=9, n_warm_ups=2) / 1e6
            said = f"{n_threads} thread{'s'[: n_threads > 1]}"
            case = f"{kind} {k}-mers, {said}"
            rows.append(
                make_row(
                    COUNTING,
                    case,
                    ours=rate,
                    peer=peer,
                    unit=PER_SECOND,
                    note=f"{int(call().sum()):,} hits; the peer on its one thread",
                    in_readme=(kind, k) == ("present", 21) and n_threads > 1,
                )
            )
            if (kind, k) in SDSL_RATES and place < 2:
                rows.append(
                    make_row(
                        SDSL,
                        case,
                        ours=rate,
                        peer=SDSL_RATES[kind, k][place],
                        unit=PER_SECOND,
                        note=SDSL_NOTE,
                    )
                )
    return rows


def peer_rate(index: FMIndex, packed: PackedKmers, k: int) -> float | None:
    """Return the rate of pydivsufsort, which must count what we do, or None without it."""
    if importlib.util.find_spec("pydivsufsort") is None:
        return None
    from pydivsufsort import sa_search

    text = index.text.symbols() + np.uint8(1)
    text[text == 5] = 0
    order = index.suffix_array.astype(np.int32)
    shifts = np.arange(2 * (k - 1), -1, -2).astype(np.uint64)
    queries = (packed.words[:N_SINGLE] >> shifts & np.uint64(3)).astype(np.uint8) + np.uint8(1)
    start = time.perf_counter()
    counts = [(sa_search(text, order, query)[0] or 0) for query in queries]
    seconds = time.perf_counter() - start
    part = PackedKmers(packed.words[:N_SINGLE], packed.lengths[:N_SINGLE])
    expected = count_kmers(index, part, strand="forward", backend="cpu")
    np.testing.assert_array_equal(counts, expected)
    return N_SINGLE / seconds / 1e6


def measure_gpu(index: FMIndex, kmers: dict[tuple[str, int], PackedKmers]) -> list[Row]:
    """Return the rates from NumPy arrays to NumPy arrays: k-mers and counts are moved."""
    rows = []
    for (kind, k), packed in kmers.items():
        call = partial(count_kmers, index, packed, strand="forward", backend="cuda")
        expected = count_kmers(index, packed, strand="forward", backend="cpu")
        np.testing.assert_array_equal(call(), expected)
        rate = N_KMERS / median_seconds(call, n_runs=9, n_warm_ups=2) / 1e6
        note = "k-mers and counts in the memory of the host, moved both ways"
        rows.append(make_row(ON_GPU, f"{kind} {k}-mers", ours=rate, unit=PER_SECOND, note=note))
    return rows


# One at a time ------------------------------------------------------------------------------------


def measure_single(index: FMIndex, letters: np.ndarray) -> list[Row]:
    """Return the median times of single calls with a string."""
    starts = np.random.default_rng(7).integers(0, N_BASES - 21, N_SINGLE).tolist()
    kmers = [letters[start : start + 21].tobytes().decode() for start in starts]
    calls: dict[str, Callable[[str], object]] = {
        "count, forward": lambda kmer: count_kmers(index, kmer, strand="forward", backend="cpu"),
        "count, both strands": lambda kmer: count_kmers(index, kmer, backend="cpu"),
        "locate, both strands, 100 at most": lambda kmer: locate_kmer(
            index, kmer, limit=100, backend="cpu"
        ),
    }
    rows = []
    for name, call in calls.items():
        seconds = []
        for kmer in kmers:
            start = time.perf_counter()
            call(kmer)
            seconds.append(time.perf_counter() - start)
        micro = statistics.median(seconds) * 1e6
        rows.append(make_row(SINGLE, f"21-mers: {name}", ours=micro, unit="µs"))
    return rows


# Places -------------------------------------------------------------------------------------------


def measure_locating(index: FMIndex) -> list[Row]:
    """Return the rates of locating random rows, and the time of reading all of the text."""
    suffix_array = index.suffix_array
    seconds = median_seconds(partial(invert_bwt, index, backend="cpu"), n_runs=3)
    rows = [make_row(READING, f"{N_BASES:,} bases, all threads", ours=seconds, unit="s")]
    order = np.random.default_rng(8).integers(0, index.n_symbols, N_KMERS)
    for rate in (1, 4, 8, 32):
        sampled = with_samples(index, rate)
        searcher = searcher_of(sampled, "cpu", N_KMERS)
        numbers = order.astype(suffix_array.dtype)
        np.testing.assert_array_equal(searcher.locate(numbers), suffix_array[order])
        for n_threads in {1: 0, numba.config.NUMBA_NUM_THREADS: 0}:
            with threads(n_threads):
                call = partial(searcher.locate, numbers)
                found = N_KMERS / median_seconds(call, n_runs=5, n_warm_ups=1) / 1e6
            kept = "every row" if rate == 1 else f"one row in {rate}"
            case = f"position of {kept} kept, {n_threads} thread{'s'[: n_threads > 1]}"
            rows.append(make_row(LOCATING, case, ours=found, unit=PER_SECOND))
    return rows


def with_samples(index: FMIndex, rate: int) -> FMIndex:
    """Return an index that keeps fewer positions."""
    return FMIndex(
        index.text,
        index.lines,
        index.super_counts,
        index.super_shift,
        index.exception_ids,
        index.start_table,
        np.ascontiguousarray(index.samples[::rate]),
        rate,
    )
