"""Annotations of paths: opened from files, listed, and drawn on a path and on the layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.analyses.graph.picture.palettes import DARK
from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.errors import ParameterError
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.marks import NodeLabel
from genoviz_app.parts.annotation_colours import colours_of
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.picker_fields import UploadField
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NOTICES
from genoviz_app.parts.words import n_words, notices_html, plain_text
from genoviz_app.plots.annotation_rows import AnnotationBoxes
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

LABELS, MAX_LABELS = "annotations", 300
UPLOAD_MEGABYTES = 200
NOTHING_OPEN = "Add a BED, GFF3 or GTF file to place its genes on the paths of the graph."
NO_GRAPH = "Open a graph first. Then add annotations of its paths here."
COLUMNS = (
    Column("Name", share=2),
    Column("Type"),
    Column("Path", share=3),
    Column("Start (bp)", is_number=True, min_width=POSITION),
    Column("End (bp)", is_number=True, min_width=POSITION),
    Column("Length (bp)", is_number=True, is_spare=True),
    Column("Strand"),
    Column("On its contig", share=2, is_spare=True),
)
STRANDS = {1: "+", -1: "-", 0: ""}


class AnnotationList:
    """The list of open annotations.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    table
        One row for each position of an annotation on a path.
    labels, colours
        The switches for labels and colours on the layout.
    """

    title = "Annotations"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self.table = RemoteTable(COLUMNS, placeholder="Name or type", on_row=self._on_row)
        self.path = pmui.TextInput(
            label="Path on the server",
            placeholder="/data/genes.gff3.gz",
            size="small",
            sizing_mode="stretch_width",
            description="A BED, GFF3 or GTF file, plain or gzipped. Press Enter to add it.",
            margin=(8, 6, 4, 0),
        )
        self.add_button = pmui.Button(
            label="Add", size="small", variant="outlined", margin=(10, 0, 0, 0)
        )
        self.upload = UploadField(
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
            description="Show the names of annotations next to their nodes",
            margin=(4, 10, 0, 0),
        )
        self.colours = pmui.Switch(
            label="Colours",
            value=False,
            size="small",
            description="Colour the nodes by their annotations",
            margin=(4, 0, 0, 0),
        )
        self._chosen: int | None = None
        self.light = light_button(
            session, self._lit, "the annotation that was clicked", icon=None, margin=(4, 0, 0, 8)
        )
        self.files = pn.FlexBox(sizing_mode="stretch_width", margin=(2, 0))
        self.summary = pmui.Typography("", variant="caption", margin=(0, 0, 4, 0))
        self.notes = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width", margin=0)
        self.panel = self._arrange()
        self._rows = Question(session, "list of annotations", self._on_rows)
        self._names = Question(session, "names of annotations", self._on_labels)
        self._nodes = Question(session, "nodes of an annotation", view.picture.look_at_nodes)
        view.picture.on_label(self._on_label)
        self.path.param.watch(self._open_path, "enter_pressed")
        self.add_button.on_click(self._open_path)
        self.upload.param.watch(self._on_upload, "value")
        self.labels.param.watch(lambda _: self._show_labels(), "value")
        self.colours.param.watch(self._on_colours, "value")
        session.param.watch(lambda _: self._show(), "annotation_files")
        self._show()

    def set_graph(self, _graph: PangenomeGraph | None) -> None:
        """Show the annotations of the new graph, which the session has."""
        self._nodes.drop()
        self._show()

    def open_file(self, path: str) -> None:
        """Start to add the annotations of a file on the server."""
        self._session.open(path)

    def poll(self) -> None:
        """Return whether the picture is coloured by annotations; called while this is shown."""
        is_coloured = self._view.picture.choice.mode == "annotation"
        if self.colours.value != is_coloured:
            self.colours.value = is_coloured

    def _arrange(self) -> pmui.Row:
        left = pmui.Column(
            pmui.FlexBox(self.labels, self.colours, self.light, margin=0),
            pmui.Row(self.path, self.add_button, sizing_mode="stretch_width", margin=0),
            self.upload,
            self.files,
            self.summary,
            self.notes,
            width=320,
            sizing_mode="stretch_height",
            styles={"overflow-y": "auto", "overflow-x": "hidden"},
            stylesheets=[":host > div { width: 100% !important; }"],  # excludes the scroll bar
            margin=(2, 6, 0, 12),
        )
        return pmui.Row(left, self.table.panel, sizing_mode="stretch_both", margin=0)

    def _open_path(self, _event: Any) -> None:
        text = (self.path.value_input or self.path.value).strip()
        if text:
            self.open_file(text)

    def _on_upload(self, event: Any) -> None:
        if event.new:
            self._session.graphs.queue_uploads(event.new)
            self.upload.value = {}  # queued by now; the field would keep a copy in memory

    def _show(self) -> None:
        """Show the open files, and request their rows."""
        opened, placed = self._session.annotation_files, self._session.annotation_files.placed
        self._rows.drop()
        self._chosen = None
        self.labels.disabled = self.colours.disabled = placed is None
        self.files.objects = [self._file_chip(file) for file in opened.files]
        self._show_labels()
        if placed is None:
            no_graph = self._session.without_graph(NO_GRAPH)
            self.table.clear(no_graph if self._session.opened is None else NOTHING_OPEN)
            self.summary.object = self.notes.object = ""
            return
        self.summary.object = summary_text(placed)
        self.notes.object = notices_html((*placed.annotations.notes, *placed.notes))
        self._rows.ask(annotation_rows, placed)

    def _file_chip(self, file: Any) -> pmui.Row:
        close = pmui.IconButton(
            icon="close", size="14px", margin=0, color="default",
            description=f"Take {file.title} away",
        )  # fmt: skip
        close.on_click(lambda _: self._session.graphs.close_annotations(file))
        title = plain_text(f"{file.title} ({len(file.annotations):,})")
        text = pmui.Typography(title, variant="caption", margin=(4, 0, 0, 0))
        return pmui.Row(text, close, margin=(0, 8, 0, 0))

    def _on_rows(self, rows: TableRows) -> None:
        self.table.show(rows)

    def _show_labels(self) -> None:
        placed = self._session.annotation_files.placed
        self._names.drop()
        if placed is not None and self.labels.value:
            self._names.ask(labels_of, placed)
        else:
            self._on_labels([])

    def _on_labels(self, labels: list) -> None:
        self._view.picture.set_labels(LABELS, labels)

    def _on_colours(self, event: Any) -> None:
        is_coloured = self._view.picture.choice.mode == "annotation"
        if event.new != is_coloured:
            self._view.bar.colours.choose(ColourChoice("annotation" if event.new else "density"))

    def _on_row(self, row: int) -> None:
        """Make a position the region, and show it in the layout."""
        if self._choose(row):
            self._nodes.ask(self._session.annotation_files.placed.nodes, row)

    def _on_label(self, place: int) -> None:
        """Make a position the region, and show it in the list; the picture stays where it is."""
        if self._choose(place):
            self.table.select(place)

    def _choose(self, place: int) -> bool:
        """Make a position the region; return whether it exists."""
        placed = self._session.annotation_files.placed
        if placed is None or not 0 <= place < len(placed):
            return False
        start, end = int(placed.starts[place]), int(placed.ends[place])
        path = placed.graph.path_names[placed.paths[place]]
        self._session.region, self._chosen = PathRegion(path, start, end), place
        return True

    def _lit(self) -> Highlight:
        """Return all positions of the selected annotation as a highlight."""
        placed, row = self._session.annotation_files.placed, self._chosen
        if placed is None or row is None or row >= len(placed):
            raise ParameterError("no annotation is chosen; click one in the table")
        name = annotation_name(placed, placed.rows[row])
        rows = np.flatnonzero(placed.rows == placed.rows[row])
        intervals = Intervals(
            placed.graph.path_names,
            placed.paths[rows].astype(np.int32),
            placed.starts[rows].astype(np.int64),
            placed.ends[rows].astype(np.int64),
        )
        return Highlight(name, "place", intervals)


def annotation_rows(placed: PlacedAnnotations) -> TableRows:
    """Return one row per position, up to the table's limit; 1-based on the path."""
    rows, paths = placed.rows[:MAX_ROWS], placed.paths[:MAX_ROWS]
    starts, ends = placed.starts[:MAX_ROWS], placed.ends[:MAX_ROWS]
    annotations, graph = placed.annotations, placed.graph
    names = [annotation_name(placed, row) for row in rows.tolist()]
    types = [annotations.types[row] for row in rows.tolist()]
    firsts = graph.path_starts[paths]
    contigs = [graph.parsed_path_names[path].contig for path in paths.tolist()]
    frame = pd.DataFrame(
        {
            "Name": pd.Series(names, dtype=object),
            "Type": pd.Series(types, dtype=object),
            "Path": pd.Series([graph.path_names[path] for path in paths.tolist()], dtype=object),
            "Start (bp)": starts + 1,
            "End (bp)": ends,
            "Length (bp)": ends - starts,
            "Strand": pd.Series([STRANDS[s] for s in annotations.strands[rows]], dtype=object),
            "On its contig": pd.Series(
                [
                    f"{contig}:{start + 1:,}-{end:,}" if first else ""
                    for contig, first, start, end in zip(
                        contigs,
                        firsts.tolist(),
                        (starts + firsts).tolist(),
                        (ends + firsts).tolist(),
                        strict=True,
                    )
                ],
                dtype=object,
            ),
        }
    )
    words, codes = np.unique(
        np.array([f"{n}\t{t}".lower() for n, t in zip(names, types, strict=True)], dtype=np.str_),
        return_inverse=True,
    )
    n_more = len(placed) - len(frame)
    note = f"the first of {len(placed):,}; Find looks through all" if n_more else ""
    hidden = [title for title in ("Type", "Strand", "On its contig") if (frame[title] == "").all()]
    return TableRows(frame, words, codes, note, tuple(hidden))


def summary_text(placed: PlacedAnnotations) -> str:
    """Return the number of annotations on paths, as one sentence."""
    n_placed, n_all = len(distinct(placed.rows)), len(placed.annotations)
    text = f"{n_placed:,} of {n_words(n_all, 'annotation')} lie on paths"
    more = len(placed) - n_placed
    return f"{text}, {n_words(len(placed), 'place')} in all." if more else f"{text}."


def annotation_name(placed: PlacedAnnotations, row: int) -> str:
    """Return the display name of a row: its name, or else its type."""
    return placed.annotations.names[row] or placed.annotations.types[row] or "no name"


def boxes_on_path(placed: PlacedAnnotations, path: int) -> AnnotationBoxes:
    """Return the annotations on a path."""
    places = np.flatnonzero(placed.paths == path)
    rows = placed.rows[places].tolist()
    return AnnotationBoxes(
        placed.starts[places],
        placed.ends[places],
        names=[annotation_name(placed, row) for row in rows],
        colours=colours_of(placed)[places].tolist(),
        details=[describe_place(placed, place) for place in places.tolist()],
    )


def describe_place(placed: PlacedAnnotations, place: int) -> str:
    """Return the position of an annotation on its path, for a tooltip."""
    start, end, row = placed.starts[place], placed.ends[place], placed.rows[place]
    parts = [
        placed.annotations.types[row],
        f"{start + 1:,} to {end:,} ({end - start:,} bp)",
        STRANDS[int(placed.annotations.strands[row])],
        "cut off at the path's end" if placed.is_clipped[place] else "",
    ]
    return ", ".join(part for part in parts if part)


def middle_node(placed: PlacedAnnotations, place: int) -> int:
    """Return the node of the middle step of a position."""
    first, stop = placed.step_ranges[place].tolist()
    return int(placed.graph.steps[(first + max(stop - 1, first)) // 2] >> 1)


def labels_of(placed: PlacedAnnotations, *, limit: int = MAX_LABELS) -> list[NodeLabel]:
    """Return one label per annotation, even if it has positions on several paths.

    If there are more than ``limit`` annotations, the longest are labelled.
    """
    _rows, firsts = np.unique(placed.rows, return_index=True)
    lengths = placed.ends[firsts] - placed.starts[firsts]
    chosen = firsts[np.argsort(-lengths, kind="stable")[:limit]]
    colours = colours_of(placed)
    colours = np.where(colours == DARK.other, DARK.everything, colours)  # too faint for text
    return [
        NodeLabel(
            middle_node(placed, place),
            annotation_name(placed, placed.rows[place]),
            colours[place],
            key=place,
        )
        for place in chosen.tolist()
    ]
