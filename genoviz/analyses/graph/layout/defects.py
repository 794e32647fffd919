"""Visible defects of a layout: torn joints, folds of paths and crossing nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.layout.near_stress import measure_joints
from genoviz.analyses.graph.layout.stress import check_layout
from genoviz.generators import iter_slices
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz.model.columns import distinct

CHORD_BP = 100
MAX_PAIRS = 10**10
FIRST_SEGMENTS = 1_000


@dataclass(frozen=True)
class LayoutDefects:
    """Counts of visible defects; compare them among layouts of one graph.

    Attributes
    ----------
    n_torn, n_joints
        Torn joints, as in `NearStress`, and all joints.
    n_folds, n_turns
        A path is divided into chords, each to the first start of a step at least 100 bp away. A
        turn is a pair of consecutive chords. A fold is a turn by more than 90 degrees.
    n_crossings
        Pairs of nodes whose lines cross, without pairs joined by a link; None if there are too
        many pairs to test.
    """

    n_torn: int
    n_joints: int
    n_folds: int
    n_turns: int
    n_crossings: int | None


def count_defects(
    graph: PangenomeGraph, layout: GraphLayout, *, chord_bp: int = CHORD_BP
) -> LayoutDefects:
    """Return the torn joints, the folds of paths, and the crossings of nodes.

    Raises
    ------
    ParameterError
        If the layout is of another graph.

    References
    ----------
    Purchase 2002, doi:10.1006/jvlc.2002.0232 (crossings and bends as measures of a drawing).
    """
    check_layout(graph, layout)
    lengths, coordinates = graph.node_lengths, layout.coordinates
    gaps, is_torn = measure_joints(graph.steps, graph.path_offsets, lengths, coordinates)
    folds = count_folds(graph.steps, graph.path_offsets, lengths, coordinates, chord_bp)
    return LayoutDefects(
        n_torn=int(is_torn.sum()),
        n_joints=int((~np.isnan(gaps)).sum()),
        n_folds=int(folds[:, 0].sum()),
        n_turns=int(folds[:, 1].sum()),
        n_crossings=_count_crossings(graph, coordinates),
    )


@njit(nogil=True, cache=True, parallel=True)
def count_folds(steps, path_offsets, node_lengths, coordinates, chord_bp):
    """Return folds and turns of each path; int64, shape (n_paths, 2)."""
    counts = np.zeros((len(path_offsets) - 1, 2), np.int64)
    for path in prange(len(path_offsets) - 1):
        first, stop = path_offsets[path], path_offsets[path + 1]
        if first == stop:
            continue
        begin = coordinates[steps[first] >> 1, steps[first] & 1]
        x, y = begin[0], begin[1]
        before_x = before_y = 0.0
        length, n_chords = 0, 0
        for step in range(first, stop):
            handle = steps[step]
            length += node_lengths[handle >> 1]
            if length < chord_bp:
                continue
            end = coordinates[handle >> 1, 1 - (handle & 1)]
            dx, dy = end[0] - x, end[1] - y
            if n_chords:
                counts[path, 0] += dx * before_x + dy * before_y < 0.0
                counts[path, 1] += 1
            before_x, before_y, x, y = dx, dy, end[0], end[1]
            length, n_chords = 0, n_chords + 1
    return counts


def _count_crossings(graph: PangenomeGraph, coordinates: np.ndarray) -> int | None:
    """Return the number of pairs of nodes that cross and are not joined by a link."""
    drawn = np.flatnonzero(np.isfinite(coordinates).all(axis=(1, 2)))
    if len(drawn) < 2:
        return 0
    ends = coordinates[drawn]
    along = int(np.argmax(np.ptp(ends.reshape(-1, 2), axis=0)))
    low, high = ends[:, :, along].min(axis=1), ends[:, :, along].max(axis=1)
    order = np.argsort(low, kind="stable")
    lasts = np.searchsorted(low[order], high[order], side="right")
    if int((lasts - np.arange(len(order))).sum()) > MAX_PAIRS:
        return None
    nodes = np.sort(graph.edges.astype(np.int64) >> 1, axis=1)
    links = distinct((nodes[:, 0] << 32) | nodes[:, 1])
    ends, nodes = ends[order], drawn[order]

    def run(first: int, stop: int) -> int:
        return int(count_crossings(ends, nodes, lasts, links, first, stop).sum())

    return sum(found for _, found in iter_slices(run, len(order), first_size=FIRST_SEGMENTS))


@njit(nogil=True, cache=True, inline="always")
def _side(a, b, c):
    """Return on which side of the line from a to b the point c lies, by sign; 0 is on it."""
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return np.sign(turn)


@njit(nogil=True, cache=True, parallel=True)
def count_crossings(ends, nodes, lasts, links, first, stop):
    """Return how many later segments each segment crosses; int64, shape (stop - first,).

    Parameters
    ----------
    ends
        float64, shape (n_segments, 2, 2), by their least coordinate along one axis.
    nodes
        int64, shape (n_segments,): of each segment.
    lasts
        int64, shape (n_segments,): end of the range of segments that begin before this one ends.
    links
        int64, sorted: pairs of nodes joined by a link, the smaller node in the upper 32 bits.
    first, stop
        Range of segments.
    """
    counts = np.zeros(stop - first, np.int64)
    for row in prange(stop - first):
        i = first + row
        a, b = ends[i, 0], ends[i, 1]
        low, high = min(a[1], b[1]), max(a[1], b[1])
        left, right = min(a[0], b[0]), max(a[0], b[0])
        for j in range(i + 1, lasts[i]):
            c, d = ends[j, 0], ends[j, 1]
            if max(c[1], d[1]) < low or min(c[1], d[1]) > high:
                continue
            if max(c[0], d[0]) < left or min(c[0], d[0]) > right:
                continue
            if _side(a, b, c) * _side(a, b, d) >= 0 or _side(c, d, a) * _side(c, d, b) >= 0:
                continue
            key = min(nodes[i], nodes[j]) << 32 | max(nodes[i], nodes[j])
            place = np.searchsorted(links, key)
            counts[row] += place == len(links) or links[place] != key
    return counts
