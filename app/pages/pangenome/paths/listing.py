"""The list of paths: search, grouping, visibility and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.analyses.graph.picture.palettes import DARK
from genoviz.analyses.graph.query.path_groups import GROUPINGS, count_node_groups, find_group_nodes
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.choice import GROUP_LABELS, PathRows, list_rows
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import FittingTable
from genoviz_app.parts.styles import TABLE
from genoviz_app.parts.words import n_words
from genoviz_app.session.session import Session

PAGE_SIZE = 40
EMPTY = "Open a graph to see its paths."
NO_PATHS = "The graph has no paths."
NO_ROWS = "no path is listed"
TITLES = {
    "colour": "",
    "shown": "Shown",
    "name": "Name",
    "sample": "Sample",
    "haplotype": "Haplotype",
    "contig": "Contig",
    "paths": "Paths",
    "length": "Length (bp)",
    "steps": "Steps",
}
WIDTHS = {
    "colour": "4%",
    "shown": "7%",
    "name": "31%",
    "sample": "11%",
    "haplotype": "10%",
    "contig": "14%",
    "paths": "9%",
    "length": "11%",
    "steps": "8%",
}
LEAST = {
    "colour": 30,
    "shown": 56,
    "name": 92,
    "sample": 60,
    "haplotype": 80,
    "contig": 58,
    "paths": 52,
    "length": POSITION,
    "steps": 56,
}
"""Minimum widths of columns, px, with room for the arrow of a sorted one."""
ALIGNED = {"shown": "center", "length": "right", "steps": "right", "paths": "right"}
SELECTED = """
.tabulator .tabulator-row.tabulator-selected, .tabulator .tabulator-row.tabulator-selected:hover {
  background-color: rgba(79, 179, 232, 0.22) !important; color: inherit !important; }
.tabulator-row.tabulator-selected .tabulator-cell { color: inherit !important; }
.tabulator input[type="checkbox"] { width: 15px; height: 15px; margin: 0; }
.tabulator-row .tabulator-row-header { padding: 3px 6px !important; }
"""


class PathList:
    """A table of the paths or their groups, with actions on the selected rows.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    group_by, search, table
        The fields and the table.
    """

    title = "List"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._graph: PangenomeGraph | None = None
        self._rows: PathRows | None = None
        self._colours: dict[str, str] = {}
        self._hidden: frozenset[str] = frozenset()
        small: dict[str, Any] = {"size": "small", "margin": (0, 8, 0, 0)}
        self.group_by = pmui.Select(
            label="Rows", options=GROUP_LABELS, value="path", width=130, **small
        )
        self.search = pmui.TextInput(
            label="Search", placeholder="part of a name", width=160, **small
        )
        self.colour = pmui.ColorPicker(
            label="Colour",
            value=DARK.categories[0],
            width=140,
            disabled=True,
            description="Colour of the selected rows; press Colour first",
            **small,
        )
        self.buttons = {
            "solo": self._button("Show only", "hide all others", self._solo),
            "hide": self._button("Hide", "hide nodes that only these paths visit", self._hide),
            "all": self._button("Show all", "show all nodes", self._show_all),
            "paint": self._button("Colour", "give each path its own colour", self._paint),
            "zoom": self._button("Zoom to", "inspect their nodes", self._zoom),
        }
        self.said = pmui.Typography("", variant="caption", margin=(8, 4))
        self.table = self._make_table()
        self.hint = pmui.Typography(session.without_graph(EMPTY), variant="body2", margin=(16, 12))
        self.panel = pmui.Column(
            pmui.FlexBox(
                self.group_by,
                self.search,
                *self.buttons.values(),
                self.colour,
                self.said,
                sizing_mode="stretch_width",
                margin=(6, 8, 2, 8),
            ),
            self.hint,
            self.table,
            sizing_mode="stretch_both",
            margin=0,
        )
        self._listing = Question(session, "list of paths", self._on_rows)
        self._hiding = Question(session, "nodes of paths", view.picture.draw_only)
        self._zooming = Question(session, "nodes of paths", view.picture.look_at_nodes)
        self.group_by.param.watch(self._on_grouping, "value")
        self.search.param.watch(self._fill, "value_input")
        self.colour.param.watch(self._recolour, "value")
        self.table.param.watch(self._on_selection, "selection")

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """List the paths of another graph."""
        self._graph = graph
        self._forget()
        self._rows = None
        self._ask()

    @property
    def selected(self) -> list[str]:
        """Names of the selected rows, in table order."""
        rows = self._shown_rows()
        return [self._rows.groups.names[rows[place]] for place in sorted(self.table.selection)]

    def _button(self, label: str, description: str, act: Any) -> pmui.Button:
        button = pmui.Button(
            label=label,
            description=f"{label}: {description}",
            size="small",
            variant="outlined",
            color="default",
            margin=(4, 6, 0, 0),
        )
        button.on_click(lambda _: act())
        allow(button, NO_ROWS)
        return button

    def _make_table(self) -> pn.widgets.Tabulator:
        import pandas as pd

        table = FittingTable(
            pd.DataFrame(columns=list(TITLES)[:3]),
            titles=TITLES,
            widths=WIDTHS,
            formatters={
                "colour": {"type": "color"},
                "length": {"type": "money", "precision": False},
                "steps": {"type": "money", "precision": False},
            },
            text_align=ALIGNED,
            header_align=ALIGNED,
            pagination="remote",
            page_size=PAGE_SIZE,
            selectable="checkbox",
            disabled=True,
            editors=dict.fromkeys(TITLES),  # as in RemoteTable
            show_index=False,
            layout="fit_columns",
            configuration={"columnDefaults": {"minWidth": 36, "headerWordWrap": True}},
            sizing_mode="stretch_both",
            min_height=80,
            theme="simple",
            row_height=25,
            stylesheets=[TABLE, SELECTED],
            margin=(0, 8, 6, 8),
            visible=False,
        )
        table.usual_widths = LEAST
        return table

    def _on_grouping(self, _event: Any) -> None:
        self._forget()
        self._view.picture.draw_only(None)
        self._ask()

    def _forget(self) -> None:
        self._hiding.drop()
        self._zooming.drop()
        self._colours, self._hidden = {}, frozenset()

    def _ask(self) -> None:
        graph = self._graph
        has_paths = graph is not None and graph.n_paths > 0
        self.hint.object = self._session.without_graph(EMPTY) if graph is None else NO_PATHS
        self.hint.visible, self.table.visible = not has_paths, has_paths
        if has_paths:
            self._listing.ask(list_rows, graph, self.group_by.value)
        else:
            self._listing.drop()
            self._rows = None
            self._say()

    def _on_rows(self, rows: PathRows) -> None:
        self._rows = rows
        self._fill()

    def _shown_rows(self) -> np.ndarray:
        return self.table.value.index.to_numpy()

    def _fill(self, *_events: Any) -> None:
        """Show the rows that match the search."""
        rows, graph = self._rows, self._graph
        if rows is None or graph is None:
            return
        found = rows.find(self.search.value_input or "")
        with pn.io.hold():
            self.table.param.update(
                value=rows.frame(graph, found, self._colours, self._hidden), selection=[], page=1
            )
        self._say()

    def _refresh(self) -> None:
        """Update colours and visibility; the selection is kept."""
        table = self.table
        frame = self._rows.frame(self._graph, self._shown_rows(), self._colours, self._hidden)
        patch = {}
        for column in ("colour", "shown"):
            new = frame[column].to_numpy()
            changed = np.flatnonzero(new != table.value[column].to_numpy())
            if len(changed):
                patch[column] = [(row, new[row]) for row in changed.tolist()]
        if patch:
            table.patch(patch)
        self._say()

    def _on_selection(self, _event: Any) -> None:
        self._say()
        names = self.selected if self._rows is not None else []
        own = {self._colours.get(name, "") for name in names}
        if len(own) == 1 and "" not in own:
            self.colour.value = own.pop()

    def _say(self) -> None:
        n_selected, rows = len(self.table.selection), self._rows
        for name, button in self.buttons.items():
            if name == "all":
                why_not = "" if self._hidden else "nothing is hidden"
            else:
                why_not = "" if n_selected else "select table rows first"
            allow(button, NO_ROWS if rows is None else why_not)
        self.colour.disabled = not n_selected or not self._colours
        parts = []
        if rows is not None:
            plural = GROUPINGS[rows.groups.by]
            n_found = len(self.table.value)
            found = f"{n_found:,} of " if n_found != len(rows) else ""
            parts.append(f"{found}{len(rows):,} {plural}")
            if n_selected:
                parts.append(f"{n_selected:,} selected")
            if self._hidden:
                parts.append(f"{len(self._hidden):,} hidden")
        self.said.object = ", ".join(parts)

    def _solo(self) -> None:
        self._set_hidden(frozenset(self._rows.groups.names) - set(self.selected))

    def _hide(self) -> None:
        self._set_hidden(self._hidden | set(self.selected))

    def _show_all(self) -> None:
        self._set_hidden(frozenset())

    def _set_hidden(self, hidden: frozenset[str]) -> None:
        """Draw the nodes of all visible rows; if none is visible, the nodes without a path."""
        self._hidden = hidden
        self._refresh()
        if not hidden:
            self._hiding.drop()
            self._view.picture.draw_only(None)
            return
        groups = self._rows.groups
        shown = [name for name in groups.names if name not in hidden]
        self._hiding.ask(_nodes_of, self._graph, groups, shown)

    def _zoom(self) -> None:
        self._zooming.ask(find_group_nodes, self._graph, self._rows.groups.by, self.selected)

    def _paint(self) -> None:
        """Assign a colour to each selected row, and colour the picture by them."""
        names = self.selected
        if len(names) > DARK.n_colours:
            self._session.problem = (
                f"{n_words(len(names), 'row is', 'rows are')} selected, and a picture tells "
                f"{DARK.n_colours} colours "
                "apart; select fewer, or colour by how many share a node."
            )
            return
        self._colours = {name: DARK.colour(rank) for rank, name in enumerate(names)}
        self._publish()

    def _recolour(self, event: Any) -> None:
        changed = [name for name in self.selected if name in self._colours] if self._rows else []
        if any(self._colours[name] != event.new for name in changed):
            self._colours |= dict.fromkeys(changed, event.new)
            self._publish()

    def _publish(self) -> None:
        self._refresh()
        self._view.bar.colours.choose(
            ColourChoice(
                "paths",
                paths=tuple(self._colours),
                group_by=self._rows.groups.by,
                colours=tuple(self._colours.items()),
            )
        )


def _nodes_of(graph: PangenomeGraph, groups: Any, names: list[str]) -> np.ndarray:
    found = count_node_groups(graph, groups.select(names))
    return np.flatnonzero(found.counts > 0)
