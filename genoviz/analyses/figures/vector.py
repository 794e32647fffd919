"""Figures as SVG and as PDF: lines where these are few enough, else pixels within it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from genoviz.analyses.figures.graph import Figure
from genoviz.analyses.figures.parts import Box, Line, Part, Ramp, Text
from genoviz.analyses.figures.png import EDGE_WIDTH, plot_image, strokes

if TYPE_CHECKING:
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas
import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

FONTS = "Inter, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
POINTS_PER_INCH = 72
FONT = "Helvetica"
N_COLOURS_PER_STOP = 8
ROUND_CAP = 1
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_text(text: str) -> str:
    """Return a text as XML has it; letters that XML has no way to write become U+FFFD."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def svg_bytes(figure: Figure) -> bytes:
    """Return a figure as SVG."""
    size = f'width="{figure.width}" height="{figure.height}"'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {figure.width} {figure.height}">',
        f"<title>{escape_text(figure.title or 'Pangenome graph')}</title>",
    ]
    if not figure.is_transparent:
        rows.append(f'<rect {size} fill="{figure.colouring.theme.ground}"/>')
    rows += [
        f'<clipPath id="plot"><rect y="{figure.top}" width="{figure.width}" '
        f'height="{figure.view.height}"/></clipPath>',
        '<g id="graph" clip-path="url(#plot)" fill="none" stroke-linecap="round">',
        *(_lines(figure) if figure.lines is not None else [_image(figure)]),
        "</g>",
        parts_svg(figure.parts),
        "</svg>",
    ]
    return "\n".join(rows).encode()


def _lines(figure: Figure) -> Iterable[str]:
    lines, theme = figure.lines, figure.colouring.theme
    if len(lines.curves):
        data = "".join(
            f"M{x0:g} {y0:g}C{x1:g} {y1:g} {x2:g} {y2:g} {x3:g} {y3:g}"
            for (x0, y0), (x1, y1), (x2, y2), (x3, y3) in np.round(lines.curves, 2).tolist()
        )
        width = EDGE_WIDTH * figure.scale
        yield f'<path id="edges" stroke="{theme.faint}" stroke-width="{width:g}" d="{data}"/>'
    for colour, ends, width in strokes(figure):
        data = "".join(
            f"M{x0:g} {y0:g}L{x1:g} {y1:g}" for (x0, y0), (x1, y1) in np.round(ends, 2).tolist()
        )
        yield f'<path stroke="{colour}" stroke-width="{width:g}" d="{data}"/>'


def _image(figure: Figure) -> str:
    return (
        f'<image y="{figure.top}" width="{figure.width}" height="{figure.view.height}" '
        f'href="{image_address(plot_image(figure))}"/>'
    )


def image_address(image: Image.Image) -> str:
    """Return an address that holds an image, as PNG."""
    target = io.BytesIO()
    image.save(target, "PNG")
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"


def parts_svg(parts: Sequence[Part]) -> str:
    """Return texts, lines, boxes and ramps as SVG elements."""
    rows = [f'<g font-family="{FONTS}">']
    for number, part in enumerate(parts):
        if isinstance(part, Box):
            rows.append(
                f'<rect x="{part.x:.2f}" y="{part.y:.2f}" width="{part.width:.2f}" '
                f'height="{part.height:.2f}" fill="{part.colour}"/>'
            )
        elif isinstance(part, Line):
            rows.append(
                f'<path stroke="{part.colour}" stroke-width="{part.width:.2f}" '
                f'd="M{part.x0:.2f} {part.y0:.2f}L{part.x1:.2f} {part.y1:.2f}"/>'
            )
        elif isinstance(part, Ramp):
            rows.append(
                f'<linearGradient id="ramp{number}">{gradient_stops(part.colours)}'
                f'</linearGradient><rect x="{part.x:.2f}" y="{part.y:.2f}" '
                f'width="{part.width:.2f}" height="{part.height:.2f}" fill="url(#ramp{number})"/>'
            )
        else:
            rows.append(_text(part))
    return "\n".join([*rows, "</g>"])


def _text(text: Text) -> str:
    halo = (
        f' stroke="{text.halo}" stroke-width="{text.size / 4:.1f}" paint-order="stroke" '
        'stroke-linejoin="round"'
        if text.halo
        else ""
    )
    return (
        f'<text x="{text.x:.2f}" y="{text.y:.2f}" font-size="{text.size:.2f}" '
        f'fill="{text.colour}" text-anchor="{text.anchor}"{halo}>{escape_text(text.text)}</text>'
    )


def gradient_stops(colours: Sequence[str]) -> str:
    """Return the stops of an SVG gradient through ``colours``."""
    last = max(len(colours) - 1, 1)
    return "".join(
        f'<stop offset="{index / last:.3f}" stop-color="{colours[index]}"/>'
        for index in sorted({*range(0, len(colours), N_COLOURS_PER_STOP), len(colours) - 1})
    )


def pdf_bytes(figure: Figure) -> bytes:
    """Return a figure as PDF, on one page of its size at its dots per inch."""
    from reportlab.pdfgen.canvas import Canvas

    target = io.BytesIO()
    scale = POINTS_PER_INCH / figure.dpi
    canvas = Canvas(target, (figure.width * scale, figure.height * scale), invariant=1)
    canvas.setTitle(figure.title or "Pangenome graph")
    canvas.setCreator("genoviz")
    # Pixels from the top left corner, as all parts have them.
    canvas.transform(scale, 0, 0, -scale, 0, figure.height * scale)
    if not figure.is_transparent:
        canvas.setFillColor(figure.colouring.theme.ground)
        canvas.rect(0, 0, figure.width, figure.height, stroke=0, fill=1)
    canvas.saveState()
    _clip(canvas, figure)
    if figure.lines is None:
        _draw_image(canvas, figure)
    else:
        _draw_lines(canvas, figure)
    canvas.restoreState()
    for part in figure.parts:
        draw_part(canvas, part)
    canvas.showPage()
    canvas.save()
    return target.getvalue()


def _clip(canvas: Canvas, figure: Figure) -> None:
    path = canvas.beginPath()
    path.rect(0, figure.top, figure.width, figure.view.height)
    canvas.clipPath(path, stroke=0, fill=0)


def _draw_image(canvas: Canvas, figure: Figure) -> None:
    from reportlab.lib.utils import ImageReader

    height = figure.view.height
    canvas.saveState()
    canvas.transform(1, 0, 0, -1, 0, figure.top + height)
    image = plot_image(figure)
    image = image if figure.is_transparent else image.convert("RGB")
    canvas.drawImage(ImageReader(image), 0, 0, figure.width, height, mask="auto")
    canvas.restoreState()


def _draw_lines(canvas: Canvas, figure: Figure) -> None:
    canvas.setLineCap(ROUND_CAP)
    canvas.setStrokeColor(figure.colouring.theme.faint)
    canvas.setLineWidth(EDGE_WIDTH * figure.scale)
    path = canvas.beginPath()
    for start, *others in figure.lines.curves.tolist():
        path.moveTo(*start)
        path.curveTo(*(value for point in others for value in point))
    canvas.drawPath(path)
    for colour, ends, width in strokes(figure):
        canvas.setStrokeColor(colour)
        canvas.setLineWidth(width)
        canvas.lines(ends.reshape(-1, 4).tolist())


def draw_part(canvas: Canvas, part: Part) -> None:
    """Draw a box, a line, a ramp or a text."""
    if isinstance(part, Box):
        canvas.setFillColor(part.colour)
        canvas.rect(part.x, part.y, part.width, part.height, stroke=0, fill=1)
    elif isinstance(part, Line):
        canvas.setStrokeColor(part.colour)
        canvas.setLineWidth(part.width)
        canvas.line(part.x0, part.y0, part.x1, part.y1)
    elif isinstance(part, Ramp):
        _draw_ramp(canvas, part)
    else:
        _draw_text(canvas, part)


def _draw_ramp(canvas: Canvas, ramp: Ramp) -> None:
    from reportlab.lib.colors import HexColor

    last = max(len(ramp.colours) - 1, 1)
    stops = sorted({*range(0, len(ramp.colours), N_COLOURS_PER_STOP), len(ramp.colours) - 1})
    canvas.saveState()
    path = canvas.beginPath()
    path.rect(ramp.x, ramp.y, ramp.width, ramp.height)
    canvas.clipPath(path, stroke=0, fill=0)
    canvas.linearGradient(
        ramp.x,
        ramp.y,
        ramp.x + ramp.width,
        ramp.y,
        [HexColor(ramp.colours[stop]) for stop in stops],
        [stop / last for stop in stops],
    )
    canvas.restoreState()


def _draw_text(canvas: Canvas, text: Text) -> None:
    canvas.saveState()
    canvas.transform(1, 0, 0, -1, text.x, text.y)
    width = canvas.stringWidth(text.text, FONT, text.size)
    x = {"start": 0.0, "middle": -width / 2, "end": -width}[text.anchor]
    if text.halo:
        canvas.saveState()
        _write(canvas, text, x, mode=1)
        canvas.restoreState()
    _write(canvas, text, x, mode=0)
    canvas.restoreState()


def _write(canvas: Canvas, text: Text, x: float, *, mode: int) -> None:
    """Write a text filled (mode 0), or its outline in the colour of its halo (mode 1)."""
    writer = canvas.beginText(x, 0)
    writer.setFont(FONT, text.size)
    writer.setTextRenderMode(mode)
    writer.setFillColor(text.colour)
    if mode:
        canvas.setLineWidth(text.size / 4)
        writer.setStrokeColor(text.halo)
    writer.textOut(text.text)
    canvas.drawText(writer)
