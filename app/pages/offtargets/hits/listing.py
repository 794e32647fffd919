"""The table of hits, sorted and filtered on the server and sent in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.differences import count_seed_mismatches
from genoviz.errors import ParameterError
from genoviz_app.pages.offtargets.hits.alignment_html import dots_html, protospacers_of
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of, kinds_of, short_kind
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.hits.filter_bar import FilterBar, HitChips
from genoviz_app.pages.offtargets.hits.heat_maps import DifferencesPanel, HaplotypesPanel
from genoviz_app.pages.offtargets.hits.order import (
    CLASS,
    GENE,
    PRESENT,
    REFERENCE,
    SEED,
    STRAND,
    HitOrder,
)
from genoviz_app.pages.offtargets.hits.regions import highlight_of
from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.guide_groups import for_each_hit
from genoviz_app.pages.offtargets.search.guide_table import PADDING, guide_width
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, in_narrow_window
from genoviz_app.parts.words import n_words
from genoviz_app.session.lit_sets import Highlight

BLOCK = 1_000
LISTING = "Listing the hits …"
NO_HIT = "no hit is listed; search first"
COLUMNS = (
    Column("Guide", share=80),
    Column("Site", share=188, is_html=True, is_sortable=False),
    Column("Contig", share=60, is_spare=True),
    Column("Start", is_number=True, share=POSITION, is_spare=True),
    Column(STRAND, share=22),
    Column("Mismatches", is_number=True, share=76),
    Column(SEED, is_number=True, share=45, is_spare=True),
    Column("Bulge", share=50),
    Column("CFD", is_number=True, share=48, format="0.000"),
    Column("Cut", is_number=True, share=70, is_sortable=False, is_spare=True),
    Column(PRESENT, share=66),
    Column(REFERENCE, share=78, is_spare=True),
    Column(GENE, share=72),
    Column(CLASS, share=76),
)
"""The card has what the spare columns have of a hit."""
SHORTENED = {GENE: 50}
"""Minimum widths of columns, px, that may become narrower than their shares."""
LONG_NAME, BASE = 64, 6.8
"""Maximum width of a guide name, and width of a base of a site, px."""
FEW_LETTERS = 8
"""Maximum length of a contig's name that the usual share of the width shows."""
MIN_WIDTHS = {column.title: column.share for column in COLUMNS} | SHORTENED
TABLE, DIFFERENCES, HAPLOTYPES = "Hits", "Differences", "Haplotypes"
ICON: dict[str, Any] = {"size": "16px", "margin": 0}
STYLE = """
:host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }
b { font-family: monospace; font-weight: 600; }
"""


def hit_rows(found: FoundHits, first: int) -> TableRows:
    """Return a block of hits as rows with 1-based positions."""
    result = found.result
    hits, query = result.hits, result.query
    rows = found.rows[first : first + BLOCK]
    names = np.array([guide.name for guide in query.guides], object)
    contigs = np.array(result.genome.planes.names, object)
    kinds = kinds_of(query)
    shorts = {number: short_kind(name) for number, name in kinds.items()}
    frame = pd.DataFrame(
        {
            "Guide": names[hits.guide_ids[rows]],
            "Site": site_htmls(result, rows),
            "Contig": contigs[hits.contig_ids[rows]],
            "Start": hits.starts[rows] + 1,
            STRAND: np.where(hits.strands[rows] > 0, "+", "−"),
            "Mismatches": hits.mismatches[rows].astype(np.int64),
            SEED: _seeds(result, rows),
            "Bulge": [shorts[kind] for kind in kind_of(result, rows).tolist()],
            "CFD": result.cfd[rows] if result.cfd is not None else np.nan,
            "Cut": for_each_hit(hits.take(rows), cut_sites) if result.query.pam.letters else 0,
            **_graph_columns(result, rows),
            **_gene_columns(found.genes, rows),
        }
    )
    hidden = _hidden(found)
    words, of_rows = np.empty(0, np.str_), np.zeros(len(rows), np.int64)
    n_bases = query.lengths[-1] + query.dna_bulge + 1 + len(query.pam.letters)
    site = min(PADDING + round(BASE * n_bases), MIN_WIDTHS["Site"])
    widths = MIN_WIDTHS | {"Guide": min(guide_width(query), LONG_NAME), "Site": site}
    longest = max(map(len, result.genome.planes.names), default=0)
    shares = () if longest <= FEW_LETTERS else (("Contig", round(BASE * longest)),)
    return TableRows(frame, words, of_rows, "", hidden, tuple(widths.items()), shares)


def _hidden(found: FoundHits) -> tuple[str, ...]:
    """Return the columns that do not apply to a search."""
    result, query = found.result, found.result.query
    hidden = [] if len(kinds_of(query)) > 1 else ["Bulge"]
    if result.cfd is None:
        hidden.append("CFD")
    if not query.pam.letters:
        hidden.append(SEED)
    if not query.pam.letters or result.sites is not None or found.genes is not None:
        hidden.append("Cut")  # the card shows it
    if result.sites is None:
        hidden.append(PRESENT)
    else:
        # Of the first place only; the card lists all.
        hidden += [STRAND] if found.genes is None else [STRAND, "Contig", "Start"]
    if result.sites is None or result.sites.reference is None:
        hidden.append(REFERENCE)
    if len(query.guides) == 1 or found.filter.guide >= 0:
        hidden.append("Guide")
    if found.genes is None:
        hidden += [GENE, CLASS]
    return tuple(hidden)


def _seeds(result: SearchResult, rows: np.ndarray) -> np.ndarray:
    """Return the mismatches in the seed of these rows only."""
    return for_each_hit(result.hits.take(rows), count_seed_mismatches).astype(np.int64)


def _gene_columns(genes: HitGenes | None, rows: np.ndarray) -> dict[str, Any]:
    if genes is None:
        return {GENE: "", CLASS: ""}
    return {GENE: genes.names(rows), CLASS: genes.labels(rows)}


def _graph_columns(result: SearchResult, rows: np.ndarray) -> dict[str, Any]:
    sites = result.sites
    if sites is None:
        return {PRESENT: "", REFERENCE: ""}
    numbers = zip(sites.n_with[rows].tolist(), sites.n_of_chromosome[rows].tolist(), strict=True)
    counts = [f"{n:,}/{of_all:,}" for n, of_all in numbers]
    words = [
        text.replace(" mismatches", " mm").replace(" mismatch", " mm")
        for text in sites.reference_words(rows)
    ]
    return {PRESENT: counts, REFERENCE: words}


def site_htmls(result: SearchResult, rows: np.ndarray) -> list[str]:
    """Return the alignments of hits, one line each."""
    hits = result.hits
    places = protospacers_of(result.query)
    guides = hits.guide_ids[rows].tolist()
    return [
        dots_html(alignment, places[guide])
        for guide, alignment in zip(guides, hits.alignments(rows), strict=True)
    ]


class HitTable:
    """A table with filters; a click selects a hit.

    Attributes
    ----------
    filters, chips, table, differences, haplotypes, view, said, panel
        The filters, the table, the two figures of its hits, the selected one of these three, the
        number of hits, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._first = state, 0
        self._shown: FoundHits | None = None
        self._shown_first = 0
        self._rows = Question(state.session, "rows of hits", self._on_rows)
        self.filters, self.chips = FilterBar(state), HitChips(state)
        self.table = RemoteTable(
            COLUMNS,
            placeholder="",
            on_row=self._on_row,
            min_width=24,
            on_sort=self._on_sort,
        )
        self.said = pn.pane.HTML(
            "",
            stylesheets=[STYLE],
            sizing_mode="stretch_width",
            margin=(3, 4, 0, 4),
        )
        self.before = self._icon("chevron_left", f"The {BLOCK:,} hits before", -BLOCK)
        self.after = self._icon("chevron_right", f"The next {BLOCK:,} hits", BLOCK)
        self.view = pmui.RadioButtonGroup(
            label="", options=[TABLE, DIFFERENCES], value=TABLE, size="small",
            description="Hits, their mismatches by kind and position, or the haplotypes that "
            "have them",
            margin=0, sx={"& .MuiToggleButton-root": {"padding": "0 7px", "fontSize": "12px"}},
        )  # fmt: skip
        self.differences, self.haplotypes = DifferencesPanel(state), HaplotypesPanel(state)
        self.view.param.watch(self._show_view, "value")
        state.param.watch(self._show_view, "result")
        self.light = light_button(
            state.session, self._lit, "all listed hits", icon=None, margin=0,
            sx={
                "fontSize": "12px", "lineHeight": "20px",
                "&.MuiButton-sizeSmall": {"padding": "0 7px"},
            },
        )  # fmt: skip
        count = pmui.Row(
            self.view, self.said, self.before, self.after, self.light,
            sizing_mode="stretch_width", min_height=24, margin=(0, 8, 2, 8),
            sx=NARROW_WRAPS, stylesheets=in_narrow_window("auto"),
        )  # fmt: skip
        self.panel = pmui.Column(
            self.filters.panel, self.chips.panel, count, self.table.place, self.differences.panel,
            self.haplotypes.panel,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip
        allow(self.light, NO_HIT)
        state.param.watch(self._follow, "found")
        state.param.watch(self._follow_order, "order")

    def _icon(self, icon: str, description: str, step: int) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, visible=False, **ICON)
        button.on_click(lambda _: self._turn(step))
        return button

    def _show_view(self, *_events: Any) -> None:
        """Show the table, or a figure of its hits."""
        result = self._state.result
        has_haplotypes = result is not None and result.sites is not None
        options = [TABLE, DIFFERENCES, *([HAPLOTYPES] if has_haplotypes else [])]
        view = self.view.value if self.view.value in options else TABLE
        with pn.io.hold():
            if self.view.options != options:
                self.view.param.update(options=options, value=view)
            self.table.place.visible = view == TABLE
            self.differences.panel.visible = view == DIFFERENCES
            self.haplotypes.panel.visible = view == HAPLOTYPES

    def _lit(self) -> Callable[[], Highlight]:
        """Return a function that makes a highlight of all listed hits."""
        found = self._state.found
        if found is None or not len(found):
            raise ParameterError(NO_HIT)
        return lambda: highlight_of(found.result, found.rows)

    def _follow(self, *_events: Any) -> None:
        found, before = self._state.found, self._shown
        if not _is_same_list(found, before):
            self._first = 0
        allow(self.light, "" if found is not None and len(found) else NO_HIT)
        if found is None:
            self._rows.drop()
            self._shown = None
            self.table.clear()
            self.said.object = ""
            self.before.visible = self.after.visible = False
        else:
            if self._shown is None:
                self.said.object = LISTING
            self._rows.ask(_rows_of, found, self._first)

    def _turn(self, step: int) -> None:
        found = self._state.found
        if found is not None:
            first = self._first + step
            if 0 <= first < len(found):
                self._first = first
                self._rows.ask(_rows_of, found, first)

    def _on_rows(self, answer: tuple[FoundHits, TableRows]) -> None:
        found, rows = answer
        if found is not self._state.found:
            return
        is_same = _is_same_list(found, self._shown) and self._shown_first == self._first
        self._shown, self._shown_first = found, self._first
        last, n = self._first + len(rows.frame), len(found)
        with pn.io.hold():
            self.table.show(rows, keeps_page=is_same)
            self.before.visible = self.after.visible = n > BLOCK
            allow(self.before, "" if self._first else "this is the first page")
            allow(self.after, "" if last < n else "this is the last page")
            self.said.object = self._words(found, last)

    def _words(self, found: FoundHits, last: int) -> str:
        n, total = len(found), len(found.result)
        words = n_words(n, "hit") if n == total else f"{n:,} of {n_words(total, 'hit')}"
        if n > BLOCK:
            words = f"{self._first + 1:,} to {last:,} of {words}"
        if found.result.searched_words:
            of_first = "so far" if found.result.is_growing else f"of {found.result.searched_words}"
            words = f"{words} {of_first}"
        return words

    def _on_row(self, row: int) -> None:
        shown, result = self._shown, self._state.result
        if shown is None or result is None:
            return
        hit = int(shown.rows[self._shown_first + row])
        if shown.result is result:
            self._state.choose_hit(hit)
        elif shown.result.query is result.query:  # the same search has progressed
            self._state.choose_hit(result.row_of(shown.result, hit))

    def _follow_order(self, *_events: Any) -> None:
        order = self._state.order
        self.table.mark_order("" if order == HitOrder() else order.column, order.is_descending)

    def _on_sort(self, column: str, is_descending: bool) -> None:
        order = HitOrder(column, is_descending) if column else HitOrder()
        if order != self._state.order:
            self._state.order = order


def _is_same_list(found: FoundHits | None, before: FoundHits | None) -> bool:
    """Return whether the list is that of an earlier state of the same search."""
    if found is None or before is None or not before.result.is_growing:
        return False
    is_same_search = found.result.query is before.result.query
    return is_same_search and (found.filter, found.order) == (before.filter, before.order)


def _rows_of(found: FoundHits, first: int) -> tuple[FoundHits, TableRows]:
    return found, hit_rows(found, first)
