"""Where the hit that is looked at is in the figure of places."""

from __future__ import annotations

import numpy as np

from genoviz_app.pages.offtargets.hits.place_bins import CONTIGS, N_SCORES, SCORES, PlaceBins
from genoviz_app.pages.offtargets.search.search import SearchResult


def mark_of(
    result: SearchResult | None, row: int, bins: PlaceBins | None
) -> dict[str, list[float]]:
    """Return x and y of a hit above its row of the figure; nothing where it has no place."""
    nowhere: dict[str, list[float]] = {"x": [], "y": []}
    if result is None or row < 0 or bins is None:
        return nowhere
    hits = result.hits
    if bins.view.mode == CONTIGS:
        places = np.flatnonzero(bins.contigs == hits.contig_ids[row])
        if not len(places):
            return nowhere
        return {"x": [float(hits.starts[row])], "y": [0.45 - float(places[0])]}
    level = float(hits.mismatches[row]) + 0.45
    if bins.view.mode == SCORES:
        score = np.nan if result.cfd is None else float(result.cfd[row])
        if np.isnan(score):
            return nowhere
        level = min(score * N_SCORES, N_SCORES - 1.0) + 0.6
    return {"x": [float(hits.positions[row])], "y": [level]}
