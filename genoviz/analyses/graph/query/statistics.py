"""A graph in numbers: sizes, components, loops, lengths, depth, samples, layout."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.query.statistics_results import (
    GraphStatistics,
    Histogram,
    LayoutDistances,
    LengthSummary,
    OrderDistances,
    SequenceClass,
)
from genoviz.analyses.graph.sites.handle_graph import HandleGraph
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz.model.columns import distinct
from genoviz.model.sequences.bases import COMPLEMENTS


@dataclass(frozen=True)
class StatisticsProgress:
    """What is being counted; the statistics are in the last report only."""

    stage: str
    n_done: int
    n_total: int
    statistics: GraphStatistics | None = None


def graph_statistics(graph: PangenomeGraph, layout: GraphLayout | None = None) -> GraphStatistics:
    """Return a graph in numbers; see `GraphStatistics` for what they mean.

    Parameters
    ----------
    graph
        The graph. Base content and nondeterministic edges need its sequences.
    layout
        A layout of the graph, for the distances in it. Path stress is a function of its own.

    Raises
    ------
    ParameterError
        If the layout is not of this graph.

    References
    ----------
    Guarracino, Heumos et al. 2022, odgi, https://doi.org/10.1093/bioinformatics/btac308

    Examples
    --------
    >>> from genoviz import simulate_pangenome
    >>> graph_statistics(simulate_pangenome(1_000, 4)).component_sizes
    (1000,)
    """
    for progress in iter_graph_statistics(graph, layout):
        statistics = progress.statistics
    return statistics


def iter_graph_statistics(
    graph: PangenomeGraph, layout: GraphLayout | None = None
) -> Iterator[StatisticsProgress]:
    """Yield what is being counted; the last report has the statistics of `graph_statistics`."""
    if layout is not None and len(layout.coordinates) != graph.n_nodes:
        raise ParameterError(
            f"the layout has {len(layout.coordinates):,} nodes, the graph has {graph.n_nodes:,}"
        )
    parts = {
        "Edges": lambda: _edge_part(graph),
        "Components": lambda: {"component_sizes": _component_sizes(graph)},
        "Bases": lambda: {"bases": _count_bases(graph)},
        "Depth": lambda: _depth_part(graph),
        "Samples": lambda: _sample_part(graph),
        "Order": lambda: {"order": _order_distances(graph)},
        "Layout": lambda: {"layout": layout and layout_distances(graph, layout)},
    }
    found = {
        "total_length": graph.total_length,
        "n_nodes": graph.n_nodes,
        "n_paths": graph.n_paths,
        "n_steps": graph.n_steps,
        "node_lengths": _summarise_lengths(graph.node_lengths),
        "length_histogram": _histogram(graph.node_lengths),
    }
    for n_done, (stage, count) in enumerate(parts.items()):
        yield StatisticsProgress(stage, n_done, len(parts))
        found |= count()
    yield StatisticsProgress("Done", len(parts), len(parts), GraphStatistics(**found))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _edge_part(graph: PangenomeGraph) -> dict:
    edges = graph.links
    n_unlisted = HandleGraph.of(graph).n_added
    listed = HandleGraph.of_edges(edges, graph.n_nodes)
    ends = np.diff(listed.offsets).reshape(-1, 2)
    degrees = ends.sum(axis=1)
    is_loop = edges[:, 0] >> 1 == edges[:, 1] >> 1
    sequences = graph.node_sequences
    has_bases = sequences is not None and len(sequences.data) > 0
    bases = first_bases(sequences.data, sequences.offsets) if has_bases else None
    return {
        "n_edges": len(edges),
        "n_unlisted_edges": n_unlisted,
        "n_loops": int(is_loop.sum()),
        "n_looped_nodes": len(distinct(edges[is_loop, 0] >> 1)),
        "n_nondeterministic_edges": (
            int(count_nondeterministic(listed.offsets, listed.targets, bases))
            if has_bases
            else None
        ),
        "mean_degree": _share(degrees.sum(), graph.n_nodes),
        "max_degree": int(degrees.max(initial=0)),
        "n_tips": int(((ends == 0).sum(axis=1) == 1).sum()),
        "n_isolated": int((degrees == 0).sum()),
    }


def _component_sizes(graph: PangenomeGraph) -> tuple[int, ...]:
    sizes = np.bincount(find_components(graph)) if graph.n_nodes else np.empty(0, np.int64)
    return tuple(np.sort(sizes)[::-1].tolist())


def _count_bases(graph: PangenomeGraph) -> dict[str, int]:
    if graph.node_sequences is None:
        return {}
    counts = np.bincount(graph.node_sequences.data, minlength=256)
    return {chr(letter): int(counts[letter]) for letter in np.flatnonzero(counts)}


def _summarise_lengths(lengths: np.ndarray) -> LengthSummary:
    if len(lengths) == 0:
        return LengthSummary(0, 0.0, 0.0, 0, 0)
    falling = np.sort(lengths)[::-1]
    place = np.searchsorted(np.cumsum(falling), falling.sum() / 2)
    return LengthSummary(
        min=int(falling[-1]),
        median=float(np.median(falling)),
        mean=float(falling.mean()),
        max=int(falling[0]),
        n50=int(falling[place]),
    )


def _depth_part(graph: PangenomeGraph) -> dict:
    depths, lengths = graph.node_depths, graph.node_lengths
    is_unvisited = depths == 0
    return {
        "mean_depth": _share(depths.sum(), graph.n_nodes),
        "median_depth": float(np.median(depths)) if len(depths) else 0.0,
        "max_depth": int(depths.max(initial=0)),
        "mean_base_depth": _share((depths * lengths).sum(), graph.total_length),
        "n_unvisited": int(is_unvisited.sum()),
        "unvisited_length": int(lengths[is_unvisited].sum()),
        "reverse_share": _share(np.count_nonzero(graph.steps & np.uint32(1)), graph.n_steps),
        "depth_histogram": _histogram(depths),
    }


def _sample_part(graph: PangenomeGraph) -> dict:
    names = [name.sample or name.text for name in graph.parsed_path_names]
    samples = {name: number for number, name in enumerate(dict.fromkeys(names))}
    path_samples = np.array([samples[name] for name in names], np.int64)
    order = np.argsort(path_samples, kind="stable")
    counts = count_node_samples(graph.steps, graph.path_offsets, order, path_samples, graph.n_nodes)
    is_private = counts == 1
    is_core = (counts == len(samples)) & ~is_private & (counts > 0)
    is_shell = (counts > 1) & ~is_core

    def class_of(is_member: np.ndarray) -> SequenceClass:
        return SequenceClass(int(is_member.sum()), int(graph.node_lengths[is_member].sum()))

    return {
        "n_samples": len(samples),
        "private": class_of(is_private),
        "shell": class_of(is_shell),
        "core": class_of(is_core),
    }


def _order_distances(graph: PangenomeGraph) -> OrderDistances:
    left_ends = np.concatenate([[0], np.cumsum(graph.node_lengths)])
    nodes, bases, node_sum, base_sum, n_backward = sum_row_distances(
        graph.steps, graph.path_offsets, left_ends
    ).sum(axis=0)
    n_links = _count_links(graph)
    return OrderDistances(
        n_links=n_links,
        mean_link_nodes=_share(nodes, n_links),
        mean_link_length=_share(bases, n_links),
        sum_by_nodes=_share(node_sum, graph.n_steps),
        sum_by_nucleotides=_share(base_sum, graph.path_lengths.sum()),
        n_backward=int(n_backward),
    )


def _count_links(graph: PangenomeGraph) -> int:
    return int(np.maximum(np.diff(graph.path_offsets) - 1, 0).sum())


def layout_distances(graph: PangenomeGraph, layout: GraphLayout) -> LayoutDistances:
    """Return the distances between consecutive steps in a layout of the graph."""
    sums = sum_step_distances(graph.steps, graph.path_offsets, layout.coordinates)
    total = float(sums.sum())
    n_links = _count_links(graph)
    return LayoutDistances(
        n_links=n_links,
        mean_link_length=_share(total, n_links),
        sum_by_nodes=_share(total, graph.n_steps),
        sum_by_nucleotides=_share(total, graph.path_lengths.sum()),
    )


def _histogram(values: np.ndarray) -> Histogram:
    """Return the histogram of integers: single values up to 8, then six bins per factor of ten."""
    if len(values) == 0:
        return Histogram((0, 1), (0,))
    high = int(values.max())
    n_bins = int(np.ceil(6 * np.log10(max(high, 1)))) + 2
    wide = np.floor(10 ** (np.arange(6, n_bins + 6) / 6)).astype(np.int64)
    edges = np.unique(np.concatenate([np.arange(9), wide]))
    edges = edges[: np.searchsorted(edges, high, side="right") + 1]
    counts = np.bincount(np.searchsorted(edges, values, side="right") - 1, minlength=len(edges) - 1)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def first_bases(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the first base that each handle reads; uint8, shape (2 * n_nodes,), 0 for none."""
    bases = np.zeros((len(offsets) - 1, 2), np.uint8)
    has_bases = offsets[1:] > offsets[:-1]
    bases[has_bases, 0] = data[offsets[:-1][has_bases]]
    bases[has_bases, 1] = COMPLEMENTS[data[offsets[1:][has_bases] - 1]]
    return bases.ravel()


@njit(nogil=True, cache=True)
def count_nondeterministic(offsets, targets, bases):
    """Return the number of successors that begin with the same base as another of their handle."""
    count = 0
    for handle in range(len(offsets) - 1):
        for index in range(offsets[handle], offsets[handle + 1]):
            base = bases[targets[index]]
            for other in range(offsets[handle], offsets[handle + 1]):
                if other != index and base and bases[targets[other]] == base:
                    count += 1
                    break
    return count


@njit(nogil=True, cache=True)
def count_node_samples(steps, path_offsets, order, path_samples, n_nodes):
    """Return the number of samples on each node; ``order`` keeps the paths of a sample together."""
    counts = np.zeros(n_nodes, np.int32)
    last = np.full(n_nodes, -1, np.int32)
    for path in order:
        sample = path_samples[path]
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            if last[node] != sample:
                last[node] = sample
                counts[node] += 1
    return counts


@njit(nogil=True, cache=True, parallel=True)
def sum_step_distances(steps, path_offsets, coordinates):
    """Return the sum of distances from the beginning of each step to that of the next, by path."""
    sums = np.zeros(len(path_offsets) - 1, np.float64)
    for path in prange(len(sums)):
        total = 0.0
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            a, b = steps[step - 1], steps[step]
            x = coordinates[a >> 1, a & 1, 0] - coordinates[b >> 1, b & 1, 0]
            y = coordinates[a >> 1, a & 1, 1] - coordinates[b >> 1, b & 1, 1]
            total += math.sqrt(x * x + y * y)
        sums[path] = total
    return sums


@njit(nogil=True, cache=True, parallel=True)
def sum_row_distances(steps, path_offsets, left_ends):
    """Return sums over the links of each path with the nodes in a row; int64, (n_paths, 5).

    ``left_ends`` are the positions of the nodes and, last, the length of the row. The sums are:
    gaps in nodes, gaps in bp, weighted distances in nodes, weighted distances in bp, and the number
    of links to the left, whose weight is three. Weighted distances extend to the end of the last
    step.
    """
    sums = np.zeros((len(path_offsets) - 1, 5), np.int64)
    for path in prange(len(sums)):
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            before, after = np.int64(steps[step - 1]), np.int64(steps[step])
            here, there = before >> 1, after >> 1
            leaves, enters = here + 1 - (before & 1), there + (after & 1)
            weight = 3 if there < here else 1
            sums[path, 0] += abs(enters - leaves)
            sums[path, 1] += abs(left_ends[enters] - left_ends[leaves])
            sums[path, 2] += weight * abs(there - here)
            sums[path, 3] += weight * abs(left_ends[there] - left_ends[here])
            sums[path, 4] += there < here
        if path_offsets[path + 1] > path_offsets[path]:
            last = np.int64(steps[path_offsets[path + 1] - 1]) >> 1
            sums[path, 2] += 1
            sums[path, 3] += left_ends[last + 1] - left_ends[last]
    return sums
