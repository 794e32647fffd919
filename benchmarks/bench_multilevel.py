"""Layouts from coarse to fine against path-guided SGD: seconds, and the stress that they come to.

Both are ours and run one after the other in one process, on the same threads or the same GPU; the
seconds are those of the layout alone (`LayoutSnapshot.seconds`), for the coarse views too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.run import LayoutSnapshot
from genoviz.analyses.graph.layout.stress import sampled_path_stress
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


def measure(backend: str) -> list[Row]:
    """Return a row for each real graph: its seconds, and both stresses in the note."""
    rows = []
    for name, file in GRAPHS.items():
        path = find_real_data(f"gfa/{file}.gfa.gz")
        if path is None:
            continue
        graph = read_gfa(path, sequences=False, cache=False)
        ours, peer = (
            _lay_out(graph, method, backend)
            for method in (iter_multilevel_layout, iter_path_sgd_layout)
        )
        rows.append(
            make_row(
                TITLE,
                name,
                ours=ours[0],
                peer=peer[0],
                unit="s",
                higher_is_better=False,
                note=f"median of 5 seeds; path stress {ours[1]} instead of {peer[1]}",
                in_readme=name == "MHC_4",
            )
        )
    return rows


def _lay_out(graph: PangenomeGraph, method: Callable, backend: str) -> tuple[float, str]:
    """Return the median of the seconds, and the stress of all seeds in words."""

    def run(seed: int) -> LayoutSnapshot:
        *_, final = method(graph, seed=seed, slice_seconds=None, backend=backend)
        return final

    run(0)  # compiles, and loads what is compiled
    finals = [run(seed) for seed in SEEDS]
    stress = [
        sampled_path_stress(graph, final.layout, seed=1, backend=backend).mean for final in finals
    ]
    words = f"{statistics.median(stress):.3g} ({min(stress):.3g} to {max(stress):.3g})"
    return statistics.median(final.seconds for final in finals), words
