"""Suffix sorting, the FM-index, its queries and common prefixes on one GPU, all arrays there.

"Human-like" is `human_like.py`. "Strains" are 12 genomes of 5 Mb, of four species; strains of one
differ in up to 2 % of their bases, and some not at all. The text of human size is the human-like
one of 250 Mb again and again, with 15 % of its bases changed each time. The peer of sorting is the
program of Jiang and Pei (Tesla S2050, 2013: 60 MB in 119 s; its order is right for 18 bases): a
whole program on an old card, so that its rate stands beside ours without a ratio.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.human_like import make_human_like
from benchmarks.rows import Row, make_row
from genoviz.kernels.fm_index import SUPER_SHIFT
from genoviz.model.sequences.index_text import IndexText

SORTING = "Suffix sorting on one GPU"
STAGES = "Suffix sorting on one GPU, human-like 250 Mb: kernels"
INDEXING = "FM-index on one GPU"
IN_BLOCKS = "FM-index in blocks on GPUs: lines and every 32nd row, sent to the host"
BYTES_A_BASE = 8
N_STREAMS = 3
QUERIES = "K-mer queries on one GPU, 1,000,000 k-mers"
PAPER_RATE = 60e6 / 119.1 / 1e9
HUMAN_SIZE = 3_100_000_000
N_KMERS = 1_000_000
N_RUNS = 5
EXCEPTION = 4
CODES = np.full(256, EXCEPTION, np.uint8)
CODES[np.frombuffer(b"ACGT", np.uint8)] = range(4)


def measure(backend: str) -> list[Row]:
    """Return the rows of the GPU; there are none of the CPU."""
    if backend != "cuda":
        return []
    rows = []
    human_like = make_symbols(250_000_000)
    for case, symbols in (
        ("human-like 60 Mb", make_symbols(60_000_000)),
        ("human-like 250 Mb", human_like),
        ("strains 60 Mb", make_strains()),
    ):
        rows += measure_text(case, symbols)
    rows += measure_human_size(human_like) + measure_blocks(human_like)
    return sorted(rows, key=lambda row: row["benchmark"])


def measure_text(case: str, symbols: np.ndarray) -> list[Row]:
    """Return rates of sorting and indexing a text, and of queries."""
    text = TextOnGpu(symbols)
    seconds, steps = median_gpu_seconds(text.sort, N_RUNS)
    note = f"{1e3 * seconds:.1f} ms; {describe_ties(steps)}"
    in_readme = case == "human-like 250 Mb"
    rows = [rate_row(SORTING, case, text.n, seconds, note, PAPER_RATE, in_readme)]
    if not text.is_sorted():
        raise AssertionError(f"{case}: the suffix array is wrong")
    if in_readme:
        rows += [make_row(STAGES, name, ours=ms, unit="ms") for name, ms in text.profile()]
    for name, function in (
        ("lines of the BWT", text.build_lines),
        ("start table of 12-mers", text.fill_table),
        ("common prefixes", text.find_prefixes),
    ):
        seconds, _ = median_gpu_seconds(function, N_RUNS)
        rows.append(
            rate_row(INDEXING, f"{case}: {name}", text.n, seconds, f"{1e3 * seconds:.2f} ms")
        )
    for k in (21, 31):
        for kind in ("present", "random"):
            find = text.make_search(k, kind)
            seconds, counts = median_gpu_seconds(find, 2 * N_RUNS + 1)
            note = f"{int(counts.sum()):,} places"
            name = f"{case}: {kind} {k}-mers"
            rate = N_KMERS / seconds / 1e6
            is_shown = k == 21 and kind == "present" and case == "human-like 60 Mb"
            rows.append(
                make_row(QUERIES, name, ours=rate, unit="M/s", note=note, in_readme=is_shown)
            )
    return rows


def measure_human_size(piece: np.ndarray) -> list[Row]:
    """Return the rate of sorting a text of human size: the second of two runs."""
    import cupy

    text = TextOnGpu(np.tile(piece, -(-HUMAN_SIZE // len(piece)))[:HUMAN_SIZE], changed=0.15)
    seconds, steps = median_gpu_seconds(text.sort, 1)
    peak = cupy.get_default_memory_pool().total_bytes() / text.n
    note = f"{seconds:.2f} s, {peak:.0f} bytes a base; {describe_ties(steps)}"
    rows = [rate_row(SORTING, "human size, 3,100 Mb", text.n, seconds, note, PAPER_RATE)]
    cupy.get_default_memory_pool().free_all_blocks()
    if not text.is_sorted():
        raise AssertionError("human size: the suffix array is wrong")
    cupy.get_default_memory_pool().free_all_blocks()
    seconds, _ = median_gpu_seconds(text.build_lines, 1)
    rows.append(
        rate_row(INDEXING, "human size: lines of the BWT", text.n, seconds, f"{seconds:.2f} s")
    )
    return rows


def measure_blocks(piece: np.ndarray) -> list[Row]:
    """Return the rates of an index of human size that is made block by block, by 1, 2, 4 GPUs.

    Its lines are those of the index that is sorted as a whole.
    """
    import cupy

    text = TextOnGpu(np.tile(piece, -(-HUMAN_SIZE // len(piece)))[:HUMAN_SIZE], changed=0.15)
    text.sort()
    text.build_lines()
    expected, of_text = text.lines.get(), text.as_index_text()
    n, n_gpus, alone, rows = text.n, cupy.cuda.runtime.getDeviceCount(), None, []
    del text
    for devices in ([0], [0, 1], [0, 1, 2, 3]):
        if len(devices) > n_gpus:
            break
        stream_index(of_text, devices, expected, 1)
        found = [stream_index(of_text, devices, expected, 4096) for _ in range(N_STREAMS)]
        seconds, sending, peak = np.median(found, axis=0)
        alone = alone or seconds
        note = (
            f"{seconds:.2f} s, {alone / seconds:.2f}x of one; before it {sending:.2f} s to send "
            f"the text; {peak / n:.1f} bytes of each GPU's memory a base"
        )
        name = "1 GPU" if len(devices) == 1 else f"{len(devices)} GPUs"
        rows.append(rate_row(IN_BLOCKS, f"human size, {name}", n, seconds, note))
    return rows


def stream_index(
    text: IndexText, devices: list[int], expected: np.ndarray, step: int
) -> tuple[float, float, int]:
    """Return seconds from the text on the GPUs to the last line, those before, and the memory.

    Of the lines each so many-th is compared.
    """
    import cupy

    from genoviz.analyses.sequences.index_blocks import build_index_in_parts

    for device in devices:
        with cupy.cuda.Device(device):
            cupy.get_default_memory_pool().free_all_blocks()
    limits = {"memory": BYTES_A_BASE * text.n_symbols, "sample_rate": 32}
    began = time.perf_counter()
    index = build_index_in_parts(text, **limits, devices=devices, backend="cuda")
    sent, n_lines, is_right = None, 0, True
    for part in index.parts:
        sent = sent or time.perf_counter()
        lines = part.arrays.get("lines", np.empty((0, 8), np.uint64))
        is_right &= np.array_equal(lines[::step], expected[n_lines : n_lines + len(lines) : step])
        n_lines += len(lines)
    seconds = time.perf_counter() - sent
    if not is_right or n_lines != len(expected):
        raise AssertionError("the lines are not those of the index in memory")
    peaks = []
    for device in devices:
        with cupy.cuda.Device(device):
            peaks.append(cupy.get_default_memory_pool().total_bytes())
    return seconds, sent - began, max(peaks)


def make_symbols(n: int) -> np.ndarray:
    """Return a human-like text of one contig: 0 to 3, and 4 at its end."""
    return np.append(CODES[make_human_like(n - 1)], np.uint8(EXCEPTION))


def make_strains() -> np.ndarray:
    """Return 12 genomes of 5 Mb, some of them almost or quite the same."""
    generator = np.random.default_rng(4)
    species = [make_human_like(5_000_000 - 1, seed) for seed in range(4)]
    strains = []
    for rate in (0, 0, 0, 0, 0.0005, 0.0005, 0.005, 0.005, 0.02, 0.02, 0, 0.0005):
        letters = species[len(strains) % 4].copy()
        places = np.flatnonzero(generator.random(len(letters), np.float32) < rate)
        letters[places] = generator.choice(np.frombuffer(b"ACGT", np.uint8), len(places))
        strains += [np.append(CODES[letters], np.uint8(EXCEPTION))]
    return np.concatenate(strains)


class TextOnGpu:
    """A text and its index on the GPU."""

    def __init__(self, symbols: np.ndarray, changed: float = 0.0) -> None:
        import cupy

        self.n = len(symbols)
        self.symbols = cupy.asarray(symbols)
        if changed:
            self._change(changed, np.flatnonzero(symbols == EXCEPTION)[0] + 1)
        self.exceptions = cupy.flatnonzero(self.symbols == EXCEPTION).astype(np.int64)
        self.packed = self._pack()
        self.suffix_array = cupy.empty(self.n, np.uint32)
        n_lines = self.n // 128 + 1
        self.lines = cupy.empty((n_lines, 8), np.uint64)
        self.super_counts = cupy.empty((((n_lines - 1) >> SUPER_SHIFT) + 1, 4), np.int64)
        self.exception_ids = cupy.empty(len(self.exceptions), np.int64)
        self.start_table = cupy.empty((4**12, 2), np.uint32)

    def as_index_text(self) -> IndexText:
        """Return the text on the host."""
        ends = self.exceptions.get()
        n, nothing = len(ends), np.zeros(0, np.int64)
        names, lengths = tuple(map(str, range(n))), np.diff(ends, prepend=-1) - 1
        pieces = (np.zeros((0, 2), np.int64), np.zeros(n + 1, np.int64))
        pieces = (*pieces, nothing.astype(np.uint8), nothing)
        packed, lengths_of_runs = self.packed.get(), np.zeros(n, np.int64)
        return IndexText(packed, self.n, ends, lengths_of_runs, names, lengths, *pieces)

    def sort(self, **options: Any) -> list[tuple[str, int, int, int]]:
        """Sort the suffixes, and return the steps."""
        from genoviz.kernels.suffix_sort.cuda import iter_sort_suffixes

        source = (self.packed, self.n, self.exceptions, self.suffix_array)
        return list(iter_sort_suffixes(*source, **options))

    def build_lines(self) -> None:
        """Build the lines of the BWT."""
        from genoviz.kernels.fm_index.cuda import build_lines

        source = (self.packed, self.n, self.exceptions, self.suffix_array, SUPER_SHIFT)
        build_lines(*source, self.lines, self.super_counts, self.exception_ids)

    def fill_table(self) -> None:
        """Fill the start table."""
        from genoviz.kernels.fm_index.cuda import fill_start_table

        index = self.lines, self.super_counts, SUPER_SHIFT
        fill_start_table(index, self.n, self.start_table)

    def find_prefixes(self) -> Any:
        """Return the common prefixes."""
        from genoviz.kernels.common_prefix.cuda import longest_common_prefixes

        return longest_common_prefixes(self.packed, self.n, self.exceptions, self.suffix_array)

    def make_search(self, k: int, kind: str) -> Any:
        """Return a function that searches k-mers of the text, or random ones, and counts places."""
        import cupy

        from genoviz.kernels.fm_index.cuda import count_kmers

        if kind == "present":
            places = cupy.random.randint(0, self.n - 64, N_KMERS)
            shifts = (2 * (places & 31)).astype(np.uint64)
            after = (self.packed[(places >> 5) + 1] >> np.uint64(1)) >> (np.uint64(63) - shifts)
            bases = (self.packed[places >> 5] << shifts) | after
        else:
            bases = cupy.random.randint(0, 2**62, N_KMERS).astype(np.uint64) << np.uint64(2)
        words = (bases >> np.uint64(64 - 2 * k)).reshape(-1, 1)
        lengths = cupy.full(N_KMERS, k, np.int32)
        counts = cupy.empty(N_KMERS, np.int64)
        index = (self.lines, self.super_counts, SUPER_SHIFT), self.n, self.start_table
        text = (self.packed, self.exceptions, self.suffix_array, 1)

        def search() -> Any:
            count_kmers(*index, text, words, lengths, counts)
            return counts

        return search

    def is_sorted(self) -> bool:
        """Tell whether the suffix array has every suffix in its order: by ranks of what follows."""
        import cupy

        rows = cupy.zeros(self.n + 1, np.uint32)
        step, n_seen = 2**26, 0
        for first in range(0, self.n, step):
            part = self.suffix_array[first : first + step]
            rows[part] = cupy.arange(first, first + len(part), dtype=np.uint32)
        for first in range(1, self.n, step):
            last = min(self.n, first + step)
            before = self.suffix_array[first - 1 : last - 1].astype(np.int64)
            after = self.suffix_array[first:last].astype(np.int64)
            symbols = self.symbols[before], self.symbols[after]
            smaller, larger = ((symbol + 1) % (EXCEPTION + 1) for symbol in symbols)
            is_right = (smaller < larger) | (
                (smaller == larger) & (rows[before + 1] < rows[after + 1])
            )
            is_right = cupy.where((smaller == 0) & (larger == 0), before > after, is_right)
            if not bool(is_right.all()):
                return False
            n_seen += int((rows[after] == cupy.arange(first, last)).sum())
        return n_seen == self.n - 1

    def profile(self) -> list[tuple[str, float]]:
        """Return the milliseconds of each kernel of one sort, the longest first."""
        import cupy

        events = []

        @contextmanager
        def watch(name: str) -> Iterator[None]:
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            yield
            end.record()
            events.append((name, start, end))

        self.sort(watch=watch)
        cupy.cuda.Device().synchronize()
        totals: dict[str, float] = {}
        for name, start, end in events:
            totals[name] = totals.get(name, 0.0) + cupy.cuda.get_elapsed_time(start, end)
        return sorted(totals.items(), key=lambda item: -item[1])

    def _change(self, fraction: float, length: int) -> None:
        import cupy

        for first in range(length, self.n, length):
            part = self.symbols[first : first + length]
            is_changed = cupy.random.random(len(part), np.float32) < fraction
            others = cupy.random.randint(0, 4, len(part), dtype=np.uint8)
            part[:] = cupy.where(is_changed & (part < EXCEPTION), others, part)
        self.symbols[-1] = EXCEPTION

    def _pack(self) -> Any:
        import cupy

        packed, step = cupy.zeros(self.n // 32 + 2, np.uint64), 2**20
        for first in range(0, len(packed), step):
            words = packed[first : first + step]
            symbols = cupy.zeros(32 * len(words), np.uint8)
            part = self.symbols[32 * first : 32 * (first + step)]
            symbols[: len(part)] = part % EXCEPTION
            for k in range(32):
                words |= symbols[k::32].astype(np.uint64) << np.uint64(62 - 2 * k)
        return packed


def median_gpu_seconds(function: Any, n_runs: int) -> tuple[float, Any]:
    """Return the median time after a run that is not counted, and what the function returns."""
    import cupy

    device, seconds = cupy.cuda.Device(), []
    for _ in range(n_runs + 1):
        device.synchronize()
        start = time.perf_counter()
        result = function()
        device.synchronize()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:])), result


def describe_ties(steps: list[tuple[str, int, int, int]]) -> str:
    """Return which part of the suffixes was tied after each round."""
    n = next(n_total for stage, _, n_total, _ in steps if stage == "blocks")
    parts = [n_tied / n for stage, *_, n_tied in steps if stage in ("blocks", "ties")]
    shown = [f"{100 * part:.2g}" for part in parts[:6]] + ["..."] * (len(parts) > 6)
    return f"tied after each of {len(parts)} rounds: {', '.join(shown)} %"


def rate_row(
    title: str,
    case: str,
    n: int,
    seconds: float,
    note: str,
    peer: float | None = None,
    in_readme: bool = False,
) -> Row:
    """Return a row of Gb/s."""
    return make_row(
        title, case, ours=n / seconds / 1e9, peer=peer, unit="Gb/s", note=note, in_readme=in_readme
    )
