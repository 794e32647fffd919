"""What the open graph is: its size."""

from __future__ import annotations

from html import escape

from genoviz_app.session.session import OpenGraph


def facts_html(opened: OpenGraph | None) -> str:
    """Return the size of a graph as a small table."""
    if opened is None:
        return ""
    graph = opened.graph
    rows = (
        ("Nodes", f"{graph.n_nodes:,}"),
        ("Edges", f"{graph.n_edges:,}"),
        ("Paths", f"{graph.n_paths:,}"),
        ("Path steps", f"{graph.n_steps:,}"),
        ("Sequence", f"{graph.total_length:,} bp"),
    )
    cells = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="numbers">{cells}</dl>'
