"""Colours from a user's table of nodes."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.picture.colour_modes import HEAVY_TAIL, by_names, by_numbers
from genoviz.analyses.graph.picture.colours import Colouring
from genoviz.analyses.graph.picture.palettes import parse_colour
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.graph.node_table import NodeColumn, NodeTable

MAX_TEXTS = 200
NOT_NAMED = "not in the table"


def by_table(graph: PangenomeGraph, table: NodeTable, name: str = "") -> Colouring:
    """Colour by a column of a table: numbers by a ramp, colours as they are, texts by category.

    Raises
    ------
    ParameterError
        If the table has no such column, or is of another graph.
    """
    column = table.find(name)
    if len(column.values) != graph.n_nodes:
        raise ParameterError(
            f"{table.name} has values of {len(column.values):,} nodes, "
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
    """Give the most frequent texts a colour each; what is left is grey."""
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
    """Keep up to 200 colours as they are; of more, each becomes the nearest frequent one."""
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
