"""Figures of graphs, and of tracks along a contig, as PNG, SVG, PDF and HTML."""

from genoviz.analyses.figures.files import (
    FIGURE_ENDINGS,
    TRACK_FIGURE_ENDINGS,
    figure_bytes,
    track_figure_bytes,
)
from genoviz.analyses.figures.graph import Figure, make_figure
from genoviz.analyses.figures.label_parts import FigureLabel
from genoviz.analyses.figures.options import FigureOptions
from genoviz.analyses.figures.panels import Curve, FeaturePanel, ValuePanel
from genoviz.analyses.figures.paths import make_path_figure
from genoviz.analyses.figures.plot import FigureMark
from genoviz.analyses.figures.tracks import TrackFigure, make_track_figure

__all__ = [
    "FIGURE_ENDINGS",
    "TRACK_FIGURE_ENDINGS",
    "Curve",
    "FeaturePanel",
    "Figure",
    "FigureLabel",
    "FigureMark",
    "FigureOptions",
    "TrackFigure",
    "ValuePanel",
    "figure_bytes",
    "make_figure",
    "make_path_figure",
    "make_track_figure",
    "track_figure_bytes",
]
