"""K-mers of inputs counted part by part, within a given memory.

K-mers are sorted as integers, some millions at a time, and sorted runs of different k-mers with
their counts are merged, each only with one of its size. Where they would take more than the memory,
those of half of the values of a hash are let go, and counted by another pass over all inputs: so
what is in one part of one input is in the same part of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.sequences.canonical_kmers import MAX_SORTED_K
from genoviz.errors import ParameterError

MAX_INPUTS = 8
DEFAULT_MEMORY, MIN_MEMORY = 4 * 10**9, 64 * 10**6
Blocks = Iterable[tuple[float, np.ndarray]]
Counted = tuple[np.ndarray, np.ndarray]
# Keys that are sorted take 16 bytes with their counts, and the run of them as many.
_BUFFER_SHARE = 256
# Merging takes 32 bytes for each k-mer of all runs: two thirds of the memory.
_RUNS_SHARE = 48
_FEW = 1 << 12
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_FIRST_BITS, _DIGIT_BITS = 10, 11
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
CODES = np.full(256, 4, np.uint8)
"""2-bit codes of letters; 4 for what is no base."""

for _code, _letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    CODES[[ord(letter) for letter in _letters]] = _code


@dataclass(frozen=True, eq=False)
class KmerPart:
    """The k-mers of all inputs of which a hash has some values.

    Attributes
    ----------
    k
        Length of the k-mers.
    keys
        uint64, shape (n,), ascending: canonical k-mers, 2 bits a base.
    counts
        int64, shape (n, n_inputs): how often each input has them.
    """

    k: int
    keys: np.ndarray
    counts: np.ndarray

    def letters(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return k-mers as letters; uint8, shape (n_rows, k)."""
        shifts = np.arange(2 * (self.k - 1), -1, -2, dtype=np.uint64)
        return _LETTERS[(self.keys[rows][:, None] >> shifts) & np.uint64(3)]


def iter_kmer_parts(
    openers: Sequence[Callable[[], Blocks]], k: int, *, memory: int = DEFAULT_MEMORY
) -> Iterator[tuple[float, KmerPart | None]]:
    """Yield the share that is done, 0 to 1, and parts of the k-mers, each k-mer in one part.

    Parameters
    ----------
    openers, k, memory
        As of `compare_kmers`.

    Raises
    ------
    ParameterError
        If one of them is out of range.
    """
    check_reads(k, memory)
    if not 1 <= len(openers) <= MAX_INPUTS:
        raise ParameterError(f"needs 1 to {MAX_INPUTS} inputs, not {len(openers):,}")
    to_count, n_done, shown = [(0, 1)], 0.0, 0.0
    while to_count:
        part, n_parts = to_count.pop()
        sides: list[_Runs] = []
        for number, open_blocks in enumerate(openers):
            runs = _Runs(k, memory, len(openers), part, n_parts)
            for share, letters in open_blocks():
                to_count += runs.add(letters)
                done = n_done + (number + share) / len(openers) / runs.n_parts
                shown = max(shown, min(done, 1.0))
                yield shown, None
            to_count += runs.flush()
            n_parts = runs.n_parts
            sides.append(runs)
        n_done += 1 / n_parts
        for runs in sides:
            runs.narrow(n_parts)
        yield shown, _join(k, [runs.merged() for runs in sides])


def check_reads(k: int, memory: int) -> None:
    """Refuse a length of k-mers, or a memory, with which reads cannot be counted."""
    if not 1 <= k <= MAX_SORTED_K:
        raise ParameterError(f"k is {k:,}, needs 1 to {MAX_SORTED_K} for reads")
    if memory < MIN_MEMORY:
        raise ParameterError(
            f"memory is {memory / 1e6:,.0f} MB, needs {MIN_MEMORY // 10**6} MB or more for reads"
        )


def _join(k: int, sides: list[Counted]) -> KmerPart:
    """Return the k-mers of all inputs with how often each has them."""
    if len(sides) == 1:
        return KmerPart(k, sides[0][0], sides[0][1][:, None])
    bounds = np.cumsum([0, *(len(keys) for keys, _ in sides)])
    keys, counts = (np.concatenate(column) for column in zip(*sides, strict=True))
    n = _unite(keys, counts, bounds, np.empty(0, np.uint64), np.empty((0, 0), np.int64))
    united, table = np.empty(n, np.uint64), np.zeros((n, len(sides)), np.int64)
    _unite(keys, counts, bounds, united, table)
    return KmerPart(k, united, table)


class _Runs:
    """Different k-mers of a part of all, sorted, with their counts, in runs of falling sizes.

    A part has the k-mers whose hash leaves ``part`` when divided by ``n_parts``, a power of two.
    """

    def __init__(self, k: int, memory: int, n_inputs: int, part: int, n_parts: int) -> None:
        self.part, self.n_parts = part, n_parts
        self._k = k
        self._keys = np.empty(memory // n_inputs // _BUFFER_SHARE, np.uint64)
        self._counts = np.empty(len(self._keys), np.int64)
        self._n = 0
        # A part of several inputs has a column of counts for each, and one to work with.
        self._maximum = memory // n_inputs // max(_RUNS_SHARE, 24 + 16 * n_inputs)
        # The k-mer before the next letter, its reverse complement, and how many of its bases count.
        self._state = np.zeros(3, np.uint64)
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, letters: np.ndarray) -> list[tuple[int, int]]:
        """Take letters in; return parts that were let go: number, and of how many."""
        let_go = []
        first = 0
        while first < len(letters):
            first, self._n = _take_keys(
                letters, first, CODES, self._k, np.uint64(self.n_parts - 1), np.uint64(self.part),
                self._state, self._keys, self._n,
            )  # fmt: skip
            if self._n == len(self._keys):
                let_go += self.flush()
        return let_go

    def flush(self) -> list[tuple[int, int]]:
        """Make a run of the keys that are there; return parts that were let go."""
        keys = self._keys[: self._n]
        if len(keys) < _FEW:
            keys.sort()
        else:
            _sort(keys, self._counts.view(np.uint64), 2 * self._k)
        n = _collapse(keys, self._counts)
        self._n = 0
        self._runs.append((keys[:n].copy(), self._counts[:n].copy()))
        while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) >= len(self._runs[-2][0]):
            self._merge_last()
        let_go = []
        while sum(len(run[0]) for run in self._runs) > self._maximum:
            let_go.append((self.part + self.n_parts, 2 * self.n_parts))
            self.n_parts *= 2
            self._runs = [self._keep_part(*run) for run in self._runs]
        return let_go

    def narrow(self, n_parts: int) -> None:
        """Leave to others what belongs to other parts of ``n_parts``, a power of two."""
        self.n_parts = n_parts
        self._runs = [self._keep_part(*run) for run in self._runs]

    def merged(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the k-mers (uint64, ascending) and their counts (int64)."""
        while len(self._runs) > 1:
            self._merge_last()
        return self._runs[0]

    def _merge_last(self) -> None:
        one, other = self._runs.pop(), self._runs.pop()
        n = _merge(*one, *other, np.empty(0, np.uint64), np.empty(0, np.int64))
        keys, counts = np.empty(n, np.uint64), np.empty(n, np.int64)
        _merge(*one, *other, keys, counts)
        self._runs.append((keys, counts))

    def _keep_part(self, keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hashes = (keys * _GOLDEN) >> np.uint64(40)
        is_kept = (hashes & np.uint64(self.n_parts - 1)) == self.part
        return keys[is_kept], counts[is_kept]


@njit(nogil=True, cache=True)
def _take_keys(letters, first, codes, k, mask, part, state, keys, n):
    """Store canonical k-mers until there is no room; return the next letter and how many."""
    forward, reverse, n_bases = state
    top = np.uint64(2 * (k - 1))
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    i = first
    while i < len(letters) and n < len(keys):
        code = np.uint64(codes[letters[i]])
        i += 1
        if code > np.uint64(3):
            n_bases = np.uint64(0)
            continue
        forward = (forward << np.uint64(2) | code) & of_k
        reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
        n_bases += np.uint64(1)
        if n_bases >= np.uint64(k):
            key = min(forward, reverse)
            if (key * _GOLDEN >> np.uint64(40)) & mask == part:
                keys[n] = key
                n += 1
    state[0], state[1], state[2] = forward, reverse, n_bases
    return i, n


@njit(nogil=True, cache=True)
def _sort(keys, spare, n_bits):
    """Sort keys of so many bits: by the first ones to blocks that a cache holds, then by digits."""
    first_bits = min(_FIRST_BITS, n_bits)
    n_left = n_bits - first_bits
    # An odd number of digits, so that the last one brings keys back from the spare room.
    n_digits = -(-n_left // _DIGIT_BITS)
    n_digits += 1 - (n_digits & 1)
    _scatter(keys, spare[: len(keys)], n_left, first_bits)
    start = 0
    for block in range(1 << first_bits):
        stop = start
        while stop < len(keys) and np.int64(spare[stop] >> np.uint64(n_left)) == block:
            stop += 1
        if stop > start:
            for digit in range(n_digits):
                if digit & 1 == 0:
                    _scatter(spare[start:stop], keys[start:stop], digit * _DIGIT_BITS, _DIGIT_BITS)
                else:
                    _scatter(keys[start:stop], spare[start:stop], digit * _DIGIT_BITS, _DIGIT_BITS)
        start = stop


@njit(nogil=True, cache=True)
def _scatter(keys, to, shift, n_bits):
    """Copy keys in the order of some of their bits, those of the same bits as they stood."""
    places = np.zeros((1 << n_bits) + 1, np.int64)
    mask = (np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)
    by = np.uint64(shift)
    for key in keys:
        places[np.int64((key >> by) & mask) + 1] += 1
    for digit in range(1 << n_bits):
        places[digit + 1] += places[digit]
    for key in keys:
        digit = np.int64((key >> by) & mask)
        to[places[digit]] = key
        places[digit] += 1


@njit(nogil=True, cache=True)
def _collapse(keys, counts):
    """Keep one of equal sorted keys, and count them; return how many differ."""
    n = 0
    i = 0
    while i < len(keys):
        key = keys[i]
        start = i
        while i < len(keys) and keys[i] == key:
            i += 1
        keys[n] = key
        counts[n] = i - start
        n += 1
    return n


@njit(nogil=True, cache=True)
def _merge(keys, counts, other_keys, other_counts, merged, sums):
    """Merge two runs if there is room; return how many different keys they have."""
    has_room = len(merged) > 0
    i = j = n = 0
    while i < len(keys) or j < len(other_keys):
        takes = j == len(other_keys) or (i < len(keys) and keys[i] <= other_keys[j])
        takes_other = i == len(keys) or (j < len(other_keys) and other_keys[j] <= keys[i])
        count = 0
        if has_room:
            merged[n] = keys[i] if takes else other_keys[j]
        if takes:
            count += counts[i]
            i += 1
        if takes_other:
            count += other_counts[j]
            j += 1
        if has_room:
            sums[n] = count
        n += 1
    return n


@njit(nogil=True, cache=True)
def _unite(keys, counts, bounds, united, table):
    """Merge the keys of inputs if there is room; return how many different ones there are.

    Those of an input, ascending, stand between two bounds; each has its column of the table.
    """
    has_room = len(united) > 0
    heads = bounds[:-1].copy()
    n = 0
    while True:
        is_any = False
        lowest = np.uint64(0)
        for number in range(len(heads)):
            if heads[number] < bounds[number + 1]:
                key = keys[heads[number]]
                if not is_any or key < lowest:
                    lowest = key
                is_any = True
        if not is_any:
            return n
        if has_room:
            united[n] = lowest
        for number in range(len(heads)):
            at = heads[number]
            if at < bounds[number + 1] and keys[at] == lowest:
                if has_room:
                    table[n, number] = counts[at]
                heads[number] = at + 1
        n += 1
