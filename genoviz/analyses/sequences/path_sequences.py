"""Search for sequences of any length on the paths of a graph, in pieces if they are long.

An index of paths finds up to ``max_k`` bases at once. A longer sequence occurs where all its pieces
occur at the right distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.graph.query.hit_nodes import find_nodes
from genoviz.analyses.graph.query.path_places import (
    PathHits,
    count_few_per_path,
    locate_few_on_paths,
)
from genoviz.analyses.sequences.kmers import MAX_BRANCHES, STRANDS, Kmer
from genoviz.backend import Backend
from genoviz.errors import check_choice
from genoviz.model.sequences.bases import reverse_complement
from genoviz.model.sequences.pangenome_index import PangenomeIndex

if TYPE_CHECKING:
    from genoviz.analyses.sequences.kmer_queries import KmerStrands

_SHIFT = 40  # no path is longer than 2^40 bases


def locate_sequence(
    pangenome: PangenomeIndex,
    sequence: str | Kmer,
    *,
    strand: KmerStrands = "both",
    limit: int | None = None,
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> PathHits:
    """Locate a sequence of any length on paths; otherwise as `locate_on_paths`.

    A sequence of more than ``max_k`` bases takes the time of its pieces, so a purely repetitive one
    is slow. A short sequence with few hits needs no compiled code.
    """
    options = {"max_branches": max_branches, "backend": backend}
    letters = sequence.letters if isinstance(sequence, Kmer) else sequence
    if backend != "cuda" and strand in STRANDS and (limit is None or limit >= 0):
        few = locate_few_on_paths(pangenome, [Kmer(letters)], strand=strand, limit=limit)
        if few is not None:
            return few[0]
    from genoviz.analyses.sequences.pangenome_queries import locate_on_paths

    if len(letters) <= pangenome.max_k:
        return locate_on_paths(pangenome, letters, strand=strand, limit=limit, **options)
    check_choice("strand", strand, STRANDS)
    one = letters.upper().replace("U", "T")
    other = reverse_complement(np.frombuffer(one.encode("latin-1", "replace"), np.uint8))
    one, other = one, other.tobytes().decode("latin-1")
    if strand == "canonical":
        one, other = min(one, other), max(one, other)
    here = _find_places(pangenome, one, options)
    there = np.empty(0, np.int64)
    if strand != "forward":
        there = np.setdiff1d(_find_places(pangenome, other, options), here, assume_unique=True)
    places = np.concatenate([here, there])
    order = np.argsort(places)[:limit]
    strands = np.where(order < len(here), 1, -1).astype(np.int8)
    paths, starts = places[order] >> _SHIFT, places[order] & ((1 << _SHIFT) - 1)
    nodes = find_nodes(pangenome.graph, paths, starts, len(letters))
    return PathHits(len(places), paths.astype(np.int32), starts, strands, *nodes, True)


def count_sequences(
    pangenome: PangenomeIndex,
    sequences: Sequence[str | Kmer],
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> np.ndarray:
    """Return the count of each sequence, of any length, on each path; as `count_per_path`."""
    options = {"strand": strand, "max_branches": max_branches, "backend": backend}
    letters = [each.letters if isinstance(each, Kmer) else each for each in sequences]
    if backend != "cuda" and strand in STRANDS:
        few = count_few_per_path(pangenome, [Kmer(each) for each in letters], strand=strand)
        if few is not None:
            return few
    from genoviz.analyses.sequences.pangenome_queries import count_per_path

    is_long = np.array([len(each) > pangenome.max_k for each in letters], bool)
    if not is_long.any():
        return count_per_path(pangenome, sequences, **options)
    n_paths = pangenome.graph.n_paths
    counts = np.zeros((len(letters), n_paths), np.int64)
    short = np.flatnonzero(~is_long).tolist()
    if short:
        counts[short] = count_per_path(pangenome, [letters[row] for row in short], **options)
    for row in np.flatnonzero(is_long).tolist():
        hits = locate_sequence(pangenome, letters[row], **options)
        counts[row] = np.bincount(hits.paths, minlength=n_paths)
    return counts


def _find_places(pangenome: PangenomeIndex, letters: str, options: dict) -> np.ndarray:
    """Return path and position, packed into one integer, of all matches; ascending."""
    from genoviz.analyses.sequences.pangenome_queries import locate_on_paths

    k, n = pangenome.max_k, len(letters)
    found: np.ndarray | None = None
    for offset in chain(range(0, n - k, k), [n - k]):
        piece = letters[offset : offset + k]
        hits = locate_on_paths(pangenome, piece, strand="forward", **options)
        is_inside = hits.starts >= offset
        places = hits.paths[is_inside].astype(np.int64) << _SHIFT
        places = np.sort(places | (hits.starts[is_inside] - offset))
        found = places if found is None else np.intersect1d(found, places, assume_unique=True)
        if not len(found):
            break
    return found
