"""Colours of the picture: 256 of them, the first for pixels without a segment.

The ramps rise in lightness from one end to the other, so they read without colour vision and
stand out from the dark ground; the categories are Okabe and Ito's.
"""

from __future__ import annotations

from collections.abc import Sequence

GROUND = "#0b1018"
OTHER = "#3b4a5e"
SHARED = "#ffffff"

DENSITY = ("#27507f", "#3a86c8", "#57c5c0", "#f3e08c", "#ffffff")
POSITION = ("#5a3fd6", "#2f8ef0", "#22c7a9", "#b4dd3f", "#ffd23c", "#ff8a3c", "#f0426b")
DEPTH = ("#4b2a86", "#8d2f8f", "#cc4678", "#f2844b", "#fcce5a", "#fcfdbf")
CATEGORIES = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2")

Palette = tuple[str, ...]


def ramp_palette(stops: Sequence[str]) -> Palette:
    """Return the ground colour and 255 colours that run evenly through ``stops``."""
    return (GROUND, *(blend(stops, index / 254) for index in range(255)))


def category_palette(colours: Sequence[str]) -> Palette:
    """Return the ground colour and 255 colours, one even stretch of them for each of ``colours``.

    Value ``i`` of ``n`` categories, scaled linearly from 0 to n - 1, gets ``colours[i]``.
    """
    last = len(colours) - 1
    return (GROUND, *(colours[round(index / 254 * last)] for index in range(255)))


def blend(stops: Sequence[str], share: float) -> str:
    """Return the colour at ``share`` (0 to 1) of the way through ``stops``."""
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    first = min(int(place), max(len(stops) - 2, 0))
    before, after = parse_colour(stops[first]), parse_colour(stops[min(first + 1, len(stops) - 1)])
    weight = place - first
    return "#" + "".join(
        f"{round(a + (b - a) * weight):02x}" for a, b in zip(before, after, strict=True)
    )


def parse_colour(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue (0 to 255) of a ``#rrggbb`` colour."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
