"""Mapping of numbers to palette indices, and legends of the colours.

Levels are linear, logarithmic or histogram-equalised. Legends are ramps with their true scale, or
named colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from genoviz.analyses.graph.picture.palettes import Palette
from genoviz.errors import ParameterError, short_number
from genoviz.kernels.segment_raster import KEY_MISSING, key_values, order_keys

MIN_TICK_GAP = 0.13
How = Literal["log", "eq_hist", "linear"]
HOWS: tuple[str, ...] = ("log", "eq_hist", "linear")
MAX_INDEX = 255
N_WANTED = 1 << 16


@dataclass(frozen=True)
class RampLegend:
    """A colour ramp from one number to another.

    Attributes
    ----------
    title
        Quantity of the numbers, with unit.
    levels
        Lower bound of each palette index from 1 on; NaN for nodes without a value.
    high
        The largest number.
    missing
        Description of pixels of index 1, if they have no number.
    is_whole
        Whether all numbers are integers.
    """

    title: str
    levels: np.ndarray
    high: float
    missing: str = ""
    is_whole: bool = False

    def palette_part(self, palette: Palette) -> tuple[Palette, np.ndarray]:
        """Return the colours of the ramp, and the lower bound of each."""
        first = 1 if self.missing else 0
        return palette[1 + first : 1 + len(self.levels)], self.levels[first:]

    def ticks(self) -> list[tuple[float, float]]:
        """Return its ends and round numbers between, with their position on the ramp (0 to 1)."""
        levels = self.levels[1:] if self.missing else self.levels
        low, high = float(levels[0]), float(self.high)
        inner = [
            (value, place)
            for value, place in ramp_ticks(levels, high)
            if MIN_TICK_GAP < place < 1 - 2 * MIN_TICK_GAP
            and low < value < high
            and (not self.is_whole or value == round(value))
        ]
        return [(low, 0.0), *inner, (high, 1.0)] if high > low else [(low, 0.0)]


@dataclass(frozen=True)
class NamedLegend:
    """A legend of named colours.

    Attributes
    ----------
    title
        Title of the names.
    items
        Colours as ``#rrggbb``, and their names.
    note
        Additional text; may be empty.
    """

    title: str
    items: tuple[tuple[str, str], ...]
    note: str = ""


Legend = RampLegend | NamedLegend


def ramp_ticks(levels: np.ndarray, high: float) -> list[tuple[float, float]]:
    """Return round numbers with their position on the ramp (0 to 1), as the picture scales it.

    Parameters
    ----------
    levels
        float, ascending: lower bound of each index.
    high
        The largest number of the ramp.
    """
    low = float(levels[0])
    ticks = []
    last_place = -1.0
    for value in _round_numbers(low, high, is_even=_is_even(levels)):
        place = (np.searchsorted(levels, value, side="right") - 1) / max(len(levels) - 1, 1)
        if place - last_place > MIN_TICK_GAP:
            ticks.append((value, float(np.clip(place, 0, 1))))
            last_place = place
    return ticks


def _is_even(levels: np.ndarray) -> bool:
    """Whether levels are approximately linear."""
    if len(levels) < 3 or levels[-1] <= levels[0]:
        return True
    middle = (levels[len(levels) // 2] - levels[0]) / (levels[-1] - levels[0])
    return bool(0.4 < middle < 0.6)


def _round_numbers(low: float, high: float, *, is_even: bool) -> list[float]:
    if not high > low:
        return [low]
    if is_even:
        step = 10.0 ** math.floor(math.log10((high - low) / 4))
        step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5)
        first = math.ceil(low / step - 1e-9)
        return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]
    powers = range(math.floor(math.log10(max(high, 1))) + 1)
    numbers = [m * 10.0**power for power in powers for m in (1, 2, 5)]
    start = [low] if low < numbers[0] else []
    return start + [number for number in numbers if low <= number <= high]


def length_text(length: float) -> str:
    """Return a length in bp as people write it.

    Examples
    --------
    >>> [length_text(x) for x in (50, 2_000, 5_000_000)]
    ['50 bp', '2 kbp', '5 Mbp']
    """
    text = short_number(length)
    return f"{text[:-1]} {text[-1]}bp" if text[-1] in "kMG" else f"{text} bp"


class Levels(NamedTuple):
    """Lower bound of each palette index from 1 on.

    ``numbers`` are uint32, as in the image: a pixel's index is the number of levels at or below its
    number. ``values`` are the corresponding float64 values; NaN for nodes without a value.
    ``n_used`` is the number of pixels with an index.
    """

    numbers: np.ndarray
    values: np.ndarray
    n_used: int

    def line_width(self, n_pixels: int) -> int:
        """Return the best line width in pixels: wider in emptier pictures."""
        share = self.n_used / n_pixels
        return 3 if share < 0.02 else 2 if share < 0.06 else 1


def count_levels(
    image: Any,
    kernels: ModuleType,
    *,
    how: How,
    value_range: tuple[float, float] | None,
    n_levels: int = MAX_INDEX,
) -> Levels:
    """Return the levels of a count image.

    Counts from 0 to the maximum are mapped to indices from 1 on by ``log(1 + count)``, linearly, or
    by the share of used pixels with no larger count.
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
