"""Figures as PDF, by ReportLab: lines where these are few enough, else pixels within it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from genoviz.analyses.figures.graph import Figure
from genoviz.analyses.figures.parts import Box, Line, Part, Ramp, Text
from genoviz.analyses.figures.png import EDGE_WIDTH, plot_image, strokes

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

POINTS_PER_INCH = 72
FONT = "Helvetica"
N_COLOURS_PER_STOP = 8
ROUND_CAP = 1


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
