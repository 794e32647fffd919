"""Layouts from coarse to fine against path-guided SGD: seconds, and the stress that they come to.

Both are ours and run in turns in one process, on the same threads or the same GPU; the seconds are
those of the layout alone (`LayoutSnapshot.seconds`), for the coarse views too. CPU seconds are of
all threads, with those that wait for others, and with records and the last packing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.stress import sampled_path_stress
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
from genoviz.generators import last_of
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PangenomeGraph

TITLE = "Layout from coarse to fine, against path-guided SGD"
GRAPHS = {
    "DRB1": "DRB1-3123",
    "DRB1, unsorted": "DRB1-3123_unsorted",
    "C4": "chr6.C4",
    "LPA": "LPA",
    "chr5.yeast": "chr5.yeast",
    "MICB-KIR3DL1": "micb-kir3dl1",
    "MHC_4": "MHC_4",
    "RHCE": "hprc_RHCE",
    "chrY": "hprc_chrY.noseq",
}
SEEDS = range(5)


MILLION = "10^6 nodes, simulated"
STRESS_SAMPLES = 10**7


def measure(backend: str) -> list[Row]:
    """Return a row for each graph: its seconds, and both stresses in the note."""
    rows = []
    for name, graph in _iter_graphs():
        sgd, ours = _lay_out(graph, (iter_path_sgd_layout, iter_multilevel_layout), backend)
        words = [
            f"{seconds:.3g} s, {cpu:.3g} CPU s, path stress {stress}"
            for seconds, cpu, stress in (ours, sgd)
        ]
        rows.append(
            make_row(
                TITLE,
                name,
                ours=ours[0],
                peer=sgd[0],
                unit="s",
                higher_is_better=False,
                note=f"medians of 5 seeds: {words[0]}; path-guided SGD {words[1]}",
                in_readme=name == "MHC_4",
            )
        )
        print(f"  {name}: {rows[-1]['note']}", flush=True)
    return rows


def _iter_graphs() -> Iterator[tuple[str, PangenomeGraph]]:
    for name, file in GRAPHS.items():
        path = find_real_data(f"gfa/{file}.gfa.gz")
        if path is not None:
            yield name, read_gfa(path, sequences=False, cache=False)
    yield MILLION, simulate_pangenome(**SIMULATION_PRESETS["million"])


def _lay_out(
    graph: PangenomeGraph, methods: Sequence[Callable], backend: str
) -> list[tuple[float, float, str]]:
    """Return the medians of seconds and of CPU seconds for each method, and its stress in words."""

    def run(method: Callable, seed: int) -> tuple[float, float, float]:
        began = time.process_time()
        *_, final = method(graph, seed=seed, slice_seconds=None, backend=backend)
        cpu = time.process_time() - began
        n_samples = min(100 * graph.n_steps, STRESS_SAMPLES)
        found = sampled_path_stress(
            graph, final.layout, n_samples=n_samples, seed=1, backend=backend
        )
        return final.seconds, cpu, found.mean

    for method in methods:  # compiles, and loads what is compiled
        last_of(method(simulate_pangenome(1_000, 4), slice_seconds=None, backend=backend))
    results = [[run(method, seed) for method in methods] for seed in SEEDS]
    medians = []
    for of_method in zip(*results, strict=True):
        seconds, cpu, stress = zip(*of_method, strict=True)
        words = f"{statistics.median(stress):.3g} ({min(stress):.3g} to {max(stress):.3g})"
        medians.append((statistics.median(seconds), statistics.median(cpu), words))
    return medians
