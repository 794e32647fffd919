"""Graph statistics as table rows: name, value with unit, and definition."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.analyses.graph.query.statistics_results import GraphStatistics, SequenceClass
from genoviz.errors import n_words

MAX_LISTED_COMPONENTS = 5


@dataclass(frozen=True)
class StatisticRow:
    """One statistic as a table row.

    Attributes
    ----------
    group
        Topic, e.g. ``"Paths"``.
    name, value
        Name, and the value with its unit.
    meaning
        Definition in one sentence.
    """

    group: str
    name: str
    value: str
    meaning: str = ""


def statistics_rows(statistics: GraphStatistics) -> tuple[StatisticRow, ...]:
    """Return the statistics as rows, ordered by group."""
    s = statistics
    groups = {
        "Size": _size_rows(s),
        "Nodes": _node_rows(s),
        "Edges": _edge_rows(s),
        "Depth": _depth_rows(s),
        "Samples": _sample_rows(s),
        "Bases": _base_rows(s),
        "Order of the nodes": _order_rows(s),
        "Layout": _layout_rows(s),
    }
    return tuple(StatisticRow(group, *row) for group, rows in groups.items() for row in rows)


def _number(value: float) -> str:
    """Format a number with about four digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "0 %"


def _size_rows(s: GraphStatistics) -> list[tuple]:
    return [
        ("Length", f"{s.total_length:,} bp", "Bases in all nodes."),
        ("Nodes", f"{s.n_nodes:,}", ""),
        ("Edges", f"{s.n_edges:,}", "Different edges; an edge and its mirror image are one."),
        ("Paths", f"{s.n_paths:,}", ""),
        ("Steps", f"{s.n_steps:,}", "Visits of the paths to nodes."),
        ("Components", _components(s), "Nodes in each weakly connected component."),
    ]


def _components(s: GraphStatistics) -> str:
    sizes = s.component_sizes
    listed = ", ".join(f"{size:,}" for size in sizes[:MAX_LISTED_COMPONENTS])
    more = ", …" if len(sizes) > MAX_LISTED_COMPONENTS else ""
    return f"{len(sizes):,} ({listed}{more} nodes)" if len(sizes) > 1 else f"{len(sizes):,}"


def _node_rows(s: GraphStatistics) -> list[tuple]:
    lengths = s.node_lengths
    return [
        ("Median length", f"{_number(lengths.median)} bp", ""),
        ("Mean length", f"{_number(lengths.mean)} bp", ""),
        ("Longest", f"{lengths.max:,} bp", ""),
        ("N50", f"{lengths.n50:,} bp", "Half of all bases are in nodes of at least this length."),
        ("Tips", f"{s.n_tips:,}", "Nodes with edges at one end only."),
        ("Isolated", f"{s.n_isolated:,}", "Nodes without edges."),
    ]


def _edge_rows(s: GraphStatistics) -> list[tuple]:
    rows = [
        ("Mean degree", _number(s.mean_degree), "Edges that touch a node, at both of its ends."),
        ("Highest degree", f"{s.max_degree:,}", ""),
        ("Self-loops", f"{s.n_loops:,}", "Edges from a node to itself, on either strand."),
        ("Nodes with a loop", f"{s.n_looped_nodes:,}", ""),
    ]
    if s.n_nondeterministic_edges is not None:
        meaning = "Edges that share their first base with another edge of the same node end."
        rows.append(("Nondeterministic", f"{s.n_nondeterministic_edges:,}", meaning))
    if s.n_unlisted_edges:
        meaning = "Edges that paths take, but the file does not list."
        rows.append(("Not listed", f"{s.n_unlisted_edges:,}", meaning))
    return rows


def _depth_rows(s: GraphStatistics) -> list[tuple]:
    return [
        ("Mean of nodes", _number(s.mean_depth), "Path steps on a node."),
        ("Mean of bases", _number(s.mean_base_depth), "Path steps over a base."),
        ("Median of nodes", _number(s.median_depth), ""),
        ("Highest", f"{s.max_depth:,}", ""),
        (
            "On no path",
            f"{n_words(s.n_unvisited, 'node')}, {s.unvisited_length:,} bp",
            "Nodes that no path visits.",
        ),
        ("Reverse steps", f"{100 * s.reverse_share:.3g} %", "Steps on the reverse strand."),
    ]


def _sample_rows(s: GraphStatistics) -> list[tuple]:
    def text(part: SequenceClass) -> str:
        share = _percent(part.length, s.total_length)
        return f"{n_words(part.n_nodes, 'node')}, {part.length:,} bp ({share})"

    return [
        ("Samples", f"{s.n_samples:,}", "By the PanSN part of the path names."),
        ("Private", text(s.private), "Visited by one sample."),
        ("Shell", text(s.shell), "Visited by several samples, but not by all."),
        ("Core", text(s.core), "Visited by all samples."),
    ]


def _base_rows(s: GraphStatistics) -> list[tuple]:
    n_bases = sum(s.bases.values())
    rows = [
        (letter, f"{count:,} ({_percent(count, n_bases)})", "")
        for letter, count in sorted(s.bases.items())
    ]
    upper = {letter: s.bases.get(letter, 0) + s.bases.get(letter.lower(), 0) for letter in "ACGT"}
    n_called = sum(upper.values())
    if n_called:
        rows.append(("GC", _percent(upper["G"] + upper["C"], n_called), "Of A, C, G and T."))
    return rows


def _order_rows(s: GraphStatistics) -> list[tuple]:
    order = s.order
    link = "From where a step ends to where the next begins, with the nodes in a row."
    total = "Distances of consecutive steps, three times as much to the left; 1 is the best."
    return [
        ("Mean link", f"{_number(order.mean_link_length)} bp", link),
        ("Mean link, nodes", _number(order.mean_link_nodes), link),
        ("Path distance per bp", _number(order.sum_by_nucleotides), total),
        ("Path distance per node", _number(order.sum_by_nodes), total),
        ("Links to the left", f"{order.n_backward:,}", ""),
    ]


def _layout_rows(s: GraphStatistics) -> list[tuple]:
    if s.layout is None:
        return []
    link = "From where a step begins to where the next begins, in the layout."
    return [
        ("Mean link", f"{_number(s.layout.mean_link_length)} bp", link),
        ("Path distance per bp", _number(s.layout.sum_by_nucleotides), ""),
        ("Path distance per node", _number(s.layout.sum_by_nodes), ""),
    ]
