"""Draws results as lines, bars and layouts: measured values in colour, printed ones in grey."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from genoviz.analyses.figures.axes import (
    NORMAL,
    PRINT_SCALE,
    PrintedPlot,
    add_legend,
    padded_ends,
    print_plots,
)
from genoviz.analyses.figures.parts import SAFETY, Box, Line, Part, Text, clip_text, text_width
from genoviz.analyses.figures.tracks import EDGE, TrackFigure, caption_parts
from genoviz.analyses.graph.picture.palettes import LIGHT
from genoviz.analyses.reproduce.figures import Measured, PaperFigure, Point

COLOURS = ("#1f6fb4", "#d55e00", "#009e73", "#cc79a7", "#6a4fb3", "#b08900", "#17202c")
GREYS = ("#8494a8", "#5b6778", "#b3bdca", "#3c4654")
WIDTH, HEIGHT = 760, 480
BAR_LEFT, BAR_RIGHT, BAR_ROW = 300.0, 660.0, 20.0
N_NODES_DRAWN = 4_000


def draw_lines(entry: PaperFigure, measured: Measured, caption: str) -> TrackFigure:
    """Return curves through the points, one per series."""
    points = [point for point in measured.points if _is_seen(point, entry.logs)]
    colours = colours_of(points)
    ends = [
        _ends([getattr(point, name) for point in points], is_log=is_log)
        for name, is_log in zip("xy", entry.logs, strict=True)
    ]
    curves, curve_colours = [], []
    is_cloud = len(points) > 40 * len(colours) or entry.labels[0].startswith("Exact")
    for series, colour in colours.items() if not is_cloud else ():
        own = sorted((point.x, point.y) for point in points if point.series == series)
        if len(own) > 1:
            curves.append(np.array(own).T)
            curve_colours.append(colour)
    if is_cloud:
        both = max(ends[0][0], ends[1][0]), min(ends[0][1], ends[1][1])
        curves.append(np.array([both, both]))
        curve_colours.append(GREYS[0])
    names = list(colours)
    plot = PrintedPlot(
        np.array([point.x for point in points]),
        np.array([point.y for point in points]),
        np.array([names.index(point.series) for point in points], np.uint8),
        ends[0], ends[1], entry.labels, colours=tuple(colours.values()), curves=curves,
        curve_colours=curve_colours, logs=entry.logs,
    )  # fmt: skip
    figure = print_plots([plot], entry.shows, "", width=WIDTH, height=HEIGHT, scale=PRINT_SCALE)
    figure = add_legend(figure, [(colour, name) for name, colour in colours.items()])
    return add_caption(figure, caption)


def _is_seen(point: Point, logs: tuple[bool, bool]) -> bool:
    values = (point.x, point.y)
    return all(
        math.isfinite(value) and (value > 0 or not is_log)
        for value, is_log in zip(values, logs, strict=True)
    )


def _ends(values: Sequence[float], *, is_log: bool) -> tuple[float, float]:
    """Return the limits of an axis, including 0 unless it is logarithmic."""
    array = np.array(values, float)
    if not is_log or not len(array):
        low, high = padded_ends(np.append(array, 0.0))
        return max(low, 0.0), high
    low, high = padded_ends(np.log10(array))
    return 10.0**low, 10.0**high


def colours_of(points: Sequence[Point]) -> dict[str, str]:
    """Return the colour of each series: greys for values printed in the paper."""
    found: dict[str, str] = {}
    for is_printed, colours in ((False, COLOURS), (True, GREYS)):
        own = dict.fromkeys(p.series for p in points if bool(p.source) is is_printed)
        found |= {name: colours[n % len(colours)] for n, name in enumerate(own)}
    return found


def draw_bars(entry: PaperFigure, measured: Measured, caption: str) -> TrackFigure:
    """Return a labelled bar for each point, grouped by case."""
    scale = PRINT_SCALE
    points = sorted(
        (p for p in measured.points if _is_seen(p, (False, entry.logs[1]))), key=lambda p: p.x
    )
    colours = colours_of(points)
    low, high = _ends([point.y for point in points], is_log=entry.logs[1])
    change: Callable[[float], float] = math.log10 if entry.logs[1] else float
    size = NORMAL * scale
    parts: list[Part] = [
        Text(EDGE * scale, 22 * scale, entry.shows, 14 * scale, LIGHT.ink),
        Text(BAR_LEFT * scale, 44 * scale, entry.labels[1], size, LIGHT.faint),
    ]
    y, last = 52.0 * scale, None
    for point in points:
        if point.case != last:
            y += 8 * scale
            name = clip_text(point.case, size, (BAR_LEFT - 2 * EDGE) * scale)
            parts.append(Text(EDGE * scale, y + 14 * scale, name, size, LIGHT.ink))
            last = point.case
        share = (change(point.y) - change(low)) / ((change(high) - change(low)) or 1.0)
        width = max((BAR_RIGHT - BAR_LEFT) * share, 1.0) * scale
        parts += [
            Box(BAR_LEFT * scale, y + 3 * scale, width, 14 * scale, colours[point.series]),
            Text(
                BAR_LEFT * scale + width + 6 * scale, y + 14 * scale,
                f"{point.y:,.4g}", size, LIGHT.ink,
            ),
        ]  # fmt: skip
        y += BAR_ROW * scale
    figure = TrackFigure(
        round(WIDTH * scale), math.ceil(y + 10 * scale), scale, entry.shows, "", LIGHT.ground,
        LIGHT.ink, (), tuple(parts),
    )  # fmt: skip
    figure = add_legend(figure, [(colour, name) for name, colour in colours.items()])
    return add_caption(figure, caption)


def draw_layouts(entry: PaperFigure, measured: Measured, caption: str) -> TrackFigure:
    """Return curves through the points, with a row of layouts below."""
    figure = draw_lines(entry, measured, "")
    scale, parts = figure.scale, list(figure.parts)
    side = figure.width / max(len(measured.layouts), 1)
    top = figure.height + 20 * scale
    for number, (words, layout) in enumerate(measured.layouts):
        left = number * side + EDGE * scale
        room = side - 2 * EDGE * scale
        size = 10.0 * scale
        parts.append(Text(left, top, clip_text(words, size, room), size, LIGHT.ink))
        parts += _nodes(layout.coordinates, left, top + 12 * scale, room, scale)
    below = math.ceil(top + side / 2 + 12 * scale)
    return add_caption(replace(figure, parts=tuple(parts), height=below), caption)


def _nodes(ends: np.ndarray, left: float, top: float, room: float, scale: float) -> list[Line]:
    """Return the nodes of a layout as lines in a 2:1 box; a sample if there are many."""
    ends = ends[:: -(-len(ends) // N_NODES_DRAWN)]
    low, high = ends.min(axis=(0, 1)), ends.max(axis=(0, 1))
    size = max(float(high[0] - low[0]), 2 * float(high[1] - low[1]), 1e-9)
    middle = np.array([left + room / 2, top + room / 4])
    places = middle + room * (ends - (low + high) / 2) / size
    # A node of zero length is drawn as a dot.
    places[:, 1, 0] = np.where(
        np.hypot(*(places[:, 1] - places[:, 0]).T) < scale,
        places[:, 0, 0] + scale,
        places[:, 1, 0],
    )
    return [
        Line(x0, y0, x1, y1, scale, COLOURS[0])
        for x0, y0, x1, y1 in places.reshape(-1, 4).round(1).tolist()
    ]


def add_caption(figure: TrackFigure, caption: str) -> TrackFigure:
    """Return a figure with its caption below, wrapped; widened if its title needs it."""
    scale = figure.scale
    title = SAFETY * text_width(figure.title, 14 * scale)
    width = max(figure.width, math.ceil(title + 2 * EDGE * scale))
    right = width - EDGE * scale
    parts, height = caption_parts(caption, figure.height, right, scale, LIGHT)
    return replace(
        figure, width=width, height=math.ceil(height), caption=caption,
        parts=(*figure.parts, *parts),
    )  # fmt: skip
