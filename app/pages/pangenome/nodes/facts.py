"""What there is to say of one node, or of several, as jobs find it out."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.nodes.visits_table import visit_rows
from genoviz_app.parts.remote_table import MAX_ROWS, TableRows

MAX_COUNTED_VISITS = 5_000_000
_COMPONENTS: WeakKeyDictionary[PangenomeGraph, np.ndarray] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about picked nodes.

    Attributes
    ----------
    nodes
        int64, the nodes, ascending.
    length
        Their bases together, bp.
    n_visits
        Steps on them, of all paths.
    n_paths
        Paths that visit them; None when there are too many visits to count them.
    reverse_share
        Share of the visits that are in reverse; NaN without visits or when not counted.
    n_components
        Components that they belong to.
    component
        The component of the first, counted from 1.
    left, right
        int64, handles that follow at the left and at the right end of a single node: ``node << 1``,
        with 1 when that node is entered through its right end.
    visits
        Rows of the table, and the region of each.
    """

    nodes: np.ndarray
    length: int
    n_visits: int
    n_paths: int | None
    reverse_share: float
    n_components: int
    component: int
    left: np.ndarray
    right: np.ndarray
    visits: TableRows


def read_node_facts(graph: PangenomeGraph, nodes: np.ndarray) -> NodeFacts:
    """Return the facts about some nodes; at least one."""
    nodes = np.unique(nodes)
    depths = graph.node_depths[nodes]
    n_visits = int(depths.sum())
    is_counted = n_visits <= MAX_COUNTED_VISITS
    read = nodes if is_counted else nodes[: _n_nodes_within(depths, MAX_ROWS)]
    visits = find_node_visits(graph, read)
    components = components_of(graph)[nodes]
    left, right = find_neighbours(graph, int(nodes[0])) if len(nodes) == 1 else (nodes[:0],) * 2
    return NodeFacts(
        nodes=nodes,
        length=int(graph.node_lengths[nodes].sum()),
        n_visits=n_visits,
        n_paths=len(np.unique(visits.paths)) if is_counted else None,
        reverse_share=float(visits.is_reverse.mean()) if is_counted and n_visits else float("nan"),
        n_components=len(np.unique(components)),
        component=int(components[0]) + 1,
        left=left,
        right=right,
        visits=visit_rows(graph, visits, n_visits=n_visits, has_nodes=len(nodes) > 1),
    )


def _n_nodes_within(depths: np.ndarray, n_visits: int) -> int:
    """Return how many of the nodes have at most so many visits together; at least one."""
    return max(int(np.searchsorted(np.cumsum(depths), n_visits, side="right")), 1)


def components_of(graph: PangenomeGraph) -> np.ndarray:
    """Return the component of each node; it is found once."""
    if graph not in _COMPONENTS:
        _COMPONENTS[graph] = find_components(graph)
    return _COMPONENTS[graph]


def find_neighbours(graph: PangenomeGraph, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the handles beyond the left and beyond the right end of a node; int64, ascending."""
    edges = graph.edges[graph.node_edge_index.of(node)].astype(np.int64)
    # Each edge is read in both directions: a+ -> b- is also b+ -> a-.
    both = np.concatenate([edges, edges[:, ::-1] ^ 1])
    forward, backward = both[both[:, 0] == 2 * node], both[both[:, 0] == 2 * node + 1]
    return np.unique(backward[:, 1]), np.unique(forward[:, 1])
