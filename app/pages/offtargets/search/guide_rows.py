"""Guides as rows of a table, with their hits by mismatches."""

from __future__ import annotations

from math import ceil

import numpy as np
import pandas as pd

from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.query import MAX_MISMATCHES, OffTargetQuery
from genoviz_app.pages.offtargets.search.search import SearchResult
from genoviz_app.parts.remote_table import MAX_ROWS, Column, TableRows

CODE = '<code style="font-size:10.5px">{}</code>'
PADDING, LETTER, DIGIT, COMMA = 11, 7, 7.7, 4
"""Pixels that a cell takes beside its letters, and that letters take."""
SHORT_SEQUENCE = 90
"""Pixels that are left to a sequence, where there is little room."""
SHORT_NAME, LONG_NAME = 52, 116
IN_REFERENCE, IN_EXONS, BULGED, SPECIFICITY = "In ref.", "Exons", "Bulge", "Spec."
LEVELS = tuple(str(level) for level in range(MAX_MISMATCHES + 1))
COLUMNS = (
    Column("Guide", share=54),
    Column("Sequence", share=138, is_html=True),
    Column("Hits", is_number=True, share=46),
    Column(IN_EXONS, is_number=True, share=52),
    Column(SPECIFICITY, is_number=True, share=50, format="0.000"),
    Column("Worst", is_number=True, share=52, format="0.000"),
    Column(IN_REFERENCE, is_number=True, share=52, format="0.000"),
    *(Column(level, is_number=True, share=23) for level in LEVELS),
    Column(BULGED, is_number=True, share=54),
)
"""What guides amount to comes first: hits by mismatches may need more room than there is."""


def guide_rows(result: SearchResult, genes: HitGenes | None = None) -> TableRows:
    """Return the guides of a search as rows, at most as many as a table holds."""
    guides = result.query.guides[:MAX_ROWS]
    summaries, n_levels = result.summaries, result.query.max_mismatches + 1
    counts = np.zeros((len(guides), n_levels), np.int64)
    plain = summaries.counts[: len(guides)]
    counts[:, : plain.shape[1]] = plain
    frame = pd.DataFrame(
        {
            "Guide": [guide.name for guide in guides],
            "Sequence": [CODE.format(guide.letters) for guide in guides],
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
        hidden += [SPECIFICITY, "Worst"]
    sites = result.sites
    if sites is not None:
        # Alleles of a target are sites of their own: a sum over them says nothing.
        hidden += [SPECIFICITY, "Worst"] if sites.reference is None else [SPECIFICITY]
    if result.cfd is None or sites is None or sites.reference is None:
        hidden.append(IN_REFERENCE)
    hidden = list(dict.fromkeys(hidden))
    n_twice = int(summaries.is_ambiguous.sum()) if sites is None else 0
    n_lost = int((~summaries.is_found).sum())
    notes = (f"{n_lost:,} not found" if n_lost else "",
             f"{n_twice:,} with several perfect copies" if n_twice else "")  # fmt: skip
    note = "; ".join(filter(None, notes))
    rows = np.arange(len(guides))
    widths = _least_widths(frame, guide_width(result.query))
    return TableRows(frame, words, rows, note, tuple(hidden), widths)


def guide_width(query: OffTargetQuery) -> int:
    """Return the width of a column of names of guides, px, as far as there is room for it."""
    longest = max(len(guide.name) for guide in query.guides)
    return min(max(PADDING + LETTER * longest, SHORT_NAME), LONG_NAME)


def _least_widths(frame: pd.DataFrame, of_names: int) -> tuple[tuple[str, int], ...]:
    """Return the widths that columns need, px: of their titles, and of all digits of counts."""
    whole = frame.select_dtypes("integer").max()
    needed = {name: _width_of(int(most)) for name, most in whole.items()}
    shares = {column.title: column.share for column in COLUMNS}
    shares |= {"Guide": of_names, "Sequence": SHORT_SEQUENCE}
    return tuple((name, max(share, needed.get(name, 0))) for name, share in shares.items())


def _width_of(number: int) -> int:
    text = f"{number:,}"
    n_commas = text.count(",")
    return ceil(PADDING + DIGIT * (len(text) - n_commas) + COMMA * n_commas)


def _worst(result: SearchResult, n: int) -> dict[str, np.ndarray]:
    """Return the highest CFD of an off-target of each guide: in all, and in the reference."""
    sites = result.sites
    if sites is None or sites.reference is None:
        return {"Worst": result.summaries.worst_cfd[:n], IN_REFERENCE: np.full(n, np.nan)}
    risks = sites.reference.risks
    return {"Worst": risks.worst_cfd[:n], IN_REFERENCE: risks.reference_cfd[:n]}
