"""Node colouring: values, their scaling, and their legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from genoviz.analyses.graph.picture.drawing import Picture
from genoviz.analyses.graph.picture.legend import Legend, NamedLegend, RampLegend
from genoviz.analyses.graph.picture.palettes import (
    DARK,
    Colour,
    Palette,
    Theme,
    category_palette,
    ramp_palette,
)

MAX_INDEX = 239
"""Highest palette index for nodes; higher ones are for marks."""

N_MARK_COLOURS = 255 - MAX_INDEX
MAX_CATEGORIES = MAX_INDEX
CATEGORY_OPTIONS: dict[str, Any] = {
    "by": "max",
    "how": "linear",
    "value_range": (0.0, float(MAX_CATEGORIES)),
    "max_index": MAX_INDEX,
}


@dataclass(frozen=True, eq=False)
class Colouring:
    """Values, scaling and colours of nodes.

    Attributes
    ----------
    title
        What the colours mean, with the unit.
    options
        Options of `LayoutDrawing.draw`; they keep the indices above `MAX_INDEX` free for marks.
    node_values
        float32, shape (n_nodes,), or None to colour by the number of nodes per pixel. Categories
        are integers from 0; a pixel with several shows the largest.
    ramp
        Name of the theme's ramp; empty for categories.
    high
        Upper end of a ramp; 0 to take it from the picture.
    missing
        Description of nodes without a value; empty if there are none.
    is_whole
        Whether the numbers of a ramp are integers.
    colours
        Colour of each category, at most `MAX_CATEGORIES`.
    items
        Colours and names of the legend.
    note
        Additional text of the legend.
    theme
        Dark or light.
    """

    title: str
    options: dict[str, Any]
    node_values: np.ndarray | None = None
    ramp: str = ""
    high: float = 0.0
    missing: str = ""
    is_whole: bool = False
    colours: tuple[Colour, ...] = ()
    items: tuple[tuple[Colour, str], ...] = ()
    note: str = ""
    theme: Theme = field(default=DARK)

    def on(self, theme: Theme) -> Colouring:
        """Return the same colouring in another theme."""
        return self if theme is self.theme else replace(self, theme=theme)

    @cached_property
    def palette(self) -> Palette:
        """The colours of the palette indices: background, nodes, and ink for the marks."""
        return self.palette_with(())

    def palette_with(self, mark_colours: Sequence[str]) -> Palette:
        """Return the palette with colours of marks, the first at index ``MAX_INDEX + 1``."""
        inks = [self.theme.ink] * N_MARK_COLOURS
        marks = [*mark_colours, *inks][:N_MARK_COLOURS]
        return (*self._node_palette, *marks)

    @cached_property
    def _node_palette(self) -> Palette:
        theme = self.theme
        room: dict[str, Any] = {"ground": theme.ground, "n_colours": MAX_INDEX}
        if not self.ramp:
            return category_palette([theme.colour(colour) for colour in self.colours], **room)
        if not self.missing:
            return ramp_palette(theme.ramps[self.ramp], **room)
        room["n_colours"] -= 1
        palette = ramp_palette(theme.ramps[self.ramp], **room)
        return (palette[0], theme.other, *palette[1:])

    def legend(self, picture: Picture) -> Legend:
        """Return the legend of a picture drawn with these colours."""
        if not self.ramp:
            items = tuple((self.theme.colour(colour), name) for colour, name in self.items)
            return NamedLegend(self.title, items, self.note)
        high = self.high or float(np.nanmax(picture.levels))
        return RampLegend(self.title, picture.levels, high, self.missing, self.is_whole)

    def node_indices(self, nodes: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return the palette indices of single nodes, as in a picture of them alone.

        Parameters
        ----------
        nodes
            Node numbers, shape (n,).
        levels
            Levels of the picture to match.

        Returns
        -------
        numpy.ndarray
            uint8, shape (n,).
        """
        if self.node_values is None:
            index = np.searchsorted(levels, 1.0, side="right")
            return np.full(len(nodes), max(index, 1), np.uint8)
        values = self.node_values[nodes]
        first = 1 if self.missing else 0
        indices = np.searchsorted(levels[first + 1 :], values, side="right") + 1 + first
        indices[np.isnan(values)] = first
        return indices.astype(np.uint8)
