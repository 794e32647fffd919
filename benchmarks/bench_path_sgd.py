"""Layout speed and quality, against odgi and against the published GPU kernel.

odgi's figures are those of its command line on two cores of an AMD EPYC with one thread, its best
there (rate of the loop alone), and the sampled path stress of its layouts. The published kernel's
rates are those of the kernel of Li et al. 2024 rebuilt and run on an NVIDIA H200.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from genoviz.analyses.graph.layout.options import LayoutOptions
from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.analyses.graph.layout.path_sgd import PathSgdRun, iter_path_sgd_layout
from genoviz.analyses.graph.layout.run import LayoutSnapshot
from genoviz.analyses.graph.layout.stress import PathStress, sampled_path_stress
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PangenomeGraph

SEEDS = range(5)
SPEED_AGAINST_ODGI = "Layout: updates/s of the loop, against odgi"
STRESS_AGAINST_ODGI = "Layout: sampled path stress, median of 5 seeds, against odgi"
SPEED_AGAINST_KERNEL = "Layout: updates/s on one GPU, against the kernel of Li et al. 2024"
SINGLE_UPDATES = "Layout: stress with windows, against single updates"
DESIGNS = "Layout: designs of the GPU kernel, updates/s"


@dataclass(frozen=True)
class Peer:
    """What odgi does with a real graph: 10^6 updates/s and sampled path stress."""

    file: str
    rate: float
    stress: float


ODGI = {
    "DRB1-3123": Peer("DRB1-3123", 14.3, 0.0687),
    "LPA": Peer("LPA", 13.4, 0.6854),
    "C4": Peer("chr6.C4", 13.5, 0.3343),
    "chr5.yeast": Peer("chr5.yeast", 12.3, 0.0004),
    "RHCE": Peer("hprc_RHCE", 11.5, 0.037),
    "MHC_4": Peer("MHC_4", 8.9, 0.0159),
}
# 10^9 updates/s, mean of the two halves of the schedule.
PUBLISHED_KERNEL = {"mhc": 6.45, "chr20": 5.3, "chr1": 4.4}


def lay_out(graph: PangenomeGraph, backend: str, **options) -> LayoutSnapshot:
    """Return the finished layout with its computing time."""
    *_, final = iter_path_sgd_layout(graph, slice_seconds=None, backend=backend, **options)
    return final


def stress_of(
    graph: PangenomeGraph, final: LayoutSnapshot, backend: str, *, seed: int
) -> PathStress:
    """Return the path stress from 100 samples a step, at most 2 x 10^9, as odgi's was sampled."""
    n_samples = min(100 * graph.n_steps, 2_000_000_000)
    return sampled_path_stress(graph, final.layout, n_samples=n_samples, seed=seed, backend=backend)


def measure(backend: str) -> list[Row]:
    """Return the rows of real graphs, and on a GPU those of chromosomes and designs."""
    rows = measure_real_graphs(backend)
    if backend == "cuda":
        for preset in PUBLISHED_KERNEL:
            rows += measure_chromosome(preset)
    return rows


def measure_real_graphs(backend: str) -> list[Row]:
    """Lay every real graph out with several seeds."""
    rows = []
    for name, peer in ODGI.items():
        path = find_real_data(f"gfa/{peer.file}.gfa.gz")
        if path is None:
            continue
        graph = read_gfa(path, sequences=False, cache=False)
        lay_out(graph, backend, n_iterations=2)
        finals = [lay_out(graph, backend, seed=seed) for seed in SEEDS]
        stresses = [
            stress_of(graph, final, backend, seed=seed)
            for seed, final in zip(SEEDS, finals, strict=True)
        ]
        single = [
            stress_of(
                graph,
                lay_out(graph, backend, seed=seed, window=1, n_threads=1),
                backend,
                seed=seed,
            )
            for seed in SEEDS
        ]
        rate = statistics.median(final.updates_per_second for final in finals) / 1e6
        seconds = statistics.median(final.seconds for final in finals)
        median = statistics.median(stress.mean for stress in stresses)
        half_width = statistics.median((s.ci_high - s.ci_low) / 2 for s in stresses)
        rows.append(
            make_row(
                SPEED_AGAINST_ODGI,
                name,
                ours=rate,
                peer=peer.rate,
                unit="10^6 updates/s",
                note=f"{graph.n_nodes:,} nodes, {graph.n_steps:,} steps: 30 iterations in "
                f"{seconds:.3g} s",
                in_readme=name == "MHC_4",
            )
        )
        rows.append(
            make_row(
                STRESS_AGAINST_ODGI,
                name,
                ours=median,
                peer=peer.stress,
                unit="path stress",
                higher_is_better=False,
                note=f"95 % interval of one seed +- {half_width:.2g}; all seeds "
                + ", ".join(f"{stress.mean:.4g}" for stress in stresses)
                + "; single updates on one thread "
                + ", ".join(f"{stress.mean:.4g}" for stress in single),
            )
        )
    return rows


def measure_chromosome(preset: str) -> list[Row]:
    """Lay a simulated chromosome out, with windows and with single updates, design by design."""
    graph = simulate_pangenome(**SIMULATION_PRESETS[preset])
    size = f"{preset}-like, {graph.n_nodes:,} nodes, {graph.n_steps:,} steps"
    seeds = range(2 if preset == "chr1" else 3)
    finals = {
        window: [lay_out(graph, "cuda", seed=seed, window=window) for seed in seeds]
        for window in (32, 1)
    }
    stresses = {
        window: [
            stress_of(graph, final, "cuda", seed=seed)
            for seed, final in zip(seeds, of_window, strict=True)
        ]
        for window, of_window in finals.items()
    }
    rate = statistics.median(final.updates_per_second for final in finals[32]) / 1e9
    rows = [
        make_row(
            SPEED_AGAINST_KERNEL,
            size,
            ours=rate,
            peer=PUBLISHED_KERNEL[preset],
            unit="10^9 updates/s",
            note=f"30 iterations in {finals[32][0].seconds:.3g} s, float64 coordinates",
            in_readme=preset == "chr1",
        ),
        make_row(
            SINGLE_UPDATES,
            size,
            ours=statistics.median(stress.mean for stress in stresses[32]),
            peer=statistics.median(stress.mean for stress in stresses[1]),
            unit="path stress",
            higher_is_better=False,
            note="; ".join(
                f"window {window}: "
                + ", ".join(
                    f"{s.mean:.4g} ({s.ci_low:.4g} to {s.ci_high:.4g}, median {s.median:.3g})"
                    for s in of_window
                )
                for window, of_window in stresses.items()
            ),
        ),
    ]
    return rows + measure_designs(graph, size)


def measure_designs(graph: PangenomeGraph, size: str) -> list[Row]:
    """Time the cooling branch with each design of the kernel."""
    designs = {
        "windows, node records, states in registers": {"window": 32},
        "the same, four coordinate arrays": {"window": 32, "data_layout": "arrays"},
        "the same, random states in memory": {"window": 32, "random_states": "coalesced"},
        "the same, data reuse factor 2": {"window": 32, "data_reuse": 2},
        "the same, data reuse factor 4": {"window": 32, "data_reuse": 4},
        "single updates": {"window": 1},
        "single updates, without warp merging": {"window": 1, "merge_warps": False},
        "single updates, four coordinate arrays": {"window": 1, "data_layout": "arrays"},
        "single updates, coalesced states in memory": {"window": 1, "random_states": "coalesced"},
        "single updates, strided states in memory": {"window": 1, "random_states": "strided"},
    }
    records = build_path_records(graph, min_steps=2)
    n_updates = min(10 * records.n_steps, 10**9)
    rows, base = [], None
    for name, design in designs.items():
        run = PathSgdRun(graph, records, None, LayoutOptions(**design), 0, "cuda")
        run.make_updates(20, n_updates // 10)
        rates = []
        for _ in range(3):
            start = time.perf_counter()
            n_done = run.make_updates(20, n_updates)
            rates.append(n_done / (time.perf_counter() - start) / 1e9)
        rate = statistics.median(rates)
        base = base or rate
        rows.append(
            make_row(DESIGNS, f"{size}: {name}", ours=rate, peer=base, unit="10^9 updates/s")
        )
    return rows
