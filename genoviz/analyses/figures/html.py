"""Figures as one HTML file that needs nothing else: pan, zoom, and names of nodes."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from genoviz.analyses.figures.figure import Figure
from genoviz.analyses.figures.png import plot_image
from genoviz.analyses.figures.svg import parts_svg


def html_bytes(figure: Figure) -> bytes:
    """Return a figure as an HTML page without any link to elsewhere."""
    theme = figure.colouring.theme
    data = json.dumps(_data(figure), separators=(",", ":")).replace("</", "<\\/")
    values = {
        "TITLE": escape(figure.title or "Pangenome graph"),
        "GROUND": theme.ground,
        "INK": theme.ink,
        "FAINT": theme.faint,
        "LEGEND": _legend(figure),
        "DATA": data,
    }
    page = _template()
    for name, value in values.items():
        page = page.replace(f"@{name}@", value)
    return page.encode()


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
    """Return what the page's script draws: coordinates from the middle of the view, in bp."""
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
        target = io.BytesIO()
        plot_image(figure).save(target, "PNG")
        found["image"] = "data:image/png;base64," + base64.b64encode(target.getvalue()).decode()
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
