"""Which genes the hits are named by: those that are open in the tab, or of another file."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.opening.annotation_files import AnnotationFile
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.opening_bar import OpeningBar

NONE, OTHER, OPEN = "", "other", "open"
UPLOADED = "uploaded:"
FORMATS = ".bed,.gff,.gff3,.gtf,.gz"


class GenePicker:
    """A field with the files that are open, and two ways to another one.

    Attributes
    ----------
    choice, path, upload, panel
        The fields, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._files, self._is_following = state, state.gene_files, False
        wide: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width"}
        self.choice = pmui.Select(
            label="Genes at the hits", options={"None": NONE}, value=NONE, margin=(14, 0, 0, 0),
            description="Genes and exons of GFF3, GTF or BED: each hit gets its gene", **wide,
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="Genes on the server", placeholder="/data/genes.gff3.gz",
            description="GFF3, GTF or BED, also .gz. Enter opens it.", margin=(10, 0, 0, 0), **wide,
        )  # fmt: skip
        self.upload = pmui.FileInput(
            label="Upload genes", accept=FORMATS, size="small", variant="text", margin=(2, 0),
            directory=False,
        )  # fmt: skip
        self._other = pmui.Column(
            self.path, self.upload, visible=False, margin=0, sizing_mode="stretch_width"
        )
        bar = OpeningBar(self._files, self._files.cancel, (4, 0))
        self.panel = pmui.Column(
            self.choice, self._other, bar.panel, sizing_mode="stretch_width", margin=0
        )
        self.choice.param.watch(self._take, "value")
        self.path.param.watch(lambda _: self.open(), "enter_pressed")
        self.upload.param.watch(self._take_upload, "value")
        self._files.param.watch(self._follow, "opened")
        state.session.param.watch(self._follow, "annotation_files")
        state.session.tracks.param.watch(self._follow, "files")
        self._follow()

    def open(self) -> None:
        """Open the file that is named."""
        self._files.open(self.path.value_input or self.path.value or "")

    def follow_link(self, source: str) -> None:
        """Take the genes that a link names."""
        if source == GRAPH_SOURCE:
            self._files.take_annotations()
        elif source and source != self._files.source:
            self._files.open(source)

    def _take(self, event: Any) -> None:
        if self._is_following:
            return
        self._other.visible = event.new == OTHER
        if event.new == NONE:
            self._files.close()
        elif event.new == GRAPH_SOURCE:
            self._files.take_annotations()
        elif event.new.startswith(UPLOADED):
            self._files.open_uploaded(event.new.removeprefix(UPLOADED))
        elif event.new not in (OTHER, OPEN):
            self._files.open(event.new)

    def _take_upload(self, event: Any) -> None:
        if event.new:
            self._files.open_upload(self.upload.filename or "genes.bed", event.new)

    def _follow(self, *_events: Any) -> None:
        """Offer what is open, and show what is taken."""
        opened = self._files.opened
        options = {"None": NONE, **self._offered()}
        value = NONE if opened is None else _key_of(opened)
        if value not in options.values():
            options[opened.title] = value = value or OPEN
        self._is_following = True
        try:
            with pn.io.hold():
                self.choice.param.update(options={**options, "Another file": OTHER}, value=value)
                self._other.visible = False
        finally:
            self._is_following = False

    def _offered(self) -> dict[str, str]:
        session = self._state.session
        offered = {}
        if session.annotation_files.files:
            offered["Annotations of the graph"] = GRAPH_SOURCE
        for file in session.tracks.files:
            if file.data.kind is TrackKind.FEATURES:
                offered[f"Track {file.title}"] = file.source or f"{UPLOADED}{file.title}"
        return offered


def _key_of(file: AnnotationFile) -> str:
    return file.source or f"{UPLOADED}{file.title}"
