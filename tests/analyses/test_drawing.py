from __future__ import annotations

import math

import numpy as np
import pytest

from genoviz import ParameterError
from genoviz.analyses.drawing import LayoutDrawing
from genoviz.analyses.viewport import Viewport

N_NODES = 3000
VIEW = Viewport(-60, 60, -40, 40, 120, 80)


@pytest.fixture(scope="module")
def coordinates():
    random = np.random.default_rng(0)
    starts = np.clip(np.cumsum(random.normal(0, 2, (N_NODES, 2)), axis=0), -50, 35)
    return np.stack([starts, starts + random.exponential(2, (N_NODES, 2))], axis=1)


@pytest.fixture(scope="module")
def node_values():
    values = np.arange(N_NODES, dtype=np.float32)
    values[1000:2000] = np.nan
    return values


def value_images(drawing):
    """Return counts, mean and largest values of the view; NaN where there is no value."""
    return drawing.count(VIEW), drawing.mean(VIEW), drawing.max(VIEW)


def test_aggregates_are_of_the_nodes_in_each_pixel(backend, coordinates, node_values):
    """A node at a time gives the same as all at once."""
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    counts, mean, largest = value_images(drawing)
    sums, known, total = np.zeros((3, *counts.shape))
    top = np.full(counts.shape, -np.inf)
    for node in range(N_NODES):
        if node % 10 == 0:
            part = LayoutDrawing(coordinates[node : node + 10], backend="cpu")
            total += part.count(VIEW)
        value = node_values[node]
        if not np.isnan(value) and node < 200:
            on = LayoutDrawing(coordinates[node : node + 1], backend="cpu").count(VIEW)
            sums, known = sums + value * on, known + on
            top = np.where(on > 0, np.maximum(top, value), top)
    np.testing.assert_array_equal(counts, total)
    few = LayoutDrawing(coordinates[:200], node_values=node_values[:200], backend=backend)
    _, mean, largest = value_images(few)
    assert (np.isnan(mean) == (known == 0)).all()
    np.testing.assert_allclose(mean[known > 0], (sums[known > 0] / known[known > 0]), rtol=1e-6)
    np.testing.assert_array_equal(largest[known > 0], top[known > 0])


@pytest.mark.parametrize("how", ["log", "linear", "eq_hist"])
@pytest.mark.parametrize("by", ["count", "mean", "max"])
def test_indices_follow_the_levels(backend, coordinates, node_values, by, how):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    numbers = getattr(drawing, by)(VIEW)
    used = numbers > 0 if by == "count" else ~np.isnan(numbers)
    picture = drawing.draw(VIEW, by=by, how=how)
    assert picture.indices.dtype == np.uint8
    assert ((picture.indices > 0) == used).all()
    assert picture.levels.shape == (255,)
    expected = np.searchsorted(picture.levels, numbers[used], side="right")
    np.testing.assert_array_equal(picture.indices[used], np.maximum(expected, 1))
    assert picture.indices.max() == 255
    assert (picture.stride, picture.line_width, picture.viewport) == (1, 1, VIEW)
    np.testing.assert_array_equal(drawing.palette_indices(VIEW, by=by, how=how), picture.indices)


def test_scales_are_what_they_are_called(coordinates):
    values = np.random.default_rng(1).permutation(N_NODES).astype(np.float32)
    drawing = LayoutDrawing(coordinates, node_values=values, backend="cpu")
    linear, log = (
        drawing.draw(VIEW, by="max", how=how, value_range=(0, 2550)) for how in ("linear", "log")
    )
    np.testing.assert_allclose(linear.levels, np.arange(255) * 10)
    np.testing.assert_allclose(np.diff(np.log1p(log.levels)), np.log(2551) / 255, rtol=1e-4)
    points = LayoutDrawing(np.repeat(coordinates[:, :1], 2, axis=1), node_values=values)
    equalised = points.draw(VIEW, by="max", how="eq_hist").indices
    sizes = np.bincount(equalised[equalised > 0])[1:]
    assert np.ptp(sizes) <= 1


def test_all_pixels_of_one_number_get_the_last_index(coordinates):
    one_each = np.array([[[x, 0.5], [x, 0.5]] for x in range(-50, 50, 2)], dtype=np.float64)
    drawing = LayoutDrawing(one_each, node_values=np.full(50, 7, np.float32), backend="cpu")
    for by in ("count", "mean"):
        for how in ("log", "linear", "eq_hist"):
            if by == "mean" and how != "eq_hist":
                continue
            indices = drawing.palette_indices(VIEW, by=by, how=how)
            assert set(np.unique(indices).tolist()) == {0, 255}


def test_numbers_beyond_the_range_get_the_first_and_the_last_index(
    backend, coordinates, node_values
):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    for by in ("count", "max"):
        numbers = getattr(drawing, by)(VIEW)
        for how in ("log", "linear", "eq_hist"):
            indices = drawing.palette_indices(VIEW, by=by, how=how, value_range=(3, 2000))
            assert (indices[numbers >= 2000] == 255).all()
            assert (indices[(numbers <= 3) & (numbers > 0)] == 1).all() or how == "eq_hist"
            assert (indices[numbers > 0] > 0).all()


def test_nodes_without_a_value_can_be_shown(backend, coordinates, node_values):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    is_missing = np.isnan(drawing.mean(VIEW)) & (drawing.count(VIEW) > 0)
    assert is_missing.any()
    for how in ("log", "linear", "eq_hist"):
        hidden = drawing.draw(VIEW, by="mean", how=how)
        shown = drawing.draw(VIEW, by="mean", how=how, show_missing=True)
        assert (hidden.indices[is_missing] == 0).all()
        assert ((shown.indices == 1) == is_missing).all()
        assert ((shown.indices > 1) == (hidden.indices > 0)).all()
        assert np.isnan(shown.levels[0])
        assert not np.isnan(shown.levels[1:]).any()
    nothing = LayoutDrawing(
        coordinates, node_values=np.full(N_NODES, np.nan, np.float32), backend=backend
    )
    assert nothing.palette_indices(VIEW, by="mean", show_missing=True).max() == 1


def test_lines_are_widened_where_few_pixels_are_used(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    thin = drawing.draw(VIEW)
    wide = drawing.draw(VIEW, line_width=3)
    assert (wide.indices >= thin.indices).all()
    assert (wide.indices[1:] >= thin.indices[:-1]).all()
    assert drawing.draw(VIEW, line_width=None).line_width == 1
    sparse = drawing.draw(Viewport(-4000, 4000, -4000, 4000, 800, 800), line_width=None)
    assert sparse.line_width == 3


def test_a_pixel_budget_leaves_nodes_out_and_says_so(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    everything = drawing.count(VIEW)
    budget = everything.sum() / 6.5
    picture = drawing.draw(VIEW, pixel_budget=budget)
    assert 6 <= picture.stride <= 8
    thinned = drawing.count(VIEW, stride=picture.stride)
    assert thinned.sum() == pytest.approx(budget, rel=0.2)
    assert ((picture.indices > 0) == (thinned > 0)).all()
    assert drawing.draw(VIEW, pixel_budget=None).stride == 1
    assert drawing.draw(VIEW, pixel_budget=2 * everything.sum()).stride == 1


def test_a_moved_drawing_keeps_its_values_and_the_old_one_its_coordinates(
    backend, coordinates, node_values
):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    before = value_images(drawing)
    moved = drawing.with_coordinates(coordinates * 0.5)
    fresh = LayoutDrawing(coordinates * 0.5, node_values=node_values, backend=backend)
    for image, expected in zip(value_images(moved), value_images(fresh), strict=True):
        np.testing.assert_array_equal(image, expected)
    assert moved.bounds == fresh.bounds != drawing.bounds
    recoloured = drawing.with_node_values(-node_values)
    np.testing.assert_array_equal(recoloured.mean(VIEW), -drawing.mean(VIEW))
    for image, expected in zip(value_images(drawing), before, strict=True):
        np.testing.assert_array_equal(image, expected)
    with pytest.raises(ParameterError, match="drawing has coordinates"):
        drawing.with_coordinates(coordinates[:5])
    with pytest.raises(ParameterError, match="needs node_values"):
        drawing.with_node_values(None).mean(VIEW)


def test_bounds_and_nearest(backend, coordinates):
    holed = coordinates.copy()
    holed[7] = np.nan
    drawing = LayoutDrawing(holed, backend=backend)
    finite = np.delete(coordinates, 7, axis=0).reshape(-1, 2)
    assert drawing.bounds == (*finite.min(axis=0), *finite.max(axis=0))
    x, y = coordinates[100].mean(axis=0)
    middles = np.abs(coordinates[drawing.nearest(x, y)] - (x, y))
    assert middles.min() < 5
    assert drawing.nearest(1e6, 0, max_distance=10) == -1
    assert drawing.nearest(math.nan, 0) == -1


def test_a_layout_without_nodes_is_an_empty_picture(backend):
    empty = LayoutDrawing(np.zeros((0, 2, 2)), node_values=np.zeros(0, np.float32), backend=backend)
    assert empty.bounds == (0, 0, 0, 0)
    assert empty.nearest(0, 0) == -1
    for by in ("count", "mean", "max"):
        for how in ("log", "linear", "eq_hist"):
            assert not empty.palette_indices(VIEW, by=by, how=how, line_width=None).any()


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
def test_coordinates_on_the_gpu_give_the_picture_of_the_cpu(backend, coordinates, node_values):
    import cupy

    on_gpu = LayoutDrawing(cupy.asarray(coordinates), node_values=node_values)
    on_cpu = LayoutDrawing(coordinates, node_values=node_values, backend="cpu")
    assert on_gpu.backend == backend
    for by in ("count", "mean", "max"):
        for how in ("log", "linear", "eq_hist"):
            options = {"by": by, "how": how, "line_width": None, "show_missing": True}
            expected = on_cpu.draw(VIEW, **options)
            picture = on_gpu.draw(VIEW, **options)
            np.testing.assert_array_equal(picture.indices, expected.indices)
            np.testing.assert_array_equal(picture.levels, expected.levels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "median"}, "by is 'median', needs one of count, mean, max"),
        ({"how": "cbrt"}, "how is 'cbrt', needs one of log, eq_hist, linear"),
        ({"by": "mean"}, "drawing by mean needs node_values"),
        ({"line_width": 0}, "line_width is 0, needs 1 to 9"),
        ({"value_range": (3, 3)}, "needs a finite low below a high"),
        ({"value_range": (0, math.inf)}, "needs a finite low below a high"),
        ({"pixel_budget": 0}, "pixel_budget is 0, needs"),
    ],
)
def test_bad_options_are_named(coordinates, options, message):
    with pytest.raises(ParameterError, match=message):
        LayoutDrawing(coordinates, backend="cpu").draw(VIEW, **options)


@pytest.mark.parametrize(
    ("coordinates", "values", "message"),
    [
        (np.zeros((3, 2, 2), np.float32), None, "coordinates are float32"),
        (np.zeros((3, 4)), None, r"need float64 \(n_nodes, 2, 2\)"),
        (np.zeros((3, 2, 2)), np.zeros(2), "needs one value for each node"),
    ],
)
def test_bad_arrays_are_named(coordinates, values, message):
    with pytest.raises(ParameterError, match=message):
        LayoutDrawing(coordinates, node_values=values, backend="cpu")
