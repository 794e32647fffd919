"""Plots on a white background for files (PNG and SVG): dots and lines, scatter, matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from genoviz.analyses.figures.areas import Polygon
from genoviz.analyses.figures.parts import Line, Part, Text, text_width
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz.analyses.graph.picture.palettes import LIGHT, blend

DOT_COLOURS = ("#1f6fb4", "#8494a8", "#d55e00", "#17202c")
BAND_COLOUR, LINE_COLOUR = "#8494a8", "#b8500c"
LEFT, RIGHT, TOP, BOTTOM, TITLE = 62.0, 18.0, 12.0, 44.0, 34.0
SMALL, NORMAL, LARGE = 10.0, 11.5, 14.0
N_CORNERS = 10
PRINT_WIDTH, PRINT_HEIGHT, PRINT_SCALE = 760, 640, 2.0
LEGEND_TOP, LEGEND_STEP, LEGEND_SIZE = 60, 17, 11.0
MATRIX_LEFT, MATRIX_TOP, MATRIX_SIZE = 90.0, 50.0, 540.0
N_RAMP = 32


@dataclass(frozen=True, eq=False)
class PrintedPlot:
    """A scatter plot with two axes.

    Attributes
    ----------
    x, y
        float64, shape (n,).
    shades
        uint8, shape (n,): colour index of each dot.
    x_ends, y_ends
        Ends of the axes.
    labels
        Labels of the x and the y axis.
    x_names
        Text labels of the x axis by position; None for numbers.
    levels
        Horizontal dashed lines.
    curves
        Lines through points, each float64 of shape (2, n); with their colours, if not all the same.
    logs
        Whether the x and the y axis are logarithmic.
    band
        x, low and high of a shaded band; None for none.
    share
        Width of the plot relative to others.
    colours
        Colours of the dots.
    """

    x: np.ndarray
    y: np.ndarray
    shades: np.ndarray
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    labels: tuple[str, str]
    x_names: dict[float, str] | None = None
    levels: tuple[float, ...] = ()
    curves: Sequence[np.ndarray] = field(default=())
    curve_colours: Sequence[str] = ()
    logs: tuple[bool, bool] = (False, False)
    band: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    share: float = 1.0
    colours: Sequence[str] = DOT_COLOURS


def print_plots(
    plots: Sequence[PrintedPlot],
    title: str,
    caption: str,
    *,
    width: int = 1200,
    height: int = 380,
    scale: float = 2.0,
) -> TrackFigure:
    """Return plots side by side as a figure that `track_figure_bytes` writes.

    Parameters
    ----------
    plots
        At least one.
    title, caption
        Texts above and below, one line each.
    width, height
        Size of the figure in pixels at 96 per inch.
    scale
        Output pixels per figure pixel; 2 for sharp prints.
    """
    areas: list[Polygon] = []
    parts: list[Part] = [Text(LEFT * scale, 22 * scale, title, LARGE * scale, LIGHT.ink)]
    left, total = 0.0, sum(plot.share for plot in plots)
    for plot in plots:
        room = width * plot.share / total
        box = _Box(plot, left, TITLE, room, height - TITLE - 24, scale)
        areas += box.areas()
        parts += box.parts()
        left += room
    parts.append(Text(LEFT * scale, (height - 9) * scale, caption, SMALL * scale, LIGHT.faint))
    return TrackFigure(
        round(width * scale), round(height * scale), scale, title, caption, LIGHT.ground,
        LIGHT.ink, tuple(areas), tuple(parts),
    )  # fmt: skip


class _Box:
    """One plot and its position, in pixels of the figure."""

    def __init__(
        self, plot: PrintedPlot, x: float, y: float, width: float, height: float, scale: float
    ) -> None:
        self.plot, self.scale = plot, scale
        self.left, self.right = (x + LEFT) * scale, (x + width - RIGHT) * scale
        self.top, self.bottom = (y + TOP) * scale, (y + height - BOTTOM) * scale

    def to_x(self, values: np.ndarray | float) -> np.ndarray:
        share = _share(values, self.plot.x_ends, self.plot.logs[0])
        return self.left + share * (self.right - self.left)

    def to_y(self, values: np.ndarray | float) -> np.ndarray:
        share = _share(values, self.plot.y_ends, self.plot.logs[1])
        return self.bottom - share * (self.bottom - self.top)

    def areas(self) -> list[Polygon]:
        """Return the band and the dots, as polygons."""
        plot, found = self.plot, []
        if plot.band is not None and len(plot.band[0]):
            x, low, high = plot.band
            xs, ys = np.append(x, x[::-1]), np.append(low, high[::-1])
            points = np.column_stack([self.to_x(xs), self.to_y(ys)])
            found.append(Polygon(points, BAND_COLOUR, 0.25))
        angles = np.arange(N_CORNERS) * 2 * math.pi / N_CORNERS
        corners = 2.1 * self.scale * np.column_stack([np.cos(angles), np.sin(angles)])
        middles = np.column_stack([self.to_x(plot.x), self.to_y(plot.y)])
        for middle, shade in zip(middles, plot.shades.tolist(), strict=True):
            found.append(Polygon(middle + corners, plot.colours[shade], 0.85))
        return found

    def parts(self) -> list[Part]:
        """Return axes, ticks, labels and lines."""
        plot, scale = self.plot, self.scale
        found: list[Part] = [
            Line(self.left, self.bottom, self.right, self.bottom, scale, LIGHT.faint),
            Line(self.left, self.top, self.left, self.bottom, scale, LIGHT.faint),
        ]
        for level in plot.levels:
            if plot.y_ends[0] < level < plot.y_ends[1]:
                found += self._dashes(float(self.to_y(level)))
        for number, curve in enumerate(plot.curves):
            xs, ys = self.to_x(curve[0]).tolist(), self.to_y(curve[1]).tolist()
            colour = plot.curve_colours[number] if plot.curve_colours else LINE_COLOUR
            found += [
                Line(xs[i], ys[i], xs[i + 1], ys[i + 1], 1.5 * scale, colour)
                for i in range(len(xs) - 1)
            ]
        return [*found, *self._x_axis(), *self._y_axis()]

    def _dashes(self, y: float) -> list[Part]:
        step = 7 * self.scale
        starts = np.arange(self.left, self.right, 1.7 * step)
        return [
            Line(x, y, min(x + step, self.right), y, self.scale, LINE_COLOUR)
            for x in starts.tolist()
        ]

    def _x_axis(self) -> list[Part]:
        plot, size = self.plot, SMALL * self.scale
        names = plot.x_names
        if names is None:
            ticks = _ticks(plot.x_ends, plot.logs[0])
            if not (plot.x % 1).any():  # as numbers of threads
                ticks = [tick for tick in ticks if tick == round(tick)] or ticks
            names = {tick: f"{tick:,.10g}" for tick in ticks}
        found: list[Part] = []
        free = -math.inf
        for place, name in sorted(names.items()):
            x, half = float(self.to_x(place)), text_width(name, size) / 2
            if x - half > free:
                found.append(Text(x, self.bottom + 1.5 * size, name, size, LIGHT.ink, "middle"))
                free = x + half + 4 * self.scale
        middle = (self.left + self.right) / 2
        size = NORMAL * self.scale
        y = self.bottom + 34 * self.scale
        return [*found, Text(middle, y, plot.labels[0], size, LIGHT.ink, "middle")]

    def _y_axis(self) -> list[Part]:
        plot, size, scale = self.plot, SMALL * self.scale, self.scale
        found: list[Part] = []
        for tick in _ticks(plot.y_ends, plot.logs[1]):
            y = float(self.to_y(tick))
            found.append(Line(self.left - 4 * scale, y, self.left, y, scale, LIGHT.faint))
            found.append(
                Text(self.left - 7 * scale, y + size / 3, f"{tick:,.6g}", size, LIGHT.ink, "end")
            )
        y = self.top - 3 * scale
        label = Text(self.left - 50 * scale, y, plot.labels[1], NORMAL * scale, LIGHT.ink)
        return [*found, label]


def padded_ends(values: np.ndarray) -> tuple[float, float]:
    """Return axis ends with some padding around values.

    Examples
    --------
    >>> padded_ends(np.array([0.0, 1.0]))
    (-0.05, 1.05)
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _share(values: np.ndarray | float, ends: tuple[float, float], is_log: bool) -> np.ndarray:
    """Return the positions of values on an axis, from 0 to 1."""
    change = np.log10 if is_log else np.asarray
    low, high = (float(change(end)) for end in ends)
    return (change(np.asarray(values, float)) - low) / ((high - low) or 1.0)


def _ticks(ends: tuple[float, float], is_log: bool) -> list[float]:
    """Return round tick values between two ends; powers of ten for a wide range."""
    if not is_log:
        return round_ticks(*ends, 6)
    low, high = math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1]))
    factors = (1, 2, 5) if high - low < 4 else (1,)
    powers = range(low, high + 1, max(-(-(high - low) // 7), 1))
    ticks = [factor * 10.0**power for power in powers for factor in factors]
    found = [tick for tick in ticks if ends[0] <= tick <= ends[1]]
    return found if len(found) > 2 else round_ticks(*ends, 5)  # for less than a decade


def round_ticks(low: float, high: float, n_wanted: int) -> list[float]:
    """Return about ``n_wanted`` round numbers between two values.

    Examples
    --------
    >>> round_ticks(0, 8.4, 5), round_ticks(-0.03, 0.05, 4)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [-0.02, 0.0, 0.02, 0.04])
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(n_wanted, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) + 0.0 for number in range(first, last + 1)]


def add_legend(figure: TrackFigure, legend: Sequence[tuple[str, str]]) -> TrackFigure:
    """Return a figure extended to the right by a legend of colours."""
    if not legend:
        return figure
    size = LEGEND_SIZE * PRINT_SCALE
    left, areas, parts = float(figure.width), [], []
    for row, (colour, name) in enumerate(legend):
        y = (LEGEND_TOP + LEGEND_STEP * row) * PRINT_SCALE
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size * 0.8
        areas.append(Polygon(corners + np.array([left, y - size * 0.8]), colour, 1.0))
        parts.append(Text(left + 1.3 * size, y, name, size, LIGHT.ink))
    # The fonts of a viewer of vector files may be wider than the one measured here.
    width = 1.2 * max(text_width(name, size) for _, name in legend) + 2.5 * size
    return replace(
        figure,
        width=round(left + width),
        areas=(*figure.areas, *areas),
        parts=(*figure.parts, *parts),
    )


def print_matrix(
    cells: np.ndarray, ends: tuple[float, float], n_samples: int, title: str, caption: str
) -> TrackFigure:
    """Return a heat map with a ramp of its colours at its right.

    Parameters
    ----------
    cells
        float32, shape (rows, columns): means of bins of samples.
    ends
        Values of the first and the last colour.
    n_samples
        How many samples each side has.
    title, caption
        What stands above and below.
    """
    stops = LIGHT.ramps["density"]
    low, high = ends
    shares = np.clip((np.nan_to_num(cells) - low) / ((high - low) or 1.0), 0, 1)
    steps = np.round(shares * (N_RAMP - 1)).astype(int)
    colours = [blend(("#ffffff", *stops), step / (N_RAMP - 1)) for step in range(N_RAMP)]
    areas = list(_cell_areas(steps, colours))
    size, scale = 10.0 * PRINT_SCALE, PRINT_SCALE
    left, right = MATRIX_LEFT * scale, (MATRIX_LEFT + MATRIX_SIZE) * scale
    below = (MATRIX_TOP + MATRIX_SIZE + 16) * scale
    words = "Samples, relatives side by side"
    parts = (
        Text(left, 26 * scale, title, 14 * scale, LIGHT.ink),
        Text(left, below, "1", size, LIGHT.ink, "middle"),
        Text(right, below, f"{n_samples:,}", size, LIGHT.ink, "middle"),
        Text((left + right) / 2, below, words, size, LIGHT.ink, "middle"),
        Text(left, below + 22 * scale, caption, size, LIGHT.faint),
    )
    figure = TrackFigure(
        round(PRINT_WIDTH * scale), round(PRINT_HEIGHT * scale), scale, title, caption,
        LIGHT.ground, LIGHT.ink, tuple(areas), parts,
    )  # fmt: skip
    picks = np.linspace(N_RAMP - 1, 0, 9).astype(int).tolist()
    legend = [(colours[at], f"{low + (high - low) * at / (N_RAMP - 1):.3f}") for at in picks]
    return add_legend(figure, legend)


def _cell_areas(steps: np.ndarray, colours: Sequence[str]) -> Iterator[Polygon]:
    """Yield rectangles: neighbours of one colour in a row are one."""
    n_rows, n_columns = steps.shape
    height, width = MATRIX_SIZE / n_rows, MATRIX_SIZE / n_columns
    for row in range(n_rows):
        ends = np.flatnonzero(np.diff(steps[row])) + 1
        starts = np.append(0, ends)
        top, bottom = MATRIX_TOP + row * height, MATRIX_TOP + (row + 1) * height
        for start, end in zip(starts.tolist(), [*ends.tolist(), n_columns], strict=True):
            left, right = MATRIX_LEFT + start * width, MATRIX_LEFT + end * width
            corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
            yield Polygon(corners * PRINT_SCALE, colours[steps[row, start]], 1.0)
