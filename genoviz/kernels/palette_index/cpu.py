"""Palette indices of an image, on one core: waking a second one takes as long as the work."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.kernels.palette_index import disc_rows

TABLE_BITS = 12


def image_range(image, lowest: int) -> tuple[int, int, int]:
    """Return minimum and maximum of the numbers from ``lowest`` on, and their number of pixels."""
    smallest, largest, n_used = _image_range(image.reshape(-1), np.uint32(lowest))
    return (int(smallest), int(largest), int(n_used)) if n_used else (0, 0, 0)


def used_numbers(image, lowest: int, n_used: int, n_wanted: int):
    """Return the numbers of the used pixels, or of every k-th of them."""
    step = max(1, -(-n_used // n_wanted))
    numbers = np.empty(-(-n_used // step), dtype=np.uint32)
    _used_numbers(image.reshape(-1), np.uint32(lowest), step, numbers)
    return numbers


def apply_levels(image, levels):
    """Return for each pixel the number of levels at or below its number."""
    smallest, largest = int(levels[min(2, len(levels) - 1)]), int(levels[-1])
    shift = max(0, (largest - smallest).bit_length() - TABLE_BITS)
    bins = (np.arange(1 << TABLE_BITS, dtype=np.uint64) << np.uint64(shift)) + np.uint64(smallest)
    table = np.searchsorted(levels, bins, side="right").astype(np.uint8)
    indices = _apply_levels(
        image.reshape(-1), levels, np.uint32(smallest), np.uint32(largest), shift, table
    )
    return indices.reshape(image.shape)


def spread(indices, line_width: int):
    """Dilate each pixel to a disc; larger indices are on top."""
    if line_width == 1:
        return indices
    return _spread(indices, np.array(disc_rows(line_width), dtype=np.int64))


def stamp(indices, image, index: int, line_width: int) -> None:
    """Set an index in the discs around all used pixels of another image."""
    _stamp(indices, image, np.uint8(index), np.array(disc_rows(line_width), dtype=np.int64))


@njit(nogil=True, cache=True)
def _image_range(image, lowest):
    smallest, largest, n_used = np.uint32(0xFFFFFFFF), np.uint32(0), 0
    for number in image:
        used = number >= lowest
        n_used += used
        largest = max(largest, number)
        smallest = min(smallest, number if used else np.uint32(0xFFFFFFFF))
    return smallest, largest, n_used


@njit(nogil=True, cache=True)
def _used_numbers(image, lowest, step, numbers):
    n_seen = 0
    for number in image:
        if number >= lowest:
            if n_seen % step == 0:
                numbers[n_seen // step] = number
            n_seen += 1


@njit(nogil=True, cache=True)
def _apply_levels(image, levels, smallest, largest, shift, table):
    """Start each binary search where the table says that the number's bin begins."""
    indices = np.empty(image.shape[0], dtype=np.uint8)
    for i in range(image.shape[0]):
        number = image[i]
        index = 0
        if number >= largest:
            index = levels.shape[0]
        else:
            if number >= smallest:
                index = table[(number - smallest) >> shift]
            while levels[index] <= number:
                index += 1
        indices[i] = index
    return indices


@njit(nogil=True, cache=True)
def _spread(indices, disc):
    height, width = indices.shape
    result = np.zeros_like(indices)
    for y in range(height):
        for k in range(disc.shape[0]):
            if 0 <= y - disc[k, 0] < height:
                for dx in range(disc[k, 1], disc[k, 2] + 1):
                    to = result[y, max(0, dx) : width + min(0, dx)]
                    source = indices[y - disc[k, 0], max(0, -dx) : width - max(0, dx)]
                    for x in range(min(to.shape[0], source.shape[0])):
                        to[x] = max(to[x], source[x])
    return result


@njit(nogil=True, cache=True)
def _stamp(indices, image, index, disc):
    height, width = indices.shape
    for y in range(height):
        for x in range(width):
            if image[y, x] == 0:
                continue
            for k in range(disc.shape[0]):
                to_y = y + disc[k, 0]
                if 0 <= to_y < height:
                    for to_x in range(max(0, x + disc[k, 1]), min(width, x + disc[k, 2] + 1)):
                        indices[to_y, to_x] = index
