"""A figure of tracks: what is where on it, in any kind of file; features are boxes in rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.figures.areas import Axis, Polygon, curve_areas
from genoviz.analyses.figures.panels import FeaturePanel, Panel, ValuePanel
from genoviz.analyses.figures.parts import (
    SAFETY,
    Box,
    Line,
    Part,
    Pixels,
    Text,
    clip_text,
    text_width,
)
from genoviz.analyses.graph.picture.legend import short_number
from genoviz.analyses.graph.picture.palettes import LIGHT, Theme
from genoviz.errors import ParameterError

NAMES, EDGE, INNER = 236.0, 14.0, 5.0
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 14.0, 11.5, 10.0
MIN_WIDTH, MAX_WIDTH = 300, 20_000
TICK_PIXELS = 120
ROW, PLAIN_ROW, BOX, NAME_SIZE, GAP = 23.0, 12.0, 8.0, 10.0, 5.0
MAX_LETTERS = 28
STRANDS = {1: " >", -1: " <", 0: ""}


@dataclass(frozen=True, eq=False)
class TrackFigure:
    """A figure, ready to be written.

    Attributes
    ----------
    width, height
        Pixels.
    scale
        Pixels of the figure in one of 96 to the inch.
    title, caption
        What is shown, in a line; and how it was made, in sentences.
    ground, ink
        Colours behind all, and of texts.
    areas
        Filled outlines, drawn first.
    parts
        Boxes, lines and texts.
    pixels
        A picture in pixels, drawn before the parts, or None.
    """

    width: int
    height: int
    scale: float
    title: str
    caption: str
    ground: str
    ink: str
    areas: tuple[Polygon, ...]
    parts: tuple[Part, ...]
    pixels: Pixels | None = None


def make_track_figure(
    panels: Sequence[Panel],
    *,
    contig: str,
    start: int,
    end: int,
    caption: str = "",
    width: int = 1200,
    scale: float = 2.0,
    theme: Theme = LIGHT,
) -> TrackFigure:
    """Return a figure of tracks, one below the other, over a stretch of a contig.

    Parameters
    ----------
    panels
        The tracks, from above.
    contig, start, end
        What is shown; 0-based, half-open, bp.
    caption
        How it was made; stands below.
    width
        Pixels of 96 to the inch.
    scale
        Pixels of the figure in one of the screen; 2 for sharp prints.

    Raises
    ------
    ParameterError
        If there is nothing to draw, or the figure has no room for it.
    """
    if not panels or not start < end:
        raise ParameterError(
            f"{len(panels)} tracks from {start:,} to {end:,}: need a track, and start < end"
        )
    check_width(width)
    left, right = NAMES * scale, (width - EDGE) * scale

    def to_x(positions: np.ndarray) -> np.ndarray:
        return left + (np.asarray(positions, float) - start) / (end - start) * (right - left)

    title = f"{contig}:{start + 1:,}-{end:,} ({end - start:,} bp)"
    areas: list[Polygon] = []
    parts, top = head_parts(title, (left, right), (start, end), to_x, scale, theme)
    for panel in panels:
        bottom = top + panel.height * scale
        note = panel.note
        if isinstance(panel, ValuePanel):
            inner = (top + INNER * scale, bottom - INNER * scale)
            areas += _value_areas(panel, inner, to_x, (start, end))
            if panel.curves:
                parts += _axis_parts(panel, inner, left, scale, theme)
        else:
            found, n_hidden = _features(panel, top, bottom, to_x, (left, right), scale, theme)
            parts += found
            note = f"{n_hidden:,} more than fit" if n_hidden else note
        parts += _names(panel, note, top, bottom, right, scale, theme)
        top = bottom
    below, height = caption_parts(caption, top, right, scale, theme)
    return TrackFigure(
        round(width * scale), math.ceil(height), scale, title, caption, theme.ground, theme.ink,
        tuple(areas), (*parts, *below),
    )  # fmt: skip


def check_width(width: int) -> None:
    """Refuse a figure that is too narrow or too wide to be drawn."""
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ParameterError(f"width is {width}, needs {MIN_WIDTH} to {MAX_WIDTH} pixels")


def head_parts(
    title: str,
    bounds: tuple[float, float],
    stretch: tuple[int, int],
    to_x: Callable[[np.ndarray], np.ndarray],
    scale: float,
    theme: Theme,
) -> tuple[list[Part], float]:
    """Return title and x axis, and where they end."""
    left, right = bounds
    top = 52 * scale
    parts: list[Part] = [
        Text(EDGE * scale, 20 * scale, title, TITLE_SIZE * scale, theme.ink),
        Line(left, top, right, top, scale, theme.faint),
    ]
    free = 0.0
    for position in round_positions(*stretch, (right - left) / scale / TICK_PIXELS):
        x = float(to_x(np.array(position - 0.5)))
        text, size = f"{position:,}", SMALL_SIZE * scale
        half = text_width(text, size) / 2
        parts.append(Line(x, top - 5 * scale, x, top, scale, theme.faint))
        if x - half >= free and x + half <= right + EDGE * scale:
            parts.append(Text(x, top - 9 * scale, text, size, theme.ink, "middle"))
            free = x + half + 8 * scale
    return parts, top + 4 * scale


def round_positions(start: int, end: int, n_wanted: float) -> range:
    """Return round 1-based positions within a 0-based stretch, at most about ``n_wanted``.

    Examples
    --------
    >>> [*round_positions(0, 1000, 5)]
    [200, 400, 600, 800, 1000]
    """
    rough = max((end - start) / max(n_wanted, 1.0), 1.0)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    return range(-(-(start + 1) // step) * step, end + 1, step)


def _value_areas(
    panel: ValuePanel,
    strip: tuple[float, float],
    to_x: Callable[[np.ndarray], np.ndarray],
    stretch: tuple[int, int],
) -> list[Polygon]:
    top, bottom = strip
    is_mirrored = any(curve.is_down for curve in panel.curves)
    middle = (top + bottom) / 2 if is_mirrored else bottom
    areas = []
    for curve in panel.curves:
        ends = (middle, bottom) if curve.is_down else (middle, top)
        axis = Axis(*ends, *panel.scale, panel.is_log)
        areas += curve_areas(curve, axis, to_x, *stretch)
    return areas


def _axis_parts(
    panel: ValuePanel, strip: tuple[float, float], left: float, scale: float, theme: Theme
) -> list[Part]:
    """Return the y axis with the values at its ends."""
    (top, bottom), x, size = strip, left - 4 * scale, SMALL_SIZE * scale
    low, high = panel.scale
    is_mirrored = any(curve.is_down for curve in panel.curves)
    lowest = short_number(high if is_mirrored else low)
    return [
        Line(x, top, x, bottom, scale, theme.faint),
        Text(x - 3 * scale, top + 0.8 * size, short_number(high), size, theme.ink, "end"),
        Text(x - 3 * scale, bottom, lowest, size, theme.ink, "end"),
    ]


def _features(
    panel: FeaturePanel,
    top: float,
    bottom: float,
    to_x: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    scale: float,
    theme: Theme,
) -> tuple[list[Part], int]:
    height = bottom - top - 2 * INNER * scale
    return feature_parts(panel, top + INNER * scale, height, to_x, bounds, scale, theme.ink)


def _names(
    panel: Panel, note: str, top: float, bottom: float, right: float, scale: float, theme: Theme
) -> list[Part]:
    """Return colour, name and words of a track, and the line below it."""
    x, room = (EDGE + 8) * scale, (NAMES - EDGE - 48) * scale
    size, small = TEXT_SIZE * scale, SMALL_SIZE * scale
    parts: list[Part] = [
        Box(EDGE * scale, top + 3 * scale, 3 * scale, bottom - top - 6 * scale, panel.colour),
        Text(x, top + 15 * scale, clip_text(panel.title, size, room), size, theme.ink),
        Line(EDGE * scale, bottom, right, bottom, 0.5 * scale, theme.faint),
    ]
    if note and bottom - top >= 30 * scale:
        parts.append(Text(x, top + 28 * scale, clip_text(note, small, room), small, theme.ink))
    y = top + 41 * scale
    titled = [c for c in getattr(panel, "curves", ()) if c.title]
    for curve in titled if len(titled) > 1 else ():
        if y > bottom - 3 * scale:
            break
        parts.append(Text(x, y, clip_text(curve.title, small, room), small, curve.colour))
        y += 12 * scale
    return parts


def caption_parts(
    caption: str, top: float, right: float, scale: float, theme: Theme
) -> tuple[list[Part], float]:
    """Return the caption in lines, and where the figure ends."""
    size, y, line = TEXT_SIZE * scale, top + 20 * scale, ""
    parts: list[Part] = []
    for word in [*caption.split(), ""]:
        longer = f"{line} {word}".strip()
        if word and SAFETY * text_width(longer, size) <= right - EDGE * scale:
            line = longer
            continue
        if line:
            parts.append(Text(EDGE * scale, y, line, size, theme.ink))
            y += 15 * scale
        line = word
    return parts, y + (0 if parts else -12 * scale)


def feature_parts(
    panel: FeaturePanel,
    top: float,
    height: float,
    to_x: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    scale: float,
    ink: str,
) -> tuple[list[Part], int]:
    """Return what is drawn of features, and how many have no room.

    Parameters
    ----------
    top, height
        The strip, pixels.
    to_x
        Function from bp to pixels.
    bounds
        Left and right end of the plot, pixels.
    """
    left, right = bounds
    starts, ends = to_x(panel.starts), to_x(panel.ends)
    seen = np.flatnonzero((ends >= left) & (starts <= right))
    has_names = len(panel.names) > 0
    row_height = (ROW if has_names else PLAIN_ROW) * scale
    n_rows = max(int(height / row_height), 1)
    box_free, name_free = [-np.inf] * n_rows, [-np.inf] * n_rows
    parts: list[Part] = []
    n_hidden = 0
    for row in seen.tolist():
        x0, x1 = max(float(starts[row]), left), min(float(ends[row]), right)
        x1 = max(x1, x0 + 0.75 * scale)
        label = _label(panel, row)
        size = NAME_SIZE * scale
        name_width = text_width(label, size) if label else 0.0
        free = [k for k in range(n_rows) if box_free[k] <= x0]
        if not free:
            n_hidden += 1
            continue
        named = next((k for k in free if label and name_free[k] <= x0), -1)
        at = named if named >= 0 else free[0]
        box_free[at] = x1 + (GAP if named >= 0 else 1.0) * scale
        y = top + at * row_height
        parts.extend(_boxes(panel, row, y, (x0, x1), to_x, bounds, scale))
        if named >= 0 and x0 + name_width <= right:
            name_free[at] = x0 + name_width + GAP * scale
            parts.append(Text(x0, y + (BOX + 10.5) * scale, label, size, ink))
    return parts, n_hidden


def _label(panel: FeaturePanel, row: int) -> str:
    name = panel.names[row] if len(panel.names) else ""
    if not name or name == ".":
        return ""
    if len(name) > MAX_LETTERS:
        name = name[: MAX_LETTERS - 3] + "..."
    return name + (STRANDS[int(panel.strands[row])] if panel.strands is not None else "")


def _boxes(
    panel: FeaturePanel,
    row: int,
    y: float,
    extent: tuple[float, float],
    to_x: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    scale: float,
) -> list[Part]:
    colour = panel.colours[row] if panel.colours is not None else panel.colour
    blocks = panel.blocks_of(row)
    parts: list[Part] = []
    if len(blocks) > 1:
        middle = y + BOX * scale / 2
        parts.append(Line(extent[0], middle, extent[1], middle, scale, colour))
    lefts, rights = (np.clip(to_x(blocks[:, side]), *bounds) for side in (0, 1))
    for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
        width = max(right - left, 0.75 * scale)
        if right > bounds[0] and left < bounds[1]:
            parts.append(Box(left, y, width, BOX * scale, colour))
    return parts
