"""Facts about nodes, and their bases, as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.nodes.facts import NodeFacts

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
    "Click a node in the picture, or draw a box with Shift held, "
    "to see what it is and which paths visit it."
)
LISTED_NODES, FIRST_BASES, LAST_BASES = 40, 60, 20


def facts_html(graph: PangenomeGraph, facts: NodeFacts, ends: np.ndarray | None) -> str:
    """Return the facts as a list of terms.

    Parameters
    ----------
    ends
        float64, shape (2, 2): where the layout has a single node, or None.
    """
    is_one = len(facts.nodes) == 1
    rows = [("Length", f"{facts.length:,} bp")]
    if is_one:
        rows.append(("Depth", _count(facts.n_visits, "step")))
    else:
        rows.insert(0, ("Nodes", f"{len(facts.nodes):,}"))
        rows.append(("Depth", f"{facts.n_visits / len(facts.nodes):,.1f} steps a node"))
    paths = "too many visits to count" if facts.n_paths is None else f"{facts.n_paths:,}"
    rows.append(("Paths", f"{paths} of {graph.n_paths:,}"))
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
    """Return what to do, where there is nothing to show."""
    return f'<p class="empty">{escape(text)}</p>'


def bases_of(graph: PangenomeGraph, node: int) -> str:
    """Return the bases of a node; empty when the file has none."""
    return "" if graph.node_sequences is None else graph.node_sequences[node]


def _bases_html(graph: PangenomeGraph, node: int) -> str:
    bases = bases_of(graph, node)
    if not bases:
        return "not in the file" if graph.node_lengths[node] else "none"
    if len(bases) > FIRST_BASES + LAST_BASES + 10:
        n_left = len(bases) - FIRST_BASES - LAST_BASES
        bases = f"{bases[:FIRST_BASES]} … {n_left:,} bp … {bases[-LAST_BASES:]}"
    return f'<span class="bases">{escape(bases)}</span>'


def _names(graph: PangenomeGraph, nodes: Sequence[int]) -> str:
    names = ", ".join(graph.node_names[int(node)] for node in nodes[:LISTED_NODES])
    n_more = len(nodes) - LISTED_NODES
    return f"{names} and {n_more:,} more" if n_more > 0 else names


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
