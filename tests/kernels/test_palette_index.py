from __future__ import annotations

import numpy as np
import pytest

from genoviz.backend import load_kernel
from genoviz.kernels.palette_index import MAX_LINE_WIDTH, disc_rows

SHAPE = (33, 47)
KINDS = ("empty", "counts", "wide", "keys", "one")


def make_image(kind):
    random = np.random.default_rng(7)
    image = {
        "empty": np.zeros(SHAPE),
        "counts": random.geometric(0.1, SHAPE),
        "wide": 10 ** random.uniform(0, 9.6, SHAPE),
        "keys": random.integers(0x80000000, 0xC0000000, SHAPE),
        "one": np.full(SHAPE, 9),
    }[kind].astype(np.uint32)
    image[random.random(SHAPE) < 0.4] = 0
    return image


def place(array, backend):
    if backend == "cpu":
        return array
    import cupy

    return cupy.asarray(array)


def fetch(array, backend):
    return array if backend == "cpu" else array.get()


@pytest.mark.parametrize("lowest", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_the_range_and_the_numbers_of_used_pixels(backend, kind, lowest):
    kernel = load_kernel("palette_index", backend)
    image = make_image(kind)
    used = image[image >= lowest].astype(np.int64)
    found = kernel.image_range(place(image, backend), lowest)
    assert found == ((used.min(), used.max(), used.size) if used.size else (0, 0, 0))
    for n_wanted in (10, 100, 100_000):
        step = max(1, -(-used.size // n_wanted))
        numbers = kernel.used_numbers(place(image, backend), lowest, used.size, n_wanted)
        np.testing.assert_array_equal(numbers, used[::step])
        assert len(numbers) <= n_wanted


@pytest.mark.parametrize("n_levels", [1, 2, 3, 20, 255])
@pytest.mark.parametrize("kind", KINDS)
def test_an_index_counts_the_levels_at_or_below(backend, kind, n_levels):
    kernel = load_kernel("palette_index", backend)
    image = make_image(kind)
    random = np.random.default_rng(n_levels)
    for levels in (
        np.sort(random.choice(image.ravel(), n_levels)),
        np.sort(random.integers(1, 2**32, n_levels, dtype=np.uint32)),
        np.sort(random.integers(1, 40, n_levels, dtype=np.uint32)),
    ):
        indices = fetch(kernel.apply_levels(place(image, backend), levels), backend)
        assert indices.dtype == np.uint8
        np.testing.assert_array_equal(indices, np.searchsorted(levels, image, side="right"))


@pytest.mark.parametrize("line_width", range(1, MAX_LINE_WIDTH + 1))
def test_a_pixel_is_spread_to_a_disc(backend, line_width):
    kernel = load_kernel("palette_index", backend)
    random = np.random.default_rng(0)
    for shape in ((20, 30), (3, 2), (1, 1)):
        indices = (random.integers(1, 256, shape) * (random.random(shape) < 0.1)).astype(np.uint8)
        expected = indices.copy()
        for row, column in np.argwhere(indices):
            for dy, first, last in disc_rows(line_width):
                for dx in range(first, last + 1):
                    y, x = row + dy, column + dx
                    if 0 <= y < shape[0] and 0 <= x < shape[1]:
                        expected[y, x] = max(expected[y, x], indices[row, column])
        spread = fetch(kernel.spread(place(indices, backend), line_width), backend)
        np.testing.assert_array_equal(spread, expected)


@pytest.mark.parametrize("line_width", range(1, MAX_LINE_WIDTH + 1))
def test_a_stamp_is_a_disc_over_what_was_there(backend, line_width):
    kernel = load_kernel("palette_index", backend)
    random = np.random.default_rng(1)
    for shape in ((20, 30), (3, 2), (1, 1)):
        image = (random.integers(1, 9, shape) * (random.random(shape) < 0.1)).astype(np.uint32)
        indices = random.integers(0, 256, shape).astype(np.uint8)
        discs = fetch(
            kernel.spread(place((image > 0).astype(np.uint8), backend), line_width), backend
        )
        stamped = place(indices.copy(), backend)
        kernel.stamp(stamped, place(image, backend), 77, line_width)
        expected = np.where(discs > 0, 77, indices)
        np.testing.assert_array_equal(fetch(stamped, backend), expected)


def test_discs_are_round_and_as_wide_as_said():
    assert disc_rows(1) == [(0, 0, 0)]
    assert disc_rows(2) == [(0, 0, 1), (1, 0, 1)]
    assert disc_rows(3) == [(-1, 0, 0), (0, -1, 1), (1, 0, 0)]
    for line_width in range(1, MAX_LINE_WIDTH + 1):
        rows = disc_rows(line_width)
        assert len(rows) == line_width == max(last - first + 1 for _, first, last in rows)
