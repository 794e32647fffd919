"""What the path view shows, as its jobs compute it."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.paths.annotation_boxes import boxes_on_path
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.plots.annotation_rows import NO_BOXES
from genoviz_app.plots.path_track import TrackContent

MAX_VISIBLE_NODES = 2_000_000


def read_path(
    graph: PangenomeGraph, name: str, annotations: PlacedAnnotations | None
) -> TrackContent:
    """Return depth, strand and annotations of a path."""
    profile = PathProfile.of(graph, name)
    parts = graph.parsed_path_names[profile.path]
    boxes = NO_BOXES if annotations is None else boxes_on_path(annotations, profile.path)
    return TrackContent(profile, boxes, parts.contig if parts.start else "", parts.start)


def find_seen(
    profile: PathProfile, picture: LivePicture, n_nodes: int
) -> tuple[PathProfile, np.ndarray]:
    """Return a path, and which stretches of it the picture shows.

    Where the picture shows more nodes than can be told one by one, no stretch is returned.
    """
    nodes = picture.visible_nodes(MAX_VISIBLE_NODES)
    is_seen = np.zeros(n_nodes, bool)
    if len(nodes) < MAX_VISIBLE_NODES or len(nodes) == n_nodes:
        is_seen[nodes] = True
    return profile, profile.find_stretches(is_seen)
