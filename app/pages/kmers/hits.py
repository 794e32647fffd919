"""Where a k-mer is: on the contigs of a genome, or on the paths of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_hits import locate_kmer
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.analyses.sequences.pangenome_queries import locate_on_paths
from genoviz_app.opening.index_data import BuiltIndex

MAX_LOCATED = 20_000_000


@dataclass(frozen=True, eq=False)
class GenomeAxis:
    """What hits lie on: contigs or paths, one after the other.

    Attributes
    ----------
    names
        Their names.
    lengths
        int64, shape (n,), bp.
    offsets
        int64, shape (n + 1,): where each begins when all are in a row.
    """

    names: Sequence[str]
    lengths: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, built: BuiltIndex) -> GenomeAxis:
        """Return the contigs of a genome, or the paths of a graph."""
        if built.graph is not None:
            names, lengths = built.graph.path_names, built.graph.path_lengths
        else:
            names, lengths = built.index.text.contig_names, built.index.text.contig_lengths
        return cls(names, lengths, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @property
    def total(self) -> int:
        """Length of all, bp."""
        return int(self.offsets[-1])


@dataclass(frozen=True, eq=False)
class HitSet:
    """The hits of one k-mer; in the order of the genome, unless there are very many.

    Attributes
    ----------
    kmer
        What was looked for.
    n_hits
        How many hits there are; more than are here when `is_cut`.
    ids
        int32, shape (n,): contig or path of each.
    starts
        int64, shape (n,): its first base, 0-based.
    strands
        int8, shape (n,): 1 forward, -1 reverse.
    forward, reverse
        int64, ascending: first bases of the hits of a strand, of all contigs in a row.
    node_offsets, nodes
        Of a graph: hit ``i`` is on ``nodes[node_offsets[i] : node_offsets[i + 1]]``.
    """

    kmer: Kmer
    n_hits: int
    ids: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    node_offsets: np.ndarray | None = None
    nodes: np.ndarray | None = None

    @property
    def is_cut(self) -> bool:
        """Whether there are more hits than were located."""
        return len(self.ids) < self.n_hits

    def __len__(self) -> int:
        return len(self.ids)


def find_hits(built: BuiltIndex, kmer: Kmer, strand: str) -> HitSet:
    """Return the hits of a k-mer."""
    if built.pangenome is not None:
        found = locate_on_paths(built.pangenome, kmer, strand=strand, limit=MAX_LOCATED)
        ids, nodes = found.paths, (found.node_offsets, found.nodes)
    else:
        found = locate_kmer(built.index, kmer, strand=strand, limit=MAX_LOCATED)
        ids, nodes = found.contig_ids, (None, None)
    joint, strands = GenomeAxis.of(built).offsets[ids] + found.starts, found.strands
    forward, reverse = (np.sort(joint[strands == sign]) for sign in (1, -1))
    return HitSet(kmer, int(found.n_hits), ids, found.starts, strands, forward, reverse, *nodes)


def bin_hits(positions: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return how many of the ascending positions are in each bin; int64, exact."""
    return np.diff(np.searchsorted(positions, edges))
