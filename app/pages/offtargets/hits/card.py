"""The card of one hit: its alignment, scores, gene, flanking bases and haplotypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.differences import count_seed_mismatches
from genoviz.analyses.offtargets.scores import mit_scores
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.sequences.bases import COMPLEMENTS
from genoviz_app.pages.offtargets.hits.alignment_html import protospacers_of, stacked_html
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of, kinds_of
from genoviz_app.pages.offtargets.hits.exports import export_menu
from genoviz_app.pages.offtargets.hits.place_bins import PlaceView
from genoviz_app.pages.offtargets.hits.regions import highlight_of, region_of
from genoviz_app.pages.offtargets.search.genes import UNKNOWN, HitGenes
from genoviz_app.pages.offtargets.search.guide_groups import for_each_hit
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.pages.offtargets.state import NO_HIT, OffTargetState
from genoviz_app.parts.copy_button import CopyButton
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.parts.words import n_words
from genoviz_app.session.graph_places import nodes_of
from genoviz_app.session.lit_sets import Highlight

WIDTH = 306
NO_HIT_YET = "<p>Click a hit to see its alignment, its position and the bases around it.</p>"
FLANKS = {"± 20 bp": 20, "± 50 bp": 50, "± 100 bp": 100, "± 200 bp": 200, "± 500 bp": 500}
STYLE = """
:host { font-size: 12.5px; line-height: 1.45; }
.stack { container-type: inline-size; }
pre { margin: 6px 0 8px; line-height: 1.3; overflow-x: auto; padding-bottom: 4px; }
pre u { text-decoration: none; opacity: 0.75; } pre i { font-style: normal; opacity: 0.7; }
.flank { font-family: monospace; font-size: 11.5px; overflow-wrap: anywhere; line-height: 1.5;
  max-height: 108px; overflow-y: auto; opacity: 0.95; }
.flank b { background: rgba(47, 143, 208, 0.28); border-radius: 2px; }
.has { margin: 6px 0 2px; }
ul { margin: 0; padding-left: 16px; font-size: 11.5px;
  overflow-wrap: anywhere; }
h4 { margin: 0; font-size: 13px; font-weight: 600; overflow-wrap: anywhere; }
"""
MAX_LISTED, EMPTY = 200, "no-hit"
IN_LESS_ROOM = """
@media (min-width: 900px) and (max-width: 1180px) {
  :host { width: 270px !important; } :host(.no-hit) { width: 124px !important; }
  :host > div, .MuiBox-root { width: 100% !important; }
}
"""
"""The table of hits would be cut off; without a hit, the card leaves it its room."""


class HitCard:
    """The card on the right, with the exports of hits below.

    Parameters
    ----------
    shown_view
        Returns the view of the figure of places, for its export.

    Attributes
    ----------
    text, flank, copy, panel
        Panel objects: the facts, the size of the flanks, the copy button, and the whole card.
    """

    def __init__(
        self, state: OffTargetState, shown_view: Callable[[], PlaceView | None] = lambda: None
    ) -> None:
        self._state = state
        self._facts = Question(state.session, "facts of a hit", self._on_facts)
        self._nodes = Question(state.session, "nodes of a hit", self._on_nodes)
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
        self.light = light_button(
            state.session, self._lit, "this site", icon=None, margin=(14, 0, 0, 0)
        )
        self.flank.param.watch(self._follow, "value")
        self.tools = pmui.FlexBox(self.flank, self.copy, self.light, margin=(0, 12), visible=False)
        self.exports = export_menu(state, shown_view, margin=(4, 12, 8, 12))
        self.panel = pmui.Column(
            pmui.Column(
                self.text,
                self.tools,
                sizing_mode="stretch_both",
                styles={"overflow": "hidden auto", "min-height": "0", "flex": "1 1 0"},
                margin=0,
            ),
            self.exports,
            width=WIDTH,
            sizing_mode="stretch_height",
            margin=0,
            styles={"min-height": "0"},
            css_classes=[EMPTY],
            stylesheets=[IN_LESS_ROOM],
        )
        state.param.watch(self._follow, ["hit", "result", "genes"])
        state.param.watch(self._pick_nodes, "hit")

    def _lit(self) -> Callable[[], Highlight]:
        """Return a function that makes a highlight of the hit."""
        result, row = self._state.result, self._state.hit
        if result is None or row == NO_HIT:
            raise ParameterError("no hit is selected; click one in the table")
        return lambda: highlight_of(result, np.array([row]))

    def _follow(self, *_events: Any) -> None:
        state = self._state
        if state.hit == NO_HIT or state.result is None:
            self._facts.drop()
            self.text.object, self.tools.visible = NO_HIT_YET, False
            self.panel.css_classes = [EMPTY]
        else:
            genes = state.genes
            self._facts.ask(_facts_of, state.result, state.hit, self.flank.value, genes)

    def _on_facts(self, facts: tuple[int, str, str]) -> None:
        row, html, bases = facts
        if row == self._state.hit:
            with pn.io.hold():
                self.panel.css_classes = []
                self.text.object, self.copy.text = html, bases
                self.tools.visible = True

    def _pick_nodes(self, *_events: Any) -> None:
        """Select the nodes of a hit that was found on the open graph."""
        result, row, opened = self._state.result, self._state.hit, self._state.session.opened
        if row == NO_HIT or result is None or result.sites is None or opened is None:
            return
        if result.sites.found.graph is opened.graph:
            self._nodes.ask(nodes_of, opened.graph, [region_of(result, row)])

    def _on_nodes(self, nodes: np.ndarray) -> None:
        self._state.session.picked = nodes


def _facts_of(
    result: SearchResult, row: int, flank: int, genes: HitGenes | None
) -> tuple[int, str, str]:
    around = flank_of(result, row, flank)
    html = card_html(result, row, around, genes) + haplotypes_html(result, row)
    return row, html, around.text


@dataclass(frozen=True)
class Flank:
    """A hit and its flanking bases, on the strand of the hit.

    Attributes
    ----------
    before, site, after
        Bases; soft-masked ones are in lower case.
    """

    before: str
    site: str
    after: str

    @property
    def text(self) -> str:
        """The concatenated bases."""
        return self.before + self.site + self.after


def flank_of(result: SearchResult, row: int, n_bases: int) -> Flank:
    """Return a hit with up to ``n_bases`` on both sides, within its contig."""
    hits, planes = result.hits, result.genome.planes
    contig, start = int(hits.contig_ids[row]), int(hits.positions[row])
    end = start + int(hits.lengths[row])
    low = max(start - n_bases, int(planes.offsets[contig]))
    high = min(end + n_bases, int(planes.offsets[contig + 1]))
    letters = planes.cut(low, high)
    is_masked = masked_in(planes.masked, low, high)
    if hits.strands[row] < 0:
        letters, is_masked = COMPLEMENTS[letters][::-1], is_masked[::-1]
        n_before = high - end
    else:
        n_before = start - low
    text = np.where(is_masked, letters | 32, letters).astype(np.uint8).tobytes().decode("latin-1")
    stop = n_before + end - start
    return Flank(text[:n_before], text[n_before:stop], text[stop:])


def masked_in(masked: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return a mask of soft-masked bases; bool, shape (high - low,)."""
    is_masked = np.zeros(high - low, bool)
    first = int(np.searchsorted(masked[:, 1], low, side="right"))
    last = int(np.searchsorted(masked[:, 0], high, side="left"))
    for start, stop in masked[first:last].tolist():
        is_masked[max(start - low, 0) : max(stop - low, 0)] = True
    return is_masked


def card_html(result: SearchResult, row: int, flank: Flank, genes: HitGenes | None = None) -> str:
    """Return the facts on a hit as HTML."""
    hits, query = result.hits, result.query
    rows = np.array([row])
    part = hits.take(rows)
    alignment = part.alignments()[0]
    guide = query.guides[int(hits.guide_ids[row])]
    place = protospacers_of(query)[int(hits.guide_ids[row])]
    region = region_of(result, row)
    strand = "+" if hits.strands[row] > 0 else "−"
    facts = {
        "Place (from 1)": f"{region.start + 1:,}-{region.end:,}, {strand}",
        "0-based, half-open": f"{region.start} to {region.end}",
    }
    if query.pam.letters:
        cut = int(for_each_hit(part, cut_sites)[0])
        facts["Cut (from 1)"] = f"after base {cut:,}"
    facts["Mismatches"] = str(int(hits.mismatches[row]))
    if query.pam.letters:
        n_seed = int(for_each_hit(part, count_seed_mismatches)[0])
        facts["Mismatches"] += f", {n_seed} in the seed"
    kind = int(kind_of(result, rows)[0])
    if kind:
        facts["Bulge"] = kinds_of(query)[kind]
    facts |= gene_facts(genes, row) | _scores(result, row, part)
    n_masked = sum(map(str.islower, flank.site))
    if len(result.genome.planes.masked):
        facts["Soft-masked"] = f"{n_masked} of {len(flank.site)} bp"
    n_letters = len(alignment.guide) + len("guide 5′  3′")  # each of 0.61 of the text's size
    items = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return (
        f"<h4>{escape(guide.name)} in {escape(region.path)}</h4>"
        f'<div class="stack"><pre style="font-size: clamp(9px, {160 / n_letters:.2f}cqw, 12px)">'
        f"{stacked_html(alignment, place)}</pre></div>"
        f'<dl class="numbers">{items}</dl>'
        f'<p class="flank">{flank.before}<b>{flank.site}</b>{flank.after}</p>'
    )


def gene_facts(genes: HitGenes | None, row: int) -> dict[str, str]:
    """Describe the gene of a hit; empty without genes."""
    if genes is None:
        return {}
    where, name = genes.labels(np.array([row]))[0], genes.names(np.array([row]))[0]
    if genes.classes[row] == UNKNOWN:
        return {"Gene": where}
    distance = int(genes.annotation.distances[row])
    if distance < 0:
        return {"Gene": "none on this contig"}
    name = name or "without a name"
    if distance > 0:
        return {"Gene": f"{where}, {name} {distance:,} bp away"}
    n_more = int(genes.annotation.n_genes[row]) - 1
    return {"Gene": f"{where} of {name}{f', and {n_more:,} more' if n_more > 0 else ''}"}


def _scores(result: SearchResult, row: int, part: OffTargetHits) -> dict[str, str]:
    if result.cfd is None:
        return {}
    cfd, mit = float(result.cfd[row]), float(for_each_hit(part, mit_scores)[0])
    says = {"CFD": "none" if np.isnan(cfd) else f"{cfd:.4g}"}
    if not np.isnan(mit):
        says["MIT"] = f"{mit:.4g} of 100"
    return says


def haplotypes_html(result: SearchResult, row: int) -> str:
    """Return the 1-based positions of a site on paths; "" if it is not from a graph."""
    sites = result.sites
    if sites is None:
        return ""
    places = sites.found.places(np.array([row]))
    length, names = int(result.hits.lengths[row]), result.genome.planes.names
    lines = []
    for path, start, strand in zip(
        places.paths[:MAX_LISTED].tolist(),
        places.starts[:MAX_LISTED].tolist(),
        places.strands[:MAX_LISTED].tolist(),
        strict=True,
    ):
        sign = "+" if strand > 0 else "−"
        lines.append(f"<li>{escape(names[path])}: {start + 1:,}-{start + length:,} {sign}</li>")
    n = len(places)
    more = f"; the first {MAX_LISTED:,} are listed" if n > MAX_LISTED else ""
    n_with, reference = int(sites.n_with[row]), ""
    if sites.reference is not None:
        words = sites.reference_words(np.array([row]))[0]
        reference = f"<br>{escape(sites.reference.name)}: {words}"
    return (
        f'<p class="has"><b>In {n_with:,} of '
        f"{n_words(int(sites.n_of_chromosome[row]), 'haplotype')}</b>, "
        f"{n_words(n, 'place')}{more}{reference}</p><ul>{''.join(lines)}</ul>"
    )
