"""Annotations as the pages draw them: boxes on a path, labels on the layout."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz_app.pages.pangenome.picture.marks import NodeLabel
from genoviz_app.parts.annotation_colours import colours_of
from genoviz_app.plots.annotation_rows import AnnotationBoxes

STRANDS = {1: "+", -1: "-", 0: ""}


def annotation_name(placed: PlacedAnnotations, row: int) -> str:
    """Return what people call a row: its name, or else its type."""
    return placed.annotations.names[row] or placed.annotations.types[row] or "no name"


def boxes_on_path(placed: PlacedAnnotations, path: int) -> AnnotationBoxes:
    """Return the annotations that lie on a path."""
    places = np.flatnonzero(placed.paths == path)
    rows = placed.rows[places].tolist()
    return AnnotationBoxes(
        placed.starts[places],
        placed.ends[places],
        names=[annotation_name(placed, row) for row in rows],
        colours=colours_of(placed)[places].tolist(),
        details=[describe_place(placed, place) for place in places.tolist()],
    )


def describe_place(placed: PlacedAnnotations, place: int) -> str:
    """Return where an annotation lies on its path, for a tooltip."""
    start, end, row = placed.starts[place], placed.ends[place], placed.rows[place]
    parts = [
        placed.annotations.types[row],
        f"{start:,} to {end:,} ({end - start:,} bp)",
        STRANDS[int(placed.annotations.strands[row])],
        "cut off at the path's end" if placed.is_clipped[place] else "",
    ]
    return ", ".join(part for part in parts if part)


def middle_node(placed: PlacedAnnotations, place: int) -> int:
    """Return the node that has the middle step of a place."""
    first, stop = placed.step_ranges[place].tolist()
    return int(placed.graph.steps[(first + max(stop - 1, first)) // 2] >> 1)


def labels_of(placed: PlacedAnnotations, *, limit: int) -> list[NodeLabel]:
    """Return a label for each annotation, once where it has places on several paths.

    Of more than ``limit`` annotations, the longest are labelled.
    """
    _rows, firsts = np.unique(placed.rows, return_index=True)
    lengths = placed.ends[firsts] - placed.starts[firsts]
    chosen = firsts[np.argsort(-lengths, kind="stable")[:limit]]
    colours = colours_of(placed)
    return [
        NodeLabel(
            middle_node(placed, place), annotation_name(placed, placed.rows[place]), colours[place]
        )
        for place in chosen.tolist()
    ]
