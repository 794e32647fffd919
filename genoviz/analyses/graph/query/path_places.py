"""Places of k-mers on the paths of a graph; for a few k-mers, without compiled code.

Loading Numba takes about half a second, which dominates a single look-up from the shell. Here rows
of the index are found as in `count_few`, and the rest is NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.query.hit_nodes import find_nodes
from genoviz.analyses.sequences.kmers import (
    Kmer,
    are_few,
    find_few_rows,
    locate_few_rows,
    turn,
)
from genoviz.model.columns import expand_counts
from genoviz.model.sequences.pangenome_index import PangenomeIndex

FORWARD, REVERSE, BOTH = 0, 1, 2
MAX_SORTED = 1 << 22
_UNITS_PER_BATCH = 1 << 16
_FEW_ROWS, _FEW_PLACES = 2_000, 50_000
"""Limits on rows, LF steps and places below which NumPy is faster."""


@dataclass(frozen=True, eq=False)
class UnitHits:
    """Positions within units at which k-mers start, along the walk.

    Attributes
    ----------
    kmers
        int64, shape (n,): index of the k-mer.
    units, offsets
        int64, shape (n,): the unit, and the position within it, bp.
    sides
        int8, shape (n,): whether the k-mer (0), its reverse complement (1) or both occur there.
    """

    kmers: np.ndarray
    units: np.ndarray
    offsets: np.ndarray
    sides: np.ndarray


def units_of(
    pangenome: PangenomeIndex, positions: np.ndarray, kmers: np.ndarray, sides: np.ndarray
) -> UnitHits:
    """Return the hits that start within units, from text positions; int64, (n,)."""
    text = pangenome.index.text
    places = text.locate(positions)
    joint = text.contig_offsets[places.contig_ids] + places.starts
    units = np.searchsorted(pangenome.unit_starts, joint, side="right") - 1
    offsets = joint - pangenome.unit_starts[units]
    # Bases after a unit belong to other units too, so hits there are not counted.
    is_own = offsets < pangenome.shared.lengths[units]
    return UnitHits(kmers[is_own], units[is_own], offsets[is_own], sides[is_own])


@dataclass(frozen=True, eq=False)
class PathHits:
    """A page of the places of a k-mer on paths.

    Attributes
    ----------
    n_hits
        Total number on all paths.
    paths
        int32, shape (n,): index of the path.
    starts
        int64, shape (n,): leftmost base, whichever strand; 0-based, bp along the path.
    strands
        int8, shape (n,): 1 if the path reads the k-mer, -1 for its reverse complement.
    node_offsets
        int64, shape (n + 1,): hit ``i`` covers the nodes ``nodes[node_offsets[i] :
        node_offsets[i + 1]]``.
    nodes
        int32: nodes in path order.
    is_sorted
        Whether hits are sorted by path and position; they are not beyond 4,194,304 in total.
    """

    n_hits: int
    paths: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    node_offsets: np.ndarray
    nodes: np.ndarray
    is_sorted: bool


def fill_places(
    pangenome: PangenomeIndex,
    hits: UnitHits,
    k: int,
    strand: str,
    at: int,
    paths: np.ndarray,
    starts: np.ndarray,
    strands: np.ndarray,
) -> None:
    """Store the places of hits from index ``at`` on, until the arrays are full."""
    graph, shared = pangenome.graph, pangenome.shared
    for first in range(0, len(hits.units), _UNITS_PER_BATCH):
        if at >= len(paths):
            return
        batch = slice(first, first + _UNITS_PER_BATCH)
        units = hits.units[batch]
        n_steps = shared.stand_offsets[units + 1] - shared.stand_offsets[units]
        if strand != "forward" and at + int(n_steps.sum()) <= 0:
            at += int(n_steps.sum())
            continue
        rows, within = expand_counts(n_steps)
        steps = shared.stand_steps[shared.stand_offsets[units][rows] + within]
        step_paths = np.searchsorted(graph.path_offsets, steps, side="right") - 1
        is_turned, sides = shared.is_turned[step_paths], hits.sides[batch][rows]
        is_plus = (sides == BOTH) | ((sides == FORWARD) != is_turned)
        if strand == "forward":
            steps, step_paths, rows = steps[is_plus], step_paths[is_plus], rows[is_plus]
            is_turned, is_plus = is_turned[is_plus], is_plus[is_plus]
        keep = slice(max(-at, 0), max(len(paths) - at, 0))
        steps, step_paths, rows = steps[keep], step_paths[keep], rows[keep]
        is_turned = is_turned[keep]
        inside = shared.shifts[units[rows]] + hits.offsets[batch][rows]
        lengths = graph.node_lengths[graph.steps[steps] >> 1]
        inside = np.where(is_turned, lengths - inside - k, inside)
        to = slice(max(at, 0), max(at, 0) + len(steps))
        paths[to] = step_paths
        starts[to] = graph.position_index.positions_of(steps) + inside
        strands[to] = np.where(is_plus[keep], 1, -1)
        at += len(is_plus)


def count_few_per_path(
    pangenome: PangenomeIndex, kmers: Sequence[Kmer], *, strand: str = "both"
) -> np.ndarray | None:
    """Return the result of `count_per_path`; None if there are too many k-mers or places."""
    found = _find_few(pangenome, kmers)
    if found is None:
        return None
    n_paths = pangenome.graph.n_paths
    counts = np.zeros((len(kmers), n_paths), np.int64)
    for number, (hits, n) in enumerate(found):
        paths, _, _ = _places_of(pangenome, hits, n, len(kmers[number].letters), strand)
        counts[number] = np.bincount(paths, minlength=n_paths)
    return counts


def locate_few_on_paths(
    pangenome: PangenomeIndex,
    kmers: Sequence[Kmer],
    *,
    strand: str = "both",
    limit: int | None = None,
) -> list[PathHits] | None:
    """Return the result of `locate_on_paths` for each k-mer; None if there are too many.

    ``limit`` is the maximum number of hits over all k-mers.
    """
    if strand == "canonical":
        kmers = [Kmer(min(kmer.letters, turn(kmer.letters)), kmer.name) for kmer in kmers]
    found = _find_few(pangenome, kmers)
    if found is None:
        return None
    answers = []
    for kmer, (hits, n) in zip(kmers, found, strict=True):
        k = len(kmer.letters)
        paths, starts, strands = _places_of(pangenome, hits, n, k, strand)
        order = np.lexsort([starts, paths])[:limit]
        limit = None if limit is None else limit - len(order)
        n_hits, paths, starts = len(paths), paths[order], starts[order]
        nodes = find_nodes(pangenome.graph, paths, starts, k)
        answers.append(
            PathHits(n_hits, paths.astype(np.int32), starts, strands[order], *nodes, True)
        )
    return answers


def _find_few(
    pangenome: PangenomeIndex, kmers: Sequence[Kmer]
) -> list[tuple[UnitHits, int]] | None:
    """Return the hits of each k-mer, and an upper bound of their places on paths."""
    if not are_few(kmers) or any(not 1 <= len(k.letters) <= pangenome.max_k for k in kmers):
        return None
    index, found, n_left = pangenome.index, [], _FEW_PLACES
    for kmer in kmers:
        turned = turn(kmer.letters)
        is_same = turned == kmer.letters
        here = find_few_rows(index, kmer.letters)
        there = range(0) if is_same else find_few_rows(index, turned)
        if len(here) + len(there) > _FEW_ROWS:
            return None
        positions = locate_few_rows(index, [*here, *there], _FEW_ROWS)
        if positions is None:
            return None
        sides = np.full(len(positions), BOTH if is_same else FORWARD, np.int8)
        sides[len(here) :] = REVERSE
        hits = units_of(pangenome, positions, np.zeros(len(positions), np.int64), sides)
        offsets = pangenome.shared.stand_offsets
        n_places = int((offsets[hits.units + 1] - offsets[hits.units]).sum())
        n_left -= n_places
        if n_left < 0:
            return None
        found.append((hits, n_places))
    return found


def _places_of(
    pangenome: PangenomeIndex, hits: UnitHits, n_places: int, k: int, strand: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return path, first base and strand of the places of hits."""
    paths, starts = np.full((2, n_places), -1, np.int64)
    strands = np.zeros(n_places, np.int8)
    fill_places(pangenome, hits, k, strand, 0, paths, starts, strands)
    is_there = strands != 0  # on the forward strand there may be fewer
    return paths[is_there], starts[is_there], strands[is_there]
