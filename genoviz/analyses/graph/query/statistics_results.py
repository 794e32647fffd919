"""Graph statistics and their definitions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Histogram:
    """Histogram of integer values.

    Attributes
    ----------
    edges
        Integers, one more than ``counts``; bins include their lower edge and exclude the upper.
    counts
        Number of values in each bin.
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class LengthSummary:
    """Lengths in bp; nodes of at least ``n50`` bp hold half of all bases."""

    min: int
    median: float
    mean: float
    max: int
    n50: int


@dataclass(frozen=True)
class SequenceClass:
    """Number and bp of nodes visited by a given number of samples."""

    n_nodes: int
    length: int


@dataclass(frozen=True)
class LayoutDistances:
    """Distances between consecutive path steps in a layout, in its units (bp).

    As in odgi, distances are Euclidean, from the start of a step to the start of the next, so they
    include the drawn length of the node.

    Attributes
    ----------
    n_links
        Pairs of consecutive steps.
    mean_link_length
        Mean distance; ``odgi stats -c LAYOUT -l``.
    sum_by_nodes, sum_by_nucleotides
        Sum of the distances for each step and for each bp of the paths: the sum of path node
        distances, ``odgi stats -c LAYOUT -s``.
    """

    n_links: int
    mean_link_length: float
    sum_by_nodes: float
    sum_by_nucleotides: float


@dataclass(frozen=True)
class OrderDistances:
    """Distances between consecutive path steps with the nodes in a row, in file order.

    Attributes
    ----------
    n_links
        Pairs of consecutive steps.
    mean_link_nodes, mean_link_length
        Mean distance from the end of a step to the start of the next, in nodes and in bp;
        ``odgi stats -l``.
    sum_by_nodes, sum_by_nucleotides
        Sum of the distances between the left ends of the two nodes, tripled for a link to the left,
        per step and per bp of the paths; ``odgi stats -s``. A path in node order has 1.
    n_backward
        Number of links to the left, the penalties of ``-s``.
    """

    n_links: int
    mean_link_nodes: float
    mean_link_length: float
    sum_by_nodes: float
    sum_by_nucleotides: float
    n_backward: int


@dataclass(frozen=True)
class GraphStatistics:
    """A graph in numbers; beside each is the option of ``odgi stats`` that gives it.

    Attributes
    ----------
    total_length, n_nodes, n_edges, n_paths, n_steps
        Sizes (``-S``). An edge that the file lists twice, also as its mirror image, is one.
    n_unlisted_edges
        Edges that paths take but the file does not list; they count in nothing else.
    component_sizes
        Number of nodes of each weakly connected component, in falling order (``-W``). Edges and
        paths connect.
    n_loops, n_looped_nodes
        Edges from a node to itself, on either strand, and nodes that have one (``-L``).
    n_nondeterministic_edges
        Edges, seen from either end, that share their first base with another edge of the same
        node end (``-N``); None without sequences.
    bases
        How often each letter occurs in the nodes (``-b``); empty without sequences.
    node_lengths
        Summary of the node lengths.
    mean_degree, max_degree
        Edges that touch a node; one that touches both of its ends counts at each.
    n_tips, n_isolated
        Nodes with edges at one end only, and nodes without any.
    mean_depth, median_depth, max_depth, mean_base_depth
        Steps on a node; the last is for each bp instead of for each node.
    n_unvisited, unvisited_length
        Nodes that are on no path, and their bp.
    reverse_share
        Share of the steps that are on the reverse strand, 0 to 1.
    n_samples, private, shell, core
        Samples by the PanSN part of the path names, a path without one being its own; nodes that
        one sample visits, several, and all of them (``-a``).
    length_histogram, depth_histogram
        Nodes by length in bp and by depth.
    order
        Distances along the row of the nodes.
    layout
        Distances in a layout, when one was given.
    """

    total_length: int
    n_nodes: int
    n_edges: int
    n_paths: int
    n_steps: int
    n_unlisted_edges: int
    component_sizes: tuple[int, ...]
    n_loops: int
    n_looped_nodes: int
    n_nondeterministic_edges: int | None
    bases: dict[str, int]
    node_lengths: LengthSummary
    mean_degree: float
    max_degree: int
    n_tips: int
    n_isolated: int
    mean_depth: float
    median_depth: float
    max_depth: int
    mean_base_depth: float
    n_unvisited: int
    unvisited_length: int
    reverse_share: float
    n_samples: int
    private: SequenceClass
    shell: SequenceClass
    core: SequenceClass
    length_histogram: Histogram
    depth_histogram: Histogram
    order: OrderDistances
    layout: LayoutDistances | None = None
