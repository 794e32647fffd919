"""Searching with a progress bar, for ``genoviz offtarget``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genoviz.cli.offtargets.query import Query, Search
from genoviz.cli.progress import ProgressBar
from genoviz.cli.results import print_notes

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model.offtargets.genome_planes import GenomePlanes
    from genoviz.model.offtargets.hits import OffTargetHits


def open_genome(path: Path, bar: ProgressBar, *, cache: bool) -> GenomePlanes:
    """Return the planes of a genome; notes go to standard error."""
    from genoviz.analyses.offtargets.genome_planes import make_genome_planes
    from genoviz.io.offtargets.genome_planes import iter_read_genome_planes

    for progress in iter_read_genome_planes(path, make_genome_planes, cache=cache):
        bar.update(progress.stage, progress.n_bytes, progress.n_bytes_total, "B")
    print_notes(*progress.notes)
    if progress.planes.n_bases == 0:
        print_notes(f"{path.name} has no bases, so there are no hits")
    return progress.planes


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found.

    Parameters
    ----------
    search
        What was searched for.
    counts
        int64, shape (n_guides, n): hits of each guide by mismatches.
    hits
        The hits, where they are wanted.
    """

    search: Search
    counts: np.ndarray
    hits: OffTargetHits | None = None


def run_searches(
    query: Query,
    planes: GenomePlanes,
    bar: ProgressBar,
    *,
    count_only: bool,
    closest: int | None,
    **options,
) -> list[Answer]:
    """Return what each search of a query found.

    Parameters
    ----------
    query, planes, bar
        What to search for, where, and what shows how far it is.
    count_only
        Whether hits are counted and not kept.
    closest
        How many hits of each guide are kept; None for all.
    options
        ``placements``, ``strands``, ``devices`` and ``backend`` of `find_offtargets`.
    """
    answers = []
    for search in query.searches:
        arguments = (search.guides, planes, search.pattern)
        options["max_mismatches"] = search.max_mismatches
        options |= {"dna_bulge": query.dna_bulge, "rna_bulge": query.rna_bulge}
        stage = f"Searching {len(search.guides):,} guides of {len(search.pattern)} nt"
        # The best of several placements is known only once there are hits.
        may_repeat = options["placements"] == "best" and (query.dna_bulge or query.rna_bulge)
        if count_only and not may_repeat:
            counts = _count(arguments, options, bar, stage)
            answers.append(Answer(search, counts))
        else:
            hits = _find(arguments, options, closest, bar, stage)
            counts = hits.count_by_mismatches()
            answers.append(Answer(search, counts, None if count_only else hits))
    return answers


def _find(
    arguments: tuple, options: dict[str, Any], closest: int | None, bar: ProgressBar, stage: str
) -> OffTargetHits:
    from genoviz.analyses.offtargets.counts import find_closest_offtargets
    from genoviz.analyses.offtargets.offtargets import iter_find_offtargets

    if closest is not None:
        bar.update(stage, 0, None, "")
        left_out = ("placements", "dna_bulge", "rna_bulge")
        kept = {name: value for name, value in options.items() if name not in left_out}
        return find_closest_offtargets(*arguments, limit=closest, **kept)
    for progress in iter_find_offtargets(*arguments, **options):
        bar.update(stage, progress.n_done, progress.n_total, "bp")
    return progress.hits


def _count(arguments: tuple, options: dict[str, Any], bar: ProgressBar, stage: str) -> np.ndarray:
    from genoviz.analyses.offtargets.counts import iter_count_offtargets

    options = {name: value for name, value in options.items() if name != "placements"}
    for progress in iter_count_offtargets(*arguments, **options):
        bar.update(stage, progress.n_done, progress.n_total, "bp")
    return progress.counts
