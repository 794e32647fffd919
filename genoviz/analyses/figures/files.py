"""Figures by the ending of their file's name."""

from __future__ import annotations

from collections.abc import Callable

from genoviz.analyses.figures.figure import Figure
from genoviz.analyses.figures.html import html_bytes
from genoviz.analyses.figures.pdf import pdf_bytes
from genoviz.analyses.figures.png import png_bytes
from genoviz.analyses.figures.svg import svg_bytes
from genoviz.errors import ParameterError

_WRITERS: dict[str, Callable[[Figure], bytes]] = {
    ".png": png_bytes,
    ".svg": svg_bytes,
    ".pdf": pdf_bytes,
    ".html": html_bytes,
}
FIGURE_ENDINGS = tuple(_WRITERS)

MAX_LINES = {".png": 1500, ".svg": 100_000, ".pdf": 100_000, ".html": 30_000}
"""With up to so many nodes in view, a format draws them as lines; with more, as pixels."""


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """Return a figure as a file of a kind: ``".png"``, ``".svg"``, ``".pdf"`` or ``".html"``.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    if ending not in _WRITERS:
        raise ParameterError(f"a figure cannot be {ending!r}, needs {', '.join(_WRITERS)}")
    return _WRITERS[ending](figure)
