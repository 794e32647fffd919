"""The raster equals Datashader's, pixel for pixel, on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.backend import load_kernel
from genoviz.kernels.cuda_source import read_source
from genoviz.kernels.segment_raster import (
    BLOCK_SIZE,
    KEY_MISSING,
    key_values,
    make_grid,
    order_keys,
)
from tests.oracles.segment_raster import touched_pixels

WIDTH, HEIGHT = 300, 200


def walks(n_paths=5, n_nodes=3000, seed=0):
    """Return segments that follow each other along smooth walks, as a laid-out pangenome."""
    random = np.random.default_rng(seed)
    angles = np.cumsum(random.normal(0, 0.05, (n_paths, n_nodes + 1)), axis=1)
    steps = random.exponential(1, angles.shape) * np.stack([np.cos(angles), np.sin(angles)])
    points = np.cumsum(steps, axis=2) + random.normal(0, 50, (2, n_paths, 1))
    ends = np.stack([points[..., :-1], points[..., 1:]])
    return np.ascontiguousarray(ends.transpose(2, 3, 0, 1).reshape(-1, 2, 2))


def long_segments(n=1500, seed=1):
    return np.random.default_rng(seed).normal(0, 100, (n, 2, 2))


def with_missing(n=1500, seed=2):
    random = np.random.default_rng(seed)
    segments = random.normal(0, 100, (n, 2, 2))
    segments[random.random(segments.shape) < 0.05] = np.nan
    return segments


def on_pixel_borders(n=1500, seed=3):
    return np.random.default_rng(seed).integers(0, 21, (n, 2, 2)).astype(np.float64)


def points_only(n=1500, seed=4):
    return np.repeat(np.random.default_rng(seed).normal(0, 100, (n, 1, 2)), 2, axis=1)


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


def some_values(n):
    """Return whole numbers, whose sums are exact in any order, and a missing value now and then."""
    values = np.random.default_rng(0).integers(-50, 50, n).astype(np.float32)
    values[::7] = np.nan
    return values


def rasters(backend, segments, view, *, values=None, width=WIDTH, height=HEIGHT, stride=1):
    """Return the counts, and the keys of the largest and of the mean values."""
    kernel = load_kernel("segment_raster", backend)
    array = np.asarray
    if backend == "cuda":
        import cupy

        array = cupy.asarray
    values = some_values(len(segments)) if values is None else values
    where, segments = ([make_grid(*view, width, height)], (height, width)), array(segments)
    boxes = kernel.find_boxes(segments)
    images = (
        kernel.raster_count(segments, *where, boxes, stride),
        kernel.raster_max(segments, array(order_keys(values)), *where, boxes, stride),
        kernel.raster_mean(segments, array(values), *where, boxes, stride),
    )
    return [image.get() for image in images] if backend == "cuda" else images


def oracle_rasters(segments, view, *, width=WIDTH, height=HEIGHT, stride=1):
    counts = np.zeros((height, width), np.uint32)
    values = [[[] for _ in range(width)] for _ in range(height)]
    for number in range(0, len(segments), stride):
        for row, column in touched_pixels(segments[number].ravel(), view, width, height):
            counts[row, column] += 1
            values[row][column].append(float(some_values(len(segments))[number]))
    largest = np.full((height, width), np.nan)
    mean = largest.copy()
    for row, column in np.argwhere(counts):
        known = [value for value in values[row][column] if value == value]
        if known:
            largest[row, column] = max(known)
            mean[row, column] = sum(known) / len(known)
    return counts, largest, mean


def datashader_rasters(segments, view, values, width=WIDTH, height=HEIGHT):
    pd = pytest.importorskip("pandas")
    ds = pytest.importorskip("datashader")
    columns = dict(zip(("x0", "y0", "x1", "y1"), segments.reshape(-1, 4).T, strict=True))
    frame = pd.DataFrame(columns | {"value": values})
    canvas = ds.Canvas(width, height, x_range=view[:2], y_range=view[2:])
    # Datashader compiles its loop for each aggregate, unless they are made at once.
    agg = ds.summary(count=ds.count(), largest=ds.max("value"), mean=ds.mean("value"))
    drawn = canvas.line(frame, x=["x0", "x1"], y=["y0", "y1"], axis=1, agg=agg)
    return [drawn[name].to_numpy() for name in ("count", "largest", "mean")]


@pytest.mark.parametrize("data", DATA)
def test_raster_equals_datashader(data):
    segments = data()
    values = np.random.default_rng(0).normal(size=len(segments)).astype(np.float32)
    values[::7] = np.nan
    for view in views(segments):
        counts, largest, mean = rasters("cpu", segments, view, values=values)
        expected = datashader_rasters(segments, view, values)
        np.testing.assert_array_equal(counts, expected[0])
        np.testing.assert_array_equal(key_values(largest), expected[1])
        np.testing.assert_allclose(key_values(mean), expected[2], rtol=1e-6, atol=1e-7)


def test_any_segments_in_any_view_equal_datashader():
    pytest.importorskip("hypothesis")
    from hypothesis import given, settings
    from hypothesis import strategies as st

    number = st.one_of(
        st.integers(-4, 4).map(float),
        st.floats(-8, 8, allow_subnormal=False),
        st.floats(-1e6, 1e6, width=32),
        st.just(np.nan),
    )
    segment = st.lists(number, min_size=4, max_size=4)
    side = st.tuples(st.integers(-16, 16), st.integers(1, 64)).map(lambda s: (s[0] / 4, s[1] / 8))

    @settings(max_examples=150, deadline=None)
    @given(st.lists(segment, min_size=1, max_size=12), side, side, st.sampled_from([1, 2, 7, 64]))
    def check(segments, x, y, width):
        segments = np.array(segments).reshape(-1, 2, 2)
        view = (x[0], x[0] + x[1], y[0], y[0] + y[1])
        values = np.arange(len(segments), dtype=np.float32)
        expected = datashader_rasters(segments, view, values, width, 5)
        images = rasters("cpu", segments, view, values=values, width=width, height=5)
        np.testing.assert_array_equal(images[0], expected[0])
        np.testing.assert_array_equal(key_values(images[1]), expected[1])

    check()


@pytest.mark.parametrize("data", [long_segments, with_missing, on_pixel_borders])
@pytest.mark.parametrize("stride", [1, 7])
def test_raster_equals_the_oracle(backend, data, stride):
    segments = data(300)
    for view in views(segments):
        options = {"width": 40, "height": 30, "stride": stride}
        counts, largest, mean = rasters(backend, segments, view, **options)
        expected = oracle_rasters(segments, view, **options)
        np.testing.assert_array_equal(counts, expected[0])
        np.testing.assert_array_equal(key_values(largest), expected[1])
        np.testing.assert_array_equal(key_values(mean), expected[2].astype(np.float32))
        is_missing = (counts > 0) & np.isnan(expected[1])
        assert (largest[is_missing] == KEY_MISSING).all()
        assert (mean[is_missing] == KEY_MISSING).all()


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
@pytest.mark.parametrize("data", DATA)
def test_backends_agree(backend, data):
    segments = data()
    for view in views(segments):
        for stride in (1, 3, 5000):
            expected = rasters("cpu", segments, view, stride=stride)
            for image, other in zip(
                rasters(backend, segments, view, stride=stride), expected, strict=True
            ):
                np.testing.assert_array_equal(image, other)


def test_many_workers_draw_what_one_draws(monkeypatch):
    kernel = load_kernel("segment_raster", "cpu")
    segments = walks()
    for view in views(segments)[:2]:
        expected = rasters("cpu", segments, view)
        monkeypatch.setattr(kernel, "n_sharing", lambda _: 5)
        for image, other in zip(rasters("cpu", segments, view), expected, strict=True):
            np.testing.assert_array_equal(image, other)
        monkeypatch.undo()


def test_boxes_hold_the_finite_segments_of_each_block(backend):
    segments = with_missing(3 * BLOCK_SIZE // 2)
    segments[BLOCK_SIZE:, 0, 0] = np.nan
    kernel = load_kernel("segment_raster", backend)
    if backend == "cuda":
        import cupy

        boxes = kernel.find_boxes(cupy.asarray(segments)).get()
    else:
        boxes = kernel.find_boxes(segments)
    finite = segments[np.isfinite(segments).all(axis=(1, 2))].reshape(-1, 2)
    expected = [*finite.min(axis=0), *finite.max(axis=0)]
    np.testing.assert_array_equal(boxes, [expected, [np.inf, np.inf, -np.inf, -np.inf]])


def test_pixels_per_segment_of_all_segments_is_their_mean_count(backend):
    segments = with_missing()
    kernel = load_kernel("segment_raster", backend)
    if backend == "cuda":
        import cupy

        segments = cupy.asarray(segments)
    for view in views(with_missing())[:3]:
        grid = make_grid(*view, WIDTH, HEIGHT)
        counts = rasters(backend, with_missing(), view)[0]
        per_segment = kernel.pixels_per_segment(segments, [grid], len(segments))
        assert per_segment == pytest.approx(counts.sum() / len(segments))


def test_a_view_too_small_for_float64_is_drawn_within_the_image(backend):
    """Datashader writes beside the image here; no pixel is meaningful, but none is outside."""
    segments = long_segments(50)
    segments[:, :, 0] += 1e9
    x = float(segments[7, 0, 0])
    view = (x, float(np.nextafter(x, np.inf)), -100.0, 100.0)
    counts, _, _ = rasters(backend, segments, view)
    assert counts.shape == (HEIGHT, WIDTH)
    assert counts.sum() > 0


def test_nothing_is_drawn_of_no_segments(backend):
    for image in rasters(backend, np.zeros((0, 2, 2)), (0.0, 1.0, 0.0, 1.0)):
        assert image.shape == (HEIGHT, WIDTH)
        assert not image.any()


def test_keys_are_in_the_order_of_values_and_give_them_back():
    values = np.array([-np.inf, -3e38, -1.5, -1e-45, 0.0, 1e-45, 2.0, 3e38, np.inf], np.float32)
    keys = order_keys(values)
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert (keys > KEY_MISSING).all()
    np.testing.assert_array_equal(key_values(keys), values)
    assert np.isnan(key_values(order_keys(np.array([np.nan], np.float32)))).all()


@pytest.mark.parametrize("kernel", ["segment_raster", "nearest_segment"])
def test_cuda_sources_have_the_blocks_of_the_cpu(kernel):
    source = read_source(f"genoviz.kernels.{kernel}", f"{kernel}.cu")
    assert f"constexpr int BLOCK_SIZE = {BLOCK_SIZE};" in source
