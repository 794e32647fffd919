"""Kinds of bulges by number: none, DNA bulges and RNA bulges by size."""

from __future__ import annotations

import numpy as np

from genoviz.model.offtargets.protospacer import BulgeType
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.pages.offtargets.search.running import SearchResult

KIND_SIZES = 16


def kinds_of(query: OffTargetQuery) -> dict[int, str]:
    """Return the bulge kinds of a search by number, and their names."""
    kinds = {0: "No bulge"}
    for kind, maximum in ((BulgeType.DNA, query.dna_bulge), (BulgeType.RNA, query.rna_bulge)):
        for size in range(1, maximum + 1):
            kinds[int(kind) * KIND_SIZES + size] = f"{kind.label} bulge, {size} nt"
    return kinds


def kind_of(result: SearchResult, rows: np.ndarray | slice) -> np.ndarray:
    """Return the bulge kind of each hit; int64."""
    hits = result.hits
    return hits.bulge_types[rows].astype(np.int64) * KIND_SIZES + hits.bulge_sizes[rows]


def short_kind(name: str) -> str:
    """Abbreviate the name of a bulge kind for table cells.

    Examples
    --------
    >>> short_kind("DNA bulge, 1 nt"), short_kind("No bulge")
    ('DNA 1', '')
    """
    kind, _, size = name.partition(" bulge, ")
    return f"{kind} {size.removesuffix(' nt')}" if size else ""
