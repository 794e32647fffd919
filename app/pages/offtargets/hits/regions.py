"""Positions of hits and filters as text and as regions."""

from __future__ import annotations

import re

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import Intervals, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.pages.offtargets.hits.filter import HitFilter
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.parts.words import n_words
from genoviz_app.session.lit_sets import Highlight

MAX_PLACES = 20_000_000
MAX_CONTIGS = 500
_POSITION = re.compile(r"[0-9]{1,15}")


def parse_place(text: str, result: SearchResult) -> tuple[int, tuple[int, int] | None]:
    """Parse ``chr1`` or ``chr1:1,000-2,000`` (1-based, inclusive) into contig and interval.

    Raises
    ------
    ParameterError
        If the genome has no such contig.
    """
    names, text = result.genome.planes.names, text.strip()
    if not text:
        return -1, None
    if text in names:
        return names.index(text), None
    contig, _, stretch = text.rpartition(":")
    if contig not in names:
        raise ParameterError(
            f"the genome has no contig {contig or text!r}; a place is written as "
            f"{names[0] if names else 'chr1'}:1-1000"
        )
    first, _, last = stretch.replace(",", "").partition("-")
    if not _POSITION.fullmatch(first) or not _POSITION.fullmatch(last or first):
        raise ParameterError(f"place {text!r} needs positions such as {contig}:1-1000")
    start, stop = max(int(first) - 1, 0), int(last or first)
    if stop < int(first):
        raise ParameterError(f"place {text!r} ends before it begins")
    return names.index(contig), (start, max(stop, start + 1))


def contigs_of(result: SearchResult) -> list[str]:
    """Return contigs for a menu, those with the most hits first, then the longest."""
    planes = result.genome.planes
    counts = np.bincount(result.hits.contig_ids, minlength=len(planes.names))
    order = np.lexsort((-np.diff(planes.offsets), -counts))[:MAX_CONTIGS]
    return [planes.names[contig] for contig in order.tolist()]


def place_text(chosen: HitFilter, result: SearchResult) -> str:
    """Return the interval of a filter in the form that `parse_place` reads; "" for none."""
    if chosen.contig < 0:
        return ""
    name = result.genome.planes.names[chosen.contig]
    if chosen.stretch is None:
        return name
    return f"{name}:{chosen.stretch[0] + 1}-{chosen.stretch[1]}"


def region_of(result: SearchResult, row: int) -> PathRegion:
    """Return the region of a hit."""
    hits = result.hits
    start = int(hits.starts[row])
    name = result.genome.planes.names[int(hits.contig_ids[row])]
    return PathRegion(name, start, start + int(hits.lengths[row]))


def highlight_of(result: SearchResult, rows: np.ndarray) -> Highlight:
    """Return hits as a highlight; on a graph, at all their places unless there are too many."""
    hits, names = result.hits, tuple(result.genome.planes.names)
    guides = distinct(hits.guide_ids[rows]).tolist()
    title = n_words(len(guides), "guide")
    if len(guides) == 1:
        guide = result.query.guides[guides[0]]
        title = f"{guide.name} {guide.letters}"
    lengths = hits.lengths[rows].astype(np.int64)
    sites = result.sites
    if sites is None or len(rows) * sites.n_haplotypes > MAX_PLACES:
        starts = np.asarray(hits.starts[rows], np.int64)
        ids = hits.contig_ids[rows].astype(np.int32)
        return Highlight(title, "site", Intervals(names, ids, starts, starts + lengths))
    places = sites.found.places(rows)
    order = np.argsort(rows, kind="stable")
    of_place = order[np.searchsorted(rows[order], places.sites)]
    starts = np.asarray(places.starts, np.int64)
    intervals = Intervals(names, places.paths.astype(np.int32), starts, starts + lengths[of_place])
    return Highlight(title, "place", intervals, is_everywhere=True)
