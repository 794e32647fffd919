"""Hits of k-mers on the paths of a graph, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genoviz.cli.progress import ProgressBar
from genoviz.cli.results import print_notes
from genoviz.cli.sequences.kmer_index import kmer_labels, open_pangenome

if TYPE_CHECKING:
    from genoviz.analyses.sequences.kmers import Kmer
    from genoviz.analyses.sequences.pangenome_queries import PathHits
    from genoviz.model import PangenomeGraph

_SIGNS = {1: "+", -1: "-"}


def path_hit_lines(
    path: Path,
    kmers: tuple[Kmer, ...],
    bar: ProgressBar,
    limit: int | None,
    bed: bool,
    options: dict[str, Any],
) -> Iterator[str]:
    """Return the lines of the hits of k-mers on the paths of a graph."""
    from genoviz.analyses.sequences.pangenome_queries import locate_on_paths

    pangenome = open_pangenome(path, bar, kmers, backend=options["backend"])
    found, n_left, n_hits = [], limit, 0
    for kmer in kmers:
        hits = locate_on_paths(pangenome, kmer, limit=n_left, **options)
        found.append(hits)
        n_hits += hits.n_hits
        n_left = None if n_left is None else n_left - len(hits.starts)
    n_given = sum(len(hits.starts) for hits in found)
    if n_given < n_hits:
        print_notes(f"{n_given:,} of {n_hits:,} hits are given (--limit)")
    return _lines(pangenome.graph, kmers, found, bed)


def _lines(
    graph: PangenomeGraph, kmers: tuple[Kmer, ...], found: list[PathHits], bed: bool
) -> Iterator[str]:
    if not bed:
        yield "\t".join(["#name", "kmer", "path", "start", "end", "strand", "nodes"])
    for kmer, label, hits in zip(kmers, kmer_labels(kmers), found, strict=True):
        name = (kmer.name or kmer.letters).replace("\t", " ")
        rows = zip(hits.paths.tolist(), hits.starts.tolist(), hits.strands.tolist(), strict=True)
        for row, (path, start, sign) in enumerate(rows):
            place = f"{graph.path_names[path]}\t{start}\t{start + len(kmer.letters)}"
            if bed:
                yield f"{place}\t{name}\t0\t{_SIGNS[sign]}"
                continue
            nodes = hits.nodes[hits.node_offsets[row] : hits.node_offsets[row + 1]].tolist()
            names = ",".join(graph.node_names[node] for node in nodes)
            yield f"{label}\t{place}\t{_SIGNS[sign]}\t{names}"
