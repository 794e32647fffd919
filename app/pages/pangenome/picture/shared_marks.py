"""What all pages agree on, pointed out in the picture: region, picked nodes, what is lit up."""

from __future__ import annotations

from typing import Any

import numpy as np

from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.marks import Mark
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

REGION_MARK, REGION_COLOUR = "region", "#ffb454"
PICKED_MARK, PICKED_COLOUR = "picked", "#ff7ac6"


class SharedMarks:
    """Follows what the session shares, and takes clicks in the picture for picks."""

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._picture, self._run = session, view.picture, view.run
        self._n_marks = 0
        self._question = Question(session, "nodes of a region", self._on_region)
        session.param.watch(self._follow_region, "region")
        session.param.watch(self._follow_picked, "picked")
        session.highlights.param.watch(self._follow_lit, "sets")
        session.highlights.param.watch(self._go_to, "wanted")
        self._picture.on_click(lambda node: self._pick(np.array([node])))
        self._picture.on_select(self._pick)
        self.show()

    def show(self) -> None:
        """Point out everything: the picture has forgotten it, or has not known it yet."""
        self._follow_region()
        self._follow_picked()
        self._follow_lit()

    def _pick(self, nodes: np.ndarray) -> None:
        self._session.picked = np.asarray(nodes, np.int64)

    def _follow_region(self, *_events: Any) -> None:
        region, opened = self._session.region, self._session.opened
        is_here = opened is not None and region is not None
        if not is_here or region.path not in opened.graph.path_names:
            self._question.drop()
            self._picture.set_mark(REGION_MARK, None)
        else:
            self._question.ask(_mark_of, opened.graph, region)

    def _on_region(self, mark: Mark) -> None:
        self._picture.set_mark(REGION_MARK, mark)
        self._follow_lit()

    def _follow_picked(self, *_events: Any) -> None:
        nodes = self._session.picked
        mark = Mark(nodes, PICKED_COLOUR) if len(nodes) else None
        self._picture.set_mark(PICKED_MARK, mark)
        self._follow_lit()

    def _follow_lit(self, *_events: Any) -> None:
        """Point out what is lit up, over all else: the last mark that is set is drawn on top."""
        shown = self._session.highlights.shown
        for place in range(max(len(shown), self._n_marks)):
            lit = shown[place] if place < len(shown) else None
            mark = None if lit is None else Mark(lit.nodes, lit.colour, is_lit=True)
            self._picture.set_mark(f"lit {place}", mark)
        self._n_marks = len(shown)

    def _go_to(self, event: Any) -> None:
        if event.new is not None:
            self._picture.look_at_nodes(event.new.nodes)


def region_nodes(graph: PangenomeGraph, region: PathRegion) -> np.ndarray:
    """Return the nodes of a region, each once; int64, ascending."""
    return np.unique(find_region_steps(graph, region).nodes)


def region_title(graph: PangenomeGraph, region: PathRegion) -> str:
    """Return a short name of a region, in coordinates of its contig where the path has them."""
    name = graph.parsed_path_names[graph.find_path(region.path)]
    return f"{name.contig}:{name.start + region.start:,}-{name.start + region.end:,}"


def _mark_of(graph: PangenomeGraph, region: PathRegion) -> Mark:
    return Mark(region_nodes(graph, region), REGION_COLOUR, region_title(graph, region))
