"""Colour settings of the picture and its legend: a menu of modes, and fields for their details."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Collection
from concurrent.futures import Future
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import MODES, PATH_MODES, ColourChoice
from genoviz.analyses.graph.query.path_groups import GROUPINGS, group_paths
from genoviz.errors import GenovizError
from genoviz.io.graph.node_table import read_node_table
from genoviz.model import PangenomeGraph
from genoviz.model.graph.node_table import NodeTable
from genoviz_app.pages.pangenome.paths.choice import choose_paths, listed_names
from genoviz_app.pages.pangenome.picture.fitting import shape_text
from genoviz_app.pages.pangenome.picture.frame_maker import MAKER, ColouringCache, Shown
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.parts.picker_fields import UploadButton
from genoviz_app.plots.legend import legend_html

log = logging.getLogger(__name__)

SMALL: dict[str, Any] = {"size": "small", "margin": (0, 8, 0, 0)}
WIDE: dict[str, Any] = {**SMALL, "sizing_mode": "stretch_width", "max_width": 420}
LOW = {"& .MuiSelect-select": {"paddingTop": "8px", "paddingBottom": "8px", "minHeight": "0"}}
CUT_OFF = {
    "display": "block",
    "textAlign": "left",
    "whiteSpace": "nowrap",
    "overflow": "hidden",
    "textOverflow": "ellipsis",
    "& .MuiButton-startIcon": {"display": "inline-flex", "verticalAlign": "middle"},
}
MIN_WIDTH = 290
"""Width of the fields of a mode, px; where there is less room they have a line of their own."""
GROUP_MODES = ("paths", "sharing", "class")
KINDS = {
    "Nodes": ("density", "length", "gc", "component"),
    "Paths": (
        *("depth", "path-depth", "copies", "strand", "position"),
        *("paths", "sharing", "class"),
    ),
    "Layout": ("stress",),
    "Other": ("annotation", "table"),
}
GROUP_LABELS = {plural.capitalize(): by for by, plural in GROUPINGS.items()}
ANNOTATE_BY = {"The file's colours, or names": "", "Name": "name", "Type": "type"}
DEFAULT_GROUPS = 5


class ColourBar:
    """Fields for the colours of a picture.

    Attributes
    ----------
    mode
        The menu of modes, for a toolbar.
    details
        The further fields of the mode, to place next to it; hidden if there are none.
    """

    def __init__(self, picture: LivePicture) -> None:
        self._picture = picture
        self._graph: PangenomeGraph | None = None
        self._is_setting = False
        self.mode = pmui.Select(
            label="Colour by",
            groups=offered_groups(),
            value="density",
            width=200,
            **SMALL,
        )
        self.path = pmui.Select(label="Path", options=[], searchable=True, **WIDE)
        self.group_by = pmui.Select(
            label="Group by", options=GROUP_LABELS, value="path", width=118, **SMALL
        )
        self.groups = choose_paths(
            label="Groups",
            placeholder="all",
            description="Groups to colour; all if none is chosen",
            chip=False,
            sx=LOW,
            **{name: value for name, value in WIDE.items() if name != "size"},
        )
        self.annotate_by = pmui.Select(label="Colours from", options=ANNOTATE_BY, value="", **WIDE)
        self.column = pmui.Select(label="Column", options=[], **WIDE)
        self.file = UploadButton(
            label="Load",
            accept=".csv,.tsv,.txt,.gz",
            description="CSV or TSV: node names in the first column; values, colours (#rrggbb "
            "or names) or labels in the others; header optional",
            size="small",
            variant="outlined",
            width=150,
            margin=(2, 8, 0, 0),
            sx=CUT_OFF,
        )
        self.problem = ""
        self.reading: Future | None = None
        self._fields = {
            self.file: ("table",),
            self.path: ("position",),
            self.group_by: GROUP_MODES,
            self.groups: GROUP_MODES,
            self.annotate_by: ("annotation",),
            self.column: ("table",),
        }
        self.details = pmui.Row(
            visible=False, sizing_mode="stretch_width", min_width=MIN_WIDTH, margin=0
        )
        self.mode.param.watch(self._on_mode, "value")
        self.group_by.param.watch(self._on_grouping, "value")
        self.file.param.watch(self._on_file, "value")
        for field in (self.path, self.groups, self.annotate_by, self.column):
            field.param.watch(self._on_change, "value")

    @property
    def choice(self) -> ColourChoice:
        """The current colour choice."""
        mode = self.mode.value
        paths = {"position": (self.path.value,)}
        if mode in GROUP_MODES:
            paths[mode] = tuple(self.groups.value or ())
        return ColourChoice(
            mode=mode,
            paths=tuple(filter(None, paths.get(mode, ()))),
            group_by=self.group_by.value if mode in GROUP_MODES else "path",
            column=(self.column.value or "") if mode == "table" else "",
            annotate_by=self.annotate_by.value if mode == "annotation" else "",
        )

    def choose(self, choice: ColourChoice) -> None:
        """Show a choice in the fields, and apply it."""
        self._is_setting = True
        with pn.io.hold():
            self.mode.value = choice.mode
            if choice.mode == "position" and choice.paths:
                self.path.value = choice.paths[0]
            elif choice.mode in GROUP_MODES:
                self.group_by.value = choice.group_by
                self._offer_groups()
                self.groups.value = [name for name in choice.paths if name in self.groups.options]
            elif choice.mode == "annotation":
                self.annotate_by.value = choice.annotate_by
            elif choice.mode == "table" and choice.column:
                self.column.value = choice.column
            self._show_details()
        self._is_setting = False
        self._publish(choice)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the modes of another graph."""
        self._graph = graph
        names = listed_names(graph.path_names if graph else ())
        self._picture.colourings.table = None
        self._is_setting = True
        with pn.io.hold():
            self.path.param.update(options=names, value=names[0] if names else None)
            self._offer_groups()
            self.column.param.update(options=[], value=None)
            self._offer_modes()
            self._show_details()
        self._is_setting = False
        self._publish(self.choice)

    def set_annotations(self, annotations: Any) -> None:
        """Offer annotations (a `PlacedAnnotations`), or None."""
        colourings = self._picture.colourings
        if annotations is colourings.annotations:
            return
        colourings.annotations = annotations
        self._offer_modes()
        self._picture.refresh()

    def set_table(self, table: Any) -> None:
        """Offer a table of nodes (a `NodeTable`), and colour by its first column."""
        self._picture.colourings.table = table
        names = [column.name for column in table.columns]
        self._is_setting = True
        with pn.io.hold():
            self.column.param.update(options=names, value=names[0])
            self._offer_modes()
        self._is_setting = False
        self.choose(ColourChoice("table", column=names[0]))

    def _offer_modes(self) -> None:
        graph = self._graph
        lacking = lacking_modes(graph, self._picture.colourings)
        if graph is None:
            lacking.add("table")
        if self.mode.value in lacking:
            self.mode.value = "density"
        self.mode.groups = offered_groups(lacking)

    @property
    def offered(self) -> tuple[str, ...]:
        """The modes for which the graph has the required data."""
        return tuple(mode for modes in self.mode.groups.values() for mode in modes.values())

    def _offer_groups(self) -> None:
        by, graph = self.group_by.value, self._graph
        names = listed_names(group_paths(graph, by).names if graph is not None else ())
        wanted = names[:1] if by == "path" else names[:DEFAULT_GROUPS]
        label = GROUPINGS[by].capitalize()
        self.groups.param.update(options=names, value=wanted, label=label)

    def _on_mode(self, _event: Any) -> None:
        if self._is_setting:
            return
        with pn.io.hold():
            if self.mode.value in ("sharing", "class"):
                self.groups.value = []
            elif self.mode.value == "paths" and not self.groups.value:
                self._offer_groups()
            self._show_details()
        self._on_change()

    def _on_grouping(self, _event: Any) -> None:
        if self._is_setting:
            return
        self._is_setting = True
        self._offer_groups()
        if self.mode.value != "paths":
            self.groups.value = []
        self._is_setting = False
        self._on_change()

    def _show_details(self) -> None:
        mode = self.mode.value
        for field, modes in self._fields.items():
            field.visible = mode in modes
        self.column.visible &= self._picture.colourings.table is not None
        needs_some = any(mode in modes for modes in self._fields.values())
        if needs_some and not len(self.details):
            self.details.objects = list(self._fields)  # created on demand
        self.details.visible = needs_some

    def _on_change(self, *_events: Any) -> None:
        self.problem = ""
        has_all = self.mode.value != "table" or self._picture.colourings.table is not None
        if not self._is_setting and has_all:
            self._publish(self.choice)

    def _on_file(self, _event: Any) -> None:
        content, name, graph = self.file.value, self.file.filename, self._graph
        if content and graph is not None:
            self.reading = MAKER.submit(_read_table, content, name or "table", graph)

    def poll(self) -> None:
        """Use a table that has finished loading."""
        reading = self.reading
        if reading is None or not reading.done():
            return
        self.reading = None
        error = reading.exception()
        if error is None:
            graph, table = reading.result()
            if graph is self._graph:
                self.set_table(table)
                self.problem = " ".join(table.notes)
        elif isinstance(error, GenovizError):
            self.problem = f"The table was not read: {error}."
        else:
            log.error("a table could not be read", exc_info=error)
            self.problem = "The table was not read; the server's log has the details."

    def _publish(self, choice: ColourChoice) -> None:
        if choice != self._picture.choice:
            self._picture.choice = choice
            self._picture.refresh()


def _read_table(
    content: bytes, name: str, graph: PangenomeGraph
) -> tuple[PangenomeGraph, NodeTable]:
    with tempfile.TemporaryDirectory(prefix="genoviz-table-") as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(content)
        return graph, read_node_table(path, graph)


def lacking_modes(graph: PangenomeGraph | None, colourings: ColouringCache) -> set[str]:
    """Return the modes for which the graph and opened files lack data."""
    lacking = set() if graph is not None and graph.n_paths else set(PATH_MODES)
    if graph is None or graph.node_sequences is None or not len(graph.node_sequences.data):
        lacking.add("gc")
    if colourings.annotations is None:
        lacking.add("annotation")
    return lacking


def offered_groups(lacking: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Return the modes by kind and display name, without those that lack data."""
    groups = {
        kind: {MODES[mode]: mode for mode in modes if mode not in lacking}
        for kind, modes in KINDS.items()
    }
    return {kind: modes for kind, modes in groups.items() if modes}


def strip_html(shown: Shown, problem: str) -> str:
    """Return the strip below a picture: legend and messages."""
    picture = shown.picture
    legend = legend_html(shown.legend, shown.colouring.palette)
    distortion = shape_text(picture.viewport, picture.fold)
    notices = (problem, distortion, _stride_text(picture.stride, shown.n_nodes))
    spans = "".join(
        f'<span class="notice" role="status">{escape(text)}</span>' for text in notices if text
    )
    return f'<div class="strip">{legend}{spans}</div>'


def _stride_text(stride: int, n_nodes: int) -> str:
    if stride == 1:
        return ""
    return f"1 of every {stride} nodes is drawn ({n_nodes // stride:,} of {n_nodes:,})"
