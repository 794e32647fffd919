"""``python -m genoviz_app.warm_up [PART...]``: compile the kernels in advance.

Numba caches compiled code beside the sources. Without this, the first layout, picture, search and
scan of an installation each take some seconds longer.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from genoviz.analyses.genotypes.association.scan import associate
from genoviz.analyses.genotypes.components import principal_components
from genoviz.analyses.genotypes.linkage import linkage
from genoviz.analyses.genotypes.prediction.snp_blup import snp_blup
from genoviz.analyses.genotypes.relationships import relationship_matrix
from genoviz.analyses.genotypes.sample_statistics import sample_statistics
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.analyses.graph.layout.guides import guide_graph
from genoviz.analyses.graph.layout.multilevel import multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.picture.colouring import MODES, ColourChoice, make_colouring
from genoviz.analyses.graph.picture.detail import find_detail
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, MarkLayer
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.analyses.graph.query.path_positions import find_node_visits, locate_position
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.analyses.graph.query.statistics import graph_statistics
from genoviz.analyses.graph.sites.search import find_sites
from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.intervals.coverage_index import CoverageIndex
from genoviz.analyses.intervals.signal_index import SignalIndex
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.offtargets.summaries import summarise_guides
from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.sequences.kmer_hits import locate_kmer
from genoviz.analyses.sequences.kmer_queries import count_kmers
from genoviz.analyses.sequences.kmer_repeats import make_kmer_repeats
from genoviz.analyses.sequences.pangenome_index import build_pangenome_index
from genoviz.analyses.sequences.pangenome_queries import count_per_path, locate_on_paths
from genoviz.analyses.simulation.genotypes import (
    drop_genotypes,
    simulate_genotypes,
    simulate_pedigree,
)
from genoviz.analyses.simulation.traits import simulate_trait
from genoviz.generators import last_of
from genoviz.io.genotypes.reader import read_genotypes
from genoviz.io.graph.gbz import read_gbz
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.sequences.reader import iter_read_sequences
from genoviz.model import GraphLayout, Intervals, PangenomeGraph
from genoviz.numba_start import on_one_piece
from genoviz.samples import get_sample

SIZE = (320, 200)
N_COPIES = 200  # smaller drawings do not use several threads


def warm_up_graphs() -> None:
    """Lay a graph out, draw it and look things up in it; read it as GBZ; count intervals."""
    graph = read_gfa(get_sample("simulated"), cache=False)
    for copies in (True, False):
        steps = iter_path_sgd_layout(
            graph,
            n_iterations=2,
            stress_samples=100,
            slice_seconds=0.05,
            copies=copies,
            backend="cpu",
        )
        last = last_of(steps)
    multilevel_layout(graph, n_rounds=2, backend="cpu")
    no_steps = {"steps": graph.steps[:0], "path_offsets": graph.path_offsets[:1]}
    guide_graph(replace(graph, path_names=(), walks=None, **no_steps))
    with tempfile.TemporaryDirectory(prefix="genoviz-") as folder:
        write_gbz(graph, path := Path(folder, "graph.gbz"))
        read_gbz(path, cache=False)
    draw(graph, last.coordinates)
    explore(graph)
    count()


def warm_up_sequences() -> None:
    """Search guides and k-mers in a genome, and k-mers on paths.

    May run next to a process that compiles the graph functions, so what both need comes last.
    """
    search_guides()
    search_genome()
    search_paths()


def draw(graph: PangenomeGraph, coordinates: np.ndarray) -> None:
    """Draw a layout whole, folded, near by, in all colours and with a mark."""
    drawing = LayoutDrawing(coordinates, backend="cpu")
    view = Viewport.fit(drawing.bounds, *SIZE)
    mark = MarkLayer(np.arange(9), 250)
    layout = GraphLayout(coordinates.copy())
    for mode in MODES:
        if mode not in ("annotation", "table"):
            colouring = make_colouring(graph, ColourChoice(mode), layout=layout)
            coloured = drawing.with_node_values(colouring.node_values)
            coloured.draw(view, **colouring.options, marks=(mark,))
    large = LayoutDrawing(np.tile(coordinates, (N_COPIES, 1, 1)), backend="cpu")
    large = large.with_node_values(np.tile(graph.node_lengths, N_COPIES).astype(np.float32))
    for by in ("count", "mean", "max"):
        large.draw(view, by=by, marks=(mark,))
    large.count_visible(view)
    fold = Fold(drawing.bounds, *SIZE, n_rows=3)
    plane = Viewport.fit(fold.bounds, *SIZE)
    drawing.with_coordinates(coordinates, live=True).draw(plane, fold=fold)
    drawing.nearest(view.x_min, view.y_min, 8, viewport=view)
    find_detail(graph, drawing, view.zoomed(50))


def explore(graph: PangenomeGraph) -> None:
    """Look nodes, positions, sites and statistics up."""
    locate_position(graph, 0, 100)
    find_node_visits(graph, np.arange(3))
    PathProfile.of(graph, 0).bins(0, 1000, n_bins=50)
    find_sites(graph, 0)
    graph_statistics(graph)


def count() -> None:
    """Count intervals."""
    exons, reads = (read_intervals(get_sample(name)) for name in ("exons", "reads"))
    for method in ("sweep", "merge", "search"):
        count_overlaps(exons, reads, method=method, backend="cpu")
    index = CoverageIndex.of(reads)
    edges = np.linspace(0, 1000, 20).astype(np.int64)
    index.bins(reads.contigs[0], edges)
    index.steps(reads.contigs[0], 0, 1000)
    index.depths_at(reads.contigs[0], edges)
    signal = Intervals.from_columns(["c", "c"], [0, 10], [10, 30], scores=[1, 4])
    SignalIndex.of(signal).bins("c", edges)


def search_genome() -> None:
    """Index sequences, and search k-mers in them."""
    last = last_of(iter_read_sequences(get_sample("genome")))
    index = build_fm_index(last.sequences, backend="cpu")
    for strand in ("forward", "canonical"):
        count_kmers(index, ["GATTACA", "RYN", "ACGT" * 20], strand=strand, backend="cpu")
        repeats = make_kmer_repeats(index, backend="cpu")
        repeats.track(5, strand).bins(0, np.arange(0, 1000, 100))
        repeats.kmers_with(5, 1, 9, strand=strand)
    repeats.distinct(50)
    locate_kmer(index, "GATTACA", backend="cpu")


def search_paths() -> None:
    """Index the paths of a graph, and search k-mers in them."""
    graph = read_gfa(get_sample("simulated"), cache=False)
    pangenome = build_pangenome_index(graph, backend="cpu")
    count_per_path(pangenome, ["GATTACA"], backend="cpu")
    locate_on_paths(pangenome, "GATTACA", backend="cpu")


def search_guides() -> None:
    """Search guides in a genome, with and without bulges, and score their hits."""
    last = last_of(iter_read_sequences(get_sample("genome")))
    planes = make_genome_planes(last.sequences)
    pattern, guide = "N" * 20 + "NGG", "GACCTGTCGCTGACGCATTCNNN"
    for method in ("dense", "pam_first"):
        hits = find_offtargets(
            [guide] * 5, planes, pattern, max_mismatches=6, dna_bulge=1, rna_bulge=1,
            method=method, backend="cpu",
        )  # fmt: skip
    summarise_guides(hits)


def warm_up_genotypes() -> None:
    """Count genotypes, relate samples, and test a trait for association."""
    founders = simulate_genotypes(9, 40, missing_rate=0.1)
    simulate_trait(drop_genotypes(simulate_pedigree(9, 2), founders), n_causal=5, backend="cpu")
    genotypes = read_genotypes(get_sample("genotypes"))
    variant_statistics(genotypes, backend="cpu")
    sample_statistics(genotypes, backend="cpu")
    genotypes = select_samples(genotypes, np.arange(100))
    scores = principal_components(genotypes, n_components=2, backend="cpu").scores
    relationship_matrix(genotypes, backend="cpu")
    associate(genotypes, scores[:, 0], covariates=scores[:, 1:], backend="cpu")
    linkage(genotypes, np.arange(9))
    snp_blup(genotypes, scores[:, 0], max_iterations=3, backend="cpu")


PARTS = {
    "graphs": warm_up_graphs,
    "sequences": warm_up_sequences,
    "genotypes": warm_up_genotypes,
}


def main(parts: list[str]) -> None:
    """Run a little of everything, or of the named parts, on the CPU."""
    # The compiler creates many long-lived small objects; default garbage collection costs a sixth.
    gc.set_threshold(200_000)
    for part in parts or PARTS:
        on_one_piece(PARTS[part])()


if __name__ == "__main__":
    main(sys.argv[1:])
