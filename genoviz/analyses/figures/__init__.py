"""Figures of graphs as PNG, SVG, PDF and HTML."""

from genoviz.analyses.figures.figure import Figure, FigureMark, FigureOptions, make_figure
from genoviz.analyses.figures.files import FIGURE_ENDINGS, figure_bytes
from genoviz.analyses.figures.label_parts import FigureLabel

__all__ = [
    "FIGURE_ENDINGS",
    "Figure",
    "FigureLabel",
    "FigureMark",
    "FigureOptions",
    "figure_bytes",
    "make_figure",
]
