"""Annotations of the paths: added from files, listed, labelled and coloured on the layout."""

from __future__ import annotations

from collections import deque
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.annotation_boxes import labels_of
from genoviz_app.pages.pangenome.paths.annotation_table import (
    COLUMNS,
    annotation_rows,
    summary_text,
)
from genoviz_app.parts.notices import notices_html
from genoviz_app.parts.plain_text import plain_text
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import RemoteTable, TableRows
from genoviz_app.parts.styles import NOTICES
from genoviz_app.session.session import Session

LABELS, MAX_LABELS = "annotations", 300
UPLOAD_MEGABYTES = 200
NOTHING_OPEN = "Add a BED, GFF3 or GTF file: its genes are found on the paths of the graph."
NO_GRAPH = "Open a graph first; then annotations of its paths can be added here."


class AnnotationList:
    """The annotations that are open.

    Attributes
    ----------
    title, panel
        Name and Panel object of the tab.
    table
        One row for each place of an annotation on a path.
    labels, colours
        The switches for names and colours on the layout.
    """

    title = "Annotations"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._uploads: deque[tuple[str, bytes]] = deque()
        self.table = RemoteTable(COLUMNS, placeholder="Search name or type", on_row=self._take_row)
        self.path = pmui.TextInput(
            label="Path on the server",
            placeholder="/data/genes.gff3.gz",
            size="small",
            sizing_mode="stretch_width",
            description="A BED, GFF3 or GTF file, plain or gzipped. Enter adds it.",
            margin=(8, 6, 4, 0),
        )
        self.add_button = pmui.Button(
            label="Add", size="small", variant="outlined", margin=(10, 0, 0, 0)
        )
        self.upload = pn.widgets.FileDropper(
            multiple=True,
            max_file_size=f"{UPLOAD_MEGABYTES}MB",
            layout="compact",
            height=58,
            sizing_mode="stretch_width",
            margin=(2, 0, 2, 0),
        )
        self.labels = pmui.Switch(
            label="Names",
            value=True,
            size="small",
            description="Write the names beside the nodes",
            margin=(4, 10, 0, 0),
        )
        self.colours = pmui.Switch(
            label="Colours",
            value=False,
            size="small",
            description="Colour the nodes by their annotations",
            margin=(4, 0, 0, 0),
        )
        self.files = pn.FlexBox(sizing_mode="stretch_width", margin=(2, 0))
        self.summary = pmui.Typography("", variant="caption", margin=(0, 0, 4, 0))
        self.notes = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width", margin=0)
        self.panel = self._arrange()
        self._rows = Question(session, "list of annotations", self._take_rows)
        self._names = Question(session, "names of annotations", self._take_labels)
        self._nodes = Question(session, "nodes of an annotation", view.picture.look_at_nodes)
        self.path.param.watch(self._open_path, "enter_pressed")
        self.add_button.on_click(self._open_path)
        self.upload.param.watch(self._take_upload, "value")
        self.labels.param.watch(lambda _: self._show_labels(), "value")
        self.colours.param.watch(self._take_colours, "value")
        session.param.watch(lambda _: self._show(), "annotation_files")
        self._show()

    def set_graph(self, _graph: PangenomeGraph | None) -> None:
        """Another graph is open; its annotations are the session's."""
        self._uploads.clear()
        self._show()

    def open_file(self, path: str) -> None:
        """Begin to add the annotations of a file on the server."""
        self._session.open(path)

    def poll(self) -> None:
        """Show what the jobs have found, and open the next upload."""
        for question in (self._rows, self._names, self._nodes):
            question.poll()
        if self._uploads and self._session.opening is None:
            self._session.open_upload(*self._uploads.popleft())
        is_coloured = self._view.picture.choice.mode == "annotation"
        if self.colours.value != is_coloured:
            self.colours.value = is_coloured

    def _arrange(self) -> pmui.Row:
        left = pmui.Column(
            pmui.Row(
                pmui.Typography("On the layout", variant="caption", margin=(7, 12, 0, 0)),
                self.labels,
                self.colours,
                margin=0,
            ),
            pmui.Row(self.path, self.add_button, sizing_mode="stretch_width", margin=0),
            self.upload,
            self.files,
            self.summary,
            self.notes,
            width=320,
            sizing_mode="stretch_height",
            styles={"overflow-y": "auto", "overflow-x": "hidden"},
            margin=(2, 6, 0, 12),
        )
        return pmui.Row(left, self.table.panel, sizing_mode="stretch_both", margin=0)

    def _open_path(self, _event: Any) -> None:
        text = (self.path.value_input or self.path.value).strip()
        if text:
            self.open_file(text)

    def _take_upload(self, event: Any) -> None:
        self._uploads.extend((event.new or {}).items())
        if event.new:
            self.upload.value = {}  # queued now; here it would stay in memory

    def _show(self) -> None:
        """Show the files that are open, and have their rows listed."""
        opened, placed = self._session.annotation_files, self._session.annotations
        self._rows.drop()
        self.labels.disabled = self.colours.disabled = placed is None
        self.files.objects = [self._file_chip(file) for file in opened.files]
        self._show_labels()
        if placed is None:
            self.table.clear(NO_GRAPH if self._session.opened is None else NOTHING_OPEN)
            self.summary.object = self.notes.object = ""
            return
        notes = (*placed.annotations.notes, *placed.notes)
        self.summary.object = summary_text(placed)
        self.notes.object = notices_html(notes)
        self._rows.ask(annotation_rows, placed)

    def _file_chip(self, file: Any) -> pmui.Row:
        close = pmui.IconButton(
            icon="close",
            size="14px",
            description=f"Take {file.title} away",
            margin=0,
            color="default",
        )
        close.on_click(lambda _: self._session.close_annotations(file))
        title = plain_text(f"{file.title} ({len(file.annotations):,})")
        text = pmui.Typography(title, variant="caption", margin=(4, 0, 0, 0))
        return pmui.Row(text, close, margin=(0, 8, 0, 0))

    def _take_rows(self, rows: TableRows) -> None:
        self.table.show(rows)

    def _show_labels(self) -> None:
        placed = self._session.annotations
        self._names.drop()
        if placed is not None and self.labels.value:
            self._names.ask(_read_labels, placed)
        else:
            self._take_labels([])

    def _take_labels(self, labels: list) -> None:
        self._view.picture.set_labels(LABELS, labels)

    def _take_colours(self, event: Any) -> None:
        is_coloured = self._view.picture.choice.mode == "annotation"
        if event.new != is_coloured:
            self._view.bar.colours.choose(ColourChoice("annotation" if event.new else "density"))

    def _take_row(self, row: int) -> None:
        """Make a place the region, and show it on the layout."""
        placed = self._session.annotations
        if placed is not None and row < len(placed):
            start, end = int(placed.starts[row]), int(placed.ends[row])
            path = placed.graph.path_names[placed.paths[row]]
            self._session.region = PathRegion(path, start, end)
            self._nodes.ask(placed.nodes, row)


def _read_labels(placed: PlacedAnnotations) -> list:
    return labels_of(placed, limit=MAX_LABELS)
