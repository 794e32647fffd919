"""Facts about one or several nodes: computed in jobs, and shown as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct
from genoviz_app.pages.pangenome.nodes.visits_table import visit_rows
from genoviz_app.parts.remote_table import MAX_ROWS, TableRows
from genoviz_app.parts.words import n_words

MAX_COUNTED_VISITS = 5_000_000
FACTS = """
:host { font-size: 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 0;
  line-height: 1.4; font-variant-numeric: tabular-nums; }
dt { opacity: 0.65; }
dd { margin: 0; overflow-wrap: anywhere; }
.bases { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 11.5px; }
.empty { margin: 12px; opacity: 0.8; font-size: 13px; line-height: 1.5; }
"""
NOTHING_PICKED = (
    "Click a node in the picture, or hold Shift and drag a box, to see its "
    "properties and the paths that visit it."
)
READING = "Reading the paths that visit the picked nodes"
LISTED_COPIES = 6
LISTED_NODES, FIRST_BASES, LAST_BASES = 40, 60, 20

_COMPONENTS: WeakKeyDictionary[PangenomeGraph, np.ndarray] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about the selected nodes.

    Attributes
    ----------
    nodes
        int64, the nodes, ascending.
    length
        Total length, bp.
    n_visits
        Number of path steps on them.
    n_paths
        Number of paths that visit them; None if there are too many visits to count.
    n_copies
        ``[times, paths]``: numbers of paths by number of visits to a single node; int64, ascending.
    reverse_share
        Fraction of visits in reverse; NaN without visits or if not counted.
    n_components
        Number of connected components that contain them.
    component
        The component of the first node, from 1.
    left, right
        int64, handles adjacent to the left and right end of a single node: ``node << 1``, with 1 if
        that node is entered at its right end.
    visits
        Table rows, and the region of each.
    """

    nodes: np.ndarray
    length: int
    n_visits: int
    n_paths: int | None
    n_copies: np.ndarray
    reverse_share: float
    n_components: int
    component: int
    left: np.ndarray
    right: np.ndarray
    visits: TableRows


def read_node_facts(graph: PangenomeGraph, nodes: np.ndarray) -> NodeFacts:
    """Compute the facts about one or more nodes."""
    nodes = distinct(nodes)
    depths = graph.node_depths[nodes]
    n_visits = int(depths.sum())
    is_counted = n_visits <= MAX_COUNTED_VISITS
    read = nodes if is_counted else nodes[: _n_nodes_within(depths, MAX_ROWS)]
    visits = find_node_visits(graph, read)
    components = components_of(graph)[nodes]
    left, right = find_neighbours(graph, int(nodes[0])) if len(nodes) == 1 else (nodes[:0],) * 2
    times = np.unique(visits.paths, return_counts=True)[1] if is_counted else nodes[:0]
    return NodeFacts(
        nodes=nodes,
        length=int(graph.node_lengths[nodes].sum()),
        n_visits=n_visits,
        n_paths=len(times) if is_counted else None,
        n_copies=np.stack(np.unique(times if len(nodes) == 1 else nodes[:0], return_counts=True)),
        reverse_share=float(visits.is_reverse.mean()) if is_counted and n_visits else float("nan"),
        n_components=len(distinct(components)),
        component=int(components[0]) + 1,
        left=left,
        right=right,
        visits=visit_rows(graph, visits, n_visits=n_visits, has_nodes=len(nodes) > 1),
    )


def _n_nodes_within(depths: np.ndarray, n_visits: int) -> int:
    """Return how many of the nodes have at most this many visits in total; at least one."""
    return max(int(np.searchsorted(np.cumsum(depths), n_visits, side="right")), 1)


def components_of(graph: PangenomeGraph) -> np.ndarray:
    """Return the connected component of each node; cached."""
    if graph not in _COMPONENTS:
        _COMPONENTS[graph] = find_components(graph)
    return _COMPONENTS[graph]


def find_neighbours(graph: PangenomeGraph, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the handles adjacent to the left and right end of a node; int64, ascending."""
    edges = graph.edges[graph.node_edge_index.of(node)].astype(np.int64)
    # Each edge is read in both directions: a+ -> b- is also b+ -> a-.
    both = np.concatenate([edges, edges[:, ::-1] ^ 1])
    forward, backward = both[both[:, 0] == 2 * node], both[both[:, 0] == 2 * node + 1]
    return np.unique(backward[:, 1]), np.unique(forward[:, 1])


def facts_html(graph: PangenomeGraph, facts: NodeFacts, ends: np.ndarray | None) -> str:
    """Return the facts as an HTML description list.

    Parameters
    ----------
    ends
        float64, shape (2, 2): position of a single node in the layout, or None.
    """
    is_one = len(facts.nodes) == 1
    rows = [("Length", f"{facts.length:,} bp")]
    if is_one:
        rows.append(("Depth", n_words(facts.n_visits, "step")))
    else:
        rows.insert(0, ("Nodes", f"{len(facts.nodes):,}"))
        rows.append(("Depth", f"{facts.n_visits / len(facts.nodes):,.1f} steps a node"))
    paths = "too many visits to count" if facts.n_paths is None else f"{facts.n_paths:,}"
    rows.append(("Paths", f"{paths} of {graph.n_paths:,}"))
    if (facts.n_copies[0] > 1).any():
        rows.append(("Copies", _copies(facts.n_copies)))
    if not math.isnan(facts.reverse_share):
        rows.append(("In reverse", f"{100 * facts.reverse_share:.3g} % of the visits"))
    if is_one:
        rows.append(("Component", f"{facts.component:,}"))
        rows.append(("Edges", f"{len(facts.left)} left, {len(facts.right)} right"))
        if ends is not None:
            x, y = ends.mean(axis=0)
            rows.append(("On the layout", f"x {x:,.0f}, y {y:,.0f} bp"))
        rows.append(("Bases", _bases_html(graph, int(facts.nodes[0]))))
    else:
        rows.append(("Components", f"{facts.n_components:,}"))
        rows.append(("Names", escape(_names(graph, facts.nodes))))
    cells = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return f"<dl>{cells}</dl>"


def empty_html(text: str) -> str:
    """Return instructions for an empty card."""
    return f'<p class="empty">{escape(text)}</p>'


def bases_of(graph: PangenomeGraph, node: int) -> str:
    """Return the sequence of a node; empty if the file has none."""
    return "" if graph.node_sequences is None else graph.node_sequences[node]


def _bases_html(graph: PangenomeGraph, node: int) -> str:
    bases = bases_of(graph, node)
    if not bases:
        return "not in the file" if graph.node_lengths[node] else "none"
    if len(bases) > FIRST_BASES + LAST_BASES + 10:
        n_left = len(bases) - FIRST_BASES - LAST_BASES
        bases = f"{bases[:FIRST_BASES]} … {n_left:,} bp … {bases[-LAST_BASES:]}"
    return f'<span class="bases">{escape(bases)}</span>'


def _copies(n_copies: np.ndarray) -> str:
    """Return copy numbers by number of paths, as in "1 in 20 paths, 2 in 58, 3 in 12"."""
    parts = [f"{times:,} in {n_paths:,}" for times, n_paths in n_copies.T.tolist()]
    n_more = len(parts) - LISTED_COPIES
    if n_more > 0:
        times, n_paths = n_copies[:, LISTED_COPIES - 1 :]
        parts[LISTED_COPIES - 1 :] = [f"{times[0]:,} to {times[-1]:,} in {n_paths.sum():,}"]
    first = f"{parts[0]} path{'' if n_copies[1, 0] == 1 else 's'}"
    return ", ".join([first, *parts[1:]])


def _names(graph: PangenomeGraph, nodes: Sequence[int]) -> str:
    names = ", ".join(graph.node_names[int(node)] for node in nodes[:LISTED_NODES])
    n_more = len(nodes) - LISTED_NODES
    return f"{names} and {n_more:,} more" if n_more > 0 else names
