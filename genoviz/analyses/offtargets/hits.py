"""Construction of off-target hits from the columns found by a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from genoviz.analyses.offtargets.bulges import GuideVariants
from genoviz.analyses.offtargets.request import OffTargetRequest
from genoviz.analyses.offtargets.search import Found
from genoviz.model.columns import column_on_disk, iter_row_slices
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.hits import COLUMNS, Alignment, OffTargetHits

__all__ = [
    "Alignment",
    "HitCollector",
    "KeptHits",
    "OffTargetHits",
    "empty_hits",
    "keeps_best",
    "split_waiting",
]

_FIELDS = ("guide_ids", "positions", "is_minus", "variant_ids", "bulge_places", "mismatches")
_WORD_BITS = 64
_MIN_NEW = 1 << 20
"""Excess of hits over the limit at which pruning starts."""
_N_LEVELS = 512
"""Exceeds the number of differences of any hit."""


def empty_hits(guides: tuple[str, ...], pattern: str, planes: GenomePlanes) -> OffTargetHits:
    """Return an empty result."""
    dtypes = (np.int32, np.int64, np.int8, np.uint8, np.uint8, np.uint8, np.uint8)
    return OffTargetHits(guides, pattern, planes, *(np.empty(0, dtype) for dtype in dtypes))


class HitCollector:
    """Collects the hits of a search, unsorted until the end.

    A hit is packed into one 64-bit word, with the columns in sort order, if they fit. (In a human
    genome with bulges they fit for more than 10^5 guides.) Hits then take 8 bytes each, and sorting
    the words sorts the hits.
    """

    def __init__(self, request: OffTargetRequest) -> None:
        self._empty = empty_hits(request.guides, request.pattern, request.planes)
        self._variants = request.variants
        places = [int(variant.bulge_places.max(initial=0)) for variant in request.variants]
        largest = (
            len(request.guides),
            request.planes.n_bases,
            1,
            len(request.variants) - 1,
            max(places, default=0),
            int(request.limits.max(initial=0)),
        )
        bits = [int(value).bit_length() for value in largest]
        self._is_packed = sum(bits) <= _WORD_BITS
        self._shifts = np.cumsum([0, *bits[:0:-1]])[::-1].tolist()
        self._bits = bits
        self._parts: list = []

    def __len__(self) -> int:
        return sum(len(part) if self._is_packed else part[0] for part in self._parts)

    @property
    def is_packed(self) -> bool:
        """Whether a hit fits in one word."""
        return self._is_packed

    def move_to(self, other: HitCollector) -> None:
        """Move all hits to another collector of the same request."""
        other._parts += self._parts
        self._parts = []

    def add(self, found: Found) -> None:
        """Add the hits of a step."""
        if not len(found.positions):
            return
        variant = found.search.variant
        self._keep(
            variant.guide_ids[found.rows],
            found.positions,
            int(found.search.sign < 0),
            found.search.variant_id,
            variant.bulge_places[found.rows],
            found.mismatches,
        )

    def add_hits(self, hits: OffTargetHits) -> None:
        """Add hits that were joined before."""
        types, sizes = _bulges_of(self._variants)
        variant_ids = np.zeros((types.max() + 1, sizes.max() + 1), np.int64)
        variant_ids[types, sizes] = np.arange(len(types))
        self._keep(
            hits.guide_ids,
            hits.positions,
            hits.strands < 0,
            variant_ids[hits.bulge_types, hits.bulge_sizes],
            hits.bulge_places,
            hits.mismatches,
        )

    def _keep(self, *columns: np.ndarray | int) -> None:
        """Store columns in the order of ``_FIELDS``."""
        self._parts.append(self._pack(columns) if self._is_packed else (len(columns[0]), columns))

    def _pack(self, columns: Sequence) -> np.ndarray:
        """Return the columns of hits as words."""
        words = np.zeros(len(columns[0]), np.uint64)
        for column, shift in zip(columns, self._shifts, strict=True):
            words |= np.asarray(column).astype(np.uint64) << np.uint64(shift)
        return words

    def join(self) -> OffTargetHits:
        """Return all hits, sorted, and empty the collector."""
        if self._parts and not self._is_packed:
            parts, self._parts = self._parts, []
            return self._join_columns(parts)
        return self.hits_of(self.join_words())

    def join_words(self) -> np.ndarray:
        """Return all hits as sorted words, uint64, shape (n,), and empty the collector."""
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            parts[0].sort()
            return parts[0]
        words = np.empty(sum(map(len, parts)), np.uint64)
        place = 0
        while parts:
            part = parts.pop()
            words[place : place + len(part)] = part
            place += len(part)
        words.sort()
        return words

    def add_words(self, words: np.ndarray) -> None:
        """Add hits given as words."""
        self._parts.append(words)

    def positions_of(self, words: np.ndarray) -> np.ndarray:
        """Return the positions of hits given as words; uint64, shape (n,)."""
        return words >> np.uint64(self._shifts[1]) & np.uint64((1 << self._bits[1]) - 1)

    def guide_edges(self, words: np.ndarray) -> np.ndarray:
        """Return the start of each guide in sorted words, and the end; int64, (n_guides + 1,)."""
        edges = np.arange(len(self._empty.guides) + 1, dtype=np.uint64)
        return np.searchsorted(words, edges << np.uint64(self._shifts[0])).astype(np.int64)

    def iter_hits(self) -> Iterator[OffTargetHits]:
        """Yield all hits in order, in parts, and keep them."""
        if not self._is_packed:
            hits = self.join()
            self.add_hits(hits)
            yield hits
            return
        words = self.join_words()
        self.add_words(words)
        for some in iter_row_slices(len(words)):
            yield self.hits_of(words[some])

    def clear(self) -> None:
        """Discard all hits."""
        self._parts = []

    def copy_to_disk(self) -> OffTargetHits:
        """Return all hits, sorted, with columns in files if they are long; keep them here too."""
        if not self._is_packed:
            return next(self.iter_hits())
        words = self.join_words()
        self.add_words(words)
        return self.hits_of(words, column_on_disk)

    def hits_of(self, words: np.ndarray, make: Callable = np.empty) -> OffTargetHits:
        """Return the hits encoded by words, in their order; ``make`` makes empty columns."""
        n = len(words)
        columns = {name: make(n, getattr(self._empty, name).dtype) for name in COLUMNS}
        for some in iter_row_slices(n):
            self._unpack(words[some], {name: column[some] for name, column in columns.items()})
        return replace(self._empty, **columns)

    def _unpack(self, words: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        """Fill the columns of hits from their words."""
        values = {
            name: words >> np.uint64(shift) & np.uint64((1 << bits) - 1)
            for name, shift, bits in zip(_FIELDS, self._shifts, self._bits, strict=True)
        }
        self._fill(values, columns)

    def _fill(self, values: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> None:
        for name in ("guide_ids", "positions", "mismatches", "bulge_places"):
            columns[name][:] = values[name]
        columns["strands"][:] = 1 - 2 * values["is_minus"].astype(np.int8)
        types, sizes = _bulges_of(self._variants)
        columns["bulge_types"][:] = types[values["variant_ids"].astype(np.int64)]
        columns["bulge_sizes"][:] = sizes[values["variant_ids"].astype(np.int64)]

    def _join_columns(self, parts: Sequence[tuple[int, tuple]]) -> OffTargetHits:
        """Return the hits of columns that do not fit into a word."""
        values = {
            name: np.concatenate([np.broadcast_to(columns[k], n) for n, columns in parts])
            for k, name in enumerate(_FIELDS)
        }
        order = np.lexsort([values[name] for name in reversed(_FIELDS)])
        columns = {name: np.empty(len(order), getattr(self._empty, name).dtype) for name in COLUMNS}
        self._fill({name: value[order] for name, value in values.items()}, columns)
        return replace(self._empty, **columns)


class KeptHits:
    """Collects hits of searches in one genome, piece by piece, up to a maximum number.

    If there are more, those with the most differences (mismatches and bulged nt) are dropped and
    counted. The kept hits are therefore all hits up to some number of differences.

    Parameters
    ----------
    requests
        The searches.
    max_hits
        Maximum number of hits over all searches.

    Attributes
    ----------
    max_differences
        Largest number of differences of kept hits, once some are dropped; None before.
    left_out
        int64, shape (n_guides, maximum + 1), for each search: dropped hits by mismatches; those
        with bulges are counted once per placement.
    """

    def __init__(self, requests: Sequence[OffTargetRequest], max_hits: int) -> None:
        self._requests, self._max_hits = tuple(requests), max_hits
        self._new = [HitCollector(request) for request in requests]
        self._whole = [HitCollector(request) for request in requests]
        self._n_new = self._n_whole = 0
        self._is_full = False
        self.max_differences: int | None = None
        self.left_out = [
            np.zeros((len(request.guides), int(request.limits.max(initial=0)) + 1), np.int64)
            for request in requests
        ]

    @property
    def n_left_out(self) -> int:
        """Number of dropped hits."""
        return sum(int(counts.sum()) for counts in self.left_out)

    def add(self, number: int, found: Found) -> None:
        """Add the hits of a search step in the current piece."""
        if self.max_differences is not None:
            differences = found.mismatches + np.int64(found.search.variant.bulge_size)
            is_kept = (differences <= self.max_differences) & (not self._is_full)
            guide_ids = found.search.variant.guide_ids[found.rows]
            self._leave_out(number, guide_ids[~is_kept], found.mismatches[~is_kept])
            columns = {name: getattr(found, name)[is_kept]
                       for name in ("positions", "rows", "mismatches")}  # fmt: skip
            found = replace(found, **columns)
        self._new[number].add(found)
        self._n_new += len(found.positions)
        if self._n_new + self._n_whole > self._max_hits + _MIN_NEW:
            self._prune()

    def end_piece(self, stop: int) -> None:
        """Mark that all hits starting before a base of the genome have been added."""
        for request, new, whole in zip(self._requests, self._new, self._whole, strict=True):
            if keeps_best(request):
                hits, waiting = split_waiting(new.join(), request, stop)
                new.add_hits(waiting)
                whole.add_hits(hits)
            else:
                new.move_to(whole)
        self._n_whole, self._n_new = (sum(map(len, each)) for each in (self._whole, self._new))

    def hits(self) -> list[OffTargetHits]:
        """Return the sorted hits of each search in the finished pieces."""
        if self._n_whole > self._max_hits:
            self._prune()
        return [whole.copy_to_disk() for whole in self._whole]

    def _prune(self) -> None:
        """Drop the hits with the most differences."""
        collectors, counts = (*self._whole, *self._new), np.zeros(_N_LEVELS, np.int64)
        for collector in collectors:
            for hits in collector.iter_hits():
                counts += np.bincount(_differences_of(hits), minlength=_N_LEVELS)
        level = int(np.searchsorted(np.cumsum(counts), self._max_hits, side="right")) - 1
        self.max_differences, n_left = max(level, 0), self._max_hits
        self._is_full = level < 0
        for place, collector in enumerate(collectors):
            number = place % len(self._requests)
            kept = HitCollector(self._requests[number])
            for hits in collector.iter_hits():
                is_kept = _differences_of(hits) <= self.max_differences
                is_kept &= np.cumsum(is_kept) <= n_left
                n_left -= int(is_kept.sum())
                self._leave_out(number, hits.guide_ids[~is_kept], hits.mismatches[~is_kept])
                kept.add_hits(hits.take(is_kept))
            collector.clear()
            kept.move_to(collector)
        self._n_whole, self._n_new = (sum(map(len, each)) for each in (self._whole, self._new))

    def _leave_out(self, number: int, guide_ids: np.ndarray, mismatches: np.ndarray) -> None:
        counts = self.left_out[number]
        keys = guide_ids.astype(np.int64) * counts.shape[1] + mismatches
        counts += np.bincount(keys, minlength=counts.size).reshape(counts.shape)


def keeps_best(request: OffTargetRequest) -> bool:
    """Return whether only the best alignment of a site is kept."""
    return request.options.placements == "best" and request.options.has_bulges


def split_waiting(
    hits: OffTargetHits, request: OffTargetRequest, stop: int
) -> tuple[OffTargetHits, OffTargetHits]:
    """Return the best placements of completed sites, and all hits of the others.

    Parameters
    ----------
    hits
        All hits that start before ``stop``, except those returned before.
    request
        The search of the hits.
    stop
        A base of the genome.
    """
    is_left = (hits.strands > 0) == hits.is_pam_first
    shortest = len(request.pattern) - request.options.rna_bulge
    # Another alignment to the same PAM may start after the piece.
    is_open = ~is_left & (hits.pam_ends - shortest >= stop)
    whole = hits.take(np.flatnonzero(~is_open)).best_placements()
    return whole, hits.take(np.flatnonzero(is_open))


def _differences_of(hits: OffTargetHits) -> np.ndarray:
    """Return mismatches and bulged nt of each hit; int64, shape (n,)."""
    return hits.mismatches.astype(np.int64) + hits.bulge_sizes


def _bulges_of(variants: Sequence[GuideVariants]) -> tuple[np.ndarray, np.ndarray]:
    """Return type and size of the bulge of each variant."""
    types = np.array([variant.bulge_type for variant in variants], np.uint8)
    return types, np.array([variant.bulge_size for variant in variants], np.uint8)
