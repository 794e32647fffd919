"""Sequences of nodes, of stretches of paths and of whole paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.path_positions import check_nodes, find_region_steps
from genoviz.errors import ParameterError
from genoviz.model import ByteStrings, PangenomeGraph, PathRegion, Sequences
from genoviz.model.sequences.bases import COMPLEMENTS

Record = tuple[str, np.ndarray]


def region_sequence(graph: PangenomeGraph, region: PathRegion) -> np.ndarray:
    """Return the bases of a stretch of a path, as the path reads them; uint8 letters, shape (n,).

    Raises
    ------
    ParameterError
        If the region is not on its path, or the graph has no sequence of one of its nodes.
    """
    found = find_region_steps(graph, region)
    sequences = _check_sequences(graph, found.nodes)
    if region.length == 0:
        return np.empty(0, np.uint8)
    bases = np.empty(int(graph.node_lengths[found.nodes].sum()), np.uint8)
    handles = graph.steps[found.first_step : found.stop_step]
    _copy_bases(sequences.data, sequences.offsets, handles, COMPLEMENTS, bases)
    first = region.start - int(found.positions[0])
    return bases[first : first + region.length]


def iter_region_records(graph: PangenomeGraph, regions: Iterable[PathRegion]) -> Iterator[Record]:
    """Yield name and bases of stretches of paths; names are in contig coordinates."""
    for region in regions:
        path = graph.find_path(region.path)
        yield graph.cut_path_name(path, region.start, region.end), region_sequence(graph, region)


def iter_node_records(graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray) -> Iterator[Record]:
    """Yield name and bases of nodes, in the order of the graph.

    Raises
    ------
    ParameterError
        If there is no such node, or the graph has no sequence of it.
    """
    wanted = check_nodes(graph, nodes)
    sequences = _check_sequences(graph, wanted)
    for node in wanted.tolist():
        first, stop = sequences.offsets[node : node + 2]
        yield graph.node_names[node], sequences.data[first:stop]


def _check_sequences(graph: PangenomeGraph, nodes: np.ndarray) -> ByteStrings:
    sequences = graph.node_sequences
    if sequences is None:
        raise ParameterError("the graph was opened without its sequences, which are needed here")
    lengths = sequences.offsets[nodes + 1] - sequences.offsets[nodes]
    missing = nodes[lengths != graph.node_lengths[nodes]]
    if len(missing):
        name = graph.node_names[int(missing[0])]
        raise ParameterError(f"node {name!r} has no sequence in the graph ('*'), needs one")
    return sequences


@njit(nogil=True, cache=True)
def _copy_bases(data, offsets, handles, complements, bases):
    n = 0
    for step in range(len(handles)):
        node = handles[step] >> 1
        first, stop = offsets[node], offsets[node + 1]
        if handles[step] & 1:
            for k in range(stop - 1, first - 1, -1):
                bases[n] = complements[data[k]]
                n += 1
        else:
            for k in range(first, stop):
                bases[n] = data[k]
                n += 1


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
