"""Tracks as an SVG picture: what the figure shows, with names and scales beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from app.plots.lane_data import FIRST_BASE

Columns = dict[str, Any]

NAMES_WIDTH, TOP, N_TICKS = 190, 44, 6
STYLE = "font-family: Inter, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 11px"


@dataclass(frozen=True, eq=False)
class PictureRow:
    """Name, scale and place (pixels from above) of a track."""

    title: str
    note: str
    colour: str
    top: float
    bottom: float


@dataclass(frozen=True, eq=False)
class TrackPicture:
    """What is drawn: see `TrackLanes` for the columns.

    Attributes
    ----------
    title
        What stands above.
    start, end
        The stretch that is shown; 0-based, bp.
    width, height
        Pixels of the tracks, without their names.
    """

    title: str
    start: float
    end: float
    width: int
    height: int
    rows: Sequence[PictureRow]
    areas: Sequence[tuple[str, Columns]]
    boxes: Columns
    stems: Columns
    names: Columns


def tracks_svg(picture: TrackPicture) -> str:
    """Return the picture as SVG, on white."""
    width, height = picture.width + NAMES_WIDTH + 20, picture.height + TOP + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="{STYLE}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="6" y="16" font-weight="600">{escape(picture.title)}</text>',
        *_margin(picture),
        f'<svg x="{NAMES_WIDTH}" y="{TOP}" width="{picture.width}" height="{picture.height}">',
        *(_area(picture, colour, columns) for colour, columns in picture.areas),
        *_features(picture),
        "</svg></svg>",
    ]
    return "\n".join(parts)


def _x(picture: TrackPicture, positions: Any) -> np.ndarray:
    """Return pixels of positions that the figure has as x."""
    shares = (np.asarray(positions, float) - FIRST_BASE - picture.start) / (
        picture.end - picture.start
    )
    return shares * picture.width


def _margin(picture: TrackPicture) -> list[str]:
    """Return names, lines between the tracks, and the axis with its ticks."""
    parts = []
    for row in picture.rows:
        top, bottom = row.top + TOP, row.bottom + TOP
        right = NAMES_WIDTH + picture.width
        parts.append(
            f'<rect x="6" y="{top + 2}" width="3" height="{bottom - top - 4}" fill="{row.colour}"/>'
            f'<text x="14" y="{top + 15}" font-weight="600">{escape(row.title)}</text>'
            f'<text x="14" y="{top + 29}" fill="#555">{escape(row.note)}</text>'
            f'<path d="M6 {bottom}H{right}" stroke="#ddd"/>'
        )
    for position in _ticks(picture.start, picture.end):
        x = NAMES_WIDTH + float(_x(picture, position))
        parts.append(
            f'<text x="{x:.1f}" y="{TOP - 9}" text-anchor="middle" fill="#333">{position:,}</text>'
            f'<path d="M{x:.1f} {TOP - 5}v5" stroke="#333"/>'
        )
    return parts


def _ticks(start: float, end: float) -> list[int]:
    """Return round 1-based positions within a stretch."""
    rough = max((end - start) / N_TICKS, 1.0)
    power = 10 ** int(np.floor(np.log10(rough)))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    return list(range(int(-(-(start + 1) // step) * step), int(end) + 1, step))


def _area(picture: TrackPicture, colour: str, columns: Columns) -> str:
    x = np.repeat(_x(picture, columns["x"]), 2)[1:-1]
    low, mean, high, base = (
        np.repeat(columns[name][:-1], 2) for name in ("low", "mean", "high", "base")
    )
    parts = (
        f'<path d="{_closed(x, base, mean)}" fill="{colour}" fill-opacity="0.55"/>',
        f'<path d="{_closed(x, low, high)}" fill="{colour}" fill-opacity="0.3"/>',
    )
    return "".join(parts)


def _closed(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> str:
    """Return the outline of what lies between two lines."""
    xs, ys = np.append(x, x[::-1]), np.append(upper, lower[::-1])
    points = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))
    return f"M{points}Z"


def _features(picture: TrackPicture) -> list[str]:
    parts = []
    stems, boxes, names = picture.stems, picture.boxes, picture.names
    if stems:
        for left, right, y, colour in zip(
            _x(picture, stems["x0"]), _x(picture, stems["x1"]), stems["y"], stems["colour"],
            strict=True,
        ):  # fmt: skip
            parts.append(f'<path d="M{left:.2f} {y:.1f}H{right:.2f}" stroke="{colour}"/>')
    if boxes:
        lefts, rights = _x(picture, boxes["left"]), _x(picture, boxes["right"])
        for left, right, top, bottom, colour, name in zip(
            lefts, rights, boxes["top"], boxes["bottom"], boxes["colour"], boxes["name"],
            strict=True,
        ):  # fmt: skip
            parts.append(
                f'<rect x="{left:.2f}" y="{top:.1f}" width="{max(right - left, 0.5):.2f}" '
                f'height="{bottom - top:.1f}" fill="{colour}"><title>{escape(name)}</title></rect>'
            )
    if names:
        for x, y, text in zip(_x(picture, names["x"]), names["y"], names["text"], strict=True):
            parts.append(f'<text x="{x + 2:.2f}" y="{y + 4:.1f}" fill="#222">{escape(text)}</text>')
    return parts
