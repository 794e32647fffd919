from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from genoviz import Fold, MarkLayer, ParameterError
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.drawn_nodes import LIVE_PARTS
from genoviz.analyses.graph.picture.viewport import LastImage, Viewport
from tests.oracles.segment_raster import clip, line_pixels

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


def test_only_chosen_nodes_are_drawn_and_found(backend, coordinates, node_values):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend=backend)
    nodes = np.random.default_rng(5).choice(N_NODES, 400)
    some = LayoutDrawing(coordinates, node_values=node_values, nodes=nodes, backend=backend)
    chosen = np.unique(nodes)
    alone = LayoutDrawing(coordinates[chosen], node_values=node_values[chosen], backend="cpu")
    for made in (some, drawing.with_nodes(nodes), some.with_coordinates(coordinates)):
        for image, expected in zip(value_images(made), value_images(alone), strict=True):
            np.testing.assert_array_equal(image, expected)
        assert made.bounds == alone.bounds
        assert (made.n_nodes, made.n_drawn) == (N_NODES, len(chosen))
        assert made.nodes.tolist() == chosen.tolist()
        assert made.nearest(0, 0) == chosen[alone.nearest(0, 0)]
        found = made.visible_nodes(VIEW, limit=N_NODES)
        assert found.tolist() == chosen[alone.visible_nodes(VIEW, limit=N_NODES)].tolist()
    np.testing.assert_array_equal(some.with_nodes(None).mean(VIEW), drawing.mean(VIEW))
    nothing = drawing.with_nodes([])
    assert not nothing.count(VIEW).any()
    assert (nothing.nearest(0, 0), nothing.bounds) == (-1, (0, 0, 0, 0))
    np.testing.assert_array_equal(some.node_ends([7, 3, 7]), coordinates[[7, 3, 7]])


@pytest.mark.parametrize(
    "view",
    [VIEW, VIEW.zoomed(20, -47, 30), VIEW.zoomed(0.1), VIEW.panned(50, 0), VIEW.zoomed(3e3, 1, 2)],
)
def test_visible_nodes_are_those_that_touch_the_view(backend, coordinates, view):
    drawing = LayoutDrawing(coordinates, backend=backend)
    box = view.x_min, view.x_max, view.y_min, view.y_max
    expected = [node for node in range(N_NODES) if clip(*coordinates[node].ravel().tolist(), *box)]
    found = drawing.visible_nodes(view, limit=N_NODES)
    assert (found.tolist(), found.dtype) == (expected, np.int64)
    assert drawing.count_visible(view) == len(expected)
    for limit in (0, 1, 10):
        assert drawing.visible_nodes(view, limit=limit).tolist() == expected[:limit]


def test_marks_lie_over_everything_else(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    nodes = {250: np.array([5, 900, 901, 2500]), 251: np.arange(300, 340), 252: np.array([], int)}
    marks = [MarkLayer(numbers, index) for index, numbers in nodes.items()]
    picture = drawing.draw(VIEW, marks=marks, max_index=249)
    expected = drawing.draw(VIEW, max_index=249).indices.copy()
    assert expected.max() == 249
    for index, numbers in nodes.items():
        counts = LayoutDrawing(coordinates[numbers], backend="cpu").count(VIEW)
        for row, column in np.argwhere(counts):
            for dy, dx in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
                if 0 <= row + dy < VIEW.height and 0 <= column + dx < VIEW.width:
                    expected[row + dy, column + dx] = index
    assert {250, 251} <= set(expected.ravel().tolist())
    np.testing.assert_array_equal(picture.indices, expected)
    hidden = drawing.with_nodes([1]).draw(VIEW, marks=marks, max_index=249)
    np.testing.assert_array_equal(hidden.indices > 249, expected > 249)
    wide = drawing.draw(VIEW, marks=marks, max_index=249, line_width=5).indices
    assert (wide > 249).sum() > 1.3 * (expected > 249).sum()


def test_a_wide_mark_clears_the_ground_around_it(backend, coordinates):
    """A single short node is to be seen in the picture of all."""
    drawing = LayoutDrawing(coordinates, backend=backend)
    node = int(drawing.visible_nodes(VIEW, limit=len(coordinates))[7])
    own = np.argwhere(LayoutDrawing(coordinates[[node]], backend="cpu").count(VIEW))
    plain = drawing.draw(VIEW, max_index=249).indices
    mark = MarkLayer([node], 250, line_width=5, halo_width=9)
    assert MarkLayer([node], 1).index == 1, "the lowest but that of the ground"
    picture = drawing.draw(VIEW, marks=[mark], max_index=249).indices
    pixels = np.stack(np.meshgrid(*map(np.arange, picture.shape), indexing="ij"), axis=-1)
    distances = np.sqrt(((pixels[:, :, None] - own) ** 2).sum(axis=-1).min(axis=-1))
    assert (picture[distances < 2.2] == 250).all()
    assert (picture[(distances > 2.6) & (distances < 4.2)] == 0).all()
    assert (picture[distances > 4.6] == plain[distances > 4.6]).all()


@pytest.mark.parametrize("width", [{"line_width": 0}, {"line_width": 10}, {"halo_width": 10}])
def test_a_mark_is_as_wide_as_can_be_drawn(width):
    with pytest.raises(ParameterError, match="px wide, needs 1 to 9"):
        MarkLayer([1], 250, **width)


@pytest.mark.parametrize("how", ["log", "linear", "eq_hist"])
@pytest.mark.parametrize("by", ["count", "mean", "max"])
def test_levels_leave_the_highest_indices_to_marks(coordinates, node_values, by, how):
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend="cpu")
    for show_missing in (False, True):
        options = {"by": by, "how": how, "show_missing": show_missing}
        picture = drawing.draw(VIEW, max_index=40, **options)
        assert picture.indices.max() == len(picture.levels) == 40
        used = drawing.draw(VIEW, **options).indices > 0
        np.testing.assert_array_equal(picture.indices > 0, used)


def test_a_large_mark_is_thinned_and_says_so(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    nodes = np.arange(N_NODES)[::-1]
    marks = [MarkLayer(nodes, 255), MarkLayer(np.arange(3), 254)]
    assert drawing.draw(VIEW, marks=marks).mark_stride == 1
    assert drawing.draw(VIEW, marks=marks, pixel_budget=None).mark_stride == 1
    budget = 10 * N_NODES / 6.5
    picture = drawing.draw(VIEW, marks=marks[:1], pixel_budget=budget, max_index=254)
    assert 6 <= picture.mark_stride <= 8
    thinned = [MarkLayer(nodes[:: picture.mark_stride], 255)]
    expected = drawing.draw(VIEW, marks=thinned, max_index=254).indices == 255
    np.testing.assert_array_equal(picture.indices == 255, expected)
    long_lines = drawing.with_coordinates(coordinates * (1, 100))
    budget = long_lines.count(VIEW).sum() / 6.5
    assert long_lines.draw(VIEW, marks=marks, pixel_budget=budget).mark_stride > 1


@pytest.mark.parametrize("magnification", [0.5, 3, 40])
def test_marks_far_outside_the_view_change_nothing(backend, coordinates, magnification):
    array = np.concatenate([coordinates + offset for offset in (0, 500, 0, -900)])
    drawing = LayoutDrawing(array, backend=backend)
    view = VIEW.zoomed(magnification, *coordinates[300, 0])
    mark = MarkLayer(np.random.default_rng(0).permutation(len(array))[:9000], 255)
    picture = drawing.draw(view, marks=[mark], max_index=254)
    counts = LayoutDrawing(array[mark.nodes], backend="cpu").count(view)
    assert (counts > 0).any()
    assert (picture.indices[counts > 0] == 255).all()
    discs = LayoutDrawing(array[mark.nodes], backend="cpu").draw(view, line_width=3).indices > 0
    np.testing.assert_array_equal(picture.indices == 255, discs)


def test_marks_are_folded_with_the_layout(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    fold = Fold(drawing.bounds, 120, 80, 3)
    view = Viewport.fit(fold.bounds, 120, 80)
    mark = MarkLayer(np.arange(700, 900), 255)
    picture = drawing.draw(view, marks=[mark], max_index=254, fold=fold)
    alone = drawing.with_nodes(mark.nodes).count(view, fold=fold) > 0
    assert alone.any()
    assert (picture.indices[alone] == 255).all()


def test_a_live_drawing_comes_to_show_what_is_there(backend, coordinates):
    """After as many drawings as there are parts, all boxes are those of the layout."""
    array = coordinates.repeat(4, axis=0)
    if backend == "cuda":
        import cupy

        array = cupy.asarray(array)
    drawing = LayoutDrawing(array, backend=backend)
    array += 200.0
    moved = Viewport(140, 260, 160, 240, 120, 80)
    for _ in range(LIVE_PARTS):
        drawing = drawing.with_coordinates(array, live=True)
        assert drawing.is_live
        drawing.count(moved)
    exact = drawing.with_coordinates(array)
    assert not exact.is_live
    assert exact.count(moved).sum() > 1000
    np.testing.assert_array_equal(drawing.count(moved), exact.count(moved))
    assert drawing.bounds == exact.bounds
    assert drawing.nearest(200, 200) == exact.nearest(200, 200)


def test_what_is_in_view_is_drawn_live_however_it_moved(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    moved = coordinates + np.random.default_rng(0).normal(0, 5, coordinates.shape)
    view = VIEW.zoomed(0.5)
    live = drawing.with_coordinates(moved, live=True).count(view)
    exact = drawing.with_coordinates(moved).count(view)
    np.testing.assert_array_equal(live, exact)


def test_distance_is_on_the_screen_where_a_viewport_is_given(backend):
    """In a view stretched tenfold in y, the node that is nearer on the screen is found."""
    coordinates = np.array([[[0.0, 2.0], [10.0, 2.0]], [[5.0, 0.0], [9.0, 0.0]]])
    drawing = LayoutDrawing(coordinates, backend=backend)
    stretched = Viewport(0, 100, -5, 5, 100, 100)
    assert drawing.nearest(0, 0, 3) == 0
    assert drawing.nearest(0, 0) == 0
    assert drawing.nearest(0, 0, viewport=stretched) == 1
    assert drawing.nearest(0, 0, 4.9, viewport=stretched) == -1
    assert drawing.nearest(0, 0, 5.1, viewport=stretched) == 1


def test_nearest_on_the_screen_is_nearest_in_stretched_coordinates(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    stretched = Viewport(-60, 60, -40, 40, 1200, 80)
    scales = np.array([10.0, 1.0])
    points = LayoutDrawing(coordinates * scales, backend="cpu")
    differs = 0
    for point in np.random.default_rng(3).uniform((-60, -40), (60, 40), (50, 2)):
        found = drawing.nearest(*point, viewport=stretched)
        assert found == points.nearest(*(point * scales))
        differs += found != drawing.nearest(*point)
    assert differs > 5


@pytest.mark.parametrize("pixel", [1e-3, 1e-6])
def test_views_stay_sharp_at_a_billion_bases(backend, pixel):
    """Each pixel is the exact one; coordinates times the scale would be off by some, or many."""
    random = np.random.default_rng(0)
    corner = np.array([1e9, 3e8]) + random.random(2)
    coordinates = corner + random.uniform(-20, 120, (300, 1, 2)) * pixel
    coordinates = np.concatenate(
        [coordinates, coordinates + random.normal(0, 30, (300, 1, 2)) * pixel], axis=1
    )
    (x, y), (width, height) = corner.tolist(), (100, 80)
    view = Viewport(x, x + width * pixel, y, y + height * pixel, width, height)
    expected = np.zeros((height, width), np.int64)
    sides = [Fraction(side) for side in (view.x_min, view.x_max, view.y_min, view.y_max)]
    scales = width / (sides[1] - sides[0]), height / (sides[3] - sides[2])
    for segment in coordinates.reshape(-1, 4).tolist():
        clipped = clip(*map(Fraction, segment), *sides)
        if clipped is None:
            continue
        columns = [min(int((x - sides[0]) * scales[0]), width - 1) for x in clipped[::2]]
        rows = [min(int((y - sides[2]) * scales[1]), height - 1) for y in clipped[1::2]]
        for row, column in (
            (row, column) for column, row in line_pixels(columns[0], rows[0], columns[1], rows[1])
        ):
            expected[row, column] += 1
    assert expected.sum() > 1000
    drawing = LayoutDrawing(coordinates, backend=backend)
    np.testing.assert_array_equal(drawing.count(view), expected)
    fold = Fold((0, 2.9e8, 2e9, 3.1e8), width, height, 1)
    np.testing.assert_array_equal(drawing.count(view, fold=fold), expected)
    at = corner + random.uniform(0, 80, (20, 2)) * pixel
    local = LayoutDrawing((coordinates - corner) / pixel, backend="cpu")
    for point in at:
        assert drawing.nearest(*point) == local.nearest(*(point - corner) / pixel)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda drawing: drawing.with_nodes([0, N_NODES]), "there is no node number 3,000 among"),
        (lambda drawing: drawing.with_nodes([-1]), "there is no node number -1 among 3,000 nodes"),
        (lambda drawing: drawing.with_nodes([0.5]), "node numbers are float64"),
        (lambda drawing: drawing.draw(VIEW, marks=[MarkLayer([N_NODES], 3)]), "no node number"),
        (lambda _: MarkLayer([1], 0), "palette index 0, needs 1 to 255"),
        (lambda drawing: drawing.draw(VIEW, max_index=1), "max_index is 1, needs 2 to 255"),
        (lambda drawing: drawing.visible_nodes(VIEW, limit=-1), "limit is -1"),
    ],
)
def test_nodes_that_are_not_there_are_refused(coordinates, make, message):
    with pytest.raises(ParameterError, match=message):
        make(LayoutDrawing(coordinates, backend="cpu"))


def test_a_view_that_is_dragged_is_made_of_the_last_one(backend, coordinates, node_values):
    """Exactly, where no line leaves a view; each other pixel by what one line may be off."""
    dots = coordinates.copy()
    dots[:, 1] = dots[:, 0]
    for options in ({}, {"by": "mean"}, {"by": "max", "how": "eq_hist"}):
        drawing = LayoutDrawing(dots, node_values=node_values, backend=backend)
        last, view = LastImage(may_move=True), VIEW
        drawing.draw(view, last=last, **options)
        for dx, dy in ((0.1, 0), (-0.25, 0.05), (0.025, -0.5)):
            view = view.panned(dx, dy)
            moved = drawing.draw(view, last=last, **options)
            assert last.is_moved == (backend == "cpu")
            np.testing.assert_array_equal(moved.indices, drawing.draw(view, **options).indices)
    lines, last = LayoutDrawing(coordinates, backend=backend), LastImage(may_move=True)
    lines.draw(VIEW, last=last)
    view = VIEW.panned(0.2, 0.2)
    moved, anew = lines.draw(view, last=last).indices, lines.draw(view).indices
    assert ((moved > 0) != (anew > 0)).mean() < 0.01
    last.may_move = False
    np.testing.assert_array_equal(lines.draw(view, last=last).indices, anew)


def test_a_view_is_not_made_of_what_is_out_of_date(coordinates, node_values):
    """Other places, nodes, values and aggregates are drawn anew, and a live layout is."""
    drawing = LayoutDrawing(coordinates, node_values=node_values, backend="cpu")
    view = VIEW.panned(0.1, 0)
    others = {
        "places": drawing.with_coordinates(coordinates + 1),
        "live": drawing.with_coordinates(coordinates, live=True),
        "nodes": drawing.with_nodes(np.arange(100)),
        "values": drawing.with_node_values(-node_values),
    }
    for name, other in others.items():
        last = LastImage(may_move=True)
        drawing.draw(VIEW, by="mean", last=last)
        assert not last.is_moved
        moved = other.draw(view, by="mean", last=last)
        assert not last.is_moved, name
        drawing.draw(view, by="mean", last=last)
        assert not last.is_moved, "the one before was of something else"
        np.testing.assert_array_equal(moved.indices, other.draw(view, by="mean").indices)
    drawing.draw(view, by="max", last=last)
    assert not last.is_moved
    drawing.draw(VIEW, by="max", last=last)
    assert last.is_moved
    last.forget()
    drawing.draw(view, by="max", last=last)
    assert not last.is_moved
