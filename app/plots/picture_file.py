"""The picture as a file: PNG from palette indices, SVG from the segments themselves."""

from __future__ import annotations

import io
from html import escape

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from app.plots.legend import (
    RAMP_WIDTH,
    Legend,
    NamedLegend,
    gradient_stops,
    length_text,
    ramp_ticks,
    short_number,
)
from app.plots.palettes import GROUND, Palette, parse_colour
from genoviz.analyses.viewport import Viewport
from genoviz.errors import ParameterError

MAX_SVG_LINES = 200_000
TEXT = "#d5deea"
SCALE_STEPS = (1, 2, 5)


def png_bytes(indices: np.ndarray, palette: Palette, *, title: str) -> bytes:
    """Return a PNG of palette indices (uint8, row 0 at the bottom)."""
    image = Image.fromarray(np.ascontiguousarray(indices[::-1]), mode="P")
    image.putpalette([part for colour in palette for part in parse_colour(colour)])
    facts = PngInfo()
    facts.add_text("Title", title)
    facts.add_text("Software", "genoviz")
    target = io.BytesIO()
    image.save(target, "PNG", optimize=True, pnginfo=facts)
    return target.getvalue()


def svg_bytes(
    coordinates: np.ndarray,
    colours: np.ndarray,
    view: Viewport,
    *,
    palette: Palette,
    legend: Legend,
    title: str,
) -> bytes:
    """Return an SVG of the nodes that a view shows, with a scale bar and the legend.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp.
    colours
        uint8, shape (n_nodes,): palette index of each node; nodes of index 0 are left out.

    Raises
    ------
    ParameterError
        If there are more nodes in the view than an SVG can reasonably hold.
    """
    is_seen = _is_in_view(coordinates, view) & (colours > 0)
    n_lines = int(is_seen.sum())
    if n_lines > MAX_SVG_LINES:
        raise ParameterError(
            f"the view has {n_lines:,} nodes, and an SVG holds at most {MAX_SVG_LINES:,}; "
            "zoom in, or save a PNG"
        )
    points = _to_pixels(coordinates[is_seen], view)
    groups = [
        f'<path stroke="{palette[colour]}" d="{_line_data(points[colours[is_seen] == colour])}"/>'
        for colour in np.unique(colours[is_seen]).tolist()
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{view.width}" height="{view.height}" '
        f'viewBox="0 0 {view.width} {view.height}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
        '<g fill="none" stroke-width="1.4" stroke-linecap="round">',
        *groups,
        "</g>",
        f'<g font-family="sans-serif" font-size="12" fill="{TEXT}">',
        _scale_bar(view),
        _legend(legend, palette, view),
        "</g></svg>",
    ]
    return "\n".join(parts).encode()


def _is_in_view(coordinates: np.ndarray, view: Viewport) -> np.ndarray:
    low, high = coordinates.min(axis=1), coordinates.max(axis=1)
    return (
        (high[:, 0] >= view.x_min)
        & (low[:, 0] <= view.x_max)
        & (high[:, 1] >= view.y_min)
        & (low[:, 1] <= view.y_max)
    )


def _to_pixels(coordinates: np.ndarray, view: Viewport) -> np.ndarray:
    x_scale, y_scale = view.bp_per_pixel
    x = (coordinates[:, :, 0] - view.x_min) / x_scale
    y = (view.y_max - coordinates[:, :, 1]) / y_scale
    return np.round(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1), 2)


def _line_data(points: np.ndarray) -> str:
    return "".join(f"M{x0:g} {y0:g}L{x1:g} {y1:g}" for x0, y0, x1, y1 in points.tolist())


def _scale_bar(view: Viewport) -> str:
    bp_per_pixel = view.bp_per_pixel[0]
    wanted = 0.15 * view.width * bp_per_pixel
    power = 10.0 ** np.floor(np.log10(wanted))
    length = max(step * power for step in SCALE_STEPS if step * power <= wanted)
    right, bottom = view.width - 16, view.height - 16
    left = right - length / bp_per_pixel
    return (
        f'<path stroke="{TEXT}" stroke-width="2" d="M{left:.1f} {bottom}H{right}"/>'
        f'<text x="{(left + right) / 2:.1f}" y="{bottom - 6}" text-anchor="middle">'
        f"{length_text(length)}</text>"
    )


def _legend(legend: Legend, palette: Palette, view: Viewport) -> str:
    top = view.height - 44
    title = f'<text x="16" y="{top - 6}">{escape(legend.title)}</text>'
    if isinstance(legend, NamedLegend):
        rows, x = [title], 16.0
        for colour, name in legend.items:
            rows.append(f'<rect x="{x:.0f}" y="{top + 4}" width="10" height="10" fill="{colour}"/>')
            rows.append(f'<text x="{x + 14:.0f}" y="{top + 13}">{escape(name)}</text>')
            x += 30 + 7 * len(name)
        return "".join(rows)
    shown, levels = legend.palette_part(palette)
    ramp = (
        f'<defs><linearGradient id="ramp">{gradient_stops(shown)}</linearGradient></defs>'
        f'<rect x="16" y="{top}" width="{RAMP_WIDTH}" height="10" fill="url(#ramp)"/>'
    )
    ticks = "".join(
        f'<text x="{16 + place * RAMP_WIDTH:.1f}" y="{top + 24}" text-anchor="middle">'
        f"{short_number(value)}</text>"
        for value, place in ramp_ticks(levels, legend.high)
    )
    return title + ramp + ticks
