"""Which paths of the open graph carry the alleles of a variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from genoviz.analyses.graph.sites.alleles import SiteAlleles, site_alleles
from genoviz.analyses.graph.sites.sites import find_sites
from genoviz.analyses.graph.sites.variation_sites import VariationSites
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.intervals.contig_names import aliases
from genoviz_app.parts.words import n_words
from genoviz_app.session.graph_places import on_graph

MOST_NAMES, MOST_BASES = 12, 40


@dataclass(frozen=True, eq=False)
class GraphAlleles:
    """A site of a graph at the place of a variant.

    Attributes
    ----------
    region
        The place on a path of the graph.
    alleles
        What the paths have there; None if the graph has no site at that place.
    names
        Names of all paths.
    sites
        All sites along that path, which the next question needs.
    """

    region: PathRegion
    alleles: SiteAlleles | None
    names: Sequence[str]
    sites: VariationSites


def place_on_graph(graph: PangenomeGraph | None, region: PathRegion) -> PathRegion | None:
    """Return a region on a path of the graph, by any name of its contig; None if it has none."""
    if graph is None:
        return None
    for name in (region.path, *aliases(region.path)):
        placed = on_graph(graph, PathRegion(name, region.start, region.end))
        if placed.path in graph.path_names:
            length = int(graph.path_lengths[graph.path_names.index(placed.path)])
            return placed if placed.start < length else None
    return None


def find_graph_alleles(
    graph: PangenomeGraph, region: PathRegion, sites: VariationSites | None
) -> GraphAlleles:
    """Return the innermost site at a place of a path; ``sites`` are those known of a path."""
    reference = graph.path_names.index(region.path)
    if sites is None or sites.reference != reference:
        sites = find_sites(graph, reference)
    found = np.flatnonzero((sites.starts <= region.start) & (sites.ends > region.start))
    alleles = None
    if len(found):
        innermost = found[np.argmin(sites.ends[found] - sites.starts[found])]
        alleles = site_alleles(graph, sites, int(innermost), max_bases=MOST_BASES)
    return GraphAlleles(region, alleles, graph.path_names, sites)


def paths_html(found: GraphAlleles, first: str, second: str) -> str:
    """Return which paths carry each allele of the graph; those of the variant are named."""
    if found.alleles is None:
        return (
            f"<p>The graph does not vary at {escape(str(found.region))}: all paths there are "
            "alike.</p>"
        )
    known = {first.upper(): "A1", second.upper(): "A2"}
    rows = []
    for place, paths in enumerate(found.alleles.paths):
        spelt = found.alleles.sequences
        text = "" if spelt is None else spelt[place]
        length = int(found.alleles.lengths[place])
        said = (text if length <= MOST_BASES else f"{text}…") if text else f"{length:,} bp"
        kind = known.get(text.upper(), "")
        names = [escape(found.names[path]) for path in paths[:MOST_NAMES].tolist()]
        more = f" and {len(paths) - MOST_NAMES:,} more" if len(paths) > MOST_NAMES else ""
        rows.append(
            f"<li><b>{escape(said)}</b>{f' ({kind})' if kind else ''}: "
            f"{n_words(len(paths), 'path')}<span>{', '.join(names)}{more}</span></li>"
        )
    return f'<p>Alleles of the paths of the graph:</p><ul class="paths">{"".join(rows)}</ul>'
