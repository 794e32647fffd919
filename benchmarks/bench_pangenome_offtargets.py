"""Off-targets on all paths of graphs at once, against a search of the paths as they are."""

from __future__ import annotations

import numpy as np

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz import PangenomeGraph, path_sequences, read_gfa
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.pangenome import find_offtargets_on_graph

TABLE = "Off-targets on the paths of graphs, against a search of all paths as they are, on the CPU"
GRAPHS = ("chr6.C4", "hprc_RHCE", "LPA", "DRB1-3123")
PATTERN = "N" * 21 + "GG"
N_GUIDES = 100
CASES = (("mm 4", {"max_mismatches": 4}), ("mm 3, bulges 1/1", {"max_mismatches": 3,
         "dna_bulge": 1, "rna_bulge": 1}))  # fmt: skip


def measure(backend: str) -> list[Row]:
    """Return times of searches, and the work that sharing saves."""
    if backend != "cpu":
        return []
    rows = []
    for name in GRAPHS:
        path = find_real_data(f"gfa/{name}.gfa.gz")
        if path is not None:
            rows += _measure(name, read_gfa(path, cache=False))
    return rows


def _measure(name: str, graph: PangenomeGraph) -> list[Row]:
    paths = path_sequences(graph)
    guides, rows = _draw_guides(paths.bases), []
    for case, options in CASES:
        options = {**options, "backend": "cpu"}
        found = find_offtargets_on_graph(graph, guides, PATTERN, **options)
        alone = find_offtargets(guides, paths, PATTERN, **options)
        if int(found.n_places.sum()) != len(alone):
            raise RuntimeError(f"{name}: {found.n_places.sum()} places, {len(alone)} hits")
        ours, peer = (
            median_seconds(lambda search=search, options=options: search(**options), n_runs=3)
            for search in (
                lambda **options: find_offtargets_on_graph(graph, guides, PATTERN, **options),
                lambda **options: find_offtargets(
                    guides, path_sequences(graph), PATTERN, **options
                ),
            )
        )
        note = (
            f"{found.n_bases_searched / 1e6:.2f} of {found.n_path_bases / 1e6:.2f} Mb are "
            f"searched, {found.sharing:.1f} times less; {len(found):,} sites at {len(alone):,} "
            "places, the same as the peer's; both begin with the graph in memory"
        )
        label = f"{name} ({graph.n_paths} paths), {len(guides)} guides NGG, {case}"
        rows.append(
            make_row(
                TABLE, label, ours=ours, peer=peer, unit="s", higher_is_better=False, note=note
            )
        )
    return rows


def _draw_guides(bases: np.ndarray) -> list[str]:
    """Return guides of sites of the paths."""
    is_site = (bases[21:-1] == ord("G")) & (bases[22:] == ord("G"))
    starts = np.random.default_rng(4).choice(np.flatnonzero(is_site), N_GUIDES, replace=False)
    words = [bases[start : start + 20].tobytes().decode() for start in starts]
    return [word + "NNN" for word in words if {*word} <= {*"ACGT"}]
