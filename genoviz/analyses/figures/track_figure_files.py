"""Figures of tracks by the ending of their file's name."""

from __future__ import annotations

import io
from collections.abc import Callable
from html import escape

from genoviz.analyses.figures import pdf, png
from genoviz.analyses.figures.svg import FONTS, parts_svg
from genoviz.analyses.figures.track_figure import TrackFigure
from genoviz.analyses.graph.picture.palettes import parse_colour
from genoviz.errors import ParameterError

SCREEN_DPI, POINTS_PER_INCH = 96, 72
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ margin: 24px; background: {ground}; color: {ink}; font-family: {fonts}; }}
figure {{ margin: 0; }}
svg {{ max-width: 100%; height: auto; }}
</style></head><body><figure aria-label="{title}">
{svg}
</figure></body></html>
"""


def track_figure_bytes(figure: TrackFigure, ending: str) -> bytes:
    """Return a figure as a file of a kind: ``".png"``, ``".svg"``, ``".pdf"`` or ``".html"``.

    An HTML file asks for nothing from elsewhere.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    if ending not in _WRITERS:
        raise ParameterError(f"a figure cannot be {ending!r}, needs {', '.join(_WRITERS)}")
    return _WRITERS[ending](figure)


def _svg(figure: TrackFigure) -> bytes:
    width, height = figure.width / figure.scale, figure.height / figure.scale
    areas = "\n".join(
        f'<path fill="{area.colour}" fill-opacity="{area.opacity:g}" d="M'
        + " ".join(f"{x:.2f},{y:.2f}" for x, y in area.points.tolist())
        + 'Z"/>'
        for area in figure.areas
    )
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {figure.width} {figure.height}" role="img">',
        f"<title>{escape(figure.title)}</title><desc>{escape(figure.caption)}</desc>",
        f'<rect width="{figure.width}" height="{figure.height}" fill="{figure.ground}"/>',
        f'<g id="values">{areas}</g>',
        parts_svg(figure.parts),
        "</svg>",
    ]
    return "\n".join(rows).encode()


def _html(figure: TrackFigure) -> bytes:
    page = PAGE.format(
        title=escape(figure.title),
        ground=figure.ground,
        ink=figure.ink,
        fonts=FONTS,
        svg=_svg(figure).decode(),
    )
    return page.encode()


def _png(figure: TrackFigure) -> bytes:
    from PIL import Image, ImageDraw
    from PIL.PngImagePlugin import PngInfo

    image = Image.new("RGB", (figure.width, figure.height), figure.ground)
    pen = ImageDraw.Draw(image, "RGBA")
    for area in figure.areas:
        colour = (*parse_colour(area.colour), round(255 * area.opacity))
        if len(area.points) > 2:
            pen.polygon(area.points.ravel().tolist(), fill=colour)
    for part in figure.parts:
        png.draw_part(pen, part)
    facts = PngInfo()
    facts.add_text("Title", figure.title)
    facts.add_itxt("Description", figure.caption)
    facts.add_text("Software", "genoviz")
    target = io.BytesIO()
    dpi = SCREEN_DPI * figure.scale
    image.save(target, "PNG", dpi=(dpi, dpi), pnginfo=facts)
    return target.getvalue()


def _pdf(figure: TrackFigure) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    target = io.BytesIO()
    scale = POINTS_PER_INCH / (SCREEN_DPI * figure.scale)
    canvas = Canvas(target, (figure.width * scale, figure.height * scale), invariant=1)
    canvas.setTitle(figure.title)
    canvas.setSubject(figure.caption)
    canvas.setCreator("genoviz")
    canvas.transform(scale, 0, 0, -scale, 0, figure.height * scale)
    canvas.setFillColor(figure.ground)
    canvas.rect(0, 0, figure.width, figure.height, stroke=0, fill=1)
    for area in figure.areas:
        canvas.setFillColor(area.colour, alpha=area.opacity)
        path = canvas.beginPath()
        first, *others = area.points.tolist()
        path.moveTo(*first)
        for point in others:
            path.lineTo(*point)
        path.close()
        canvas.drawPath(path, stroke=0, fill=1)
    canvas.setFillAlpha(1)
    for part in figure.parts:
        pdf.draw_part(canvas, part)
    canvas.showPage()
    canvas.save()
    return target.getvalue()


_WRITERS: dict[str, Callable[[TrackFigure], bytes]] = {
    ".png": _png,
    ".svg": _svg,
    ".pdf": _pdf,
    ".html": _html,
}
TRACK_FIGURE_ENDINGS = tuple(_WRITERS)
