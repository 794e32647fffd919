"""What a cluster costs: two workers of this machine against this process alone, on equal jobs.

``python -m benchmarks.cluster_overhead`` prints, for each analysis, seconds of both in turns
(medians of ``--repeats``), and the overhead. Both use all cores: the process has all threads, each
worker half of them. The workers are started, and have run the analysis once, before.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import genoviz
from genoviz.backend import describe_machine

N_SAMPLES, N_VARIANTS, N_COVARIATES = 5_000, 60_000, 10
N_BASES, N_GUIDES = 100_000_000, 400
Analysis = Callable[..., object]


def make_analyses(folder: Path, scale: float) -> dict[str, tuple[Analysis, Analysis]]:
    """Return a small and the whole job of each analysis; each takes ``scheduler``."""
    n_variants = int(N_VARIANTS * scale)
    simulated = genoviz.simulate_genotypes(
        N_SAMPLES, n_variants, n_contigs=20, seed=1, missing_rate=0.002
    )
    genoviz.write_plink(simulated, folder / "cohort")
    cohort = genoviz.read_genotypes(folder / "cohort.bed")
    random = np.random.default_rng(1)
    phenotype = (random.random(N_SAMPLES) < 0.3).astype(float)
    covariates = random.normal(size=(N_SAMPLES, N_COVARIATES))
    letters = random.choice(np.frombuffer(b"ACGT", np.uint8), int(N_BASES * scale)).tobytes()
    planes = genoviz.make_genome_planes(genoviz.Sequences.from_records([("c", letters.decode())]))
    guides = ["".join(row) + "NNN" for row in random.choice(list("ACGT"), (N_GUIDES, 20))]

    def associate(n: int) -> Analysis:
        part = cohort.take_variants(slice(0, n))
        options = {"covariates": covariates, "model": "logistic"}
        return lambda scheduler: genoviz.associate(part, phenotype, scheduler=scheduler, **options)

    def relate(n: int) -> Analysis:
        part = cohort.take_variants(slice(0, n))
        return lambda scheduler: genoviz.relationship_matrix(part, scheduler=scheduler)

    def search(n: int) -> Analysis:
        options = {"max_mismatches": 4, "dna_bulge": 1, "rna_bulge": 1}
        asked = guides[:n], planes, "N" * 21 + "GG"
        return lambda scheduler: genoviz.find_offtargets(*asked, scheduler=scheduler, **options)

    return {
        "association, logistic": (associate(100), associate(n_variants)),
        "relationships": (relate(2_000), relate(n_variants)),
        "off-targets with bulges": (search(1), search(N_GUIDES)),
    }


def measure(analysis: Analysis, scheduler: object) -> float:
    """Return the seconds of one run."""
    began = time.perf_counter()
    analysis(scheduler)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_overhead")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the jobs")
    options = parser.parse_args()
    n_threads = max(1, (os.cpu_count() or 2) // 2)
    print(describe_machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=folder,
            env={"NUMBA_NUM_THREADS": str(n_threads), "OPENBLAS_NUM_THREADS": str(n_threads)},
        ) as cluster,
        Client(cluster) as client,
    ):
        for name, (small, whole) in make_analyses(Path(folder), options.scale).items():
            for scheduler in (None, client, client):
                small(scheduler)
            pairs = [(measure(whole, None), measure(whole, client)) for _ in range(options.repeats)]
            alone, shared = (median(seconds) for seconds in zip(*pairs, strict=True))
            overhead = 100 * (shared / alone - 1)
            print(f"{name}: alone {alone:.1f} s, two workers {shared:.1f} s, {overhead:+.1f} %")


if __name__ == "__main__":
    main()
