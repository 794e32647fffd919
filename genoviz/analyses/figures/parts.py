"""What stands around the graph in a figure: texts, lines, boxes and ramps, in pixels from the top.

Each file format draws these few kinds of parts in its own way, so figures look alike in all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

ELLIPSIS = "..."
SAFETY = 1.15
"""Browsers and readers of PDF have other fonts, some of them wider."""
MORE_FONTS = ("DejaVuSans.ttf", "Arial.ttf", "LiberationSans-Regular.ttf", "NotoSans-Regular.ttf")
"""For what is not ASCII, of which the font of Pillow has little."""

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Text:
    """Words whose baseline begins, has its middle or ends at a point; a halo keeps them legible."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: Anchor = "start"
    halo: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    width: float
    colour: str


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Ramp:
    """A rectangle that runs through colours from left to right."""

    x: float
    y: float
    width: float
    height: float
    colours: tuple[str, ...]


Part = Text | Line | Box | Ramp


@dataclass(frozen=True, eq=False)
class Pixels:
    """A rectangle of cells of one colour each; ``colours`` is uint8, (rows, columns, 3), RGB."""

    x: float
    y: float
    width: float
    height: float
    colours: np.ndarray


def shift_parts(parts: Iterable[Part], down: float) -> list[Part]:
    """Return parts moved downwards."""
    return [
        replace(part, y0=part.y0 + down, y1=part.y1 + down)
        if isinstance(part, Line)
        else replace(part, y=part.y + down)
        for part in parts
    ]


@cache
def load_font(size: float, *, needs_more: bool = False) -> Any:
    """Return the font of pictures: that which comes with Pillow, or one with more letters."""
    from PIL import ImageFont

    size = max(size, 1.0)
    for name in MORE_FONTS if needs_more else ():
        with contextlib.suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


def font_of(text: str, size: float) -> Any:
    """Return a font that has the letters of a text, if this machine has one."""
    return load_font(size, needs_more=not text.isascii())


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, pixels."""
    return float(font_of(text, size).getlength(text))


def clip_text(text: str, size: float, width: float) -> str:
    """Return a text, cut in its middle with an ellipsis if it is wider than ``width`` pixels."""
    if text_width(text, size) <= width:
        return text
    n_kept = len(text)
    while n_kept > 2:
        n_kept = min(n_kept - 1, int(n_kept * 0.95))
        head = (n_kept + 1) // 2
        shorter = f"{text[:head]}{ELLIPSIS}{text[len(text) - (n_kept - head) :]}"
        if text_width(shorter, size) <= width:
            return shorter
    return ELLIPSIS


def wrap_widths(widths: Sequence[float], gap: float, room: float) -> list[tuple[int, float]]:
    """Return row and x of things of these widths, set side by side in rows of ``room`` pixels."""
    places, row, x = [], 0, 0.0
    for width in widths:
        if x > 0 and x + width > room:
            row, x = row + 1, 0.0
        places.append((row, x))
        x += width + gap
    return places
