"""Principal components and relationship matrices on white, for files: PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from genoviz.analyses.figures.areas import Polygon
from genoviz.analyses.figures.parts import Text, text_width
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz_app.plots.printed_plots import PrintedPlot, print_plots
from genoviz_app.plots.samples import padded_ends

WIDTH, HEIGHT, SCALE = 760, 640, 2.0
LEGEND_TOP, LEGEND_STEP, LEGEND_SIZE = 60, 17, 11.0
LEFT, TOP, SIZE = 90.0, 50.0, 540.0
N_RAMP = 32


def print_components(
    x: np.ndarray,
    y: np.ndarray,
    shades: np.ndarray,
    colours: Sequence[str],
    names: Sequence[str],
    labels: tuple[str, str],
    title: str,
    caption: str,
) -> TrackFigure:
    """Return a scatter with a legend at its right.

    Parameters
    ----------
    x, y
        float64, shape (n,).
    shades
        uint8, shape (n,): which colour each point has.
    colours, names
        The colours, and what they mean; "" for none.
    labels
        Of the axes.
    title, caption
        What stands above and below.
    """
    plot = PrintedPlot(x, y, shades, padded_ends(x), padded_ends(y), labels, colours=tuple(colours))
    figure = print_plots([plot], title, caption, width=WIDTH, height=HEIGHT, scale=SCALE)
    legend = [(colour, name) for colour, name in zip(colours, names, strict=True) if name]
    return add_legend(figure, legend)


def add_legend(figure: TrackFigure, legend: Sequence[tuple[str, str]]) -> TrackFigure:
    """Return a figure with names of colours at its right, wider by them."""
    if not legend:
        return figure
    size = LEGEND_SIZE * SCALE
    left, areas, parts = float(figure.width), [], []
    for row, (colour, name) in enumerate(legend):
        y = (LEGEND_TOP + LEGEND_STEP * row) * SCALE
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size * 0.8
        areas.append(Polygon(corners + np.array([left, y - size * 0.8]), colour, 1.0))
        parts.append(Text(left + 1.3 * size, y, name, size, LIGHT.ink))
    width = max(text_width(name, size) for _, name in legend) + 2.5 * size
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
    size = 10.0 * SCALE
    parts = [
        Text(LEFT * SCALE, 26 * SCALE, title, 14 * SCALE, LIGHT.ink),
        Text(LEFT * SCALE, (TOP + SIZE + 16) * SCALE, "1", size, LIGHT.ink, "middle"),
        Text(
            (LEFT + SIZE) * SCALE, (TOP + SIZE + 16) * SCALE, f"{n_samples:,}", size, LIGHT.ink,
            "middle",
        ),
        Text(
            (LEFT + SIZE / 2) * SCALE, (TOP + SIZE + 16) * SCALE,
            "Samples, relatives side by side", size, LIGHT.ink, "middle",
        ),
        Text(LEFT * SCALE, (TOP + SIZE + 38) * SCALE, caption, size, LIGHT.faint),
    ]  # fmt: skip
    figure = TrackFigure(
        round(WIDTH * SCALE), round(HEIGHT * SCALE), SCALE, title, caption, LIGHT.ground,
        LIGHT.ink, tuple(areas), tuple(parts),
    )  # fmt: skip
    picks = np.linspace(N_RAMP - 1, 0, 9).astype(int).tolist()
    legend = [(colours[at], f"{low + (high - low) * at / (N_RAMP - 1):.3f}") for at in picks]
    return add_legend(figure, legend)


def _cell_areas(steps: np.ndarray, colours: Sequence[str]) -> Iterator[Polygon]:
    """Yield rectangles: neighbours of one colour in a row are one."""
    n_rows, n_columns = steps.shape
    height, width = SIZE / n_rows, SIZE / n_columns
    for row in range(n_rows):
        ends = np.flatnonzero(np.diff(steps[row])) + 1
        starts = np.append(0, ends)
        top, bottom = TOP + row * height, TOP + (row + 1) * height
        for start, end in zip(starts.tolist(), [*ends.tolist(), n_columns], strict=True):
            left, right = LEFT + start * width, LEFT + end * width
            corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
            yield Polygon(corners * SCALE, colours[steps[row, start]], 1.0)
