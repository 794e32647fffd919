"""Rasters of layouts, segments, points and lines, as Datashader and HoloViews use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from genoviz.analyses.graph.picture.drawing import BYS, By, LayoutDrawing
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.backend import Backend, to_host
from genoviz.errors import ParameterError, check_choice
from genoviz.kernels.segment_raster import key_values

if TYPE_CHECKING:
    import xarray

Glyph = Literal["segments", "points", "line"]
GLYPHS: tuple[str, ...] = ("segments", "points", "line")
Range = tuple[float, float]


def rasterize(
    data: Any,
    *,
    glyph: Glyph | None = None,
    agg: By = "count",
    values: Any = None,
    x_range: Range | None = None,
    y_range: Range | None = None,
    plot_width: int = 600,
    plot_height: int = 600,
    backend: Backend = "auto",
) -> xarray.DataArray:
    """Rasterize a layout or arrays as Datashader's ``Canvas`` does, many times faster.

    Counts equal Datashader's pixel by pixel, as do coordinates, dimensions and the attributes
    ``x_range`` and ``y_range``. ``tf.shade``, ``tf.dynspread`` and ``hv.Image`` therefore accept
    the array, and a ``hv.DynamicMap`` with a ``RangeXY`` stream redraws it at each zoom.

    Parameters
    ----------
    data
        A :class:`GraphLayout`; a :class:`LayoutDrawing`, which speeds up many views of one layout
        by indexing its nodes; or float64 arrays: segments (n, 2, 2), as ``[segment, end, axis]``,
        or points (n, 2). Items with coordinates that are not finite are skipped.
    glyph
        ``"segments"``: ``Canvas.line(axis=1)``, the nodes of a layout. ``"points"``:
        ``Canvas.points``; for a layout, both ends of each node. ``"line"``: ``Canvas.line``
        through all points in order, broken at NaN; a corner counts once. The default is
        ``"points"`` for an array of points, otherwise ``"segments"``.
    agg
        ``"count"``; or ``"mean"`` or ``"max"`` of ``values``, except for a line.
    values
        One number per node, segment or point, used as float32; NaN for none. A
        :class:`LayoutDrawing` has its own values.
    x_range, y_range
        The view; None for the whole extent.
    plot_width, plot_height
        Size in pixels.
    backend
        Where to draw.

    Returns
    -------
    xarray.DataArray
        Shape (plot_height, plot_width), the lowest y first: uint32 counts, or float32 with NaN
        for empty pixels.

    Raises
    ------
    ParameterError
        If an option or an array is invalid, or xarray is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> counts = rasterize(np.array([[[0.0, 0.0], [2.0, 2.0]]]), plot_width=2, plot_height=2)
    >>> counts.to_numpy().tolist(), counts.dims, counts.x_range
    ([[1, 0], [0, 1]], ('y', 'x'), (0.0, 2.0))
    """
    try:
        import xarray
    except ImportError as error:
        raise ParameterError(
            "rasterize returns an xarray.DataArray, and xarray is not installed: "
            "pip install 'genoviz[app]'"
        ) from error
    check_choice("agg", agg, BYS)
    array, glyph = _read(data, glyph)
    if glyph == "line" and agg != "count":
        raise ParameterError(f"a line is counted, and agg is {agg!r}; segments have values")
    x_range = _extent(array[..., 0]) if x_range is None else tuple(map(float, x_range))
    y_range = _extent(array[..., 1]) if y_range is None else tuple(map(float, y_range))
    view = Viewport(*x_range, *y_range, plot_width, plot_height)
    if isinstance(data, LayoutDrawing) and glyph == "segments":
        drawing = data if values is None else data.with_node_values(values)
    else:
        if glyph == "points" and values is not None and array.ndim == 3:
            values = np.repeat(np.asarray(values), 2)
        drawing = LayoutDrawing(_segments(array, glyph), node_values=values, backend=backend)
    image = drawing.image(view, agg, is_local=False)
    pixels = to_host(image)
    if glyph == "line":
        starts = _joined_starts(array, view)
        again = LayoutDrawing(_segments(starts, "points"), backend=backend)
        image = again.image(view, "count", is_local=False)
        pixels = pixels - to_host(image)
    return xarray.DataArray(
        pixels if agg == "count" else key_values(pixels),
        dims=("y", "x"),
        coords={"x": _centres(x_range, view.width), "y": _centres(y_range, view.height)},
        attrs={"x_range": x_range, "y_range": y_range},
        name=agg,
    )


def _read(data: Any, glyph: Glyph | None) -> tuple[Any, Glyph]:
    """Return the coordinate array, and what to draw of it."""
    array = getattr(data, "coordinates", data)
    if isinstance(data, LayoutDrawing) and data.nodes is not None:
        array = array[data.nodes]
    if isinstance(array, np.ndarray | list):
        array = np.ascontiguousarray(array, np.float64)
    shape = getattr(array, "shape", ())
    is_points = len(shape) == 2 and shape[1:] == (2,)
    if not is_points and not (len(shape) == 3 and shape[1:] == (2, 2)):
        raise ParameterError(
            f"rasterize got {type(data).__name__} {shape}, needs a layout, segments (n, 2, 2) or "
            "points (n, 2)"
        )
    glyph = glyph or ("points" if is_points else "segments")
    if glyph not in GLYPHS or (glyph != "points" and is_points != (glyph == "line")):
        raise ParameterError(
            f"glyph is {glyph!r} for an array {shape}, needs 'segments' for (n, 2, 2), 'line' for "
            "(n, 2), or 'points'"
        )
    return array, glyph


def _segments(array: Any, glyph: Glyph) -> Any:
    if glyph == "segments":
        return array
    if glyph == "line":
        return np.ascontiguousarray(np.stack((array[:-1], array[1:]), axis=1))
    return array.reshape(-1, 1, 2).repeat(2, axis=1)


def _extent(values: Any) -> Range:
    """Return the range of the finite values, as Datashader does."""
    known = values[values == values]
    low, high = (float(known.min()), float(known.max())) if known.size else (-np.inf, np.inf)
    if not (np.isfinite(low) and np.isfinite(high)):
        return -1.0, 1.0
    return (low - 1.0, high + 1.0) if low == high else (low, high)


def _centres(ends: Range, n: int) -> np.ndarray:
    """Return the pixel centres, with Datashader's arithmetic."""
    scale = n / (ends[1] - ends[0])
    return (np.arange(n) + 0.5 - -ends[0] * scale) / scale


def _joined_starts(points: np.ndarray, view: Viewport) -> np.ndarray:
    """Return the corners whose first pixel must not be drawn again.

    Datashader draws the first pixel of a segment only where the line starts or enters the view, or
    if the segment is a single pixel.
    """
    is_known = ~np.isnan(points).any(axis=1)
    lows, highs = np.array([view.x_min, view.y_min]), np.array([view.x_max, view.y_max])
    is_inside = ((points >= lows) & (points <= highs)).all(axis=1)
    sizes = np.array([view.width, view.height])
    scales = sizes / (highs - lows)
    with np.errstate(invalid="ignore"):
        pixels = np.trunc(points * scales + -lows * scales)
    pixels -= pixels == np.round(highs * scales + -lows * scales)
    is_dot = is_inside[1:-1] & is_inside[2:] & (pixels[1:-1] == pixels[2:]).all(axis=1)
    return points[1:-1][is_known[:-2] & is_known[2:] & is_inside[1:-1] & ~is_dot]
