"""Which number gets which palette index: linear, logarithmic or histogram-equalised levels."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from genoviz.errors import ParameterError
from genoviz.kernels.segment_raster import KEY_MISSING, key_values, order_keys

How = Literal["log", "eq_hist", "linear"]
HOWS: tuple[str, ...] = ("log", "eq_hist", "linear")
MAX_INDEX = 255
N_WANTED = 1 << 16


class Levels(NamedTuple):
    """Where each palette index from 1 on begins.

    ``numbers`` are uint32, as in the image: a pixel's index is the number of levels at or below its
    number. ``values`` are float64, what they mean to the user; NaN is for nodes without a value.
    ``n_used`` is the number of pixels that get an index.
    """

    numbers: np.ndarray
    values: np.ndarray
    n_used: int


def count_levels(
    image: Any,
    kernels: ModuleType,
    *,
    how: How,
    value_range: tuple[float, float] | None,
    n_levels: int = MAX_INDEX,
) -> Levels:
    """Return the levels of a count image.

    The counts from 0 to the largest are mapped to indices from 1 on by ``log(1 + count)``,
    linearly, or by the share of the used pixels that have no larger count.
    """
    _, largest, n_used = kernels.image_range(image, 1)
    low, high = value_range or (0.0, float(largest))
    if how == "eq_hist":
        used = kernels.used_numbers(image, 1, n_used, N_WANTED)
        numbers = _equalised_levels(used, max(1, round(low)), max(1, round(high)), n_levels)
    else:
        spaced = np.ceil(_spaced_levels(how, low, high, n_levels))
        numbers = np.clip(spaced, 1, np.iinfo(np.uint32).max).astype(np.uint32)
    numbers[0] = 1
    return Levels(numbers, numbers.astype(np.float64), n_used)


def value_levels(
    image: Any,
    kernels: ModuleType,
    *,
    how: How,
    value_range: tuple[float, float] | None,
    show_missing: bool,
    n_levels: int = MAX_INDEX,
) -> Levels:
    """Return the levels of an image of keys.

    With ``show_missing``, index 1 is for pixels that hold only nodes without a value.
    """
    lowest, n_levels = KEY_MISSING + 1, n_levels - show_missing
    smallest, largest, n_used = kernels.image_range(image, lowest)
    if value_range is not None:
        smallest, largest = (int(key) for key in order_keys(np.array(value_range)))
    elif n_used == 0:
        smallest = largest = int(order_keys(np.zeros(1))[0])
    low, high = key_values(np.array([smallest, largest], dtype=np.uint32)).tolist()
    if how == "eq_hist":
        used = kernels.used_numbers(image, lowest, n_used, N_WANTED)
        numbers = _equalised_levels(used, smallest, largest, n_levels)
    else:
        numbers = order_keys(_spaced_levels(how, low, high, n_levels))
    values = key_values(numbers).astype(np.float64)
    numbers[0], values[0] = lowest, low
    if show_missing:
        numbers = np.concatenate(([np.uint32(KEY_MISSING)], numbers))
        values = np.concatenate(([np.nan], values))
        _, _, n_used = kernels.image_range(image, KEY_MISSING)
    return Levels(numbers, values, n_used)


def check_range(value_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return a range as two floats; ParameterError if it is empty or not finite."""
    if value_range is None:
        return None
    low, high = (float(value) for value in value_range)
    if not (low < high and np.isfinite([low, high]).all()):
        raise ParameterError(f"value_range is ({low:g}, {high:g}), needs a finite low below a high")
    return low, high


def _spaced_levels(how: str, low: float, high: float, n_levels: int) -> np.ndarray:
    shares = np.arange(n_levels) / n_levels
    extent = max(high - low, 0.0)
    return low + (np.expm1(shares * np.log1p(extent)) if how == "log" else shares * extent)


def _equalised_levels(
    numbers: np.ndarray, smallest: int, largest: int, n_levels: int
) -> np.ndarray:
    if len(numbers) == 0:
        return np.full(n_levels, smallest, dtype=np.uint32)
    ranks = np.arange(n_levels) * len(numbers) // n_levels
    return np.clip(np.sort(numbers)[ranks], smallest, largest).astype(np.uint32)
