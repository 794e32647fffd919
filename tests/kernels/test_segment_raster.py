"""The raster equals Datashader's, pixel for pixel."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.backend import load_kernel
from genoviz.kernels.segment_raster import BLOCK_SIZE, key_values, make_grid, order_keys

WIDTH, HEIGHT = 300, 200


def walks(n_paths=5, n_nodes=3000, seed=0):
    """Return segments that follow each other along smooth walks, as a laid-out pangenome."""
    random = np.random.default_rng(seed)
    angles = np.cumsum(random.normal(0, 0.05, (n_paths, n_nodes + 1)), axis=1)
    steps = random.exponential(1, angles.shape) * np.stack([np.cos(angles), np.sin(angles)])
    points = np.cumsum(steps, axis=2) + random.normal(0, 50, (2, n_paths, 1))
    ends = np.stack([points[..., :-1], points[..., 1:]])
    return np.ascontiguousarray(ends.transpose(2, 3, 0, 1).reshape(-1, 2, 2))


def long_segments(seed=1):
    return np.random.default_rng(seed).normal(0, 100, (1500, 2, 2))


def with_missing(seed=2):
    random = np.random.default_rng(seed)
    segments = random.normal(0, 100, (1500, 2, 2))
    segments[random.random(segments.shape) < 0.05] = np.nan
    return segments


def on_pixel_borders(seed=3):
    return np.random.default_rng(seed).integers(0, 21, (1500, 2, 2)).astype(np.float64)


def points_only(seed=4):
    return np.repeat(np.random.default_rng(seed).normal(0, 100, (1500, 1, 2)), 2, axis=1)


def float32_valued(seed=5):
    return walks(seed=seed).astype(np.float32).astype(np.float64)


DATA = (walks, long_segments, with_missing, on_pixel_borders, points_only, float32_valued)


def views(segments):
    """Return the full view, and views of a part of each axis around the end of a segment."""
    points = segments[np.isfinite(segments).all(axis=(1, 2))].reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = points[len(points) // 3]
    result = [(low, high)]
    for part in (0.5, 0.1, 0.01, 0.0001):
        result.append((middle - (high - low) * part / 2, middle + (high - low) * part / 2))
    return [tuple(np.stack(view, axis=1).ravel().tolist()) for view in result]


def rasters(kernel, segments, view, *, values=None, width=WIDTH, height=HEIGHT, stride=1):
    """Return the count, largest and mean images of a view, drawn with known and unknown boxes."""
    grid = make_grid(*view, width, height)
    boxes = kernel.empty_boxes(-(-len(segments) // BLOCK_SIZE))
    values = np.zeros(len(segments), dtype=np.float32) if values is None else values
    count = kernel.raster_count(segments, grid, boxes, False, stride)
    assert (count == kernel.raster_count(segments, grid, boxes, True, stride)).all()
    largest = kernel.raster_max(segments, order_keys(values), grid, boxes, True, stride)
    mean = kernel.raster_mean(segments, values, grid, boxes, True, stride)
    return count, key_values(largest), key_values(mean)


def datashader_rasters(segments, view, *, values=None, width=WIDTH, height=HEIGHT):
    pd = pytest.importorskip("pandas")
    ds = pytest.importorskip("datashader")
    columns = dict(zip(("x0", "y0", "x1", "y1"), segments.reshape(-1, 4).T, strict=True))
    frame = pd.DataFrame(columns | {"value": 0.0 if values is None else values})
    canvas = ds.Canvas(width, height, x_range=view[:2], y_range=view[2:])
    return [
        canvas.line(frame, x=["x0", "x1"], y=["y0", "y1"], axis=1, agg=agg).to_numpy()
        for agg in (ds.count(), ds.max("value"), ds.mean("value"))
    ]


@pytest.mark.parametrize("data", DATA)
def test_raster_equals_datashader(data):
    kernel = load_kernel("segment_raster", "cpu")
    segments = data()
    values = np.random.default_rng(0).normal(size=len(segments)).astype(np.float32)
    values[::7] = np.nan
    for view in views(segments):
        count, largest, mean = rasters(kernel, segments, view, values=values)
        expected = datashader_rasters(segments, view, values=values)
        np.testing.assert_array_equal(count, expected[0])
        np.testing.assert_array_equal(largest, expected[1])
        np.testing.assert_allclose(mean, expected[2], rtol=1e-6, atol=1e-7)
