"""Finding variation sites: superbubbles along a reference path, and the alleles of all paths."""

from __future__ import annotations

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz import read_gfa, simulate_pangenome
from genoviz.analyses.graph.sites.search import find_sites
from genoviz.model import PangenomeGraph

TABLE = "Variation sites along the first path, on the CPU"
REAL_GRAPHS = ("MHC_4", "hprc_RHCE", "hprc_chrY.noseq")
SIMULATED = {"a million nodes, 20 paths, simulated": (1_000_000, 20)}


def measure(backend: str) -> list[Row]:
    """Return the seconds of the search; there is no kernel for a GPU."""
    if backend != "cpu":
        return []
    rows = []
    for name in REAL_GRAPHS:
        path = find_real_data(f"gfa/{name}.gfa.gz")
        if path is not None:
            rows.append(_measure(name, read_gfa(path, sequences=False)))
    for name, (n_nodes, n_paths) in SIMULATED.items():
        rows.append(_measure(name, simulate_pangenome(n_nodes, n_paths, seed=1)))
    return rows


def _measure(name: str, graph: PangenomeGraph) -> Row:
    sites = find_sites(graph, 0)
    seconds = median_seconds(lambda: find_sites(graph, 0))
    size = f"{graph.n_nodes:,} nodes, {graph.n_steps:,} steps"
    return make_row(
        TABLE,
        f"{name} ({size})",
        ours=seconds,
        unit="s",
        higher_is_better=False,
        note=f"{len(sites):,} sites, {len(sites.allele_counts):,} alleles; "
        "bound by one pass over all steps in one thread",
    )
