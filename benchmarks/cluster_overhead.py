"""What a cluster costs, or gains: workers of this machine against this process alone, equal jobs.

``python -m benchmarks.cluster_overhead`` prints, for each analysis, seconds of both in turns
(medians of ``--repeats``), and the overhead. Two workers and the process use all cores: the process
has all threads, each worker half of them. With ``--gpus 4`` each of four workers has a GPU and a
quarter of the cores, and the process alone has one GPU and all cores. The workers are started, and
have run the analysis once, before.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from distributed import Client, Nanny, Scheduler, SpecCluster

import genoviz
from genoviz.backend import Backend, describe_machine

N_SAMPLES, N_VARIANTS, N_COVARIATES = 5_000, 60_000, 10
N_BASES, N_GUIDES = 100_000_000, 4_000
Analysis = Callable[..., object]


def make_analyses(
    folder: Path, scale: float, backend: Backend
) -> dict[str, tuple[Analysis, Analysis]]:
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
    n_bases, n_guides = int(N_BASES * min(scale, 1.0)), int(N_GUIDES * max(scale, 1.0))
    if backend == "cuda":
        n_bases *= 10
    letters = random.choice(np.frombuffer(b"ACGT", np.uint8), n_bases).tobytes()
    planes = genoviz.make_genome_planes(genoviz.Sequences.from_records([("c", letters.decode())]))
    guides = ["".join(row) + "NNN" for row in random.choice(list("ACGT"), (n_guides, 20))]

    def associate(n: int) -> Analysis:
        part = cohort.take_variants(slice(0, n))
        options = {"covariates": covariates, "model": "logistic", "backend": backend}
        return lambda scheduler: genoviz.associate(part, phenotype, scheduler=scheduler, **options)

    def relate(n: int) -> Analysis:
        part = cohort.take_variants(slice(0, n))
        return lambda scheduler: genoviz.relationship_matrix(
            part, scheduler=scheduler, backend=backend
        )

    def search(n: int) -> Analysis:
        options = {"max_mismatches": 4, "dna_bulge": 1, "rna_bulge": 1, "backend": backend}
        asked = guides[:n], planes, "N" * 21 + "GG"
        return lambda scheduler: genoviz.find_offtargets(*asked, scheduler=scheduler, **options)

    return {
        "association, logistic": (associate(100), associate(n_variants)),
        "relationships": (relate(2_000), relate(n_variants)),
        "off-targets with bulges": (search(1), search(n_guides)),
    }


def measure(analysis: Analysis, scheduler: object) -> float:
    """Return the seconds of one run."""
    began = time.perf_counter()
    analysis(scheduler)
    return time.perf_counter() - began


def start_workers(n_workers: int, folder: Path, has_gpus: bool) -> SpecCluster:
    """Return a cluster of this machine; each worker has its share of the cores, and its own GPU."""
    n_threads = str(max(1, (os.cpu_count() or n_workers) // n_workers))
    threads = {"NUMBA_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": n_threads}
    here = {"host": "127.0.0.1", "dashboard_address": None}
    quiet = {"silence_logs": logging.WARNING}
    workers = {}
    for number in range(n_workers):
        gpu = {"CUDA_VISIBLE_DEVICES": str(number)} if has_gpus else {}
        options = {"nthreads": 1, "local_directory": str(folder), "env": threads | gpu}
        workers[number] = {"cls": Nanny, "options": here | quiet | options}
    scheduler = {"cls": Scheduler, "options": here | {"dashboard": False}}
    return SpecCluster(workers, scheduler, **quiet)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_overhead")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the jobs")
    parser.add_argument("--gpus", type=int, default=0, help="a worker on each; by default CPUs")
    options = parser.parse_args()
    backend: Backend = "cuda" if options.gpus else "cpu"
    n_workers = options.gpus or 2
    print(describe_machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        start_workers(n_workers, Path(folder), options.gpus > 0) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers, timeout=120)
        analyses = make_analyses(Path(folder), options.scale, backend)
        for name, (small, whole) in analyses.items():
            for scheduler in (None, *[client] * n_workers):
                small(scheduler)
            pairs = [(measure(whole, None), measure(whole, client)) for _ in range(options.repeats)]
            alone, shared = (median(seconds) for seconds in zip(*pairs, strict=True))
            said = f"{100 * (shared / alone - 1):+.1f} %"
            if options.gpus:
                said = f"{alone / shared:.2f} times as fast"
            print(f"{name}: alone {alone:.1f} s, {n_workers} workers {shared:.1f} s, {said}")


if __name__ == "__main__":
    main()
