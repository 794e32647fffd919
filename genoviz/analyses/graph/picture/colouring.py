"""Colourings of a picture: the user's choice, and the colour values it stands for.

Colours from a user's table of nodes are made here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.picture import colour_modes as modes
from genoviz.analyses.graph.picture.colours import Colouring
from genoviz.analyses.graph.query.path_groups import PathGroups, group_paths
from genoviz.errors import ParameterError, n_words
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz.model.graph.node_table import NodeTable

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.picture.colour_modes import HEAVY_TAIL, by_names, by_numbers
from genoviz.analyses.graph.picture.palettes import parse_colour
from genoviz.model.graph.node_table import NodeColumn

__all__ = ["MODES", "ColourChoice", "Colouring", "make_colouring"]
MODES: Mapping[str, str] = MappingProxyType(
    {
        "density": "Density of nodes",
        "depth": "Depth (steps)",
        "path-depth": "Paths on a node",
        "copies": "Copies in a path",
        "strand": "Strand",
        "length": "Node length",
        "gc": "GC content",
        "component": "Component",
        "position": "Position on a path",
        "paths": "Paths or groups",
        "sharing": "Shared by groups",
        "class": "Core, shell, private",
        "stress": "Stress of the layout",
        "annotation": "Annotations",
        "table": "Own table",
    }
)
"""The modes and their labels."""
PATH_MODES = frozenset(
    {
        *("depth", "path-depth", "copies", "strand", "position"),
        *("paths", "sharing", "class", "stress"),
    }
)
"""The modes that need paths."""
MAX_TEXTS = 200
STRESS_LIMITS = (-4.0, 1.0)
"""Range of the stress colour ramp as log10; fixed, so that layouts can be compared."""
NOT_NAMED = "not in the table"


@dataclass(frozen=True)
class ColourChoice:
    """How to colour a picture.

    Attributes
    ----------
    mode
        A key of `MODES`.
    paths
        The path of ``"position"``; for ``"paths"``, ``"sharing"`` and ``"class"`` the names of the
        groups to use: paths, samples, haplotypes or contigs. Empty means all.
    group_by
        What a group is: a key of `GROUPINGS`.
    column
        Column of the user's table; empty for the first one.
    annotate_by
        ``"name"``, ``"type"`` or ``"colour"``; empty for the file's colours if it has any, else
        the names.
    colours
        User-defined colours of groups: pairs of name and ``#rrggbb``.
    """

    mode: str = "density"
    paths: tuple[str, ...] = ()
    group_by: str = "path"
    column: str = ""
    annotate_by: str = ""
    colours: tuple[tuple[str, str], ...] = ()


def make_colouring(
    graph: PangenomeGraph,
    choice: ColourChoice,
    *,
    components: np.ndarray | None = None,
    annotations: PlacedAnnotations | None = None,
    table: NodeTable | None = None,
    layout: GraphLayout | None = None,
) -> Colouring:
    """Return the colouring of a choice.

    Parameters
    ----------
    components
        int32, shape (n_nodes,): component of each node, if already known.
    annotations
        Needed for ``"annotation"``.
    table
        Needed for ``"table"``.
    layout
        Needed for ``"stress"``, which is measured as `near_stress` does.

    Raises
    ------
    ParameterError
        If the graph lacks what the choice needs, or the choice is unknown.
    """
    mode = choice.mode
    if mode not in MODES:
        raise ParameterError(f"the colours are {mode!r}, need one of {', '.join(MODES)}")
    if mode in PATH_MODES and not graph.n_paths:
        raise ParameterError(f"colouring by {mode} needs paths, and the graph has none")
    if mode in _OF_GRAPH:
        return _OF_GRAPH[mode](graph)
    if mode == "position":
        return modes.by_position(graph, choice.paths[0] if choice.paths else graph.path_names[0])
    if mode == "component":
        return modes.by_component(find_components(graph) if components is None else components)
    if mode == "stress":
        if layout is None:
            raise ParameterError("colouring by stress needs a layout, and there is none")
        from genoviz.analyses.graph.layout.near_stress import near_stress

        return by_stress(near_stress(graph, layout, backend="cpu").nodes)
    if mode == "annotation":
        if annotations is None:
            raise ParameterError("colouring by annotation needs annotations, and there are none")
        from genoviz.analyses.graph.picture.annotation_colours import by_annotation

        return by_annotation(graph, annotations, choice.annotate_by)
    if mode == "table":
        if table is None:
            raise ParameterError("colouring by a table needs a table, and there is none")
        return by_table(graph, table, choice.column)
    return _by_groups(graph, choice)


def _by_groups(graph: PangenomeGraph, choice: ColourChoice) -> Colouring:
    groups: PathGroups = group_paths(graph, choice.group_by)
    if choice.paths:
        groups = groups.select(choice.paths)
    if choice.mode == "paths":
        return modes.by_groups(graph, groups, dict(choice.colours))
    return (
        modes.by_sharing(graph, groups)
        if choice.mode == "sharing"
        else modes.by_class(graph, groups)
    )


_OF_GRAPH: dict[str, Callable[[PangenomeGraph], Colouring]] = {
    "density": lambda _: modes.by_density(),
    "depth": modes.by_depth,
    "path-depth": lambda graph: modes.by_sharing(graph, group_paths(graph, "path")),
    "copies": modes.by_copies,
    "strand": modes.by_strand,
    "length": modes.by_length,
    "gc": modes.by_gc,
}


def by_stress(stress: np.ndarray) -> Colouring:
    """Colour by the path stress of near steps on a node; float64, (n_nodes,), NaN for none.

    A node has none if no step on it has a later one in its path, as `near_stress` measures. The
    ramp ends at stress 0.0001 (distances right to 1 %) and at 10 (distances wrong by three times
    their length). Values beyond get the colours of the ends.
    """
    with np.errstate(divide="ignore"):
        values = np.clip(np.log10(stress), *STRESS_LIMITS)
    return by_numbers(
        values,
        "Path stress of near steps (log10)",
        ramp="depth",
        limits=STRESS_LIMITS,
        missing="on no path, or at the end of one",
    )


def by_table(graph: PangenomeGraph, table: NodeTable, name: str = "") -> Colouring:
    """Colour by a column of a table: numbers by a ramp, colours as given, texts by category.

    Raises
    ------
    ParameterError
        If the table has no such column, or belongs to another graph.
    """
    column = table.find(name)
    if len(column.values) != graph.n_nodes:
        raise ParameterError(
            f"{table.name} has values of {n_words(len(column.values), 'node')}, "
            f"and the graph has {graph.n_nodes:,}"
        )
    if column.kind == "numbers":
        return by_numbers(
            column.values,
            column.name,
            ramp="position",
            missing=NOT_NAMED,
            is_heavy_tailed=_is_heavy_tailed(column.values),
        )
    if column.kind == "colours":
        return _by_own_colours(column)
    return _by_texts(column)


def _is_heavy_tailed(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    if len(known) == 0 or known.min() < 0:
        return False
    return bool(known.max() > HEAVY_TAIL * max(float(np.median(known)), 1.0))


def _by_texts(column: NodeColumn) -> Colouring:
    """Give each of the most frequent texts a colour; the others are grey."""
    codes = column.values.astype(np.int64) + 1
    counts = np.bincount(codes, minlength=len(column.texts) + 1)[1:]
    kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_TEXTS])
    renumbered = np.zeros(len(column.texts) + 1, np.int64)
    renumbered[kept + 1] = np.arange(1, len(kept) + 1)
    names = [column.texts[index] for index in kept.tolist()]
    n_left = len(column.texts) - len(kept)
    rest = f"{n_left:,} rarer texts, or {NOT_NAMED}" if n_left else NOT_NAMED
    return by_names(renumbered[codes], names, column.name, rest=rest)


def _by_own_colours(column: NodeColumn) -> Colouring:
    """Keep up to 200 colours; if there are more, replace each by the nearest frequent one."""
    codes = column.values.astype(np.int64) + 1
    counts = np.bincount(codes, minlength=len(column.texts) + 1)[1:]
    kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_TEXTS])
    colours = np.array([parse_colour(text) for text in column.texts], np.float64).reshape(-1, 3)
    renumbered = np.zeros(len(column.texts) + 1, np.int64)
    for index, colour in enumerate(colours):
        renumbered[index + 1] = 1 + np.argmin(((colours[kept] - colour) ** 2).sum(axis=1))
    names = [column.texts[index] for index in kept.tolist()]
    n_left = len(column.texts) - len(kept)
    note = f"{n_left:,} rarer colours are drawn as the nearest of these" if n_left else ""
    return by_names(renumbered[codes], names, column.name, colours=names, rest=NOT_NAMED, note=note)
