"""Marks in the picture for the state all pages share: region, selection and highlights."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.pages.pangenome.picture.marks import Mark
from genoviz_app.pages.pangenome.picture.shapes import NodeParts
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

REGION_MARK, REGION_COLOUR = "region", "#ffb454"
PICKED_MARK, PICKED_COLOUR = "picked", "#ff7ac6"
MAX_VISIBLE_NODES = 2_000_000
MAX_PARTS = 1000
REST_SECONDS = 0.4


class SharedMarks:
    """Marks the shared state of the session in the picture, and selects clicked nodes.

    While another page is docked, the picture shows that page's region, and the user's view of the
    picture becomes the region. Such a region is not marked, because it fills the view.

    Parameters
    ----------
    session, view
        The session, and the view with the picture.
    on_picked
        Called when nodes are picked in the picture, or when it goes to nodes picked elsewhere.
    """

    def __init__(
        self, session: Session, view: LayoutView, on_picked: Callable[[], None] = lambda: None
    ) -> None:
        self._on_picked = on_picked
        self._session, self._picture, self._run = session, view.picture, view.run
        self._n_marks = 0
        self._question = Question(session, "nodes of a region", self._on_region)
        self._sight = Question(session, "what is in sight of a path", self._on_sight)
        self._own_region: PathRegion | None = None
        self._goes_there = False
        self._seen_view: Any = None
        self._seen_since = 0.0
        session.param.watch(self._follow_region, "region")
        session.param.watch(self._follow_picked, "picked")
        session.highlights.param.watch(self._follow_lit, "sets")
        session.highlights.param.watch(self._go_to, "wanted")
        self._picture.on_click(lambda node: self._pick(np.array([node])))
        self._picture.on_select(self._pick)
        self.show()

    def show(self) -> None:
        """Set all marks again, e.g. after the picture was reset."""
        self._sight.drop()  # it may refer to another graph
        self._follow_region()
        self._follow_picked()
        self._follow_lit()

    def _pick(self, nodes: np.ndarray) -> None:
        self._session.picked = np.asarray(nodes, np.int64)
        if len(nodes):
            self._on_picked()

    def poll(self) -> None:
        """Make the docked page follow the user's view of the picture once it rests."""
        view, now = self._picture.viewport, time.monotonic()
        if view != self._seen_view:
            self._seen_view, self._seen_since = view, now
        elif self._seen_since and now - self._seen_since > REST_SECONDS:
            self._seen_since = 0.0
            opened, region = self._session.opened, self._session.region
            if self._session.is_split and self._picture.is_own_view and opened is not None:
                path = region.path if region else next(iter(opened.graph.path_names), "")
                self._sight.ask(find_sight, opened.graph, path, self._picture)

    def _follow_region(self, *events: Any) -> None:
        region, opened = self._session.region, self._session.opened
        is_here = opened is not None and region is not None
        if not is_here or region is self._own_region or region.path not in opened.graph.path_names:
            self._question.drop()
            self._picture.set_mark(REGION_MARK, None)
        else:
            is_shown = self._picture.shown is not None
            self._goes_there = bool(events) and self._session.is_split and is_shown
            self._question.ask(_mark_of, opened.graph, region)

    def _on_region(self, mark: Mark) -> None:
        self._picture.set_mark(REGION_MARK, mark)
        self._follow_picked()  # all of them may be in the region
        if self._goes_there and self._session.opened is not None:
            graph, region = self._session.opened.graph, self._session.region
            self._picture.look_at(region_parts(graph, region))

    def _on_sight(self, region: PathRegion | None) -> None:
        if region is not None and region != self._session.region and self._session.is_split:
            self._own_region = region
            self._session.region = region

    def _follow_picked(self, *_events: Any) -> None:
        nodes = self._session.picked
        mark = Mark(nodes, PICKED_COLOUR) if len(nodes) else None
        self._picture.set_mark(PICKED_MARK, mark)
        self._follow_lit()

    def _follow_lit(self, *_events: Any) -> None:
        """Mark highlights above everything else: marks are drawn in the order they were set."""
        shown = self._session.highlights.shown
        for place in range(max(len(shown), self._n_marks)):
            lit = shown[place] if place < len(shown) else None
            mark = None if lit is None else Mark(lit.nodes, lit.colour, is_lit=True)
            self._picture.set_mark(f"lit {place}", mark)
        self._n_marks = len(shown)

    def _go_to(self, event: Any) -> None:
        lit, opened = event.new, self._session.opened
        if lit is None or opened is None or not len(lit.nodes):
            return
        if np.array_equal(lit.nodes, self._session.picked):
            self._on_picked()
        region = lit.only_place(opened.graph)
        if region is None:
            self._picture.look_at_nodes(lit.nodes)
        else:
            self._picture.look_at(region_parts(opened.graph, region))


def region_nodes(graph: PangenomeGraph, region: PathRegion) -> np.ndarray:
    """Return the nodes of a region, unique; int64, ascending."""
    return distinct(find_region_steps(graph, region).nodes)


def region_parts(graph: PangenomeGraph, region: PathRegion) -> NodeParts:
    """Return the nodes of a region, with the covered parts of the first and last one.

    Raises
    ------
    ParameterError
        As `find_region_steps`.
    """
    steps = find_region_steps(graph, region)
    if len(steps.nodes) > MAX_PARTS:  # partial first and last nodes are negligible
        return NodeParts(distinct(steps.nodes))
    lengths = graph.node_lengths[steps.nodes]
    ends = np.array([region.start, max(region.end, region.start + 1)]) - steps.positions[:, None]
    shares = np.clip(ends / np.maximum(lengths, 1)[:, None], 0.0, 1.0)
    is_reverse = steps.is_reverse[:, None]
    return NodeParts(steps.nodes, np.where(is_reverse, 1 - shares[:, ::-1], shares))


def region_title(graph: PangenomeGraph, region: PathRegion) -> str:
    """Return a short name of a region, in contig coordinates if the path has them."""
    name = graph.placed_name(graph.find_path(region.path))
    return f"{name.contig}:{name.start + region.start + 1:,}-{name.start + region.end:,}"


def _mark_of(graph: PangenomeGraph, region: PathRegion) -> Mark:
    return Mark(region_nodes(graph, region), REGION_COLOUR, region_title(graph, region))


def find_seen(
    profile: PathProfile, picture: LivePicture, n_nodes: int
) -> tuple[PathProfile, np.ndarray]:
    """Return a path, and its intervals that the picture shows.

    If the picture shows too many nodes to enumerate, no interval is returned.
    """
    nodes = picture.visible_nodes(MAX_VISIBLE_NODES)
    is_seen = np.zeros(n_nodes, bool)
    if len(nodes) < MAX_VISIBLE_NODES or len(nodes) == n_nodes:
        is_seen[nodes] = True
    return profile, profile.find_stretches(is_seen)


def find_sight(graph: PangenomeGraph, path: str, picture: LivePicture) -> PathRegion | None:
    """Return the interval of a path that the picture shows, or None if the path is not visible."""
    if path not in graph.path_names:
        return None
    _, stretches = find_seen(PathProfile.of(graph, path), picture, graph.n_nodes)
    return main_stretch(path, stretches)


def main_stretch(path: str, stretches: np.ndarray) -> PathRegion | None:
    """Return the main interval among many, int64 of shape (n, 2); None without any.

    Intervals are split where a gap exceeds their total length; the part with the most bases is
    returned.
    """
    if not len(stretches):
        return None
    starts, ends = stretches[:, 0], stretches[:, 1]
    lengths = ends - starts
    is_apart = starts[1:] - ends[:-1] > lengths.sum()
    firsts = np.concatenate([[0], np.flatnonzero(is_apart) + 1])
    lasts = np.append(firsts[1:], len(starts)) - 1
    best = int(np.argmax(np.add.reduceat(lengths, firsts)))
    return PathRegion(path, int(starts[firsts[best]]), int(ends[lasts[best]]))
