"""Hits as rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.differences import count_seed_mismatches
from genoviz_app.pages.offtargets.hits.alignment_html import dots_html, protospacers_of
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of, kinds_of, short_kind
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.hits.order import (
    CLASS,
    GENE,
    PRESENT,
    REFERENCE,
    SEED,
    STRAND,
)
from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.guide_groups import for_each_hit
from genoviz_app.pages.offtargets.search.guide_table import PADDING, guide_width
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.parts.remote_table import Column, TableRows

BLOCK = 1_000
COLUMNS = (
    Column("Guide", share=52),
    Column("Site", share=188, is_html=True, is_sortable=False),
    Column("Contig", share=58),
    Column("Start", is_number=True, share=80),
    Column(STRAND, share=26),
    Column("Mism.", is_number=True, share=54),
    Column(SEED, is_number=True, share=45),
    Column("Bulge", share=50),
    Column("CFD", is_number=True, share=48, format="0.000"),
    Column("Cut", is_number=True, share=70, is_sortable=False),
    Column(PRESENT, share=66),
    Column(REFERENCE, share=78),
    Column(GENE, share=72),
    Column(CLASS, share=76),
)
SHORTENED = ("Contig", GENE)
"""Columns that become narrower where there is little room."""
LONG_NAME, BASE = 64, 6.8
"""Pixels that a name of a guide may take, and that a base of a site takes."""
LEAST_WIDTHS = {column.title: column.share for column in COLUMNS if column.title not in SHORTENED}


def hit_rows(found: FoundHits, first: int) -> TableRows:
    """Return a block of hits as rows; positions are written from 1."""
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
            "Mism.": hits.mismatches[rows].astype(np.int64),
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
    site = min(PADDING + round(BASE * n_bases), LEAST_WIDTHS["Site"])
    widths = LEAST_WIDTHS | {"Guide": min(guide_width(query), LONG_NAME), "Site": site}
    return TableRows(frame, words, of_rows, "", hidden, tuple(widths.items()))


def _hidden(found: FoundHits) -> tuple[str, ...]:
    """Return the columns that have nothing to say of a search."""
    result, query = found.result, found.result.query
    hidden = [] if len(kinds_of(query)) > 1 else ["Bulge"]
    if result.cfd is None:
        hidden.append("CFD")
    if not query.pam.letters:
        hidden.append(SEED)
    if not query.pam.letters or result.sites is not None or found.genes is not None:
        hidden.append("Cut")  # the card has it
    if result.sites is None:
        hidden.append(PRESENT)
    else:
        # Of the first place alone; the card lists all.
        hidden += [STRAND] if found.genes is None else [STRAND, "Contig", "Start"]
    if result.sites is None or result.sites.reference is None:
        hidden.append(REFERENCE)
    if len(query.guides) == 1 or found.filter.guide >= 0:
        hidden.append("Guide")
    if found.genes is None:
        hidden += [GENE, CLASS]
    return tuple(hidden)


def _seeds(result: SearchResult, rows: np.ndarray) -> np.ndarray:
    """Return mismatches in the seed, for these rows alone."""
    return for_each_hit(result.hits.take(rows), count_seed_mismatches).astype(np.int64)


def _gene_columns(genes: HitGenes | None, rows: np.ndarray) -> dict[str, Any]:
    if genes is None:
        return {GENE: "", CLASS: ""}
    return {GENE: genes.names(rows), CLASS: genes.labels(rows)}


def _graph_columns(result: SearchResult, rows: np.ndarray) -> dict[str, Any]:
    sites = result.sites
    if sites is None:
        return {PRESENT: "", REFERENCE: ""}
    counts = [f"{n:,}/{sites.n_haplotypes:,}" for n in sites.n_with[rows].tolist()]
    words = [
        text.replace(" mismatches", " mm").replace(" mismatch", " mm")
        for text in sites.reference_words(rows)
    ]
    return {PRESENT: counts, REFERENCE: words}


def site_htmls(result: SearchResult, rows: np.ndarray) -> list[str]:
    """Return the alignments of hits, a line each."""
    hits = result.hits
    places = protospacers_of(result.query)
    guides = hits.guide_ids[rows].tolist()
    return [
        dots_html(alignment, places[guide])
        for guide, alignment in zip(guides, hits.alignments(rows), strict=True)
    ]
