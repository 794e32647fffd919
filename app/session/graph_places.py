"""Places of a genome on the graph that is open: regions on its paths, and the nodes there."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathRegion

MAX_MARKED = 20_000


def on_graph(graph: PangenomeGraph | None, region: PathRegion) -> PathRegion:
    """Return the region on a path of the graph, or as it is if the graph has no such contig."""
    if graph is None or region.path in graph.path_names:
        return region
    try:
        return resolve_region(graph, str(region))[0]
    except ParameterError:
        return region


def nodes_of(graph: PangenomeGraph, regions: list[PathRegion]) -> np.ndarray:
    """Return the nodes of regions, each once; int64, ascending."""
    found = [np.empty(0, np.int64)]
    for region in regions[:MAX_MARKED]:
        placed = on_graph(graph, region)
        if placed.path in graph.path_names:
            found.append(np.asarray(find_region_steps(graph, placed).nodes, np.int64))
    return np.unique(np.concatenate(found))
