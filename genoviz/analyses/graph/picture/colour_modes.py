"""Ways to colour nodes: the value of each node, and the `Colouring` that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.picture.colours import (
    CATEGORY_OPTIONS,
    MAX_CATEGORIES,
    MAX_INDEX,
    Colouring,
)
from genoviz.analyses.graph.picture.palettes import ALL, DARK, OTHER, SOME, Colour
from genoviz.analyses.graph.query.path_groups import (
    GROUPINGS,
    NodeGroups,
    PathGroups,
    count_node_groups,
    group_paths,
)
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

MAX_LISTED = 12
HEAVY_TAIL = 50
MANY_COPIES = 20
"""A gene's two or three copies stand out on a linear ramp; repeats of hundreds need a log one."""


def by_density() -> Colouring:
    """Colour by the number of nodes that a pixel shows."""
    return Colouring(
        "Nodes in a pixel", {"by": "count", "how": "log", "max_index": MAX_INDEX}, ramp="density"
    )


def by_depth(graph: PangenomeGraph) -> Colouring:
    """Colour by the number of path steps on a node."""
    return by_numbers(
        graph.node_depths,
        "Depth (path steps on a node)",
        ramp="depth",
        is_heavy_tailed=True,
        is_whole=True,
    )


def by_copies(graph: PangenomeGraph) -> Colouring:
    """Colour by the mean number of visits by the paths that visit a node."""
    n_paths = count_node_groups(graph, group_paths(graph, "path")).counts
    copies = np.full(graph.n_nodes, np.nan, np.float32)
    np.divide(graph.node_depths, n_paths, out=copies, where=n_paths > 0, casting="unsafe")
    return by_numbers(
        copies,
        "Copies in a path that has the node (mean)",
        ramp="depth",
        missing="on no path",
        is_heavy_tailed=bool((copies > MANY_COPIES).any()),
    )


def by_length(graph: PangenomeGraph) -> Colouring:
    """Colour by node length."""
    return by_numbers(
        graph.node_lengths, "Node length (bp)", ramp="depth", is_heavy_tailed=True, is_whole=True
    )


def by_strand(graph: PangenomeGraph) -> Colouring:
    """Colour by the share of reverse steps."""
    shares = node_reverse_shares(graph) * 100
    return by_numbers(
        shares, "Reverse steps (%)", ramp="share", limits=(0.0, 100.0), missing="on no path"
    )


def by_gc(graph: PangenomeGraph) -> Colouring:
    """Colour by GC content."""
    shares = node_gc_shares(graph) * 100
    return by_numbers(
        shares, "GC content (%)", ramp="share", limits=(0.0, 100.0), missing="no A, C, G or T"
    )


def by_position(graph: PangenomeGraph, path: str) -> Colouring:
    """Colour by the position of a node on one path."""
    length = max(float(graph.path_lengths[graph.find_path(path)]), 1.0)
    return by_numbers(
        node_positions(graph, path),
        f"Position on {path} (bp)",
        ramp="position",
        limits=(0.0, length),
        missing="not on it",
    )


def by_numbers(
    values: np.ndarray,
    title: str,
    *,
    ramp: str,
    limits: tuple[float, float] | None = None,
    missing: str = "no value",
    is_heavy_tailed: bool = False,
    is_whole: bool = False,
) -> Colouring:
    """Colour by a number of each node; NaN for none."""
    values = np.asarray(values, np.float32)
    has_value = ~np.isnan(values)
    if limits is None:
        known = values[has_value]
        limits = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    low, high = limits
    if not high > low:  # even steps that float32 can tell apart
        high, is_heavy_tailed = low + max(1.0, 1e-4 * abs(low)), False
    has_missing = not has_value.all()
    return Colouring(
        title,
        {
            "by": "mean",
            "how": "log" if is_heavy_tailed else "linear",
            "value_range": (low, high),
            "show_missing": has_missing,
            "max_index": MAX_INDEX,
        },
        values,
        ramp=ramp,
        high=high,
        missing=missing if has_missing else "",
        is_whole=is_whole,
    )


def by_names(
    codes: np.ndarray,
    names: Sequence[str],
    title: str,
    *,
    colours: Sequence[Colour] | None = None,
    rest: str = "",
    note: str = "",
) -> Colouring:
    """Colour by a name of each node.

    Parameters
    ----------
    codes
        Integers, shape (n_nodes,): 0 for nodes without a name, else i + 1 for ``names[i]``.
    rest
        The meaning of nodes without a name.
    """
    colours = list(colours if colours is not None else range(len(names)))
    counts = np.bincount(codes, minlength=len(names) + 1)
    if len(names) >= MAX_CATEGORIES:
        raise ParameterError(
            f"there are {len(names):,} names, and a picture tells {MAX_CATEGORIES - 1} apart"
        )
    items = [(c, f"{name} ({n:,})") for c, name, n in zip(colours, names, counts[1:], strict=True)]
    if len(items) > MAX_LISTED:
        order = np.argsort(-counts[1:], kind="stable")[:MAX_LISTED]
        n_more = len(items) - MAX_LISTED
        items = [items[index] for index in sorted(order)]
        note = "; ".join(filter(None, [f"and {n_more:,} more", note]))
    if counts[0] and rest:
        items.append((OTHER, f"{rest} ({counts[0]:,})"))
    return Colouring(
        f"{title} (nodes)",
        dict(CATEGORY_OPTIONS),
        codes.astype(np.float32),
        colours=(OTHER, *colours),
        items=tuple(items),
        note=note,
    )


def by_groups(
    graph: PangenomeGraph, groups: PathGroups, own_colours: Mapping[str, str] | None = None
) -> Colouring:
    """Colour by the only group of paths on a node.

    Raises
    ------
    ParameterError
        If there are more groups than distinguishable colours.
    """
    n, plural = len(groups.names), GROUPINGS[groups.by]
    if n > DARK.n_colours and len(own_colours or {}) < n:
        raise ParameterError(
            f"there are {n:,} {plural}, and a picture tells {DARK.n_colours} apart; "
            "choose some, or colour by how many share a node"
        )
    found = count_node_groups(graph, groups)
    colours = [(own_colours or {}).get(name, rank) for rank, name in enumerate(groups.names)]
    title = f"On {groups.by}" if n == 1 else f"Only on one of {n} {plural}"
    if n == 1:
        return by_names(found.counts, groups.names, title, colours=colours, rest="other nodes")
    several, every = (found.counts > 1) & (found.counts < n), found.counts == n
    codes = np.where(found.counts == 1, found.first + 3, 0)
    codes[every], codes[several] = 1, 2
    names = ["both" if n == 2 else f"all {n}", "several", *groups.names]
    colouring = by_names(
        codes, names, title, colours=(ALL, SOME, *colours), rest=f"none of these {plural}"
    )
    shared = [item for item in colouring.items if item[0] in (ALL, SOME) or item[0] == OTHER]
    own = [item for item in colouring.items if item not in shared]
    has_several = n > 2
    shared = [item for item in shared if item[0] != SOME or has_several]
    return replace(colouring, items=(*own, *shared))


def by_sharing(graph: PangenomeGraph, groups: PathGroups) -> Colouring:
    """Colour by the number of groups of paths on a node."""
    n, plural = len(groups.names), GROUPINGS[groups.by]
    counts = count_node_groups(graph, groups).counts.astype(np.float32)
    counts[counts == 0] = np.nan
    return by_numbers(
        counts,
        f"{plural.capitalize()} on a node (of {n:,})",
        ramp="depth",
        limits=(1.0, float(max(n, 2))),
        missing=f"on none of these {plural}",
        is_whole=True,
    )


def by_class(graph: PangenomeGraph, groups: PathGroups) -> Colouring:
    """Colour by core (on all groups), shell (on some) and private (on one)."""
    n, plural = len(groups.names), GROUPINGS[groups.by]
    found: NodeGroups = count_node_groups(graph, groups)
    codes = np.select([found.counts == 0, found.counts == n, found.counts > 1], [0, 1, 2], 3)
    names = [f"core: all {n:,} {plural}", "shell: some", "private: one"]
    return by_names(
        codes, names, "Pangenome class", colours=(6, 1, 0), rest=f"none of these {plural}"
    )


def by_component(components: np.ndarray) -> Colouring:
    """Colour by weakly connected component, the largest first."""
    sizes = np.bincount(components)
    order = np.argsort(-sizes, kind="stable")
    ranks = np.empty(len(sizes), np.int64)
    ranks[order] = np.arange(len(sizes))
    n_colours = DARK.n_colours
    note = f"; after {n_colours} the colours repeat" if len(sizes) > n_colours else ""
    n_listed = min(len(sizes), MAX_LISTED)
    more = f"and {len(sizes) - n_listed:,} more{note}" if len(sizes) > n_listed else ""
    return Colouring(
        f"Component (nodes), {len(sizes):,} in all",
        dict(CATEGORY_OPTIONS),
        (ranks[components] % n_colours).astype(np.float32),
        colours=tuple(range(n_colours)),
        items=tuple((rank, f"{rank + 1} ({sizes[order[rank]]:,})") for rank in range(n_listed)),
        note=more,
    )


def node_positions(graph: PangenomeGraph, path: str | int) -> np.ndarray:
    """Return the position of each node on one path.

    Returns
    -------
    numpy.ndarray
        float32, shape (n_nodes,): middle of the node's first visit by the path, bp from the
        path's start; NaN for a node that the path does not visit.

    Raises
    ------
    ParameterError
        If the graph has no such path.
    """
    index = _path_index(graph, path)
    nodes = (graph.path_steps(index) >> 1).astype(np.int64)
    lengths = graph.node_lengths[nodes]
    values = np.full(graph.n_nodes, np.nan, np.float32)
    middles = np.cumsum(lengths) - lengths / 2
    values[nodes[::-1]] = middles[::-1]
    return values


def _path_index(graph: PangenomeGraph, path: str | int) -> int:
    if isinstance(path, str):
        return graph.find_path(path)
    if not 0 <= path < graph.n_paths:
        raise ParameterError(f"path {path} is not one of the graph's {graph.n_paths:,} paths")
    return path


def node_reverse_shares(graph: PangenomeGraph) -> np.ndarray:
    """Return the share of reverse steps of each node; float32, (n_nodes,), NaN without any."""
    n_reverse = _count_reverse(graph.steps, graph.n_nodes)
    depths = graph.node_depths
    shares = np.full(graph.n_nodes, np.nan, np.float32)
    np.divide(n_reverse, depths, out=shares, where=depths > 0, casting="unsafe")
    return shares


def node_gc_shares(graph: PangenomeGraph) -> np.ndarray:
    """Return the share of G and C among the A, C, G and T of each node; float32, NaN without any.

    Raises
    ------
    ParameterError
        If the graph has no sequences.
    """
    sequences = graph.node_sequences
    if sequences is None or (graph.n_nodes and len(sequences.data) == 0):
        raise ParameterError("GC content needs the nodes' sequences, and the graph has none")
    return _gc_shares(sequences.data, sequences.offsets)


@njit(nogil=True, cache=True)
def _count_reverse(steps, n_nodes):
    counts = np.zeros(n_nodes, np.int64)
    for step in steps:
        counts[step >> 1] += step & 1
    return counts


@njit(nogil=True, cache=True, parallel=True)
def _gc_shares(data, offsets):
    shares = np.empty(len(offsets) - 1, np.float32)
    for node in prange(len(shares)):
        n_gc = 0
        n_at = 0
        for position in range(offsets[node], offsets[node + 1]):
            base = data[position] | 32
            n_gc += base == 103 or base == 99
            n_at += base == 97 or base == 116
        shares[node] = n_gc / (n_gc + n_at) if n_gc + n_at else np.nan
    return shares
