"""HoloViews elements for notebooks: a drawn layout, and the curve of its path stress.

The dashboard itself has Bokeh figures: HoloViews takes a sixth of the time of its start to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import holoviews as hv
import holoviews.plotting.bokeh
import numpy as np

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.plots.graph_picture import BAND, LINE, drawable_rows, style_chart
from genoviz_app.plots.palettes import Palette

if TYPE_CHECKING:
    from genoviz.analyses.graph.layout.stress import PathStress

hv.Store.set_current_backend("bokeh")


def index_image(indices: np.ndarray, viewport: Viewport, palette: Palette) -> hv.Image:
    """Convert palette indices (uint8, row 0 at the bottom) to an image in the palette's colours."""
    bounds = (viewport.x_min, viewport.y_min, viewport.x_max, viewport.y_max)
    image = hv.Image(indices[::-1], kdims=["x", "y"], vdims=["index"], bounds=bounds)
    return image.opts(cmap=list(palette), clim=(0, 255))


def stress_curve(history: Sequence[tuple[int, PathStress]], *, n_iterations: int) -> hv.Overlay:
    """Return the curve of sampled path stress with its 95 % band and its last point.

    Parameters
    ----------
    history
        Iteration and stress, in order; values that a log axis cannot show are omitted.
    n_iterations
        End of the x axis.
    """
    iterations, means, lows, highs, (y_min, y_max) = drawable_rows(history)
    x = hv.Dimension("iteration", range=(0, max(n_iterations, 1)))
    y, low, high = (hv.Dimension(name, range=(y_min, y_max)) for name in ("stress", "low", "high"))
    band = hv.Area((iterations, lows, highs), x, [low, high])
    curve = hv.Curve((iterations, means), x, y)
    last = hv.Scatter((iterations[-1:], means[-1:]), x, y)
    return (
        band.opts(fill_color=BAND, fill_alpha=0.18, line_alpha=0)
        * curve.opts(color=LINE, line_width=2)
        * last.opts(color=LINE, size=6)
    ).opts(
        hv.opts.Area(logy=True, framewise=True, default_tools=[]),
        hv.opts.Curve(logy=True, framewise=True, default_tools=[]),
        hv.opts.Scatter(logy=True, framewise=True, default_tools=[]),
        hv.opts.Overlay(
            logy=True,
            responsive=True,
            framewise=True,
            show_legend=False,
            toolbar=None,
            default_tools=[],
            xlabel="Iteration",
            ylabel="Path stress",
            hooks=[_style],
        ),
    )


def _style(plot: Any, _element: Any) -> None:
    style_chart(plot.state)
