"""Going from a hit to the place that all pages share."""

from __future__ import annotations

from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.opening.index_data import BuiltIndex
from genoviz_app.pages.kmers.hits import GenomeAxis
from genoviz_app.session.graph_places import nodes_of, on_graph
from genoviz_app.session.session import Session

__all__ = ["nodes_of", "on_graph", "share_place"]


def share_place(session: Session, built: BuiltIndex, contig: int, start: int, end: int) -> None:
    """Make a stretch the region of all pages: on a path of the open graph, where it has it."""
    name = GenomeAxis.of(built).names[contig]
    session.region = on_graph(_graph(session), PathRegion(name, start, end))


def _graph(session: Session) -> PangenomeGraph | None:
    return None if session.opened is None else session.opened.graph
