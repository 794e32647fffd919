"""Colours of graph pictures on a dark and on a light background.

Ramps change monotonically in lightness (increasing on dark, decreasing on light), except for that
of shares, which is lightest (darkest) in its middle, so that they can be read without colour
vision. Categories are the colours of Okabe and Ito, with violet instead of yellow on light. All
remain distinguishable under deuteranopia and protanopia as simulated by Machado et al.

References
----------
Okabe M, Ito K: Color universal design, https://jfly.uni-koeln.de/color/
Machado GM, Oliveira MM, Fernandes LAF: doi:10.1109/TVCG.2009.113
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Palette = tuple[str, ...]
"""256 colours as ``#rrggbb``: the background, followed by one for each index."""

Colour = str | int
"""``#rrggbb``, or a theme colour: a category from 0 on, or `OTHER`, `SOME`, `ALL`."""

OTHER, SOME, ALL = -1, -2, -3


@dataclass(frozen=True, eq=False)
class Theme:
    """The colours of a picture for one background.

    Attributes
    ----------
    ground, ink, faint
        Colours of the background, of texts, and of secondary texts and lines.
    other
        Colour of nodes outside the coloured groups.
    some, everything
        Colours of nodes in some and in all of the coloured groups.
    categories
        Colours of named categories.
    ramps
        Stops of the ramps by purpose: density, position, depth, share.
    """

    name: str
    ground: str
    ink: str
    faint: str
    other: str
    some: str
    everything: str
    categories: tuple[str, ...]
    ramps: Mapping[str, tuple[str, ...]]

    def colour(self, colour: Colour) -> str:
        """Return a colour as ``#rrggbb``.

        The categories are followed by lighter and darker shades of them, and then repeat.
        """
        if isinstance(colour, str):
            return colour
        if colour < 0:
            return {OTHER: self.other, SOME: self.some, ALL: self.everything}[colour]
        shade, index = divmod(colour % self.n_colours, len(self.categories))
        base = self.categories[index]
        return base if shade == 0 else blend((base, ("#ffffff", "#000000")[shade - 1]), 0.45)

    @property
    def n_colours(self) -> int:
        """Number of categories with distinct colours."""
        return 3 * len(self.categories)


DARK = Theme(
    name="dark",
    ground="#0b1018",
    ink="#d5deea",
    faint="#8fa1b8",
    other="#3b4a5e",
    some="#d2d2aa",
    everything="#ffffff",
    categories=("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
    ramps={
        "density": ("#27507f", "#3a86c8", "#57c5c0", "#f3e08c", "#ffffff"),
        "position": ("#6a45e0", "#3f74f0", "#17a0d8", "#18c4a0", "#8fdc50", "#f6e040"),
        "depth": ("#4b2a86", "#8d2f8f", "#cc4678", "#f2844b", "#fcce5a", "#fcfdbf"),
        "share": ("#3b8fd0", "#8fb8d8", "#e8e4dc", "#f0a860", "#e0701c"),
    },
)
LIGHT = Theme(
    name="light",
    ground="#ffffff",
    ink="#17202c",
    faint="#5b6a7e",
    other="#c6ced8",
    some="#3c4650",
    everything="#000000",
    categories=("#e69f00", "#56b4e9", "#009e73", "#5a10c8", "#cc79a7", "#d55e00", "#0072b2"),
    ramps={
        "density": ("#b8d4ee", "#6aa6d8", "#2f78b8", "#174a86", "#08203f"),
        "position": ("#e8c51c", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154"),
        "depth": ("#f7c89a", "#f0885a", "#d0486a", "#8a2a80", "#3a1458"),
        "share": ("#1f6fb4", "#7fb0d8", "#c9c5bd", "#e89a50", "#b8500c"),
    },
)


def ramp_palette(
    stops: Sequence[str], *, ground: str = DARK.ground, n_colours: int = 255
) -> Palette:
    """Return the ground colour and colours that run evenly through ``stops``."""
    return (ground, *(blend(stops, index / (n_colours - 1)) for index in range(n_colours)))


def category_palette(
    colours: Sequence[str], *, ground: str = DARK.ground, n_colours: int = 255
) -> Palette:
    """Return the ground colour, then ``colours``, the last one as often as there is room."""
    return (ground, *(colours[min(index, len(colours) - 1)] for index in range(n_colours)))


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
