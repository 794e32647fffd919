"""The bars above and below the picture: colours, view, legend, and what is not drawn."""

from __future__ import annotations

import time
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.picture.colour_bar import ColourBar
from genoviz_app.pages.pangenome.picture.fitting import Shape, shape_text
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.parts.styles import LEGEND
from genoviz_app.plots.legend import legend_html

ZOOM_STEP = 1.6
LOOK_SECONDS = 0.5
SHAPES = {"True shape": Shape.TRUE, "Stretched": Shape.STRETCHED, "Folded": Shape.FOLDED}


class PictureBar:
    """What the picture is coloured by, and how it is looked at."""

    def __init__(self, picture: LivePicture) -> None:
        self._picture = picture
        self._seen_legend: tuple = ()
        self._next_look = 0.0
        self.colours = ColourBar(picture)
        self.fit_button = _icon_button("fit_screen", "Fit to view", picture.fit)
        self.zoom_in_button = _icon_button("zoom_in", "Zoom in", lambda: picture.zoom(ZOOM_STEP))
        self.zoom_in_button.styles = {"margin-left": "auto"}
        self.zoom_out_button = _icon_button(
            "zoom_out", "Zoom out", lambda: picture.zoom(1 / ZOOM_STEP)
        )
        self.shape = pmui.Select(
            label="View",
            options=dict(SHAPES),
            value=Shape.TRUE,
            description="The layout as it is, stretched over the picture, or cut into rows",
            width=138,
            size="small",
            margin=(0, 4, 0, 8),
        )
        self.legend = pn.pane.HTML("", stylesheets=[LEGEND], sizing_mode="stretch_width", margin=0)
        self.top = pmui.Row(
            self.colours.mode,
            self.colours.details,
            self.zoom_in_button,
            self.zoom_out_button,
            self.fit_button,
            self.shape,
            sizing_mode="stretch_width",
            margin=(10, 8, 6, 8),
        )
        self.shape.param.watch(self._take_shape, "value")

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the paths of another graph."""
        self.colours.set_graph(graph)

    def poll(self) -> None:
        """Show the legend of the picture, and say what is left out of it."""
        self.colours.poll()
        shown = self._picture.shown
        if shown is None:
            return
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        levels, stride = shown.picture.levels, shown.picture.stride
        self.shape.value = self._picture.fitting.shape
        distortion = shape_text(shown.picture.viewport, shown.picture.fold)
        problem = self.colours.problem or self._picture.colourings.problem
        seen = (
            id(shown.colouring),
            problem,
            stride,
            distortion,
            levels[-1],
            levels[len(levels) // 2],
        )
        if seen == self._seen_legend:
            return
        self._seen_legend = seen
        legend = legend_html(shown.legend, shown.colouring.palette)
        notices = (problem, distortion, _stride_text(stride, shown.n_nodes))
        spans = "".join(
            f'<span class="notice" role="status">{escape(text)}</span>' for text in notices if text
        )
        self.legend.object = f'<div class="strip">{legend}{spans}</div>'

    def _take_shape(self, event: Any) -> None:
        if event.new != self._picture.fitting.shape:
            self._picture.fitting.wish = event.new
            self._picture.fit()


def _icon_button(icon: str, description: str, act: Any) -> pmui.IconButton:
    button = pmui.IconButton(
        icon=icon, description=description, size="22px", margin=0, color="default"
    )
    button.on_click(lambda _: act())
    return button


def _stride_text(stride: int, n_nodes: int) -> str:
    if stride == 1:
        return ""
    return f"1 of every {stride} nodes is drawn ({n_nodes // stride:,} of {n_nodes:,})"
