"""Output of figures of graphs and of tracks, in the format of the file ending.

The HTML of a graph is one self-contained page with pan, zoom, and node names.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.figures import png
from genoviz.analyses.figures import vector as pdf
from genoviz.analyses.figures.graph import Figure
from genoviz.analyses.figures.png import plot_image, png_bytes
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz.analyses.figures.vector import (
    FONTS,
    escape_text,
    image_address,
    parts_svg,
    pdf_bytes,
    svg_bytes,
)
from genoviz.analyses.graph.picture.palettes import parse_colour
from genoviz.errors import ParameterError

if TYPE_CHECKING:
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas

    from genoviz.analyses.figures.parts import Pixels

MAX_LINES = {".png": 1500, ".svg": 100_000, ".pdf": 100_000, ".html": 30_000}
"""Maximum number of visible nodes that each format draws as lines; more are drawn as pixels."""
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


def html_bytes(figure: Figure) -> bytes:
    """Return a figure as a self-contained HTML page."""
    theme = figure.colouring.theme
    # Escaped, so that no name can start a tag or comment within the data script.
    data = json.dumps(_data(figure), separators=(",", ":")).replace("<", "\\u003c")
    values = {
        "TITLE": escape_text(figure.title or "Pangenome graph"),
        "GROUND": theme.ground,
        "INK": theme.ink,
        "FAINT": theme.faint,
        "LEGEND": _legend(figure),
        "DATA": data,
    }
    # In one pass, because a title may contain another placeholder.
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], _template()).encode()


@cache
def _template() -> str:
    return files("genoviz.analyses.figures").joinpath("figure.html").read_text("utf-8")


def _legend(figure: Figure) -> str:
    """Return the parts below the graph as a small SVG."""
    bottom = figure.top + figure.view.height
    parts = [part for part in figure.parts if getattr(part, "y", getattr(part, "y0", 0)) > bottom]
    height = figure.height - bottom
    width, css_height = figure.width / figure.scale, height / figure.scale
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{css_height:.0f}" '
        f'viewBox="0 {bottom} {figure.width} {height}">{parts_svg(parts)}</svg>'
    )


def _data(figure: Figure) -> dict[str, Any]:
    """Return the data of the page's script: coordinates relative to the view's centre, in bp."""
    view = figure.view
    x_size, y_size = view.bp_per_pixel
    found: dict[str, Any] = {
        "width": view.width,
        "height": view.height,
        "xSize": x_size * figure.scale,
        "ySize": y_size * figure.scale,
        "scale": figure.scale,
        "palette": list(figure.palette),
        "faint": figure.colouring.theme.faint,
        "marks": [],
    }
    if figure.lines is None:
        found["image"] = image_address(plot_image(figure))
        return found
    lines = figure.lines
    middle = (view.width / 2, view.height / 2 + figure.top)
    found["lines"] = _encode(((lines.ends - middle) / figure.scale).astype("<f4"))
    found["curves"] = _encode(((lines.curves - middle) / figure.scale).astype("<f4"))
    found["colours"] = _encode(lines.colours)
    found["lineWidth"] = lines.width / figure.scale
    if figure.names:
        found["names"] = figure.names
    for mark in figure.marks:
        which = np.flatnonzero(np.isin(lines.nodes, mark.nodes))
        found["marks"].append({"colour": mark.colour, "lines": which.tolist(), "name": mark.name})
    labels = [part for part in figure.parts if getattr(part, "halo", "")]
    found["labels"] = [
        {"x": (part.x - middle[0]) / figure.scale, "y": (part.y - middle[1]) / figure.scale,
         "text": part.text, "colour": part.colour, "size": part.size / figure.scale,
         "align": {"start": "left", "middle": "center", "end": "right"}[part.anchor]}
        for part in labels
    ]  # fmt: skip
    return found


def _encode(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


_WRITERS: dict[str, Callable[[Figure], bytes]] = {
    ".png": png_bytes,
    ".svg": svg_bytes,
    ".pdf": pdf_bytes,
    ".html": html_bytes,
}


FIGURE_ENDINGS = tuple(_WRITERS)


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """Return a figure in a file format: ``".png"``, ``".svg"``, ``".pdf"`` or ``".html"``.

    Raises
    ------
    ParameterError
        If the format is unknown.
    """
    if ending not in _WRITERS:
        raise ParameterError(f"a figure cannot be {ending!r}, needs {', '.join(_WRITERS)}")
    return _WRITERS[ending](figure)


def track_figure_bytes(figure: TrackFigure, ending: str) -> bytes:
    """Return a figure in a file format: ``".png"``, ``".svg"``, ``".pdf"`` or ``".html"``.

    An HTML file is self-contained.

    Raises
    ------
    ParameterError
        If the format is unknown.
    """
    if ending not in _TRACK_WRITERS:
        raise ParameterError(f"a figure cannot be {ending!r}, needs {', '.join(_TRACK_WRITERS)}")
    return _TRACK_WRITERS[ending](figure)


def _track_svg(figure: TrackFigure) -> bytes:
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
        f"<title>{escape_text(figure.title)}</title><desc>{escape_text(figure.caption)}</desc>",
        f'<rect width="{figure.width}" height="{figure.height}" fill="{figure.ground}"/>',
        f'<g id="values">{areas}</g>',
        *([_pixels_svg(figure.pixels)] if figure.pixels else []),
        parts_svg(figure.parts),
        "</svg>",
    ]
    return "\n".join(rows).encode()


def _pixels_svg(pixels: Pixels) -> str:
    return (
        f'<image x="{pixels.x:.2f}" y="{pixels.y:.2f}" width="{pixels.width:.2f}" '
        f'height="{pixels.height:.2f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="{image_address(_image_of(pixels))}"/>'
    )


def _image_of(pixels: Pixels) -> Image.Image:
    from PIL import Image

    return Image.fromarray(np.ascontiguousarray(pixels.colours))


def _track_html(figure: TrackFigure) -> bytes:
    page = PAGE.format(
        title=escape_text(figure.title),
        ground=figure.ground,
        ink=figure.ink,
        fonts=FONTS,
        svg=_track_svg(figure).decode(),
    )
    return page.encode()


def _track_png(figure: TrackFigure) -> bytes:
    from PIL import Image, ImageDraw
    from PIL.PngImagePlugin import PngInfo

    image = Image.new("RGB", (figure.width, figure.height), figure.ground)
    pen = ImageDraw.Draw(image, "RGBA")
    for area in figure.areas:
        colour = (*parse_colour(area.colour), round(255 * area.opacity))
        if len(area.points) > 2:
            pen.polygon(area.points.ravel().tolist(), fill=colour)
    if pixels := figure.pixels:
        size = round(pixels.width), round(pixels.height)
        cells = _image_of(pixels).resize(size, Image.Resampling.NEAREST)
        image.paste(cells, (round(pixels.x), round(pixels.y)))
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


def _track_pdf(figure: TrackFigure) -> bytes:
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
    if figure.pixels:
        _draw_pixels(canvas, figure.pixels)
    for part in figure.parts:
        pdf.draw_part(canvas, part)
    canvas.showPage()
    canvas.save()
    return target.getvalue()


def _draw_pixels(canvas: Canvas, pixels: Pixels) -> None:
    from reportlab.lib.utils import ImageReader

    canvas.saveState()
    canvas.transform(1, 0, 0, -1, pixels.x, pixels.y + pixels.height)
    canvas.drawImage(ImageReader(_image_of(pixels)), 0, 0, pixels.width, pixels.height)
    canvas.restoreState()


_TRACK_WRITERS: dict[str, Callable[[TrackFigure], bytes]] = {
    ".png": _track_png,
    ".svg": _track_svg,
    ".pdf": _track_pdf,
    ".html": _track_html,
}


TRACK_FIGURE_ENDINGS = tuple(_TRACK_WRITERS)
