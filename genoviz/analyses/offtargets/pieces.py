"""Piecewise search of a genome, for early or very large results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.hits import (
    HitCollector,
    KeptHits,
    OffTargetHits,
    keeps_best,
    split_waiting,
)
from genoviz.analyses.offtargets.request import OffTargetRequest
from genoviz.analyses.offtargets.search import (
    UNIT_WORDS,
    Found,
    WordRange,
    expected_hits,
    iter_search,
    make_parts,
    split_words,
    whole_units,
)
from genoviz.analyses.offtargets.tiles import iter_tiles
from genoviz.backend import resolve_backend
from genoviz.model.offtargets.genome_planes import BASES_PER_WORD
from genoviz.model.temporary_file import TemporaryFile

PIECE_COMPARISONS = {"cpu": 1 << 37, "cuda": 1 << 40}
"""Bases times guides, over all bulges and both strands, of a piece: about a second."""
PIECE_WORDS = 1 << 15, 1 << 20
"""Minimum and maximum words of a piece: 2 to 67 Mb."""
PIECE_HITS = 1 << 21
"""Expected number of hits in a piece of a spooled search."""
CROWDED_HITS = 1 << 23
"""A piece with more hits is split in two and searched again."""
RUN_HITS = 1 << 23
"""Hits that a spooled search holds in memory, 8 bytes each."""
PART_HITS = 1 << 19
"""Hits per yielded part."""


@dataclass(frozen=True, eq=False)
class PieceProgress:
    """Progress of a piecewise search.

    Parameters
    ----------
    n_done, n_total
        Work done and in total: bases times strands times kinds of bulge.
    n_bases
        Bases of the genome in finished pieces.
    n_found
        Number of hits so far, counting all placements of bulges.
    kept
        The kept hits.
    """

    n_done: int
    n_total: int
    n_bases: int
    n_found: int
    kept: KeptHits


def iter_pieces(requests: Sequence[OffTargetRequest], max_hits: int) -> Iterator[PieceProgress]:
    """Search a genome piece by piece, for all requests together.

    All hits of finished pieces are available while others are still searched. Together they equal
    those of `find_offtargets`; `KeptHits` describes which are kept if there are too many.

    Parameters
    ----------
    requests
        At least one, all on the same planes, without devices. With a scheduler, its workers search
        tiles of the genome, which are the pieces if there is one request; otherwise all is one.
    max_hits
        Maximum number of hits to keep.
    """
    kept, n_total = KeptHits(requests, max_hits), sum(request.n_total for request in requests)
    n_done = n_bases = n_found = 0
    for number, steps, stop in _iter_steps(requests):
        for found in steps:
            n_done += found.n_bases
            n_found += len(found.positions)
            kept.add(number, found)
            yield PieceProgress(n_done, n_total, n_bases, n_found, kept)
        if stop:
            n_bases = stop
            kept.end_piece(n_bases)
            yield PieceProgress(n_done, n_total, n_bases, n_found, kept)


def _iter_steps(
    requests: Sequence[OffTargetRequest],
) -> Iterator[tuple[int, Iterable[Found], int]]:
    """Yield the number of a request, parts of its search, and the end of a finished piece or 0."""
    planes, n_words = requests[0].planes, _piece_words(requests)
    if requests[0].options.scheduler is not None:
        for number, request in enumerate(requests):
            for steps, stop in iter_tiles(request, in_order=True):
                yield number, steps, stop if len(requests) == 1 else 0
        yield 0, (), planes.n_bases
        return
    for first in range(0, max(planes.n_words, 1), n_words):
        piece = WordRange(first, min(first + n_words, planes.n_words))
        for number, request in enumerate(requests):
            yield number, iter_search(request, [piece]), 0
        yield 0, (), min(BASES_PER_WORD * piece.stop, planes.n_bases)


def _piece_words(requests: Sequence[OffTargetRequest]) -> int:
    """Return the number of genome words that take about a second to search."""
    n_rows = sum(
        len(variant.masks) * len(request.signs)
        for request in requests
        for variant in request.variants
    )
    minimum, maximum = PIECE_WORDS
    n_words = PIECE_COMPARISONS[resolve_backend(requests[0].options.backend)]
    n_words = whole_units(n_words // (BASES_PER_WORD * max(n_rows, 1)))
    return min(max(n_words, minimum), maximum)


class HitSpool:
    """The hits of one search in the order of `find_offtargets`, limited only by disk space.

    Hits arrive by piece of the genome, as words that sort by guide and then position. The hits in
    memory form a *run*. A full run is sorted and appended to an unnamed temporary file. A later run
    covers a later part of the genome, so the hits of a guide are those of the first run, followed
    by those of the second::

        run 1  [guide 0 | guide 1 | guide 2]      bases      0 ... 1 M
        run 2  [guide 0 | guide 1 | guide 2]      bases    1 M ... 2 M

    Hits that do not fit in a word (`HitCollector`) stay in memory.

    Parameters
    ----------
    request
        The search.
    max_in_memory
        Maximum number of hits of a run.

    Attributes
    ----------
    counts
        int64, shape (n_guides, maximum + 1): hits of each guide by mismatches, in the finished
        pieces.
    """

    def __init__(self, request: OffTargetRequest, max_in_memory: int) -> None:
        self._request, self._max_in_memory = request, max_in_memory
        self._new, self._run = HitCollector(request), HitCollector(request)
        self._waiting: OffTargetHits | None = None
        self._file: TemporaryFile | None = None
        self._edges: list[np.ndarray] = []
        self._last: np.ndarray | None = None
        n_levels = int(request.limits.max(initial=0)) + 1
        self.counts = np.zeros((len(request.guides), n_levels), np.int64)
        self._new_counts = np.zeros_like(self.counts)

    @property
    def n_new(self) -> int:
        """Number of hits of the current piece."""
        return len(self._new)

    def add(self, found: Found) -> None:
        """Add the hits of a search step in the current piece."""
        self._new.add(found)
        if not keeps_best(self._request):
            guide_ids = found.search.variant.guide_ids[found.rows]
            np.add.at(self._new_counts, (guide_ids, found.mismatches), 1)

    def drop_piece(self) -> None:
        """Discard the hits of the current piece."""
        self._new = HitCollector(self._request)
        self._new_counts[:] = 0
        if self._waiting is not None:
            self._new.add_hits(self._waiting)

    def end_piece(self, stop: int) -> None:
        """Mark that all hits starting before a base of the genome have been added."""
        if keeps_best(self._request):
            hits, self._waiting = split_waiting(self._new.join(), self._request, stop)
            self._new.add_hits(self._waiting)
            self._run.add_hits(hits)
            np.add.at(self.counts, (hits.guide_ids, hits.mismatches), 1)
        else:
            self._new.move_to(self._run)
            self.counts += self._new_counts
            self._new_counts[:] = 0
        if self._run.is_packed and len(self._run) >= self._max_in_memory:
            self._put_away(stop)

    def _put_away(self, stop: int) -> None:
        """Append the hits in memory to the file, except those that may still gain alternatives."""
        words = self._run.join_words()
        if keeps_best(self._request):
            # Pending hits start after this position and before the end of the piece.
            first = stop - self._request.options.dna_bulge - self._request.options.rna_bulge
            is_late = self._run.positions_of(words) >= max(first, 0)
            self._run.add_words(words[is_late])
            words = words[~is_late]
        self._edges.append(self._run.guide_edges(words))
        if self._file is None:
            self._file = TemporaryFile()
        self._file.append(words)

    def iter_parts(self) -> Iterator[OffTargetHits]:
        """Yield all hits after the last piece; at least one part, which may be empty."""
        if not self._run.is_packed:
            hits = self._run.join()
            self._run.add_hits(hits)
            yield hits
            return
        self._end()
        totals = self._totals()
        n_guides, first = len(totals) - 1, 0
        while first < n_guides:
            stop = int(np.searchsorted(totals, totals[first] + PART_HITS, side="right")) - 1
            if stop > first:
                yield self._hits_of_guides(first, stop)
                first = stop
                continue
            # A single guide exceeds the size of a part.
            for run, edges in self._numbered():
                for start in range(edges[first], edges[first + 1], PART_HITS):
                    words = self._read(run, start, min(start + PART_HITS, edges[first + 1]))
                    yield self._run.hits_of(words)
            first += 1
        if n_guides == 0:
            yield self._run.hits_of(self._last)

    def iter_guides(self, maximum: int) -> Iterator[tuple[int, int, OffTargetHits]]:
        """Yield the first guide, the guide after the last, and all their hits, in batches.

        A batch has at most ``maximum`` hits, or those of one guide.
        """
        packed, totals, first = self._run.is_packed, self._totals(), 0
        if packed:
            self._end()
        else:
            hits = self._run.join()
            self._run.add_hits(hits)
        while first < len(totals) - 1:
            stop = int(np.searchsorted(totals, totals[first] + maximum, side="right")) - 1
            stop = max(stop, first + 1)
            rows = slice(int(totals[first]), int(totals[stop]))
            yield first, stop, self._hits_of_guides(first, stop) if packed else hits.take(rows)
            first = stop

    def _totals(self) -> np.ndarray:
        """Return the cumulative number of hits by guide; int64, shape (n_guides + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))])

    def _end(self) -> None:
        """Sort the hits in memory as the last run."""
        if self._last is None:
            self._last = self._run.join_words()
            self._edges.append(self._run.guide_edges(self._last))

    def _hits_of_guides(self, first: int, stop: int) -> OffTargetHits:
        runs = [self._read(run, *edges[[first, stop]]) for run, edges in self._numbered()]
        words = np.concatenate(runs)
        words.sort(kind="stable")
        return self._run.hits_of(words)

    def _numbered(self) -> Iterator[tuple[int, np.ndarray]]:
        return enumerate(self._edges)

    def _read(self, run: int, start: int, stop: int) -> np.ndarray:
        """Read a range of words of a run."""
        if run == len(self._edges) - 1:
            return self._last[start:stop]
        before = sum(int(edges[-1]) for edges in self._edges[:run])
        return self._file.read(before + int(start), int(stop - start), np.uint64)


@dataclass(frozen=True, eq=False)
class SpoolProgress:
    """Progress of a spooled search.

    Parameters
    ----------
    n_done, n_total
        Work done and in total: bases times strands times kinds of bulge.
    spool
        The hits so far.
    """

    n_done: int
    n_total: int
    spool: HitSpool


def iter_spooled(
    request: OffTargetRequest, *, max_in_memory: int = RUN_HITS
) -> Iterator[SpoolProgress]:
    """Yield the progress of a spooled search; the last report has all hits.

    The hits equal those of `find_offtargets`. Memory does not grow with their number.
    """
    planes, spool = request.planes, HitSpool(request, max_in_memory)
    n_done, devices = 0, [part.device for part in make_parts(request)]
    pieces = _cut_pieces(request)[::-1]
    if request.options.scheduler is not None:
        pieces = []
        for steps, stop in iter_tiles(request, in_order=True):
            for found in steps:
                spool.add(found)
                n_done += found.n_bases
                yield SpoolProgress(n_done, request.n_total, spool)
            if stop:
                spool.end_piece(stop)
    while pieces:
        piece = pieces.pop()
        n_before, n_words = n_done, piece.stop - piece.first
        steps = iter_search(request, split_words(n_words, devices, first=piece.first))
        for found in steps:
            spool.add(found)
            if n_words > UNIT_WORDS and spool.n_new > CROWDED_HITS:
                steps.close()
                spool.drop_piece()
                middle = piece.first + whole_units(n_words // 2)
                pieces += [WordRange(middle, piece.stop), WordRange(piece.first, middle)]
                n_done = n_before
                break
            n_done += found.n_bases
            yield SpoolProgress(n_done, request.n_total, spool)
        else:
            spool.end_piece(min(BASES_PER_WORD * piece.stop, planes.n_bases))
    yield SpoolProgress(request.n_total, request.n_total, spool)


def _cut_pieces(request: OffTargetRequest) -> list[WordRange]:
    """Return pieces of the genome sized so that their expected hits fit into memory."""
    n_all = max(request.planes.n_words, 1)
    expected = BASES_PER_WORD * sum(map(expected_hits, request.iter_searches()))
    n_words = whole_units(min(_piece_words([request]), int(PIECE_HITS / max(expected, 1e-9))))
    return [
        WordRange(first, min(first + n_words, request.planes.n_words))
        for first in range(0, n_all, n_words)
    ]
