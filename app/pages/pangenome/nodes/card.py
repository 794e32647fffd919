"""The card of the selected nodes: facts, sequence, neighbours, and the paths that visit them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.path_positions import MAX_INDEXED_STEPS
from genoviz.errors import ParameterError
from genoviz.io.sequences.fasta import write_fasta
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.nodes.facts import (
    FACTS,
    NOTHING_PICKED,
    READING,
    NodeFacts,
    bases_of,
    empty_html,
    facts_html,
    read_node_facts,
)
from genoviz_app.pages.pangenome.nodes.visits_table import COLUMNS, visited_region
from genoviz_app.parts.copy_button import CopyButton
from genoviz_app.parts.file_button import Writer, file_button, file_stem
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import RemoteTable
from genoviz_app.parts.words import plain_text
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

MAX_COPIED_BASES = 200_000
NO_BASES = "the file has no bases"
N_CHIPS = 8


class NodeCard:
    """The clicked node, or the nodes in the drawn box.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    table
        The table of path visits.
    facts
        The shown facts, or None.
    """

    title = "Inspect"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._graph: PangenomeGraph | None = None
        self.facts: NodeFacts | None = None
        self._n_selections = 0
        self.table = RemoteTable(COLUMNS, placeholder="Search paths", on_row=self._on_row)
        self.name = pmui.Typography("", variant="subtitle2", margin=(6, 8, 2, 0))
        self.text = pn.pane.HTML("", stylesheets=[FACTS], sizing_mode="stretch_width", margin=0)
        self.chips = NeighbourChips(self._pick)
        self.copy = CopyButton(label="Copy bases", margin=(0, 8, 0, 0))
        self.zoom = pmui.IconButton(
            icon="center_focus_strong",
            description="Show these nodes on the layout",
            size="20px",
            margin=(0, 4, 0, 0),
        )
        self.zoom.on_click(lambda _: self.zoom_picture())
        self.fasta = file_button(
            session, "FASTA", self._prepare_fasta, margin=(0, 8, 0, 0), width=90,
            description="FASTA: sequences of these nodes",
        )  # fmt: skip
        self.light = light_button(session, self._lit, "these nodes", icon=None, margin=0)
        self.empty = pn.pane.HTML(
            empty_html(NOTHING_PICKED), stylesheets=[FACTS], sizing_mode="stretch_width"
        )
        self.card = self._arrange()
        self.panel = pmui.Column(self.empty, self.card, sizing_mode="stretch_both", margin=0)
        self._question = Question(session, "facts about nodes", self._on_facts)
        session.param.watch(self._follow_picked, "picked")
        self._show()

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph, without a selection."""
        self._graph, self.facts = graph, None
        self._question.drop()
        self._follow_picked()

    def zoom_picture(self) -> None:
        """Show the selected nodes in the layout."""
        if self.facts is not None:
            self._view.picture.look_at_nodes(self.facts.nodes)

    def _arrange(self) -> pmui.Row:
        left = pmui.Column(
            pmui.Row(
                self.name,
                self.zoom,
                self.copy,
                self.fasta,
                self.light,
                margin=(4, 0, 2, 0),
                sx={"flexWrap": "wrap", "rowGap": "4px"},
            ),
            self.text,
            self.chips.panel,
            width=350,
            sizing_mode="stretch_height",
            styles={"overflow-y": "auto", "overflow-x": "hidden"},
            margin=(0, 4, 0, 12),
        )
        return pmui.Row(left, self.table.panel, sizing_mode="stretch_both", margin=0)

    def _pick(self, node: int) -> None:
        self._session.picked = np.array([node], np.int64)

    def _lit(self) -> Highlight:
        """Return the selected nodes as a highlight."""
        graph, facts = self._graph, self.facts
        if graph is None or facts is None:
            raise ParameterError("no node is picked")
        nodes = facts.nodes
        if len(nodes) == 1:
            title = f"Node {graph.node_names[nodes[0]]}"
        else:
            self._n_selections += 1
            title = f"Selection {self._n_selections}"
        return Highlight(title, "node", nodes=nodes, graph=graph)

    def _follow_picked(self, *_events: Any) -> None:
        nodes = self._session.picked
        if self._graph is None or not len(nodes):
            self.facts = None
            self._question.drop()
            self._show()
        else:
            self._question.ask(read_node_facts, self._graph, nodes)
            if self._graph.n_steps > MAX_INDEXED_STEPS:  # facts of other nodes would stay for long
                self.facts = None
            if self.facts is None:
                self._show()

    def _on_facts(self, facts: NodeFacts) -> None:
        self.facts = facts
        self._show()

    def _show(self) -> None:
        facts, graph = self.facts, self._graph
        with pn.io.hold():
            self.empty.visible = facts is None
            self.empty.object = empty_html(READING if self._question.is_open else NOTHING_PICKED)
            self.card.visible = facts is not None
            if facts is None or graph is None:
                self.table.clear()
                return
            is_one = len(facts.nodes) == 1
            node = int(facts.nodes[0])
            title = f"Node {graph.node_names[node]}" if is_one else "Selection"
            self.name.object = plain_text(title)
            self.text.object = facts_html(graph, facts, self._ends_of(node) if is_one else None)
            bases = bases_of(graph, node) if is_one else ""
            self.copy.visible = is_one
            self.copy.why_not = f"{len(bases):,} are too many; save FASTA" if bases else NO_BASES
            self.copy.text = bases if len(bases) <= MAX_COPIED_BASES else ""
            allow(self.fasta, "" if graph.node_sequences is not None else NO_BASES)
            self.chips.show(graph, facts.left, facts.right)
            self.table.show(facts.visits)

    def _ends_of(self, node: int) -> np.ndarray | None:
        """Return the current position of a node in the layout; float64, shape (2, 2)."""
        snapshot = self._view.run.snapshot
        if snapshot is None or node >= len(snapshot.coordinates):
            return None
        ends = snapshot.coordinates[node]
        return ends if isinstance(ends, np.ndarray) else ends.get()

    def _on_row(self, row: int) -> None:
        if self.facts is not None:
            self._session.region = visited_region(self.facts.visits, row)

    def _prepare_fasta(self) -> tuple[str, Writer]:
        """Return name and writer of a FASTA file of the selected nodes."""
        graph, facts = self._graph, self.facts
        if graph is None or facts is None:
            raise ParameterError("no node is picked")
        if graph.node_sequences is None:
            raise ParameterError("the graph has no sequences")
        nodes, sequences = facts.nodes.tolist(), graph.node_sequences

        def write(path: Path) -> None:
            letters = (np.frombuffer(sequences[node].encode(), np.uint8) for node in nodes)
            names = (graph.node_names[node] for node in nodes)
            write_fasta(zip(names, letters, strict=True), path)

        stem = f"node_{graph.node_names[nodes[0]]}" if len(nodes) == 1 else f"{len(nodes)}_nodes"
        return f"{file_stem(stem)}.fa", write


class NeighbourChips:
    """Two rows of chips, for neighbours at the left and the right end.

    Parameters
    ----------
    on_pick
        Called with the clicked node.
    """

    def __init__(self, on_pick: Callable[[int], None]) -> None:
        self._on_pick = on_pick
        self._nodes = {side: [] for side in ("Left", "Right")}
        self._parts = {side: self._make_side(side) for side in self._nodes}
        self.panel = pmui.Column(
            *(row for row, _chips, _more in self._parts.values()),
            sizing_mode="stretch_width",
            margin=(4, 0),
        )

    def _make_side(self, side: str) -> tuple[pn.FlexBox, list[pmui.Chip], pmui.Typography]:
        chips = []
        for place in range(N_CHIPS):
            chip = pmui.Chip(
                label="", size="small", variant="outlined", visible=False, margin=(1, 4, 1, 0)
            )
            chip.on_click(lambda _, place=place: self._on_pick(self._nodes[side][place]))
            chips.append(chip)
        more = pmui.Typography("", variant="caption", margin=(3, 0), visible=False)
        title = pmui.Typography(side, variant="caption", width=40, margin=(3, 4, 0, 0))
        row = pn.FlexBox(title, *chips, more, sizing_mode="stretch_width", margin=0)
        return row, chips, more

    def show(self, graph: PangenomeGraph, left: np.ndarray, right: np.ndarray) -> None:
        """Show handles of neighbouring nodes: node << 1, with 1 if entered at the right end."""
        for side, handles in (("Left", left), ("Right", right)):
            row, chips, more = self._parts[side]
            row.visible = len(handles) > 0
            self._nodes[side] = (handles[:N_CHIPS] >> 1).tolist()
            for place, chip in enumerate(chips):
                chip.visible = place < len(handles)
                if chip.visible:
                    handle = int(handles[place])
                    turned = " (turned)" if handle & 1 == (side == "Right") else ""
                    chip.label = f"{graph.node_names[handle >> 1]}{turned}"
            n_more = len(handles) - N_CHIPS
            more.param.update(object=f"and {n_more:,} more", visible=n_more > 0)
