"""Regions of a genome mapped to the open graph: regions on its paths, and their nodes."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.query.annotate import find_named_paths
from genoviz.analyses.graph.query.placed_intervals import find_nodes_below
from genoviz.analyses.graph.query.regions import clip_to_paths, resolve_region
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathName, PathRegion
from genoviz.model.intervals.intervals import aliases


def on_graph(graph: PangenomeGraph | None, region: PathRegion) -> PathRegion:
    """Return the region on a path of the graph, or unchanged if the graph has no such contig.

    Contigs also match by their alternative name, chr6 for 6. If several samples have the contig,
    `ContigPaths.choose` tells which of those that cover the region is meant. (Graphs of a single
    locus hold a few kb of each reference, each with its own coordinates.)
    """
    if graph is None:
        return region
    for name in (region.path, *aliases(region.path)):
        if name in graph.path_names:
            length = int(graph.path_lengths[graph.find_path(name)])
            is_there = region.start < length
            return PathRegion(name, region.start, min(region.end, length)) if is_there else region
        placed = _place(graph, PathRegion(name, region.start, region.end))
        if placed is not None:
            return placed
    return region


def parse_path(graph: PangenomeGraph | None, text: str) -> PathName:
    """Return the parsed name of a path of the graph, placed on its contig, or of another."""
    if graph is None or text not in graph.path_names:
        return PathName.parse(text)
    return graph.placed_name(graph.find_path(text))


def _place(graph: PangenomeGraph, region: PathRegion) -> PathRegion | None:
    try:
        return resolve_region(graph, str(region))[0]
    except ParameterError:
        named, start, end = find_named_paths(graph, region.path), region.start, region.end
        if not named.owners:
            return None
        found = [clip_to_paths(graph, paths, start, end, is_local=False) for paths in named.owners]
        _, chosen = named.choose(np.array([bool(parts) for parts in found]).reshape(-1, 1))
        return found[chosen[0]][0] if chosen[0] >= 0 else None


def nodes_of(graph: PangenomeGraph, regions: list[PathRegion]) -> np.ndarray:
    """Return the nodes of regions without duplicates; int64, ascending."""
    placed = [on_graph(graph, region) for region in regions]
    known = [region for region in placed if region.path in graph.path_names]
    paths = np.array([graph.find_path(region.path) for region in known], np.int64)
    starts = np.array([region.start for region in known], np.int64)
    ends = np.array([region.end for region in known], np.int64)
    ends = np.minimum(np.maximum(ends, starts + 1), graph.path_lengths[paths])
    is_there = starts < ends
    return find_nodes_below(graph, paths[is_there], starts[is_there], ends[is_there])
