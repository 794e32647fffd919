"""Figures as SVG: lines where these are few enough, else pixels within it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from genoviz.analyses.figures.graph import Figure
from genoviz.analyses.figures.parts import Box, Line, Part, Ramp, Text
from genoviz.analyses.figures.png import EDGE_WIDTH, plot_image, strokes

N_COLOURS_PER_STOP = 8
FONTS = "Inter, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


def svg_bytes(figure: Figure) -> bytes:
    """Return a figure as SVG."""
    size = f'width="{figure.width}" height="{figure.height}"'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {figure.width} {figure.height}">',
        f"<title>{escape(figure.title or 'Pangenome graph')}</title>",
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
    target = io.BytesIO()
    plot_image(figure).save(target, "PNG")
    content = base64.b64encode(target.getvalue()).decode()
    return (
        f'<image y="{figure.top}" width="{figure.width}" height="{figure.view.height}" '
        f'href="data:image/png;base64,{content}"/>'
    )


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
        f'fill="{text.colour}" text-anchor="{text.anchor}"{halo}>{escape(text.text)}</text>'
    )


def gradient_stops(colours: Sequence[str]) -> str:
    """Return the stops of an SVG gradient through ``colours``."""
    last = max(len(colours) - 1, 1)
    return "".join(
        f'<stop offset="{index / last:.3f}" stop-color="{colours[index]}"/>'
        for index in sorted({*range(0, len(colours), N_COLOURS_PER_STOP), len(colours) - 1})
    )
