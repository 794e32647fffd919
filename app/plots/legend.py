"""HTML legends: colour scales as small SVG images, and named colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from genoviz.analyses.graph.picture.legend import (
    Legend,
    NamedLegend,
    RampLegend,
    length_text,
    ramp_ticks,
    short_number,
)
from genoviz.analyses.graph.picture.palettes import Palette

__all__ = [
    "Legend",
    "NamedLegend",
    "RampLegend",
    "legend_html",
    "length_text",
    "ramp_ticks",
    "short_number",
]

RAMP_WIDTH = 220
RAMP_HEIGHT = 10
N_COLOURS_PER_STOP = 16


def legend_html(legend: Legend, palette: Palette) -> str:
    """Return a legend as HTML."""
    title = f'<span class="legend-title">{escape(legend.title)}</span>'
    if isinstance(legend, NamedLegend):
        note = f'<span class="legend-note">{escape(legend.note)}</span>' if legend.note else ""
        return f'<div class="legend">{title}{_swatches(legend.items)}{note}</div>'
    missing = _swatches([(palette[1], legend.missing)]) if legend.missing else ""
    return f'<div class="legend">{title}{_ramp_svg(legend, palette)}{missing}</div>'


def ramp_html(stops: Sequence[str], title: str, low: str, high: str) -> str:
    """Return an inline colour scale: its title and both end values."""
    last = len(stops) - 1
    colours = "".join(
        f'<stop offset="{k / last:.3f}" stop-color="{colour}"/>' for k, colour in enumerate(stops)
    )
    return (
        f'{escape(title)}: {escape(low)}<svg width="60" height="9" role="img" aria-label="from low '
        f'to high"><defs><linearGradient id="small-ramp">{colours}</linearGradient></defs>'
        f'<rect width="60" height="9" rx="2" fill="url(#small-ramp)"/></svg>{escape(high)}'
    )


def gradient_stops(colours: Sequence[str]) -> str:
    """Return SVG gradient stops through ``colours``."""
    last = len(colours) - 1
    return "".join(
        f'<stop offset="{index / last:.3f}" stop-color="{colours[index]}"/>'
        for index in sorted({*range(0, last, N_COLOURS_PER_STOP), last})
    )


def _swatches(items: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f'<span class="legend-item" title="{escape(name)}"><i style="background:{colour}"></i>'
        f"<span>{escape(name)}</span></span>"
        for colour, name in items
    )


def _ramp_svg(legend: RampLegend, palette: Palette) -> str:
    colours, _ = legend.palette_part(palette)
    ticks = []
    for value, place in legend.ticks():
        x = place * RAMP_WIDTH
        anchor = "start" if x < 12 else "end" if x > RAMP_WIDTH - 12 else "middle"
        ticks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{RAMP_HEIGHT}" y2="{RAMP_HEIGHT + 3}"/>'
            f'<text x="{x:.1f}" y="{RAMP_HEIGHT + 14}" text-anchor="{anchor}">'
            f"{short_number(value)}</text>"
        )
    return (
        f'<svg width="{RAMP_WIDTH}" height="{RAMP_HEIGHT + 16}" role="img" '
        f'aria-label="{escape(legend.title)}"><defs><linearGradient id="ramp">'
        f"{gradient_stops(colours)}"
        f'</linearGradient></defs><rect width="{RAMP_WIDTH}" height="{RAMP_HEIGHT}" rx="2" '
        f'fill="url(#ramp)"/>{"".join(ticks)}</svg>'
    )
