"""A frame of the live picture, and its message to the browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.parts.canvas_component import pack_arrays

Palette = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Overview:
    """A small picture of the whole layout; uint8, row 0 at the bottom."""

    indices: np.ndarray
    viewport: Viewport


@dataclass(frozen=True, eq=False)
class Shapes:
    """Nodes, edges and bases as shapes; coordinates are relative to the frame's lower left corner.

    Attributes
    ----------
    node_ends
        float32, shape (k, 2, 2), bp: first and last base; clipped to the neighbourhood of the view.
    node_colours
        uint8, shape (k,): palette indices.
    edges
        float32, shape (m, 4, 2): control points of cubic Bezier curves.
    base_offsets, base_letters
        int32, shape (k + 1,), and uint8: the visible bases of each node.
    base_lines
        float32, shape (k, 2, 2): position of the first visible base, and the step to the next.
    names
        Names of the nodes; empty to show none.
    """

    node_ends: np.ndarray
    node_colours: np.ndarray
    edges: np.ndarray
    base_offsets: np.ndarray
    base_letters: np.ndarray
    base_lines: np.ndarray
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PlacedLabels:
    """Labels and their positions (float32, shape (n, 2)), relative to the lower left corner.

    Each label has its text, its colour, and the number that a click reports, or -1.
    """

    words: tuple[tuple[str, str, int], ...] = ()
    places: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.float32))


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture with all data that the browser needs.

    Attributes
    ----------
    indices
        uint8, (height, width): palette indices, row 0 at the bottom.
    viewport
        The view.
    palette
        256 colours.
    facts
        Arbitrary data that the drawing code gets back when the frame is shown.
    shapes
        Shapes to draw above the picture if few nodes are visible, or None.
    labels
        Text labels.
    overview
        A new picture of the whole layout, or None to keep the browser's.
    shows_overview
        Whether the overview map is shown.
    is_folded
        Whether the layout is folded into rows.
    hover
        The node under the pointer as a message, or None.
    """

    indices: np.ndarray
    viewport: Viewport
    palette: Palette
    facts: dict[str, Any] = field(default_factory=dict)
    shapes: Shapes | None = None
    labels: PlacedLabels = field(default_factory=PlacedLabels)
    overview: Overview | None = None
    shows_overview: bool = False
    is_folded: bool = False
    hover: dict[str, Any] | None = None


def frame_message(frame: Frame, *, with_palette: bool) -> dict[str, Any]:
    """Return a frame as a message: numbers, text, and all arrays packed into one."""
    view, shapes = frame.viewport, frame.shapes
    arrays: dict[str, np.ndarray] = {"indices": frame.indices}
    message: dict[str, Any] = {
        "kind": "frame",
        "bounds": [view.x_min, view.x_max, view.y_min, view.y_max],
        "width": view.width,
        "height": view.height,
        "labels": [list(word) for word in frame.labels.words],
        "names": list(shapes.names) if shapes is not None else [],
        "shows_map": frame.shows_overview,
        "is_folded": frame.is_folded,
        "is_lost": not frame.indices.any(),
        "hover": frame.hover,
    }
    if with_palette:
        arrays["palette"] = palette_bytes(frame.palette)
    if frame.labels.words:
        arrays["label_places"] = frame.labels.places
    if shapes is not None:
        for name in ("node_ends", "node_colours", "edges"):
            arrays[name] = getattr(shapes, name)
        for name in ("base_offsets", "base_letters", "base_lines"):
            arrays[name] = getattr(shapes, name)
    if frame.overview is not None:
        small = frame.overview.viewport
        arrays["map"] = frame.overview.indices
        message["map_bounds"] = [small.x_min, small.x_max, small.y_min, small.y_max]
        message["map_size"] = [small.width, small.height]
    return message | pack_arrays(arrays)


def palette_bytes(palette: Palette) -> np.ndarray:
    """Convert colours ``#rrggbb`` to uint8, shape (256, 4): red, green, blue, opaque."""
    rgb = np.frombuffer(bytes.fromhex("".join(c.lstrip("#") for c in palette)), np.uint8)
    return np.column_stack([rgb.reshape(-1, 3), np.full(len(palette), 255, np.uint8)])
