"""Variation sites, and the alleles of a site, as table rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.graph.sites.alleles import SiteAlleles, site_alleles
from genoviz.analyses.graph.sites.kinds import SiteKind
from genoviz.analyses.graph.sites.results import VariationSites
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.remote_table import Column, TableRows
from genoviz_app.parts.words import n_words

ALL_KINDS, NO_SITE = -1, -2
SITE_COLUMNS = (
    Column("Start (bp)", is_number=True, share=3, min_width=POSITION),
    Column("Kind", share=3),
    Column("Size (bp)", is_number=True, share=2),
    Column("Alleles", is_number=True, share=2),
    Column("Paths", is_number=True, share=2),
    Column("Level", is_number=True, share=2),
)
ALLELE_COLUMNS = (
    Column("Allele", share=3),
    Column("Length (bp)", is_number=True, share=3),
    Column("Paths", is_number=True, share=2),
    Column("Times", is_number=True, share=2),
    Column("Walks", is_number=True, share=2),
    Column("Sequence", share=5),
    Column("Names of the paths", share=6),
)
SHOWN_BASES, SHOWN_NAMES = 60, 8
# A sorted table would be sorted again for each page, in the server's only thread.
MAX_LISTED = 40_000


@dataclass(frozen=True, eq=False)
class SiteRows:
    """Rows of the table of sites, with their sites.

    Attributes
    ----------
    rows
        The rows.
    sites
        int64: site of each row, or -1 for an interval without one.
    starts, ends
        int64: interval of each row on the reference path, bp from the path's first base.
    """

    rows: TableRows
    sites: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True, eq=False)
class SiteDetail:
    """One site, or an interval without one: alleles, nodes and position.

    Attributes
    ----------
    title
        A short title.
    region
        Interval on the reference path; extended by one base on each side if it is empty.
    nodes
        int64: boundaries of the site and all nodes of its alleles.
    alleles, rows
        The alleles, and their table rows; None for an interval without a site.
    """

    title: str
    region: PathRegion
    nodes: np.ndarray
    alleles: SiteAlleles | None = None
    rows: TableRows | None = None


def kind_options(sites: VariationSites) -> dict[str, int]:
    """Return the kinds of sites with their numbers, as options of a field."""
    counts = np.bincount(sites.kinds, minlength=len(SiteKind)).tolist()
    options = {f"All sites ({len(sites):,})": ALL_KINDS}
    options |= {f"{kind.label} ({counts[kind]:,})": int(kind) for kind in SiteKind if counts[kind]}
    if len(sites.gap_starts):
        options[f"no site ({len(sites.gap_starts):,})"] = NO_SITE
    return options


def choose_sites(sites: VariationSites, kind: int, min_size: int) -> np.ndarray:
    """Return the sites of a kind whose longest allele is long enough; int64, ascending."""
    is_chosen = sites.max_lengths >= min_size
    if kind >= 0:
        is_chosen &= sites.kinds == kind
    return np.flatnonzero(is_chosen)


def site_rows(graph: PangenomeGraph, sites: VariationSites, kind: int, min_size: int) -> SiteRows:
    """Return a row for each site of a kind and minimum size, in order; the longest if too many."""
    offset = graph.placed_name(sites.reference).start
    if kind == NO_SITE:
        return _gap_rows(sites, offset, min_size)
    chosen = choose_sites(sites, kind, min_size)
    note = ""
    if len(chosen) > MAX_LISTED:
        note = (
            f"the longest of {n_words(len(chosen), 'site')}: narrow the kind or the size for others"
        )
        longest = np.argsort(-sites.max_lengths[chosen], kind="stable")[:MAX_LISTED]
        chosen = chosen[np.sort(longest)]
    labels = np.array([label.label for label in SiteKind])
    values = (
        sites.starts[chosen] + offset + 1,
        labels.astype(object)[sites.kinds[chosen]],
        sites.max_lengths[chosen],
        sites.n_alleles[chosen],
        sites.n_paths[chosen],
        sites.levels[chosen],
    )
    rows = TableRows(_frame(SITE_COLUMNS, values), labels, sites.kinds[chosen], note)
    return SiteRows(rows, chosen, sites.starts[chosen], sites.ends[chosen])


def _gap_rows(sites: VariationSites, offset: int, min_size: int) -> SiteRows:
    lengths = sites.gap_ends - sites.gap_starts
    chosen = np.flatnonzero(lengths >= min_size)
    kept = chosen[:MAX_LISTED]
    first = f"the first of {len(chosen):,}; " if len(kept) < len(chosen) else ""
    values = (
        sites.gap_starts[kept] + offset + 1,
        np.full(len(kept), "no site", object),
        lengths[kept],
        *[np.zeros(len(kept), np.int64)] * 3,
    )
    rows = TableRows(
        _frame(SITE_COLUMNS, values),
        np.array(["no site"]),
        np.zeros(len(kept), np.int64),
        f"{first}cycles, inversions and tips have no single entry and exit",
        hidden=("Alleles", "Paths", "Level"),
    )
    nowhere = np.full(len(kept), -1, np.int64)
    return SiteRows(rows, nowhere, sites.gap_starts[kept], sites.gap_ends[kept])


def _frame(columns: tuple[Column, ...], values: tuple) -> pd.DataFrame:
    titles = [column.title for column in columns]
    return pd.DataFrame(dict(zip(titles, values, strict=True)))


def site_detail(
    graph: PangenomeGraph, sites: VariationSites, site: int, start: int, end: int
) -> SiteDetail:
    """Return the detail of a site, or of an interval if ``site`` is -1."""
    name = graph.placed_name(sites.reference)
    place = _place_words(name.contig, start + name.start, end + name.start)
    length = int(graph.path_lengths[sites.reference])
    around = (start, end) if end > start else (max(start - 1, 0), min(end + 1, length))
    region = PathRegion(graph.path_names[sites.reference], *around)
    if site < 0:
        wider = PathRegion(region.path, max(start - 1, 0), min(end + 1, length))
        nodes = distinct(find_region_steps(graph, wider).nodes)
        return SiteDetail(f"No site {place}", region, nodes)
    alleles = site_alleles(graph, sites, site, max_bases=SHOWN_BASES + 1)
    bounds = np.array([sites.sources[site], sites.sinks[site]], np.uint32)
    walks = [walk for own in alleles.walks for walk in own]
    nodes = distinct(np.concatenate([bounds, *walks]) >> 1).astype(np.int64)
    kind = SiteKind(sites.kinds[site]).label
    title = f"{kind[0].upper()}{kind[1:]} {place}"
    return SiteDetail(title, region, nodes, alleles, allele_rows(graph, alleles))


def _place_words(contig: str, start: int, end: int) -> str:
    """Return an interval as 1-based text; one without bases lies after a base."""
    if end <= start:
        return f"after {contig}:{start:,}"
    return f"at {contig}:{start + 1:,}-{end:,}"


def allele_rows(graph: PangenomeGraph, alleles: SiteAlleles) -> TableRows:
    """Return a row for each allele, the reference allele first."""
    n = len(alleles)
    sequences = alleles.sequences or ("",) * n
    has_bases = alleles.sequences is not None and any(alleles.sequences)
    n_walks = np.array([len(walks) for walks in alleles.walks])
    values = (
        ["reference", *map(str, range(2, n + 1))],
        alleles.lengths,
        np.array([len(paths) for paths in alleles.paths]),
        alleles.counts,
        n_walks,
        [_shown_bases(text) for text in sequences],
        [_shown_names(graph, paths) for paths in alleles.paths],
    )
    frame = _frame(ALLELE_COLUMNS, values)
    words = np.array([text.lower() for text in frame["Names of the paths"]], dtype=np.str_)
    n_paths = [len(paths) for paths in alleles.paths]
    is_once = np.array_equal(n_paths, alleles.counts)
    is_needless = {
        "Times": is_once,
        "Walks": (n_walks == 1).all(),
        "Sequence": not has_bases,
    }
    hidden = tuple(title for title, is_hidden in is_needless.items() if is_hidden)
    return TableRows(frame, words, np.arange(n), hidden=hidden)


def _shown_bases(text: str) -> str:
    if not text:
        return "–"
    return text if len(text) <= SHOWN_BASES else f"{text[:SHOWN_BASES]}…"


def _shown_names(graph: PangenomeGraph, paths: np.ndarray) -> str:
    names = ", ".join(graph.path_names[path] for path in paths[:SHOWN_NAMES].tolist())
    n_more = len(paths) - SHOWN_NAMES
    return f"{names} and {n_more:,} more" if n_more > 0 else names
