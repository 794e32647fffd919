"""The haplotypes that have a hit, with where each has it, as HTML."""

from __future__ import annotations

from html import escape

import numpy as np

from genoviz_app.pages.offtargets.search.search import SearchResult
from genoviz_app.parts.words import n_words

MAX_LISTED = 200


def haplotypes_html(result: SearchResult, row: int) -> str:
    """Return the places of a site on paths, counted from 1; "" where it is not of a graph."""
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
        f'<p class="has"><b>In {n_with:,} of {sites.n_haplotypes:,} haplotypes</b>, '
        f"{n_words(n, 'place')}{more}{reference}</p><ul>{''.join(lines)}</ul>"
    )
