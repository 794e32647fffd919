"""What paths or samples share: similarity, presence and absence of nodes, pangenome growth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.genotypes.relationships import order_by_linkage
from genoviz.analyses.graph.query.path_groups import PathGroups, group_paths
from genoviz.errors import ParameterError
from genoviz.generators import Progress, last_of
from genoviz.model import PangenomeGraph

CELLS_PER_BLOCK = 1 << 23


@dataclass(frozen=True, eq=False)
class NodePresence:
    """The groups of paths that visit each node, regardless of how often.

    Attributes
    ----------
    groups
        The groups.
    node_lengths
        int64, shape (n_nodes,), bp.
    offsets
        int64, shape (n_nodes + 1,).
    members
        int32: the groups ``members[offsets[v]:offsets[v + 1]]`` visit node ``v``, ascending.
    """

    groups: PathGroups
    node_lengths: np.ndarray
    offsets: np.ndarray
    members: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups.names)

    def iter_blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the presence matrix in blocks of nodes: the first node, and bool (n, n_groups)."""
        n_nodes = len(self.node_lengths)
        n_rows = max(CELLS_PER_BLOCK // max(self.n_groups, 1), 1)
        for first in range(0, n_nodes, n_rows):
            bounds = self.offsets[first : min(first + n_rows, n_nodes) + 1]
            block = np.zeros((len(bounds) - 1, self.n_groups), bool)
            rows = np.repeat(np.arange(len(block)), np.diff(bounds))
            block[rows, self.members[bounds[0] : bounds[-1]]] = True
            yield first, block


def find_presence(graph: PangenomeGraph, by: str | PathGroups = "path") -> NodePresence:
    """Return which groups visit each node.

    Parameters
    ----------
    by
        ``"path"``, ``"sample"``, ``"haplotype"`` or ``"contig"``, see `group_paths`; or groups of
        all paths.

    Raises
    ------
    ParameterError
        If there is no such grouping, or the graph has no path.
    """
    groups = group_paths(graph, by) if isinstance(by, str) else by
    if not groups.names:
        raise ParameterError("the graph has no paths, needs one at least to say what they share")
    order = np.argsort(groups.of_path, kind="stable")
    arrays = graph.steps, graph.path_offsets, order, groups.of_path
    offsets = np.zeros(graph.n_nodes + 1, np.int64)
    _visit(*arrays, offsets[1:], np.empty(0, np.int32))
    np.cumsum(offsets, out=offsets)
    members = np.empty(offsets[-1], np.int32)
    _visit(*arrays, offsets[:-1].copy(), members)
    return NodePresence(groups, graph.node_lengths, offsets, members)


@njit(nogil=True, cache=True)
def _visit(steps, path_offsets, order, of_path, places, members):
    """Count the groups on each node in the node's place, and write the group if there is room."""
    last = np.full(len(places), -1, np.int32)
    for path in order:
        group = of_path[path]
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            if last[node] != group:
                last[node] = group
                if len(members):
                    members[places[node]] = group
                places[node] += 1


@dataclass(frozen=True, eq=False)
class PathSimilarity:
    """How much each pair of groups of paths shares.

    Attributes
    ----------
    names
        Of the groups.
    shared_nodes, shared_bp
        int64, shape (n_groups, n_groups): nodes that both visit, and their bp, each node once; on
        the diagonal all of a group.
    """

    names: tuple[str, ...]
    shared_nodes: np.ndarray
    shared_bp: np.ndarray

    @property
    def jaccard_nodes(self) -> np.ndarray:
        """Shared nodes by nodes of either; float64, shape (n_groups, n_groups), NaN for none."""
        return _jaccard(self.shared_nodes)

    @property
    def jaccard_bp(self) -> np.ndarray:
        """Shared bp by bp of either; float64, shape (n_groups, n_groups), NaN for none."""
        return _jaccard(self.shared_bp)


def iter_path_similarity(presence: NodePresence) -> Iterator[Progress]:
    """Compute the result of `path_similarity` in batches of nodes; the last `Progress` has it."""
    shared = np.zeros((2, presence.n_groups, presence.n_groups))
    n_nodes = len(presence.node_lengths)
    for first, block in presence.iter_blocks():
        rows = block.astype(np.float64)
        lengths = presence.node_lengths[first : first + len(block)]
        shared[0] += rows.T @ rows
        shared[1] += rows.T @ (rows * lengths[:, None])
        yield Progress("comparing nodes", (first + len(block)) / n_nodes)
    found = PathSimilarity(presence.groups.names, *np.rint(shared).astype(np.int64))
    yield Progress("compared", 1.0, found)


def path_similarity(presence: NodePresence) -> PathSimilarity:
    """Return how much each pair of groups shares, by nodes and by bp, like ``odgi similarity``.

    References
    ----------
    Guarracino, Heumos et al. 2022, odgi, doi:10.1093/bioinformatics/btac308.
    """
    return last_of(iter_path_similarity(presence)).result


def similar_order(similarity: PathSimilarity) -> np.ndarray:
    """Return the groups in an order that puts similar ones side by side; int64, (n_groups,).

    The order is that of the leaves of a tree by average linkage (UPGMA) of 1 - Jaccard by bp. A
    group without nodes shares nothing with any other.
    """
    return order_by_linkage(1.0 - np.nan_to_num(similarity.jaccard_bp))


def order_groups(graph: PangenomeGraph, groups: PathGroups, order: str) -> PathGroups:
    """Return groups as in the ``"file"``, by ``"name"``, or by ``"similarity"``.

    Numbers in names are compared by value: chr2 comes before chr10.

    Raises
    ------
    ParameterError
        If there is no such order.
    """
    names = groups.names
    if order == "file" or not names:
        return groups
    if order == "name":
        return groups.select(sorted(names, key=_name_key))
    if order != "similarity":
        raise ParameterError(f"rows are ordered by {order!r}, needs file, name or similarity")
    ranks = similar_order(path_similarity(find_presence(graph, groups)))
    return groups.select([names[rank] for rank in ranks.tolist()])


def _name_key(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def _jaccard(shared: np.ndarray) -> np.ndarray:
    own = np.diag(shared)
    either = own[:, None] + own[None, :] - shared
    return np.divide(shared, either, out=np.full(shared.shape, np.nan), where=either > 0)


@dataclass(frozen=True, eq=False)
class PangenomeGrowth:
    """The size of a pangenome of 1, 2, ... groups, in bp or nodes.

    Attributes
    ----------
    counted
        ``"bp"`` or ``"nodes"``.
    expected, core
        float64, shape (n_groups,): size of the union, and of the intersection, of ``k + 1``
        groups: exact means over all choices of groups.
    median, low, high
        float64, shape (n_groups,): median, 5 % and 95 % quantile of the union over random orders
        of the groups; NaN if no order was drawn.
    n_orders
        Number of orders drawn.
    """

    counted: str
    expected: np.ndarray
    core: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_orders: int


def iter_pangenome_growth(
    presence: NodePresence, *, counted: str = "bp", n_orders: int = 100, seed: int = 0
) -> Iterator[Progress]:
    """Compute the result of `pangenome_growth`, one order at a time; the last `Progress` has it."""
    if counted not in ("bp", "nodes"):
        raise ParameterError(f"counted is {counted!r}, needs 'bp' or 'nodes'")
    if n_orders < 0:
        raise ParameterError(f"n_orders is {n_orders}, needs at least 0")
    n = presence.n_groups
    weights = presence.node_lengths if counted == "bp" else np.ones(len(presence.node_lengths))
    sizes = np.bincount(np.diff(presence.offsets), weights, minlength=n + 1)
    has_none, has_all = np.ones((2, n + 1))
    expected, core = np.empty((2, n))
    numbers = np.arange(n + 1)
    for m in range(n):
        has_none *= np.maximum(n - numbers - m, 0) / (n - m)
        has_all *= np.maximum(numbers - m, 0) / (n - m)
        expected[m] = sizes[1:] @ (1.0 - has_none[1:])
        core[m] = sizes @ has_all
    curves = np.full((max(n_orders, 1), n), np.nan)
    generator = np.random.default_rng(seed)
    for order in range(n_orders):
        curves[order] = _grow(presence, weights, generator)
        yield Progress("drawing orders", (order + 1) / n_orders)
    drawn = np.quantile(curves, [0.5, 0.05, 0.95], axis=0)
    yield Progress("drawn", 1.0, PangenomeGrowth(counted, expected, core, *drawn, n_orders))


def pangenome_growth(
    presence: NodePresence, *, counted: str = "bp", n_orders: int = 100, seed: int = 0
) -> PangenomeGrowth:
    """Return how a pangenome grows with each group of paths.

    A node visited by ``c`` of ``G`` groups is in the union of ``m`` groups with probability
    ``1 - C(G - c, m) / C(G, m)``, and in their intersection with ``C(c, m) / C(G, m)``. Sums over
    all nodes are the exact means; no orders are drawn (Parmigiani et al. 2024, Panacus).

    Parameters
    ----------
    counted
        ``"bp"`` or ``"nodes"``.
    n_orders
        Random orders for median and quantiles; 0 for none.
    seed
        Seed of the orders.

    Raises
    ------
    ParameterError
        If ``counted`` is neither, or ``n_orders`` is negative.

    References
    ----------
    Parmigiani et al. 2024, Panacus, doi:10.1093/bioinformatics/btae720.
    """
    steps = iter_pangenome_growth(presence, counted=counted, n_orders=n_orders, seed=seed)
    return last_of(steps).result


def _grow(
    presence: NodePresence, weights: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return the size of the union after each group of a random order."""
    ranks = generator.permutation(presence.n_groups)
    is_visited = np.diff(presence.offsets) > 0
    starts = presence.offsets[:-1][is_visited]
    if len(starts) == 0:
        return np.zeros(presence.n_groups)
    firsts = np.minimum.reduceat(ranks[presence.members], starts)
    return np.cumsum(np.bincount(firsts, weights[is_visited], minlength=presence.n_groups))
