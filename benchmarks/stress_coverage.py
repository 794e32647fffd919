"""How often the 95 % interval of the sampled path stress holds the exact value.

``python -m benchmarks.stress_coverage [SAMPLES_PER_STEP] [N_SEEDS]`` prints a row for each graph
and weighting. Graphs are those of the tests; layouts are odgi's where there is one, or
of ten iterations, which leave longer tails.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.real_data import find_real_data
from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.analyses.graph.layout.path_sgd import path_sgd_layout
from genoviz.analyses.graph.layout.stress import path_stress
from genoviz.analyses.graph.layout.stress_results import WEIGHTINGS
from genoviz.analyses.graph.layout.stress_sampler import StressSampler
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.layout_files import read_layout
from genoviz.model import GraphLayout, PangenomeGraph

CASES = {
    "DRB1-3123": "DRB1-3123_29.lay",
    "chr6.C4": "chr6.C4.odgi.tsv.gz",
    "LPA": "LPA.odgi.tsv.gz",
    "micb-kir3dl1": None,
    "chr5.yeast": None,
}


def count_held(
    graph: PangenomeGraph, layout: GraphLayout, weighting: str, n_samples: int, n_seeds: int
) -> tuple[float, int, float]:
    """Return the exact stress, how many intervals hold it, and their median half width (ratio)."""
    exact = path_stress(graph, layout, weighting=weighting, backend="cpu").mean
    sampler = StressSampler(build_path_records(graph), weighting=weighting, backend="cpu")
    n_held, widths = 0, []
    for seed in range(n_seeds):
        found = sampler.sample(layout.points, n_samples=n_samples, seed=seed)
        n_held += found.ci_low <= exact <= found.ci_high
        widths.append(np.log(found.ci_high / found.ci_low) / 2)
    return exact, n_held, float(np.median(widths))


def main(samples_per_step: int = 20, n_seeds: int = 200) -> None:
    """Print the table."""
    print(f"{n_seeds} seeds, {samples_per_step} samples a step")
    for name, layout_name in CASES.items():
        graph = read_gfa(find_real_data(f"gfa/{name}.gfa.gz"), sequences=False)
        if layout_name is None:
            layout = path_sgd_layout(graph, seed=1, n_iterations=10, n_threads=1, backend="cpu")
        else:
            layout = read_layout(find_real_data(f"layouts/{layout_name}"), graph)
        for weighting in WEIGHTINGS:
            exact, n_held, width = count_held(
                graph, layout, weighting, samples_per_step * graph.n_steps, n_seeds
            )
            print(
                f"{name:14} {weighting:6} exact {exact:<10.5g} held {n_held} of {n_seeds}"
                f" ({n_held / n_seeds:.1%}), half width {width:.2%}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
