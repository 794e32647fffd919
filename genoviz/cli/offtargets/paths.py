"""Guides searched on all paths of a graph, for ``genoviz offtarget`` and ``genoviz design``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from genoviz.cli.graph.reading import read_graph
from genoviz.cli.offtargets.query import Answer, Query
from genoviz.cli.results import ProgressBar

if TYPE_CHECKING:
    from genoviz.analyses.offtargets.path_hits import PathPlanes
    from genoviz.analyses.offtargets.request import SearchOptions


def open_paths(path: Path, bar: ProgressBar, *, cache: bool) -> PathPlanes:
    """Return the paths of a graph; notes go to standard error."""
    from genoviz.analyses.offtargets.path_hits import PathPlanes

    return PathPlanes.of(read_graph(path, bar, cache=cache, sequences=True))


def search_paths(
    query: Query,
    planes: PathPlanes,
    bar: ProgressBar,
    options: SearchOptions,
    reference: str | None,
) -> list[Answer]:
    """Return what each search of a query finds on the paths of a graph.

    Parameters
    ----------
    query, planes, bar, options
        As of `run_searches`.
    reference
        The sample or path that sites are compared with; None for the usual one, if there is one.
    """
    from genoviz.analyses.offtargets.pangenome import iter_hits_on_graph
    from genoviz.analyses.offtargets.path_hits import PlacedHits
    from genoviz.analyses.offtargets.reference import compare_with_reference, find_reference_paths

    chosen, answers = reference or planes.usual_reference, []
    if chosen:
        find_reference_paths(planes.graph, chosen)
    for search in query.searches:
        options = replace(options, max_mismatches=search.max_mismatches)
        asked = planes.graph, search.guides, search.pattern, options
        for progress in iter_hits_on_graph(*asked):
            bar.update(f"Paths: {progress.stage}", progress.fraction, 1.0, "")
        found = progress.result
        compared = compare_with_reference(found, chosen) if chosen else None
        hits = PlacedHits.of(found, planes)
        answers.append(Answer(search, hits.count_by_mismatches(), hits, found, compared))
    return answers
