"""Which node is under the pointer: asked of the server, drawn into the figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, CustomJS, Label

from app.plots.palettes import GROUND
from genoviz.analyses.viewport import Viewport

LABEL_NAME = "node-label"
MOVE_CODE = """
const state = (pointer.hover_state ??= {})
state.next = {x: [cb_obj.x], y: [cb_obj.y]}
if (!state.waits) {
  state.waits = true
  setTimeout(() => { state.waits = false; pointer.data = state.next }, 60)
}
"""
LEAVE_CODE = """
const state = (pointer.hover_state ??= {})
state.next = {x: [], y: []}
if (!state.waits) { pointer.data = state.next }
"""


@dataclass(frozen=True)
class FoundNode:
    """The node under the pointer.

    Attributes
    ----------
    text
        What to say of it; lines.
    ends
        ``(x0, y0, x1, y1)`` in layout coordinates.
    """

    text: str
    ends: tuple[float, float, float, float]


def pixels_away(
    x: float, y: float, ends: tuple[float, float, float, float], view: Viewport
) -> float:
    """Return how far a point is from a line on the screen, which may be stretched.

    Parameters
    ----------
    x, y, ends
        The point and the line's ends ``(x0, y0, x1, y1)``, in layout coordinates (bp).
    view
        What the screen shows.
    """
    x_scale, y_scale = view.bp_per_pixel
    x0, y0 = (ends[0] - x) / x_scale, (ends[1] - y) / y_scale
    dx, dy = (ends[2] - ends[0]) / x_scale, (ends[3] - ends[1]) / y_scale
    length = dx * dx + dy * dy
    share = min(max(-(x0 * dx + y0 * dy) / length, 0.0), 1.0) if length else 0.0
    return math.hypot(x0 + share * dx, y0 + share * dy)


class Hovering:
    """A label and a highlight for the node under the pointer.

    Parameters
    ----------
    find_node
        Gets x and y in layout coordinates; returns the node there or None.
    """

    def __init__(self, find_node: Callable[[float, float], FoundNode | None]) -> None:
        self._find_node = find_node
        self._figure: Any = None
        self.found: FoundNode | None = None

    def attach(self, figure: Any) -> None:
        """Take a figure that is about to be shown."""
        self._figure = figure
        self._pointer = ColumnDataSource(data={"x": [], "y": []})
        self._pointer.on_change("data", self._take_pointer)
        models = {"pointer": self._pointer}
        figure.js_on_event("mousemove", CustomJS(args=models, code=MOVE_CODE))
        figure.js_on_event("mouseleave", CustomJS(args=models, code=LEAVE_CODE))
        self._highlight = ColumnDataSource(data={"x0": [], "y0": [], "x1": [], "y1": []})
        figure.segment(
            "x0",
            "y0",
            "x1",
            "y1",
            source=self._highlight,
            line_color="#ffffff",
            line_width=4,
            line_cap="round",
        )
        self._label = Label(
            name=LABEL_NAME,
            x=0,
            y=0,
            text="",
            visible=False,
            text_color="#e8eef6",
            text_font_size="12px",
            text_line_height=1.35,
            background_fill_color=GROUND,
            background_fill_alpha=0.88,
            border_line_color="#45566e",
            padding=6,
            border_radius=4,
        )
        figure.add_layout(self._label)

    def refresh(self) -> None:
        """Look again: the layout has moved under the pointer."""
        if self._figure is not None:
            self._take_pointer("data", None, self._pointer.data)

    def _take_pointer(self, _attr: str, _old: Any, new: dict[str, list]) -> None:
        place = (new["x"][0], new["y"][0]) if len(new["x"]) else None
        found = self._find_node(*place) if place else None
        if found is None:
            if self.found is not None:
                self._label.visible = False
                self._highlight.data = {"x0": [], "y0": [], "x1": [], "y1": []}
        else:
            self._show(found, *place)
        self.found = found

    def _show(self, found: FoundNode, x: float, y: float) -> None:
        x_range, y_range = self._figure.x_range, self._figure.y_range
        is_right = x > (x_range.start + x_range.end) / 2
        is_high = y > (y_range.start + y_range.end) / 2
        x0, y0, x1, y1 = found.ends
        self._highlight.data = {"x0": [x0], "y0": [y0], "x1": [x1], "y1": [y1]}
        self._label.update(
            x=x,
            y=y,
            x_offset=-14 if is_right else 14,
            y_offset=-10 if is_high else 10,
            text_align="right" if is_right else "left",
            text_baseline="top" if is_high else "bottom",
            text=found.text,
            visible=True,
        )
