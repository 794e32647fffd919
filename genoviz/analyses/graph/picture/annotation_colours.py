"""Colours of annotations: those of their file, or one for each name or type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from genoviz.analyses.graph.picture.colour_modes import by_names
from genoviz.analyses.graph.picture.colours import Colouring
from genoviz.analyses.graph.picture.palettes import DARK, OTHER, SOME, Colour, Theme
from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.errors import ParameterError, n_words
from genoviz.model import PangenomeGraph

MAX_LABELS = 200
BYS = ("name", "type", "colour")


def by_annotation(graph: PangenomeGraph, placed: PlacedAnnotations, by: str = "") -> Colouring:
    """Colour nodes by the annotations on them.

    If several are on one node, the shortest is shown, and the legend says how many nodes have
    annotations of different colours.

    Parameters
    ----------
    by
        ``"name"``, ``"type"`` or ``"colour"``; empty for the colours of the file if it has any,
        else the names.

    Raises
    ------
    ParameterError
        If ``by`` is none of these, or the annotations are of another graph.
    """
    if by not in ("", *BYS):
        raise ParameterError(f"annotations are coloured by {by!r}, needs one of {', '.join(BYS)}")
    if placed.graph is not graph:
        raise ParameterError("the annotations were placed on another graph")
    by = by or _default_by(placed)
    labels, names, colours = _label(placed, by)
    lengths = placed.ends - placed.starts
    order = np.argsort(-lengths, kind="stable")
    codes, n_mixed = _fill(graph.steps, placed.step_ranges[order], labels[order], graph.n_nodes)
    several = n_words(n_mixed, "node has", "nodes have")
    note = f"{several} several, the shortest is shown" if n_mixed else ""
    return by_names(
        codes, names, "Annotation", colours=colours, rest="without annotation", note=note
    )


def place_colours(placed: PlacedAnnotations, by: str = "", *, theme: Theme = DARK) -> np.ndarray:
    """Return the colour of each place as `by_annotation` gives it; ``#rrggbb``, shape (n,)."""
    by = by or _default_by(placed)
    labels, _names, colours = _label(placed, by)
    return np.array([theme.colour(c) for c in (OTHER, *colours)], dtype=object)[labels]


def _default_by(placed: PlacedAnnotations) -> str:
    return "colour" if (placed.annotations.colours > 0).any() else "name"


def _label(
    placed: PlacedAnnotations, by: str
) -> tuple[np.ndarray, Sequence[str], Sequence[Colour]]:
    """Return a number from 1 on for each place, and the names and colours of these numbers.

    Shorter annotations have larger numbers, so that pixels show them rather than longer ones.
    """
    annotations, rows = placed.annotations, placed.rows
    if by == "colour":
        keys, codes = np.unique(annotations.colours[rows], return_inverse=True)
        colours: list[Colour] = [f"#{key:06x}" if key >= 0 else OTHER for key in keys.tolist()]
        names = [_common_name(placed, codes == code) for code in range(len(keys))]
    else:
        texts = [_text(placed, row, by) for row in rows.tolist()]
        keys, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
        names, colours = keys.tolist(), list(range(len(keys)))
    lengths = placed.ends - placed.starts
    totals = np.bincount(codes, weights=lengths, minlength=len(names))
    counts = np.bincount(codes, minlength=len(names))
    kept = np.argsort(-totals, kind="stable")[:MAX_LABELS]
    kept = kept[np.argsort(-(totals / np.maximum(counts, 1))[kept], kind="stable")]
    n_left = len(names) - len(kept)
    numbers = np.zeros(max(len(names), 1), np.int64)
    numbers[kept] = np.arange(len(kept)) + 1 + (n_left > 0)
    names, colours = [names[k] for k in kept.tolist()], [colours[k] for k in kept.tolist()]
    if by != "colour":
        colours = list(range(len(names)))
    if n_left:
        numbers[numbers == 0] = 1
        names, colours = [f"{n_left:,} others", *names], [SOME, *colours]
    return numbers[codes], names, colours


def _text(placed: PlacedAnnotations, row: int, by: str) -> str:
    name, kind = placed.annotations.names[row], placed.annotations.types[row]
    return (kind or "no type") if by == "type" else (name or kind or "no name")


def _common_name(placed: PlacedAnnotations, is_one: np.ndarray) -> str:
    """Return the name that annotations share, or the first and how many more there are."""
    texts = dict.fromkeys(_text(placed, row, "name") for row in placed.rows[is_one].tolist())
    first = next(iter(texts))
    return first if len(texts) == 1 else f"{first} and {len(texts) - 1:,} more"


@njit(nogil=True, cache=True)
def _fill(steps, ranges, labels, n_nodes):
    """Return the last label of each node, 0 for none, and how many nodes have several labels."""
    codes = np.zeros(n_nodes, np.int64)
    is_mixed = np.zeros(n_nodes, np.bool_)
    for place in range(len(labels)):
        for step in range(ranges[place, 0], ranges[place, 1]):
            node = steps[step] >> 1
            is_mixed[node] |= codes[node] != 0 and codes[node] != labels[place]
            codes[node] = labels[place]
    return codes, is_mixed.sum()
