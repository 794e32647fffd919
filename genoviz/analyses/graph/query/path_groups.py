"""Groups of paths by parts of their names, and the number of groups at each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathName

GROUPINGS = {"path": "paths", "sample": "samples", "haplotype": "haplotypes", "contig": "contigs"}
"""Groupings of paths, with their plurals."""


@dataclass(frozen=True, eq=False)
class PathGroups:
    """Groups of paths.

    Attributes
    ----------
    by
        A key of `GROUPINGS`.
    names
        Names of the groups, in the order of their first paths.
    of_path
        int32, shape (n_paths,): the group of each path, or -1.
    """

    by: str
    names: tuple[str, ...]
    of_path: np.ndarray

    def select(self, names: Sequence[str]) -> PathGroups:
        """Return the groups with these names only, in this order.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        renumbered = np.full(len(self.names) + 1, -1, np.int32)
        for rank, name in enumerate(names):
            if name not in numbers:
                examples = ", ".join(self.names[:3]) or "none at all"
                raise ParameterError(f"no {self.by} is named {name!r}; the graph has {examples}")
            renumbered[numbers[name]] = rank
        return PathGroups(self.by, tuple(names), renumbered[self.of_path])

    def sum_columns(self, counts: np.ndarray) -> np.ndarray:
        """Sum per-path counts over the paths of each group.

        ``counts`` are int64, shape (n, n_paths); the result is int64, shape (n, n_groups).
        """
        sums = np.zeros((len(counts), len(self.names)), np.int64)
        has_group = self.of_path >= 0
        np.add.at(sums, (slice(None), self.of_path[has_group]), counts[:, has_group])
        return sums


def group_paths(graph: PangenomeGraph, by: str) -> PathGroups:
    """Group the paths of a graph by ``"path"``, ``"sample"`` or another grouping.

    A haplotype is named ``sample#haplotype``. A path that lacks a PanSN field is grouped by the
    fields it has; without a sample, by its whole name without ``:start-end``.

    Raises
    ------
    ParameterError
        If the grouping is unknown.
    """
    if by not in GROUPINGS:
        raise ParameterError(f"paths are grouped by {by!r}, needs one of {', '.join(GROUPINGS)}")
    if by == "path":
        return PathGroups(by, graph.path_names, np.arange(graph.n_paths, dtype=np.int32))
    numbers: dict[str, int] = {}
    of_path = [
        numbers.setdefault(_group_name(name, by), len(numbers)) for name in graph.parsed_path_names
    ]
    return PathGroups(by, tuple(numbers), np.array(of_path, np.int32))


def _group_name(name: PathName, by: str) -> str:
    if by == "contig" or name.sample is None:
        return name.contig
    if by == "sample" or name.haplotype is None:
        return name.sample
    return f"{name.sample}#{name.haplotype}"


@dataclass(frozen=True, eq=False)
class NodeGroups:
    """The groups at each node.

    Attributes
    ----------
    counts
        int32, shape (n_nodes,): number of groups.
    first
        int32, shape (n_nodes,): the first group, or -1.
    """

    counts: np.ndarray
    first: np.ndarray


def count_node_groups(graph: PangenomeGraph, groups: PathGroups) -> NodeGroups:
    """Count the groups that visit each node, each once."""
    from genoviz.model.graph_loops import count_groups

    of_path = groups.of_path
    order = np.argsort(of_path, kind="stable")
    order = order[np.searchsorted(of_path[order], 0) :]
    return NodeGroups(*count_groups(graph.steps, graph.path_offsets, order, of_path, graph.n_nodes))


def find_group_nodes(graph: PangenomeGraph, by: str, names: Sequence[str]) -> np.ndarray:
    """Return the nodes of groups of paths, ascending; int64.

    Raises
    ------
    ParameterError
        If the grouping or a group is unknown.
    """
    groups = group_paths(graph, by).select(names)
    return np.flatnonzero(count_node_groups(graph, groups).counts > 0)
