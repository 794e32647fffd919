"""Runs the off-target kernels over a genome, in pieces, on the CPU or on several GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from genoviz.analyses.offtargets.request import OffTargetRequest, StrandSearch
from genoviz.backend import (
    array_module,
    check_devices,
    load_kernel,
    resolve_backend,
    use_device,
)
from genoviz.errors import ParameterError
from genoviz.generators import iter_side_by_side
from genoviz.kernels.offtarget import ANY, MAX_SPAN, Hits, Planes, padding_words
from genoviz.kernels.offtarget.plan import find_span
from genoviz.model.offtargets.genome_planes import BASES_PER_WORD

MAX_BUFFER_BYTES = 128 << 20
"""Memory for the hits or counts of a kernel call, shared by all devices."""
BLOCKS_AT_ONCE = {"cpu": 32, "cuda": 512}
"""Maximum number of blocks of a kernel call; each has a buffer of its own."""
UNIT_WORDS = 32
"""Pieces, tiles and blocks of a genome are multiples of this many words."""
_MIN_BLOCKS, _MAX_BLOCK_WORDS = {"cpu": 16, "cuda": 64}, 1 << 14
"""A part has about so many blocks or more, so that all cores work on it; none is longer."""
_HIT_BYTES = 13
"""An int64 position, an int32 row and uint8 mismatches."""
_SPLIT = 16
"""Number of parts in which a block with too many hits is searched again."""
_PAM_FIRST_GUIDES, _PAM_FIRST_DENSITY = 5, 0.25
"""With so many guides, and a PAM at so few windows, finding the PAMs first is faster."""
_N_BASES = np.array([bin(mask).count("1") for mask in range(16)])
"""Number of bases in each set of A 1, C 2, G 4 and T 8."""


@dataclass(frozen=True)
class WordRange:
    """A part of a genome for one device.

    Parameters
    ----------
    first, stop
        Words of the planes, half-open.
    device
        Number of the GPU; None for the CPU or the current GPU.
    """

    first: int
    stop: int
    device: int | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search step.

    Parameters
    ----------
    search
        The search.
    n_bases
        Bases of the genome that this step completed.
    positions, rows, mismatches
        Hits: int64 leftmost bases, int32 rows of the search, uint8; each of shape (n,).
    counts
        int64, shape (n_rows, n_levels): hits of each row by mismatches, if requested.
    """

    search: StrandSearch
    n_bases: int
    positions: np.ndarray
    rows: np.ndarray
    mismatches: np.ndarray
    counts: np.ndarray | None = None


def whole_units(n_words: int) -> int:
    """Return the multiple of `UNIT_WORDS` up to a number of words; at least one unit."""
    return max(n_words // UNIT_WORDS, 1) * UNIT_WORDS


def split_words(
    n_words: int, devices: Sequence[int | None], *, first: int = 0
) -> tuple[WordRange, ...]:
    """Split a range of genome words evenly among the devices."""
    n_units = -(-n_words // UNIT_WORDS)
    edges = [min(n_units * k // len(devices) * UNIT_WORDS, n_words) for k in range(len(devices))]
    edges.append(n_words)
    return tuple(
        WordRange(first + start, first + stop, device)
        for start, stop, device in zip(edges[:-1], edges[1:], devices, strict=True)
    )


def make_parts(request: OffTargetRequest) -> tuple[WordRange, ...]:
    """Return the part of the genome for each given GPU; without any, the whole genome.

    Raises
    ------
    ParameterError
        If devices are given for the CPU or for a scheduler, or do not exist.
    """
    devices = request.options.devices
    if devices is not None and request.options.scheduler is not None:
        raise ParameterError("devices are of this machine, and the scheduler's workers have theirs")
    if devices is None:
        return split_words(request.planes.n_words, [None])
    check_devices(devices, request.options.backend)
    return split_words(request.planes.n_words, list(devices))


def iter_search(
    request: OffTargetRequest, parts: Sequence[WordRange], *, n_levels: int = 0
) -> Iterator[Found]:
    """Yield the hits of a request, or only their counts if ``n_levels`` is not 0.

    Each device searches its own part; several devices run concurrently.
    """
    budget = MAX_BUFFER_BYTES // max(len(parts), 1)

    def search(part: WordRange) -> Iterator[Found]:
        with use_device(part.device):
            run = _PartSearch(request, part, n_levels, budget)
            for wanted in request.iter_searches():
                yield from run.iter_found(wanted)

    if any(part.device is not None for part in parts):
        # One thread per part, because the current GPU and stream belong to a thread.
        yield from iter_side_by_side([search(part) for part in parts])
        return
    for part in parts:
        yield from search(part)


class _PartSearch:
    """A part of the genome in the memory of its device."""

    def __init__(
        self, request: OffTargetRequest, part: WordRange, n_levels: int, budget: int
    ) -> None:
        backend, self._method = request.options.backend, request.options.method
        self._planes, self._part = request.planes, part
        self._n_levels, self._budget = n_levels, budget
        self._module = array_module(backend)
        self._kernel = load_kernel("offtarget", backend)
        where = resolve_backend(backend)
        self._n_at_once, self._n_blocks = BLOCKS_AT_ONCE[where], _MIN_BLOCKS[where]
        longest = max((len(variant.pattern) for variant in request.variants), default=1)
        stop = part.stop + padding_words(longest)
        self._bits = [
            self._module.asarray(plane[part.first : stop])
            for plane in (request.planes.low, request.planes.high, request.planes.other)
        ]
        self._length, self._valid = -1, None

    def iter_found(self, search: StrandSearch) -> Iterator[Found]:
        """Yield the hits of a search, and their counts if requested."""
        n_words = self._part.stop - self._part.first
        if not n_words or not len(search.masks):
            yield self._join(search, self._count_bases(0, n_words), [], None)
            return
        block_words = -(-n_words // self._n_blocks // UNIT_WORDS) * UNIT_WORDS
        block_words = min(max(block_words, UNIT_WORDS), _MAX_BLOCK_WORDS)
        capacity, n_at_once = self._plan_buffers(search, block_words)
        for first in range(0, n_words, n_at_once * block_words):
            stop = min(first + n_at_once * block_words, n_words)
            yield from self._iter_stretch(search, first, stop, block_words, capacity)

    def _plan_buffers(self, search: StrandSearch, block_words: int) -> tuple[int, int]:
        """Return the hit capacity of a block, and the number of concurrent blocks."""
        if self._n_levels:
            count_bytes = 8 * self._n_levels * len(search.masks)
            return 0, max(1, min(self._budget // count_bytes, self._n_at_once))
        expected = expected_hits(search) * block_words * BASES_PER_WORD
        capacity = int(min(256 + 2 * expected, self._budget // _HIT_BYTES))
        n_at_once = max(1, self._budget // (_HIT_BYTES * capacity))
        return capacity, min(n_at_once, self._n_at_once)

    def _count_bases(self, first: int, stop: int) -> int:
        """Return the number of bases in words of the part."""
        start, end = (BASES_PER_WORD * (self._part.first + word) for word in (first, stop))
        return max(min(end, self._planes.n_bases) - start, 0)

    def _iter_stretch(
        self, search: StrandSearch, first: int, stop: int, block_words: int, capacity: int
    ) -> Iterator[Found]:
        """Yield the hits of a word range; blocks that overflow their buffer follow later."""
        pieces, n_found, counts = self._run(search, first, stop, block_words, capacity)
        n_bases = self._count_bases(first, stop)
        too_many = np.flatnonzero(n_found > capacity).tolist() if not self._n_levels else []
        yield self._join(search, 0 if too_many else n_bases, pieces, counts)
        for block in too_many:
            begin = first + block * block_words
            end = min(begin + block_words, stop)
            yield from self._iter_crowded(search, begin, end, int(n_found[block]))
        if too_many:
            yield self._join(search, n_bases, [], None)

    def _iter_crowded(
        self, search: StrandSearch, first: int, stop: int, n_found: int
    ) -> Iterator[Found]:
        """Yield the hits of a dense word range, in parts if the buffer is too small."""
        maximum = self._budget // _HIT_BYTES
        if n_found <= maximum or stop - first <= UNIT_WORDS:
            pieces, _, _ = self._run(search, first, stop, stop - first, n_found)
            yield self._join(search, 0, pieces, None)
            return
        n_words = -(-(stop - first) // _SPLIT // UNIT_WORDS) * UNIT_WORDS
        n_words = max(n_words, UNIT_WORDS)
        n_parts = -(-(stop - first) // n_words)
        for found in self._iter_stretch(search, first, stop, n_words, maximum // n_parts):
            yield Found(search, 0, found.positions, found.rows, found.mismatches)

    def _run(
        self, search: StrandSearch, first: int, stop: int, block_words: int, capacity: int
    ) -> tuple[list[tuple[np.ndarray, ...]], np.ndarray, np.ndarray | None]:
        """Return the hits of blocks that fit, the number of hits of each block, and counts."""
        n_blocks = -(-(stop - first) // block_words)
        arrays = tuple(
            np.empty((n_blocks, capacity), dtype) for dtype in (np.int64, np.int32, np.uint8)
        )
        n_found = np.zeros(n_blocks, np.int64)
        counts = np.zeros((n_blocks, len(search.masks), self._n_levels), np.int64)
        find = getattr(self._kernel, f"find_sites_{choose_method(self._method, search)}")
        planes = Planes(*self._bits, self._valid_starts(len(search.pattern))[:stop])
        hits = Hits(*arrays, n_found, counts)
        find(planes, first, block_words, search.pattern, search.masks, search.limits, hits)
        pieces = [
            tuple(array[block, :n] for array in arrays)
            for block, n in enumerate(n_found.tolist())
            if 0 < n <= capacity
        ]
        return pieces, n_found, counts.sum(axis=0) if self._n_levels else None

    def _valid_starts(self, length: int) -> np.ndarray:
        """Return the valid window starts for a length; the latest result is cached."""
        if length != self._length:
            valid = self._planes.valid_starts(length, self._part.first, self._part.stop)
            self._length, self._valid = length, self._module.asarray(valid)
        return self._valid

    def _join(
        self,
        search: StrandSearch,
        n_bases: int,
        pieces: list[tuple[np.ndarray, ...]],
        counts: np.ndarray | None,
    ) -> Found:
        if not pieces:
            columns = [np.empty(0, dtype) for dtype in (np.int64, np.int32, np.uint8)]
        else:
            columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        columns[0] += BASES_PER_WORD * self._part.first
        return Found(search, n_bases, *columns, counts)


def choose_method(method: str, search: StrandSearch) -> str:
    """Return the fastest method: PAM first pays for rare PAMs and several guides."""
    if method not in ("auto", "pam_first"):
        return method
    span = find_span(search.masks)
    if span.stop - span.start > MAX_SPAN:
        return "dense"
    is_rare = pam_density(search) <= _PAM_FIRST_DENSITY
    pays = len(search.masks) >= _PAM_FIRST_GUIDES and is_rare
    return "pam_first" if pays or method == "pam_first" else "dense"


def pam_density(search: StrandSearch) -> float:
    """Return the share of windows with a PAM in a random genome with equal base frequencies."""
    return float(np.prod(_N_BASES[search.pattern] / 4))


def compared_guides(searches: Iterable[StrandSearch], method: str) -> float:
    """Return how many guides a base is compared with, on average: few if the PAM goes first."""
    return sum(
        len(search.masks)
        * (pam_density(search) if choose_method(method, search) == "pam_first" else 1.0)
        for search in searches
    )


def expected_hits(search: StrandSearch) -> float:
    """Return the expected hits per position in a random genome with equal base frequencies."""
    n_letters = int((search.masks != ANY).sum(axis=1).max(initial=0))
    total = 0.0
    for limit in np.unique(search.limits).tolist():
        chance = sum(
            comb(n_letters, k) * 0.75**k * 0.25 ** (n_letters - k)
            for k in range(min(limit, n_letters) + 1)
        )
        total += chance * int((search.limits == limit).sum())
    return total * pam_density(search)
