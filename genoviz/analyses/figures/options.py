"""How a figure is drawn: its size, its shape and its ground."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.analyses.graph.picture.viewport import MAX_PIXELS
from genoviz.errors import ParameterError

SCREEN_DPI = 96


@dataclass(frozen=True)
class FigureOptions:
    """How a figure is drawn.

    Attributes
    ----------
    width, height
        Pixels; without a height, it follows the layout's shape.
    dpi
        Dots per inch: how large texts and lines are, and what the file says.
    title
        Above the graph.
    is_stretched
        Whether the layout fills the figure, rather than keep its true shape.
    is_folded
        Whether a long layout is cut into rows.
    is_transparent
        Whether the ground is left out.
    max_lines
        With up to so many nodes in view these are drawn as lines, else as pixels.
    line_width
        Of nodes in pixels of 96 to the inch; None for one that fits.
    """

    width: int = 1600
    height: int | None = None
    dpi: float = 144.0
    title: str = ""
    is_stretched: bool = False
    is_folded: bool = False
    is_transparent: bool = False
    max_lines: int = 1500
    line_width: float | None = None

    def __post_init__(self) -> None:
        if self.width < 100 or (self.height is not None and self.height < 100):
            raise ParameterError(
                f"a figure is {self.width} x {self.height} pixels, needs at least 100 x 100"
            )
        if self.width * (self.height or 1) > MAX_PIXELS:
            raise ParameterError(f"a figure has at most {MAX_PIXELS:,} pixels")
        if not 20 <= self.dpi <= 1200:
            raise ParameterError(f"dpi is {self.dpi:g}, needs 20 to 1200")
        if self.line_width is not None and not 0.01 <= self.line_width <= 1000:
            raise ParameterError(f"line_width is {self.line_width:g}, needs 0.01 to 1000")
        if self.is_stretched and self.is_folded:
            raise ParameterError("a figure is either stretched or folded")
