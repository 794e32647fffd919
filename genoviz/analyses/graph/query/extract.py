"""Parts of a graph as separate graphs, in which nodes keep their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.neighbourhood import find_detours, find_neighbourhood
from genoviz.analyses.graph.query.path_positions import check_nodes, find_region_steps
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.model import ByteStrings, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct


def extract_region(
    graph: PangenomeGraph,
    region: PathRegion | str | Sequence[PathRegion],
    *,
    detour_bp: int = 0,
    context_steps: int = 0,
    context_bp: int = 0,
) -> PangenomeGraph:
    """Return the part of a graph that a region of a path visits, with its surroundings.

    Nodes are kept whole, so the part may begin before the region and end after it.

    Parameters
    ----------
    region
        One region or several; a text is read by
        :func:`genoviz.analyses.graph.query.regions.resolve_region`.
    detour_bp
        Also include the stretches of at most this many bp by which any path leaves these nodes
        and comes back: the other alleles.
    context_steps, context_bp
        Also include the nodes around, as counted by
        :func:`genoviz.analyses.graph.query.neighbourhood.find_neighbourhood`; with both, the
        nodes of either.

    Raises
    ------
    ParameterError
        If there is no such region.
    """
    nodes = find_region_nodes(
        graph,
        region,
        detour_bp=detour_bp,
        context_steps=context_steps,
        context_bp=context_bp,
    )
    return extract_nodes(graph, nodes)


def find_region_nodes(
    graph: PangenomeGraph,
    region: PathRegion | str | Sequence[PathRegion],
    *,
    detour_bp: int = 0,
    context_steps: int = 0,
    context_bp: int = 0,
) -> np.ndarray:
    """Return the nodes that :func:`extract_region` takes; int64, ascending."""
    if isinstance(region, str):
        regions: Sequence[PathRegion] = resolve_region(graph, region)
    else:
        regions = [region] if isinstance(region, PathRegion) else region
    found = [find_region_steps(graph, part).nodes for part in regions]
    nodes = distinct(np.concatenate([np.empty(0, np.int64), *found]))
    nodes = find_detours(graph, nodes, max_bp=detour_bp)
    return find_neighbourhood(graph, nodes, steps=context_steps, bp=context_bp)


def extract_nodes(graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray) -> PangenomeGraph:
    """Return the graph of some nodes, the edges between them, and the parts of paths on them.

    Nodes, edges and paths keep their order, nodes their names, sequences and tags. Each longest run
    of a path inside the nodes becomes a path, named by its place on the contig, as in
    ``grch38#chr6:31982057-32002681`` (0-based half-open); a whole path keeps its name. If another
    path has the same place, the name has the range of the path and that of the run within it, as in
    ``chr6:100-900:20-30``.

    Raises
    ------
    ParameterError
        If the graph has no such node.
    """
    kept = check_nodes(graph, nodes)
    new_numbers = np.full(graph.n_nodes, -1, np.int64)
    new_numbers[kept] = np.arange(len(kept))
    runs = np.empty((0, 3), np.int64)
    runs = np.empty((_find_runs(graph.steps, graph.path_offsets, new_numbers, runs), 3), np.int64)
    _find_runs(graph.steps, graph.path_offsets, new_numbers, runs)
    path_offsets = np.zeros(len(runs) + 1, np.int64)
    np.cumsum(runs[:, 2] - runs[:, 1], out=path_offsets[1:])
    steps = np.empty(path_offsets[-1], np.uint32)
    _copy_runs(graph.steps, runs, new_numbers, steps)
    sequences = graph.node_sequences
    is_inside = (new_numbers[graph.edges >> 1] >= 0).all(axis=1)
    return PangenomeGraph(
        node_names=graph.node_names.take(kept),
        node_lengths=graph.node_lengths[kept],
        edges=_renumber(graph.edges[is_inside], new_numbers),
        path_names=_name_runs(graph, runs),
        path_offsets=path_offsets,
        steps=steps,
        node_sequences=None if sequences is None else sequences.take(kept),
        node_tags=None if graph.node_tags is None else graph.node_tags.take(kept),
        walks=None if graph.walks is None else graph.walks[runs[:, 0]],
        link_tags=take_tags(graph.link_tags, is_inside),
    )


def take_tags(tags: ByteStrings | None, is_kept: np.ndarray) -> ByteStrings | None:
    """Return the tags of the kept items; None if there were none, or none is left."""
    if tags is None:
        return None
    taken = tags.take(np.flatnonzero(is_kept))
    return taken if len(taken.data) else None


def _renumber(edges: np.ndarray, new_numbers: np.ndarray) -> np.ndarray:
    return (new_numbers[edges >> 1] << 1 | (edges & 1)).astype(np.uint32)


def _name_runs(graph: PangenomeGraph, runs: np.ndarray) -> tuple[str, ...]:
    counts = np.diff(graph.path_offsets)
    starts = graph.position_index.positions_of(runs[:, 1])
    last = runs[:, 2] - 1
    ends = graph.position_index.positions_of(last) + graph.node_lengths[graph.steps[last] >> 1]
    is_whole = runs[:, 2] - runs[:, 1] == counts[runs[:, 0]]
    taken = {graph.path_names[path] for path in runs[is_whole, 0].tolist()}
    names = []
    rows = runs[:, 0].tolist(), is_whole.tolist(), starts.tolist(), ends.tolist()
    for path, whole, start, end in zip(*rows, strict=True):
        name = graph.path_names[path] if whole else graph.cut_path_name(path, start, end)
        if not whole and name in taken:
            # Names of paths are unique, so the range within the path makes this name unique.
            name = graph.cut_path_name(path, 0, int(graph.path_lengths[path]))
            name += f":{start}-{end}"
        taken.add(name)
        names.append(name)
    return tuple(names)


@njit(nogil=True, cache=True)
def _find_runs(steps, path_offsets, new_numbers, runs):
    """Count the runs of steps inside; write path, first and stop step of each if there is room."""
    n_runs = 0
    for path in range(len(path_offsets) - 1):
        first = -1
        for step in range(path_offsets[path], path_offsets[path + 1] + 1):
            is_inside = step < path_offsets[path + 1] and new_numbers[steps[step] >> 1] >= 0
            if is_inside and first < 0:
                first = step
            elif not is_inside and first >= 0:
                if n_runs < len(runs):
                    runs[n_runs, 0] = path
                    runs[n_runs, 1] = first
                    runs[n_runs, 2] = step
                n_runs += 1
                first = -1
    return n_runs


@njit(nogil=True, cache=True)
def _copy_runs(steps, runs, new_numbers, new_steps):
    n = 0
    for run in range(len(runs)):
        for step in range(runs[run, 1], runs[run, 2]):
            new_steps[n] = new_numbers[steps[step] >> 1] << 1 | (steps[step] & 1)
            n += 1
