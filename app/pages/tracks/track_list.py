"""The list of tracks, from files and the open graph, with their order and shared lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.path_depth import path_depth_along
from genoviz.io.intervals.intervals import SplitIntervals
from genoviz.model import Intervals, PangenomeGraph
from genoviz.model.intervals.intervals import aliases
from genoviz_app.opening.track_data import TrackData, TrackKind, feature_data, prepare
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.tracks.track import Track, TrackLook, new_look
from genoviz_app.parts.annotation_colours import colours_of
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

DEPTH_TITLE, ANNOTATIONS_TITLE = "Depth of paths", "Annotations"


class TrackList:
    """The tracks, synchronized with the session.

    Parameters
    ----------
    session
        Has the files and the graph.
    changed
        Called when tracks have changed, or one has become ready.
    """

    def __init__(self, session: Session, changed: Callable[[], None]) -> None:
        self._session, self._changed = session, changed
        self._n_made = 0
        self._path = ""
        self.tracks: list[Track] = []
        self._depth: Track | None = None
        self._annotations: Track | None = None
        self._depths = Question(session, "depth along a path", self._on_depth)
        self._places = Question(session, "annotations as a track", self._on_annotations)
        session.tracks.param.watch(lambda _: self._follow_files(), "files")
        session.param.watch(lambda _: self._follow_graph(), "opened")
        session.param.watch(lambda _: self._follow_annotations(), "annotation_files")
        self._follow_files()
        self._follow_graph()
        self._follow_annotations()

    def __iter__(self) -> Iterator[Track]:
        return iter(self.tracks)

    def __len__(self) -> int:
        return len(self.tracks)

    @property
    def graph(self) -> PangenomeGraph | None:
        """The open graph, or None."""
        opened = self._session.opened
        return None if opened is None else opened.graph

    def contigs(self) -> dict[str, int]:
        """Return the length of each displayable contig and path, bp.

        A contig that two files name differently appears once, under the name in the first file.
        """
        found: dict[str, int] = {}
        busy = [track for track in self.tracks if track.file is not None and track.data]
        for track in sorted(busy, key=lambda track: track.data.kind is TrackKind.FEATURES):
            counts = track.data.counts
            for name, length in track.data.contig_lengths.items():
                known = next((n for n in (name, *aliases(name)) if n in found), name)
                if counts[name] or known in found:
                    found[known] = max(found.get(known, 0), length)
        if self.graph is not None:
            lengths = self.graph.path_lengths.tolist()
            paths = dict(zip(self.graph.path_names, lengths, strict=True))
            found = {**found, **paths}
        return {name: length for name, length in found.items() if length > 0}

    def show_path(self, contig: str) -> None:
        """Compute the depth of the open graph's paths along one of them."""
        graph = self.graph
        if graph is None or self._depth is None or contig == self._path:
            return
        self._path = contig
        self._depth.data = None
        self._depth.is_waiting = contig in graph.path_names
        self._depths.drop()
        if self._depth.is_waiting:
            self._depths.ask(_depth_along, graph, contig)

    def move(self, track: Track, step: int) -> None:
        """Move a track up (-1) or down (1)."""
        place = self.tracks.index(track) + step
        put(self.tracks, track, min(max(place, 0), len(self.tracks) - 1))
        self._changed()

    def place(self, track: Track, before: Track | None) -> None:
        """Move a track before another one, or to the end."""
        put_before(self.tracks, track, before)
        self._changed()

    def overlay(self, track: Track, other: Track) -> None:
        """Draw a track over another one, in its lane."""
        put_over(self.tracks, track, other)
        self._changed()

    def remove(self, track: Track) -> None:
        """Remove a track and close its file."""
        take_out(self.tracks, track)
        if track.file is not None:
            self._session.tracks.close(track.file)
        self._changed()

    def _follow_files(self) -> None:
        files = self._session.tracks.files
        looks = {(t.file.source, t.title): t.look for t in self.tracks if t.file is not None}
        kept = [t for t in self.tracks if t.file is None or t.file in files]
        known = {id(t.file) for t in kept}
        for file in files:
            if id(file) not in known:
                look = looks.get((file.source, file.title)) or self._look(file.data.kind)
                kept.append(Track(file.title, file.data, look, file))
        self.tracks = kept
        self._place_paths()
        self._changed()

    def _follow_graph(self) -> None:
        self._drop(self._depth)
        self._depth, self._path = None, ""
        self._depths.drop()
        if self.graph is not None:
            self._depth = Track(DEPTH_TITLE, None, self._look(TrackKind.SIGNAL))
            self.tracks.insert(0, self._depth)
        self._place_paths()
        self._changed()

    def _place_paths(self) -> None:
        for track in self.tracks:
            if track.graph is not self.graph:
                track.graph = self.graph
                track.forget()

    def _follow_annotations(self) -> None:
        placed = self._session.annotation_files.placed
        self._drop(self._annotations)
        self._annotations = None
        self._places.drop()
        if placed is not None and len(placed):
            self._annotations = Track(ANNOTATIONS_TITLE, None, self._look(TrackKind.FEATURES))
            self.tracks.insert(int(self._depth is not None), self._annotations)
            self._places.ask(annotation_data, placed)
        self._place_paths()
        self._changed()

    def _on_depth(self, answer: TrackData) -> None:
        if self._depth is not None:
            self._depth.data = answer
            self._depth.forget()
            self._changed()

    def _on_annotations(self, answer: TrackData) -> None:
        if self._annotations is not None:
            self._annotations.data = answer
            self._annotations.forget()
            self._changed()

    def _drop(self, track: Track | None) -> None:
        if track in self.tracks:
            self.tracks.remove(track)

    def _look(self, kind: TrackKind) -> TrackLook:
        self._n_made += 1
        return new_look(kind, self._n_made - 1)


def _depth_along(graph: PangenomeGraph, path: str) -> TrackData:
    return prepare(path_depth_along(graph, path), "bedgraph")


def annotation_data(placed: PlacedAnnotations) -> TrackData:
    """Convert placed annotations to features on their paths."""
    annotations = placed.annotations
    intervals = Intervals(
        placed.graph.path_names,
        placed.paths.astype(np.int32),
        placed.starts.astype(np.int64),
        placed.ends.astype(np.int64),
        strands=annotations.strands[placed.rows],
        names=annotations.names.take(placed.rows),
        scores=annotations.scores[placed.rows],
        contig_lengths=placed.graph.path_lengths,
    )
    numbers = [int(colour[1:], 16) for colour in colours_of(placed).tolist()]
    blocks = placed.blocks if len(annotations.blocks) else None
    table = FeatureTable.of(intervals, colours=np.array(numbers, np.int32), blocks=blocks)
    split = None if blocks is None else SplitIntervals(*table.split())
    return feature_data(table, split, placed.notes)


def put(tracks: list[Track], track: Track, place: int) -> None:
    """Move a track to an index among the others, and give it its own lane."""
    take_out(tracks, track)
    track.look.is_overlay = False
    follower = tracks[place] if place < len(tracks) else None
    tracks.insert(place, track)
    if follower is not None and follower.look.is_overlay:
        # It was inserted into a shared lane; the tracks below would be drawn over it.
        follower.look.is_overlay = False


def put_before(tracks: list[Track], track: Track, other: Track | None) -> None:
    """Move a track before another one, or to the end."""
    if track is other:
        return
    rest = [t for t in tracks if t is not track]
    put(tracks, track, rest.index(other) if other is not None else len(rest))


def put_over(tracks: list[Track], track: Track, other: Track) -> None:
    """Move a track after another one, and draw it in the same lane."""
    if track is other:
        return
    take_out(tracks, track)
    tracks.insert(tracks.index(other) + 1, track)
    track.look.is_overlay = True
    track.look.is_hidden = False


def take_out(tracks: list[Track], track: Track) -> None:
    """Remove a track; tracks drawn over it keep the lane."""
    place = tracks.index(track)
    tracks.pop(place)
    if place < len(tracks) and not track.look.is_overlay:
        tracks[place].look.is_overlay = False
