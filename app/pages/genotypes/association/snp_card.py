"""The card of the selected variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.sites.results import VariationSites
from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz.model.genotypes.chromosomes import letter_names
from genoviz_app.pages.genotypes.association.choices import trait_of
from genoviz_app.pages.genotypes.association.snp_facts import (
    GraphAlleles,
    SnpFacts,
    box_labels,
    card_html,
    find_graph_alleles,
    genotype_names,
    head_html,
    paths_html,
    place_on_graph,
    variants_highlight,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import shorten
from genoviz_app.plots.one_variant import GenotypeBoxes
from genoviz_app.session.graph_places import nodes_of
from genoviz_app.session.lit_sets import Highlight, LitSet

WIDTH, MAX_LETTERS = "min(330px, 36%)", 15
NOT_ON_GRAPH = (
    "the open graph does not have the position of this variant, or has it in several samples"
)
NOTHING = "<p>Click a variant to see its alleles, genotypes and effect.</p>"
BUTTON: dict[str, Any] = {
    "size": "small", "variant": "outlined", "margin": (4, 6, 0, 0),
    "sx": {"fontSize": "12px", "padding": "1px 8px"},
}  # fmt: skip
STYLE = """
:host { font-size: 12.5px; line-height: 1.45; }
p { margin: 4px 0; opacity: 0.85; }
h4 { margin: 0 0 3px; font-size: 13.5px; font-weight: 600; overflow-wrap: anywhere; }
.numbers { font-size: 12.5px !important; gap: 0 12px !important; }
.counts { display: grid; grid-template-columns: repeat(3, 1fr); gap: 6px; margin: 4px 0 5px;
  line-height: 1.35;
  font-variant-numeric: tabular-nums; }
.counts div { border: 1px solid rgba(143, 161, 184, 0.35); border-radius: 6px; padding: 1px 6px;
  text-align: center; overflow: hidden; }
.counts b { display: block; font-weight: 600; }
.counts span { font-family: monospace; font-size: 12px; opacity: 0.85; overflow-wrap: anywhere; }
.paths { margin: 0; padding-left: 16px; font-variant-numeric: tabular-nums; }
.paths b { font-family: monospace; overflow-wrap: anywhere; }
.paths span { display: block; font-size: 11.5px; opacity: 0.8; overflow-wrap: anywhere; }
"""


class SnpCard:
    """Facts, box plots of the trait by genotype, and buttons.

    Parameters
    ----------
    state
        State of the page.
    condition_on
        Runs a scan that is conditional on a variant too.

    Attributes
    ----------
    head, text, boxes, paths, condition_button, tracks_button, layout_button, panel
        Panel objects, and the figure, which stays visible in a low window while the facts scroll.
    facts
        Facts of the shown variant, or None.
    """

    def __init__(self, state: GenotypeState, condition_on: Callable[[int], None]) -> None:
        self._state = state
        self._sites: VariationSites | None = None
        self.facts: SnpFacts | None = None
        self._facts = Question(state.session, "facts of a variant", self._on_facts)
        self._alleles = Question(state.session, "alleles on the graph", self._on_alleles)
        self._nodes = Question(state.session, "nodes of a variant", self._on_nodes)
        html: dict[str, Any] = {
            "stylesheets": [NUMBERS, STYLE], "sizing_mode": "stretch_width",
            "styles": {"flex": "none"},  # long facts scroll; otherwise they run over the buttons
        }  # fmt: skip
        self.head = pn.pane.HTML(NOTHING, margin=(8, 12, 0, 12), **html)
        self.text = pn.pane.HTML("", margin=(4, 12, 0, 12), visible=False, **html)
        self.paths = pn.pane.HTML("", margin=(4, 12, 8, 12), visible=False, **html)
        self.boxes = GenotypeBoxes()
        self._turn = Turn(self.boxes.plot, self._draw_boxes)
        self.boxes.show_nothing()
        self.pane = pn.pane.Bokeh(
            self.boxes.plot, sizing_mode="stretch_both", min_height=125, margin=(4, 8, 0, 4)
        )
        self.condition_button = pmui.Button(
            label="Condition on it", **BUTTON,
            description="Condition on it: adds its dosages as a covariate, and runs the scan again",
        )  # fmt: skip
        self.tracks_button = pmui.Button(
            label="Show on tracks", **BUTTON,
            description="Go to this position on the Tracks page",
        )  # fmt: skip
        self.layout_button = pmui.Button(
            label="Show on the layout", **BUTTON,
            description="Show on the layout: highlights the variant, and lists the paths of "
            "each allele here",
        )  # fmt: skip
        self.light = light_button(
            state.session, self._lit, "this variant", **{**BUTTON, "icon": None}
        )
        self.condition_button.on_click(lambda _: condition_on(state.variant))
        self.tracks_button.on_click(lambda _: self.show_tracks())
        self.layout_button.on_click(lambda _: self.show_layout())
        self.tools = pmui.FlexBox(
            self.condition_button, self.light, self.tracks_button, self.layout_button,
            margin=(0, 12), visible=False,
            styles={"flex": "none"},
        )  # fmt: skip
        self.panel = pmui.Column(
            self.head, self.pane, self.text, self.tools, self.paths,
            sizing_mode="stretch_both", margin=0,
            styles={"overflow": "hidden auto", "min-height": "0", "flex": f"0 0 {WIDTH}"},
        )  # fmt: skip
        state.param.watch(self._follow, ["variant", "scan", "kept", "opened"])
        state.param.watch(self._allow_condition, ["variant", "trait", "conditions"])
        state.param.watch(lambda *_: self._turn.ask(), ["trait", "table"])
        state.session.param.watch(self._follow_graph, "opened")

    @property
    def region(self) -> PathRegion | None:
        """The position of the variant, or None."""
        subject, variant = self._state.subject, self._state.variant
        if subject is None or variant is None or subject.variants.positions[variant] < 0:
            return None
        position = int(subject.variants.positions[variant])
        contigs = letter_names(subject.variants.contigs, subject.n_autosomes)
        contig = contigs[subject.variants.contig_ids[variant]]
        return PathRegion(contig, position, position + 1)

    @property
    def placed(self) -> PathRegion | None:
        """The position on a path of the open graph, or None if no path covers it."""
        graph, region = self._state.session.opened, self.region
        return None if graph is None or region is None else place_on_graph(graph.graph, region)

    def _lit(self) -> Highlight:
        """Return the variant as a highlight."""
        state = self._state
        if state.subject is None or state.variant is None:
            raise ParameterError("no variant is picked; click one in a plot or a table")
        return variants_highlight(state.subject, np.array([state.variant]))

    def show_tracks(self) -> None:
        """Go to the Tracks page."""
        self._state.session.wanted_page = "tracks"

    def show_layout(self) -> None:
        """Highlight the variant, go to its nodes in the layout, and look up the paths' alleles."""
        placed, graph = self.placed, self._state.session.opened
        if placed is None:
            self._state.session.problem = f"{NOT_ON_GRAPH[0].upper()}{NOT_ON_GRAPH[1:]}."
            return
        self._state.session.highlights.light_up(self._lit())
        self._nodes.ask(nodes_of, graph.graph, [placed])
        self._alleles.ask(find_graph_alleles, graph.graph, placed, self._sites)
        self.paths.param.update(
            object="<p>Looking for the alleles of the paths …</p>", visible=True
        )

    def _follow(self, *_events: Any) -> None:
        state = self._state
        self._alleles.drop()
        if state.variant is None or state.subject is None:
            self._facts.drop()
            self.facts = None
            with pn.io.hold():
                self.head.object = NOTHING
                self.text.visible = self.tools.visible = self.paths.visible = False
            self._turn.ask()
        else:
            self._facts.ask(SnpFacts.of, state.subject, state.variant)

    def _on_facts(self, facts: SnpFacts) -> None:
        state = self._state
        if facts.variant != state.variant or state.subject is None:
            return
        if len(facts.dosages) != state.subject.n_samples:
            return
        is_other = self.facts is None or self.facts.variant != facts.variant
        self.facts = facts
        with pn.io.hold():
            self.head.object = head_html(state.subject, facts)
            facts_html = card_html(state.subject, facts, state.scan, state.scan_conditions)
            self.text.param.update(object=facts_html, visible=True)
            self.tools.visible = True
            for button in (self.tracks_button, self.layout_button, self.light):
                button.visible = self.region is not None
            self._allow_condition()
            self._allow_layout()
            if is_other:
                self.paths.visible = False
        self._turn.ask()

    def _draw_boxes(self) -> None:
        state, facts = self._state, self.facts
        values = state.column(state.trait) if state.trait else None
        if facts is None or values is None or len(values) != len(facts.dosages):
            self.boxes.show_nothing()
            return
        try:
            trait = trait_of(state, values)
        except ParameterError:  # the column has another type than selected; the form says so
            self.boxes.show_nothing()
            return
        groups = facts.groups(trait.values)
        if not any(map(len, groups)):
            self.boxes.show_nothing()
            return
        names = genotype_names(state.subject, facts.variant)
        labels, label = box_labels(names, groups), shorten(state.trait, MAX_LETTERS)
        self.boxes.show(groups, labels, label, has_cases=trait.is_binary)

    def _on_alleles(self, found: GraphAlleles) -> None:
        self._sites = found.sites
        subject, variant = self._state.subject, self._state.variant
        if subject is not None and variant is not None:
            alleles = (
                str(subject.variants.allele1[variant]),
                str(subject.variants.allele2[variant]),
            )
            self.paths.object = paths_html(found, *alleles)

    def _on_nodes(self, nodes: np.ndarray) -> None:
        session = self._state.session
        if len(nodes):
            session.picked = nodes
            session.wanted_page = "pangenome"
            session.highlights.want(LitSet.of_found(self.placed, nodes))

    def _follow_graph(self, *_events: Any) -> None:
        self._sites = None
        with pn.io.hold():
            self.paths.visible = False
            self._allow_layout()

    def _allow_condition(self, *_events: Any) -> None:
        """Allow to condition on the variant if there is a trait, unless that is done."""
        lacks = "" if self._state.trait else "choose a trait first"
        is_given = self._state.variant in self._state.conditions
        allow(self.condition_button, "scans are conditional on it" if is_given else lacks)

    def _allow_layout(self) -> None:
        """Show the layout button if the open graph covers the variant."""
        no_graph = "open a graph on the Pangenome page first"
        lacks = no_graph if self._state.session.opened is None else NOT_ON_GRAPH
        allow(self.layout_button, lacks if self.placed is None else "")
