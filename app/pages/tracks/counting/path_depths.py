"""Tracks of the depth of path sets along the displayed path, and fields to select a set."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import panel_material_ui as pmui

from genoviz.analyses.graph.query.path_depth import path_depth_along
from genoviz.analyses.graph.query.path_groups import GROUPINGS, group_paths
from genoviz.errors import GenovizError, ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.opening.track_data import TrackData, TrackKind, prepare
from genoviz_app.pages.tracks.track import Track, new_look
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

MAX_SETS = 20
GROUPS = {"Samples": "sample", "Haplotypes": "haplotype", "Paths": "path"}
MAX_OPTIONS = 2000
WIDE: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (12, 0, 0, 0)}


@dataclass(frozen=True)
class PathSet:
    """A set of paths, selected by path, sample or haplotype names."""

    by: str
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PathSet:
        """Parse a set in a link: ``sample:HG002`` or ``path:a|b``.

        Raises
        ------
        ParameterError
            If it has no names.
        """
        by, _, names = text.partition(":")
        if by not in GROUPINGS or not names:
            known = ", ".join(GROUPINGS)
            raise ParameterError(f"{text!r} is not a set of paths; needs one of {known}, and names")
        return cls(by, tuple(unquote(name) for name in names.split("|")))

    def __str__(self) -> str:
        return f"{self.by}:{'|'.join(quote(name, safe='#:+-. ') for name in self.names)}"

    @property
    def title(self) -> str:
        """Title of the track."""
        if len(self.names) == 1:
            return f"Depth of {self.names[0].replace(',', ' ')}"
        first = self.names[0].replace(",", " ")
        return f"Depth of {first} and {len(self.names) - 1} more"

    def paths_of(self, graph: PangenomeGraph) -> list[int]:
        """Return the paths of a graph in the set.

        Raises
        ------
        ParameterError
            If the graph has no such path, sample or haplotype.
        """
        chosen = group_paths(graph, self.by).select(self.names).of_path
        return [path for path, group in enumerate(chosen.tolist()) if group >= 0]


def set_of_names(graph: PangenomeGraph, names: Sequence[str], by: str) -> PathSet:
    """Create a set from names that the user selected or pasted.

    Raises
    ------
    ParameterError
        If there are no names, or the graph lacks some of them.
    """
    found = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not found:
        raise ParameterError(f"no {by} is named; choose or paste names")
    wanted = PathSet(by, found)
    wanted.paths_of(graph)
    return wanted


class PathDepths:
    """The depth tracks added by the user.

    Parameters
    ----------
    changed
        Called when tracks have changed, or one has become ready.
    """

    def __init__(self, session: Session, tracks: TrackList, changed: Callable[[], None]) -> None:
        self._session, self._tracks, self._changed = session, tracks, changed
        self._path = ""
        self._questions: dict[int, Question] = {}
        self._of_track: dict[int, tuple[Track, PathSet]] = {}
        session.param.watch(lambda _: self._forget(), "opened")

    @property
    def sets(self) -> tuple[PathSet, ...]:
        """Path sets of the existing tracks, in order."""
        return tuple(
            self._of_track[id(track)][1] for track in self._tracks if id(track) in self._of_track
        )

    def add(self, wanted: PathSet) -> None:
        """Add a track below the other depth tracks.

        Raises
        ------
        ParameterError
            If there are too many tracks, or the graph has no such paths.
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
        """Compute the depths along another path; called repeatedly."""
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

    def _ask(self, graph: PangenomeGraph, path: str, track: Track) -> None:
        def take(data: TrackData) -> None:
            track.data = data
            track.forget()
            self._changed()

        if id(track) not in self._questions:
            self._questions[id(track)] = Question(
                self._session, "depth of paths along a path", take
            )
        wanted = self._of_track[id(track)][1]
        self._questions[id(track)].ask(_depth_of, graph, path, wanted)

    def _forget(self) -> None:
        """Remove all tracks because the graph has changed."""
        for question in self._questions.values():
            question.drop()
        gone = {id(track) for track, _ in self._of_track.values()}
        self._tracks.tracks[:] = [t for t in self._tracks if id(t) not in gone]
        self._questions, self._of_track, self._path = {}, {}, ""
        self._changed()


def _depth_of(graph: PangenomeGraph, path: str, wanted: PathSet) -> TrackData:
    return prepare(path_depth_along(graph, path, wanted.paths_of(graph)), "bedgraph")


class DepthPicker:
    """Fields that add a depth track; visible while a graph is open.

    Attributes
    ----------
    by, names, pasted
        The fields.
    panel
        The Panel object.
    """

    def __init__(self, session: Session, tracks: TrackList, depths: PathDepths) -> None:
        self._session, self._tracks, self._depths = session, tracks, depths
        self._graph: PangenomeGraph | None = None
        self.by = pmui.RadioButtonGroup(
            label="", description="What is chosen", options=GROUPS, value="sample", size="small",
            margin=(6, 0, 0, 0),
        )  # fmt: skip
        self.names = pmui.MultiChoice(
            label="Whose depth",
            options=[],
            value=[],
            searchable=True,
            chip=True,
            sizing_mode="stretch_width",
            margin=(12, 0, 0, 0),
        )
        self.pasted = pmui.TextInput(
            label="Or their names",
            placeholder="HG002, HG00438",
            description="Separated by commas, or one name per line.",
            **WIDE,
        )
        self.button = pmui.Button(
            label="Add depth", size="small", variant="outlined", margin=(6, 0, 0, 0)
        )
        self.panel = pmui.Column(
            pmui.Typography("Depth of some paths", variant="subtitle2", margin=(14, 0, 0, 0)),
            self.by,
            self.names,
            self.pasted,
            self.button,
            visible=False,
            sizing_mode="stretch_width",
            margin=0,
        )
        self._question = Question(session, "names of paths", self._on_names)
        self.by.param.watch(lambda _: self._ask(), "value")
        self.button.on_click(lambda _: self.add())
        self.pasted.param.watch(lambda _: self.add(), "enter_pressed")

    def follow(self) -> None:
        """Update the fields for another graph."""
        graph = self._tracks.graph
        if graph is self._graph:
            return
        self._graph = graph
        self.panel.visible = graph is not None
        self._ask()

    def add(self) -> None:
        """Add the track described by the fields, or report an error."""
        if self._graph is None:
            return
        pasted = self.pasted.value_input or self.pasted.value or ""
        names = [*self.names.value, *re.split(r"[,\n\t;]", pasted)]
        self._session.forget_problem()
        try:
            self._depths.add(set_of_names(self._graph, names, self.by.value))
        except GenovizError as error:
            self._session.complain(f"No depth was added: {error}.")
            return
        self.names.value, self.pasted.value, self.pasted.value_input = [], "", ""

    def _ask(self) -> None:
        self.names.param.update(value=[], options=[])
        if self._graph is not None:
            self._question.ask(_names_of, self._graph, self.by.value)

    def _on_names(self, names: list[str]) -> None:
        self.names.options = names


def _names_of(graph: PangenomeGraph, by: str) -> list[str]:
    return list(group_paths(graph, by).names[:MAX_OPTIONS])
