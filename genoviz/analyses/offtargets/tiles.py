"""Distributed off-target search: each task is a tile of the genome and a block of guides.

A tile is followed by just enough bases for the longest pattern. Windows that start in a tile are
therefore complete, and each window starts in exactly one tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from genoviz.analyses.offtargets.bulges import GuideVariants
from genoviz.analyses.offtargets.request import OffTargetRequest, StrandSearch
from genoviz.analyses.offtargets.search import (
    Found,
    WordRange,
    compared_guides,
    expected_hits,
    iter_search,
    split_words,
    whole_units,
)
from genoviz.backend import size_of_task
from genoviz.model.offtargets.genome_planes import BASES_PER_WORD, PADDING_WORDS, GenomePlanes

TASK_COMPARISONS = 1 << 38
"""Comparisons of a base with a guide, over all bulges and both strands, on a CPU: some seconds."""
TASK_HITS = 1 << 20
"""Maximum expected number of hits of a task."""
MIN_WORDS, MAX_WORDS = 1 << 20, 1 << 22
"""Range of tile sizes in words: 67 to 268 Mb, or less if hits are dense.

Guides are made ready for a search once for each tile, which takes as long as to search 3 Mb. So
tasks with many guides are divided by guides first.
"""

Part = tuple[int, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def iter_found(
    request: OffTargetRequest, parts: Sequence[WordRange], *, n_levels: int = 0
) -> Iterator[Found]:
    """Yield what `iter_search` does, found here or by the workers of the options' scheduler."""
    if request.options.scheduler is None:
        yield from iter_search(request, parts, n_levels=n_levels)
        return
    for steps, _ in iter_tiles(request, n_levels):
        yield from steps


def iter_tiles(
    request: OffTargetRequest, n_levels: int = 0, *, in_order: bool = False
) -> Iterator[tuple[list[Found], int]]:
    """Yield the results of `iter_search`, computed by the workers of a scheduler.

    They come by block, either as blocks finish or in genome order. The second value is the end of
    the tile, in bases, for its last block, and 0 otherwise.
    """
    from genoviz.cluster.blocks import iter_results

    searches = list(request.iter_searches())
    own = replace(request.options, scheduler=None)
    common = replace(request, planes=None, options=own), n_levels
    blocks = _make_blocks(request, searches)
    scheduler = request.options.scheduler
    sending = {"scheduler": scheduler, "common": common, "in_order": in_order}
    for block, parts in iter_results(search_tile, blocks, **sending):
        steps = []
        for number, first_row, positions, rows, mismatches, counts in parts[1]:
            search = searches[number]
            if counts is not None:
                of_all = np.zeros((len(search.masks), n_levels), np.int64)
                of_all[first_row : first_row + len(counts)] = counts
                counts = of_all
            rows = rows + np.int32(first_row)
            steps.append(Found(search, parts[0], positions, rows, mismatches, counts))
        *_, first_word, n_words, guides, _ = blocks[block]
        stop = min(BASES_PER_WORD * (first_word + n_words), request.planes.n_bases)
        yield steps, stop if guides.stop == len(request.guides) else 0


def count_comparisons(request: OffTargetRequest) -> float:
    """Return the number of comparisons of a base with a guide, as of `TASK_COMPARISONS`."""
    of_base = compared_guides(request.iter_searches(), request.options.method)
    return request.planes.n_bases * of_base


def _make_blocks(request: OffTargetRequest, searches: list[StrandSearch]) -> list[tuple]:
    """Return the arguments of `search_tile` for each block, without the common ones."""
    planes, n_guides = request.planes, len(request.guides)
    of_base = compared_guides(searches, request.options.method)
    comparisons = size_of_task(TASK_COMPARISONS, request.options.backend)
    n_words = int(comparisons / (BASES_PER_WORD * max(of_base, 1.0)))
    smallest = min(MIN_WORDS, planes.n_words)
    at_once = max(1, n_guides)
    if n_words < smallest:
        at_once = max(1, n_guides * n_words // smallest)
    n_words = min(max(n_words, smallest), MAX_WORDS)
    of_word = BASES_PER_WORD * sum(map(expected_hits, searches)) * at_once / max(1, n_guides)
    n_words = whole_units(min(n_words, int(TASK_HITS / max(of_word, 1e-9))))
    longest = max((len(variant.pattern) for variant in request.variants), default=1)
    blocks = []
    for first in range(0, planes.n_words, n_words):
        stop = min(first + n_words, planes.n_words)
        start = BASES_PER_WORD * first
        end = min(BASES_PER_WORD * stop + longest - 1, planes.n_bases)
        words = slice(first, first + (end - start) // BASES_PER_WORD + 1 + PADDING_WORDS)
        bits = (planes.low[words], planes.high[words], planes.other[words])
        ends = np.searchsorted(planes.offsets, start, "right") - 1
        ends = slice(int(ends), int(np.searchsorted(planes.offsets, end, "left")) + 1)
        offsets = np.clip(planes.offsets[ends], start, end) - start
        for guide in range(0, max(n_guides, 1), at_once):
            guides = range(guide, min(guide + at_once, n_guides))
            # Report the progress of each tile once.
            n_bases = min(BASES_PER_WORD * stop, planes.n_bases) - start
            n_told = n_bases if guides.stop == n_guides else 0
            blocks.append((*bits, offsets, first, stop - first, guides, n_told))
    return blocks


def search_tile(
    low: np.ndarray,
    high: np.ndarray,
    other: np.ndarray,
    offsets: np.ndarray,
    first_word: int,
    n_words: int,
    guides: range,
    n_bases: int,
    request: OffTargetRequest,
    n_levels: int,
) -> tuple[int, list[Part]]:
    """Search a tile of the genome for some guides; runs on a worker.

    Parameters
    ----------
    low, high, other, offsets
        Planes of the tile and its overhang, as for `GenomePlanes`.
    first_word, n_words
        Position of the tile in the genome, and its length.
    guides
        Guide indices.
    n_bases
        Returned unchanged.
    request
        The request without planes.
    n_levels
        As for `iter_search`.

    Returns
    -------
    tuple
        ``n_bases``; and for each search its number, its first row, positions in the genome, rows
        relative to the first, mismatches, and counts, as for `Found`.
    """
    names = ("",) * (len(offsets) - 1)
    letters = np.empty(0, np.int64), np.empty(0, np.uint8)
    masked = np.empty((0, 2), np.int64)
    planes = GenomePlanes(low, high, other, *letters, names, names, offsets, masked)
    taken = [_take_guides(variant, guides) for variant in request.variants]
    request = replace(request, planes=planes, variants=tuple(variant for _, variant in taken))
    found: dict[tuple[int, int], list[Found]] = {}
    for step in iter_search(request, split_words(n_words, [None]), n_levels=n_levels):
        found.setdefault((step.search.variant_id, step.search.sign), []).append(step)
    parts = []
    for (variant_id, sign), steps in found.items():
        number = variant_id * len(request.signs) + request.signs.index(sign)
        columns = [
            np.concatenate([getattr(step, name) for step in steps])
            for name in ("positions", "rows", "mismatches")
        ]
        columns[0] += BASES_PER_WORD * first_word
        counts = [step.counts for step in steps if step.counts is not None]
        parts.append((number, taken[variant_id][0], *columns, sum(counts) if counts else None))
    return n_bases, parts


def _take_guides(variant: GuideVariants, guides: range) -> tuple[int, GuideVariants]:
    """Return the first row of some guides, and their variants; rows are in guide order."""
    first, stop = np.searchsorted(variant.guide_ids, [guides.start, guides.stop]).tolist()
    rows = {
        name: getattr(variant, name)[first:stop] for name in ("masks", "guide_ids", "bulge_places")
    }
    return first, replace(variant, **rows)
