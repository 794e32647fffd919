"""Measurements for figures about speed: intervals, k-mers, off-targets and genotypes.

Each call is made once to compile, and then three times, of which the best counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.prediction.single_step import iter_single_step
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.offtargets.counts import count_offtargets
from genoviz.analyses.offtargets.finding import guide_with_pam
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.reproduce.figures import (
    GENOTYPES,
    INTERVALS,
    OFF_TARGETS,
    TRANSFORM,
    Measured,
    Point,
    RunOptions,
)
from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.simulation.genome_and_reads import simulate_genome
from genoviz.analyses.simulation.genotypes import (
    drop_genotypes,
    simulate_genotypes,
    simulate_pedigree,
)
from genoviz.analyses.simulation.traits import simulate_trait
from genoviz.backend import array_module, describe_backend
from genoviz.generators import Progress
from genoviz.model.intervals.intervals import Intervals
from genoviz.model.sequences.sequences import Sequences

N_RUNS = 3
EXOME_WINDOWS, EXOME_READS, EXOME_EXONS, WINDOWS_PER_EXON = 25_700_000, 192_000_000, 171_334, 150
GENOME_SPAN = 3_100_000_000
# Seconds by number of windows and reads, as printed in the paper.
CHR21 = 510_000 + 4_170_000
COUNTED = {
    "8 cores": {CHR21: 0.20, EXOME_WINDOWS + EXOME_READS: 8.7},
    "Quadro RTX 4000": {CHR21: 0.16, EXOME_WINDOWS + EXOME_READS: 1.75},
}
# Seconds by number of bases.
TRANSFORMED = {
    "CPU": {6e6: 16.6, 12e6: 32.0, 24e6: 72.9, 47e6: 158.7, 60e6: 204.6},
    "Tesla S2050": {6e6: 14.4, 12e6: 26.3, 24e6: 47.6, 47e6: 94.2, 60e6: 119.1},
}
COMPARED = {"24 threads": 75.0, "two RTX 2060": 4_490.0}
# Hours for an evaluation of 2.61 million animals with 47,000 variants.
EVALUATED = {
    "ssSNPBLUP": {"decompressed on the fly": 6.47, "5codes": 4.22, "A100": 2.49},
    "ssGTABLUP": {"decompressed on the fly": 4.03, "5codes": 3.30, "A100": 1.98},
}
PAMS = ("NRG", "NGG", "")
N_COLUMNS = 10
Steps = Generator[Progress, None, Measured]


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the best time of three calls, after one call that compiles."""
    call()
    seconds = []
    for _ in range(N_RUNS):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def _intervals(starts: np.ndarray, lengths: np.ndarray | int) -> Intervals:
    starts = starts.astype(np.int64)
    return Intervals(("chr1",), np.zeros(len(starts), np.int32), starts, starts + lengths)


def measure_threads(options: RunOptions) -> Steps:
    """Measure counting by number of threads, with the paper's closed intervals on 200,001 bases."""
    import numba

    n, random = (50_000 if options.small else 5_000_000), np.random.default_rng(options.seed)
    queries, subjects = (
        _intervals(random.integers(0, 200_001, n), random.integers(10, 1_001, n)) for _ in range(2)
    )
    maximum = numba.config.NUMBA_NUM_THREADS
    threads = sorted({*(2**k for k in range(maximum.bit_length()) if 2**k <= maximum), maximum})
    points = []
    for method in ("auto", "sweep"):
        base = None
        for k in threads:
            call = partial(
                count_overlaps, queries, subjects, closed=True, method=method, backend="cpu"
            )
            # Read here, because another job may run in this thread whenever this generator yields.
            before = numba.get_num_threads()
            numba.set_num_threads(k)
            try:
                seconds = seconds_of(call)
            finally:
                numba.set_num_threads(before)
            base = base or seconds
            series = "the paper's sweep" if method == "sweep" else "the method by size"
            points.append(Point(series, k, base / seconds, f"{seconds:.3g} s"))
            yield Progress("counting", len(points) / (2 * len(threads)))
    return Measured(tuple(points), f"{n:,} intervals counted in as many.")


def measure_exome(options: RunOptions) -> Steps:
    """Measure counting of reads in windows of one base, in fractions of an exome."""
    parts = (4_000, 2_000, 1_000) if options.small else (1_000, 100, 30, 10)
    points = [
        Point(f"{machine}, printed", n, seconds, "", INTERVALS.words)
        for machine, counted in COUNTED.items()
        for n, seconds in counted.items()
    ]
    for number, part in enumerate(parts):
        windows, reads = _exome(part, np.random.default_rng(options.seed))
        for backend in options.backends:
            seconds = seconds_of(partial(count_overlaps, windows, reads, backend=backend))
            n = len(windows) + len(reads)
            case = f"1/{part} of the exome"
            points.append(Point(describe_backend(backend), n, seconds, case))
        yield Progress("counting reads", (number + 1) / len(parts))
    return Measured(tuple(points), "Exons and reads are at random places, most reads at exons.")


def _exome(part: int, random: np.random.Generator) -> tuple[Intervals, Intervals]:
    """Return windows by exon, and reads around exons and elsewhere."""
    exons = random.integers(0, GENOME_SPAN, EXOME_EXONS // part)
    windows = (exons[:, None] + np.arange(WINDOWS_PER_EXON)).ravel()
    n_reads = EXOME_READS // part
    around = random.choice(exons, n_reads) + random.integers(-100, WINDOWS_PER_EXON, n_reads)
    anywhere = random.integers(0, GENOME_SPAN, n_reads)
    reads = np.where(random.random(n_reads) < 0.7, np.maximum(around, 0), anywhere)
    return _intervals(windows, 1), _intervals(reads, WINDOWS_PER_EXON)


def measure_transform(options: RunOptions) -> Steps:
    """Measure indexing of increasingly long texts: suffix sorting, and the transform."""
    sizes = (50_000, 100_000, 200_000) if options.small else (1_000_000, 4_000_000, 16_000_000)
    yield Progress("simulating a genome", 0.0)
    letters = np.concatenate([text for _, text in simulate_genome(sizes[-1], seed=options.seed)])
    points = [
        Point(f"{machine}, printed", n, seconds, "", TRANSFORM.words)
        for machine, transformed in TRANSFORMED.items()
        for n, seconds in transformed.items()
    ]
    for number, size in enumerate(sizes):
        text = Sequences.from_records([("text", letters[:size])])
        for backend in options.backends:
            seconds = seconds_of(partial(build_fm_index, text, table_k=0, backend=backend))
            points.append(Point(describe_backend(backend), size, seconds, f"{size:,} bases"))
        yield Progress("suffixes sorted", (number + 1) / len(sizes))
    note = (
        "Measured are the whole order of the suffixes, the transform and its index; printed is an "
        "order by the first 18 bases."
    )
    return Measured(tuple(points), note)


def measure_guides(options: RunOptions) -> Steps:
    """Measure comparisons per second by guides and PAM: guide letters at bases of both strands."""
    n_bases = 500_000 if options.small else 50_000_000
    numbers = (1, 10, 100) if options.small else (1, 10, 100, 1_000)
    random = np.random.default_rng(options.seed)
    letters = np.frombuffer(b"ACGT", np.uint8)[random.integers(0, 4, n_bases)]
    planes = make_genome_planes(Sequences.from_records([("chr1", letters)]))
    starts = random.integers(0, n_bases - 20, max(numbers))
    spacers = [letters[start : start + 20].tobytes().decode() for start in starts.tolist()]
    points = [
        Point(f"{machine}, printed", 100, rate, "NRG", OFF_TARGETS.words)
        for machine, rate in COMPARED.items()
    ]
    for number, pam in enumerate(PAMS):
        guides = [guide_with_pam(spacer, pam)[0] for spacer in spacers]
        pattern = guide_with_pam(spacers[0], pam)[1]
        for backend in options.backends:
            for n in numbers:
                search = partial(
                    count_offtargets, guides[:n], planes, pattern, max_mismatches=3, backend=backend
                )
                rate = 2 * n_bases * n * len(pattern) / seconds_of(search) / 1e9
                series = f"{pam or 'no PAM'}, {describe_backend(backend)}"
                points.append(Point(series, n, rate, f"{n:,} guides"))
        yield Progress("guides searched", (number + 1) / len(PAMS))
    note = f"{n_bases:,} bases, 3 mismatches, hits counted; printed: GRCh38, PAM NRG."
    return Measured(tuple(points), note)


def measure_products(options: RunOptions) -> Steps:
    """Measure products with packed genotypes, and with the same genotypes as float64."""
    sizes = (500, 1_000, 2_000) if options.small else (1_000, 3_000, 10_000)
    n_variants = 2_000 if options.small else 20_000
    points = []
    for number, n in enumerate(sizes):
        yield Progress("simulating genotypes", number / len(sizes))
        genotypes = simulate_genotypes(n, n_variants, seed=options.seed)
        random = np.random.default_rng(options.seed)
        right, left = (
            random.normal(size=(n_variants, N_COLUMNS)),
            random.normal(size=(n, N_COLUMNS)),
        )
        inflated = genotypes.dosages(slice(None)).astype(np.float64)
        inflated -= inflated.mean(axis=0)
        products: dict[str, Callable[[], Any]] = {
            "Z L, matrix of float64, NumPy": lambda z=inflated, r=right: z @ r,
            "Z' L, matrix of float64, NumPy": lambda z=inflated, v=left: z.T @ v,
        }
        for backend in options.backends:
            xp = array_module(backend)
            for packing in ("2bit", "5codes") if backend == "cpu" else ("2bit",):
                matrix = GenotypeMatrix(genotypes, packing=packing, backend=backend)
                words = f"{packing}, {describe_backend(backend)}"
                products |= {
                    f"Z L, {words}": partial(_multiply, xp, matrix, xp.asarray(right)),
                    f"Z' L, {words}": partial(_multiply, xp, matrix.T, xp.asarray(left)),
                }
        for series, product in products.items():
            points.append(Point(series, n, seconds_of(product), f"{n:,} x {n_variants:,}"))
    note = (
        f"{n_variants:,} variants. The paper prints that with 10 columns 5codes takes 98.1 %, and "
        "a GPU more than 99.7 % less time than the inflated matrix."
    )
    return Measured(tuple(points), note)


def _multiply(xp: Any, matrix: Any, dense: Any) -> None:
    """Multiply, and wait for a GPU to finish."""
    matrix @ dense
    if xp is not np:
        xp.cuda.Device().synchronize()


def measure_evaluations(options: RunOptions) -> Steps:
    """Measure single-step evaluations with both formulations."""
    n_founders, n_variants = (60, 300) if options.small else (500, 4_000)
    pedigree = simulate_pedigree(n_founders, 5, seed=options.seed)
    founders = simulate_genotypes(n_founders, n_variants, seed=options.seed)
    everybody = drop_genotypes(pedigree, founders, seed=options.seed)
    phenotype = simulate_trait(everybody, seed=options.seed, backend="cpu").phenotype
    n = everybody.n_samples
    genotypes = select_samples(everybody, np.arange(n // 2, n))
    points, n_done = [], 0
    for row, (form, hours) in enumerate(EVALUATED.items()):
        points += [
            Point(f"{how}, printed", row, 3_600 * each, form, GENOTYPES.words)
            for how, each in hours.items()
        ]
        for backend in options.backends:
            for snapshot in iter_single_step(
                genotypes, pedigree, phenotype, form=form, backend=backend
            ):
                yield Progress(f"{form}, iteration {snapshot.iteration}", n_done / 4)
            points.append(Point(describe_backend(backend), row, snapshot.seconds, form))
            n_done += 1
    note = (
        f"Measured with {n:,} animals, {genotypes.n_samples:,} of them genotyped at {n_variants:,} "
        "variants; printed with 2.61 million at about 47,000."
    )
    return Measured(tuple(points), note)
