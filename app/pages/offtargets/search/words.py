"""Progress and results of a search as text."""

from __future__ import annotations

import numpy as np

from genoviz_app.pages.offtargets.search.running import SearchResult, SearchStep
from genoviz_app.parts.words import n_words

N_NAMED = 5
MIN_SECONDS = 1.0
"""Shortest search whose speed is shown; shorter ones consist mostly of start-up time."""


def short_amount(value: float, unit: str) -> str:
    """Format a number with an SI prefix.

    Examples
    --------
    >>> short_amount(12_157_105, "bp"), short_amount(3.2e12, "bp/s"), short_amount(12, "bp")
    ('12.2 Mbp', '3.20 Tbp/s', '12 bp')
    """
    prefixes = ["", "k", "M", "G", "T", "P"]
    while value >= 1000 and len(prefixes) > 1:
        value /= 1000
        prefixes.pop(0)
    digits = f"{value:.3g}" if value < 999.5 else f"{value:.0f}"
    if prefixes[0]:
        digits = f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"
    return f"{digits} {prefixes[0]}{unit}"


def progress_words(step: SearchStep) -> str:
    """Describe the progress of a search."""
    hits = n_words(step.n_found, "hit")
    if step.fraction >= 1:
        return f"All searched; scores of {hits} are added up"
    speed = step.n_bases / step.seconds if step.seconds >= MIN_SECONDS else 0.0
    words = f"{100 * step.fraction:.0f} % searched; {hits} so far"
    return f"{words}; {short_amount(speed, 'bp/s')}" if speed else words


def lost_words(result: SearchResult) -> str:
    """Return a message on guides without any site, or ""."""
    lost = np.flatnonzero(~result.summaries.is_found).tolist()
    if not lost or not result.is_whole:
        return ""
    where = "in this genome" if result.sites is None else "on the paths of this graph"
    names = ", ".join(result.query.guides[row].name for row in lost[:N_NAMED])
    more = f" and {len(lost) - N_NAMED:,} more" if len(lost) > N_NAMED else ""
    return f"not found {where}: {names}{more}"


def left_out_words(result: SearchResult) -> str:
    """Return a message on hits beyond the limit, or ""."""
    if result.left_out is None:
        return ""
    n, maximum = int(result.left_out.sum()), n_words(result.max_differences, "difference")
    more = f"{n_words(n, 'more is', 'more are')} counted"
    if result.query.dna_bulge or result.query.rna_bulge:
        more = f"{n_words(n, 'alignment')} more, with bulges at all places, are counted"
    return (
        f"too many to keep all: {n_words(len(result), 'hit')} with {maximum} at most are listed "
        f"and scored; {more}"
    )


def result_words(result: SearchResult) -> str:
    """Describe the result of a search."""
    n, n_guides = len(result), len(result.query.guides)
    seconds = max(result.seconds, 1e-6)
    words = f"{n_words(n, 'hit')} of {n_words(n_guides, 'guide')}"
    took = f"{1000 * seconds:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"
    if result.searched_words:
        return f"stopped: hits of {result.searched_words}. {words}, found in {took}"
    if result.sites is not None:
        found = result.sites.found
        searched, stands = (
            short_amount(n, "bp") for n in (found.n_bases_searched, found.n_path_bases)
        )
        paths = n_words(found.graph.n_paths, "path")
        return f"{words}, found in {took}: {searched} searched for {stands} of {paths}"
    if seconds < MIN_SECONDS:
        n_bases = result.genome.planes.n_bases
        return f"{words}, found in {took}: {short_amount(n_bases, 'bp')} searched"
    rate = short_amount(result.n_compared / seconds, " comparisons of guide and site a second")
    return f"{words}, found in {took}: {rate}"
