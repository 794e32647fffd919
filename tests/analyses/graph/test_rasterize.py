"""What genoviz draws for Datashader and HoloViews is what Datashader itself draws."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import genoviz
from genoviz import LayoutDrawing, ParameterError, rasterize

SIZE = {"plot_width": 61, "plot_height": 37}
VIEWS = {
    "all": {},
    "part": {"x_range": (-0.5, 0.75), "y_range": (-0.25, 1.5)},
    "x only": {"x_range": (-0.125, 0.125)},
    "far from 0 for the pixels": {"x_range": (0.5, 0.5 + 2e-9), "y_range": (-3.0, 3.0)},
}
ONE = np.array([[1.5, -2.0]])


@pytest.fixture(scope="module", autouse=True)
def _datashader():
    """Skip all where it is not; to import it takes a second, which only these tests are to pay."""
    pytest.importorskip("datashader")


def assert_identical(found, wanted):
    from xarray.testing import assert_identical

    assert_identical(found, wanted)


def walk(n=4000, seed=1):
    """Return points that often share pixels, lie on borders and leave the view; some are NaN."""
    random = np.random.default_rng(seed)
    points = np.cumsum(random.normal(size=(n, 2)) * 0.06, axis=0)
    points[::5] = np.round(points[::5] * 8) / 8
    points[7::97, 0] = np.nan
    points[50::101] = np.nan
    return points


def expected(points, glyph, *, x_range=None, y_range=None):
    """Return what Datashader draws, of segments as (n, 2, 2)."""
    import datashader as ds
    import pandas as pd

    canvas = ds.Canvas(**SIZE, x_range=x_range, y_range=y_range)
    if glyph == "segments":
        columns = dict(zip(("x0", "y0", "x1", "y1"), points.reshape(-1, 4).T, strict=True))
        options = {"x": ["x0", "x1"], "y": ["y0", "y1"], "axis": 1, "agg": ds.count()}
        return canvas.line(pd.DataFrame(columns), **options)
    frame = pd.DataFrame({"x": points[:, 0], "y": points[:, 1]})
    draw = canvas.points if glyph == "points" else canvas.line
    return draw(frame, "x", "y", agg=ds.count())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("glyph", ["points", "segments", "line"])
def test_counts_coordinates_and_attributes_are_datashaders(backend, glyph, view):
    view = VIEWS[view]
    for points in (walk(), ONE, np.full((2, 2), np.nan)):
        array = points[: len(points) // 2 * 2].reshape(-1, 2, 2) if glyph == "segments" else points
        found = rasterize(array, glyph=glyph, **view, **SIZE, backend=backend)
        wanted = expected(array, glyph, **view)
        assert_identical(found.rename(None), wanted)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("glyph", ["points", "segments"])
def test_values_are_the_mean_and_the_largest_of_a_pixel(backend, glyph):
    corners = np.array([[0.0, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    array = corners if glyph == "points" else corners[:, None].repeat(2, axis=1)
    options = {"values": np.array([np.nan, -3, 1, 4, 6], np.float32), "backend": backend}
    size = {"plot_width": 2, "plot_height": 2}
    mean = rasterize(array, glyph=glyph, agg="mean", **options, **size)
    highest = rasterize(array, glyph=glyph, agg="max", **options, **size)
    np.testing.assert_array_equal(mean, [[5, np.nan], [np.nan, -1]])
    np.testing.assert_array_equal(highest, [[6, np.nan], [np.nan, 1]])
    assert (mean.name, highest.name) == ("mean", "max")
    if glyph == "segments":
        nodes = LayoutDrawing(array, backend=backend)
        again = rasterize(nodes, glyph="points", agg="max", **options, **size)
        np.testing.assert_array_equal(again, highest)


def test_a_layout_and_its_drawing_are_drawn_as_their_nodes(backend):
    coordinates = walk(seed=2)[np.isfinite(walk(seed=2)).all(axis=1)][:2000].reshape(-1, 2, 2)
    layout = genoviz.GraphLayout(coordinates)
    some = np.arange(0, len(coordinates), 3)
    drawing = LayoutDrawing(coordinates, nodes=some, backend=backend)
    assert_identical(
        rasterize(layout, **SIZE, backend=backend).rename(None),
        expected(coordinates, "segments"),
    )
    assert_identical(
        rasterize(drawing, **SIZE).rename(None), expected(coordinates[some], "segments")
    )
    ends = rasterize(layout, glyph="points", **SIZE, backend=backend)
    assert_identical(ends.rename(None), expected(coordinates.reshape(-1, 2), "points"))


def test_datashader_and_holoviews_work_on_it():
    import datashader.transfer_functions as tf

    hv = pytest.importorskip("holoviews")
    hv.extension("bokeh")
    segments = walk().reshape(-1, 2, 2)
    found = rasterize(segments, **SIZE)
    wanted = expected(segments, "segments")
    assert_identical(tf.dynspread(tf.shade(found.rename(None))), tf.dynspread(tf.shade(wanted)))
    image = hv.Image(found)
    ends = zip(found.x_range, found.y_range, strict=True)
    assert image.bounds.lbrt() == pytest.approx([end for pair in ends for end in pair])
    np.testing.assert_array_equal(image.dimension_values(2, flat=False), found)

    zoom = hv.streams.RangeXY()

    def draw(x_range, y_range):
        return hv.Image(rasterize(segments, x_range=x_range, y_range=y_range, **SIZE))

    view = hv.DynamicMap(draw, streams=[zoom])
    hv.render(view)
    zoom.event(x_range=(-0.5, 0.75), y_range=(-0.25, 1.5))
    np.testing.assert_array_equal(
        view[()].dimension_values(2, flat=False),
        expected(segments, "segments", **VIEWS["part"]),
    )


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (np.zeros((3, 3)), {}, "needs a layout, segments"),
        (ONE, {"glyph": "segments"}, "glyph is 'segments' for an array"),
        (ONE, {"glyph": "area"}, "glyph is 'area'"),
        (ONE, {"agg": "sum"}, "agg is 'sum', needs one of count"),
        (ONE, {"glyph": "line", "agg": "max"}, "a line is counted"),
        (ONE, {"agg": "max"}, "needs node_values"),
        (ONE, {"x_range": (2, 1)}, "a viewport goes from 2 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(data, options, words):
    with pytest.raises(ParameterError, match=words):
        rasterize(data, **options)


def test_without_xarray_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ParameterError, match=r"pip install 'genoviz\[app\]'"):
        rasterize(ONE)
