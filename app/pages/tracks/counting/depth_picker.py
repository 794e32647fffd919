"""Fields that pick a set of paths, whose depth along the shown path becomes a track."""

from __future__ import annotations

import re
from typing import Any

import panel_material_ui as pmui

from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.errors import GenovizError
from genoviz.model import PangenomeGraph
from genoviz_app.pages.tracks.counting.path_depths import PathDepths, set_of_names
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

GROUPS = {"Samples": "sample", "Haplotypes": "haplotype", "Paths": "path"}
MAX_OPTIONS = 2000
WIDE: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (12, 0, 0, 0)}


class DepthPicker:
    """Shown while a graph is open.

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
            description="With commas between them; a pasted list may have a name on each line.",
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
        self._question = Question(session, "names of paths", self._take_names)
        self.by.param.watch(lambda _: self._ask(), "value")
        self.button.on_click(lambda _: self.add())
        self.pasted.param.watch(lambda _: self.add(), "enter_pressed")

    def follow(self) -> None:
        """Show the fields for another graph."""
        graph = self._tracks.graph
        if graph is self._graph:
            return
        self._graph = graph
        self.panel.visible = graph is not None
        self._ask()

    def poll(self) -> None:
        """Take over what has become ready."""
        self._question.poll()

    def add(self) -> None:
        """Add the track that the fields say; what is wrong is told."""
        if self._graph is None:
            return
        pasted = self.pasted.value_input or self.pasted.value or ""
        names = [*self.names.value, *re.split(r"[,\n\t;]", pasted)]
        self._session.problem = ""
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

    def _take_names(self, names: list[str]) -> None:
        self.names.options = names


def _names_of(graph: PangenomeGraph, by: str) -> list[str]:
    return list(group_paths(graph, by).names[:MAX_OPTIONS])
