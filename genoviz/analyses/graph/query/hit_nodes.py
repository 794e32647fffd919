"""Nodes under path stretches of equal length, such as the hits of a k-mer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np

from genoviz.model import PangenomeGraph
from genoviz.model.columns import expand_counts
from genoviz.model.graph.indexes import FEW_PLACES


class Hits(Protocol):
    """Stretches of paths of one length; see `PathHits`."""

    paths: np.ndarray
    starts: np.ndarray
    strands: np.ndarray


def find_nodes(
    graph: PangenomeGraph, paths: np.ndarray, starts: np.ndarray, n_bases: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of path stretches.

    Parameters
    ----------
    graph
        The graph.
    paths, starts
        Integers, shape (n,): path and first base of each stretch, which lies on the path.
    n_bases
        Length of all stretches, at least 1.

    Returns
    -------
    offsets, nodes
        int64, shape (n + 1,), and int32: stretch ``i`` covers ``nodes[offsets[i] :
        offsets[i + 1]]``, in path order; empty nodes are left out.
    """
    offsets, handles, _ = find_walks(graph, paths, starts, n_bases)
    return offsets, (handles >> 1).astype(np.int32)


def find_walks(
    graph: PangenomeGraph, paths: np.ndarray, starts: np.ndarray, n_bases: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the handles of path stretches, like `find_nodes`.

    Returns
    -------
    offsets, handles, shifts
        int64, shape (n + 1,), uint32, and int64, shape (n,): offset of each stretch within its
        first node, in path direction.
    """
    offsets = np.zeros(len(paths) + 1, np.int64)
    if len(paths) == 0:
        return offsets, np.empty(0, np.uint32), np.empty(0, np.int64)
    firsts = graph.position_index.steps_at(paths, starts)
    positions = graph.position_index.positions_of(firsts)
    if len(paths) <= FEW_PLACES:
        n_steps = graph.position_index.steps_at(paths, starts + n_bases - 1) + 1 - firsts
        owners, within = expand_counts(n_steps)
        handles = graph.steps[firsts[owners] + within]
        has_bases = graph.node_lengths[handles >> 1] > 0
        np.cumsum(np.bincount(owners[has_bases], minlength=len(paths)), out=offsets[1:])
        return offsets, handles[has_bases], starts - positions
    from genoviz.model.graph_loops import count_nodes, fill_handles

    count_nodes(graph.steps, graph.node_lengths, firsts, starts + n_bases - positions, offsets)
    np.cumsum(offsets, out=offsets)
    handles = np.empty(offsets[-1], np.uint32)
    fill_handles(graph.steps, graph.node_lengths, firsts, offsets, handles)
    return offsets, handles, starts - positions


def walk_texts(graph: PangenomeGraph, offsets: np.ndarray, handles: np.ndarray) -> list[str]:
    """Return walks in GAF notation: ``>12<13`` is node 12 forward, then 13 reverse."""
    names = graph.node_names
    steps = [f"{'<' if handle & 1 else '>'}{names[handle >> 1]}" for handle in handles.tolist()]
    return ["".join(steps[first:stop]) for first, stop in pairwise(offsets.tolist())]


def iter_gaf_lines(graph: PangenomeGraph, name: str, n_bases: int, hits: Hits) -> Iterator[str]:
    """Yield GAF lines of hits of one length, one line per place in the graph.

    Walks are oriented so that they read the query. Tag ``ph:i`` is the number of hits at a place,
    and ``cg:Z`` says that all bases match.

    References
    ----------
    GAF, https://github.com/lh3/gfatools/blob/master/doc/rGFA.md#the-graph-alignment-format-gaf
    """
    offsets, handles, shifts = find_walks(graph, hits.paths, hits.starts, n_bases)
    places: dict[tuple[bytes, int], int] = {}
    for row, (first, stop) in enumerate(pairwise(offsets.tolist())):
        walk, shift = handles[first:stop], int(shifts[row])
        if hits.strands[row] < 0:
            shift = int(graph.node_lengths[walk >> 1].sum()) - shift - n_bases
            walk = walk[::-1] ^ np.uint32(1)
        place = (walk.tobytes(), shift)
        places[place] = places.get(place, 0) + 1
    for (walk, shift), n_hits in places.items():
        handles = np.frombuffer(walk, np.uint32)
        (text,) = walk_texts(graph, np.array([0, len(handles)]), handles)
        length = int(graph.node_lengths[handles >> 1].sum())
        query = f"{name}\t{n_bases}\t0\t{n_bases}\t+"
        target = f"{text}\t{length}\t{shift}\t{shift + n_bases}\t{n_bases}\t{n_bases}\t255"
        yield f"{query}\t{target}\tcg:Z:{n_bases}=\tph:i:{n_hits}"
