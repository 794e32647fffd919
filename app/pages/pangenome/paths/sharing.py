"""Sharing of nodes among paths, and the data of drawings along the nodes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, MutableMapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.figures import make_path_figure, track_figure_bytes
from genoviz.analyses.graph.picture.palettes import LIGHT, Theme, blend
from genoviz.analyses.graph.query.path_groups import (
    GROUPINGS,
    PathGroups,
    find_group_nodes,
    group_paths,
)
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.analyses.graph.query.path_rows import (
    NodeAxis,
    PathRows,
    find_path_rows,
    iter_path_rows,
)
from genoviz.analyses.graph.query.sharing import (
    NodePresence,
    PangenomeGrowth,
    PathSimilarity,
    find_presence,
    iter_pangenome_growth,
    iter_path_similarity,
    order_groups,
    similar_order,
)
from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.pages.pangenome.picture.shared_marks import (
    PICKED_COLOUR,
    REGION_COLOUR,
    main_stretch,
    region_nodes,
)
from genoviz_app.parts.words import n_words, shorten_middle
from genoviz_app.plots.lit_stretches import LitAlong
from genoviz_app.session.lit_sets import Highlight

WORDS = """
:host { font-size: 12px; line-height: 17px; font-variant-numeric: tabular-nums; }
p { margin: 0; height: 17px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
b { font-weight: 600; }
i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
svg { vertical-align: middle; margin: 0 4px; }
@container (max-width: 860px) or (min-width: 1250px) { p { height: 34px; white-space: normal; } }
"""
"""The text under the figure has a fixed height, so that changes do not move the layout."""
LOWEST = 0.05
"""Fraction of pairs with similarities below the colour scale, so that outliers do not set it."""
MAX_COMPARED, MAX_ROWS = 2000, 4000
"""Maximum number of paths or groups for pairwise comparison, and for rows."""

_KNOWN: MutableMapping[PangenomeGraph, dict[tuple[str, str], Any]] = WeakKeyDictionary()
"""Results by graph, shared by all tabs, keyed by kind and grouping."""


def _known(graph: PangenomeGraph) -> dict[tuple[str, str], Any]:
    return _KNOWN.setdefault(graph, {})


def iter_presence(graph: PangenomeGraph, by: str) -> Generator[Progress, None, NodePresence]:
    """Find which groups visit each node; yields `Progress` and returns the result."""
    known, key = _known(graph), ("presence", by)
    if key not in known:
        yield Progress("reading paths", 0.0)
        known[key] = find_presence(graph, by)
    return known[key]


def iter_similarity(graph: PangenomeGraph, by: str) -> Generator[Progress, None, PathSimilarity]:
    """Compare all pairs of groups; yields `Progress` and returns the result."""
    known, key = _known(graph), ("similarity", by)
    if key not in known:
        n = len(group_paths(graph, by).names)
        if n > MAX_COMPARED:
            raise ParameterError(
                f"{n:,} {GROUPINGS[by]} are too many to compare each two on a page, which takes "
                f"{MAX_COMPARED:,}; compare samples, or use `genoviz similarity`"
            )
        presence = yield from iter_presence(graph, by)
        for progress in iter_path_similarity(presence):
            if progress.result is None:
                yield progress
        known[key] = progress.result
    return known[key]


def iter_ordered(
    graph: PangenomeGraph, by: str, order: str
) -> Generator[Progress, None, PathGroups]:
    """Order the groups as in `order_groups`; yields `Progress` and returns them."""
    groups = group_paths(graph, by)
    if order != "similarity":
        return order_groups(graph, groups, order)
    similarity = yield from iter_similarity(graph, by)
    return groups.select([groups.names[rank] for rank in similar_order(similarity).tolist()])


@dataclass(frozen=True, eq=False)
class OrderedSimilarity:
    """Similarity of all pairs of groups, in the order of their tree.

    Attributes
    ----------
    similarity
        The similarity in the order of the graph.
    order
        int64, shape (n_groups,): the group of each row.
    jaccard
        float64, shape (n_groups, n_groups): Jaccard index in bp, by rows.
    """

    similarity: PathSimilarity
    order: np.ndarray
    jaccard: np.ndarray

    @property
    def names(self) -> list[str]:
        """Names of the rows."""
        return [self.similarity.names[k] for k in self.order.tolist()]

    @property
    def ends(self) -> tuple[float, float]:
        """Values of the first and the last colour; a few lower values also get the first."""
        known = self.jaccard[~np.isnan(self.jaccard) & ~np.eye(len(self.order), dtype=bool)]
        return tuple(np.quantile(known, [LOWEST, 1]).tolist()) if len(known) else (0.0, 1.0)

    def cells(self, theme: Theme) -> tuple[np.ndarray, list[str]]:
        """Return the matrix as uint8 colour indices, and the colours."""
        low, high = self.ends
        levels = np.clip((np.nan_to_num(self.jaccard) - low) / ((high - low) or 1.0), 0, 1)
        indices = np.where(np.isnan(self.jaccard), 0, 1 + np.round(254 * levels))
        stops = theme.ramps["density"]
        return indices.astype(np.uint8), [
            theme.ground,
            *(blend(stops, k / 254) for k in range(255)),
        ]

    def pair_html(self, row: int, column: int) -> str:
        """Describe what two rows share, as HTML."""
        a, b = self.order[[row, column]].tolist()
        names, bp = self.similarity.names, self.similarity.shared_bp
        value = self.jaccard[row, column]
        jaccard = "nothing to compare" if np.isnan(value) else f"Jaccard {value:.4g}"
        if a == b:
            return f"<b>{escape(names[a])}</b> · {bp[a, a]:,} bp of nodes"
        return (
            f"<b>{escape(names[a])}</b> and <b>{escape(names[b])}</b> · {jaccard} · "
            f"{bp[a, b]:,} bp shared, {bp[a, a] - bp[a, b]:,} and {bp[b, b] - bp[a, b]:,} "
            "in one alone"
        )


def iter_ordered_similarity(
    graph: PangenomeGraph, by: str
) -> Generator[Progress, None, OrderedSimilarity]:
    """Compare all pairs of groups, and order them so that similar ones are adjacent."""
    found = yield from iter_similarity(graph, by)
    order = similar_order(found)
    return OrderedSimilarity(found, order, found.jaccard_bp[np.ix_(order, order)])


def iter_growth(
    graph: PangenomeGraph, by: str, counted: str
) -> Generator[Progress, None, PangenomeGrowth]:
    """Compute pangenome growth; yields `Progress` and returns the result."""
    presence = yield from iter_presence(graph, by)
    for progress in iter_pangenome_growth(presence, counted=counted):
        if progress.result is None:
            yield progress
    return progress.result


def find_difference(graph: PangenomeGraph, by: str, first: str, second: str) -> Highlight:
    """Return the nodes that one of two groups visits and the other does not."""
    a, b = (find_group_nodes(graph, by, [name]) for name in (first, second))
    nodes = np.setxor1d(a, b, assume_unique=True)
    if not len(nodes):
        raise ParameterError(f"{first} and {second} have the same nodes")
    title = f"{shorten_middle(first, 24)} or {shorten_middle(second, 24)} alone"
    return Highlight(title, "node", nodes=nodes, graph=graph)


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows, and the axis of the nodes.

    Attributes
    ----------
    graph, groups, axis
        The graph, its paths or groups in row order, and the nodes in axis order.
    n_groups
        Total number of groups, which is larger than the number of rows if there are too many.
    is_by_base
        Whether the axis is in bp; otherwise each node has width 1.
    """

    graph: PangenomeGraph
    groups: PathGroups
    axis: NodeAxis
    n_groups: int
    is_by_base: bool


def iter_plan(graph: PangenomeGraph, by: str, order: str, axis: str) -> Generator[Any, None, Plan]:
    """Determine the order of rows and nodes."""
    groups = yield from iter_ordered(graph, by, order)
    n_groups = len(groups.names)
    groups = groups.select(groups.names[:MAX_ROWS]) if n_groups > MAX_ROWS else groups
    if axis == "graph" and graph.total_length:
        return Plan(graph, groups, NodeAxis.of(graph), n_groups, True)
    nodes = None
    if axis != "graph":
        presence = yield from iter_presence(graph, by)
        nodes = np.argsort(-np.diff(presence.offsets), kind="stable")
    return Plan(graph, groups, NodeAxis.of(graph, nodes, in_bp=False), n_groups, False)


def find_marks(
    plan: Plan, region: PathRegion | None, picked: np.ndarray, lit: tuple[Any, ...]
) -> tuple[tuple[LitAlong, ...], int | None]:
    """Return the intervals of region, selection and highlights, and the row of the region."""
    sets, row, graph = [], None, plan.graph
    if region is not None and region.path in graph.path_names:
        found = int(plan.groups.of_path[graph.find_path(region.path)])
        row = found if found >= 0 else None
        sets.append(("Region", REGION_COLOUR, region_nodes(graph, region)))
    if not sets or not np.isin(picked, sets[0][2]).all():
        sets.append(("Picked", PICKED_COLOUR, picked))
    sets += [(each.title, each.colour, each.nodes) for each in lit]
    marks = []
    for title, colour, nodes in sets:
        if len(nodes):
            stretches = plan.axis.stretches(nodes)
            marks.append(LitAlong(title, colour, stretches, stretches[:, 1]))
    return tuple(marks), row


@dataclass(frozen=True, eq=False)
class Place:
    """The target of a click: nodes, and the interval of the row's paths on them, if any."""

    nodes: np.ndarray
    region: PathRegion | None


def find_place(plan: Plan, row: int, start: float, end: float) -> Place:
    """Return the nodes in an interval of the axis, and the interval of a row's paths on them."""
    graph, nodes = plan.graph, plan.axis.between(start, end)
    is_there = np.zeros(graph.n_nodes, bool)
    is_there[nodes] = True
    best = None
    for path in np.flatnonzero(plan.groups.of_path == row).tolist():
        if is_there[graph.path_steps(path) >> 1].any():
            stretches = PathProfile.of(graph, path).find_stretches(is_there)
            region = main_stretch(graph.path_names[path], stretches)
            if region is not None and (best is None or region.length > best.length):
                best = region
    return Place(nodes, best)


def iter_view(plan: Plan, start: int, end: int, n_bins: int) -> Iterator[Progress]:
    """Compute the cells of the visible part."""
    return iter_path_rows(
        plan.graph, by=plan.groups, start=start, end=end, n_bins=n_bins, axis=plan.axis
    )


def cell_html(plan: Plan, rows: PathRows, row: int, x: float) -> str:
    """Describe the cell under the pointer: the row, the nodes, and how the row visits them."""
    k = int(np.searchsorted(rows.bounds, x, "right")) - 1
    start, end = int(rows.bounds[k]), int(rows.bounds[k + 1])
    nodes = plan.axis.between(start, end)
    names = [escape(plan.graph.node_names[int(node)]) for node in nodes[[0, -1]]]
    where = (
        f"node {names[0]}"
        if len(nodes) == 1
        else f"{n_words(len(nodes), 'node')}, {' to '.join(names)}"
    )
    if plan.is_by_base:
        where += f" ({start + 1:,}–{end:,} bp)"
    found = "is not there"
    if rows.present[row, k] > 0:
        found = (
            f"{100 * rows.present[row, k]:.3g} % visited, depth {rows.depths[row, k]:.3g}, "
            f"{100 * rows.reverse[row, k]:.3g} % reverse, at {100 * rows.places[row, k]:.3g} % "
            "of the path"
        )
    return f"<p><b>{escape(rows.groups.names[row])}</b> · {where} · {found}</p>"


def iter_bin_lines(plan: Plan, rows: PathRows) -> Iterator[str]:
    """Yield the lines of a table of all visited cells."""
    columns = "start end first_node last_node present depth reverse place".split()
    yield "\t".join([f"#{rows.groups.by}", *columns]) + "\n"
    names = plan.graph.node_names
    ends = [
        plan.axis.between(*pair)[[0, -1]]
        for pair in zip(rows.bounds, rows.bounds[1:], strict=False)
    ]
    for row, name in enumerate(rows.groups.names):
        for k in np.flatnonzero(rows.present[row] > 0).tolist():
            numbers = (
                each[row, k] for each in (rows.present, rows.depths, rows.reverse, rows.places)
            )
            first, last = (names[int(node)] for node in ends[k])
            cells = [name, str(rows.bounds[k]), str(rows.bounds[k + 1]), str(first), str(last)]
            yield "\t".join([*cells, *(f"{number:.6g}" for number in numbers)]) + "\n"


def write_presence(graph: PangenomeGraph, by: str, path: Path) -> Iterator[Any]:
    """Write a row for each node: its length, and 0 or 1 for each group."""
    found = yield from iter_presence(graph, by)
    names = graph.node_names
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(["#node", "length", *found.groups.names]) + "\n")
        for first, block in found.iter_blocks():
            for k, row in enumerate(block.astype("i1").astype("U1").tolist(), first):
                file.write("\t".join([names[k], str(found.node_lengths[k]), *row]) + "\n")
            yield None


def write_rows(
    plan: Plan, stretch: tuple[int, int], n_bins: int, shade: str, title: str, path: Path
) -> None:
    """Write the cells of an interval as a table or picture; the file extension selects which."""
    start, end = stretch
    rows = find_path_rows(
        plan.graph, by=plan.groups, start=start, end=end, axis=plan.axis, n_bins=n_bins
    )
    if path.suffix == ".tsv":
        path.write_text("".join(iter_bin_lines(plan, rows)), encoding="utf-8")
        return
    figure = make_path_figure(rows, shade=shade, title=title, theme=LIGHT)
    path.write_bytes(track_figure_bytes(figure, path.suffix))
