"""What batches cost: array code with stale coordinates, against one update after the other."""

from __future__ import annotations

import time
from types import ModuleType

import numpy as np

from benchmarks.rows import Row, make_row
from genoviz import samples
from genoviz.analyses.graph.layout.path_sgd import path_sgd_layout
from genoviz.analyses.graph.layout.stress import sampled_path_stress
from genoviz.analyses.reproduce.batch_layout import batch_path_sgd_layout
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
from genoviz.backend import array_module
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import GraphLayout, PangenomeGraph

BENCHMARK = "Layout in batches of array updates: path stress"
BATCH_SIZES = (10**3, 10**4, 10**5, 10**6)
LARGE_BATCH_SIZES = (10**5, 10**6, 10**7, 10**8)
BYTES_PER_UPDATE = 500
STRESS_SAMPLES = 10**7
DIVERGED = 1e3


def measure(backend: str) -> list[Row]:
    xp = array_module(backend)
    rows = []
    for name, graph in _small_graphs().items():
        rows += _measure_graph(name, graph, BATCH_SIZES, backend, xp)
    if backend == "cuda":
        free_bytes, _ = xp.cuda.Device().mem_info
        fitting = [size for size in LARGE_BATCH_SIZES if size * BYTES_PER_UPDATE < free_bytes]
        graph = simulate_pangenome(**SIMULATION_PRESETS["mhc"])
        rows += _measure_graph("simulated MHC", graph, fitting, backend, xp)
    return rows


def _small_graphs() -> dict[str, PangenomeGraph]:
    graphs = {"simulated": simulate_pangenome(**SIMULATION_PRESETS["small"])}
    drb1 = samples.samples_folder() / samples.find_sample("drb1").file_name
    if drb1.exists():
        graphs["DRB1-3123"] = read_gfa(drb1)
    else:
        print("  without DRB1-3123: genoviz samples get drb1 fetches it")
    return graphs


def _measure_graph(
    name: str, graph: PangenomeGraph, batch_sizes: tuple[int, ...], backend: str, xp: ModuleType
) -> list[Row]:
    # The first call compiles.
    path_sgd_layout(graph, window=1, backend=backend, n_iterations=1)
    began = time.perf_counter()
    layout = path_sgd_layout(graph, window=1, backend=backend)
    seconds = time.perf_counter() - began
    case = f"{name}, {graph.n_nodes:,} nodes"
    rows = [_row(f"{case}, this project's kernel", graph, layout, seconds, backend)]
    n_updates = 10 * graph.n_steps
    for collisions in ("overwrite", "add"):
        for batch_size in batch_sizes:
            began = time.perf_counter()
            with np.errstate(all="ignore"):
                layout = batch_path_sgd_layout(
                    graph, batch_size=batch_size, collisions=collisions, xp=xp
                )
            seconds = time.perf_counter() - began
            shown = f"{case}, {collisions}, batches of {min(batch_size, n_updates):,}"
            rows.append(_row(shown, graph, layout, seconds, backend))
            if batch_size >= n_updates or rows[-1]["ours"] >= DIVERGED:
                break
    return rows


def _row(
    case: str, graph: PangenomeGraph, layout: GraphLayout, seconds: float, backend: str
) -> Row:
    with np.errstate(all="ignore"):
        stress = sampled_path_stress(graph, layout, n_samples=STRESS_SAMPLES, backend=backend).mean
    note = f"{seconds:.3g} s, {300 * graph.n_steps / seconds / 1e6:.3g} M updates/s"
    if not stress < DIVERGED:
        stress, note = DIVERGED, f"{note}; diverges, stress above {DIVERGED:,.0f}"
    return make_row(BENCHMARK, case, ours=stress, unit="stress", note=note)
