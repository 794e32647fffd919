"""Figures of graphs as PNG, SVG, PDF and HTML."""

from genoviz.analyses.figures.figure import Figure, make_figure
from genoviz.analyses.figures.files import FIGURE_ENDINGS, figure_bytes
from genoviz.analyses.figures.label_parts import FigureLabel
from genoviz.analyses.figures.options import FigureOptions
from genoviz.analyses.figures.plot import FigureMark

__all__ = [
    "FIGURE_ENDINGS",
    "Figure",
    "FigureLabel",
    "FigureMark",
    "FigureOptions",
    "figure_bytes",
    "make_figure",
]
