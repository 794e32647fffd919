"""The table of guides: sites by mismatches, specificity, and selection of a guide."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.query import MAX_MISMATCHES, OffTargetQuery
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS

LISTING = "Listing the guides …"
WORST = (
    "Columns 0, 1, ...: hits by number of mismatches. Exons: hits that "
    "overlap an exon. Specificity: from CFD. Worst CFD: the highest of an "
    "off-target."
)
TARGET_IN = "Target in"
IN_HAPLOTYPES = f"{TARGET_IN}: haplotypes that have a perfect site, of all."
SITES = "Columns 0, 1, ...: sites of all haplotypes by number of mismatches, each counted once."
CODE = '<code style="font-size:10.5px">{}</code>'
PADDING, LETTER, DIGIT, COMMA = 11, 7.6, 7.7, 4
"""Cell padding and widths of characters, px."""
SHORT_SEQUENCE = 78
"""Minimum width of a sequence, px."""
SHORT_NAME, LONG_NAME = 52, 116
WORST_CFD, IN_REFERENCE, SPECIFICITY = "Worst CFD", "CFD in reference", "Specificity"
IN_EXONS, BULGED = "Exons", "Bulge"
LEVELS = tuple(str(level) for level in range(MAX_MISMATCHES + 1))
COLUMNS = (
    Column("Guide", share=54),
    Column("Sequence", share=138, is_html=True),
    Column(TARGET_IN, share=60),
    Column("Hits", is_number=True, share=42),
    Column(IN_EXONS, is_number=True, share=52),
    Column(SPECIFICITY, is_number=True, share=92, format="0.000"),
    Column(WORST_CFD, is_number=True, share=52, format="0.000"),
    Column(IN_REFERENCE, is_number=True, share=64, format="0.000"),
    *(Column(level, is_number=True, share=22) for level in LEVELS),
    Column(BULGED, is_number=True, share=54),
)
"""Summary columns come first, because hits by mismatches may not fit on the screen."""


class GuideTable:
    """A table of guides; a click lists the hits of one guide.

    Attributes
    ----------
    table, all_button, panel
        The table, the button that lists hits of all guides, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self._rows = Question(state.session, "rows of guides", self._on_rows)
        self.table = RemoteTable(
            COLUMNS,
            placeholder="Find a guide",
            on_row=self._on_row,
            min_width=24,
            page_size=100,
        )
        self.table.search.width = 150
        self.all_button = pmui.Button(
            label="All guides", size="small", variant="outlined", margin=(4, 8, 0, 0),
            description="List the hits of all guides", visible=False,
        )  # fmt: skip
        self.all_button.on_click(lambda _: state.change(guide=-1))
        self.definition = pmui.IconButton(
            icon="info_outlined", size="18px", margin=(4, 4, 0, 0), visible=False,
            description="What specificity is",
        )  # fmt: skip
        bar = pmui.Row(
            self.table.search, self.table.count, self.definition, self.all_button,
            sizing_mode="stretch_width", margin=(4, 4, 0, 8), sx=NARROW_WRAPS,
        )  # fmt: skip
        self.panel = pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0)
        state.param.watch(self._follow, ["result", "genes"])
        state.param.watch(self._follow_filter, "filter")

    def _follow(self, *_events: Any) -> None:
        result = self._state.result
        if result is None:
            self._rows.drop()
            self.table.clear()
        else:
            if not len(self.table.table.value):
                self.table.clear(LISTING)
            self._rows.ask(_rows_of, result, self._state.genes)

    def _on_rows(self, answer: tuple[SearchResult, TableRows]) -> None:
        result, rows = answer
        if result is not self._state.result:
            return
        with pn.io.hold():
            self.table.show(rows, keeps_page=self._state.is_continued)
            self.definition.visible = result.cfd is not None
            self.definition.description = definition_of(result)
        self._follow_filter()

    def _follow_filter(self, *_events: Any) -> None:
        guide = self._state.filter.guide
        result = self._state.result
        self.all_button.visible = result is not None and len(result.query.guides) > 1 and guide >= 0
        index = self.table.table.value.index
        self.table.table.selection = [int(index.get_loc(guide))] if guide in index else []

    def _on_row(self, row: int) -> None:
        self._state.change(guide=row)


def definition_of(result: SearchResult) -> str:
    """Return the definitions of the columns of a search."""
    sites = result.sites
    if sites is None:
        return f"{WORST} {result.summaries.definition}"
    if sites.reference is None:
        return f"{IN_HAPLOTYPES} {SITES}"
    name, definition = sites.reference.name, sites.reference.risks.definition
    words = (
        f"{WORST_CFD}: the highest of an off-target in any haplotype; {IN_REFERENCE}: in {name}."
    )
    return f"{IN_HAPLOTYPES} {SITES} {words} {definition}"


def _rows_of(result: SearchResult, genes: HitGenes | None) -> tuple[SearchResult, TableRows]:
    genes = genes if genes is not None and genes.result is result else None
    return result, guide_rows(result, genes)


def guide_rows(result: SearchResult, genes: HitGenes | None = None) -> TableRows:
    """Return the guides of a search as rows, up to the table's limit."""
    guides = result.query.guides[:MAX_ROWS]
    summaries, n_levels = result.summaries, result.query.max_mismatches + 1
    counts = np.zeros((len(guides), n_levels), np.int64)
    plain = summaries.counts[: len(guides)]
    counts[:, : plain.shape[1]] = plain
    # With bulges, the number of alignments per site is unknown.
    if result.left_out is not None and not (result.query.dna_bulge or result.query.rna_bulge):
        counts += result.left_out[: len(guides)]
    frame = pd.DataFrame(
        {
            "Guide": [guide.name for guide in guides],
            "Sequence": [CODE.format(guide.letters) for guide in guides],
            TARGET_IN: _target_words(result, len(guides)),
            "Hits": counts.sum(axis=1) + summaries.n_bulged[: len(guides)],
            IN_EXONS: 0 if genes is None else genes.exon_counts[: len(guides)],
            SPECIFICITY: summaries.cfd_specificity[: len(guides)],
            **_worst(result, len(guides)),
            **{
                level: counts[:, place] if place < counts.shape[1] else 0
                for place, level in enumerate(LEVELS)
            },
            BULGED: summaries.n_bulged[: len(guides)],
        }
    )
    words = np.array([f"{guide.name} {guide.letters}".lower() for guide in guides], np.str_)
    hidden = list(LEVELS[n_levels:])
    if genes is None:
        hidden.append(IN_EXONS)
    if not (result.query.dna_bulge or result.query.rna_bulge):
        hidden.append(BULGED)
    if result.cfd is None:
        hidden += [SPECIFICITY, WORST_CFD]
    sites = result.sites
    if sites is None:
        hidden.append(TARGET_IN)
    else:
        # Alleles of a target are counted as separate sites, so their sum is meaningless.
        hidden += [SPECIFICITY, WORST_CFD] if sites.reference is None else [SPECIFICITY]
    if result.cfd is None or sites is None or sites.reference is None:
        hidden.append(IN_REFERENCE)
    hidden = list(dict.fromkeys(hidden))
    n_twice = int(summaries.is_ambiguous.sum()) if sites is None else 0
    n_lost = int((~summaries.is_found).sum()) if result.is_whole else 0
    notes = (result.searched_words,
             f"{n_lost:,} not found" if n_lost else "",
             f"{n_twice:,} with several perfect copies" if n_twice else "")  # fmt: skip
    note = "; ".join(filter(None, notes))
    n_searched = len(guides) if result.n_guides is None else result.n_guides
    # Nothing is known of the other guides; they would appear to have no sites.
    frame, words, rows = frame.iloc[:n_searched], words[:n_searched], np.arange(n_searched)
    widths = _minimum_widths(frame, guide_width(result.query))
    return TableRows(frame, words, rows, note, tuple(hidden), widths)


def guide_width(query: OffTargetQuery) -> int:
    """Return the width of the guide name column, px, up to a limit."""
    longest = max(len(guide.name) for guide in query.guides)
    return min(max(ceil(PADDING + LETTER * longest), SHORT_NAME), LONG_NAME)


def _minimum_widths(frame: pd.DataFrame, of_names: int) -> tuple[tuple[str, int], ...]:
    """Return the minimum widths of columns, px, that fit titles and all digits of counts."""
    whole = frame.select_dtypes("integer").max()
    needed = {name: _width_of(int(maximum)) for name, maximum in whole.items()}
    shares = {column.title: column.share for column in COLUMNS}
    shares |= {"Guide": of_names, "Sequence": SHORT_SEQUENCE}
    return tuple((name, max(share, needed.get(name, 0))) for name, share in shares.items())


def _target_words(result: SearchResult, n: int) -> list[str]:
    """Return the number of haplotypes with a perfect site; the text sorts numerically."""
    if result.sites is None:
        return [""] * n
    of_all = result.sites.n_haplotypes
    width = len(f"{of_all:,}")
    return [f"{count:{width},}/{of_all:,}" for count in result.sites.n_with_target[:n].tolist()]


def _width_of(number: int) -> int:
    text = f"{number:,}"
    n_commas = text.count(",")
    return ceil(PADDING + DIGIT * (len(text) - n_commas) + COMMA * n_commas)


def _worst(result: SearchResult, n: int) -> dict[str, np.ndarray]:
    """Return the highest off-target CFD of each guide: overall, and in the reference."""
    sites = result.sites
    if sites is None or sites.reference is None:
        return {WORST_CFD: result.summaries.worst_cfd[:n], IN_REFERENCE: np.full(n, np.nan)}
    risks = sites.reference.risks
    return {WORST_CFD: risks.worst_cfd[:n], IN_REFERENCE: risks.reference_cfd[:n]}
