"""Figures as PNG, drawn by Pillow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.figures.graph import Figure
from genoviz.analyses.figures.parts import Box, Line, Part, Ramp, Text, font_of
from genoviz.analyses.graph.picture.palettes import Palette, parse_colour
from genoviz.model.columns import distinct

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

MAX_LINE_PIXELS = 1 << 26
MARK_WIDTH = 1.7
EDGE_WIDTH = 1.0
N_POINTS = 24


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    from PIL import ImageDraw
    from PIL.PngImagePlugin import PngInfo

    image = _canvas(figure)
    image.alpha_composite(plot_image(figure), (0, figure.top))
    if not figure.is_transparent:
        image = image.convert("RGB")
    pen = ImageDraw.Draw(image)
    for part in figure.parts:
        draw_part(pen, part)
    facts = PngInfo()
    if figure.title:
        facts.add_text("Title", figure.title)
    facts.add_text("Software", "genoviz")
    target = io.BytesIO()
    image.save(target, "PNG", dpi=(figure.dpi, figure.dpi), pnginfo=facts)
    return target.getvalue()


def _canvas(figure: Figure) -> Image.Image:
    from PIL import Image

    ground = (*parse_colour(figure.colouring.theme.ground), 0 if figure.is_transparent else 255)
    return Image.new("RGBA", (figure.width, figure.height), ground)


def plot_image(figure: Figure) -> Image.Image:
    """Return the part of a figure with the graph, RGBA."""
    return _pixels(figure) if figure.lines is None else _lines(figure)


def _pixels(figure: Figure) -> Image.Image:
    from PIL import Image

    colours = colour_table(figure.palette, is_transparent=figure.is_transparent)
    indices = figure.picture.indices[::-1]
    factor = figure.picture.viewport.width // figure.view.width
    if factor == 1:
        return Image.fromarray(colours[indices])
    shape = (figure.view.height, factor, figure.view.width, factor)
    sums = np.zeros((figure.view.height, figure.view.width, 4), np.uint16)
    parts = indices.reshape(shape)
    # Colours of pixels without a node have no weight; so edges do not get the ground's colour.
    weighted = colours * (colours[:, 3:] > 0)
    for row in range(factor):
        for column in range(factor):
            sums += weighted[parts[:, row, :, column]]
    n_seen = np.maximum(sums[..., 3:] // 255, 1)
    rgb = sums[..., :3] // n_seen
    alpha = sums[..., 3:] // factor**2
    return Image.fromarray(np.concatenate([rgb, alpha], axis=2).astype(np.uint8))


def colour_table(palette: Palette, *, is_transparent: bool) -> np.ndarray:
    """Return the colours of palette indices; uint8, shape (256, 4): red, green, blue, alpha."""
    table = np.array([(*parse_colour(colour), 255) for colour in palette], np.uint8)
    if is_transparent:
        table[0] = 0
    return table


def _lines(figure: Figure) -> Image.Image:
    """Return nodes and edges as lines, drawn larger and then reduced."""
    from PIL import Image, ImageDraw

    view, lines = figure.view, figure.lines
    n_pixels = view.width * view.height
    factor = next((f for f in (3, 2) if n_pixels * f * f <= MAX_LINE_PIXELS), 1)
    ground = (*parse_colour(figure.colouring.theme.ground), 0 if figure.is_transparent else 255)
    image = Image.new("RGBA", (view.width * factor, view.height * factor), ground)
    pen = ImageDraw.Draw(image)

    def place(points: np.ndarray) -> np.ndarray:
        return (points - (0.0, figure.top)) * factor

    edge_width = max(1, round(EDGE_WIDTH * figure.scale * factor))
    for points in place(curve_points(lines.curves)):
        pen.line(points.ravel().tolist(), figure.colouring.theme.faint, edge_width, joint="curve")
    for colour, ends, width in strokes(figure):
        for line in place(ends):
            _round_line(pen, line, colour, max(1.0, width * factor))
    return image.reduce(factor) if factor > 1 else image


def strokes(figure: Figure) -> list[tuple[str, np.ndarray, float]]:
    """Return the lines of nodes by colour, marks last: colour, ends and width."""
    lines, palette = figure.lines, figure.palette
    groups = []
    for index in distinct(lines.colours).tolist():
        if index > 0:
            groups.append((palette[index], lines.ends[lines.colours == index], lines.width))
    for mark in figure.marks:
        ends = lines.ends[np.isin(lines.nodes, mark.nodes)]
        groups.append((mark.colour, ends, lines.width * MARK_WIDTH))
    return groups


def _round_line(pen: ImageDraw.ImageDraw, ends: np.ndarray, colour: str, width: float) -> None:
    (x0, y0), (x1, y1) = ends.tolist()
    pen.line((x0, y0, x1, y1), colour, round(width))
    radius = width / 2
    if radius >= 1:
        for x, y in ((x0, y0), (x1, y1)):
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def draw_part(pen: ImageDraw.ImageDraw, part: Part) -> None:
    """Draw a box, a line, a ramp or a text."""
    if isinstance(part, Box):
        pen.rectangle((part.x, part.y, part.x + part.width, part.y + part.height), part.colour)
    elif isinstance(part, Line):
        width = max(1, round(part.width))
        pen.line((part.x0, part.y0, part.x1, part.y1), part.colour, width)
    elif isinstance(part, Ramp):
        _draw_ramp(pen, part)
    elif isinstance(part, Text):
        more: dict[str, Any] = {}
        if part.halo:
            more = {"stroke_width": max(1, round(part.size / 8)), "stroke_fill": part.halo}
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[part.anchor]
        font = font_of(part.text, part.size)
        pen.text((part.x, part.y), part.text, part.colour, font, anchor, **more)


def _draw_ramp(pen: ImageDraw.ImageDraw, ramp: Ramp) -> None:
    left, right = round(ramp.x), round(ramp.x + ramp.width)
    for x in range(left, right):
        index = int((x - left) / max(right - left - 1, 1) * (len(ramp.colours) - 1) + 0.5)
        pen.line((x, ramp.y, x, ramp.y + ramp.height), ramp.colours[index])


def curve_points(curves: np.ndarray) -> np.ndarray:
    """Return points along cubic Bezier curves.

    Parameters
    ----------
    curves
        float64, shape (n, 4, 2): control points.

    Returns
    -------
    numpy.ndarray
        float64, shape (n, `N_POINTS`, 2).
    """
    t = np.linspace(0.0, 1.0, N_POINTS)[:, None]
    weights = np.concatenate([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3], axis=1)
    return np.einsum("pc,ncd->npd", weights, curves)
