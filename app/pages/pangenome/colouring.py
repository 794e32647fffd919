"""By what the picture is coloured, and the legend that goes with it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.plots.legend import Legend, NamedLegend, RampLegend
from app.plots.palettes import (
    CATEGORIES,
    DENSITY,
    DEPTH,
    GROUND,
    OTHER,
    POSITION,
    SHARED,
    Palette,
    category_palette,
    ramp_palette,
)
from genoviz.analyses.drawing import Picture
from genoviz.analyses.node_values import node_path_ranks, node_positions
from genoviz.model import PangenomeGraph

DENSITY_MODE, POSITION_MODE, PATHS_MODE, DEPTH_MODE = "density", "position", "paths", "depth"
MODES = {
    "Density": DENSITY_MODE,
    "Position on a path": POSITION_MODE,
    "Paths": PATHS_MODE,
    "Depth": DEPTH_MODE,
}


@dataclass(frozen=True, eq=False)
class Colouring:
    """How nodes become colours.

    Attributes
    ----------
    palette
        256 colours, the first for the ground.
    options
        Options of `LayoutDrawing.draw`.
    node_values
        float32, shape (n_nodes,), or None to colour by the number of nodes of a pixel.
    title
        What the colours mean, with the unit.
    items
        Colours and names, when the colours are names rather than numbers.
    missing
        What nodes without a value are.
    """

    palette: Palette
    options: dict[str, Any]
    node_values: np.ndarray | None = None
    title: str = ""
    items: tuple[tuple[str, str], ...] = ()
    missing: str = ""
    high: float = field(default=0.0)

    def legend(self, picture: Picture) -> Legend:
        """Return the legend of a picture that was drawn with these colours."""
        if self.items:
            return NamedLegend(self.title, self.items)
        high = self.high or float(np.nanmax(picture.levels))
        return RampLegend(self.title, picture.levels, high, self.missing)


def by_density() -> Colouring:
    """Colour by the number of nodes that a pixel shows."""
    return Colouring(ramp_palette(DENSITY), {"by": "count", "how": "log"}, title="Nodes in a pixel")


def by_depth(graph: PangenomeGraph) -> Colouring:
    """Colour by how many path steps a node has."""
    values = graph.node_depths.astype(np.float32)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    high = max(high, low + 1)
    return Colouring(
        ramp_palette(DEPTH),
        {"by": "mean", "how": "log", "value_range": (low, high)},
        values,
        title="Depth (path steps on a node)",
        high=high,
    )


def by_position(graph: PangenomeGraph, path: str) -> Colouring:
    """Colour by where a node lies on one path."""
    length = float(graph.path_lengths[graph.find_path(path)])
    ramp = ramp_palette(POSITION)
    return Colouring(
        (GROUND, OTHER, *ramp[1:255]),
        {
            "by": "mean",
            "how": "linear",
            "value_range": (0.0, max(length, 1.0)),
            "show_missing": True,
        },
        node_positions(graph, path),
        title=f"Position on {path} (bp)",
        missing="not on it",
        high=max(length, 1.0),
    )


def by_paths(graph: PangenomeGraph, paths: Sequence[str]) -> Colouring:
    """Colour by which of some paths a node lies on."""
    colours = [CATEGORIES[index % len(CATEGORIES)] for index in range(len(paths))]
    items = list(zip(colours, paths, strict=True))
    everything = [OTHER, *colours]
    if len(paths) > 1:
        everything.append(SHARED)
        items.append((SHARED, "several of them"))
    items.append((OTHER, "none of them" if len(paths) > 1 else "other nodes"))
    return Colouring(
        category_palette(everything),
        {"by": "max", "how": "linear", "value_range": (0.0, float(max(len(everything) - 1, 1)))},
        node_path_ranks(graph, paths),
        title="On path" if len(paths) == 1 else "On paths",
        items=tuple(items),
    )


class ColouringCache:
    """Makes the colouring of a graph when it is first drawn, and keeps it until it changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wish: tuple = ()
        self._made: Colouring | None = None

    def get(self, graph: PangenomeGraph, mode: str, paths: tuple[str, ...]) -> Colouring:
        """Return the colouring for a graph, a mode and the paths that it needs."""
        wish = (graph, mode, paths)
        with self._lock:
            if wish != self._wish or self._made is None:
                self._made = make_colouring(graph, mode, paths)
                self._wish = wish
            return self._made


def make_colouring(graph: PangenomeGraph, mode: str, paths: Sequence[str]) -> Colouring:
    """Return the colouring of a mode; density when the mode needs paths and there are none."""
    known = [path for path in paths if path in graph.path_names]
    if mode == DEPTH_MODE and graph.n_paths:
        return by_depth(graph)
    if mode == POSITION_MODE and known:
        return by_position(graph, known[0])
    if mode == PATHS_MODE and known:
        return by_paths(graph, known)
    return by_density()
