"""The paths of a graph as sequences."""

from __future__ import annotations

from collections.abc import Iterable

from genoviz.analyses.graph.query.sequences import region_sequence
from genoviz.model import PangenomeGraph, PathRegion, Sequences


def path_sequences(graph: PangenomeGraph, paths: Iterable[str] | None = None) -> Sequences:
    """Return the sequences that paths of a graph read, in full.

    Parameters
    ----------
    graph
        A graph with sequences.
    paths
        Names of paths, as ``graph.find_path`` takes them; all by default.

    Raises
    ------
    ParameterError
        If there is no such path, or the graph has no sequence of one of its nodes.
    """
    lengths = graph.path_lengths.tolist()
    chosen = range(graph.n_paths) if paths is None else [graph.find_path(name) for name in paths]
    names = [graph.path_names[path] for path in chosen]
    regions = [PathRegion(name, 0, lengths[path]) for name, path in zip(names, chosen, strict=True)]
    return Sequences.from_records(
        (name, region_sequence(graph, region)) for name, region in zip(names, regions, strict=True)
    )
