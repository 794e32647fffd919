"""Colours of the dark graph picture, by name."""

from __future__ import annotations

from genoviz.analyses.graph.picture.palettes import (
    DARK,
    Palette,
    blend,
    category_palette,
    parse_colour,
    ramp_palette,
)

__all__ = [
    "CATEGORIES",
    "DENSITY",
    "DEPTH",
    "GROUND",
    "OTHER",
    "POSITION",
    "Palette",
    "blend",
    "category_palette",
    "parse_colour",
    "ramp_palette",
]

GROUND, OTHER = DARK.ground, DARK.other
DENSITY, POSITION, DEPTH = (DARK.ramps[name] for name in ("density", "position", "depth"))
CATEGORIES = DARK.categories
