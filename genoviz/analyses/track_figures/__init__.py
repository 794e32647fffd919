"""Figures of tracks along a contig as PNG, SVG, PDF and HTML."""

from genoviz.analyses.track_figures.figure import TrackFigure, make_track_figure
from genoviz.analyses.track_figures.files import TRACK_FIGURE_ENDINGS, track_figure_bytes
from genoviz.analyses.track_figures.panels import Curve, FeaturePanel, ValuePanel

__all__ = [
    "TRACK_FIGURE_ENDINGS",
    "Curve",
    "FeaturePanel",
    "TrackFigure",
    "ValuePanel",
    "make_track_figure",
    "track_figure_bytes",
]
