"""Off-target search: guides and planes in, sorted hit arrays out; and the kernels alone.

The genome is 100 Mb: five contigs, 41 % GC, runs of N, diverged repeats (``offtarget_genome.py``).
A comparison is a letter of a pattern at a base of a strand, looked at or known not to matter, as
the article counts them: bases times strands times guides times length of the pattern.

The figures of Cas-OFFinder 2.4.1 (pocl, on two cores of an AMD EPYC, such a genome) were measured
with Debian's OpenCL, of the whole program; it is run anew where it is installed. Beside our calls,
on planes that are ready, they stand without a ratio; ``bench_offtarget_commands`` compares whole
commands. Those of the accelerated fork are of its article (Accelerating CAS-Offinder, 2022): 24
threads of a Threadripper 1920X, and two RTX 2060, for 50 patterns of 91 nt; for 100 patterns of 23
nt, as here, its table has 75 and 4,490 G comparisons a second. All of them count bases at which the
PAM does not fit, whether they are looked at further or not.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.offtarget_genome import (
    draw_guides,
    make_genome,
    make_planes,
    make_random_planes,
)
from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.offtargets.counts import count_offtargets, find_closest_offtargets
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.request import SearchOptions, StrandSearch, make_request
from genoviz.analyses.offtargets.search import expected_hits
from genoviz.backend import load_kernel
from genoviz.io.sequences.fasta import write_fasta
from genoviz.io.sequences.reader import read_sequences
from genoviz.kernels.offtarget import Hits, Planes
from genoviz.model.offtargets.genome_planes import GenomePlanes

N_BASES = 100_000_000
N_GUIDES = 1, 10, 100, 1000
PAMS = "NRG", "NGG", ""
LIMITS = 3, 6
METHODS = "popcount", "dense", "pam_first"
BLOCK_WORDS = 1 << 14
# The plain method is slow: it searches a part of the genome.
POPCOUNT_SHARE = 20
PROGRAM = "cas-offinder"
# Seconds of Cas-OFFinder 2.4.1 by guides, PAM and mismatches.
CAS_OFFINDER = {
    (1, "NRG", 3): 1.40,
    (1, "NRG", 6): 1.56,
    (1, "NGG", 3): 0.80,
    (1, "NGG", 6): 0.83,
    (10, "NRG", 3): 5.02,
    (10, "NRG", 6): 7.50,
    (10, "NGG", 3): 2.03,
    (10, "NGG", 6): 3.08,
    (100, "NRG", 3): 50.4,
}
ARTICLE_CPU, ARTICLE_GPUS, CAS_OFFINDER_RATE = 83.2, 4984.0, 9.0
END_TO_END = "Off-targets in 100 Mb, hits sorted, against Cas-OFFinder 2.4.1"
RATES = "Off-targets in 100 Mb: comparisons a second, hits sorted"
KERNELS = "Off-target kernels"
MODES = "Off-targets in 100 Mb: counted, or the closest alone"
READING = "Reading a genome for off-targets"
HUMAN = "Off-targets in a genome of human size, planes on the host"
HUMAN_BASES = 3_100_000_000
GPU_BASES = 1_000_000_000


def measure(backend: str) -> list[Row]:
    """Return the rows of one backend."""
    if backend == "cuda":
        return [*measure_gpu_kernels(), *measure_human_size()]
    records = make_genome(N_BASES)
    planes = make_planes(records)
    rows = [*measure_searches(planes), *measure_kernels(planes), *measure_modes(planes)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genome.fa"
        write_fasta(records, path)
        rows += [measure_reading(path), *measure_program(path, planes)]
    return sorted(rows, key=lambda row: row["benchmark"])


def make_search(planes: GenomePlanes, n_guides: int, pam: str) -> tuple[list[str], str]:
    """Return guides and pattern; the PAM follows the guides."""
    guides = [guide + "N" * len(pam) for guide in draw_guides(planes, n_guides)]
    return guides, "N" * 20 + pam


def count_comparisons(n_bases: int, guides: list[str]) -> float:
    """Return the comparisons of both strands."""
    return 2.0 * n_bases * len(guides) * len(guides[0])


# On the CPU ---------------------------------------------------------------------------------------


def measure_searches(planes: GenomePlanes) -> list[Row]:
    """Return the times end to end, and the same as rates."""
    rows = []
    for n in N_GUIDES:
        for pam in PAMS:
            guides, pattern = make_search(planes, n, pam)
            for limit in LIMITS:
                search = partial(
                    find_offtargets, guides, planes, pattern, max_mismatches=limit, backend="cpu"
                )
                n_hits = len(search())
                seconds = median_seconds(search)
                rows += _search_rows(planes.n_bases, guides, pam, limit, seconds, n_hits)
    return rows


def _search_rows(
    n_bases: int, guides: list[str], pam: str, limit: int, seconds: float, n_hits: int
) -> list[Row]:
    n = len(guides)
    case = f"{n:,} guide{'s'[: n > 1]}, {pam or 'no PAM'}, {limit} mismatches"
    rate = count_comparisons(n_bases, guides) / seconds / 1e9
    is_measured = (n, pam, limit) in CAS_OFFINDER
    rows = [
        make_row(
            END_TO_END,
            case,
            ours=seconds,
            peer=CAS_OFFINDER.get((n, pam, limit)),
            unit="s",
            higher_is_better=False,
            note=f"{n_hits:,} hits" + "; the peer reads its file too" * is_measured,
        )
    ]
    peers = {"two RTX 2060, the article": ARTICLE_GPUS, "24 threads, the article": ARTICLE_CPU}
    for name, peer in {**peers, PROGRAM: CAS_OFFINDER_RATE}.items():
        if n == 100 and pam == "NRG":
            rows.append(
                make_row(
                    RATES,
                    f"{case}; peer: {name}",
                    ours=rate,
                    peer=peer,
                    unit="G/s",
                    note="of 23 nt",
                )
            )
    if not (n == 100 and pam == "NRG"):
        rows.append(make_row(RATES, case, ours=rate, unit="G/s"))
    return rows


def measure_kernels(planes: GenomePlanes) -> list[Row]:
    """Return the rates of each method, hits kept and not sorted."""
    rows = []
    for n in (100, 1000):
        guides, pattern = make_search(planes, n, "NRG")
        for method in METHODS:
            if method == "popcount" and n > 100:
                continue
            share = POPCOUNT_SHARE if method == "popcount" else 1
            n_words = planes.n_words // share
            search, _ = prepare_kernel(planes, guides, pattern, 6, method, "cpu", n_words)
            seconds = median_seconds(search, n_runs=3)
            rate = count_comparisons(64 * n_words, guides) / seconds / 1e9
            rows.append(
                make_row(
                    KERNELS,
                    f"{method}, {n:,} guides, NRG, 6 mismatches",
                    ours=rate,
                    peer=ARTICLE_CPU,
                    unit="G/s",
                    note=f"{seconds:.3g} s for {64 * n_words / 1e6:,.0f} Mb; "
                    "peer: 24 threads, the article",
                )
            )
    return rows


def prepare_kernel(
    planes: GenomePlanes,
    guides: list[str],
    pattern: str,
    limit: int,
    method: str,
    backend: str,
    n_words: int,
) -> tuple[Callable[[], None], np.ndarray]:
    """Return a search of both strands by a kernel, and the array that has its numbers of hits."""
    request = make_request(
        guides, planes, pattern, SearchOptions(max_mismatches=limit, method=method)
    )
    find = getattr(load_kernel("offtarget", backend), f"find_sites_{method}")
    bits = [planes.low, planes.high, planes.other, planes.valid_starts(len(pattern))[:n_words]]
    if backend == "cuda":
        import cupy

        bits = [cupy.asarray(plane) for plane in bits]
    n_blocks = -(-n_words // BLOCK_WORDS)
    searches = list(request.iter_searches())
    arrays = [make_hit_arrays(search, n_blocks) for search in searches]
    n_found = np.zeros((len(searches), n_blocks), np.int64)
    counts = np.zeros((n_blocks, len(guides), 0), np.int64)

    def run() -> None:
        for search, hits, found in zip(searches, arrays, n_found, strict=True):
            room = Hits(*hits, found, counts)
            find(Planes(*bits), 0, BLOCK_WORDS, search.pattern, search.masks, search.limits, room)

    return run, n_found


def make_hit_arrays(search: StrandSearch, n_blocks: int) -> list[np.ndarray]:
    """Return arrays for the hits of blocks."""
    capacity = 256 + int(2 * expected_hits(search) * BLOCK_WORDS * 64)
    return [np.zeros((n_blocks, capacity), dtype) for dtype in (np.int64, np.int32, np.uint8)]


def measure_modes(planes: GenomePlanes) -> list[Row]:
    """Return the times of results that are not kept as a whole."""
    guides, pattern = make_search(planes, 1000, "NRG")
    count = partial(count_offtargets, guides, planes, pattern, max_mismatches=8, backend="cpu")
    closest = partial(
        find_closest_offtargets,
        guides,
        planes,
        pattern,
        max_mismatches=8,
        limit=100,
        backend="cpu",
    )
    note = f"{count().sum():,} sites; 1,000 guides, NRG, 8 mismatches"
    return [
        make_row(MODES, "counted by mismatches", ours=median_seconds(count), unit="s", note=note),
        make_row(
            MODES,
            "the 100 closest of each guide",
            ours=median_seconds(closest, n_runs=3),
            unit="s",
            note=note,
        ),
    ]


def measure_reading(path: Path) -> Row:
    """Return the rate at which a FASTA file becomes planes."""
    from genoviz.analyses.offtargets.genome_planes import make_genome_planes

    seconds = median_seconds(lambda: make_genome_planes(read_sequences(path)))
    packing = median_seconds(partial(make_genome_planes, read_sequences(path)))
    size = path.stat().st_size
    return make_row(
        READING,
        "FASTA of 100 Mb to planes",
        ours=size / seconds / 1e9,
        unit="GB/s",
        note=f"of {seconds:.3g} s {packing:.3g} s are for the planes",
    )


def measure_program(path: Path, planes: GenomePlanes) -> list[Row]:
    """Return the times of Cas-OFFinder where it is installed; its rows must be ours."""
    if shutil.which(PROGRAM) is None:
        print(f"  {PROGRAM} is not installed: its recorded times stand for it")
        return []
    rows = []
    for n, limit in ((10, 3), (10, 6), (100, 3)):
        guides, pattern = make_search(planes, n, "NRG")
        lines = [str(path), pattern, *(f"{guide} {limit}" for guide in guides)]
        request, output = path.with_name("input.txt"), path.with_name("output.txt")
        request.write_text("\n".join(lines) + "\n")
        start = time.perf_counter()
        subprocess.run([PROGRAM, str(request), "C", str(output)], check=True, capture_output=True)
        peer = time.perf_counter() - start
        search = partial(
            find_offtargets, guides, planes, pattern, max_mismatches=limit, backend="cpu"
        )
        n_rows = len(output.read_text().splitlines())
        assert len(search()) == n_rows, f"{len(search())} hits, {PROGRAM} has {n_rows}"
        rows.append(
            make_row(
                END_TO_END,
                f"{n} guides, NRG, {limit} mismatches, run here",
                ours=median_seconds(search),
                peer=peer,
                unit="s",
                higher_is_better=False,
                note="the peer reads its file and writes rows",
            )
        )
    return rows


# On the GPU ---------------------------------------------------------------------------------------


def measure_gpu_kernels() -> list[Row]:
    """Return the rates of the kernels with the planes on the GPU."""
    import cupy

    planes = make_random_planes(GPU_BASES, 20)
    rows = []
    for pam in ("NRG", "NGG"):
        for n in (100, 1000):
            guides, pattern = make_search(planes, n, pam)
            for method in METHODS:
                if method == "popcount" and (n > 100 or pam != "NRG"):
                    continue
                run, n_found = prepare_kernel(
                    planes, guides, pattern, 4, method, "cuda", planes.n_words
                )
                seconds = median_seconds(run)
                rate = count_comparisons(planes.n_bases, guides) / seconds / 1e9
                rows.append(
                    make_row(
                        KERNELS,
                        f"{method}, {n:,} guides, {pam}, 4 mismatches, 1 Gb",
                        ours=rate,
                        peer=ARTICLE_GPUS,
                        unit="G/s",
                        note=f"{seconds * 1e3:,.3g} ms, {n_found.sum():,} hits on the host; "
                        "peer: two RTX 2060, the article",
                        in_readme=(method, n, pam) == ("dense", 100, "NRG"),
                    )
                )
                cupy.get_default_memory_pool().free_all_blocks()
    return rows


def measure_human_size() -> list[Row]:
    """Return the time end to end for a large genome, on one GPU and on all of them."""
    import cupy

    planes = make_random_planes(HUMAN_BASES, 24)
    guides, pattern = make_search(planes, 1000, "NGG")
    n_devices = cupy.cuda.runtime.getDeviceCount()
    rows = []
    for devices in {1: [0], n_devices: list(range(n_devices))}.values():
        search = partial(
            find_offtargets,
            guides,
            planes,
            pattern,
            max_mismatches=4,
            devices=devices,
            backend="cuda",
        )
        n_hits = len(search())
        seconds = median_seconds(search, n_runs=3)
        rate = count_comparisons(planes.n_bases, guides) / seconds / 1e9
        rows.append(
            make_row(
                HUMAN,
                f"1,000 guides, NGG, 4 mismatches, {len(devices)} GPU{'s'[: len(devices) > 1]}",
                ours=seconds,
                unit="s",
                note=f"{n_hits:,} hits, sorted; {rate:,.0f} G comparisons/s",
                in_readme=len(devices) == 1,
            )
        )
    return rows
