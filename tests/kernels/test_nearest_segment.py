from __future__ import annotations

import numpy as np
import pytest

from genoviz.backend import load_kernel
from genoviz.kernels.nearest_segment import Aim

N_SEGMENTS = 3000


def find_nearest(backend, segments, x, y, max_distance):
    if backend == "cuda":
        import cupy

        segments = cupy.asarray(segments)
    boxes = load_kernel("segment_raster", backend).find_boxes(segments)
    kernel = load_kernel("nearest_segment", backend)
    return kernel.nearest_segment(segments, boxes, Aim(x, y, max_distance, 1, 1, -np.inf, np.inf))[
        0
    ]


def distances(segments, x, y):
    """Return the distance of a point to each segment; NaN where a segment is not finite."""
    segments = np.where(np.isfinite(segments).all(axis=(1, 2), keepdims=True), segments, np.nan)
    start, way = segments[:, 0], segments[:, 1] - segments[:, 0]
    point = np.array([x, y]) - start
    length_square = (way**2).sum(axis=1)
    along = (point * way).sum(axis=1) / np.where(length_square > 0, length_square, 1)
    return np.hypot(*(point - np.clip(along, 0, 1)[:, None] * way).T)


def make_segments():
    random = np.random.default_rng(0)
    segments = np.repeat(np.cumsum(random.normal(0, 1, (N_SEGMENTS, 1, 2)), axis=0), 2, axis=1)
    segments[:, 1] += random.normal(0, 2, (N_SEGMENTS, 2)) * (random.random((N_SEGMENTS, 1)) < 0.8)
    segments[5, 0, 1] = np.nan
    segments[1100, 1, 0] = np.inf
    return segments


def test_nearest_is_the_nearest_of_all(backend):
    segments = make_segments()
    random = np.random.default_rng(1)
    low, high = np.nanquantile(segments[:, 0], [0, 1], axis=0)
    for x, y in random.uniform(low - 20, high + 20, (100, 2)):
        expected = distances(segments, x, y)
        found = find_nearest(backend, segments, x, y, np.inf)
        assert expected[found] == pytest.approx(np.nanmin(expected), rel=1e-12)


def test_no_segment_is_found_beyond_the_distance(backend):
    segments = make_segments()
    x, y = np.nanmax(segments[np.isfinite(segments).all(axis=(1, 2))], axis=(0, 1)) + 3
    nearest = np.nanmin(distances(segments, x, y))
    assert find_nearest(backend, segments, x, y, nearest * 0.999) == -1
    assert find_nearest(backend, segments, x, y, nearest * 1.001) >= 0


def test_the_first_of_equally_near_segments_is_found(backend):
    segments = np.repeat(make_segments()[:1], N_SEGMENTS, axis=0)
    segments[:7] = np.nan
    x, y = segments[8, 0]
    assert find_nearest(backend, segments, x + 1, y, np.inf) == 7
    assert find_nearest(backend, segments, x, y, 0.0) == 7


def test_there_is_none_without_finite_segments(backend):
    assert find_nearest(backend, np.zeros((0, 2, 2)), 0.0, 0.0, np.inf) == -1
    assert find_nearest(backend, np.full((5, 2, 2), np.nan), 0.0, 0.0, np.inf) == -1
