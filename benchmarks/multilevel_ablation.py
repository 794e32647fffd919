"""What each part of the layout from coarse to fine contributes: the method without one at a time.

    python -m benchmarks.multilevel_ablation DRB1-3123 chr6.C4 LPA MHC_4

prints a table for `docs/layout.md`: for each part left out and each graph, the median of the
updates a step and of the sampled path stress by steps of three seeds, and of the torn joints.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence

from benchmarks.real_data import find_real_data
from genoviz.analyses.graph.layout.defects import count_defects
from genoviz.analyses.graph.layout.levels import MultilevelDesign
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.stress import sampled_path_stress
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PangenomeGraph

SEEDS = range(3)
NO_DRAWN = (1, 2, 4, 8)
PARTS = {
    "whole method": MultilevelDesign(),
    "one view": MultilevelDesign(max_levels=1, finest_jumps=(1, 2, 4, 0, 0)),
    "two views": MultilevelDesign(max_levels=2),
    "no drawn jumps": MultilevelDesign(coarsest_jumps=NO_DRAWN, coarse_jumps=(NO_DRAWN,)),
    "drawn jumps alone": MultilevelDesign(
        coarsest_jumps=(0,) * 5, coarse_jumps=((0,) * 5,), finest_jumps=(0, 0)
    ),
    "more sweeps of coarse views": MultilevelDesign(coarse_jumps=((1, 2, 4, 0, 0),)),
    "no turns": MultilevelDesign(coarse_jumps=((1, 2, 0),)),
    "no rounds between": MultilevelDesign(rounds_between=False),
    "points not placed": MultilevelDesign(places_points=False),
    "placed on the line": MultilevelDesign(noise=0.0),
    "sweeps over all records": MultilevelDesign(visits=10**9),
}


def measure(graph: PangenomeGraph, part: str) -> tuple[float, float, float]:
    """Return updates a step, stress and torn joints without a part: medians of the seeds."""
    rows = []
    for seed in SEEDS:
        *_, final = iter_multilevel_layout(graph, seed=seed, slice_seconds=None, design=PARTS[part])
        stress = sampled_path_stress(graph, final.layout, seed=1, samples_per_step=30)
        n_torn = count_defects(graph, final.layout).n_torn
        rows.append((final.n_updates / graph.n_steps, stress.mean, n_torn))
    return tuple(statistics.median(column) for column in zip(*rows, strict=True))


def iter_rows(names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table."""
    graphs = {}
    for name in names:
        path = find_real_data(f"gfa/{name}.gfa.gz")
        if path is None:
            raise SystemExit(f"{name} is not here; see genoviz samples")
        graphs[name] = read_gfa(path, sequences=False, cache=False)
    yield "| " + " | ".join(["", *graphs]) + " |"
    yield "|---" * (len(graphs) + 1) + "|"
    for part in PARTS:
        cells = []
        for graph in graphs.values():
            updates, stress, n_torn = measure(graph, part)
            cells.append(f"{updates:.0f}, {stress:.4g}, {n_torn:,.0f}")
        yield "| " + " | ".join([part, *cells]) + " |"


if __name__ == "__main__":
    for line in iter_rows(sys.argv[1:] or ["DRB1-3123", "chr6.C4", "LPA", "MHC_4"]):
        print(line, flush=True)
