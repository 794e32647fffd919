"""Guides for the layout of nodes without paths: rGFA reference paths, and walks along links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numba import njit

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.layout.guide_walks import (
    UNREACHED,
    GuideWalks,
    cross_links,
    cut_branches,
    find_ways,
    hang_nodes,
    mark_links,
    note_nexts,
    place_on_walks,
)
from genoviz.analyses.graph.sites.handle_graph import HandleGraph
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct

TAB, COLON, LETTER_N, LETTER_O, LETTER_R, LETTER_S = 9, 58, 78, 79, 82, 83
N_PIVOTS = 4
"""Nodes of each component that are sources of shortest paths to all its nodes."""


@dataclass(frozen=True, eq=False)
class GuidedGraph:
    """A graph with the guides that its layout needs as paths.

    Attributes
    ----------
    graph
        The paths of the graph, then its guides: reference paths first.
    n_references, n_walks
        Number of reference paths and walks made.
    hung_steps, hung_bounds
        Handles (uint32) and bounds (int64, one more than walks) of the walks that are no guides,
        but place nodes between those placed by paths; see `place_hung_nodes`.
    note
        A sentence about the guides; empty if none were made.
    """

    graph: PangenomeGraph
    n_references: int
    n_walks: int
    hung_steps: np.ndarray
    hung_bounds: np.ndarray
    note: str


def guide_graph(graph: PangenomeGraph, *, seed: int = 0) -> GuidedGraph:
    """Return a graph with guides to all nodes that no path of two steps visits.

    Paths take precedence. Nodes connected to paths but not on them are placed last, between nodes
    on paths, by walks that are no guides, so the distances of the paths themselves do not change.

    In a graph without such paths, the nodes with tags ``SN``, ``SO`` and ``SR:i:0`` (rGFA) become
    reference paths: one for each name, in order of offsets, split at gaps. Every other node is hung
    between its anchors: a shortest path leads from a guided node through unguided ones back to a
    guided one. Components without any guide get shortest paths between distant nodes. Finally, each
    link to such nodes that is on no walk gets one, with some steps before and after it. Only nodes
    without links to other nodes stay unguided.

    Parameters
    ----------
    graph
        Any graph.
    seed
        Seed of the nodes at which the search for distant nodes begins.

    References
    ----------
    Li, Feng and Chu 2020, rGFA and minigraph, doi:10.1186/s13059-020-02168-z.
    """
    is_guided = _find_guided(graph)
    has_paths = bool(is_guided.any())
    if is_guided.all():
        return GuidedGraph(graph, 0, 0, np.empty(0, np.uint32), np.zeros(1, np.int64), "")
    with_references = graph if has_paths else add_reference_paths(graph)
    n_references = with_references.n_paths - graph.n_paths
    is_guided[with_references.steps >> 1] |= n_references > 0
    is_wanted = ~is_guided if has_paths else np.ones(graph.n_nodes, bool)
    components = find_components(graph)
    steps, bounds = _make_walks(with_references, components, is_guided, is_wanted, seed)
    is_hung = np.zeros(len(bounds) - 1, bool)
    if has_paths:
        has_path = np.zeros(int(components.max()) + 1, bool)
        has_path[components[is_guided]] = True
        is_hung = has_path[components[steps[bounds[:-1]] >> 1]]
    hung_steps, hung_bounds = _take_walks(steps, bounds, is_hung)
    guide_steps, guide_bounds = _take_walks(steps, bounds, ~is_hung)
    names = tuple(f"walk {k + 1}" for k in range(len(guide_bounds) - 1))
    guided = _with_paths(with_references, names, guide_steps, np.diff(guide_bounds))
    n_apart = len(distinct(steps[~is_guided[steps >> 1]] >> 1)) if has_paths else 0
    note = _describe(n_references, len(is_hung), n_apart)
    return GuidedGraph(guided, n_references, len(is_hung), hung_steps, hung_bounds, note)


def place_hung_nodes(guided: GuidedGraph, coordinates: np.ndarray) -> np.ndarray:
    """Return coordinates in which the nodes off the paths are between those on them.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp: after the layout of the nodes on paths.
    """
    placed = coordinates.copy()
    graph = guided.graph
    arrays = graph.node_lengths, guided.hung_steps, guided.hung_bounds
    place_on_walks(placed, *arrays, _find_guided(graph))
    return placed


def _find_guided(graph: PangenomeGraph) -> np.ndarray:
    """Return which nodes are on paths of at least two steps."""
    counts = np.diff(graph.path_offsets)
    is_guided = np.zeros(graph.n_nodes, bool)
    is_guided[graph.steps[np.repeat(counts > 1, counts)] >> 1] = True
    return is_guided


def graph_to_measure(graph: PangenomeGraph) -> PangenomeGraph:
    """Return the graph whose paths define stress: itself, or with guides if it has no paths."""
    has_paths = bool((np.diff(graph.path_offsets) > 1).any())
    return graph if has_paths else guide_graph(graph).graph


def add_reference_paths(graph: PangenomeGraph) -> PangenomeGraph:
    """Return the graph with a path for each run of reference nodes of rGFA."""
    tags = graph.node_tags
    if tags is None:
        return graph
    places = np.full((graph.n_nodes, 4), -1, np.int64)
    _read_places(tags.data, tags.offsets, places)
    nodes = np.flatnonzero((places[:, 0] >= 0) & (places[:, 2] >= 0) & (places[:, 3] == 0))
    if len(nodes) == 0:
        return graph
    spans = places[nodes, 0], places[nodes, 1]
    sequences = [tags.data[start:stop].tobytes() for start, stop in zip(*spans, strict=True)]
    known, ranks = np.unique(np.array(sequences, object), return_inverse=True)
    order = np.lexsort((places[nodes, 2], ranks))
    nodes, ranks = nodes[order], ranks[order]
    starts = places[nodes, 2]
    is_first = np.ones(len(nodes), bool)
    is_first[1:] = (np.diff(ranks) != 0) | (starts[1:] != (starts + graph.node_lengths[nodes])[:-1])
    firsts = np.flatnonzero(is_first)
    # Different names stay so, even if they are not UTF-8.
    names = tuple(
        known[rank].decode("utf-8", "backslashreplace") for rank in ranks[firsts].tolist()
    )
    sizes = np.diff(np.append(firsts, len(nodes)))
    return _with_paths(graph, names, (nodes << 1).astype(np.uint32), sizes)


@njit(nogil=True, cache=True)
def _read_places(tags, offsets, places):
    """Write the bounds of SN, and SO and SR of each node; -1 if it lacks them."""
    for node in range(len(offsets) - 1):
        i = offsets[node]
        while i < offsets[node + 1]:
            stop = i
            while stop < offsets[node + 1] and tags[stop] != TAB:
                stop += 1
            if stop - i > 5 and tags[i] == LETTER_S and tags[i + 2] == COLON == tags[i + 4]:
                if tags[i + 1] == LETTER_N:
                    places[node, 0], places[node, 1] = i + 5, stop
                elif tags[i + 1] == LETTER_O:
                    places[node, 2] = _read_integer(tags, i + 5, stop)
                elif tags[i + 1] == LETTER_R:
                    places[node, 3] = _read_integer(tags, i + 5, stop)
            i = stop + 1


@njit(nogil=True, cache=True)
def _read_integer(text, i, stop):
    """Return the integer of up to 18 digits that is the whole field, or -1."""
    if stop <= i or stop - i > 18:
        return -1
    value = 0
    for k in range(i, stop):
        if text[k] < 48 or text[k] > 57:
            return -1
        value = value * 10 + (text[k] - 48)
    return value


def _with_paths(
    graph: PangenomeGraph, names: tuple[str, ...], steps: np.ndarray, sizes: np.ndarray
) -> PangenomeGraph:
    return replace(
        graph,
        path_names=graph.path_names + names,
        path_offsets=np.append(graph.path_offsets, graph.n_steps + np.cumsum(sizes)),
        steps=np.append(graph.steps, steps),
        walks=None,
    )


def _take_walks(
    steps: np.ndarray, bounds: np.ndarray, is_taken: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.diff(bounds)
    return steps[np.repeat(is_taken, sizes)], np.append(0, np.cumsum(sizes[is_taken]))


def _make_walks(
    graph: PangenomeGraph,
    components: np.ndarray,
    is_guided: np.ndarray,
    is_wanted: np.ndarray,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps and bounds of walks to nodes without a guide."""
    handles = HandleGraph.of_edges(graph.links, graph.n_nodes)
    walks = GuideWalks(
        np.empty(1024, np.uint32),
        np.empty(1024, np.int64),
        np.zeros(2, np.int64),
        np.full(2 * graph.n_nodes, -1, np.int64),
    )
    for first, stop in pairwise(graph.path_offsets.tolist()):
        note_nexts(walks.nexts, graph.steps, first, stop)
    has_guide = np.zeros(int(components.max(initial=-1)) + 1, bool)
    has_guide[components[is_guided]] = True
    walks, is_covered = _span(graph, handles, walks, components, ~has_guide, seed)
    walks = _hang(graph, handles, walks, is_covered | is_guided)
    arrays = handles.offsets, handles.targets
    is_taken = np.zeros(len(handles.targets), bool)
    mark_links(*arrays, graph.steps, graph.path_offsets, is_taken)
    mark_links(*arrays, *_list_walks(walks), is_taken)
    return _list_walks(cross_links(walks, *arrays, is_taken, is_wanted))


def _list_walks(walks: GuideWalks) -> tuple[np.ndarray, np.ndarray]:
    return walks.steps[: walks.sizes[0]], np.append(0, walks.ends[: walks.sizes[1]])


def _span(
    graph: PangenomeGraph,
    handles: HandleGraph,
    walks: GuideWalks,
    components: np.ndarray,
    is_free: np.ndarray,
    seed: int,
) -> tuple[GuideWalks, np.ndarray]:
    """Add walks from distant nodes of the components without a guide.

    The first pivot of a component is the node farthest from a random one; each later pivot is the
    node farthest from all earlier ones.
    """
    is_covered = np.zeros(graph.n_nodes, bool)
    nodes = np.flatnonzero(is_free[components])
    if len(nodes) == 0:
        return walks, is_covered
    drawn = np.random.default_rng(seed).permutation(nodes)
    nowhere = np.zeros(graph.n_nodes, bool)
    nearest = np.full(graph.n_nodes, UNREACHED)
    pivots = drawn[np.unique(components[drawn], return_index=True)[1]]
    for number in range(N_PIVOTS + 1):
        sources = np.concatenate([pivots << 1, pivots << 1 | 1])
        distances, parents = find_ways(
            handles.offsets,
            handles.targets,
            graph.node_lengths,
            sources,
            np.zeros_like(sources),
            nowhere,
        )
        of_nodes = distances.reshape(-1, 2).min(axis=1)
        if number:
            nearest = np.minimum(nearest, of_nodes)
            found = nodes[of_nodes[nodes] < UNREACHED]
            found = found[np.argsort(-of_nodes[found], kind="stable")]
            tips = found << 1 | (distances[found << 1] > distances[found << 1 | 1])
            has_walk = np.zeros(graph.n_nodes, bool)
            walks = cut_branches(walks, tips, parents, has_walk)
            is_covered |= has_walk
        pivots = _farthest(nodes, components, nearest if number else of_nodes)
        pivots = pivots[nearest[pivots] > 0]
        if len(pivots) == 0:
            break
    return walks, is_covered


def _farthest(nodes: np.ndarray, components: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the node of the largest distance in each component."""
    order = nodes[np.lexsort((nodes, -distances[nodes], components[nodes]))]
    return order[np.unique(components[order], return_index=True)[1]]


def _hang(
    graph: PangenomeGraph, handles: HandleGraph, walks: GuideWalks, is_covered: np.ndarray
) -> GuideWalks:
    """Add walks from covered nodes through uncovered ones, back to covered ones."""
    anchors = np.flatnonzero(is_covered)
    sources = np.concatenate([anchors << 1, anchors << 1 | 1])
    distances, parents = find_ways(
        handles.offsets,
        handles.targets,
        graph.node_lengths,
        sources,
        -graph.node_lengths[sources >> 1],
        is_covered,
    )
    sides = distances.reshape(-1, 2)
    nodes = np.flatnonzero(~is_covered & (sides.min(axis=1) < UNREACHED))
    reached = np.where(sides < UNREACHED, sides, 0).sum(axis=1)
    nodes = nodes[np.argsort(-reached[nodes], kind="stable")]
    return hang_nodes(walks, nodes, parents, np.zeros(graph.n_nodes, bool))


def _describe(n_references: int, n_walks: int, n_apart: int) -> str:
    references = f"{n_references:,} reference {'path' if n_references == 1 else 'paths'} of SN tags"
    walks = f"{n_walks:,} {'walk' if n_walks == 1 else 'walks'} along links"
    guides = " and ".join(words for words, n in ((references, n_references), (walks, n_walks)) if n)
    if not guides:
        return ""
    verb = "guides" if n_references + n_walks == 1 else "guide"
    if n_apart:
        nodes = "node lies" if n_apart == 1 else "nodes lie"
        placed = "places" if n_walks == 1 else "place"
        return f"{n_apart:,} {nodes} on no guiding path: {walks} {placed} them."
    return f"No paths: {guides} {verb} the layout."
