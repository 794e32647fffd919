"""Figures of paths along the nodes of a graph, and of pairwise path similarity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.figures.parts import Part, Pixels, Ramp, Text, clip_text
from genoviz.analyses.figures.tracks import (
    EDGE,
    GAP,
    NAMES,
    SMALL_SIZE,
    TEXT_SIZE,
    TrackFigure,
    caption_parts,
    check_width,
    head_parts,
)
from genoviz.analyses.graph.picture.legend import short_number
from genoviz.analyses.graph.picture.palettes import LIGHT, Theme, blend, parse_colour
from genoviz.analyses.graph.query.path_groups import GROUPINGS
from genoviz.analyses.graph.query.path_rows import PathRows
from genoviz.errors import ParameterError

MAX_HEIGHT = 30_000
MAX_ROW, NAMED_ROW = 14.0, 7.0
FAINTEST = 0.25
RAMP_WIDTH, RAMP_HEIGHT = 200.0, 9.0
N_SHADES = 256
_Key = tuple[tuple[str, ...], str, str, str]
"""A colour ramp, its title, and the labels of its ends."""

SHADES = ("presence", "depth", "strand", "position")
"""Quantities that the cells of a path figure can show."""


def make_path_figure(
    rows: PathRows,
    *,
    shade: str = "presence",
    title: str = "",
    caption: str = "",
    width: int = 1200,
    row_height: float | None = None,
    scale: float = 2.0,
    theme: Theme = LIGHT,
) -> TrackFigure:
    """Return a figure of paths or groups in rows along the nodes of a graph.

    Parameters
    ----------
    shade
        ``"presence"``: each row has its own colour, fainter where less of a bin is visited;
        ``"depth"``: mean number of visits of a base; ``"strand"``: reverse or forward;
        ``"position"``: position on the path, from its first base to its last.
    width
        Pixels at 96 per inch.
    row_height
        Pixels at 96 per inch; by default 14 for few rows, less for many. Rows below 7 have no
        names.
    scale
        Figure pixels per screen pixel; 2 for sharp prints.

    Raises
    ------
    ParameterError
        If the shade is unknown, or the figure is too wide, too narrow or too high.
    """
    check_width(width)
    if shade not in SHADES:
        raise ParameterError(f"the cells show {shade!r}, need one of {', '.join(SHADES)}")
    n_rows = len(rows.groups.names)
    if row_height is None:
        row_height = min(max(1200 / n_rows, 1.0), MAX_ROW)
    if not 0 < row_height * n_rows * scale <= MAX_HEIGHT:
        raise ParameterError(
            f"{n_rows:,} rows of {row_height:g} pixels at {scale:g} times their size are higher "
            f"than {MAX_HEIGHT:,} pixels; make the rows lower"
        )
    left, right = NAMES * scale, (width - EDGE) * scale
    stretch = int(rows.bounds[0]), int(rows.bounds[-1])

    def to_x(positions: np.ndarray) -> np.ndarray:
        shares = (np.asarray(positions, float) - stretch[0]) / (stretch[1] - stretch[0])
        return left + shares * (right - left)

    plural = GROUPINGS[rows.groups.by]
    title = title or f"{n_rows:,} {plural} along {stretch[1] - stretch[0]:,} bp of nodes"
    parts, top = head_parts(title, (left, right), stretch, to_x, scale, theme)
    height = row_height * n_rows * scale
    parts += _names(rows.groups.names, top, row_height * scale, scale, theme)
    cells, legend, words = _shade(rows, shade, theme)
    bottom = top + height + 10 * scale
    parts += _ramp_parts(legend, left, bottom, scale, theme)
    if legend:
        bottom += 32 * scale
    below, end = caption_parts(f"{words} {caption}".strip(), bottom, right, scale, theme)
    return TrackFigure(
        round(width * scale),
        math.ceil(end),
        scale,
        title,
        f"{words} {caption}".strip(),
        theme.ground,
        theme.ink,
        (),
        (*parts, *below),
        Pixels(left, top, right - left, height, cells),
    )


def make_similarity_figure(
    names: Sequence[str],
    values: np.ndarray,
    *,
    ends: tuple[float, float] | None = None,
    title: str = "",
    size: int = 640,
    scale: float = 2.0,
    theme: Theme = LIGHT,
) -> TrackFigure:
    """Return a heat map of pairwise similarity of paths or groups, the first row on top.

    Parameters
    ----------
    names
        Names of the rows and columns.
    values
        float64, shape (n, n); NaN if a pair cannot be compared.
    ends
        Values of the first and the last colour; by default the minimum and the maximum.
    size
        Size of the matrix in pixels at 96 per inch.
    scale, theme
        As for `make_path_figure`.

    Raises
    ------
    ParameterError
        If there is nothing to draw, or the shape does not match the names.
    """
    n = len(names)
    if not n or values.shape != (n, n):
        raise ParameterError(f"{n:,} names need a matrix of as many rows, it is {values.shape}")
    known = values[~np.isnan(values)]
    if ends is None:
        ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    low, high = ends
    stops = theme.ramps["density"]
    colours = tuple(blend(stops, k / (N_SHADES - 1)) for k in range(N_SHADES))
    table = np.array([parse_colour(each) for each in (*colours, theme.ground)], np.uint8)
    levels = np.clip(np.nan_to_num((values - low) / ((high - low) or 1.0)), 0, 1) * (N_SHADES - 1)
    cells = table[np.where(np.isnan(values), N_SHADES, np.round(levels)).astype(np.int64)]
    left, top, side = NAMES * scale, 44 * scale, size * scale
    parts: list[Part] = [Text(left, 26 * scale, title, 1.2 * TEXT_SIZE * scale, theme.ink)]
    parts += _names(names, top, side / n, scale, theme)
    key = colours, "Jaccard, similar ones side by side", f"{low:.3g}", f"{high:.3g}"
    parts += _ramp_parts(key, left, top + side + 12 * scale, scale, theme)
    return TrackFigure(
        round(left + side + EDGE * scale), math.ceil(top + side + 46 * scale), scale, title, "",
        theme.ground, theme.ink, (), tuple(parts), Pixels(left, top, side, side, cells),
    )  # fmt: skip


def _names(
    names: Sequence[str], top: float, row_height: float, scale: float, theme: Theme
) -> list[Part]:
    if row_height < NAMED_ROW * scale:
        return []
    size = min(SMALL_SIZE * scale, row_height)
    x = (NAMES - GAP) * scale
    return [
        Text(
            x,
            top + (number + 0.5) * row_height + 0.36 * size,
            clip_text(name, size, x - EDGE * scale),
            size,
            theme.ink,
            "end",
        )
        for number, name in enumerate(names)
    ]


@dataclass(frozen=True, eq=False)
class ShadedCells:
    """Cells as indices into a colour palette.

    Attributes
    ----------
    indices
        uint8, shape (n_rows, n_bins): 0 where a row does not visit the bin.
    colours
        The palette, ``#rrggbb``; index 0 is the background.
    stops, words
        Colours from low to high, and the labels of the scale and its ends; both empty if each row
        has its own colour.
    """

    indices: np.ndarray
    colours: tuple[str, ...]
    stops: tuple[str, ...] = ()
    words: tuple[str, str, str] | tuple[()] = ()


def shade_cells(rows: PathRows, shade: str, theme: Theme) -> ShadedCells:
    """Return the cells of rows in at most 256 colours; for shades see `make_path_figure`."""
    is_there = rows.present > 0
    if shade == "presence":
        n = (N_SHADES - 1) // theme.n_colours
        own = [theme.colour(k) for k in range(theme.n_colours)]
        shares = [FAINTEST + (1 - FAINTEST) * k / (n - 1) for k in range(n)]
        colours = [blend((theme.ground, each), share) for each in own for share in shares]
        rank = np.arange(len(is_there)) % theme.n_colours
        levels = rank[:, None] * n + np.round(rows.present * (n - 1))
        words = stops = ()
    else:
        values, stops, words, _ = _values(rows, shade, theme)
        colours = [blend(stops, k / (N_SHADES - 2)) for k in range(N_SHADES - 1)]
        levels = np.round(np.nan_to_num(values) * (N_SHADES - 2))
    indices = np.where(is_there, 1 + levels, 0).astype(np.uint8)
    return ShadedCells(indices, (theme.ground, *colours), tuple(stops), words)


def _values(
    rows: PathRows, shade: str, theme: Theme
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, str, str], str]:
    """Return cell values from 0 to 1, their ramp with title and end labels, and the caption."""
    if shade == "depth":
        visits = rows.depths / np.where(rows.present > 0, rows.present, 1)
        high = max(float(visits.max(initial=0)), 2.0)
        values = np.log(np.maximum(visits, 1)) / math.log(high)
        title = "Visits of a visited base (logarithmic)"
        words = "How often a row visits a base that it has, on average of a cell."
        return values, theme.ramps["depth"], (title, "1", short_number(high)), words
    if shade == "strand":
        words = "Which share of a row's visits of a cell is reverse."
        return rows.reverse, theme.ramps["share"], ("Reverse visits (%)", "0", "100"), words
    words = "Where a row's visits of a cell are along its paths, on average."
    ramp = "Place along the path", "first base", "last"
    return rows.places, theme.ramps["position"], ramp, words


def _shade(rows: PathRows, shade: str, theme: Theme) -> tuple[np.ndarray, _Key | None, str]:
    """Return the cell colours, their ramp, and the caption."""
    is_there = rows.present > 0
    if shade == "presence":
        colours = np.array([parse_colour(theme.colour(k)) for k in range(len(is_there))])
        share = np.where(is_there, FAINTEST + (1 - FAINTEST) * rows.present, 0)[..., None]
        ground = np.array(parse_colour(theme.ground))
        cells = np.round(ground + (colours[:, None] - ground) * share)
        words = "A cell is the fainter, the fewer of its bases the row visits."
        return cells.astype(np.uint8), None, words
    values, stops, ramp, words = _values(rows, shade, theme)
    colours = tuple(blend(stops, k / (N_SHADES - 1)) for k in range(N_SHADES))
    table = np.array([parse_colour(each) for each in (*colours, theme.ground)], np.uint8)
    shades = np.where(is_there, np.nan_to_num(values) * (N_SHADES - 1), N_SHADES)
    return table[np.round(shades).astype(np.int64)], (colours, *ramp), words


def _ramp_parts(
    ramp: _Key | None,
    left: float,
    top: float,
    scale: float,
    theme: Theme,
) -> list[Part]:
    if ramp is None:
        return []
    colours, title, low, high = ramp
    size, width, y = TEXT_SIZE * scale, RAMP_WIDTH * scale, top + 12 * scale
    right = left + width
    return [
        Ramp(left, top, width, RAMP_HEIGHT * scale, colours),
        Text(right + 12 * scale, y - 3 * scale, title, size, theme.ink),
        Text(left, y + size, low, size, theme.faint),
        Text(right, y + size, high, size, theme.faint, "end"),
    ]
