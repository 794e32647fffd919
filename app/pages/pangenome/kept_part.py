"""A part of the graph that a person cuts out: which nodes it has, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from genoviz.analyses.graph.query.extract import extract_nodes
from genoviz.analyses.graph.query.neighbourhood import find_detours, find_neighbourhood
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.analyses.graph.query.sequences import iter_node_records, iter_region_records
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import write_gfa
from genoviz.io.sequences.fasta import write_fasta, write_node_list
from genoviz.model import PangenomeGraph, PathRegion

MAX_COUNTED_VISITS = 5_000_000


@dataclass(frozen=True)
class Around:
    """What is kept beside the nodes themselves.

    Attributes
    ----------
    detour_bp
        Other alleles: stretches of paths that leave the nodes and come back within so many bp.
    steps, bp
        Nodes so many edges away, and nodes with a base so many bp away.
    """

    detour_bp: int = 0
    steps: int = 0
    bp: int = 0


@dataclass(frozen=True, eq=False)
class KeptPart:
    """Nodes to keep, and how much that is.

    Attributes
    ----------
    graph
        The graph that they are of.
    nodes
        int64, ascending.
    length
        Their bases together, bp.
    n_paths
        Paths that visit them; None when that takes long to count.
    """

    graph: PangenomeGraph
    nodes: np.ndarray
    length: int
    n_paths: int | None

    def __str__(self) -> str:
        paths = "" if self.n_paths is None else f", of {_count(self.n_paths, 'path')}"
        return f"{_count(len(self.nodes), 'node')}, {self.length:,} bp{paths}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def measure_part(
    graph: PangenomeGraph, find_nodes: Callable[[], np.ndarray], around: Around
) -> KeptPart:
    """Return the nodes that are found, with what is around them.

    Raises
    ------
    ParameterError
        If no node is found.
    """
    nodes = find_detours(graph, np.unique(find_nodes()), max_bp=around.detour_bp)
    nodes = find_neighbourhood(graph, nodes, steps=around.steps, bp=around.bp)
    if not len(nodes):
        raise ParameterError("there is no node to keep")
    n_paths = None
    if int(graph.node_depths[nodes].sum()) <= MAX_COUNTED_VISITS:
        n_paths = len(np.unique(find_node_visits(graph, nodes).paths))
    return KeptPart(graph, nodes, int(graph.node_lengths[nodes].sum()), n_paths)


def _write_graph(part: KeptPart, path: Path) -> None:
    write_gfa(extract_nodes(part.graph, part.nodes), path)


def _write_nodes(part: KeptPart, path: Path) -> None:
    write_fasta(iter_node_records(part.graph, part.nodes), path)


def _write_paths(part: KeptPart, path: Path) -> None:
    graph = extract_nodes(part.graph, part.nodes)
    pieces = [
        PathRegion(name, 0, length)
        for name, length in zip(graph.path_names, graph.path_lengths.tolist(), strict=True)
    ]
    write_fasta(iter_region_records(graph, pieces), path)


def _write_names(part: KeptPart, path: Path) -> None:
    write_node_list(part.graph, part.nodes, path)


FORMATS: dict[str, tuple[str, bool, Callable[[KeptPart, Path], None]]] = {
    "Graph, GFA": (".gfa", False, _write_graph),
    "Graph, GFA in gzip": (".gfa.gz", False, _write_graph),
    "Bases of the nodes, FASTA": (".nodes.fa", True, _write_nodes),
    "Bases of the paths' pieces, FASTA": (".paths.fa", True, _write_paths),
    "Names of the nodes, text": (".txt", False, _write_names),
}
"""By what people call them: ending, whether bases are needed, and what writes the file."""


def writer_of(part: KeptPart, kind: str) -> tuple[str, Callable[[Path], None]]:
    """Return the ending of a kind of file, and what writes it.

    Raises
    ------
    ParameterError
        If bases are asked for and the graph has none.
    """
    ending, needs_bases, write = FORMATS[kind]
    if needs_bases and part.graph.node_sequences is None:
        raise ParameterError("the graph's file has no bases")
    return ending, partial(write, part)
