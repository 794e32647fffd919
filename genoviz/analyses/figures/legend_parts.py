"""Legend, scale bar and title of a figure, as parts."""

from __future__ import annotations

import math

from genoviz.analyses.figures.parts import (
    Box,
    Line,
    Part,
    Ramp,
    Text,
    clip_text,
    text_width,
    wrap_widths,
)
from genoviz.analyses.graph.picture.legend import (
    Legend,
    NamedLegend,
    RampLegend,
    length_text,
    short_number,
)
from genoviz.analyses.graph.picture.palettes import Palette, Theme
from genoviz.analyses.graph.picture.viewport import Viewport

TEXT_SIZE, TITLE_SIZE = 12.0, 17.0
MARGIN = 16.0
RAMP_WIDTH, RAMP_HEIGHT = 260.0, 10.0
MAX_NAME_WIDTH = 230.0
ROW_HEIGHT = 20.0
SCALE_STEPS = (1, 2, 5)
SAFETY = 1.15
"""Browsers and readers of PDF have other fonts, some of them wider."""


def legend_parts(
    legend: Legend, palette: Palette, theme: Theme, *, width: float, scale: float
) -> tuple[list[Part], float]:
    """Return the parts of a legend, with its top at 0, and how high it is.

    Parameters
    ----------
    width
        Of the figure, pixels.
    scale
        Pixels of the figure in one of 96 to the inch.
    """
    if isinstance(legend, RampLegend):
        return _ramp_parts(legend, palette, theme, scale)
    return _named_parts(legend, theme, width, scale)


def _ramp_parts(
    legend: RampLegend, palette: Palette, theme: Theme, scale: float
) -> tuple[list[Part], float]:
    left, size = MARGIN * scale, TEXT_SIZE * scale
    width, height = RAMP_WIDTH * scale, RAMP_HEIGHT * scale
    colours, _ = legend.palette_part(palette)
    parts: list[Part] = [
        Text(left, size, legend.title, size, theme.ink),
        Ramp(left, 20 * scale, width, height, tuple(colours)),
    ]
    bottom = 20 * scale + height
    for value, place in legend.ticks():
        x = left + place * width
        parts.append(Line(x, bottom, x, bottom + 3 * scale, scale, theme.faint))
        anchor = "start" if place < 0.03 else "end" if place > 0.97 else "middle"
        parts.append(
            Text(x, bottom + 15 * scale, short_number(value), size * 0.92, theme.faint, anchor)
        )
    if legend.missing:
        x = left + width + 24 * scale
        parts.append(Box(x, 20 * scale, height, height, palette[1]))
        parts.append(Text(x + 16 * scale, bottom, legend.missing, size, theme.ink))
    return parts, bottom + 26 * scale


def _named_parts(
    legend: NamedLegend, theme: Theme, width: float, scale: float
) -> tuple[list[Part], float]:
    left, size, row_height = MARGIN * scale, TEXT_SIZE * scale, ROW_HEIGHT * scale
    parts: list[Part] = []
    top = 0.0
    if legend.title:
        parts.append(Text(left, size, legend.title, size, theme.ink))
        top = row_height
    names = [clip_text(name, size, MAX_NAME_WIDTH * scale) for _, name in legend.items]
    widths = [16 * scale + SAFETY * text_width(name, size) for name in names]
    if legend.note:
        names.append(legend.note)
        widths.append(SAFETY * text_width(legend.note, size))
    places = wrap_widths(widths, 18 * scale, width - 2 * left)
    for index, (name, (row, x)) in enumerate(zip(names, places, strict=True)):
        x, baseline = left + x, top + row * row_height + size
        if index < len(legend.items):
            square = 10 * scale
            parts.append(Box(x, baseline - square, square, square, legend.items[index][0]))
            x += 16 * scale
        colour = theme.ink if index < len(legend.items) else theme.faint
        parts.append(Text(x, baseline, name, size, colour))
    n_rows = places[-1][0] + 1 if places else 0
    return parts, top + n_rows * row_height + 8 * scale


def scale_bar_parts(
    view: Viewport, theme: Theme, *, is_left: bool, bottom: float, scale: float
) -> list[Part]:
    """Return a bar of a round number of bp in a lower corner, and how much is stretched."""
    x_size, y_size = view.bp_per_pixel
    bp = round_length(0.15 * view.width * x_size)
    length, margin = bp / x_size, MARGIN * scale
    left = margin if is_left else view.width - margin - length
    right = left + length
    size, tick = TEXT_SIZE * scale, 4 * scale
    stroke = 1.6 * scale
    parts: list[Part] = [
        Line(left, bottom, right, bottom, stroke, theme.ink),
        Line(left, bottom - tick, left, bottom + stroke / 2, stroke, theme.ink),
        Line(right, bottom - tick, right, bottom + stroke / 2, stroke, theme.ink),
        Text((left + right) / 2, bottom - 7 * scale, length_text(bp), size, theme.ink, "middle"),
    ]
    factor = x_size / y_size
    if not 0.99 < factor < 1.01:
        axis, factor = ("height", factor) if factor > 1 else ("width", 1 / factor)
        text = f"{axis} stretched {factor:,.3g} times"
        x, anchor = (right, "start") if is_left else (left, "end")
        x += 12 * scale * (1 if is_left else -1)
        parts.append(Text(x, bottom, text, size, theme.faint, anchor))
    return parts


def round_length(wanted: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... (or 0.5, 0.2, ...) that is at most ``wanted``."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(step * power for step in SCALE_STEPS if step * power <= wanted * (1 + 1e-12))


def title_parts(
    title: str, theme: Theme, *, width: float, scale: float
) -> tuple[list[Part], float]:
    """Return the parts of a title and how high it is: nothing without one."""
    if not title:
        return [], 0.0
    size = TITLE_SIZE * scale
    text = clip_text(title, size, width - 2 * MARGIN * scale)
    return [Text(MARGIN * scale, MARGIN * scale + size, text, size, theme.ink)], 44 * scale
