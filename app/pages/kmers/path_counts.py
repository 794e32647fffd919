"""How often k-mers are on each path of a graph or contig of a genome, and that as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from genoviz.analyses.sequences.kmer_hits import MAX_SORTED, locate_kmers
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.analyses.sequences.pangenome_queries import count_per_path
from genoviz_app.opening.index_data import BuiltIndex
from genoviz_app.pages.kmers.counting import CountAnswer
from genoviz_app.pages.kmers.hits import GenomeAxis

MAX_KMERS, MAX_CELLS, MAX_HITS = 500, 1 << 22, 1 << 24


def iter_path_counts(
    built: BuiltIndex, answer: CountAnswer, n_kmers: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the first k-mers of an answer, some at a time, and how often each path has them.

    The counts are int64, shape (n_kmers, n_paths) of those at hand; contigs are the paths of a
    genome. All hits are counted, however many there are.
    """
    n_paths = len(GenomeAxis.of(built).names)
    n_most = max(1, min(MAX_KMERS, MAX_CELLS // max(n_paths, 1)))
    ends = np.cumsum(answer.counts)
    first = 0
    while first < n_kmers:
        n_before = int(ends[first - 1]) if first else 0
        fitting = int(np.searchsorted(ends, n_before + MAX_HITS, side="right"))
        stop = min(max(fitting, first + 1), first + n_most, n_kmers)
        kmers = answer.kmers[first:stop]
        if built.pangenome is not None:
            yield slice(first, stop), count_per_path(built.pangenome, kmers, strand=answer.strand)
        else:
            yield slice(first, stop), _count_on_contigs(built, kmers, answer.strand)
        first = stop


def _count_on_contigs(built: BuiltIndex, kmers: tuple[Kmer, ...], strand: str) -> np.ndarray:
    n_contigs = built.index.text.n_contigs
    counts = np.zeros(len(kmers) * n_contigs, np.int64)
    n_done, n_hits = 0, 1
    while n_done < n_hits:
        found = locate_kmers(built.index, kmers, strand=strand, limit=MAX_SORTED, offset=n_done)
        cells = found.kmer_ids * n_contigs + found.contig_ids
        counts += np.bincount(cells, minlength=len(counts))
        n_done, n_hits = n_done + len(found), found.n_hits
    return counts.reshape(len(kmers), n_contigs)


def write_path_counts(path: Path, built: BuiltIndex, answer: CountAnswer) -> None:
    """Write the counts of all k-mers on all paths or contigs as TSV."""
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(["name", "kmer", "hits", *GenomeAxis.of(built).names]) + "\n")
        for rows, counts in iter_path_counts(built, answer, len(answer.kmers)):
            totals = answer.counts[rows].tolist()
            for kmer, total, row in zip(answer.kmers[rows], totals, counts.tolist(), strict=True):
                name = kmer.name.replace("\t", " ") or "."
                file.write("\t".join([name, kmer.letters, str(total), *map(str, row)]) + "\n")
