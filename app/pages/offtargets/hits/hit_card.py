"""The card of the hit that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.offtargets.hits.exports import export_buttons
from genoviz_app.pages.offtargets.hits.haplotype_list import haplotypes_html
from genoviz_app.pages.offtargets.hits.hit_facts import card_html, flank_of
from genoviz_app.pages.offtargets.hits.hit_places import region_of
from genoviz_app.pages.offtargets.hits.place_bins import PlaceView
from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.search import SearchResult
from genoviz_app.pages.offtargets.state import NO_HIT, OffTargetState
from genoviz_app.parts.copy_button import CopyButton
from genoviz_app.parts.questions import Question
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.session.graph_places import nodes_of

WIDTH = 306
SMALL: dict[str, Any] = {
    "margin": (3, 4, 0, 0), "sx": {"fontSize": "12px", "padding": "3px 7px", "minWidth": "0"}
}  # fmt: skip
NO_HIT_YET = "<p>Click a hit: its alignment, its place and the bases around it are shown here.</p>"
FLANKS = {"± 20 bp": 20, "± 50 bp": 50, "± 100 bp": 100, "± 200 bp": 200, "± 500 bp": 500}
STYLE = """
:host { font-size: 12.5px; line-height: 1.45; }
pre { margin: 6px 0 8px; font-size: 12px; line-height: 1.3; overflow-x: auto; padding-bottom: 4px; }
pre u { text-decoration: none; opacity: 0.6; } pre i { font-style: normal; opacity: 0.7; }
.flank { font-family: monospace; font-size: 11.5px; overflow-wrap: anywhere; line-height: 1.5;
  max-height: 108px; overflow-y: auto; opacity: 0.95; }
.flank b { color: #2f8fd0; }
.has { margin: 6px 0 2px; }
ul { margin: 0; padding-left: 16px; font-size: 11.5px;
  overflow-wrap: anywhere; }
h4 { margin: 0; font-size: 13px; font-weight: 600; overflow-wrap: anywhere; }
"""


class HitCard:
    """A card at the right, with the files of hits below.

    Parameters
    ----------
    shown_view
        Returns what the figure of places shows, for the file of it.

    Attributes
    ----------
    text, flank, copy, panel
        Panel objects: the facts, how much is shown around the hit, the button that copies it,
        and all of it.
    """

    def __init__(
        self, state: OffTargetState, shown_view: Callable[[], PlaceView | None] = lambda: None
    ) -> None:
        self._state = state
        self._facts = Question(state.session, "facts of a hit", self._take_facts)
        self._nodes = Question(state.session, "nodes of a hit", self._take_nodes)
        self.text = pn.pane.HTML(
            NO_HIT_YET,
            stylesheets=[NUMBERS, STYLE],
            sizing_mode="stretch_width",
            margin=(8, 12, 0, 12),
        )
        self.flank = pmui.Select(
            label="Bases around", options=FLANKS, value=50, size="small", width=126,
            margin=(10, 8, 0, 0),
        )  # fmt: skip
        self.copy = CopyButton(text="", label="Copy bases", margin=(14, 8, 0, 0))
        self.light = pmui.IconButton(
            icon="lightbulb", size="20px", margin=(12, 0, 0, 0),
            description="Light up on the layout: pick the nodes of this site",
        )  # fmt: skip
        self.light.on_click(lambda _: self.light_up())
        self.flank.param.watch(self._follow, "value")
        self.tools = pmui.Row(self.flank, self.copy, self.light, margin=(0, 12), visible=False)
        buttons = export_buttons(state, shown_view, **SMALL)
        self.panel = pmui.Column(
            pmui.Column(
                self.text,
                self.tools,
                sizing_mode="stretch_both",
                styles={"overflow-y": "auto", "min-height": "0", "flex": "1 1 0"},
                margin=0,
            ),
            pmui.Typography(
                "The listed hits, and their figures, as a file",
                variant="caption",
                margin=(4, 12, 0, 12),
            ),
            *(pmui.Row(*row, margin=(0, 6, 0, 12)) for row in (buttons[:4], buttons[4:])),
            pn.Spacer(height=8),
            width=WIDTH,
            sizing_mode="stretch_height",
            margin=0,
            styles={"min-height": "0"},
        )
        state.param.watch(self._follow, ["hit", "result", "genes"])
        state.param.watch(self._light_sites, "hit")
        state.session.param.watch(self._follow_graph, "opened")
        self._follow_graph()

    def poll(self) -> None:
        """Show facts that are ready."""
        self._facts.poll()
        self._nodes.poll()

    def light_up(self) -> None:
        """Pick the nodes under the hit."""
        state, opened = self._state, self._state.session.opened
        if state.hit != NO_HIT and opened is not None and state.result is not None:
            self._nodes.ask(nodes_of, opened.graph, [region_of(state.result, state.hit)])

    def _follow(self, *_events: Any) -> None:
        state = self._state
        if state.hit == NO_HIT or state.result is None:
            self._facts.drop()
            self.text.object, self.tools.visible = NO_HIT_YET, False
        else:
            genes = state.genes
            self._facts.ask(_facts_of, state.result, state.hit, self.flank.value, genes)

    def _take_facts(self, facts: tuple[int, str, str]) -> None:
        row, html, bases = facts
        if row == self._state.hit:
            with pn.io.hold():
                self.text.object, self.copy.text = html, bases
                self.tools.visible = True

    def _light_sites(self, *_events: Any) -> None:
        """Light up the nodes of a hit that was found on the graph that is open."""
        result, opened = self._state.result, self._state.session.opened
        if result is not None and result.sites is not None and opened is not None:
            if result.sites.found.graph is opened.graph:
                self.light_up()

    def _take_nodes(self, nodes: Any) -> None:
        if len(nodes):
            self._state.session.picked = nodes
        else:
            self._state.session.problem = "This site is on no path of the graph that is open."

    def _follow_graph(self, *_events: Any) -> None:
        self.light.visible = self._state.session.opened is not None


def _facts_of(
    result: SearchResult, row: int, flank: int, genes: HitGenes | None
) -> tuple[int, str, str]:
    around = flank_of(result, row, flank)
    html = card_html(result, row, around, genes) + haplotypes_html(result, row)
    return row, html, around.text
