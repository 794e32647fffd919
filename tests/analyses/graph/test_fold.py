"""Folded layouts against one row at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from genoviz import Fold, ParameterError
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.viewport import Viewport
from tests.oracles.segment_raster import touched_pixels

N_NODES = 1200
WIDTH, HEIGHT = 90, 60


@pytest.fixture(scope="module")
def coordinates():
    """Return a layout a hundred times as long as high, with long nodes and missing ones."""
    random = np.random.default_rng(0)
    starts = np.stack(
        [np.sort(random.uniform(0, 10_000, N_NODES)), random.normal(0, 25, N_NODES)], axis=1
    )
    ways = random.normal(0, 12, (N_NODES, 2))
    ways[::40, 0] *= 30
    coordinates = np.stack([starts, starts + ways], axis=1)
    coordinates[100:103] = np.nan
    return coordinates


def plane_parts(coordinates, fold):
    """Return each node's part in each row: (node, row, x0, y0, x1, y1) in plane coordinates."""
    x_min = fold.layout_bounds[0]
    parts = []
    for node, ((x0, y0), (x1, y1)) in enumerate(coordinates.tolist()):
        for row in range(fold.n_rows):
            low = -math.inf if row == 0 else x_min + row * fold.row_width
            high = math.inf if row == fold.n_rows - 1 else x_min + (row + 1) * fold.row_width
            if not math.isfinite(x0 + y0 + x1 + y1) or max(x0, x1) < low or min(x0, x1) > high:
                continue
            part = []
            for x, y in ((x0, y0), (x1, y1)):
                inside = min(max(x, low), high)
                y = y if inside == x else y0 + (inside - x0) / (x1 - x0) * (y1 - y0)
                part += [inside - row * fold.row_width, y - row * fold.row_pitch]
            parts.append((node, row, *part))
    return parts


def views(fold):
    full = Viewport.fit(fold.bounds, WIDTH, HEIGHT)
    x, y = (full.x_min + full.x_max) / 2, (full.y_min + full.y_max) / 2
    return [
        full,
        full.zoomed(0.5),
        full.zoomed(3, x, y),
        full.zoomed(40, fold.bounds[2] - 3, y + 100),
        Viewport(full.x_min, full.x_max, y - 37, y + 11, WIDTH, HEIGHT),
        full.panned(5, 0),
    ]


def test_rows_fill_the_picture(coordinates):
    bounds = LayoutDrawing(coordinates, backend="cpu").bounds
    fold = Fold(bounds, 1200, 800)
    x_min, y_min, x_max, y_max = fold.bounds
    assert 0.6 < (x_max - x_min) / (y_max - y_min) / (1200 / 800) < 1.6
    assert fold.row_pitch > bounds[3] - bounds[1]
    assert Fold((0, 0, 100, 80), 100, 80).n_rows == 1
    assert Fold((0, 0, 1, 100), 100, 80).n_rows == 1
    assert Fold((0, 0, 1e9, 0), 100, 240).n_rows == 10
    assert Fold((5, 0, 5, 1), 100, 100, 7).n_rows == 1

    def scale(n_rows):
        x_min, y_min, x_max, y_max = Fold(bounds, 1200, 800, n_rows).bounds
        return min(1200 / (x_max - x_min), 800 / (y_max - y_min))

    assert scale(fold.n_rows) == max(map(scale, range(1, 34)))


def test_plane_and_layout_are_each_others_inverse(coordinates):
    fold = Fold(LayoutDrawing(coordinates, backend="cpu").bounds, 800, 600, 6)
    points = coordinates[np.isfinite(coordinates).all(axis=(1, 2))].reshape(-1, 2)
    plane = fold.to_plane(points)
    rows = np.clip((points[:, 0] - points[:, 0].min()) // fold.row_width, 0, 5)
    np.testing.assert_allclose(plane[:, 1], points[:, 1] - rows * fold.row_pitch)
    for point, at in zip(points[::50], plane[::50], strict=True):
        np.testing.assert_allclose(at + fold.row_shift(fold.row_at(at[1])), point, atol=1e-9)
    x_min, y_min, x_max, y_max = fold.bounds
    assert (plane >= (x_min - 1e-9, y_min)).all()
    assert (plane <= (x_max + 1e-9, y_max)).all()
    one = Fold(fold.layout_bounds, 800, 600, 1)
    np.testing.assert_array_equal(one.to_plane(points), points)
    assert one.bounds == fold.layout_bounds
    assert one.row_shift(one.row_at(-1e6)) == (0, 0)


def test_strips_share_the_pixels_of_a_view_without_overlap(coordinates):
    fold = Fold(LayoutDrawing(coordinates, backend="cpu").bounds, 800, 600, 6)
    for view in views(fold):
        image = np.zeros((HEIGHT, WIDTH), int)
        for strip in fold.strips(view):
            part = strip.viewport
            rows = slice(strip.first_row, strip.first_row + part.height)
            image[rows, strip.first_column : strip.first_column + part.width] += 1
            np.testing.assert_allclose(part.bp_per_pixel, view.bp_per_pixel)
            middle = view.y_min + (strip.first_row + 0.5) * view.bp_per_pixel[1]
            assert fold.row_at(middle) == strip.row
        assert image.max() <= 1
        middles = view.y_min + (np.arange(HEIGHT) + 0.5) * view.bp_per_pixel[1]
        is_on = (fold.bounds[0] <= view.x_max) & (fold.bounds[2] >= view.x_min)
        inside = np.array([0 < fold.row_at(y) < fold.n_rows - 1 for y in middles])
        assert not is_on or image[inside].any(axis=1).all()


@pytest.mark.parametrize("n_rows", [1, 2, 5, 23])
def test_folded_counts_are_those_of_each_row_drawn_alone(backend, coordinates, n_rows):
    drawing = LayoutDrawing(coordinates, backend=backend)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, n_rows)
    parts = plane_parts(coordinates, fold)
    for view in views(fold):
        expected = np.zeros((HEIGHT, WIDTH), np.int64)
        for strip in fold.strips(view):
            pixels = strip.viewport
            box = pixels.x_min, pixels.x_max, pixels.y_min, pixels.y_max
            shift = [strip.x_shift, strip.y_shift] * 2
            for _, row, *ends in parts:
                if row == strip.row:
                    segment = np.add(ends, shift)
                    for y, x in touched_pixels(segment, box, pixels.width, pixels.height):
                        expected[strip.first_row + y, strip.first_column + x] += 1
        counts = drawing.count(view, fold=fold)
        # A cut end may fall to either side of a pixel's border.
        assert (counts != expected).sum() <= 0.002 * (expected > 0).sum()
        assert np.abs(counts - expected).sum() <= 0.002 * expected.sum()


def test_one_row_is_no_fold(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, 1)
    for view in views(fold):
        np.testing.assert_array_equal(drawing.count(view, fold=fold), drawing.count(view))


def test_nothing_is_drawn_across_the_end_of_a_row(backend):
    across = np.array([[[90.0, 0.0], [110.0, 0.0]]])
    fold = Fold((0, -5, 200, 5), 100, 40, 2)
    assert fold.row_width == 100
    x_min, y_min, x_max, y_max = fold.bounds
    view = Viewport(x_min - 20, x_max + 20, y_min, y_max, 140, 40)
    counts = LayoutDrawing(across, backend=backend).count(view, fold=fold)
    rows, columns = np.nonzero(counts)
    used = [sorted(columns[rows == row].tolist()) for row in np.unique(rows)]
    # The lower part of the picture is the second row, which begins at 100 bp.
    assert used == [[*range(20, 31)], [*range(110, 120)]]


def test_colours_of_a_folded_picture_are_those_of_all_of_it(backend, coordinates):
    values = np.arange(N_NODES, dtype=np.float32)
    drawing = LayoutDrawing(coordinates, node_values=values, backend=backend)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, 5)
    view = views(fold)[0]
    for by in ("count", "mean", "max"):
        numbers = getattr(drawing, by)(view, fold=fold)
        used = numbers > 0 if by == "count" else ~np.isnan(numbers)
        picture = drawing.draw(view, by=by, fold=fold)
        assert picture.fold == fold
        assert ((picture.indices > 0) == used).all()
        expected = np.searchsorted(picture.levels, numbers[used], side="right")
        np.testing.assert_array_equal(picture.indices[used], np.maximum(expected, 1))


def distance(x, y, part):
    x0, y0, x1, y1 = part
    square = (x1 - x0) ** 2 + (y1 - y0) ** 2
    share = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / square if square else 0.0
    share = min(1.0, max(0.0, share))
    return math.hypot(x0 + share * (x1 - x0) - x, y0 + share * (y1 - y0) - y)


def test_nearest_node_is_that_of_all_rows(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, 5)
    parts = plane_parts(coordinates, fold)
    x_min, y_min, x_max, y_max = fold.bounds
    random = np.random.default_rng(2)
    for x, y in random.uniform((x_min - 50, y_min - 50), (x_max + 50, y_max + 50), (60, 2)):
        near = {}
        for node, _, *part in parts:
            near[node] = min(near.get(node, math.inf), distance(x, y, part))
        found = drawing.nearest(x, y, fold=fold)
        assert near[found] == pytest.approx(min(near.values()), rel=1e-9)
        assert drawing.nearest(x, y, min(near.values()) * 0.999, fold=fold) == -1


def test_visible_nodes_are_those_with_a_part_in_the_view(backend, coordinates):
    drawing = LayoutDrawing(coordinates, backend=backend)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, 5)
    parts = plane_parts(coordinates, fold)
    for view in views(fold):
        seen = set()
        for strip in fold.strips(view):
            box = strip.box
            shifted = [
                [node, *np.add(part, [strip.x_shift, strip.y_shift] * 2)]
                for node, row, *part in parts
                if row == strip.row
            ]
            for node, x0, y0, x1, y1 in shifted:
                shares = np.linspace(0, 1, 2001)
                x, y = x0 + shares * (x1 - x0), y0 + shares * (y1 - y0)
                if ((x >= box[0]) & (x <= box[2]) & (y >= box[1]) & (y <= box[3])).any():
                    seen.add(node)
        found = drawing.visible_nodes(view, limit=N_NODES, fold=fold)
        assert seen <= set(found.tolist())
        assert len(found) <= len(seen) + 2
        assert drawing.count_visible(view, fold=fold) == len(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0, 0, math.nan, 1), 10, 10), "bounds .*nan.*needs finite ones"),
        (((1, 0, 0, 1), 10, 10), "needs finite ones"),
        (((0, 0, 1, 1), 0, 10), "1 rows are folded into 0 x 10 pixels"),
        (((0, 0, 1, 1), 10, 10, 0), "0 rows are folded"),
    ],
)
def test_what_cannot_be_folded_is_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Fold(*arguments)
