"""Depth of sets of paths along the path that is shown, as tracks: who picks a set gets one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from genoviz.analyses.graph.query.path_depth import path_depth_along
from genoviz.analyses.graph.query.path_groups import GROUPINGS, group_paths
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.opening.track_data import TrackData, TrackKind, prepare
from genoviz_app.pages.tracks.track import Track, new_look
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

MAX_SETS = 20


@dataclass(frozen=True)
class PathSet:
    """Paths by name, or by the sample or haplotype that they are of."""

    by: str
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PathSet:
        """Return the set that a link names, as ``sample:HG002`` or ``path:a|b``.

        Raises
        ------
        ParameterError
            If it names none.
        """
        by, _, names = text.partition(":")
        if by not in GROUPINGS or not names:
            known = ", ".join(GROUPINGS)
            raise ParameterError(f"{text!r} is no set of paths; needs one of {known}, and names")
        return cls(by, tuple(unquote(name) for name in names.split("|")))

    def __str__(self) -> str:
        return f"{self.by}:{'|'.join(quote(name, safe='#:+-. ') for name in self.names)}"

    @property
    def title(self) -> str:
        """What the track is called."""
        if len(self.names) == 1:
            return f"Depth of {self.names[0].replace(',', ' ')}"
        first = self.names[0].replace(",", " ")
        return f"Depth of {first} and {len(self.names) - 1} more"

    def paths_of(self, graph: PangenomeGraph) -> list[int]:
        """Return the paths of a graph that belong to the set.

        Raises
        ------
        ParameterError
            If the graph has no such path, sample or haplotype.
        """
        chosen = group_paths(graph, self.by).select(self.names).of_path
        return [path for path, group in enumerate(chosen.tolist()) if group >= 0]


def set_of_names(graph: PangenomeGraph, names: Sequence[str], by: str) -> PathSet:
    """Return the set of names that a person has chosen or pasted.

    Raises
    ------
    ParameterError
        If there are no names, or the graph has not all of them.
    """
    found = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not found:
        raise ParameterError(f"no {by} is named; choose or paste names")
    wanted = PathSet(by, found)
    wanted.paths_of(graph)
    return wanted


class PathDepths:
    """The depth tracks that a person has added.

    Parameters
    ----------
    changed
        Called when there are other tracks, or one has become ready.
    """

    def __init__(self, session: Session, tracks: TrackList, changed: Callable[[], None]) -> None:
        self._session, self._tracks, self._changed = session, tracks, changed
        self._path = ""
        self._questions: dict[int, Question] = {}
        self._of_track: dict[int, tuple[Track, PathSet]] = {}
        session.param.watch(lambda _: self._forget(), "opened")

    @property
    def sets(self) -> tuple[PathSet, ...]:
        """Of the tracks that are there, in their order."""
        return tuple(
            self._of_track[id(track)][1] for track in self._tracks if id(track) in self._of_track
        )

    def add(self, wanted: PathSet) -> None:
        """Add a track, below the other depths.

        Raises
        ------
        ParameterError
            If there are too many, or the graph has no such paths.
        """
        graph = self._tracks.graph
        if graph is None:
            raise ParameterError("no graph is open; open one first")
        wanted.paths_of(graph)
        if wanted in self.sets:
            return
        if len(self.sets) >= MAX_SETS:
            raise ParameterError(f"there are {MAX_SETS} depths already; take one away first")
        tracks = self._tracks.tracks
        look = new_look(TrackKind.SIGNAL, len(tracks))
        track = Track(wanted.title, None, look)
        self._of_track[id(track)] = (track, wanted)
        places = [k for k, other in enumerate(tracks) if other.title.startswith("Depth of ")]
        tracks.insert(places[-1] + 1 if places else 0, track)
        self._path = ""
        self._changed()

    def show_path(self, path: str) -> None:
        """Have the depths counted along another path; called again and again."""
        graph = self._tracks.graph
        if graph is None or path == self._path:
            return
        self._path = path
        for track in self._tracks:
            if id(track) in self._of_track:
                track.data = None
                track.forget()
                track.is_waiting = path in graph.path_names
                if id(track) in self._questions:
                    self._questions[id(track)].drop()
                if track.is_waiting:
                    self._ask(graph, path, track)

    def poll(self) -> None:
        """Take over what has become ready."""
        for question in [*self._questions.values()]:
            question.poll()

    def _ask(self, graph: PangenomeGraph, path: str, track: Track) -> None:
        def take(data: TrackData) -> None:
            track.data = data
            track.forget()
            self._changed()

        if id(track) not in self._questions:
            self._questions[id(track)] = Question(
                self._session, f"{track.title} along a path", take
            )
        wanted = self._of_track[id(track)][1]
        self._questions[id(track)].ask(_depth_of, graph, path, wanted)

    def _forget(self) -> None:
        """Take all tracks away: the graph is another."""
        for question in self._questions.values():
            question.drop()
        gone = {id(track) for track, _ in self._of_track.values()}
        self._tracks.tracks[:] = [t for t in self._tracks if id(t) not in gone]
        self._questions, self._of_track, self._path = {}, {}, ""
        self._changed()


def _depth_of(graph: PangenomeGraph, path: str, wanted: PathSet) -> TrackData:
    return prepare(path_depth_along(graph, path, wanted.paths_of(graph)), "bedgraph")
