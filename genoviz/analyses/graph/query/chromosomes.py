"""Chromosomes of a graph: its components, named by their contigs."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.layout.guides import add_reference_paths
from genoviz.analyses.graph.query.extract import take_tags
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.graph.path_name import PathName

OTHERS = "others"
MAX_UNNAMED = 10_000
_CHROMOSOME = re.compile(r"(chr(omosome)?_?)?(\d{1,3}[A-Za-z]?|[IVX]+|[XYZWM]|MT)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Chromosomes:
    """The chromosome of each node and each path.

    Attributes
    ----------
    names
        Names of the chromosomes, in the order of their first nodes.
    of_nodes
        int32, shape (n_nodes,): index of ``names``.
    of_paths
        int32, shape (n_paths,): index of ``names``, -1 for a path without steps.
    """

    names: tuple[str, ...]
    of_nodes: np.ndarray
    of_paths: np.ndarray

    def sizes(self, graph: PangenomeGraph) -> list[tuple[int, int, int]]:
        """Return nodes, steps and bp of each chromosome of the graph."""
        n = len(self.names)
        has_steps = self.of_paths >= 0
        of_paths, n_steps = self.of_paths[has_steps], np.diff(graph.path_offsets)[has_steps]
        steps, lengths = np.zeros((2, n), np.int64)
        np.add.at(steps, of_paths, n_steps)
        np.add.at(lengths, self.of_nodes, graph.node_lengths)
        nodes = np.bincount(self.of_nodes, minlength=n)
        return list(zip(nodes.tolist(), steps.tolist(), lengths.tolist(), strict=True))


def find_chromosomes(graph: PangenomeGraph) -> Chromosomes:
    """Return the chromosome of each node and each path.

    A chromosome is a weakly connected component, or all components of one name. The name is the
    contig with the most steps in the component. Contigs named like a chromosome (``chr6``, ``6``,
    ``X``, ``chrM``, ``XII``) take precedence, because assemblies also have contigs with names of
    their own. Without paths, the name comes from the ``SN`` tag of reference nodes (rGFA).
    Components without a path are called ``others`` if some components have names; otherwise they
    are ``component 1`` and so on.

    Raises
    ------
    ParameterError
        If there are too many components and no path.
    """
    components = find_components(graph)
    n_components = int(components.max(initial=-1)) + 1
    named = graph if graph.n_steps else add_reference_paths(graph)
    of_paths = _components_of_paths(named, components)
    titles = _name_components(named, of_paths, n_components)
    if not any(titles):
        if n_components > MAX_UNNAMED:
            raise ParameterError(
                f"the graph has {n_components:,} components and no path that names them, "
                f"needs paths or at most {MAX_UNNAMED:,} components"
            )
        titles = [f"component {k + 1}" for k in range(n_components)]
    titles = [title or OTHERS for title in titles]
    names = tuple(dict.fromkeys(titles))
    ranks = {name: rank for rank, name in enumerate(names)}
    of_components = np.array([ranks[title] for title in titles], np.int32)
    if named is not graph:
        of_paths = _components_of_paths(graph, components)
    is_empty = of_paths < 0
    chromosomes = np.where(is_empty, -1, of_components[np.where(is_empty, 0, of_paths)])
    return Chromosomes(names, of_components[components], chromosomes.astype(np.int32))


def take_chromosome(graph: PangenomeGraph, chromosomes: Chromosomes, name: str) -> PangenomeGraph:
    """Return the graph of one chromosome: its nodes, edges and whole paths, in order.

    The result equals :func:`genoviz.extract_nodes` of its nodes, but only its own paths are read.

    Raises
    ------
    ParameterError
        If there is no chromosome of this name.
    """
    if name not in chromosomes.names:
        known = ", ".join(chromosomes.names[:4])
        raise ParameterError(f"no chromosome or component is named {name!r}; there are {known}")
    rank = chromosomes.names.index(name)
    nodes = np.flatnonzero(chromosomes.of_nodes == rank)
    paths = np.flatnonzero(chromosomes.of_paths == rank)
    new_numbers = np.zeros(graph.n_nodes, np.uint32)
    new_numbers[nodes] = np.arange(len(nodes), dtype=np.uint32)
    is_inside = chromosomes.of_nodes[graph.edges[:, 0] >> 1] == rank
    path_offsets = np.concatenate(([0], np.cumsum(np.diff(graph.path_offsets)[paths])))
    steps = np.empty(path_offsets[-1], np.uint32)
    for path, first, stop in zip(paths, path_offsets[:-1], path_offsets[1:], strict=True):
        steps[first:stop] = _renumber(graph.path_steps(path), new_numbers)
    sequences, tags = graph.node_sequences, graph.node_tags
    return PangenomeGraph(
        node_names=graph.node_names.take(nodes),
        node_lengths=graph.node_lengths[nodes],
        edges=_renumber(graph.edges[is_inside], new_numbers),
        path_names=tuple(graph.path_names[path] for path in paths.tolist()),
        path_offsets=path_offsets.astype(np.int64),
        steps=steps,
        node_sequences=None if sequences is None else sequences.take(nodes),
        node_tags=None if tags is None else tags.take(nodes),
        walks=None if graph.walks is None else graph.walks[paths],
        link_tags=take_tags(graph.link_tags, is_inside),
    )


def _renumber(handles: np.ndarray, new_numbers: np.ndarray) -> np.ndarray:
    return new_numbers[handles >> 1] << np.uint32(1) | (handles & np.uint32(1))


def _components_of_paths(graph: PangenomeGraph, components: np.ndarray) -> np.ndarray:
    """Return the component of each path, -1 for one without steps; int64."""
    found = np.full(graph.n_paths, -1, np.int64)
    has_steps = np.diff(graph.path_offsets) > 0
    found[has_steps] = components[graph.steps[graph.path_offsets[:-1][has_steps]] >> 1]
    return found


def _name_components(graph: PangenomeGraph, of_paths: np.ndarray, n_components: int) -> list[str]:
    """Return the main contig of each component, "" for one without paths."""
    n_steps: list[dict[str, int]] = [{} for _ in range(n_components)]
    sizes = np.diff(graph.path_offsets).tolist()
    for text, component, size in zip(graph.path_names, of_paths.tolist(), sizes, strict=True):
        if component >= 0:
            counts, contig = n_steps[component], PathName.parse(text).contig
            counts[contig] = counts.get(contig, 0) + size
    return [_choose(counts) for counts in n_steps]


def _choose(counts: dict[str, int]) -> str:
    """Return the contig with the most steps, preferring chromosome names if there are any."""
    alike = [contig for contig in counts if _CHROMOSOME.fullmatch(contig)]
    return max(alike or counts, key=lambda contig: counts[contig], default="")
